"""Drives the real Codex client against the stub model: `codex exec`, a session of its own or an earlier one gone on with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts import probe as process
from tacit.hosts.codex import install as codex

OWN_SETTINGS = """\
# my own settings
model_auto_compact_token_limit = 150000   # soon, for the tests

[tools]
web_search = false  # as ever
"""

FREELY = ("--sandbox", "danger-full-access")
"""Commands of the tests may write anywhere: the machine is a throw-away one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexTurn:
    """One finished turn. `events` is what `codex exec --json` told."""

    session_id: str
    text: str
    took_ms: float
    events: tuple[dict, ...]

    @property
    def complaints(self) -> list[str]:
        """What Codex complained of, without that it does not know the stub's model."""
        told = [event["item"] for event in self.events if event.get("item", {}).get("type") == "error"]
        return [item["message"] for item in told if "Model metadata" not in item["message"]]


class Codex:
    """The client of one sandbox's person, who has settings of their own."""

    def __init__(self, sandbox: Sandbox, executable: Path) -> None:
        self.sandbox = sandbox
        self.executable = executable
        self.folder = sandbox.home / ".codex"
        self.folder.mkdir()
        self.config.write_text(_with_provider(sandbox.stub.url), encoding="utf-8")

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def hooks(self) -> Path:
        return self.folder / "hooks.json"

    def install(self, *options: str) -> str:
        """Install Tacit for this client, as the person would; what it printed."""
        return self.sandbox.tacit("install", "codex", "--yes", *options).stdout

    def ask(
        self,
        prompt: str,
        *,
        resume: str = "",
        options: tuple[str, ...] = (),
        timeout_s: float = 120.0,
        **environment: str,
    ) -> CodexTurn:
        """One `codex exec` run: a session of its own, or `resume` an id."""
        how = ["resume", resume] if resume else []
        freely = () if "--sandbox" in options else FREELY
        command = [str(self.executable), *codex.OPTIONS, *freely, *options, *how, prompt]
        finished = process.run_client(
            command,
            environment=self.environment(**environment),
            cwd=self.sandbox.project,
            timeout_s=timeout_s,
        )
        assert finished.code == 0, f"codex ended with {finished.code}\n{finished.out}\n{finished.err}"
        events = tuple(json.loads(line) for line in finished.out.splitlines() if line.startswith("{"))
        return CodexTurn(
            session_id=next(e["thread_id"] for e in events if e["type"] == "thread.started"),
            text=next((i["text"] for i in _items(events) if i.get("type") == "agent_message"), ""),
            took_ms=finished.took_ms,
            events=events,
        )

    def environment(self, **more: str) -> dict[str, str]:
        sandbox = self.sandbox
        base = codex.environment(sandbox.home, sandbox.tacit_home, search_path=sandbox.search_path)
        return {**base, **PATIENT, **more}


def _items(events: tuple[dict, ...]) -> list[dict]:
    return [event["item"] for event in reversed(events) if event["type"] == "item.completed"]


def _with_provider(url: str) -> str:
    first, _, tables = codex.configuration(url).partition("\n\n")
    own_first, _, own_tables = OWN_SETTINGS.partition("\n\n")
    return f"{own_first}\n{first}\n\n{own_tables}\n{tables}"
