"""Which questions ask for what held once."""

from __future__ import annotations

import pytest

from tacit.reading.situation import asks_about_past

PAST = (
    "Since when do we deploy with Docker?",
    "Which database did we use formerly?",
    "What did we use before?",
    "What did we use before Vonage?",
    "what was the rule before the switch to uv?",
    "Previously, where were the logs kept?",
    "the history of our release process",
    "What did the team use to send SMS? What used to be the provider?",
    "When did we stop squashing commits?",
    "What was the previous test runner?",
    "Which rules hold no longer?",
    "how were releases made before we moved to GitHub?",
)
PRESENT = (
    "What do I run before a commit?",
    "What should be checked before each release?",
    "Which library is used to parse dates?",
    "Fix what the previous commit broke",
    "Which service sends our text messages?",
    "Is the linter run before tests?",
    "what happens when a session ends?",
)


@pytest.mark.parametrize("question", PAST)
def test_a_question_about_the_past(question):
    assert asks_about_past(question)


@pytest.mark.parametrize("question", PRESENT)
def test_a_question_about_what_holds(question):
    assert not asks_about_past(question)
