"""Models that name memories: in the pause after the agent's message, and at the prompt. What is sent, what it brings, what may fail."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tacit.app.asking import JUDGE_PAUSE_MS, LATE, prompt_ms
from tacit.app.reasons import in_words
from tacit.app.wiring import open_engine
from tacit.config.settings import JudgeSettings, RecallSettings
from tacit.errors import ProviderError
from tacit.model.memory import Sensitivity
from tacit.model.note import NoteCause
from tacit.model.session import SessionKey
from tacit.model.trace import Decider
from tacit.ports.writer import WriterAnswer, WriterRequest
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.writing import RedactedWriter
from tacit.providers.writing.fake import FakeWriter
from tacit.recall.ask_model import LINE_CHARS, MOST_LISTED
from tacit.state.counted import PAUSE_MS as PAUSE_AFTER_FAILURE_MS

KEY = SessionKey(host="claude-code", session_id="s1")
FAR = "Refunds go through the ledger service, never through the shop."
OTHER = "The warehouse closes at six."
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
ENDED = "The exporter is done. Shall I add the command line for it?"
GO = "Please add it and write a test."


def named(*pairs: tuple[object, object], tokens: int = 900) -> WriterAnswer:
    """The model's answer that names these numbers of its list."""
    found = [{"memory": number, "probability": chance} for number, chance in pairs]
    return WriterAnswer(text=json.dumps({"memories": found}), model="m", tokens_in=tokens, tokens_out=20)


class Slow(FakeWriter):
    """Answers when it is let."""

    def __init__(self, *answers: WriterAnswer | Exception) -> None:
        super().__init__(answers)
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def write(self, request: WriterRequest) -> WriterAnswer:
        self.asked.set()
        assert self.may_answer.wait(30)
        return super().write(request)


class Day:
    """A project with memories; `pause` and `prompt` stand in for the two models."""

    def __init__(
        self,
        folder: Path,
        *,
        pause: FakeWriter | None = None,
        prompt: FakeWriter | None = None,
        **settings: Any,
    ) -> None:
        self.clock = FakeClock()
        self.pause, self.judge = pause, prompt
        recall = {
            "deadline_ms": 20_000,
            "anticipate": {"provider": "fake" if pause else "off", **settings.pop("anticipate", {})},
            "judge": {"provider": "fake" if prompt else "off", **settings.pop("judge", {})},
            **settings.pop("recall", {}),
        }
        self.engine = open_engine(
            folder / "h", embedder=FakeEmbedder(), clock=self.clock, overrides={"recall": recall, **settings},
            anticipating=RedactedWriter(pause, self._redact) if pause else None,
            judging=RedactedWriter(prompt, self._redact) if prompt else None,
        )  # fmt: skip
        self.project = folder / "shop"
        (self.project / ".git" / "objects").mkdir(parents=True)
        self.calls = 0

    def _redact(self, text: str) -> str:
        return text

    def remember(self, content: str, **more: Any) -> str:
        self.clock.advance(1000)
        (change,) = self.engine.remember(content, kind="decision", cwd=str(self.project), **more)
        return change.memory.id

    def hook(self, event: str, *, deadline_ms: float = 30_000, **fields: object) -> str:
        self.calls += 1
        self.clock.advance(1000)
        given = {
            "hook_event_name": event, "session_id": "s1", "cwd": str(self.project), "transcript_path": "",
            "prompt_id": f"p{self.calls}", **fields,
        }  # fmt: skip
        out = self.engine.hook("claude-code", given, deadline_ms=deadline_ms)
        return json.loads(out).get("hookSpecificOutput", {}).get("additionalContext", "") if out else ""

    def prompt(self, text: str = GO, **fields: Any) -> str:
        return self.hook("UserPromptSubmit", prompt=text, **fields)

    def stop(self, text: str = ENDED, *, wait: bool = True, **fields: object) -> None:
        self.hook("Stop", last_assistant_message=text, **fields)
        if wait:
            self.engine.anticipation.flush()

    @property
    def state(self):
        return self.engine.live.load(KEY)

    @property
    def trace(self):
        return self.engine.why(limit=1)[0]

    @property
    def causes(self) -> list[NoteCause]:
        facts = [fact for stage in self.trace.stages for fact in stage.facts]
        return [fact.cause for fact in facts if fact.cause.value.startswith(("judge", "armed"))]


