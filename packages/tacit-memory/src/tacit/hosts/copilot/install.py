"""The edits for GitHub Copilot CLI: a file of hooks and the MCP server.

In: folders and the launcher. Out: targets. Copilot reads every `*.json` of its folder of hooks, so our hooks are in a separate file (measured on
1.0.102). If the command of a hook ends with an error, Copilot refuses the call. So our command ends without an error even if the launcher
is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tacit.hosts.install.files import (
    STAMP,
    HookEvents,
    JsonMember,
    OwnFile,
    Place,
    Target,
    files_of_project,
    hook_entries,
    read_settings,
    shell_line,
)
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    not_run,
    problem_of,
    prove_client,
)

EVENTS: HookEvents = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", "", 5),
    ("PostToolUse", "", 5),
    ("PostToolUseFailure", "", 5),
    ("SubagentStart", "", 5),
    ("SubagentStop", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 10),
)
"""The events that are hooked, with matcher and timeout in seconds. Only with names in this form does the payload name its event."""
HOOKS_FILE = "tacit.json"
HOOKS_MARK = " copilot tacit-install:"


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files that an installation changes: those of the user, or of the project."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    folder = user_home / ".copilot" if project_root is None else project_root / ".github"
    servers = folder / ("mcp-config.json" if project_root is None else "mcp.json")
    server = {"type": "local", "command": str(launcher), "args": ["mcp", "--host", "copilot"], "tools": ["*"]}
    return (
        OwnFile(
            path=folder / "hooks" / HOOKS_FILE,
            why="calls Tacit when a session, prompt or tool call begins or ends (hooks)",
            content=hooks(launcher),
            mark=HOOKS_MARK,
        ),
        JsonMember(
            path=servers,
            why="gives Copilot the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value=server,
        ),
    )


def hooks(launcher: Path) -> str:
    """Return the JSON text of our file of hooks."""
    handler = {"type": "command", "bash": shell_line(launcher, "copilot", STAMP, "|| true")}
    entries = hook_entries(EVENTS, handler, timeout="timeoutSec", grouped=False)
    return json.dumps({"version": 1, "hooks": {event: [entry] for event, entry in entries}}, indent=2) + "\n"


def switched_off(
    *, user_home: Path, project_root: Path | None, machine: Path, connected: bool
) -> Iterator[str]:
    """Yield a sentence for each setting that keeps Copilot from running our hooks; see `install.switched_off`."""
    del machine
    if not connected:
        return
    for path, values in read_settings(
        *files_of_project(
            project_root, ".github/copilot/settings.local.json", ".github/copilot/settings.json"
        ),
        user_home / ".copilot" / "settings.json",
        user_home / ".copilot" / "config.json",
    ):
        if values.get("disableAllHooks") is True:
            yield f"Copilot CLI runs no hooks: disableAllHooks is true in {path}. Take it out."


MODEL = "stub-model"
PROMPT = "Say hello in one word."


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Return environment variables with which Copilot sends requests only to the stub model."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "COPILOT_ALLOW_ALL": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_PROVIDER_BASE_URL": f"{stub_url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
    }


def prove(job: ProofJob) -> ProbeResult:
    """Run `copilot -p` once against the stub model, offline and without a login, with a copy of our hooks, and return whether the nonce is in a model request."""
    hooks = job.file(HOOKS_FILE)
    try:
        text = hooks.read_text(encoding="utf-8")
    except OSError as error:
        return not_run(f"{hooks} cannot be read ({error}). Run `tacit install copilot`.")
    problem = problem_of(text, file=hooks, launcher=job.launcher, host="copilot")
    if problem is not None:
        return problem
    files = {f".copilot/hooks/{HOOKS_FILE}": text}
    return prove_client(job, "Copilot", files=files, command=("-p", PROMPT), environment=environment)
