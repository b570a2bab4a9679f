"""What the tests of the MCP tools share: an engine with an agent that calls its tools, and the names of the tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.app.wiring import open_engine
from tacit.mcp.tools import call
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

LEAN = {"memory_search", "memory_get", "memory_add", "memory_update", "memory_forget", "memory_context"}
NAMES = LEAN | {
    "inject_context", "get_context_for_task", "memory_list", "memory_profile", "memory_feedback", "memory_why", "memory_stats",
    "memory_help",
}  # fmt: skip


class Desk:
    """An engine, and an agent that works in `folder` and calls the tools of that engine."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self.caller = Caller(cwd=str(folder), client="here")

    def ask(self, name: str, **given: object) -> str:
        return call(self.engine, self.caller, name, given).text

    def know(self, content: str, kind: str = "decision", **given: Any) -> str:
        (change,) = self.engine.remember(content, kind=kind, cwd=str(self.folder), **given)
        return change.memory.id

    def say(self, prompt: str, session: str = "s1") -> str:
        event = {
            "hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt, "cwd": str(self.folder),
            "transcript_path": "",
        }  # fmt: skip
        return self.engine.hook("claude-code", event, deadline_ms=5000)


def opened(tmp_path: Path, overrides: dict[str, object] | None = None) -> Iterator[Desk]:
    engine = open_engine(tmp_path / "h", embedder=FakeEmbedder(), clock=FakeClock(), overrides=overrides)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git" / "objects").mkdir(parents=True)
    yield Desk(engine, project)
    engine.close()


def parser_facts(desk: Desk) -> None:
    words = "lexer grammar token error tree visitor printer".split()
    for number, word in enumerate(words):
        desk.know(f"The parser's {word} is made by {words[number - 1]}-gen {number}.2, team {word[::-1]}.")
