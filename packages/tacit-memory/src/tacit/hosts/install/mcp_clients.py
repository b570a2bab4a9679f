"""Clients that support MCP servers but no hooks: a table of their configuration files.

In: folders and the launcher. Out: targets, each one member of a JSON file. The table follows the clients' documentation
(docs/guide/mcp-clients.md); it was not tested with the clients. Never writes the file of a client that is not installed, unless the user names
the client.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tacit.errors import NotFound
from tacit.hosts.install.files import is_there
from tacit.hosts.install.target import JsonMember, Place, Target

_CONFIG_FOLDERS = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
"""The folder of applications' data below the user's home, by platform; on others `.config`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """A client and its configuration files.

    Attributes:
        title: its name for people.
        files: the user's files, relative to the home folder; `{config}` = the platform's folder of applications' data. Those that
            exist are written; if none does, the first.
        key: the object that contains the servers.
        fields: the members of an entry besides `command` and `args`.
        project_file: the file of a project, relative to its root; "" = the client has none.
        sign: folders relative to the home folder. If one of them exists, the client is installed.
    """

    title: str
    files: tuple[str, ...]
    sign: tuple[str, ...]
    key: str = "mcpServers"
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    project_file: str = ""


CLIENTS: Mapping[str, McpClient] = {
    "windsurf": McpClient(
        title="Windsurf", files=(".codeium/windsurf/mcp_config.json",), sign=(".codeium/windsurf",)
    ),
    "cline": McpClient(
        title="Cline",
        files=(
            ".cline/data/settings/cline_mcp_settings.json",
            "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ),
        sign=(".cline", "{config}/Code/User/globalStorage/saoudrizwan.claude-dev"),
    ),
    "zed": McpClient(
        title="Zed",
        files=("{zed}/settings.json",),
        sign=("{zed}",),
        key="context_servers",
        fields={"source": "custom", "env": {}},
    ),
    "vscode": McpClient(
        title="VS Code",
        files=("{config}/Code/User/mcp.json",),
        sign=("{config}/Code/User",),
        key="servers",
        fields={"type": "stdio"},
        project_file=".vscode/mcp.json",
    ),
    "jetbrains": McpClient(
        title="JetBrains Junie",
        files=(".junie/mcp/mcp.json",),
        sign=(".junie",),
        project_file=".junie/mcp/mcp.json",
    ),
    "claude-desktop": McpClient(
        title="Claude Desktop",
        files=("{config}/Claude/claude_desktop_config.json",),
        sign=("{config}/Claude",),
    ),
}
"""The clients by the name that `tacit install` takes."""


def targets(name: str, place: Place) -> tuple[Target, ...]:
    """Return the files of the client `name` in the user's scope, or of a project.

    Raises:
        NotFound: if it has no file of a project.
    """
    client = CLIENTS[name]
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    if project_root is not None:
        if not client.project_file:
            raise NotFound(
                f"{client.title} has no configuration file of a project.",
                hint=f"`tacit install {name}` without --project writes the user's own.",
            )
        paths = [project_root / client.project_file]
    else:
        paths = [_below(user_home, file) for file in client.files]
        paths = [path for path in paths if is_there(path)] or paths[:1]
    entry = {**client.fields, "command": str(launcher), "args": ["mcp", "--host", name]}
    return tuple(
        JsonMember(
            path=path,
            why=f"gives {client.title} the memory tools (MCP server)",
            keys=(client.key, "tacit"),
            value=entry,
        )
        for path in paths
    )


def clients(*, in_project: bool = False) -> tuple[str, ...]:
    """Return the names of the clients; with `in_project`, only of those that have a file of a project."""
    return tuple(name for name, client in CLIENTS.items() if client.project_file or not in_project)


def found_clients(user_home: Path, *, in_project: bool = False) -> tuple[str, ...]:
    """Return the names of the clients whose folder is in the user's home."""
    return tuple(
        name
        for name in clients(in_project=in_project)
        if any(is_there(_below(user_home, sign)) for sign in CLIENTS[name].sign)
    )


def _below(user_home: Path, place: str) -> Path:
    config = _CONFIG_FOLDERS.get(sys.platform, ".config")
    zed = f"{config}/Zed" if sys.platform == "win32" else ".config/zed"
    return user_home / place.format(config=config, zed=zed)
