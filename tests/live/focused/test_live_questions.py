"""Questions to the `focused` preset through hook client and daemon: what others stored meanwhile answers them, in other words."""

from __future__ import annotations

from e2e.drivers.session import Session

STORED = (
    "Invoices are archived after ninety days.",
    "The mobile app is written in Flutter.",
    "The auth module is in src/auth/ with 3 files.",
    "Text messages go through Vonage; Twilio was dropped because of its price.",
    "Two desks once took the same slot, so appointments are locked with PostgreSQL advisory locks.",
    "Pull requests are merged by squashing.",
)
ANSWERED = (
    ("Two receptionists gave the same time to different people. How do we prevent that?", "advisory locks"),
    ("Which service do we use to send SMS?", "Vonage"),
    ("how long are bills kept?", "ninety days"),  # short, and read without the question before it
)
UNANSWERED = (
    "What is the difference between a mutex and a semaphore?",
    "Which city has the best weather?",
    "Could you tidy up the imports of this file?",
)


def test_a_question_gets_the_one_memory_that_answers_it(live):
    machine = live("preset: focused\nrecall: {budgets: {index: 0}}")  # with it, what is stored since is told
    session = Session(machine, "s1")
    session.start()
    for content in STORED:  # after the start pack
        machine.remember(content, kind="fact", when="")
    for question, answer in ANSWERED:
        lines = [line for line in session.say(question).splitlines() if line.startswith("- ")]
        assert len(lines) == 1, question
        assert answer in lines[0], question
    for question in UNANSWERED:
        assert session.say(question) == "", question


def test_a_store_that_does_not_want_it_is_silent(live):
    machine = live("preset: focused\nrecall: {question_cosine: 1.0}")
    session = Session(machine, "s1")
    session.start()
    for content in STORED:
        machine.remember(content, kind="fact", when="")
    assert [session.say(question) for question, _ in ANSWERED] == [""] * len(ANSWERED)
