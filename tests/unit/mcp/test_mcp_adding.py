"""What an agent stores through `memory_add`: when it applies in its own words, and what it replaces."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput, NotFound
from tacit.model.memory import TrustTier
from tacit.ports.store import MemoryFilter
from unit.mcp.test_mcp_server import opened

RUFF = "Lint with `ruff check src tests`"
SAID = "We use ruff instead of flake8 from now on, so lint with `ruff check src tests`"


@pytest.fixture
def desk(tmp_path):
    yield from opened(tmp_path)


def stored(desk, status="active"):
    found = desk.engine.list_memories(MemoryFilter(statuses=(status,)))
    return {memory.content: memory for memory in found}


def trigger_of(desk, **given):
    desk.ask("memory_add", content="Invoices are numbered by hand.", **given)
    (memory,) = stored(desk).values()
    return memory.trigger


def test_phrases_are_kept_as_given_and_read(desk):
    trigger = trigger_of(desk, when=["commit", "before a release is tagged, or published"])
    assert trigger.phrases == ("before a release is tagged, or published",)
    actions = dict(trigger.actions)
    assert actions["commit"] == 1.0
    assert 0 < actions["release"] < 1
    assert trigger.topics == (), "a phrase beside a class forbids nothing"
    assert trigger.maker == "agent"


def test_a_list_may_hold_what_when_holds(desk):
    trigger = trigger_of(desk, when='["path:*.sql, lang:sql", "cmd:alembic upgrade", "release=0.5"]')
    assert (trigger.paths, trigger.languages, trigger.commands) == (
        ("*.sql",),
        ("sql",),
        ("alembic upgrade",),
    )
    assert trigger.actions == (("release", 0.5),)
    assert trigger.phrases == ()


def test_a_text_is_read_as_before(desk):
    trigger = trigger_of(desk, when="commit, billing")
    assert trigger.actions[0] == ("commit", 1.0)
    assert "billing" in trigger.topics
    assert trigger.phrases == ()


def test_a_misspelled_class_is_said(desk):
    with pytest.raises(InvalidInput, match="comit"):
        desk.ask("memory_add", content="Invoices are numbered by hand.", when=["comit"])


def test_an_unknown_id_is_named(desk):
    with pytest.raises(NotFound, match="mem_nowhere"):
        desk.ask("memory_add", content=RUFF, replaces=["mem_nowhere"])
    assert not stored(desk, "quarantined")


def test_an_agents_own_statement_is_replaced_by_its_next_one(desk):
    desk.ask("memory_add", content="The staging database listens on port 5433.", kind="fact")
    (old,) = stored(desk).values()
    said = desk.ask(
        "memory_add",
        content="Staging moved to a managed instance in Oslo.",
        kind="fact",
        replaces=[old.id[-8:]],
    )
    assert f"replaces {old.id}" in said
    assert list(stored(desk)) == ["Staging moved to a managed instance in Oslo."]
    assert stored(desk, "superseded")[old.content].validity.superseded_by


def test_what_the_user_said_stays_and_is_asked_about(desk):
    old = desk.know("Lint with `flake8 src tests` before every commit")
    said = desk.ask("memory_add", content=RUFF, replaces=[old])
    assert "the user will be asked" in said
    assert stored(desk)["Lint with `flake8 src tests` before every commit"].id == old
    assert RUFF in stored(desk, "quarantined")


def test_the_users_quoted_words_replace_what_they_speak_of(desk):
    old = desk.know("Lint with flake8 before every commit", kind="preference")
    other = desk.know("Releases are tagged by hand on Fridays")
    desk.say("We lint with ruff instead of flake8 before every commit now.")
    said = desk.ask(
        "memory_add", content="We lint with ruff instead of flake8 before every commit", replaces=[old, other], when=["commit"],
        user_words="We lint with ruff instead of flake8 before every commit now.",
    )  # fmt: skip
    assert f"replaces {old}" in said
    active = stored(desk)
    assert "Lint with flake8 before every commit" not in active
    assert active["Releases are tagged by hand on Fridays"].id == other, "nobody spoke of that"
    (new,) = [one for text, one in active.items() if "ruff" in text]
    assert new.provenance.tier is TrustTier.USER


def test_what_replaces_itself_is_known_already(desk):
    first = desk.ask("memory_add", content=RUFF)
    (old,) = stored(desk, "quarantined").values()
    assert "Known already" in desk.ask("memory_add", content=RUFF, replaces=[old.id]), first


def test_answers_name_the_ids_that_replaces_takes(desk):
    name = desk.know("Deployments go out on Tuesdays, never on a Friday", kind="decision")
    for tool, given in (("memory_search", {"query": "deployments Tuesdays"}), ("get_context_for_task", {"task_description": "plan the deployments on Tuesdays"}),
                        ("memory_context", {}), ("inject_context", {"topic": "deployments Tuesdays"})):  # fmt: skip
        assert name[-6:] in desk.ask(tool, **given), tool
