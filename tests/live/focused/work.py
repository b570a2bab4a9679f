"""Sessions of Claude Code whose tool calls are told one by one: what the model is given when a call starts, and when it is done."""

from __future__ import annotations

import json
from typing import NamedTuple

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session

DECISIONS = (
    "Commit messages begin with the ticket number.",
    "Releases go out on Thursdays after the backup.",
    "Schema changes need a script that undoes them.",
    "The mobile app is written in Flutter.",
    "Every text that users see is in locales/, sorted by key.",
    "New packages need the approval of the security team.",
)
COMMIT_PROMPT = "Write the commit for the booking page."
"""The first decision may help with it; how readily it comes depends on level and use."""


class Told(NamedTuple):
    """What the model is given when a call starts, and when it is done, or why the call is refused."""

    starts: str
    done: str = ""
    refused: str = ""


class Work(Session):
    """A session whose calls are told one by one, each with an id of its own: one told twice would be taken for a repeated event."""

    def __init__(self, machine: Machine, name: str) -> None:
        super().__init__(machine, name)
        self._calls = 0

    def calls(self, tool: str, **given: str) -> Told:
        if "file_path" in given:
            given["file_path"] = str(self.machine.project / given["file_path"])
        self._calls += 1
        fields = {"tool_name": tool, "tool_input": given, "tool_use_id": f"{self.name}-{self._calls}"}
        starts = self._asked("PreToolUse", **fields)
        if "permissionDecision" in starts:
            assert starts["permissionDecision"] == "deny"
            return Told("", refused=starts["permissionDecisionReason"])
        done = self._asked("PostToolUse", tool_response={"stdout": "ok"}, **fields)
        return Told(starts.get("additionalContext", ""), done.get("additionalContext", ""))

    def bash(self, command: str) -> Told:
        return self.calls("Bash", command=command)

    def reads(self, path: str) -> Told:
        return self.calls("Read", file_path=path)

    def edits(self, path: str) -> Told:
        return self.calls("Edit", file_path=path, old_string="a = 1", new_string="a = 2")

    def _asked(self, event: str, **fields: object) -> dict[str, str]:
        out = self.machine.hook(self.machine.payload(event, session_id=self.name, **fields))
        return json.loads(out)["hookSpecificOutput"] if out else {}