@pytest.fixture
def open_day(tmp_path: Path):
    opened: list[Day] = []

    def make(**parts: Any) -> Day:
        day = Day(tmp_path / str(len(opened)), **parts)
        opened.append(day)
        day.far, day.other = day.remember(FAR), day.remember(OTHER)
        day.hook("SessionStart", source="startup")
        return day

    yield make
    for day in opened:
        day.engine.close()


# --- the pause


def test_the_pause_arms_what_the_next_prompt_then_gets(open_day) -> None:
    day = open_day(pause=FakeWriter([named((1, 0.95))]), recall={"budgets": {"start": 0}})
    day.prompt("Build the exporter.")
    day.stop()
    armed = day.state.armed
    assert [(one.memory_id, one.probability) for one in armed.memories] == [(day.far, 0.95)]
    assert armed.listed == (day.far, day.other)
    assert FAR in day.prompt()
    assert day.trace.decider is Decider.ARMED
    assert day.causes == [NoteCause.ARMED]


def test_without_it_the_same_prompt_gets_nothing(open_day) -> None:
    day = open_day(recall={"budgets": {"start": 0}})
    day.prompt("Build the exporter.")
    day.stop()
    assert day.state.armed is None
    assert FAR not in day.prompt()
    assert day.trace.decider is Decider.LOCAL


def test_the_request_holds_the_list_first_and_the_end_of_the_conversation(open_day) -> None:
    day = open_day(pause=FakeWriter([named(), named()]))
    day.prompt(f"Build the exporter. The token is {SECRET}.")
    day.stop(f"{ENDED} I used {SECRET}.")
    day.stop("The tests pass, too.")
    first, second = day.pause.requests
    assert first.user.startswith(f"Memories:\n1. [decision] {FAR}\n2. [decision] {OTHER}\n\nConversation:\n")
    assert first.user[: first.stable_chars] == second.user[: second.stable_chars]
    assert first.user[first.stable_chars :].startswith("Conversation:\n")
    said = json.loads(first.user.partition("Conversation:\n")[2])
    assert said["developer before"][0].startswith("Build the exporter.")
    assert said["agent"].startswith(ENDED)
    assert SECRET not in first.user
    assert "developer now" not in said


def test_nothing_that_may_not_leave_is_on_the_list(open_day) -> None:
    day = open_day(pause=FakeWriter([named()]))
    day.remember("Restricted: the vault is in Basel.", sensitivity=Sensitivity.RESTRICTED)
    day.remember("For this session only.", sensitivity=Sensitivity.SESSION, session=KEY)
    day.engine.remember("Another project's rule.", kind="decision", cwd="/tmp")
    gone = day.remember("Carts are kept for a day.")
    day.engine.memories.retire(day.engine.show(gone))
    day.prompt("Build the exporter.")
    day.stop()
    (request,) = day.pause.requests
    lines = request.user.partition("\n\n")[0].splitlines()[1:]
    assert lines == [f"1. [decision] {FAR}", f"2. [decision] {OTHER}"]


def test_a_list_has_at_most_150_lines_of_bounded_length_oldest_first(open_day) -> None:
    day = open_day(pause=FakeWriter([named()]))
    for number in range(MOST_LISTED):
        day.remember(f"Rule number {number} of the shop is this. " + "word " * (100 if number == 3 else 0))
    day.prompt("Build the exporter.")
    day.stop()
    lines = day.pause.requests[0].user.partition("\n\n")[0].splitlines()[1:]
    assert len(lines) == MOST_LISTED
    assert [int(line.partition(".")[0]) for line in lines] == list(range(1, MOST_LISTED + 1))
    assert max(map(len, lines)) < LINE_CHARS + 40
    assert len(day.state.armed.listed) == MOST_LISTED


