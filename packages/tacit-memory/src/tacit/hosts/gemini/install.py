"""The edits for Gemini CLI: hooks and the MCP server, both in one settings file.

In: folders and the launcher. Out: the target. The events and their forms were measured on 0.61.0 (docs/guide/agents.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc, toml_tables
from tacit.hosts.install.files import (
    STAMP,
    HookEvents,
    HookSettings,
    JsonMember,
    OwnFile,
    Permission,
    Place,
    Rule,
    Ruling,
    Target,
    files_of_project,
    hook_entries,
    read_settings,
    read_text,
    shell_line,
)
from tacit.hosts.install.files import TOOLS as ASKED_TOOLS
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    hooks_only,
    not_run,
    problem_of,
    prove_client,
)

TOOLS = (
    r"^(read_file|read_many_files|replace|write_file|run_shell_command|web_fetch|google_web_search|invoke_agent"
    r"|mcp_(?!tacit_).+)$"
)
"""Matcher of the tool calls that a rule may govern. Our own tools are excluded."""
EVENTS: HookEvents = (
    ("SessionStart", "", 10_000),
    ("BeforeAgent", "", 5_000),
    ("BeforeTool", TOOLS, 5_000),
    ("AfterTool", TOOLS, 5_000),
    ("AfterAgent", "", 5_000),
    ("SessionEnd", "", 10_000),
)
"""The events that are hooked, with matcher and timeout in milliseconds."""
HOOK_NAME = "tacit"
"""The name by which `/hooks` of the client shows the hooks and switches them off."""


_POLICY_MARK = "# installed by tacit install gemini --allow-tools"
_POLICY = f"""\
{_POLICY_MARK}, {STAMP}
# Gemini CLI does not ask before these two tools of Tacit. Each rule of yours wins:
# this priority is the lowest, and at the same one the file whose name comes first decides.

[[rule]]
mcpName = "tacit"
toolName = ["memory_get", "memory_add"]
decision = "allow"
priority = 0
"""


def policy(user_home: Path) -> OwnFile:
    """Return the target for the file with the rule that allows the memory tools. Gemini CLI reads such files only in the user's folder."""
    return OwnFile(
        path=user_home / ".gemini" / "policies" / "zz-tacit.toml",
        why="Gemini CLI does not ask before memory_get and memory_add (policy)",
        content=_POLICY,
        mark=_POLICY_MARK,
    )


def targets(place: Place) -> tuple[Target, ...]:
    """Return the one file that an installation changes: the settings of the user, or of the project."""
    path = (place.project_root or place.user_home) / ".gemini" / "settings.json"
    return (GeminiSettings(path=path, launcher=place.launcher),)


