"""The review queue and undo, through the real API to a real store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import memory_named
from tacit.model.change_reason import ChangeCause

pytestmark = pytest.mark.timeout(60)
OLD, NEW = "The billing port is 8080", "The billing port is now 9090"


def remembered(tacit, words):
    said = tacit("remember", words, "--json")
    assert said.code == 0, said.err
    return said.json["changes"][0]


def stated_by_agent(tacit, words):
    """What an agent states contradicts the user's word and ends nothing."""
    return stated_by_program(tacit, words, source="agent")


def stated_by_program(tacit, words, *, source):
    from tacit.model.memory import Speaker

    (change,) = tacit.daemon.engine.remember(
        words, cwd=str(tacit.project), speaker=Speaker.AGENT, source=source, kind="fact"
    )
    return change.memory.id


@pytest.fixture
def pair(tacit):
    old = remembered(tacit, OLD)["memory"]["id"]
    return old, stated_by_agent(tacit, NEW)


def statuses(tacit):
    found = tacit("list", "--status", "all", "--json").json["memories"]
    return {memory["content"]: memory["status"] for memory in found}


def test_a_search_says_what_waits_and_does_not_say_that_it_holds(tacit, pair):
    said = tacit("recall", NEW)
    assert said.out.count("waits for you") == 1
    assert said.out.count("since ") == len(said.out.splitlines()) - 2


def test_a_contradiction_waits_and_says_why(tacit, pair):
    old, new = pair
    (entry,) = tacit("review", "--json").json["review"]
    assert (entry["memory"]["id"], entry["other"]["id"]) == (new, old)
    assert "import never supersedes user" in entry["reason"]
    assert "8080 -> 9090" in tacit("review", "list", "--json").out
    assert statuses(tacit) == {OLD: "active", NEW: "quarantined"}


@pytest.mark.parametrize(
    ("action", "more", "left"),
    [
        ("accept", (), {OLD: "superseded", NEW: "active"}),
        ("keep", (), {OLD: "active", NEW: "active"}),
        ("edit", ("--content", "The port is 9191"), {OLD: "superseded", "The port is 9191": "active"}),
        ("merge", (), {OLD: "active", NEW: "superseded"}),
    ],
)
def test_a_pair_is_settled_by_the_ending_of_its_id(tacit, pair, action, more, left):
    assert tacit("review", action, pair[1][-6:], *more).code == 0
    assert statuses(tacit) == left
    assert tacit("review", "--json").json["review"] == []
    if action == "merge":
        kept = tacit("show", pair[0], "--json").json["memory"]
        assert (kept["frequency"], NEW in kept["evidence"]) == (2, True)


def test_keeping_what_is_no_pair_activates_nothing_and_says_what_would(tacit):
    tacit.daemon.ensure_running()
    alone = stated_by_agent(tacit, NEW)
    said = tacit("review", "keep", alone)
    assert said.code == 3, said.err
    assert f"tacit review accept {alone}" in said.err
    assert statuses(tacit) == {NEW: "quarantined"}
    assert tacit("review", "keep", alone, "--json").code == 3


def test_what_was_rejected_is_not_learned_again_unless_the_user_says_so(tacit, pair):
    tacit("review", "reject", pair[1])
    assert statuses(tacit) == {OLD: "active", NEW: "retired"}
    from tacit.model.changes import Skip
    from tacit.model.memory import Speaker

    again = tacit.daemon.engine.remember(
        f"{NEW}.", cwd=str(tacit.project), speaker=Speaker.AGENT, source="mcp", kind="fact"
    )
    assert isinstance(again[0], Skip)
    assert again[0].reason.cause is ChangeCause.REJECTED_BEFORE
    assert remembered(tacit, NEW)["change"] == "supersede"


def test_what_does_not_wait_cannot_be_decided(tacit):
    key = remembered(tacit, OLD)["memory"]["id"]
    said = tacit("review", "accept", key)
    assert said.code == 3
    assert "does not wait" in said.err


