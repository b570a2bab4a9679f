"""The edits for Cursor: hooks, the MCP server and, in a project, a rule that has the agent search the memory at a prompt.

In: folders and the launcher. Out: targets. The files and events follow cursor.com/docs/hooks, /mcp and /rules; they were not tested with Cursor.
"""

from __future__ import annotations

import json
from typing import cast

from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import (
    STAMP,
    HookEvents,
    HookSettings,
    JsonMember,
    OwnFile,
    Place,
    Target,
    hook_entries,
    read_text,
    shell_line,
)
from tacit.hosts.probe import (
    ProbeResult,
    ProofJob,
    judge_answer,
    not_run,
    prove_command,
)
from tacit.hosts.probe.wire import as_mapping

EVENTS: HookEvents = (
    ("sessionStart", "", 10),
    ("beforeSubmitPrompt", "", 5),
    ("preToolUse", "Shell|Write|Delete|Task", 5),
    ("postToolUse", "", 5),
    ("postToolUseFailure", "", 5),
    ("afterAgentResponse", "", 5),
    ("preCompact", "", 5),
    ("sessionEnd", "", 10),
)
"""The events that are hooked, with matcher and timeout in seconds."""
RULE_MARK = "<!-- installed by tacit install cursor"
_OPENING = '{\n  "version": 1\n}\n'
_RULE = f"""\
---
description: Search the memory before work on a request
alwaysApply: true
---

{RULE_MARK}, {STAMP} -->

Before you work on a request, call the tool `memory_search` of the MCP server `tacit` with the request in the user's words. It answers
with decisions, preferences and fixes from earlier sessions that apply to it, or says that nothing fits.
"""


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files that an installation changes: those of the user, or of the project."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    folder = (user_home if project_root is None else project_root) / ".cursor"
    hooks = hook_entries(EVENTS, {"command": shell_line(launcher, "cursor", STAMP)}, grouped=False)
    files: list[Target] = [
        CursorHooks(path=folder / "hooks.json", groups=hooks, opening=_OPENING),
        JsonMember(
            path=folder / "mcp.json",
            why="gives Cursor the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value={"command": str(launcher), "args": ["mcp", "--host", "cursor"]},
        ),
    ]
    if project_root is not None:  # Cursor keeps the rules of a user in its settings
        why = "has the agent search the memory at a prompt, where Cursor's hooks take no text (rule)"
        files.append(OwnFile(path=folder / "rules" / "tacit.mdc", why=why, content=_RULE, mark=RULE_MARK))
    return tuple(files)


@frozen
class CursorHooks(HookSettings):
    """The target for our hooks in Cursor's `hooks.json`, which needs a `version`."""

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with a `version`, and with our entry for each event; None = there is no file yet."""
        if text and text.strip() and jsonc.find(jsonc.read(text, path=self.path), ("version",)) is None:
            text = jsonc.put(text, ("version",), 1, path=self.path)
        return HookSettings.add(self, text)


def prove(job: ProofJob) -> ProbeResult:
    """Run the command of our `sessionStart` hook once with a payload from Cursor's documentation, and return whether the nonce is in its answer.

    Cursor cannot run without its window, so this does not show what Cursor does with the answer.
    """
    hooks = job.file("hooks.json")
    try:
        node = jsonc.find(jsonc.read(read_text(hooks) or "{}", path=hooks), ("hooks", "sessionStart"))
    except HostError as error:
        return not_run(f"{error.message} {error.hint}")
    commands = [str(as_mapping(item.value).get("command", "")) for item in (node.items if node else ())]
    command = next((text for text in commands if str(job.launcher) in text), "")
    if not command:
        return not_run(f"{hooks} has no hook that calls {job.launcher}. Run `tacit install cursor`.")
    session = f"doctor-{job.nonce}"
    payload = {
        "hook_event_name": "sessionStart", "conversation_id": session, "session_id": session,
        "workspace_roots": [str(job.tacit_home)], "cursor_version": "doctor", "is_background_agent": False,
        "composer_mode": "agent", "transcript_path": None,
    }  # fmt: skip
    finished = prove_command(job, ["/bin/sh", "-c", command], json.dumps(payload))
    try:
        answer = as_mapping(cast("object", json.loads(finished.out or "{}")))
    except ValueError:
        answer = as_mapping(None)
    advice = "The hook's command ran and found nothing: see `tacit status --log` and `tacit status`."
    found = job.nonce in str(answer.get("additional_context", ""))
    return judge_answer(finished, found, "additional_context", advice)
