"""Drives the real Claude Code client against the stub model: single prompts, resumed ones, long-lived sessions."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts import probe as process
from tacit.hosts.claude_code import install as claude_code

ALLOWED_TOOLS = "Bash Read Edit Write Agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeTurn:
    """One finished turn."""

    session_id: str
    text: str
    took_ms: float
    error: bool = False


class ClaudeCode:
    """The client of one sandbox's person."""

    def __init__(self, sandbox: Sandbox, executable: Path) -> None:
        self.sandbox = sandbox
        self.executable = executable

    @property
    def settings(self) -> Path:
        return self.sandbox.home / ".claude" / "settings.json"

    def install(self) -> None:
        """Install Tacit for this client, as the person would."""
        self.sandbox.tacit("install", "claude-code", "--yes")

    def ask(
        self,
        prompt: str,
        *,
        resume: str = "",
        go_on: bool = False,
        timeout_s: float = 180.0,
        **environment: str,
    ) -> ClaudeTurn:
        """One `claude -p` run: a session of its own, or `resume` an id, or `go_on` with the newest one."""
        how = ["--resume", resume] if resume else ["-c"] if go_on else []
        finished = process.run_client(
            [*self._command(), "--output-format", "json", *how, prompt],
            environment=self._environment(**environment),
            cwd=self.sandbox.project,
            timeout_s=timeout_s,
        )
        assert finished.code == 0, f"claude ended with {finished.code}\n{finished.out}\n{finished.err}"
        lines = [json.loads(line) for line in finished.out.splitlines() if line.startswith("{")]
        result = next(line for line in reversed(lines) if line.get("type") == "result")
        return _turn(result, finished.took_ms)

    def session(self, **environment: str) -> ClaudeSession:
        """A long-lived session that takes prompt after prompt."""
        return ClaudeSession(self, self._command(), self._environment(**environment))

    def transcripts(self) -> list[Path]:
        """Transcript files of main sessions, oldest first."""
        found = (self.sandbox.home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime)

    def _command(self) -> list[str]:
        return [str(self.executable), "-p", "--model", claude_code.MODEL, "--allowedTools", ALLOWED_TOOLS]

    def _environment(self, **more: str) -> dict[str, str]:
        sandbox = self.sandbox
        base = claude_code.environment(sandbox.stub.url, home=sandbox.home, tacit_home=sandbox.tacit_home)
        return {**base, **PATIENT, **more}


class ClaudeSession:
    """One `claude -p --input-format stream-json` process. A context manager; `ask` as often as needed."""

    def __init__(self, client: ClaudeCode, command: list[str], environment: dict[str, str]) -> None:
        streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        self._errors = client.sandbox.root / f"claude-{time.monotonic_ns()}.err"
        with self._errors.open("w") as errors:
            self._process = client.sandbox.start(
                [*command, *streams],
                environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._events: queue.Queue[dict | None] = queue.Queue()
        self.events: list[dict] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def ask(self, prompt: str, *, timeout_s: float = 180.0) -> ClaudeTurn:
        """Send one prompt (or `/compact`, `/clear`) and wait for its result."""
        started = time.monotonic()
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        while True:
            left = timeout_s - (time.monotonic() - started)
            try:
                event = self._events.get(timeout=max(left, 0.01))
            except queue.Empty:
                raise AssertionError(f"no result for {prompt!r}\n{self._errors.read_text()}") from None
            assert event is not None, f"claude ended during {prompt!r}\n{self._errors.read_text()}"
            if event.get("type") == "result":
                return _turn(event, (time.monotonic() - started) * 1000)

    def close(self, *, timeout_s: float = 90.0) -> int:
        """End the session as a person does; return the exit code."""
        if self._process.poll() is None:
            self._process.stdin.close()
        code = self._process.wait(timeout_s)
        self._reader.join(30)
        self._process.stdout.close()
        return code

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("{"):
                event = json.loads(line)
                self.events.append(event)
                self._events.put(event)
        self._events.put(None)


def _turn(result: dict, took_ms: float) -> ClaudeTurn:
    return ClaudeTurn(
        session_id=result.get("session_id", ""),
        text=str(result.get("result", "")),
        took_ms=took_ms,
        error=bool(result.get("is_error")),
    )
