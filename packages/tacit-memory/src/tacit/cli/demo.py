"""`tacit demo`: the whole way once, in a throw-away home: a session is learned from, the next one is helped.

In: a recorded session (package data, written for this). Out: what was captured, what the next session is handed, and
what it is not, with the reasons. The real engine, embedder and gate; nothing is prepared but the start budget. Says so,
and fails, when something promised is not injected. Never touches the user's home, never uses the network.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.memories import shown_when
from tacit.cli.sessions import words_of
from tacit.cli.terminal.arguments import AsJson
from tacit.cli.terminal.output import SOME_PROBLEM, print_json, print_line, shorten_line
from tacit.cli.traces import points_of, print_stages
from tacit.frozen import frozen

if TYPE_CHECKING:
    from tacit.app.engine import Engine

HOST = "claude-code"
RECORDED = "demo_session.jsonl"
RECORDED_FOLDER = "/home/dev/shop"
FIRST, SECOND = "1f6d0c1e-5f0a-4d3b-9a53-6f2f7d8f0b11", "2e7d1c2f-6a1b-4e4c-8b64-7a3a8e9a1c22"
START_TOKENS = 64
"""The budget of the start pack. It is small on purpose: with the default of 2000, the start pack would hold all of so few memories, and no prompt would get any more."""
DEADLINE_MS = 5_000


@frozen
class DemoPrompt:
    """A prompt of the second session. `needs` = words of the memory it must be given; "" = it must get silence."""

    text: str
    needs: str
    agent_said: str = ""


PROMPTS = (
    DemoPrompt(
        text="Add a debug log line with the customer's e-mail address when an order mail bounces",
        needs="Never log customer e-mail addresses",
    ),
    DemoPrompt(
        text="Add the new VAT rates for Poland to src/shop/tax.py", needs="the finance team edits it by hand"
    ),
    DemoPrompt(
        text="yup",
        agent_said="Refunds work and all tests pass. Shall I tag the release with `git tag v1.4.0` and publish it?",
        needs="make release",
    ),
    DemoPrompt(text="Which HTTP status code fits a payment that was declined?", needs=""),
)
COMMAND = "pytest tests/test_cart.py -q"
ERROR = (
    "Exit code 2\nImportError while importing test module 'tests/test_cart.py'.\n"
    "E   ModuleNotFoundError: No module named 'shop'"
)
FIX = "Fixed by editing pyproject.toml"


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the throw-away home, and print its path.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show Tacit at work on a recorded session, in a throw-away home."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="tacit-demo-"))
    try:
        report = play(folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    report["took_s"] = round(time.monotonic() - began, 2)
    report["home"] = str(folder / "home") if keep else None
    if as_json:
        print_json(report)
    else:
        _print(report)
    if report["problems"]:
        raise typer.Exit(SOME_PROBLEM)


def play(folder: Path) -> dict[str, Any]:
    """Play both sessions in `folder` with an engine of their own and return a report; its `problems` name every promise that was not kept."""
    from tacit.api.answering import encode
    from tacit.app.wiring import open_engine
    from tacit.ports.store import MemoryFilter
    from tacit.verbs.answers import MemoryAnswer

    project = folder / "shop"
    project.mkdir()
    transcript = folder / "session.jsonl"
    transcript.write_text(_recorded(str(project)), encoding="utf-8")
    engine = open_engine(
        folder / "home",
        overrides={"recall": {"budgets": {"start": START_TOKENS, "index": 0}, "deadline_ms": DEADLINE_MS}},
    )
    stage = _DemoSession(engine=engine, project=project, transcript=transcript)
    try:
        stage.tell(FIRST, "SessionStart", source="startup")
        stage.tell(FIRST, "SessionEnd", reason="exit")
        engine.flush()
        captured = engine.list_memories(MemoryFilter(), scope=engine.visible(str(project)))
        start = stage.tell_and_explain(SECOND, "SessionStart", "start", source="startup")
        prompts = [_prompt(stage, prompt) for prompt in PROMPTS]
        failure = stage.tell_and_explain(
            SECOND,
            "PostToolUseFailure",
            "failure",
            tool_name="Bash",
            tool_use_id="toolu_demo",
            tool_input={"command": COMMAND},
            error=ERROR,
        )
    finally:
        engine.close()
    report: dict[str, Any] = {
        "captured": [
            encode(memory, MemoryAnswer)
            for memory in sorted(captured, key=lambda memory: (memory.provenance.turn, memory.id))
        ],
        "start": start,
        "prompts": prompts,
        "failure": {**failure, "command": COMMAND, "needs": FIX},
    }
    return {**report, "problems": _problems(report)}


@frozen
class _DemoSession:
    """A client that sends hook payloads to an engine as Claude Code does."""

    engine: Engine
    project: Path
    transcript: Path

    def tell(self, session: str, event: str, **fields: object) -> str:
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.project),
            "transcript_path": str(self.transcript),
            **fields,
        }
        return self.engine.hook(HOST, payload, deadline_ms=DEADLINE_MS)

    def tell_and_explain(self, session: str, event: str, surface: str, **fields: object) -> dict[str, Any]:
        """Give the engine a hook event; return `{"given": injected text, "trace": newest trace of `surface`, None = none}`."""
        from tacit.api.answering import encode
        from tacit.model.pack import Surface
        from tacit.verbs.answers import TraceAnswer

        answer = self.tell(session, event, **fields)
        traces = self.engine.why(session=f"{HOST}/{session}", surface=Surface(surface), limit=1)
        output: dict[str, Any] = json.loads(answer) if answer else {}
        context: str = output.get("hookSpecificOutput", {}).get("additionalContext", "")
        return {"given": context, "trace": encode(traces[0], TraceAnswer) if traces else None}


def _prompt(stage: _DemoSession, prompt: DemoPrompt) -> dict[str, Any]:
    if prompt.agent_said:
        stage.tell(SECOND, "Stop", last_assistant_message=prompt.agent_said)
    answer = stage.tell_and_explain(SECOND, "UserPromptSubmit", "prompt", prompt=prompt.text)
    return {"asked": prompt.text, "agent_said": prompt.agent_said, "needs": prompt.needs, **answer}


def _recorded(folder: str) -> str:
    """Return the recorded session as JSON lines, changed as if it had run in `folder` and ended an hour ago."""
    from importlib.resources import files

    rows = [
        json.loads(line) for line in files("tacit.cli").joinpath(RECORDED).read_text("utf-8").splitlines()
    ]
    last = datetime.fromisoformat(rows[-1]["timestamp"])
    shift = datetime.now(UTC) - timedelta(hours=1) - last
    for row in rows:
        moved = datetime.fromisoformat(row["timestamp"]) + shift
        row["timestamp"] = moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return "".join(json.dumps(row) + "\n" for row in rows).replace(RECORDED_FOLDER, folder)


def _problems(report: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    if not report["captured"]:
        problems.append("Nothing was captured from the recorded session.")
    if not report["start"]["given"]:
        problems.append("The new session got nothing at its start.")
    for step in (*report["prompts"], report["failure"]):
        question = step.get("asked") or step["command"]
        if step["needs"] and step["needs"] not in step["given"]:
            problems.append(f"{question!r} was not given {step['needs']!r}.")
        elif not step["needs"] and step["given"]:
            problems.append(f"{question!r} was given something; it should have got silence.")
    return problems


def _print(report: dict[str, Any]) -> None:
    print_line("1. A session ended. Captured from its transcript:", style="bold")
    for memory in report["captured"]:
        origin = memory["provenance"]
        print_line(f"\n  [{memory['kind']}] {shorten_line(words_of(memory), 200)}")
        print_line(
            f"      said by {origin['tier']}, turn {origin['turn']}; when: {shorten_line(shown_when(memory), 100) or '-'}",
            style="dim",
        )
    print_line(
        f"\n2. A new session starts. Its start pack (budget {START_TOKENS} tokens here, 2000 by default):",
        style="bold",
    )
    _print_given(report["start"])
    print_line("\n3. Four prompts of that session:", style="bold")
    for number, step in enumerate(report["prompts"], 1):
        if step["agent_said"]:
            print_line(f"\n  agent    {step['agent_said']}", style="dim")
            print_line(f"  prompt {number} {step['asked']}")
        else:
            print_line(f"\n  prompt {number} {step['asked']}")
        _print_given(step)
    failure = report["failure"]
    print_line("\n4. A command fails:", style="bold")
    print_line(f"\n  {failure['command']}: {ERROR.splitlines()[-1].removeprefix('E').strip()}")
    _print_given(failure)
    shown = report["prompts"][2]
    print_line(f"\n5. How the answer to {shown['asked']!r} came about, stage by stage:\n", style="bold")
    if shown["trace"]:
        print_stages(shown["trace"])
    print_line()
    for problem in report["problems"]:
        print_line(f"NOT KEPT: {problem}", style="red")
    if report["home"]:
        print_line(f"The store is kept: TACIT_HOME={report['home']} tacit list --all")
    print_line(f"{report['took_s']:.1f} s, no network, no language model. Next: tacit install")


def _print_given(step: dict[str, Any]) -> None:
    trace = step["trace"]
    if not step["given"]:
        print_line(f"  {trace['sentence'] if trace else 'Silent: nothing was asked.'}", style="yellow")
        return
    for line in step["given"].splitlines():
        print_line(f"    {line}", style="green")
    if not trace:
        return
    for candidate in trace["candidates"]:
        if candidate["memory_id"] in trace["injected"] and candidate["reasons"]:
            total, terms = points_of(candidate["evidence"])
            why = f"{total} points: {terms}" if terms else ", ".join(candidate["reasons"])
            print_line(f"  because: {why}; {trace['took_ms']:.0f} ms", style="dim")
