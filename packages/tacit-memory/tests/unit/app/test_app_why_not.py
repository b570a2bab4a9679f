"""Why a memory is not given: in a session, of a recorded recall, by silence, by room; and who may know it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import memory as sample
from tacit.app.queries.why_not import remedy_text, sentences
from tacit.app.values import RecallAsked
from tacit.config.overrides import SettingsTarget
from tacit.errors import NotFound
from tacit.model.changes import Add
from tacit.model.memory import Sensitivity, Speaker
from tacit.model.pack import Surface
from tacit.model.session import SessionKey
from tacit.model.trace import AskedWith, DropCause, SilenceCause
from tacit.model.why_not import RemedyKind
from tacit.recall.query import OPT_OUT

KEY = SessionKey(host="plain", session_id="s")
CALL = AskedWith(tool="bash", command="pytest tests")


@pytest.fixture
def rule(engine, place):
    (change,) = engine.remember("pytest is run with -x first, then whole.", when="cmd:pytest", cwd=str(place))
    return change.memory.id


def call(engine, place, number: int) -> list[str]:
    signal = {
        "event": "tool_start", "session": "s", "cwd": str(place), "tool": "bash", "command": "pytest tests",
        "call_id": f"c{number}", "key": f"c{number}",
    }  # fmt: skip
    return engine.hook("plain", signal, deadline_ms=60_000.0)


def asked(place, **other) -> RecallAsked:
    return replace(RecallAsked(surface=Surface.ACTION, cwd=str(place), given=CALL), **other)


def kinds(answer):
    return [[step.kind for step in remedy.steps] for remedy in answer.remedies]


def test_what_is_given_says_so_with_its_numbers(engine, place, rule):
    answer = engine.why_not(rule, asked(place))
    assert answer.given
    assert answer.absence is None
    assert sentences(answer) == ("It is given around this tool call: it reached 1.00, and 0.50 is needed.",)


def test_what_the_session_was_given_is_in_its_context(engine, place, rule):
    assert rule in call(engine, place, 1)
    engine.flush()
    answer = engine.why_not(rule, asked(place, session=KEY))
    assert answer.absence.stage == "dedupe"
    assert answer.absence.why.cause is DropCause.IN_CONTEXT
    assert "already in context (turn 0, action)" in sentences(answer)[0]
    assert kinds(answer) == [[RemedyKind.NEW_SESSION]]


def test_a_recorded_recall_is_told_as_it_was_and_as_it_is(engine, place, rule, clock):
    call(engine, place, 1)
    clock.advance(1000)
    call(engine, place, 2)
    engine.flush()
    second, first = (trace.id for trace in engine.why(session="plain/s", limit=2))
    then = engine.why_not(rule, RecallAsked(trace_id=first))
    assert then.recorded_given
    assert then.given, "what was given later does not count"
    repeated = engine.why_not(rule, RecallAsked(trace_id=second))
    assert repeated.recorded_given is False
    assert repeated.recorded.why.cause is repeated.absence.why.cause is DropCause.IN_CONTEXT
    assert sentences(repeated) == (
        "It is not given around this tool call: already in context (turn 0, action).",
    )
    assert sentences(then)[-1] == "The recorded recall gave it; this is the same recall now."
    with pytest.raises(NotFound):
        engine.why_not(rule, RecallAsked(trace_id="trc_unknown"))


def test_a_muted_session_and_an_opted_out_prompt_ask_for_nothing(engine, place, rule):
    call(engine, place, 1)
    engine.flush()
    engine.live.mute(KEY, muted=True)
    muted = engine.why_not(rule, asked(place, session=KEY))
    assert muted.absence.stage == "signal"
    assert muted.absence.silence.cause is SilenceCause.MUTED
    assert kinds(muted) == [[RemedyKind.UNMUTE, RemedyKind.NEW_SESSION]]
    prompt = RecallAsked(cwd=str(place), text=f"run pytest {OPT_OUT}")
    out = engine.why_not(rule, prompt)
    assert out.absence.silence.cause is SilenceCause.OPTED_OUT
    assert all(steps[0] is RemedyKind.OPT_IN for steps in kinds(out))


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"recall.enabled": False}, SilenceCause.OFF),
        ({"recall.shadow": True}, SilenceCause.SHADOW),
        ({"recall.budgets.action": 0}, SilenceCause.OFF_IN_PRESET),
    ],
)
def test_a_setting_that_silences_the_surface_is_named_and_not_offered(engine, place, rule, settings, cause):
    engine.admin.options.change(SettingsTarget(), settings)
    answer = engine.why_not(rule, asked(place))
    assert answer.absence.silence.cause is cause
    assert answer.remedies == ()


def test_a_budget_that_is_too_small_says_what_the_line_needs(engine, place, rule):
    engine.admin.options.change(SettingsTarget(), {"recall.budgets.action": 40})
    answer = engine.why_not(rule, asked(place))
    assert answer.absence.why.cause is DropCause.NO_ROOM
    needs, left = answer.numbers.tokens, answer.numbers.tokens_left
    assert needs > left
    assert f"The block may have 40 tokens: its line needs {needs}, {left} were left." in sentences(answer)
    assert answer.remedies == ()


def test_another_project_and_the_review_queue_hide_a_memory(engine, place, rule, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    away = engine.why_not(rule, asked(other))
    assert away.absence.why.cause is DropCause.OUT_OF_SCOPE
    assert away.remedies[0].steps[0].kind is RemedyKind.SCOPE
    assert remedy_text(away.remedies[0]).startswith("Give it the scope project:other")
    (change,) = engine.remember(
        "Run make lint before every commit.",
        when="commit",
        cwd=str(place),
        speaker=Speaker.AGENT,
        source="agent",
    )
    call_of_commit = asked(place, given=AskedWith(tool="bash", command="git commit -m x"))
    waiting = engine.why_not(change.memory.id, call_of_commit)
    assert waiting.absence.why.cause is DropCause.QUARANTINED
    assert kinds(waiting)[0] == [RemedyKind.ACCEPT]


def test_a_memory_that_ended_names_its_successor(engine, place, rule):
    (change,) = engine.memories.supersede(
        engine.show(rule), "pytest is run with -q.", kind=None, when=None, scope=None
    )
    answer = engine.why_not(rule, asked(place))
    assert answer.absence.why.cause is DropCause.ENDED
    assert f"{change.memory.id} took its place." in sentences(answer)
    assert answer.remedies == ()


def test_an_agent_learns_nothing_of_what_is_hidden_from_it(engine, place, rule):
    engine.memories.edit(engine.show(rule), sensitivity=Sensitivity.RESTRICTED)
    with pytest.raises(NotFound):
        engine.why_not(rule, asked(place), speaker=Speaker.AGENT)
    answer = engine.why_not(rule, asked(place))
    assert answer.absence.why.cause is DropCause.SENSITIVE


def test_an_agent_is_not_told_of_which_hidden_memory_it_is_a_copy(engine, place, rule):
    twin = replace(
        engine.show(rule), id="mem_1k742sg00twin", content="pytest is run with -x first, then whole!"
    )
    engine.store.apply([Add(memory=twin)])
    call(engine, place, 1)
    engine.flush()
    (trace,) = engine.why(session="plain/s", limit=1)
    (given,) = trace.injected
    other = ({twin.id, rule} - {given}).pop()
    recorded = RecallAsked(trace_id=trace.id)
    assert engine.why_not(other, recorded).recorded.why.detail == given
    engine.memories.edit(engine.show(given), sensitivity=Sensitivity.RESTRICTED)
    told = engine.why_not(other, recorded, speaker=Speaker.AGENT)
    assert told.recorded.why.detail == "another memory"


def test_a_scope_with_too_many_memories_is_not_copied(engine, place, rule, monkeypatch):
    monkeypatch.setattr("tacit.app.queries.why_not.MOST_COPIED", 20)
    store = engine.store
    scope = engine.show(rule).scope
    store.apply([Add(memory=sample(f"Fact {n} of many.", id=f"mem_{n:04}", scope=scope)) for n in range(21)])
    engine.memories.edit(engine.show(rule), sensitivity=Sensitivity.RESTRICTED)
    answer = engine.why_not(rule, asked(place))
    assert answer.untried
    assert answer.remedies == ()
    assert sentences(answer)[-1] == "Its scope holds too many memories to try changes of it."


def test_a_remedy_is_measured_on_the_last_recalls_and_one_that_comes_too_often_is_not_offered(
    engine, place, rule
):
    lint = engine.remember("Run make lint.", when="cmd:make lint", cwd=str(place))[0].memory.id
    for number in range(30):
        command = f"git commit -m {number}" if number % 6 else f"cargo build --jobs {number}"
        signal = {
            "event": "tool_start", "session": f"t{number}", "cwd": str(place), "tool": "bash", "command": command,
            "call_id": f"d{number}", "key": f"d{number}",
        }  # fmt: skip
        engine.hook("plain", signal, deadline_ms=60_000.0)
    engine.flush()
    often = engine.why_not(lint, asked(place, given=AskedWith(tool="bash", command="git commit --amend")))
    assert (often.unsafe.others, often.unsafe.of) == (25, 30)
    assert often.remedies == () or all(one.safe for one in often.remedies)
    seldom = engine.why_not(lint, asked(place, given=AskedWith(tool="bash", command="docker compose up")))
    (remedy,) = seldom.remedies
    assert (remedy.others, remedy.of) == (0, 30)
    assert seldom.unsafe is None