def test_a_supersession_is_taken_back_whole_and_that_can_be_taken_back(tacit):
    remembered(tacit, OLD)
    remembered(tacit, NEW)
    assert statuses(tacit) == {OLD: "superseded", NEW: "active"}
    assert "gives another value than" in tacit("list", "--changes", "--json").json["changes"][0]["reason"]
    assert "superseded" in tacit("list", "--changes").out
    assert tacit("undo").code == 0
    assert statuses(tacit) == {OLD: "active", NEW: "retired"}
    assert tacit("undo").code == 0
    assert statuses(tacit) == {OLD: "superseded", NEW: "active"}


def test_what_is_replaced_and_why_is_said_at_once(tacit):
    old = remembered(tacit, OLD)["memory"]["id"]
    said = tacit("remember", NEW)
    assert f"replaces: {old}; gives another value than {old}: 8080 -> 9090" in said.out


def test_both_statements_of_a_supersession_may_be_kept(tacit):
    remembered(tacit, OLD)
    remembered(tacit, NEW)
    assert tacit("undo", "--keep-both").code == 0
    assert statuses(tacit) == {OLD: "active", NEW: "active"}


def test_nothing_to_take_back_is_said(tacit):
    assert tacit("undo").code != 0


def test_on_a_terminal_one_key_decides(tacit, pair):
    keys = iter("ar\rd")  # the keys for a single statement, and Enter, decide nothing about a pair
    place = replace(tacit.place, interactive=True, read_key=lambda: next(keys))
    said = tacit("review", place=place)
    assert "replace the other" in said.out
    assert "[a]ccept" not in said.out
    assert "against" in said.out
    assert statuses(tacit) == {OLD: "active", NEW: "retired"}
    assert next(keys, None) is None


def test_many_are_decided_without_the_pairs_and_a_pair_never_among_many(tacit, pair):
    alone = stated_by_agent(tacit, "Parcels are weighed at the gate.")
    said = tacit("review", "accept", "--all", "--yes")
    assert "1 of the matches contradict another statement" in said.out
    assert "1 accepted" in said.out
    assert statuses(tacit) == {
        OLD: "active",
        NEW: "quarantined",
        "Parcels are weighed at the gate.": "active",
    }
    other = stated_by_agent(tacit, "Parcels are scanned at the door.")
    refused = tacit("review", "accept", pair[1], other)
    assert refused.code == 3
    assert "a pair is decided by itself" in refused.err
    assert statuses(tacit)[OLD] == "active"
    assert tacit("show", alone, "--json").json["memory"]["status"] == "active"


def test_leaving_decides_nothing(tacit, pair):
    def interrupted():
        raise KeyboardInterrupt

    place = replace(tacit.place, interactive=True, read_key=interrupted)
    assert tacit("review", place=place).code == 0
    assert statuses(tacit) == {OLD: "active", NEW: "quarantined"}


def test_a_day_in_the_past_shows_what_held_then(tacit):
    remembered(tacit, OLD)
    assert tacit("list", "--as-of", "2020-01-01", "--json").json["memories"] == []
    assert "Nothing" in tacit("recall", "billing", "port", "--as-of", "2020-01-01").out
    assert len(tacit("list", "--as-of", "2999-01-01", "--json").json["memories"]) == 1
    assert tacit("list", "--as-of", "yesterday").code == 3


def imported(tacit, words, source):
    """A statement as an import of another tool's memory leaves it."""
    from tacit.model.changes import Add
    from tacit.model.ids import content_hash
    from tacit.model.memory import TrustTier

    name = f"mem_{content_hash(words)}"
    made = memory_named(name, words, status="quarantined", tier=TrustTier.IMPORT, source=source)
    tacit.daemon.engine._parts.store.apply([Add(memory=made)])
    return made.id


