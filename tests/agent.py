"""A session of Claude Code as its hooks tell the engine, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tacit.app.engine import Engine
from tacit.providers.clock import FakeClock


def send(engine: Engine, cwd: Path | str, event: str, session: str = "s1", **fields: Any) -> str:
    """Fire one hook; the whole reply, "" = silence."""
    payload = {"session_id": session, "cwd": str(cwd), "hook_event_name": event, **fields}
    reply = engine.hook("claude-code", payload, deadline_ms=5000)
    engine.flush()
    return reply


def injected(reply: str) -> str:
    """The text for the model in a reply."""
    return json.loads(reply).get("hookSpecificOutput", {}).get("additionalContext", "") if reply else ""


class Agent:
    """One session. With a clock, each hook comes a second after the one before."""

    def __init__(
        self,
        engine: Engine,
        cwd: Path | str,
        session: str = "s1",
        *,
        clock: FakeClock | None = None,
        **fields: Any,
    ) -> None:
        self.engine, self.cwd, self.session, self.clock, self.fields = (
            engine,
            Path(cwd),
            session,
            clock,
            fields,
        )
        self.count = 0

    def send(self, event: str, **fields: Any) -> str:
        """Fire one hook; the text for the model, "" = silence."""
        if self.clock:
            self.clock.advance(1000)
        self.count += 1
        told = {"session": self.session, "prompt_id": f"{self.session}-{self.count}", **self.fields, **fields}
        return injected(send(self.engine, self.cwd, event, **told))

    def start(self, source: str = "startup") -> str:
        """The session starts."""
        return self.send("SessionStart", source=source)

    def prompt(self, text: str) -> str:
        """The user sends a prompt."""
        return self.send("UserPromptSubmit", prompt=text)

    def stop(self, text: str) -> str:
        """The model ends its turn with these words."""
        return self.send("Stop", last_assistant_message=text)

    def tool(self, event: str, name: str, tool_id: str = "", **tool_input: Any) -> str:
        """A tool is called, has answered or has failed (then with its `error`)."""
        extra = {name: tool_input.pop(name) for name in ("error", "tool_response") if name in tool_input}
        call = {"tool_name": name, "tool_use_id": tool_id or f"t{self.count}", "tool_input": tool_input}
        return self.send(event, **call, **extra)

    def edited(self, path: str) -> str:
        """The agent edited a file."""
        given = {"file_path": str(self.cwd / path), "old_string": "a", "new_string": "b"}
        return self.tool("PostToolUse", "Edit", tool_response={"success": True}, **given)

    def failed(self, command: str, error: str) -> str:
        """A command of the agent failed."""
        return self.tool("PostToolUseFailure", "Bash", command=command, error=error)

    def end(self) -> str:
        """The session ends."""
        return self.send("SessionEnd", reason="exit")