@frozen
class GeminiSettings:
    """The target for our hooks and MCP server in Gemini CLI's settings. It works on the text of the file; reading and writing it is the caller's."""

    path: Path
    launcher: Path
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks), and gives Gemini the memory tools (MCP server)"

    @property
    def _hooks(self) -> HookSettings:
        command = shell_line(self.launcher, "gemini", STAMP)
        handler = {"type": "command", "name": HOOK_NAME, "command": command}
        return HookSettings(path=self.path, groups=hook_entries(EVENTS, handler))

    @property
    def _server(self) -> JsonMember:
        server = {"command": str(self.launcher), "args": ["mcp", "--host", "gemini"]}
        return JsonMember(path=self.path, why="", keys=("mcpServers", "tacit"), value=server)

    def holds(self, text: str) -> bool:
        """Whether the text has our hooks and server, complete and up to date."""
        return self._hooks.holds(text) and self._server.holds(text)

    def present(self, text: str) -> bool:
        """Whether the text has any hook of ours or our server."""
        return self._hooks.present(text) or self._server.present(text)

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with our hooks and server; None = there is no file yet."""
        return self._server.add(self._hooks.add(text))

    def remove(self, text: str) -> str | None:
        """Return the text without our entries and the objects that become empty; None = the file is to be deleted."""
        remaining = self._server.remove(text)
        return None if remaining is None else self._hooks.remove(remaining)

    def unread(self, path: Path, text: str) -> str:
        """Return a sentence that says why Gemini CLI would not start with this file; "" = it does.

        It allows comments, but does not start if there is a trailing comma or a byte order mark (measured on 0.61.0).
        """
        if text.startswith("\ufeff"):
            return f"Gemini CLI does not start with {path}: it begins with a byte order mark. Save it as UTF-8 without one."
        try:
            jsonc.read(text, path=path)
        except HostError:
            return ""  # the edit of the file reports it
        try:
            json.loads(_without_comments(text))
        except ValueError as error:
            line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            return f"Gemini CLI does not start with {path}{line}: it takes no comma behind the last entry. Take it out."
        return ""


_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


def _without_comments(text: str) -> str:
    """Return the text with comments replaced by spaces, so that line numbers stay."""
    return _COMMENT.sub(
        lambda match: match[1] or re.sub(r"[^\r\n]", " ", match[0]), text.removeprefix("\ufeff")
    )


def switched_off(
    *, user_home: Path, project_root: Path | None, machine: Path, connected: bool
) -> Iterator[str]:
    """Yield a sentence for each setting that keeps Gemini CLI from running our hooks; see `install.switched_off`."""
    if not connected:
        return
    files = (
        machine / "settings.json",
        *files_of_project(project_root, ".gemini/settings.json"),
        user_home / ".gemini" / "settings.json",
    )
    decided = False
    for path, values in read_settings(*files):
        hooks = values.get("hooksConfig")
        if not isinstance(hooks, Mapping):
            continue
        config = cast("Mapping[str, object]", hooks)
        enabled, disabled = config.get("enabled"), config.get("disabled")
        if enabled is False and not decided:
            yield f"Gemini CLI runs no hooks: hooksConfig.enabled is false in {path}. Set it to true."
        decided = decided or isinstance(enabled, bool)
        if isinstance(disabled, list) and HOOK_NAME in disabled:
            yield (
                f"Gemini CLI does not run the hook {HOOK_NAME!r}: hooksConfig.disabled in {path} names it. "
                "`/hooks enable tacit` in Gemini CLI switches it on."
            )


def rules_for_tools(*, user_home: Path, project_root: Path | None, machine: Path) -> tuple[Rule, ...]:
    """Return the same rule for each asked tool: `allow` if our policy file is there, else `ask`. Policies of the user may override it."""
    del project_root, machine
    file = policy(user_home)
    there = file.present(read_text(file.path) or "")
    rule: Rule = ("allow", "policy", file.path) if there else ("ask", "", None)
    return len(ASKED_TOOLS) * (rule,)


def permission(
    allow: bool | None,
    found: Sequence[Ruling],
    *,
    user_home: Path,
    project_root: Path | None,
    earlier_in: Callable[[Path], tuple[str, ...]],
    hint: str,
) -> Permission:
    """Decide whether our policy file shall be there: `allow` True = yes, False = no, None = as it is; see `install.plan`."""
    del earlier_in
    if project_root is not None:
        told = "Gemini CLI takes a rule for single tools only for all projects: `tacit install gemini --allow-tools` without --project"
        return Permission(notes=(told,) if allow else ())
    wanted = (policy(user_home),)
    if allow or (allow is None and found[0].word == "allow"):
        return Permission(wanted=wanted, tools=ASKED_TOOLS)
    return Permission(gone=wanted, notes=(hint,) if allow is None else ())


MODEL = "gemini-2.5-pro"
PROMPT = "Say hello in one word."
SETTINGS: Mapping[str, object] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": {"enabled": False},
}
"""Settings with which Gemini CLI takes its key from the environment and sends nothing but requests to the model."""


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Return environment variables with which Gemini CLI sends requests only to the stub model."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "GEMINI_API_KEY": "dummy",
        "GEMINI_CLI_NO_RELAUNCH": "true",  # otherwise the client starts itself a second time, to have more memory
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GOOGLE_GEMINI_BASE_URL": stub_url,
    }


def prove(job: ProofJob) -> ProbeResult:
    """Run `gemini -p` once against the stub model, with the hooks exactly as the settings have them, and return whether the nonce is in a model request.

    The MCP server of the settings answers the calls of our tools that the stub model makes, as the user's policies allow.
    """
    settings = job.files[0]
    try:
        content = jsonc.read(settings.read_text(encoding="utf-8"), path=settings).value
    except HostError as error:
        return not_run(str(error))
    except (OSError, UnicodeDecodeError) as error:
        return not_run(f"{settings} cannot be read ({error}). Run `tacit install gemini`.")
    hooks = hooks_only(content, ("hooks", "hooksConfig"))
    problem = problem_of(json.dumps(hooks), file=settings, launcher=job.launcher, host="gemini")
    if problem is not None:
        return problem
    if job.calls:
        hooks["mcpServers"] = {"tacit": toml_tables.find(content, ("mcpServers", "tacit"))}
        elsewhere = toml_tables.find(content, ("policyPaths",))
        hooks |= {"policyPaths": elsewhere} if elsewhere else {}
    return prove_client(
        job,
        "Gemini CLI",
        files={
            ".gemini/settings.json": json.dumps({**SETTINGS, **hooks}),
            ".gemini/policies": job.user_home / ".gemini" / "policies",
        },
        command=("-m", MODEL, "-p", PROMPT),
        environment=environment,
        timeout_s=90.0,
    )
