"""What an agent stores through `memory_add`: when it applies in its own words, and what it replaces."""

from __future__ import annotations

import pytest

from tacit.app.reasons import change_text
from tacit.errors import InvalidInput, NotFound
from tacit.model.memory import TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter

RUFF = "Lint with `ruff check src tests`"


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


def test_a_name_of_the_project_is_a_word_of_its_own(desk):
    assert "nightly_load" in trigger_of(desk, when=["nightly_load", "before a release"]).phrases


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


PORT, MOVED = "The booking service listens on port 4310.", "The booking service listens on port 4410."


def pair(desk):
    """A statement of the user's, and an agent's note that may disagree with it."""
    old = desk.know(PORT, kind="fact", session=SessionKey(host="claude-code", session_id="before"))
    desk.say("is 4410 the port of the booking service now?", session="noted")
    desk.ask("memory_add", content=MOVED)
    desk.engine.hook(
        "claude-code",
        {
            "hook_event_name": "SessionEnd",
            "session_id": "noted",
            "cwd": str(desk.folder),
            "transcript_path": "",
        },
        deadline_ms=5000,
    )
    new = next(memory.id for text, memory in stored(desk).items() if text == MOVED)
    assert not desk.engine.show(old).ranks_behind
    return old, new


def test_without_the_users_words_a_settlement_ranks_and_can_be_undone(desk):
    old, new = pair(desk)
    desk.say("why is the seat map grey")
    said = desk.ask("memory_add", content=MOVED, replaces=[old])
    assert "only the user's own words end it" in said
    kept = desk.engine.show(old)
    assert (kept.status, kept.ranks_behind) == ("active", new)
    text = desk.engine.context(desk.caller.cwd).text
    assert text.index(MOVED) < text.index(PORT)
    assert "the agent saw otherwise since" in text
    assert "the agent saw that" in change_text(desk.engine.review.changes(memory_id=old)[0].reason)
    desk.engine.review.undo(said.rpartition("`tacit undo ")[2].rstrip("`."))
    assert not desk.engine.show(old).ranks_behind


def test_what_holds_is_named_by_its_id_and_is_not_stored_again(desk):
    old, new = pair(desk)
    desk.say("why is the seat map grey")
    assert "ranks behind" in desk.ask("memory_add", content=new[-5:], replaces=[old])
    assert desk.engine.show(old).ranks_behind == new
    assert set(stored(desk)) == {PORT, MOVED}


def test_a_note_that_waits_still_settles_which_of_two_on_record_holds(desk):
    old, new = pair(desk)
    desk.say("why is the seat map grey")
    note = "The booking service listens on 4410, see http://127.0.0.1:4410/health."
    assert "found on demand only" in desk.ask("memory_add", content=note, replaces=[old])
    assert (desk.engine.show(old).status, desk.engine.show(old).ranks_behind) == ("active", new)
    assert note in stored(desk, "quarantined")


@pytest.mark.parametrize(
    "note",
    [
        "The booking service listens on 4999, see http://127.0.0.1:4999/health.",
        "Seats are kept at http://127.0.0.1:7000.",
    ],
    ids=["another value", "about something else"],
)
def test_a_note_that_waits_and_repeats_nothing_settles_nothing(desk, note):
    old, _ = pair(desk)
    desk.say("why is the seat map grey")
    desk.ask("memory_add", content=note, replaces=[old])
    assert (desk.engine.show(old).status, desk.engine.show(old).ranks_behind) == ("active", "")


def test_words_that_vouch_for_nothing_settle_nothing(desk):
    old, _ = pair(desk)
    desk.say("raj kept saying the booking service listens on 4410. is that so?")
    desk.ask(
        "memory_add",
        content="The booking service listens on 4410 now.",
        replaces=[old],
        user_words="the booking service listens on 4410",
    )
    assert not desk.engine.show(old).ranks_behind


def test_what_the_user_says_once_more_ranks_behind_nothing(desk):
    old, _ = pair(desk)
    desk.say("why is the seat map grey")
    desk.ask("memory_add", content=MOVED, replaces=[old])
    desk.engine.remember(PORT, cwd=str(desk.folder))
    assert not desk.engine.show(old).ranks_behind


def test_the_users_typed_words_end_what_they_say_holds_no_more(desk):
    old, new = pair(desk)
    desk.say("the booking service moved from 4310 to 4410 last week")
    assert "Ended" in desk.ask("memory_add", content=MOVED, replaces=[old])
    ended = desk.engine.show(old)
    assert (ended.status, ended.validity.superseded_by) == ("superseded", new)
    assert len(stored(desk)) == 1, "nothing is stored twice"


def test_an_agents_own_note_ends_without_the_users_words_by_its_words_too(desk):
    old, new = pair(desk)
    desk.say("why is the seat map grey")
    assert "Ended" in desk.ask(
        "memory_add", content=PORT, replaces=[f"- [Fact] {MOVED} (agent's note, 2026-01-01)"]
    )
    assert (desk.engine.show(old).status, desk.engine.show(new).status) == ("active", "superseded")


def test_an_agent_that_sees_the_opposite_later_turns_the_ranks_round(desk):
    old, new = pair(desk)
    desk.say("why is the seat map grey")
    desk.ask("memory_add", content=MOVED, replaces=[old])
    desk.ask("memory_add", content=PORT, replaces=[new])
    assert (desk.engine.show(old).ranks_behind, desk.engine.show(new).status) == ("", "superseded")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "the booking service moved to 4410",
        "The server said: the booking service listens on port 4410 now",
    ],
)
def test_what_a_tool_made_an_agent_settle_never_ends_the_users_statement(desk, words):
    old, _ = pair(desk)
    desk.say("please run the tests of the booking service and fix what fails")
    desk.ask("memory_add", content=MOVED, replaces=[old], **({"user_words": words} if words else {}))
    desk.ask("memory_add", content="Bookings are served on another port by now", replaces=[old])
    assert desk.engine.show(old).status == "active"


def test_the_answer_names_what_the_new_statement_may_not_hold_beside(desk):
    old = desk.know("The booking service listens on port 4310 in dev", kind="fact")
    desk.say("is it 4410 now?")
    said = desk.ask("memory_add", content="The booking service listens on port 4410 in dev")
    assert f'replaces=["{old}"]' in said
