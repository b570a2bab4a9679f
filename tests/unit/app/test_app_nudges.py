"""The start line and the nudge: once, only in a block that is sent anyway, only where the agent has our tools."""

from __future__ import annotations

import pytest

from agent import injected, send
from tacit.app.nudges import KNOWN_FOR_MS, NUDGE, START_LINE
from tacit.app.wiring import open_engine
from tacit.capture.extract.session_end import may_teach
from tacit.capture.transcripts.cleaning import clean_reply
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

TEACHES = (
    "For the platform team, invoices over ten thousand need a second approval, so the exporter splits them.\n"
    "Please add that to the exporter and write a test."
)
OTHER = "The customer exports keep invoices for ten years for legal, and the retention job skips them. Please fix it."
RULE = "Always run ruff before every commit"


class Day:
    def __init__(self, tmp_path, *, preset="focused", **recall):
        self.clock = FakeClock()
        overrides = {"preset": preset, "recall": recall}
        self.engine = open_engine(
            tmp_path / "h", embedder=FakeEmbedder(), clock=self.clock, overrides=overrides
        )
        self.project = tmp_path / "shop"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.calls = 0

    def remember(self, rule=RULE):
        self.engine.remember(rule, kind="guideline", when="commit", cwd=str(self.project))

    def hook(self, event, **fields):
        return injected(send(self.engine, self.project, event, **{"transcript_path": "", **fields}))

    def start(self, **fields):
        return self.hook("SessionStart", source="startup", **fields)

    def prompt(self, text):
        return self.hook("UserPromptSubmit", prompt=text)

    def commits(self):
        self.calls += 1
        call = {"tool_name": "Bash", "tool_use_id": f"c{self.calls}"}
        return self.hook("PreToolUse", tool_input={"command": "git commit -m x"}, **call)


@pytest.fixture
def day(tmp_path):
    made = Day(tmp_path, budgets={"start": 0})
    made.remember()
    made.engine.nudges.tools_listed("claude-code")
    yield made
    made.engine.close()


def test_the_next_block_of_the_turn_carries_it_once(day):
    day.start()
    assert NUDGE not in day.prompt(TEACHES), "nothing waits for the classifier"
    block = day.commits()
    assert RULE in block
    assert block.count(NUDGE) == 1
    assert block.rstrip().endswith(f"{NUDGE}\n</tacit-memory>")
    assert clean_reply(block) == "", "capture is deaf to it"
    (trace, *_) = day.engine.why(limit=1)
    assert trace.tokens <= trace.budget_tokens
    assert NUDGE in trace.block


def test_a_silent_prompt_stays_silent(day):
    day.start()
    day.prompt(TEACHES)
    assert day.prompt("and what is the weather like") == ""


def test_never_twice_for_the_same_stretch_and_once_a_turn(day):
    day.remember("Commit messages are in English")
    day.start()
    day.prompt(TEACHES)
    first = day.commits()
    assert NUDGE in first
    call = {"tool_name": "Bash", "tool_use_id": "x"}
    again = day.hook("PreToolUse", tool_input={"command": "git commit --amend"}, **call)
    assert NUDGE not in again
    day.prompt(TEACHES)
    assert NUDGE not in day.commits()


def test_an_old_message_is_not_spoken_of(day):
    day.start()
    day.prompt(TEACHES)
    day.prompt("go on")
    day.prompt("go on please")
    assert NUDGE not in day.commits()


@pytest.mark.parametrize(
    "text",
    ["yup", "run the tests", "Remember that we always deploy from the release branch.", "why does it fail?"],
)
def test_what_teaches_nothing_or_is_stored_already_nudges_nobody(day, text):
    assert not may_teach(text)
    day.start()
    day.prompt(text)
    block = day.commits()
    assert RULE in block
    assert NUDGE not in block


def test_only_where_the_agent_has_our_tools(tmp_path):
    day = Day(tmp_path, budgets={"start": 0})
    day.remember()
    day.start()
    day.prompt(TEACHES)
    assert NUDGE not in day.commits(), "no agent of this host listed our tools"
    day.engine.nudges.tools_listed("claude-code")
    day.remember("Commit messages are in English")
    day.prompt(OTHER)
    assert NUDGE in day.commits()
    day.clock.advance(KNOWN_FOR_MS + 1)
    assert not day.engine.nudges.offers("auto", "claude-code"), "that was long ago"
    day.engine.close()


@pytest.mark.parametrize("setting", ["off", "on"])
def test_the_settings_decide(tmp_path, setting):
    day = Day(tmp_path, nudge=setting, tell_memory_add=setting)
    day.remember()
    if setting == "off":
        day.engine.nudges.tools_listed("claude-code")
    assert (START_LINE in day.start()) is (setting == "on")
    day.engine.close()


def test_the_start_block_says_so_within_its_budget_and_only_with_memories(tmp_path):
    day = Day(tmp_path)
    day.engine.nudges.tools_listed("claude-code")
    assert day.start() == ""
    day.engine.remember("Never push to main", kind="guideline", when="always", cwd=str(day.project))
    block = day.start(session_id="s2")
    assert block.count(START_LINE) == 1
    (trace,) = day.engine.why(limit=1)
    assert trace.tokens <= trace.budget_tokens
    assert day.engine.nudges.cost(START_LINE) <= 20
    day.engine.close()


@pytest.mark.parametrize("preset", ["typed", "ambient", "multispace", "scoped", "refresh"])
def test_the_seeds_presets_say_neither(tmp_path, preset):
    day = Day(tmp_path, preset=preset)
    settings = day.engine._settings_at(str(day.project)).recall
    assert (settings.tell_memory_add, settings.nudge) == ("off", "off")
    day.engine.close()


def test_a_nudge_that_is_due_outlives_a_restart_and_is_said_once(tmp_path):
    day = Day(tmp_path, budgets={"start": 0})
    day.remember()
    day.engine.nudges.tools_listed("claude-code")
    day.start()
    day.prompt(TEACHES)
    day.engine.close()
    later = Day(tmp_path, budgets={"start": 0})
    later.clock.advance(60_000)
    later.remember("Commit messages are in English")
    assert later.commits().count(NUDGE) == 1
    later.engine.close()
    last = Day(tmp_path, budgets={"start": 0})
    last.clock.advance(120_000)
    last.remember("Commits name a ticket")
    last.calls = 5
    last.prompt(TEACHES)
    block = last.commits()
    assert "name a ticket" in block
    assert NUDGE not in block, "the stretch was spoken of before the restart"
    last.engine.close()


def test_a_fork_is_not_told_again(day):
    day.start()
    day.prompt(TEACHES)
    assert NUDGE in day.commits()
    day.remember("Commits name a ticket")
    (state,) = day.engine.sessions()
    from tacit.model.signal import SessionStarted
    from tacit.session.transitions import open_session

    fork = SessionStarted(session=state.key, key="", at_ms=0, cwd="", source="fork")
    assert open_session(fork, parent=state).nudges == state.nudges != ()
