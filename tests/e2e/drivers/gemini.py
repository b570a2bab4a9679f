"""Drives the real Gemini CLI against the stub model: single prompts without a terminal, resumed ones, and a terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import termios
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts import probe as process
from tacit.hosts.gemini import install as gemini

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

    def terminal(self) -> GeminiTerminal:
        """The client on a terminal, where a person types."""
        return GeminiTerminal(self)

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


class GeminiTerminal:
    """One `gemini` process on a terminal. A context manager; `type` a prompt or a command as often as needed."""

    QUIET_S = 1.5
    """The screen is drawn when nothing came for so long."""
    ANSWERS = ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62c"))
    """What a terminal says when it is asked where its cursor is, and what it can do."""

    def __init__(self, client: Gemini) -> None:
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._process = client.sandbox.start(
            [str(client.executable), "-m", gemini.MODEL, "--approval-mode", "yolo"],
            client.environment(TERM="xterm-256color"),
            stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        self._shown = b""
        self._at = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._wait_for(b"Type your message", timeout_s=120)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):
            self.type("/quit")
        self._process.wait(60)
        self._reader.join(10)
        os.close(self._screen)

    def type(self, line: str) -> None:
        """Type a line, press Enter, and wait until the screen is quiet again."""
        self._settle()
        for character in line:
            os.write(self._screen, character.encode())
            time.sleep(0.03)  # faster input counts as pasted
        self._settle()
        os.write(self._screen, b"\r")
        time.sleep(0.5)
        self._settle()

    def _settle(self, timeout_s: float = 60.0) -> None:
        end = time.monotonic() + timeout_s
        while time.monotonic() < min(self._at + self.QUIET_S, end) and self._process.poll() is None:
            time.sleep(0.05)

    def _wait_for(self, text: bytes, *, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while text not in self._shown:
            assert time.monotonic() < end, f"the client does not show {text!r}\n{self._shown[-2000:]!r}"
            time.sleep(0.05)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._screen, 1 << 16)
            except OSError:
                return
            self._shown, self._at = self._shown + data, time.monotonic()
            for asked, answer in self.ANSWERS:
                if asked in data:
                    os.write(self._screen, answer)


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
