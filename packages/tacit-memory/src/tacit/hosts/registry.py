"""The built-in coding agents: what is known of each without loading its modules, and these modules.

In: facts, each stated once. Out: the same, and the modules of a host's folder, imported when they are asked for. The folder is a package with
`HOST` (the adapter). Its module `install` holds `targets` (the files of an installation) and `prove` (that they work), and `transcript`, if Tacit
reads the host's sessions, how they are found and read. What else these may offer is said where it is used. Never writes.

A host is registered by its entry in this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.config.environment import variables
from tacit.frozen import frozen

if TYPE_CHECKING:
    from tacit.ports.host import Host

Folders = tuple[Path, ...]


@frozen
class BuiltInHost:
    """A coding agent that Tacit supports without another package.

    Attributes:
        name: in settings, payloads and `tacit install`.
        title: for people.
        package: where its modules are.
        program: the name of its program.
        shell_variable: the variable that it sets for the commands it runs, by which they are known as an agent's and not the user's; "" = none.
        npm_packages: the packages whose `package.json` tells the version of the program.
        places: where its own installers put the program; below the user's home unless absolute.
        data: its folder of data, below the user's home; () = Tacit reads none.
        data_variable: the variable that names another folder, then what follows below that.
        start: the fields by which the adapter recognizes a session start, or the first prompt of a host that takes no text before it.
        reads_sessions: whether it has the module `transcript`.
        runs_here: whether `tacit doctor` can run its program.
        writer: the writer that its program can be (`capture.extractor.provider`); "" = none.
        tool_prefix: what stands before the name of a tool of ours, in a host that asks before each call and takes a rule for single tools.
        rules_command: the command by which that host lists its rules.
        machine_folders: the folder of an administrator's settings by `sys.platform`; "" = on other systems.
    """

    name: str
    title: str
    package: str
    program: str
    shell_variable: str
    npm_packages: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    data_variable: tuple[str, ...] = ()
    start: Mapping[str, object] = field(default_factory=dict[str, object])
    reads_sessions: bool = False
    runs_here: bool = True
    writer: str = ""
    tool_prefix: str = ""
    rules_command: str = ""
    machine_folders: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def adapter(self) -> Host:
        """The `Host` that reads and answers its payloads; importing it loads the host's package."""
        return import_module(self.package).HOST

    def part(self, name: str) -> Any:
        """Import and return a module of the host's package, such as `install`."""
        return import_module(f"{self.package}.{name}")

    def offered(self, part: str, function: str) -> Callable[..., Any] | None:
        """Return the function called `function` of the module `part` in the host's package, which is imported; None = the module has no such function."""
        return getattr(self.part(part), function, None)

    def data_folders(self, user_home: Path, environ: Mapping[str, str] | None = None) -> Folders:
        """Return the folders in which the host may keep its data, one set by its variable first. `environ` None = the process's own.

        A host that was told to use another folder may have kept earlier sessions in its usual one: both are looked into. Touches no file.
        """
        usual = (user_home.joinpath(*self.data),) if self.data else ()
        variable, *below = self.data_variable or ("",)
        text = (variables() if environ is None else environ).get(variable, "").strip()
        if not text or "\0" in text:
            return usual
        folder = Path(os.path.expanduser(text))  # noqa: PTH111 - as the hosts' own shells do, without an error
        return tuple(dict.fromkeys((folder.joinpath(*below), *usual))) if folder.is_absolute() else usual


