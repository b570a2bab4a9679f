"""Decisions of the agent on a question of the user's, and what counts as a yes to them."""

from __future__ import annotations

import pytest

from tacit.capture.extract.choices import alternatives_in, find_choices
from tacit.capture.turn import Role, Turn

ASKED = "Should we use JWT or sessions?"
MADE = "I decided to use JWT with RS256 for authentication."
NOTHING: set[str] = set()
CONTENT = f"{ASKED} Decided: use JWT with RS256 for authentication."


def turns(*said: str) -> tuple[Turn, ...]:
    """The words of user and agent by turns, the user's first."""
    roles: tuple[Role, Role] = ("user", "assistant")
    return tuple(turn(roles[n % 2], text, n + 1) for n, text in enumerate(said))


def turn(role: Role, text: str, number: int) -> Turn:
    return Turn(index=number, number=number, role=role, text=text, at_ms=number)


def found(*said: str) -> list[tuple[str, bool]]:
    made, _, _ = find_choices(turns(*said), "", None)
    return [(one.content, accepted) for one, accepted in made]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        (ASKED, {"jwt", "sessions"}),
        ("JWT vs sessions, which one?", {"jwt", "sessions"}),
        ("We use tabs or spaces.", NOTHING),
        ("Which store fits us?", NOTHING),
        ("> Should we use JWT or sessions?", NOTHING),
    ],
)
def test_a_question_names_its_alternatives(question: str, named: set[str]) -> None:
    assert alternatives_in(question)[1] == named


@pytest.mark.parametrize(
    "made",
    [
        MADE,
        "I've decided to use JWT with RS256.",
        "Both would work. We'll go with JWT and RS256.",
        "Going with JWT because the gateway has no store.",
        "Decision: JWT with RS256.",
        "After a look at the gateway, I chose JWT.",
    ],
)
def test_a_plain_decision_waits_for_the_user(made: str) -> None:
    ((content, accepted),) = found(ASKED, made)
    assert content.startswith(f"{ASKED} Decided: ")
    assert "JWT" in content
    assert not accepted


@pytest.mark.parametrize(
    "made",
    [
        "I would use JWT with RS256.",
        "I decided to use JWT, unless you prefer sessions.",
        "We could go with JWT for now.",
        "Should I go with JWT?",
        "I decided to look at the gateway first.",
        "I decided to use PostgreSQL for the orders.",
        "JWT is the more popular one.",
    ],
)
def test_a_leaning_or_another_topic_is_no_decision(made: str) -> None:
    assert found(ASKED, made) == []


@pytest.mark.parametrize(
    "reply",
    [
        "yes, go ahead please",
        "Yes.",
        "sounds good",
        "ok, do it",
        "I agree",
        "lgtm, and add a test for the expiry",
        "Perfect. Write it up in the README.",
        "go ahead with JWT",
    ],
)
def test_a_yes_accepts_the_decision(reply: str) -> None:
    assert found(ASKED, MADE, reply) == [(CONTENT, True)]


@pytest.mark.parametrize(
    "reply",
    [
        # refusals
        "no, use sessions",
        "nope",
        "wait",
        # doubts
        "yes, but I would rather use sessions",
        "sounds good, but are you sure about RS256?",
        "Yes, if the auditors agree",
        "ok, wait",
        "right, but not now",
        "ok, so should we?",
        "hmm, I am not sure",
        # the other alternative
        "go ahead with sessions",
        "ok, use sessions",
        "the second one",
        # another topic
        "Please rename the helper in cart.py",
        "What does the gateway log?",
        "thanks",
    ],
)
def test_doubt_refusal_and_another_topic_accept_nothing(reply: str) -> None:
    assert found(ASKED, MADE, reply) == [(CONTENT, False)]


def test_the_alternative_that_was_ruled_out_is_no_part_of_what_was_decided() -> None:
    made = "I decided to use JWT instead of sessions."
    assert [accepted for _, accepted in found(ASKED, made, "ok, use sessions")] == [False]
    assert [accepted for _, accepted in found(ASKED, made, "ok, use JWT")] == [True]


def test_only_the_very_next_words_accept() -> None:
    assert found(ASKED, MADE, "Please rename the helper in cart.py", "Renamed.", "yes, go ahead please") == [
        (CONTENT, False)
    ]


def test_what_waits_is_carried_to_the_next_reading() -> None:
    _, question, choice = find_choices(turns(ASKED), "", None)
    assert (question, choice) == (ASKED, None)
    asked = find_choices((turn("assistant", MADE, 2),), question, choice)
    assert [accepted for _, accepted in asked[0]] == [False]
    assert asked[1] == ""
    answered = find_choices((turn("user", "yes, go ahead please", 3),), *asked[1:])
    assert [(one.content, accepted) for one, accepted in answered[0]] == [(CONTENT, True)]
    assert answered[2] is None
