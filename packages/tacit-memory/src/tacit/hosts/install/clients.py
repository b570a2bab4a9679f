"""Which hosts are on this machine, and the clients that support MCP servers but no hooks, with a table of their configuration files.

In: the user's home and PATH, folders. Out: name, version and program of hosts; the targets of an MCP client, each one member of a JSON file. Starts a host only
to ask its version where no package file tells it. The table of clients follows their documentation (docs/guide/mcp-clients.md); it was not tested
with the clients. The file of a client that is not installed is written only if the user names the client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tacit.errors import NotFound
from tacit.frozen import frozen
from tacit.hosts.install.files import JsonMember, Place, Target, is_there
from tacit.hosts.registry import BUILT_IN, BuiltInHost

_VERSION = re.compile(r"(?<!\d)\d+\.\d+\.\d+(?:[-+.\w]*)?")
_TIMEOUT_S = 10.0


@frozen
class DetectedHost:
    """A host whose program was found. `version` "" = unknown."""

    name: str
    version: str
    executable: Path


def detect(user_home: Path, path_env: str) -> tuple[DetectedHost, ...]:
    """Find the programs of built-in hosts, on `path_env` and where their installers put them. May run a program to ask for its version."""
    detected: list[DetectedHost] = []
    for host in BUILT_IN.values():
        executable = _executable(host, user_home, path_env)
        if executable is not None:
            version = _package_version(executable, host.npm_packages) or _asked_version(
                executable, user_home, path_env
            )
            detected.append(DetectedHost(name=host.name, version=version, executable=executable))
    return tuple(detected)


def find_executable(host: str, user_home: Path, path_env: str) -> Path | None:
    """Return the host's program, found as `detect` does but without asking for its version; None = it is not on this machine."""
    known = BUILT_IN.get(host)
    return _executable(known, user_home, path_env) if known else None


def _executable(host: BuiltInHost, user_home: Path, path_env: str) -> Path | None:
    on_path = shutil.which(host.program, path=path_env) if path_env else None
    if on_path:
        return Path(on_path)
    for place in host.places:
        file = user_home / place
        if os.access(file, os.X_OK) and file.is_file():
            return file
    return None


def _package_version(executable: Path, packages: tuple[str, ...]) -> str:
    """Return the version in the `package.json` above the executable, if it is one of `packages`; "" = unknown."""
    try:
        for folder in executable.resolve().parents[:4]:
            file = folder / "package.json"
            if file.is_file():
                facts = json.loads(file.read_text(encoding="utf-8"))
                if isinstance(facts, dict) and facts.get("name") in packages:  # pyright: ignore[reportUnknownMemberType]
                    return str(facts.get("version", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    except (OSError, ValueError):
        return ""
    return ""


def _asked_version(executable: Path, user_home: Path, path_env: str) -> str:
    try:
        answer = subprocess.run(
            [str(executable), "--version"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={"HOME": str(user_home), "PATH": path_env, "TERM": "dumb"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    match = _VERSION.search(answer.stdout)
    return match.group() if match else ""


_CONFIG_FOLDERS = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
"""The folder of applications' data below the user's home, by platform; on others `.config`."""


@frozen
class McpClient:
    """A client that supports MCP servers but no hooks, and where it keeps its configuration.

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
"""The MCP clients, by the name that `tacit install` takes."""


def targets_of_client(name: str, place: Place) -> tuple[Target, ...]:
    """Return the targets that add our MCP server to the client's files, of the user or of a project.

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
    """Return the names of the MCP clients; with `in_project`, only those that have a configuration file in projects."""
    return tuple(name for name, client in CLIENTS.items() if client.project_file or not in_project)


def found_clients(user_home: Path, *, in_project: bool = False) -> tuple[str, ...]:
    """Return the names of the MCP clients that are installed, as a folder in the user's home shows."""
    return tuple(
        name
        for name in clients(in_project=in_project)
        if any(is_there(_below(user_home, sign)) for sign in CLIENTS[name].sign)
    )


def _below(user_home: Path, place: str) -> Path:
    config = _CONFIG_FOLDERS.get(sys.platform, ".config")
    zed = f"{config}/Zed" if sys.platform == "win32" else ".config/zed"
    return user_home / place.format(config=config, zed=zed)