def test_no_surface_waits_for_the_pause(open_day) -> None:
    slow = Slow(named((1, 0.95)))
    day = open_day(pause=slow, recall={"budgets": {"start": 0}})
    day.prompt("Build the exporter.")
    day.stop(wait=False)
    assert slow.asked.wait(30)
    assert FAR not in day.prompt()
    slow.may_answer.set()
    day.engine.anticipation.flush()
    assert day.state.armed.turn == 1, "it still serves the calls of this turn"


def test_an_answer_that_comes_a_turn_too_late_is_dropped_and_one_of_an_old_pause_not_asked_for(
    open_day,
) -> None:
    slow = Slow(named((1, 0.95)), named((2, 0.9)))
    day = open_day(pause=slow)
    day.prompt("Build the exporter.")
    day.stop(wait=False)
    assert slow.asked.wait(30)
    day.prompt("Please write the importer, too.")
    day.stop("Both are done.", wait=False)
    day.prompt("Please write the docs.")
    slow.may_answer.set()
    day.engine.anticipation.flush()
    assert day.state.armed is None
    assert len(slow.requests) == 1


def test_it_is_stale_after_a_compaction_and_two_turns_later(open_day) -> None:
    day = open_day(pause=FakeWriter([named((1, 0.95)), ProviderError("No.", reason="refused")]))
    day.prompt("Build the exporter.")
    day.stop()
    day.hook("SessionStart", source="compact")
    day.prompt()
    assert day.trace.decider is Decider.LOCAL
    day.stop()
    day.prompt()
    assert day.trace.decider is Decider.LOCAL


def test_a_memory_that_was_changed_meanwhile_is_not_armed_any_more(open_day) -> None:
    day = open_day(pause=FakeWriter([named((1, 0.95))]), recall={"budgets": {"start": 0}})
    day.prompt("Build the exporter.")
    day.stop()
    day.clock.advance(1000)
    day.engine.memories.edit(
        day.engine.show(day.far), content="Refunds go through the shop again, as before."
    )
    assert "Refunds" not in day.prompt()