@pytest.fixture
def queue(tacit):
    tacit("list")  # starts the daemon
    words = ("Invoices are numbered per year", "Parcels leave at noon", "Refunds need two people")
    first = [imported(tacit, one, "mem0.json") for one in words]
    return [*first, imported(tacit, "The wiki is read-only on Fridays", "notes.md")]


def test_all_of_one_source_are_decided_at_once_and_taken_back_as_one(tacit, queue):
    said = tacit("review", "list").out
    assert "by source: mem0.json 3, notes.md 1" in said
    refused = tacit("review", "accept", "--source", "mem0.json")
    assert (refused.code, "--yes" in refused.err) == (3, True)
    done = tacit("review", "accept", "--source", "mem0.json", "--yes", "--json").json
    assert done["decided"] == 3
    assert sorted(statuses(tacit).values()) == ["active", "active", "active", "quarantined"]
    assert tacit("undo", done["change_id"]).code == 0
    assert set(statuses(tacit).values()) == {"quarantined"}


def test_several_ids_are_rejected_in_one_change(tacit, queue):
    said = tacit("review", "reject", *queue[:2])
    assert "2 rejected; `tacit undo chg_" in said.out
    assert sorted(statuses(tacit).values()) == ["quarantined", "quarantined", "retired", "retired"]


def test_everything_that_waits_is_decided_with_all(tacit, queue):
    assert tacit("review", "reject").code == 2
    assert tacit("review", "reject", queue[0], "--all").code == 2
    assert tacit("review", "reject", "--all", "--text", "parcels", "--yes", "--json").json["decided"] == 1
    assert tacit("review", "reject", "--all", "--yes", "--json").json["decided"] == 3
    assert "Nothing waits" in tacit("review", "list").out


def test_undo_without_an_id_shows_what_it_takes_back(tacit):
    change = tacit("remember", OLD, "--json").json["change_id"]
    said = tacit("undo")
    assert change in said.out
    assert f"added: {OLD}" in said.out
    assert statuses(tacit) == {OLD: "retired"}


def test_what_waits_is_told_where_a_newcomer_looks_for_it(tacit):
    assert "No memories here yet: `tacit remember ...`" in tacit("list").out
    stated_by_program(tacit, NEW, source="cli")
    assert "No memories here yet; 1 waits for you: `tacit review`." in tacit("list").out
    assert "No memory matches." in tacit("list", "--as-of", "2020-01-01").out
    assert "1 waits for you: `tacit review`" in tacit("status").out
    assert tacit("status", "--json").json["here"]["unconfirmed"] == 1
    (entry,) = tacit("review", "--json").json["review"]
    assert entry["reason"] == "added by a program or an agent, not confirmed by you"
    assert "1 waiting for you (`tacit review`)" in tacit("status", "--stats").out
    elsewhere = tacit.project.parent / "other"
    elsewhere.mkdir()
    told = tacit("review", "--cwd", str(elsewhere)).out
    assert "Nothing waits for you here; elsewhere 1 waits for you: `tacit review --everywhere`." in told
    assert (
        "Nothing that matches waits; in total 1 waits for you"
        in tacit("review", "list", "--kind", "goal").out
    )


def test_undo_of_a_session_takes_back_all_that_it_taught_and_status_names_it(tacit):
    from tacit.model.memory import Speaker
    from tacit.model.session import SessionKey

    tacit("remember", OLD)
    tacit.daemon.engine.remember(
        "Trucks are loaded from the left.",
        cwd=str(tacit.project),
        speaker=Speaker.AGENT,
        source="mcp",
        session=SessionKey(host="claude-code", session_id="s1"),
    )
    assert "Trucks are loaded from the left. (`tacit undo --session claude-code/s1`)" in tacit("status").out
    assert tacit("undo", "--session", "claude-code/s1").code == 0
    assert statuses(tacit) == {OLD: "active", "Trucks are loaded from the left.": "retired"}
    assert tacit("undo", "--session", "claude-code/s1").code == 4
    assert tacit("undo", "chg_1", "--session", "claude-code/s1").code == 2
