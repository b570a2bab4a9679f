"""What an agent may change through `memory_update`: its own unconfirmed words at once, the user's only with theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.errors import InvalidInput, NotFound, RefusedByRedaction, RefusedByTrust
from tacit.model.changes import Rewrite
from tacit.model.memory import TrustTier
from tacit.ports.store import MemoryFilter

RELEASES = "Releases of the shop go out on Tuesdays"


def own(desk, content="Staging runs on heron.internal.", **given):
    desk.ask("memory_add", content=content, kind="fact", **given)
    (memory,) = desk.engine.list_memories(MemoryFilter(statuses=("quarantined",)))
    return memory


def test_an_agents_own_statement_is_changed_in_place_and_stays_unconfirmed(desk):
    memory = own(desk)
    said = desk.ask(
        "memory_update", id=memory.id[-7:], content="Staging runs on egret.internal.", when=["commit"]
    )
    assert "Changed" in said
    assert "tacit undo chg_" in said
    changed = desk.engine.show(memory.id)
    assert changed.content == "Staging runs on egret.internal."
    assert (changed.status, changed.provenance.tier) == ("quarantined", TrustTier.IMPORT)
    assert changed.trigger.maker == "agent"
    assert dict(changed.trigger.actions)["commit"] == 1.0
    assert changed.kind == "fact"
    assert (
        desk.engine.store.history(desk.engine.show(memory.id).id, scope=desk.engine.store.scopes())[0].content
        == memory.content
    )
    desk.engine.review.undo(memory.id)
    assert desk.engine.show(memory.id).content == memory.content


def test_the_users_statement_stays_and_ranks_behind_the_agents(desk):
    name = desk.know(RELEASES, "decision")
    said = desk.ask("memory_update", id=name, content="Releases of the shop go out on Thursdays")
    assert "only the user's own words end it" in said
    kept = desk.engine.show(name)
    assert (kept.content, kept.status) == (RELEASES, "active")
    noted = desk.engine.show(kept.ranks_behind)
    assert "Thursdays" in noted.content
    assert (noted.kind, noted.provenance.own_note) == ("decision", True)
    text = desk.engine.context(desk.caller.cwd).text
    assert text.index("Thursdays") < text.index(RELEASES)
    assert "the agent saw otherwise since" in text


def test_made_up_words_of_the_user_change_nothing(desk):
    name = desk.know(RELEASES, "decision")
    words = "releases of the shop go out on Thursdays"
    desk.ask("memory_update", id=name, content="Releases of the shop go out on Thursdays", user_words=words)
    assert desk.engine.show(name).status == "active"
    for change in ({"kind": "fact"}, {"when": "commit"}):
        with pytest.raises(RefusedByTrust, match="an agent may change it only with the user's words"):
            desk.ask("memory_update", id=name, user_words="releases of the shop on Tuesdays", **change)
    assert desk.engine.show(name).kind == "decision"


def test_the_users_own_words_change_it(desk):
    name = desk.know(RELEASES, "decision")
    words = "We changed our minds. Releases of the shop go out on Thursdays now."
    desk.say(words)
    said = desk.ask(
        "memory_update", id=name, content="Releases of the shop go out on Thursdays", user_words=words
    )
    assert f"replaces {name}" in said
    (active,) = desk.engine.list_memories(MemoryFilter())
    assert "Thursdays" in active.content
    assert active.provenance.tier is TrustTier.USER
    assert desk.engine.show(name).status == "superseded"


def test_kind_and_when_of_the_users_statement_change_with_words_that_speak_of_it(desk):
    name = desk.know(RELEASES, "guideline")
    words = (
        "the rule that releases of the shop go out on Tuesdays is a decision, for when a release is tagged"
    )
    desk.say(words)
    desk.ask("memory_update", id=name, kind="decision", when="release", user_words=words)
    changed = desk.engine.show(name)
    assert (changed.content, changed.kind, changed.status) == (RELEASES, "decision", "active")
    assert dict(changed.trigger.actions)["release"] == 1.0
    assert changed.provenance.tier is TrustTier.USER


def test_other_words_of_an_agent_for_what_no_user_vouches_for_are_its_own_note(desk):
    """They take the place of what another agent said, marked, and come back with `undo`."""
    name = desk.know("The importer needs its modules on the path.", "error_pattern")
    stored = desk.engine.show(name)
    lowered = replace(stored, provenance=replace(stored.provenance, tier=TrustTier.ASSISTANT))
    desk.engine.store.apply([Rewrite(memory=lowered)])
    desk.ask("memory_update", id=name, content="The importer looks for its modules beside itself.")
    (active,) = desk.engine.list_memories(MemoryFilter())
    assert active.provenance.own_note
    desk.engine.review.undo(active.id)
    assert desk.engine.show(name).status == "active"


def test_wrong_updates_are_refused(desk):
    memory = own(desk)
    with pytest.raises(InvalidInput, match="Nothing is to be changed"):
        desk.ask("memory_update", id=memory.id)
    with pytest.raises(InvalidInput, match="Nothing is to be changed"):
        desk.ask("memory_update", id=memory.id, content=memory.content)
    with pytest.raises(NotFound):
        desk.ask("memory_update", id="mem_nowhere", content="x is y")
    with pytest.raises(RefusedByRedaction):
        desk.ask("memory_update", id=memory.id, content="The key is AKIAIOSFODNN7EXAMPLQ, use it.")
    desk.ask("memory_forget", id=memory.id)
    with pytest.raises(InvalidInput):
        desk.ask("memory_update", id=memory.id, content="Staging runs on egret.internal.")
