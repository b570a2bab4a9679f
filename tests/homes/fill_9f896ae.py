"""Fill a home as people did with the code of commit 9f896ae. In: an empty folder. Out: `home/`, `shop/`, `user/`, `expected.json` in it.

scripts/make_home_9f896ae.py runs it with the code of that commit, and nothing else does: its imports and names are those of 9f896ae
and stay when today's are renamed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import tacit
from tacit.app.wiring import open_engine
from tacit.config.home import Home
from tacit.config.layers import read_settings
from tacit.model.memory import TrustTier
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter
from tacit.providers.clock import FakeClock

PROJECT = "shop"
START_MS = 1_780_000_000_000
STEP_MS = 60_000
REJECTED = "The export job may be started twice at once."
PROMPTS = (
    "commit the price rules and push the branch",
    "why does pytest fail with No module named shop",
    "remember that the invoices table is partitioned by month",
    "thanks",
    "#notacit what is the weather",
)
CONFIG = """\
# Settings of a user of 9f896ae.
preset: focused
statusline: true
recall:
  max_items: 6
  holdout: 0.2
  thresholds:
    prompt: 0.2
  budgets:
    start: 1500
capture:
  auto_accept: 0.5
  extractor:
    provider: "off"
    tokens_per_day: 50000
    most_chars: 20000
privacy:
  emails: keep
retention:
  traces: 500
kinds:
  runbook:
    label: Runbook
    prefix: RUN
    standing: true
agents:
  reviewer:
    recall:
      budgets:
        prompt: 300
projects:
  {folder}/shop:
    recall:
      max_items: 4
"""
RULES = """\
# Rules

