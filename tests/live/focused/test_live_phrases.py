"""Phrases that say when a memory applies, through command line and daemon: a question in their sense finds the memory."""

from __future__ import annotations

STATEMENT = "Work in batches of 500 rows; one transaction each."
PHRASES = ["the nightly import takes too long", "loading a big customer file"]
OTHERS = (
    "Invoices are archived after ninety days.",
    "The mobile app is written in Flutter.",
    "Text messages go through Vonage; Twilio was dropped because of its price.",
    "Pull requests are merged by squashing.",
)
QUESTION = "Why is last night's data load so slow, and what can we do about it?"


def _answer(live, when: list[str] | str) -> list[str]:
    """The statements of an answer to `QUESTION`, best first."""
    machine = live("preset: focused")
    for content in OTHERS:
        machine.remember(content, kind="fact", when="")
    machine.remember(STATEMENT, kind="fact", when=when)
    return [memory["content"] for memory in machine.ask("recall", QUESTION)["memories"]]


def test_a_question_in_the_sense_of_a_phrase_finds_the_memory(live):
    assert _answer(live, PHRASES) == [STATEMENT]


def test_without_phrases_it_is_not_found(live):
    assert STATEMENT not in _answer(live, "")
