"""What the user confirms, and what two proofs are worth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.capture.extract.confirmed import confirms, problem_in
from tacit.capture.reconcile import Neighbor, reconcile
from tacit.capture.session import SessionContext, extract_learnings
from tacit.capture.turn import ToolUse, Turn
from tacit.model.changes import Add, Merge, Skip
from tacit.model.memory import PROVEN, Memory, Provenance, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL
from tacit.model.session import SessionKey
from tacit.safety.trust import is_marked, why_not_on
from tacit.state.captured import Checkpoint
from tacit.state.registry import CHECKPOINT

PLACE = SessionContext(session=SessionKey(host="h", session_id="s"), scope=UNIVERSAL)
EDIT = ToolUse(tool="edit", paths=("src/export.py",), finished=True)
PROBLEM = "the export hangs on files over 2 MB"
ANSWER = "The problem was that `read_all` never drained the stream. I changed `export.py` to copy in chunks of 64 KB."
FAILED = ToolUse(
    tool="bash", command="make check", failed=True, finished=True, error="Error: cannot find module yaml"
)
FIXED = (
    ToolUse(tool="bash", command="pip install pyyaml", finished=True),
    ToolUse(tool="bash", command="make check", finished=True),
)


def user(text, number):
    return Turn(index=0, number=number, role="user", text=text, at_ms=number * 1000)


def agent(text, *tools, number=1):
    return Turn(index=0, number=number, role="assistant", text=text, tools=tools, at_ms=number * 1000 + 1)


def read(turns, before=None, place=PLACE):
    return extract_learnings(
        turns, before or Checkpoint(), place=place, captured_hashes=frozenset(), redact=str
    )


def proven(learned):
    return [draft.content for draft in learned.drafts if draft.proofs >= PROVEN]


@pytest.mark.parametrize(
    "text",
    [
        "that was it", "That was it, thanks!", "works now, keep it", "Perfect, works now.", "Great! That fixed it.", "yes that did the trick",
        "ok the login page works again", "it works now", "Fixed, thanks", "all green now", "Nice, problem solved. Now add tests.",
        "That's the fix.", "everything passes now", "confirmed, keep it like that", "that was the problem",
    ],
)  # fmt: skip
def test_what_confirms(text):
    assert confirms(text)


@pytest.mark.parametrize(
    "text",
    [
        "that worked but now the footer is broken", "works now?", "it still doesn't work", "make sure that it works", "look at how it works",
        "works on my machine only if I restart", "it works well BUT, I notice more", "does it work now?", "Fixed width columns should be used",
        "works as designed is not an excuse", "The log says:\n> it works now", "once it works, commit", "I hope that fixed it",
    ],
)  # fmt: skip
def test_what_does_not(text):
    assert not confirms(text)


def test_a_problem_is_a_sentence_of_its_own():
    assert problem_in(f"Hi. {PROBLEM}") == PROBLEM
    assert problem_in("still fails", PROBLEM) == PROBLEM
    assert problem_in("it fails") == problem_in("add a button") == problem_in("never use wrong quotes") == ""


def test_that_was_it_proves_the_fix_before_it_with_its_problem():
    learned = read([user(PROBLEM, 1), agent(ANSWER, EDIT), user("that was it", 2)])
    assert proven(learned) == [
        (
            "The export hangs on files over 2 MB. Cause: The problem was that `read_all` never drained the stream."
            " Fix: changed `export.py` to copy in chunks of 64 KB."
        )
    ]


def test_what_a_command_proved_is_confirmed_in_the_same_words():
    learned = read([user("run the checks", 1), agent("Done.", FAILED, *FIXED), user("works now, keep it", 2)])
    assert proven(learned) == [
        "`make check` failed with: Error: cannot find module yaml. Fixed by running `pip install pyyaml`."
    ]


def test_the_user_says_what_they_had_to_do():
    turns = [
        user("the spans are missing in the trace view", 1),
        agent("Hm.", FAILED),
        user("it's working now. i had to use the `cursoride` provider", 2),
    ]
    assert proven(read(turns)) == [
        "The spans are missing in the trace view. Fix: use the `cursoride` provider."
    ]


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([user(PROBLEM, 1), agent(ANSWER, EDIT), user("ok, now the docs", 2), agent("Done."), user("works now", 3)], "another exchange lies between"),
        ([user(PROBLEM, 1), agent(ANSWER), user("that was it", 2)], "nothing was changed"),
        ([user("add an export", 1), agent(ANSWER, EDIT), user("works now", 2)], "no problem was stated"),
        ([user(PROBLEM, 1), agent("It might be `read_all`. Perhaps try again.", EDIT), user("works now", 2)], "the agent only guessed"),
        ([user(PROBLEM, 1), agent("Done, all is well.", EDIT), user("works now", 2)], "nobody says what it was"),
    ],
)  # fmt: skip
def test_without_a_problem_and_a_solution_nothing_is_proven(turns, why):
    assert proven(read(turns)) == [], why


def test_the_confirmation_may_come_in_a_later_reading():
    before = read([user(PROBLEM, 1), agent("", FAILED)]).checkpoint
    before = read([agent(ANSWER, EDIT)], CHECKPOINT.parse(CHECKPOINT.text(before))).checkpoint
    (text,) = proven(read([user("that was it", 2)], CHECKPOINT.parse(CHECKPOINT.text(before))))
    assert text.startswith("The export hangs")


def test_a_dangerous_solution_waits_for_the_user():
    answer = "The problem was that `tls` failed. I set `verify = false` and disabled certificate verification in `client.py`."
    (draft,) = [
        one
        for one in read([user(PROBLEM, 1), agent(answer, EDIT), user("that was it", 2)]).drafts
        if one.proofs
    ]
    assert draft.doubtful


def memory(number, *, session="a", proofs=1, tier=TrustTier.TOOL, status="active"):
    return Memory(
        id=f"mem_{number}", kind="error_pattern", content="`pytest` failed with: pytest: command not found. `uv run pytest` works.",
        scope=UNIVERSAL, provenance=Provenance(tier=tier, source="session", host="h", session_id=session, span="pytest: command not found"),
        validity=Validity(valid_from_ms=number), created_at_ms=number, updated_at_ms=number, error_signature="pytest | x", proofs=proofs, status=status,
    )  # fmt: skip


def joined(new, old):
    return reconcile(new, [Neighbor(memory=old, cosine=1.0)])


def test_two_sessions_are_two_proofs_and_one_session_is_one():
    change = joined(memory(2, session="b"), memory(1))
    assert isinstance(change, Merge)
    assert change.memory.proofs == 2
    assert isinstance(joined(memory(2), memory(1)), Skip)
    confirmed = joined(memory(2, proofs=PROVEN), memory(1))
    assert isinstance(confirmed, Merge)
    assert confirmed.memory.proofs == PROVEN
    assert isinstance(reconcile(memory(1), []), Add)


def test_an_agents_repetition_is_no_proof():
    stated = replace(
        memory(2, session="b", proofs=0),
        provenance=Provenance(tier=TrustTier.IMPORT, source="mcp", host="h", session_id="b"),
    )
    change = joined(stated, memory(1))
    assert isinstance(change, Merge)
    assert change.memory.proofs == 1


@pytest.mark.parametrize("surface", [Surface.START, Surface.PROMPT, Surface.ACTION, Surface.FAILURE])
def test_what_was_proven_twice_appears_everywhere(surface):
    once, twice = memory(1), memory(1, proofs=PROVEN)
    assert (why_not_on(once, surface) is None) is (surface is Surface.FAILURE)
    assert not why_not_on(twice, surface)
    assert is_marked(once)
    assert not is_marked(twice)
    assert why_not_on(memory(1, proofs=PROVEN, status="quarantined"), surface)
    assert why_not_on(memory(1, proofs=9, tier=TrustTier.IMPORT), surface), "who says so was not there"
