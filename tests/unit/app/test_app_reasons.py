"""Reasons in words: every member of every enum has some, made of the fields that it says it uses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.app.reasons import cause_text, in_words, reason_text, silence_text
from tacit.model.pack import Surface
from tacit.model.situation import Situation
from tacit.model.trace import (
    DropCause,
    DropReason,
    NotAsked,
    SilenceCause,
    SilenceReason,
    StageRecord,
    Trace,
)

DETAIL, BOUND = "a-detail", 4711.0
SILENCE_DETAILS = {SilenceCause.OFF_IN_PRESET, SilenceCause.OPTED_OUT, SilenceCause.FAILED}
SILENCE_BOUNDS = {SilenceCause.CONTEXT_FULL}


def trace(why: SilenceReason | None = None, silence: str = "") -> Trace:
    return Trace(
        id="trc_1",
        session="host/1",
        turn=1,
        epoch=0,
        surface=Surface.PROMPT,
        at_ms=1,
        preset="focused",
        text="words",
        situation=Situation(),
        stages=(StageRecord(stage="signal", took_ms=1.0), StageRecord(stage="deliver", took_ms=1.0)),
        silence=silence,
        cause=why.cause if why else None,
        why=why,
    )


@pytest.mark.parametrize("cause", DropCause)
def test_every_cause_of_a_drop_has_words(cause: DropCause) -> None:
    assert reason_text(DropReason(cause=cause, value=0.5, bound=BOUND, detail=DETAIL)).strip()


@pytest.mark.parametrize("cause", SilenceCause)
def test_every_cause_of_silence_has_words_with_its_fields(cause: SilenceCause) -> None:
    text = silence_text(trace(SilenceReason(cause=cause, bound=BOUND, detail=DETAIL)))
    assert text.strip()
    assert (DETAIL in text) == (cause in SILENCE_DETAILS)
    assert ("4711" in text) == (cause in SILENCE_BOUNDS)


@pytest.mark.parametrize("kind", NotAsked)
def test_every_signal_that_asks_for_nothing_has_words(kind: NotAsked) -> None:
    why = SilenceReason(cause=SilenceCause.NOT_ASKED, not_asked=kind, bound=BOUND, detail=DETAIL)
    text = silence_text(trace(why))
    assert text != silence_text(trace(replace(why, not_asked=None)))
    assert ("4711" in text, DETAIL in text) == (kind is NotAsked.SHORT_PROMPT, kind is NotAsked.NO_TARGET)


def test_no_two_causes_of_silence_read_alike() -> None:
    for texts in (
        [silence_text(trace(SilenceReason(cause=cause))) for cause in SilenceCause],
        [cause_text(cause) for cause in (*SilenceCause, None)],
    ):
        assert len(set(texts)) == len(texts)
    assert not {cause.value for cause in SilenceCause} & {cause_text(cause) for cause in SilenceCause}


def test_a_cause_of_a_later_version_is_shown_as_it_is() -> None:
    assert cause_text("from_the_future") == "from_the_future"


def test_a_trace_that_is_shown_says_why_it_is_silent_and_where_it_ended() -> None:
    shown = in_words(trace(SilenceReason(cause=SilenceCause.MUTED)))
    assert shown.silence == "the session is muted"
    assert [stage.notes for stage in shown.stages] == [(), ("the session is muted",)]


def test_an_old_trace_keeps_its_own_words() -> None:
    old = trace(silence="said in an older way")
    assert in_words(old) == old
    assert old.silent
    assert not trace().silent
