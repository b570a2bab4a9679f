"""Drives the real Gemini CLI against the stub model: single prompts without a terminal, and resumed ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts.probe import gemini, process

OWN_SETTINGS = (
    "// my own settings\n" + json.dumps({**gemini.SETTINGS, "ui": {"hideBanner": True}}, indent=4) + "\n"
)
"""What the person had before: how to log in, and a comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiTurn:
    """One finished prompt."""

    session_id: str
    text: str
    took_ms: float
    err: str = ""


class Gemini:
    """The client of one sandbox's person."""

    def __init__(self, sandbox: Sandbox, executable: Path) -> None:
        self.sandbox = sandbox
        self.executable = executable
        self.folder = sandbox.home / ".gemini"
        self.folder.mkdir()
        self.settings.write_text(OWN_SETTINGS, encoding="utf-8")

    @property
    def settings(self) -> Path:
        return self.folder / "settings.json"

    def install(self, *how: str) -> None:
        """Install Tacit for this client, as the person would."""
        self.sandbox.tacit("install", "gemini", "--yes", *how)

    def ask(
        self,
        prompt: str,
        *,
        resume: str = "",
        trusted: bool = True,
        timeout_s: float = 180.0,
        **environment: str,
    ) -> GeminiTurn:
        """One `gemini -p` run: a session of its own, or `resume` an id."""
        how = ["--resume", resume] if resume else []
        approved = ["--approval-mode", "yolo"] if trusted else []
        finished = process.run_client(
            [
                str(self.executable),
                "-m",
                gemini.MODEL,
                "--output-format",
                "json",
                *approved,
                *how,
                "-p",
                prompt,
            ],
            environment=self.environment(**environment),
            cwd=self.sandbox.project,
            timeout_s=timeout_s,
        )
        assert finished.code == 0, f"gemini ended with {finished.code}\n{finished.out}\n{finished.err}"
        answer = json.loads(finished.out[finished.out.index("{") :])
        return GeminiTurn(
            session_id=answer["session_id"],
            text=answer["response"],
            took_ms=finished.took_ms,
            err=finished.err,
        )

    def chats(self) -> list[Path]:
        """Chat files of main sessions, oldest first."""
        found = self.folder.glob("tmp/*/chats/session-*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime)

    def environment(self, **more: str) -> dict[str, str]:
        sandbox = self.sandbox
        base = gemini.environment(
            sandbox.stub.url,
            home=sandbox.home,
            tacit_home=sandbox.tacit_home,
            search_path=sandbox.search_path,
        )
        return {**base, **PATIENT, **more}


def parts(content: Mapping[str, object]) -> list[str]:
    """The parts of one content of a request, each as the model reads it: its text, a call's name, or a call's output."""
    read: list[str] = []
    for part in content["parts"]:
        if "functionCall" in part:
            read.append(f"call {part['functionCall']['name']}")
        elif "functionResponse" in part:
            response = part["functionResponse"]["response"]
            read.append(str(response.get("output", response.get("error", ""))))
        else:
            read.append(part.get("text", ""))
    return read
