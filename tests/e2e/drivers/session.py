"""A session of Claude Code as its hooks and its transcript tell of it: prompts, tool calls, failures, compactions, the end.

What the agent is given is kept: `packs` = by event, in order.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from e2e.drivers.machine import Machine, injected


class Session:
    """One session; its transcript grows as the host writes it."""

    def __init__(self, machine: Machine, name: str) -> None:
        self.machine, self.name = machine, name
        # Sessions of one test lie hours apart and lately: what happened long ago is not told again.
        self.began = (
            datetime.now(UTC)
            - timedelta(days=12)
            + timedelta(hours=6 * len(list(machine.root.glob("*.jsonl"))))
        )
        self.path = machine.root / f"{name}.jsonl"
        self.packs: list[tuple[str, str]] = []
        self._lines = 0

    # what only the transcript holds ------------------------------------------------------------------

    def user(self, text: str) -> None:
        self._write("user", text)

    def agent(self, text: str) -> None:
        self._write("assistant", [{"type": "text", "text": text}])

    def ran(self, command: str, error: str = "", output: str = "ok") -> None:
        self._used("Bash", {"command": command}, error, output)

    def edited(self, path: str) -> None:
        self._used("Edit", {"file_path": str(self.machine.project / path)}, "")

    # what the hooks are told besides -----------------------------------------------------------------

    def start(self, source: str = "startup") -> str:
        """The session begins, or goes on behind a compaction; the text that is injected."""
        return self._send("SessionStart", source=source)

    def say(self, text: str) -> str:
        """The user sends a prompt; the text that is injected."""
        self.user(text)
        return self._send("UserPromptSubmit", prompt=text)

    def runs(self, command: str, error: str = "") -> str:
        """The agent runs a command; the text that is injected before it and after it failed."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        given = [self._send("PreToolUse", **call)]
        self.ran(command, error)
        if error:
            given.append(self._send("PostToolUseFailure", error=error, **call))
        else:
            given.append(self._send("PostToolUse", tool_response={"stdout": "ok"}, **call))
        return "\n".join(text for text in given if text)

    def stops(self, text: str) -> None:
        """The agent ends its turn with `text`."""
        self.agent(text)
        self._send("Stop", last_assistant_message=text, transcript_path=str(self.path))

    def end(self) -> None:
        """The session is over: the host says so, and its transcript is handed over."""
        self._send("SessionEnd", reason="exit", transcript_path=str(self.path))

    # ---------------------------------------------------------------------------------------------------

    def _send(self, event: str, **fields: object) -> str:
        text = injected(self.machine.hook(self.machine.payload(event, session_id=self.name, **fields)))
        if text:
            self.packs.append((event, text))
        return text

    def _write(self, role: str, content: object) -> None:
        self._lines += 1
        line = {
            "type": role, "uuid": f"{self.name}-{self._lines}", "sessionId": self.name, "cwd": str(self.machine.project),
            "timestamp": f"{self.began + timedelta(seconds=self._lines):%Y-%m-%dT%H:%M:%SZ}", "message": {"role": role, "content": content},
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _used(self, tool: str, given: dict[str, str], error: str, output: str = "ok") -> None:
        key = f"call-{self.name}-{self._lines}"
        self._write("assistant", [{"type": "tool_use", "id": key, "name": tool, "input": given}])
        result = {
            "type": "tool_result",
            "tool_use_id": key,
            "content": error or output,
            "is_error": bool(error),
        }
        self._write("user", [result])