CLAUDE_CODE = BuiltInHost(
    name="claude-code",
    title="Claude Code",
    package="tacit.hosts.claude_code",
    program="claude",
    shell_variable="CLAUDECODE",
    npm_packages=("@anthropic-ai/claude-code",),
    places=(".local/bin/claude", ".claude/local/claude"),
    data=(".claude",),
    data_variable=("CLAUDE_CONFIG_DIR",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
    writer="claude",
    tool_prefix="mcp__tacit__",
    rules_command="permissions",
    machine_folders={
        "darwin": "/Library/Application Support/ClaudeCode",
        "win32": "C:/Program Files/ClaudeCode",
        "": "/etc/claude-code",
    },
)
"""Claude Code: hooks, MCP server, slash command."""
OPENCODE = BuiltInHost(
    name="opencode",
    title="OpenCode",
    package="tacit.hosts.opencode",
    program="opencode",
    shell_variable="OPENCODE",
    npm_packages=("opencode-ai", "@opencode-ai/cli"),
    places=(".opencode/bin/opencode", ".local/bin/opencode", ".bun/bin/opencode"),
    data=(".local", "share", "opencode"),
    data_variable=("XDG_DATA_HOME", "opencode"),
    start={"event": "session.start"},
    reads_sessions=True,
)
"""OpenCode: plugin, MCP server."""
CODEX = BuiltInHost(
    name="codex",
    title="Codex",
    package="tacit.hosts.codex",
    program="codex",
    shell_variable="CODEX_SANDBOX",
    npm_packages=("@openai/codex",),
    places=(".local/bin/codex", ".bun/bin/codex"),
    data=(".codex",),
    data_variable=("CODEX_HOME",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
    writer="codex",
)
"""Codex: hooks that the user approves once, MCP server."""
GEMINI = BuiltInHost(
    name="gemini",
    title="Gemini CLI",
    package="tacit.hosts.gemini",
    program="gemini",
    shell_variable="GEMINI_CLI",
    npm_packages=("@google/gemini-cli",),
    places=(".local/bin/gemini", ".npm-global/bin/gemini"),
    data=(".gemini",),
    data_variable=("GEMINI_CLI_HOME", ".gemini"),
    start={"hook_event_name": "BeforeAgent"},
    reads_sessions=True,
    writer="gemini",
    tool_prefix="mcp_tacit_",
    rules_command="policies",
    machine_folders={
        "darwin": "/Library/Application Support/GeminiCli",
        "win32": "C:/ProgramData/gemini-cli",
        "": "/etc/gemini-cli",
    },
)
"""Gemini CLI: hooks, MCP server."""
COPILOT = BuiltInHost(
    name="copilot",
    title="GitHub Copilot CLI",
    package="tacit.hosts.copilot",
    program="copilot",
    shell_variable="COPILOT_CLI",
    npm_packages=("@github/copilot",),
    places=(".local/bin/copilot",),
    data=(".copilot",),
    data_variable=("COPILOT_HOME",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
)
"""GitHub Copilot CLI: hooks, MCP server."""
CURSOR = BuiltInHost(
    name="cursor",
    title="Cursor",
    package="tacit.hosts.cursor",
    program="cursor",
    shell_variable="CURSOR_AGENT",
    places=(".local/bin/cursor-agent", "/Applications/Cursor.app/Contents/Resources/app/bin/cursor"),
    start={"hook_event_name": "sessionStart"},
    runs_here=False,
)
"""Cursor: hooks, MCP server, a rule."""

BUILT_IN: dict[str, BuiltInHost] = {
    host.name: host for host in (CLAUDE_CODE, OPENCODE, CODEX, GEMINI, COPILOT, CURSOR)
}
"""The built-in hosts by name. Tests add one while they run."""


@dataclass(frozen=True, slots=True)
class HostFolders:
    """The data folders of hosts for the user at `user_home`, with variables from `environ` (None = the process's own)."""

    user_home: Path
    environ: Mapping[str, str] | None = None

    def of(self, host: str) -> Folders:
        """Return the data folders of `host`, an explicitly set one first."""
        return BUILT_IN[host].data_folders(self.user_home, self.environ)


def readable_hosts() -> tuple[BuiltInHost, ...]:
    """Return the built-in hosts whose past sessions Tacit can read."""
    return tuple(host for host in BUILT_IN.values() if host.reads_sessions)


def shell_variables() -> frozenset[str]:
    """Return the variables that the built-in hosts set for the commands they run."""
    return frozenset(host.shell_variable for host in BUILT_IN.values() if host.shell_variable)


def in_agent_shell() -> bool:
    """Return whether a coding agent started this process, as a variable that agents set for their commands shows."""
    return any(variables().get(name, "") not in ("", "0") for name in shell_variables())
