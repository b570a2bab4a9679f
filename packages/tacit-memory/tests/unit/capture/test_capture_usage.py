"""Which injected memories were used: by what the agent does of its own afterwards, not by what was there already."""

from __future__ import annotations

import json

import pytest

from samples import NOW_MS, PROJECT, memory
from tacit.backends.sqlite import SqliteStore
from tacit.capture.usage import (
    GivenMemory,
    judge_usage,
    update_usage,
)
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.model.changes import Add
from tacit.model.memory import Entity
from tacit.model.pack import Surface
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.ports.store import Handover
from tacit.providers.clock import FakeClock
from tacit.state.counted import SessionUsage, Totals
from tacit.state.registry import TOTALS, USAGE
from transcripts import tool_call, tool_result, write_transcript
from unit.capture.pipelines import make_pipeline

LINT = memory(
    "Run `make lint` before committing.", id="mem_lint", entities=(Entity(kind="command", key="make lint"),)
)
RETRY = memory("Retries live in the payment gateway adapter.", id="mem_retry", files=("src/net/retry.py",))
NOTHING = SessionUsage()


def turn(role, text="", *tools, number=1, at_ms=0):
    return Turn(index=0, number=number, role=role, text=text, tools=tools, at_ms=at_ms)


def bash(command):
    return ToolUse(tool="bash", command=command, finished=True)


def edit(path):
    return ToolUse(tool="edit", paths=(path,), finished=True)


def test_what_the_agent_fetched_is_used_whatever_it_does_with_it():
    shown = [GivenMemory(memory=LINT), GivenMemory(memory=RETRY)]
    verdicts, _, totals = update_usage(
        [turn("assistant", "Done.")], shown, NOTHING, Totals(), fetched=frozenset({"mem_lint"})
    )
    assert [(verdict.memory_id, verdict.cue) for verdict in verdicts] == [("mem_lint", "fetch")]
    assert (totals.shown, totals.used) == (2, 1)


@pytest.mark.parametrize(
    ("one", "done", "cue"),
    [
        (LINT, turn("assistant", "", bash("make lint && git commit")), "identifier"),
        (LINT, turn("assistant", "As mem_lint says, first the checks."), "citation"),
        (RETRY, turn("assistant", "", edit("/w/src/net/retry.py")), "file"),
        (RETRY, turn("assistant", "They live in the payment gateway adapter, so I look there."), "phrase"),
        (LINT, turn("assistant", "", bash("git commit")), ""),
        (RETRY, turn("assistant", "", edit("/w/src/net/other.py")), ""),
        (LINT, turn("user", "run make lint"), ""),
    ],
)
def test_a_cue_of_the_agents_own_is_a_use(one, done, cue):
    (verdict,) = judge_usage([done], [GivenMemory(memory=one)], NOTHING)
    assert verdict.cue == cue


def test_what_was_there_before_proves_nothing():
    turns = [turn("user", "run make lint please"), turn("assistant", "", bash("make lint"))]
    (verdict,) = judge_usage(turns, [GivenMemory(memory=LINT)], NOTHING)
    assert (verdict.used, verdict.before) == (False, True)


def test_what_came_before_the_injection_is_no_use():
    done = turn("assistant", "", bash("make lint"), number=1, at_ms=1000)
    again = turn("assistant", "", bash("make lint"), number=2, at_ms=3000)
    (verdict,) = judge_usage([done, again], [GivenMemory(memory=LINT, at_ms=2000, turn=2)], NOTHING)
    assert not verdict.used
    (verdict,) = judge_usage([again], [GivenMemory(memory=LINT, at_ms=2000, turn=2)], NOTHING)
    assert verdict.used


