"""Who asks the same at the same moment gets one answer, and never one from before a change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tacit.app.queries.session_answers import FRESH_MS, MAX_CACHED, AnswerCache
from tacit.providers.clock import FakeClock

SETTINGS = object()


class CountedAnswers:
    """Counts how often an answer is made."""

    def __init__(self) -> None:
        self.change, self.made, self.clock = 1, 0, FakeClock(now_ms=0)
        self.shared = AnswerCache[int](change=lambda: self.change, clock=self.clock)

    def ask(self, words: str = "port", under: object = SETTINGS) -> int:
        return self.shared.ask(words, under=under, make=self.make)

    def make(self) -> int:
        self.made += 1
        return self.made


def test_the_same_question_is_answered_once():
    asked = CountedAnswers()
    assert [asked.ask(), asked.ask(), asked.ask("host"), asked.ask()] == [1, 1, 2, 1]


def test_a_change_of_the_store_or_of_settings_and_two_seconds_make_it_another_question():
    asked = CountedAnswers()
    asked.ask()
    asked.change += 1
    assert asked.ask() == 2
    assert asked.ask(under=object()) == 3
    asked.clock.advance(FRESH_MS)
    assert asked.ask() == 4


def test_who_asks_meanwhile_waits_for_the_first():
    asked = CountedAnswers()
    begun, go_on = Event(), Event()

    def slowly() -> int:
        begun.set()
        assert go_on.wait(3)
        return asked.make()

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: asked.shared.ask("port", under=SETTINGS, make=slowly))
        assert begun.wait(3)
        second = threads.submit(asked.ask)
        assert not second.done()
        go_on.set()
        assert (first.result(3), second.result(3), asked.made) == (1, 1, 1)


def test_an_error_is_not_kept():
    asked = CountedAnswers()

    def fail() -> int:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        asked.shared.ask("port", under=SETTINGS, make=fail)
    assert asked.ask() == 1


def test_few_are_kept():
    asked = CountedAnswers()
    for number in range(MAX_CACHED + 1):
        asked.ask(str(number))
    assert asked.ask(str(MAX_CACHED)) == MAX_CACHED + 1
    assert asked.ask("0") == MAX_CACHED + 2
