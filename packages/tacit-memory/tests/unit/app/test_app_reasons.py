"""Reasons in words: every member of every enum has some, made of the fields that it says it uses."""

from __future__ import annotations

from dataclasses import replace

import samples
from tacit.app.reasons import (
    cause_text,
    change_text,
    decider_text,
    in_words,
    log_text,
    note_text,
    outcome_text,
    reason_text,
    request_in_words,
    silence_text,
)
from tacit.model.change_reason import ChangeCause, ChangeReason, join_reasons
from tacit.model.note import Note, NoteCause
from tacit.model.trace import (
    Decider,
    Drop,
    DropCause,
    DropReason,
    NotAsked,
    SilenceCause,
    SilenceReason,
    StageRecord,
    Trace,
)
from tacit.model.trigger import Situation
from tacit.state.captured import StatementOutcome
from tacit.state.counted import RequestRecord

DETAIL, BOUND = "a-detail", 4711.0
SILENCE_DETAILS = {SilenceCause.OFF_IN_PRESET, SilenceCause.OPTED_OUT, SilenceCause.FAILED}
SILENCE_BOUNDS = {SilenceCause.CONTEXT_FULL}


def trace(why: SilenceReason | None = None) -> Trace:
    stages = (StageRecord(stage="signal", took_ms=1.0), StageRecord(stage="deliver", took_ms=1.0))
    return samples.trace(stages=stages, why=why)


IDS, TERMS = ("mem_one", "mem_two"), ("term-one", "term-two")


def test_every_drop_note_decider_and_change_has_words() -> None:
    texts = [
        *(reason_text(DropReason(cause=cause, value=0.5, bound=BOUND, detail=DETAIL)) for cause in DropCause),
        *(note_text(Note(cause=cause, detail=DETAIL, count=4711, of=9)) for cause in NoteCause),
        *map(decider_text, Decider),
        *(
            change_text(ChangeReason(cause=cause, memory_ids=IDS, terms=TERMS, detail=DETAIL))
            for cause in ChangeCause
        ),
    ]
    assert all(text.strip() for text in texts)


def test_the_log_names_each_cause_of_silence_without_a_word_of_the_prompt() -> None:
    for cause in SilenceCause:
        line = log_text(replace(trace(SilenceReason(cause=cause, detail=DETAIL)), text="giraffes"))
        assert line.startswith("nothing, ")
        assert DETAIL not in line
        assert "giraffes" not in line


def test_every_cause_of_silence_has_words_with_its_fields() -> None:
    for cause in SilenceCause:
        text = silence_text(trace(SilenceReason(cause=cause, bound=BOUND, detail=DETAIL)))
        assert text.strip()
        assert (DETAIL in text) == (cause in SILENCE_DETAILS)
        assert ("4711" in text) == (cause in SILENCE_BOUNDS)


def test_every_signal_that_asks_for_nothing_has_words() -> None:
    for kind in NotAsked:
        why = SilenceReason(cause=SilenceCause.NOT_ASKED, not_asked=kind, bound=BOUND, detail=DETAIL)
        text = silence_text(trace(why))
        assert text != silence_text(trace(replace(why, not_asked=None)))
        assert ("4711" in text, DETAIL in text) == (kind is NotAsked.SHORT_PROMPT, kind is NotAsked.NO_TARGET)


def test_no_two_causes_of_silence_read_alike() -> None:
    for texts in (
        [silence_text(trace(SilenceReason(cause=cause))) for cause in SilenceCause],
        [cause_text(cause) for cause in SilenceCause],
    ):
        assert len(set(texts)) == len(texts)
    assert not {cause.value for cause in SilenceCause} & {cause_text(cause) for cause in SilenceCause}


def test_a_cause_of_a_later_version_is_shown_as_it_is() -> None:
    assert cause_text("from_the_future") == "from_the_future"


def test_a_trace_that_is_shown_says_why_it_is_silent_and_where_it_ended() -> None:
    shown = in_words(trace(SilenceReason(cause=SilenceCause.MUTED)))
    assert shown.silence == "the session is muted"
    assert [stage.notes for stage in shown.stages] == [(), ("the session is muted",)]


def test_a_trace_without_a_reason_is_not_silent() -> None:
    assert in_words(trace()).silence == ""
    assert (trace().silent, trace().cause) == (False, None)
    muted = trace(SilenceReason(cause=SilenceCause.MUTED))
    assert (muted.silent, muted.cause) == (True, SilenceCause.MUTED)


def test_a_trace_that_is_shown_has_its_facts_and_drops_in_words() -> None:
    read = Note(cause=NoteCause.SAYS, detail="commit")
    drop = Drop(memory_id="mem_a", why=DropReason(cause=DropCause.QUARANTINED))
    stage = StageRecord(stage="query", took_ms=1.0, facts=(read,), drops=(drop,))
    shown = in_words(replace(trace(), stages=(stage,), situation=Situation(notes=(read,))))
    assert shown.stages[0].notes == ("says commit",)
    assert [one.reason for one in shown.stages[0].drops] == [reason_text(drop.why)]
    assert shown.situation.why == ("says commit",)


def test_no_two_causes_of_a_change_read_alike() -> None:
    given = [ChangeReason(cause=cause, memory_ids=IDS, terms=TERMS) for cause in ChangeCause]
    texts = [change_text(one) for one in given]
    assert len(set(texts)) == len(texts)
    assert not any(one.cause.value == text and "_" in text for one, text in zip(given, texts, strict=True))


def test_what_stood_against_a_change_and_further_reasons_follow_its_words() -> None:
    tiers = ChangeReason(cause=ChangeCause.LOWER_TIER, terms=("tool", "user"))
    first = ChangeReason(
        cause=ChangeCause.MAY_CORRECT, memory_ids=("mem_a",), detail="8080 -> 9090", but=tiers
    )
    second = ChangeReason(cause=ChangeCause.SAID_TO_REPLACE, memory_ids=("mem_b", "mem_c"))
    both = join_reasons((first, second))
    said = "may correct mem_a: 8080 -> 9090, but tool never supersedes user; said to replace mem_b, mem_c"
    assert change_text(both) == said
    assert change_text(ChangeReason(cause=ChangeCause.UNDONE, further=(both,))) == f"undone: {said}"


def test_why_a_statement_was_dropped_is_told_in_words() -> None:
    why = ChangeReason(cause=ChangeCause.TOO_LONG, terms=("2000",))
    assert outcome_text(StatementOutcome(fate="dropped", why=why)) == "longer than 2000 characters"
    assert outcome_text(StatementOutcome(fate="new")) == ""


def test_a_request_shows_its_causes_in_words() -> None:
    asked = RequestRecord(causes=(ChangeCause.NOT_QUOTED,))
    assert request_in_words(asked).dropped == ("quotes what the message does not say",)