BAD = {
    "no JSON": WriterAnswer(text="Certainly! I would name the first one.", model="m", tokens_in=9),
    "no list": WriterAnswer(text='{"memories": {"memory": 1}}', model="m", tokens_in=9),
    "an array": WriterAnswer(text="[1, 2]", model="m", tokens_in=9),
    "deep": WriterAnswer(text="[" * 200_000, model="m", tokens_in=9),
    "refused": ProviderError("Too many requests.", reason="refused"),
    "slow": ProviderError("It did not answer.", reason="timed out"),
    "no login": ProviderError("Log in first.", reason="not logged in"),
    "missing": ProviderError("Not installed.", reason="missing"),
    "broken": RuntimeError("broken"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_answer_arms_nothing_and_stands_on_the_meter(open_day, bad) -> None:
    day = open_day(pause=FakeWriter([bad, named((1, 0.95))]))
    day.prompt("Build the exporter.")
    day.stop()
    assert day.state.armed is None
    told = day.engine.status().anticipation
    assert (told.asked, told.failed, told.named) == (1, 1, 0)
    assert told.error
    day.stop("Again done.")
    assert day.engine.status().anticipation.asked == 1, "it is not asked in the pause after a failure"
    day.clock.advance(PAUSE_AFTER_FAILURE_MS + 1)
    day.stop("And again.")
    told = day.engine.status().anticipation
    assert (told.asked, told.failed, told.error) == (2, 1, "")
    assert day.state.armed is not None


@pytest.mark.parametrize(
    "pairs",
    [
        ((0, 0.9), (3, 0.9), (-1, 0.9), (10**30, 0.9)),
        (("1", 0.9), (None, 0.9), (True, 0.9), (1.5, 0.9), ([1], 0.9)),
        ((1, "0.9"), (1, None), (1, True), (1, 1.5), (1, 0), (1, -0.1), (1, float("nan"))),
    ],
)
def test_entries_that_name_nothing_on_the_list_are_ignored(open_day, pairs) -> None:
    day = open_day(pause=FakeWriter([named(*pairs, (2, 0.4))]))
    day.prompt("Build the exporter.")
    day.stop()
    assert [one.memory_id for one in day.state.armed.memories] == [day.other]
    assert day.engine.status().anticipation.ignored == len(pairs)


def test_a_huge_answer_names_a_dozen_at_most(open_day) -> None:
    day = open_day(pause=FakeWriter([named(*((number % 40 + 1, 0.5) for number in range(50_000)))]))
    for number in range(40):
        day.remember(f"Rule number {number} of the shop is this.")
    day.prompt("Build the exporter.")
    day.stop()
    assert len(day.state.armed.memories) == 12
    assert day.engine.status().anticipation.ignored == 50_000 - 12


def test_the_budget_of_the_day_holds(open_day) -> None:
    day = open_day(pause=FakeWriter([named(tokens=900), named()]), anticipate={"tokens_per_day": 1_000})
    day.prompt("Build the exporter.")
    day.stop()
    day.stop("More is done.")
    told = day.engine.status().anticipation
    assert (told.asked, told.over_budget, told.tokens, told.tokens_per_day) == (1, 1, 900, 1_000)
    day.clock.advance(86_400_000)
    day.stop("Next day.")
    assert day.engine.status().anticipation.asked == 2


def test_each_day_tells_its_tokens_and_its_cost_once_the_prices_are_known(open_day) -> None:
    priced = {"price": "2/10"}
    for prices, costs in (({}, [None, None]), (priced, [0.0004, 0.002])):
        day = open_day(pause=FakeWriter([named(tokens=900), named(tokens=100)]), anticipate=prices)
        day.prompt("Build the exporter.")
        day.stop()
        day.clock.advance(86_400_000)
        day.stop("Next day.")
        told = day.engine.status().anticipation.days
        assert [(one.tokens, one.tokens_out) for one in told] == [(100, 20), (900, 20)]
        assert [one.cost for one in told] == costs
        assert told[0].day > told[1].day


@pytest.mark.parametrize(
    "settings",
    [
        {"privacy": {"incognito": True}},
        {"recall": {"enabled": False}},
        {"preset": "refresh"},
        {"anticipate": {"provider": "off"}},
    ],
)
def test_nothing_is_sent_where_the_settings_say_so(open_day, settings) -> None:
    day = open_day(pause=FakeWriter([named()]), **settings)
    day.prompt("Build the exporter.")
    day.stop()
    assert day.pause.requests == []


def test_nothing_is_sent_for_a_muted_session_a_subagent_or_an_empty_store(open_day) -> None:
    day = open_day(pause=FakeWriter([named()] * 9))
    day.prompt("Build the exporter.")
    day.engine.live.mute(KEY, muted=True)
    day.stop()
    day.engine.live.mute(KEY, muted=False)
    day.hook("SubagentStop", agent_id="a1", agent_type="general", last_assistant_message="Done.")
    day.engine.anticipation.flush()
    for name in (day.far, day.other):
        day.engine.memories.retire(day.engine.show(name))
    day.stop("Done again.")
    assert day.pause.requests == []


# --- the prompt


def test_the_model_at_the_prompt_decides(open_day) -> None:
    day = open_day(prompt=FakeWriter([named((1, 0.6), (2, 0.1))]), recall={"budgets": {"start": 0}})
    block = day.prompt()
    assert FAR in block
    assert OTHER not in block
    assert (day.trace.decider, day.causes) == (Decider.JUDGE, [NoteCause.JUDGED])
    said = json.loads(day.judge.requests[0].user.partition("Conversation:\n")[2])
    assert said["developer now"] == GO
    assert said["developer before"] == []
    told = day.engine.status().judge
    assert (told.asked, told.named, told.tokens) == (1, 2, 900)
    notes = [note for stage in in_words(day.trace).stages for note in stage.notes]
    assert any(note.startswith("decided by fake-writer@1: named 2 of 2 in ") for note in notes)


def test_a_late_answer_leaves_the_prompt_to_the_gate_and_counts_as_a_failure(open_day) -> None:
    slow = Slow(named((1, 0.9)), named((1, 0.9)))
    day = open_day(prompt=slow, judge={"deadline_ms": 100})
    assert FAR not in day.prompt()
    assert (day.trace.decider, day.causes) == (Decider.LOCAL, [NoteCause.JUDGE_LATE])
    day.prompt("Please write the importer, too.")
    assert day.causes == [NoteCause.JUDGE_BUSY]
    day.clock.advance(200)  # the clock of the test stands still while it waits
    slow.may_answer.set()
    day.engine._judge._jobs.submit(int).result(10)
    told = day.engine.status().judge
    assert (told.failed, told.tokens) == (1, 900)
    assert told.error == LATE
    day.prompt("Please write the docs.")
    assert day.causes == [NoteCause.JUDGE_PAUSED]
    day.clock.advance(JUDGE_PAUSE_MS + 1)
    day.prompt("Please fix the tests.")
    assert day.trace.decider is Decider.JUDGE


@pytest.mark.parametrize("bad", ["no JSON", "refused", "broken"])
def test_a_bad_answer_leaves_the_prompt_to_the_gate(open_day, bad) -> None:
    day = open_day(prompt=FakeWriter([BAD[bad]]))
    day.prompt()
    assert (day.trace.decider, day.causes) == (Decider.LOCAL, [NoteCause.JUDGE_FAILED])
    day.prompt("Please write the importer, too.")
    told = day.engine.status().judge
    assert (told.asked, told.failed) == (1, 1)
    assert day.causes == [NoteCause.JUDGE_PAUSED]


def test_the_budget_of_the_judge_is_its_own(open_day) -> None:
    day = open_day(pause=FakeWriter([named()]), prompt=FakeWriter([named()]), judge={"tokens_per_day": 10})
    day.prompt()
    assert day.causes == [NoteCause.JUDGE_OVER_BUDGET]
    assert day.engine.status().judge.over_budget == 1
    day.stop()
    assert day.engine.status().anticipation.asked == 1


def test_a_host_that_does_not_wait_gets_the_gate(open_day) -> None:
    day = open_day(prompt=FakeWriter([named((1, 0.9))]))
    day.prompt(deadline_ms=350)
    assert day.causes == [NoteCause.JUDGE_NO_TIME]
    assert day.judge.requests == []


def test_nothing_is_sent_for_a_prompt_that_asks_for_nothing_or_where_the_user_is_incognito(open_day) -> None:
    day = open_day(prompt=FakeWriter([named((1, 0.9))]))
    day.prompt("thanks!")
    day.prompt("Please add it. #notacit")
    assert day.judge.requests == []
    dark = open_day(prompt=FakeWriter([named((1, 0.9))]), privacy={"incognito": True})
    dark.prompt()
    assert dark.judge.requests == []


def test_a_tool_call_is_never_kept_waiting(open_day) -> None:
    day = open_day(prompt=FakeWriter([named((1, 0.9))] * 3))
    day.hook("PreToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="c1")
    assert day.judge.requests == []


def test_hooks_wait_for_the_model_where_there_is_one(open_day) -> None:
    assert prompt_ms(RecallSettings()) == 400
    assert prompt_ms(RecallSettings(judge=JudgeSettings(provider="openai"))) == 1900
    day = open_day(prompt=FakeWriter([named()]), recall={"deadline_ms": 400})
    assert day.engine.home.prompt_ms_file.read_text() == "2050"
    assert not open_day(recall={"deadline_ms": 400}).engine.home.prompt_ms_file.exists()