- Always run `make lint` before you commit.
- Never edit files below `src/generated`.
- Use the Decimal type for amounts of money.
"""
STATEMENTS: tuple[dict[str, Any], ...] = (
    {"content": "Ada maintains the shop and wants short answers.", "kind": "identity", "cwd": ""},
    {"content": "Prefer small commits with a message in the imperative.", "kind": "preference", "when": "commit", "pinned": True},
    {"content": "No, amounts are stored as cents and not as floats.", "kind": "correction", "when": "data_storage, about:amounts"},
    {"content": "Never catch a bare Exception in the importer.", "kind": "anti_pattern", "when": "error_handling=0.67, path:src/importer/**"},
    {"content": "We keep orders in Postgres and not in Redis, because of the reports.", "kind": "decision", "when": "always"},
    {"content": "Run the linter before every push.", "kind": "guideline", "when": "push, cmd:git push, breadth:3"},
    {"content": "Ship the invoices module by the end of May.", "kind": "goal"},
    {"content": "The orders service listens on port 8420.", "kind": "fact", "files": ["src/orders/server.py"]},
    {"content": "src/orders/server.py holds the routes of the orders service.", "kind": "file_context", "files": ["src/orders/server.py"]},
    {"content": "When pytest fails with `No module named shop`, run `pip install -e .` first.", "kind": "error_pattern", "when": "run_tests"},
    {"content": "Compared pandas with polars for the export: polars was twice as fast.", "kind": "research"},
    {"content": "Still open: let the importer read compressed files.", "kind": "todo"},
    {"content": "Moved the price rules to src/prices.py; the tests pass.", "kind": "outcome"},
    {"content": "The staging database was rebuilt on Friday.", "kind": "event"},
    {"content": "The nightly import takes about forty minutes.", "kind": "observation"},
    {"content": "To restore the shop, stop the workers, load the dump, start the workers.", "kind": "runbook", "when": "release, topic:restore"},
    {"content": "Write f-strings instead of calls of format.", "kind": "preference", "scope": "language:python", "when": "edit_code, lang:python"},
    {"content": "Answer in British English.", "kind": "preference", "scope": "universal", "when": "always"},
    {"content": "Tests of the importer use the files below tests/data.", "kind": "guideline", "scope": "path:{project}/tests", "when": "write_test, tool:edit"},
    {"content": "The reviewer lists risks first.", "kind": "guideline", "scope": "agent:reviewer", "when": "review_code"},
    {"content": "In this session the branch is called spike.", "kind": "fact", "scope": "session:claude-code/day-one"},
    {"content": "Do not push to main; open a pull request.", "kind": "guideline", "when": "push, blocking"},
)  # fmt: skip


def fill(folder: Path) -> None:
    """Fill `folder` as a person with two agents would over some days."""
    home, project = folder / "home", folder / PROJECT
    transcript = folder / "user" / ".claude" / "projects" / "shop" / "day-one.jsonl"
    make_project(project)
    write_transcript(transcript, project)
    home.mkdir()
    (home / "config.yaml").write_text(CONFIG.replace("{folder}", str(folder)), "utf-8")
    if not (read := read_settings(Home(home), project)).sound:
        raise SystemExit(f"The settings are wrong: {read.warnings}")
    with closing(open_engine(home, clock=FakeClock(now_ms=START_MS, seed=9))) as engine:
        ids = state_everything(engine, project)
        correct_by_hand(engine, project, ids)
        work(engine, project, transcript)
        expected = expectations(engine, project, ids)
    with closing(sqlite3.connect(home / "tacit.db")) as database:
        expected["values"] = dict(database.execute("SELECT name, value FROM named_values ORDER BY name"))
        expected["exposures"] = database.execute("SELECT count(*) FROM exposures").fetchone()[0]
    (folder / "expected.json").write_text(json.dumps(expected, indent=1), "utf-8")
    install(folder)


def state_everything(engine: Any, project: Path) -> list[str]:
    """Statements of every kind and scope, and the rule file; returns the ids of the statements."""
    project_id = engine.project(str(project)).id
    ids: list[str] = []
    for given in STATEMENTS:
        engine.clock.advance(STEP_MS)
        fields = {"cwd": str(project), **given}
        if "scope" in fields:
            fields["scope"] = Scope.parse(fields["scope"].replace("{project}", project_id))
        (change,) = engine.remember(fields.pop("content"), **fields)
        ids.append(change.memory.id)
    engine.init_project(str(project))
    return ids


def correct_by_hand(engine: Any, project: Path, ids: list[str]) -> None:
    """What the user ends, words anew, finds useful and rejects."""
    engine.clock.advance(STEP_MS)
    port = "The orders service listens on port 9000."
    engine.admin.supersede(engine.show(ids[7]), port, kind=None, when=None, scope=None)
    engine.forget(ids[13], reason="no longer of use")
    engine.edit(ids[14], content="The nightly import takes about an hour.")
    engine.feedback(ids[1], useful=True)
    engine.feedback(ids[10], useful=False)
    engine.clock.advance(STEP_MS)
    by_agent = {"cwd": str(project), "tier": TrustTier.IMPORT, "source": "mcp"}
    (waiting,) = engine.remember(REJECTED, **by_agent)
    engine.remember("Prices include tax.", kind="fact", **by_agent)
    other = "We keep orders in MySQL and not in Postgres."
    engine.remember(other, kind="decision", cwd=str(project), tier=TrustTier.ASSISTANT)
    engine.review.decide(waiting.memory.id, "reject")


def work(engine: Any, project: Path, transcript: Path) -> None:
    """Three sessions, one of them muted, one of another agent; one transcript was read, one waits."""

    def hook(session: str, event: str, **fields: object) -> None:
        engine.clock.advance(STEP_MS)
        payload = {"session_id": session, "cwd": str(project), "hook_event_name": event, **fields}
        engine.hook("claude-code", payload, deadline_ms=60_000)
        engine.flush()

    def hand_over(session: str) -> None:
        key = SessionKey(host="claude-code", session_id=session)
        payload = json.dumps({"transcript_path": str(transcript)})
        engine.hand_over(
            Handover(key=f"{session}-end", session=key, payload=payload, at_ms=engine.clock.now_ms())
        )

    hook("day-one", "SessionStart", source="startup", transcript_path=str(transcript))
    for number, prompt in enumerate(PROMPTS):
        hook("day-one", "UserPromptSubmit", prompt=prompt, prompt_id=f"p{number}")
    change = {"file_path": str(project / "src/orders/server.py"), "old_string": "8420", "new_string": "9000"}
    edit = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": change}
    push = {"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "git push origin main"}}
    hook("day-one", "PreToolUse", **edit)
    hook("day-one", "PostToolUse", **edit, tool_response={"success": True})
    hook("day-one", "PreToolUse", **push)
    hook("day-one", "PostToolUseFailure", **push, error="remote: error: GH006: protected branch main")
    end = "I ran the linter before the push. Shall I open a pull request?"
    hook("day-one", "Stop", last_assistant_message=end)
    hook("day-one", "PreCompact", trigger="auto")
    hook("day-one", "SessionStart", source="compact")
    hook("day-one", "SessionEnd", reason="exit", transcript_path=str(transcript))
    hand_over("day-one")
    engine.capture_pending()
    hand_over("day-zero")
    hook("day-two", "SessionStart", source="startup")
    hook("day-two", "UserPromptSubmit", prompt="push the release", prompt_id="q1")
    engine.mute(SessionKey(host="claude-code", session_id="day-two"), muted=True)
    hook("day-two", "UserPromptSubmit", prompt="commit what is there", prompt_id="q2")
    hook("day-three", "SessionStart", source="startup", agent_type="reviewer")
    asked = "review the change of the price rules"
    hook("day-three", "UserPromptSubmit", prompt=asked, prompt_id="r1", agent_type="reviewer")
    engine.recall("Where do we keep orders?", cwd=str(project))


def expectations(engine: Any, project: Path, ids: list[str]) -> dict[str, object]:
    """What this code says of the home, with a verdict on one recall as the last thing that happens."""
    shown = next(trace for trace in engine.why(limit=50) if trace.injected and trace.session)
    engine.admin.say(shown.id, list(shown.injected[:1]), useful=True)
    engine.upkeep()
    engine.flush()
    every = MemoryFilter(statuses=("active", "quarantined", "superseded", "retired"))
    recall, settings = engine.settings.recall, engine.settings
    return {
        "project": engine.project(str(project)).id,
        "memories": [described(memory) for memory in engine.list_memories(every, limit=500)],
        "versions": {memory_id: len(engine.history(memory_id)) for memory_id in ids},
        "traces": [told(trace) for trace in engine.why(limit=500)],
        "sessions": {
            f"{state.key.host}/{state.key.session_id}": {
                "muted": state.muted, "turn": state.turn, "epoch": state.epoch
            }
            for state in engine.sessions(limit=50)
        },
        "settings": {
            "recall.max_items": recall.max_items, "recall.holdout": recall.holdout,
            "recall.thresholds.prompt": recall.thresholds.prompt, "recall.budgets.start": recall.budgets.start,
            "capture.auto_accept": settings.capture.auto_accept, "retention.traces": settings.retention.traces,
            "statusline": settings.statusline,
        },
        "handovers_pending": engine.status().store.handovers_pending,
        "verdict": {"trace": shown.id, "memory": shown.injected[0]},
    }  # fmt: skip


def described(memory: Any) -> dict[str, object]:
    """One memory as the test compares it."""
    return {
        "id": memory.id, "kind": memory.kind, "content": memory.content, "scope": str(memory.scope),
        "status": memory.status, "tier": memory.provenance.tier.name, "source": memory.provenance.source,
        "pinned": memory.pinned, "importance": memory.importance, "frequency": memory.frequency,
        "use_count": memory.use_count, "valid_to_ms": memory.validity.valid_to_ms,
        "superseded_by": memory.validity.superseded_by, "files": list(memory.files),
        "trigger": {
            "always": memory.trigger.always, "actions": [list(pair) for pair in memory.trigger.actions],
            "paths": list(memory.trigger.paths), "commands": list(memory.trigger.commands),
            "languages": list(memory.trigger.languages), "tools": list(memory.trigger.tools),
            "topics": list(memory.trigger.topics), "breadth": memory.trigger.breadth,
            "blocking": memory.trigger.blocking,
        },
    }  # fmt: skip


def told(trace: Any) -> dict[str, object]:
    """One trace as the test compares it."""
    return {
        "id": trace.id, "surface": trace.surface.value, "session": trace.session, "at_ms": trace.at_ms,
        "silence": trace.silence, "injected": list(trace.injected), "block": trace.block,
        "drops": [[stage.stage, drop.memory_id, drop.reason] for stage in trace.stages for drop in stage.drops],
    }  # fmt: skip


def make_project(project: Path) -> None:
    """A project with a remote, a rule file and some code."""
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    remote = '[remote "origin"]\n\turl = https://example.invalid/ada/shop.git\n'
    (project / ".git" / "config").write_text(remote, "utf-8")
    (project / "CLAUDE.md").write_text(RULES, "utf-8")
    (project / "src" / "orders").mkdir(parents=True)
    (project / "src" / "orders" / "server.py").write_text("PORT = 8420\n", "utf-8")
    (project / "pyproject.toml").write_text('[project]\nname = "shop"\n', "utf-8")


def write_transcript(file: Path, project: Path) -> None:
    """A short transcript of Claude Code, with a failure and its fix."""
    file.parent.mkdir(parents=True)
    calls = (
        ("user", "why does pytest fail with No module named shop"),
        ("call", "Bash", {"command": "pytest -q"}, "ModuleNotFoundError: No module named 'shop'", True),
        ("call", "Bash", {"command": "pip install -e ."}, "Successfully installed shop", False),
        ("call", "Bash", {"command": "pytest -q"}, "12 passed", False),
        ("assistant", "The package was not installed; the tests pass now."),
        ("user", "From now on always run pytest with -q in this project."),
    )
    lines: list[dict[str, object]] = []

    def add(sort: str, content: object) -> None:
        name = hashlib.sha256(f"{len(lines)}".encode()).hexdigest()[:12]
        lines.append({
            "type": sort, "uuid": name, "sessionId": "day-one", "cwd": str(project),
            "timestamp": f"2026-05-29T10:{len(lines):02}:00.000Z", "message": {"role": sort, "content": content},
        })  # fmt: skip

    for number, call in enumerate(calls):
        if call[0] != "call":
            add(str(call[0]), [{"type": "text", "text": call[1]}])
            continue
        _, tool, given, output, failed = call
        add("assistant", [{"type": "tool_use", "id": f"c{number}", "name": tool, "input": given}])
        add(
            "user",
            [{"type": "tool_result", "tool_use_id": f"c{number}", "content": output, "is_error": failed}],
        )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def install(folder: Path) -> None:
    """Have the command line of that commit install both hosts: the launcher, the hooks, the plugin."""
    command = [sys.executable, "-P", "-c", "from tacit.cli.main import main; main()"]
    given = [*command, "install", "claude-code", "opencode", "--yes"]
    subprocess.run(given, check=True, cwd=folder, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    if not Path(tacit.__file__).is_relative_to(sys.argv[2]):
        raise SystemExit(f"tacit was imported from {tacit.__file__}, not from {sys.argv[2]}.")
    fill(Path(sys.argv[1]))
