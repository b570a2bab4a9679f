"""The edits for OpenCode: the plugin file and the MCP server, and nothing that slows its start.

In: folders and the launcher. Out: targets. OpenCode waits at its start for an `npm install` in every folder of its
configuration that has plugins but no `node_modules` (measured on 1.18.33: 76 s without a network). Our plugin needs no
package, so a folder without packages of its own gets an empty `node_modules` and a lock file that says so.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.config.home import Home
from tacit.errors import HostError
from tacit.hosts.install.files import STAMP, JsonMember, OwnFile, Place, Target, is_there, plugin_text

PLUGIN_MARK = 'export default { id: "tacit"'
_BLANK = 'const INSTALLED = { home: "", launcher: "" }'
_CONFIGS = ("opencode.jsonc", "opencode.json")
_PACKAGE_FILES = ("package.json", "package-lock.json", "bun.lock", "bun.lockb", "node_modules")
_LOCK_MARK = '"tacit": "no packages are needed here"'
_KEEP_MARK = "Kept by Tacit"


def targets(place: Place) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    folder = user_home / ".config" / "opencode" if project_root is None else project_root / ".opencode"
    config_folder = folder if project_root is None else project_root
    config = next((config_folder / name for name in _CONFIGS if is_there(config_folder / name)), None)
    server = {"type": "local", "command": [str(launcher), "mcp", "--host", "opencode"], "enabled": True}
    targets_made: list[Target] = [
        OwnFile(
            path=folder / "plugins" / "tacit.js",
            why="carries memory into OpenCode (plugin)",
            content=plugin(home=place.home, launcher=launcher),
            mark=PLUGIN_MARK,
        ),
        JsonMember(
            path=config or config_folder / "opencode.json",
            why="gives OpenCode the memory tools (MCP server)",
            keys=("mcp", "tacit"),
            value=server,
            opening='{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
        ),
    ]
    return (*targets_made, *_no_packages(folder))


def plugin(*, home: Home, launcher: Path) -> str:
    """The plugin with the home and the launcher filled in."""
    text = plugin_text("opencode", "tacit.js")
    if text.count(_BLANK) != 1:
        raise HostError("plugins/opencode/tacit.js has no line to fill in.", hint="Install Tacit again.")
    declaration = f"const INSTALLED = {{ home: {json.dumps(str(home.root))}, launcher: {json.dumps(str(launcher))} }} // {STAMP}"
    return text.replace(_BLANK, declaration)


def _no_packages(folder: Path) -> tuple[Target, ...]:
    """Files that keep OpenCode from running npm here; none where the folder has packages of its own."""
    lock = folder / "package-lock.json"
    keep = folder / "node_modules" / ".tacit"
    ours = is_there(keep) or (
        is_there(lock) and _LOCK_MARK in lock.read_text(encoding="utf-8", errors="replace")
    )
    if not ours and any(is_there(folder / name) for name in _PACKAGE_FILES):
        return ()
    content = {
        "name": "opencode",
        "lockfileVersion": 3,
        "requires": True,
        "packages": {
            "": {"tacit": "no packages are needed here", "dependencies": {"@opencode-ai/plugin": "*"}}
        },
    }
    why = "keeps OpenCode's start fast: no package has to be fetched for the plugin"
    return (
        OwnFile(path=lock, why=why, content=json.dumps(content, indent=2) + "\n", mark=_LOCK_MARK),
        OwnFile(path=keep, why=why, content=f"{_KEEP_MARK}: an empty node_modules.\n", mark=_KEEP_MARK),
    )
