"""Drives the real GitHub Copilot CLI against the stub model: single prompts, resumed ones, long-lived sessions."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from e2e.drivers.sandbox import PATIENT, Sandbox
from tacit.hosts import probe as process
from tacit.hosts.copilot import install as copilot

_RESUME = re.compile(r"copilot --resume=([0-9a-f-]{36})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotTurn:
    """One finished turn."""

    session_id: str
    text: str
    took_ms: float


class Copilot:
    """The client of one sandbox's person."""

    def __init__(self, sandbox: Sandbox, executable: Path) -> None:
        self.sandbox = sandbox
        self.executable = executable

    @property
    def hooks(self) -> Path:
        return self.sandbox.home / ".copilot" / "hooks" / "tacit.json"

    def install(self) -> None:
        """Install Tacit for this client, as the person would."""
        self.sandbox.tacit("install", "copilot", "--yes")

    def ask(
        self, prompt: str, *, resume: str = "", timeout_s: float = 180.0, **environment: str
    ) -> CopilotTurn:
        """One `copilot -p` run: a session of its own, or `resume` an id."""
        finished = process.run_client(
            [str(self.executable), "-p", prompt, *([f"--resume={resume}"] if resume else [])],
            environment=self.environment(**environment),
            cwd=self.sandbox.project,
            timeout_s=timeout_s,
        )
        assert finished.code == 0, f"copilot ended with {finished.code}\n{finished.out}\n{finished.err}"
        named = _RESUME.search(finished.err)
        assert named is not None, finished.err
        return CopilotTurn(session_id=named[1], text=finished.out.strip(), took_ms=finished.took_ms)

    def session(self, **environment: str) -> CopilotSession:
        """A long-lived session that takes prompt after prompt."""
        return CopilotSession(self, self.environment(**environment))

    def events(self, session_id: str) -> Path:
        """The file in which Copilot keeps a session."""
        return self.sandbox.home / ".copilot" / "session-state" / session_id / "events.jsonl"

    def environment(self, **more: str) -> dict[str, str]:
        sandbox = self.sandbox
        base = copilot.environment(
            sandbox.stub.url,
            home=sandbox.home,
            tacit_home=sandbox.tacit_home,
            search_path=sandbox.search_path,
        )
        return {**base, **PATIENT, **more}


class CopilotSession:
    """One `copilot --acp` process (Agent Client Protocol). A context manager; `ask` as often as needed."""

    def __init__(self, client: Copilot, environment: dict[str, str]) -> None:
        self._errors = client.sandbox.root / f"copilot-{time.monotonic_ns()}.err"
        with self._errors.open("w") as errors:
            self._process = client.sandbox.start(
                [str(client.executable), "--acp"],
                environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        opened = self._call("session/new", {"cwd": str(client.sandbox.project), "mcpServers": []})
        self.session_id = opened[0]["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def ask(self, prompt: str) -> CopilotTurn:
        """Send one prompt (or `/compact`) and wait until its turn has ended."""
        started = time.monotonic()
        blocks = [{"type": "text", "text": prompt}]
        _, updates = self._call("session/prompt", {"sessionId": self.session_id, "prompt": blocks})
        words = [
            each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk"
        ]
        took_ms = (time.monotonic() - started) * 1000
        return CopilotTurn(session_id=self.session_id, text="".join(words), took_ms=took_ms)

    def close(self, *, timeout_s: float = 90.0) -> int:
        """End the session as a person does; return the exit code."""
        if self._process.poll() is None:
            self._process.stdin.close()
        code = self._process.wait(timeout_s)
        self._reader.join(30)
        self._process.stdout.close()
        return code

    def _call(
        self, method: str, params: dict[str, Any], *, timeout_s: float = 180.0
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Send a request; its result, and the updates that came before it."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        end, updates = time.monotonic() + timeout_s, []
        while True:
            try:
                message = self._messages.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"no answer to {method}\n{self._errors.read_text()}") from None
            assert message is not None, f"copilot ended during {method}\n{self._errors.read_text()}"
            if message.get("method") == "session/update":
                updates.append(message["params"]["update"])
            elif message.get("id") == self._number and "method" not in message:
                assert "error" not in message, message
                return message["result"], updates

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("{"):
                self._messages.put(json.loads(line))
        self._messages.put(None)