def test_counts_by_hand():
    """Two shown, one used; one control, used too: 1/2 against 1/1, and nothing is counted twice."""
    control = memory(
        "Deploy with `fly launch` only.", id="mem_fly", entities=(Entity(kind="command", key="fly launch"),)
    )
    shown = [
        GivenMemory(memory=LINT, surface="prompt", tokens=10),
        GivenMemory(memory=RETRY, surface="start", tokens=12),
        GivenMemory(memory=control, control=True),
    ]
    turns = [turn("assistant", "", bash("make lint"), bash("fly launch"))]
    used, after, totals = update_usage(turns, shown, NOTHING, Totals())
    assert [verdict.memory_id for verdict in used] == ["mem_lint", "mem_fly"]
    assert (totals.shown, totals.used, totals.tokens, totals.tokens_used) == (2, 1, 22, 10)
    assert (totals.rate, totals.baseline, totals.sessions) == (0.5, 1.0, 1)
    assert (totals.by_cue, totals.by_surface) == ({"identifier": 1}, {"prompt": 1})

    used, later, again = update_usage(turns, shown, after, totals)
    assert used == ()
    assert again == totals
    used, _, more = update_usage([turn("assistant", "", edit("src/net/retry.py"))], shown, later, again)
    assert [verdict.memory_id for verdict in used] == ["mem_retry"]
    assert (more.shown, more.used, more.sessions) == (2, 2, 1)


def test_values_survive_storing_and_rubbish_is_nothing():
    _, after, totals = update_usage(
        [turn("assistant", "", bash("make lint"))], [GivenMemory(memory=LINT)], NOTHING, Totals()
    )
    assert USAGE.parse(USAGE.text(after)) == after
    assert TOTALS.parse(TOTALS.text(totals)) == totals
    assert USAGE.parse("nonsense") is None
    assert TOTALS.parse('{"shown": "x"}') is None
    assert "make" not in USAGE.text(after), "words are kept as digests: one may be a secret"


def captured(folder, *said, times=1, **session):
    """The store after the transcript of a session, in which a memory was given, was captured `times` times."""
    clock = FakeClock(now_ms=NOW_MS)
    store = SqliteStore.temporary(clock=clock)
    pipeline = make_pipeline(store, clock, project=PROJECT.project_id)
    store.apply([Add(memory=LINT), Add(memory=RETRY)])
    key = SessionKey(host="claude-code", session_id="s1")
    shown = {"surface": Surface.PROMPT, "epoch": 0, "turn": 1, "tokens": 9, "at_ms": NOW_MS}
    given = Exposure(memory_id="mem_lint", content_hash="x", **shown)
    store.save_session(SessionState(key=key, ledger=(given,), **session))
    path = write_transcript(folder / "s1.jsonl", ("user", "commit it"), *said, cwd="/w")
    payload = json.dumps({"transcript_path": str(path), "cwd": "/w"})
    for number in range(times):
        store.hand_over(Handover(key=f"h{number}", session=key, payload=payload, at_ms=NOW_MS))
        pipeline.capture_pending()
    return store


def test_a_captured_session_counts_the_uses_of_what_it_was_given(tmp_path):
    said = (tool_call("t1", "Bash", command="make lint"), tool_result("t1"))
    store = captured(tmp_path, *said, times=2)
    found = {m.id: m.use_count for m in store.get(["mem_lint", "mem_retry"], scope=store.scopes())}
    assert found == {"mem_lint": 1, "mem_retry": 0}
    totals = TOTALS.read(store)
    assert (totals.shown, totals.used, totals.control_shown, totals.control_used) == (1, 1, 1, 0)


@pytest.mark.parametrize(("fetched", "passed_over"), [(("mem_lint",), 1), ((), 0)])
def test_a_headline_is_passed_over_only_where_others_were_fetched(tmp_path, fetched, passed_over):
    store = captured(tmp_path, ("assistant", "Done."), offered=("mem_retry",), fetched=fetched)
    lint, retry = store.get(["mem_lint", "mem_retry"], scope=store.scopes())
    assert (lint.shown_count, lint.use_count) == (1, len(fetched))
    assert (retry.shown_count, retry.use_count) == (passed_over, 0)
