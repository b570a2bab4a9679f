"""Settings with which a host runs no hooks of ours. In: its settings files as they are. Out: sentences that name file and setting and say what to do.

Measured on the hosts (docs/adr/0007-hosts.md) or, for what an administrator sets, taken from their documentation. A file that cannot be read decides nothing here: what
is wrong with our own files is told elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from tacit.config.host_folders import HostFolders
from tacit.errors import HostError
from tacit.hosts.install import jsonc, toml_tables
from tacit.hosts.install.files import read_text
from tacit.hosts.install.gemini import HOOK_NAME

Settings = tuple[Path, Mapping[str, object]]
PLUGIN = "tacit@"
"""How the name of our plugin begins; the name of a marketplace follows."""


_MACHINE = {
    "claude-code": {
        "darwin": "/Library/Application Support/ClaudeCode",
        "win32": "C:/Program Files/ClaudeCode",
        "": "/etc/claude-code",
    },
    "gemini": {
        "darwin": "/Library/Application Support/GeminiCli",
        "win32": "C:/ProgramData/gemini-cli",
        "": "/etc/gemini-cli",
    },
}
"""The folders in which an administrator keeps the settings of a host, by system."""


def switched_off(
    host: str,
    *,
    user_home: Path,
    project_root: Path | None,
    connected: bool = True,
    machine: Path | None = None,
) -> tuple[str, ...]:
    """Say why `host` runs no hooks of ours in a session in `project_root`; empty = nothing keeps it from that.

    Args:
        host: its name.
        user_home: the user's home folder.
        project_root: the project whose settings hold, too; None = none is known.
        connected: whether our hooks are in its settings; if not, only our plugin can be switched off.
        machine: the folder of the administrator's settings; default: that of this system.
    """
    machine = machine or machine_folder(host)
    told: Iterable[str] = ()
    if host == "claude-code":
        told = _claude_code(user_home, project_root, machine, connected=connected)
    elif not connected:
        return ()
    elif host == "copilot":
        told = _copilot(user_home, project_root)
    elif host == "gemini":
        told = _gemini(user_home, project_root, machine)
    elif host == "codex":
        told = _codex(user_home, project_root)
    return tuple(told)


def machine_folder(host: str) -> Path:
    """Return the folder of the administrator's settings of `host` on this system."""
    folders = _MACHINE.get(host, {})
    return Path(folders.get(sys.platform, folders.get("", "/etc")))


def claude_settings(
    user_home: Path, project_root: Path | None, machine: Path
) -> tuple[tuple[Settings, ...], tuple[Settings, ...]]:
    """Return the settings of Claude Code that hold in `project_root`: the administrator's and the user's, each in the order in which they win."""
    managed = read_settings(
        machine / "managed-settings.json",
        *sorted((machine / "managed-settings.d").glob("*.json"), reverse=True),
    )
    own = read_settings(
        *_of_project(project_root, ".claude/settings.local.json", ".claude/settings.json"),
        user_home / ".claude" / "settings.json",
    )
    return tuple(managed), tuple(own)


def _claude_code(
    user_home: Path, project_root: Path | None, machine: Path, *, connected: bool
) -> Iterator[str]:
    managed, own = claude_settings(user_home, project_root, machine)
    plugins = [(path, name, on) for path, values in (*managed, *own) for name, on in _plugins(values)]
    decided: dict[str, tuple[Path, bool]] = {}
    for path, name, on in plugins:
        decided.setdefault(name, (path, on))
    by_plugin = any(on for _, on in decided.values())
    if not connected and not by_plugin:
        for name, (path, _) in decided.items():
            yield f"The plugin {name} is switched off in Claude Code: enabledPlugins in {path}. Set it to true, or run `tacit install claude-code`."
        return
    for path, values in managed:
        only = values.get("strictPluginOnlyCustomization")
        if values.get("allowManagedHooksOnly") is True:
            yield f"Claude Code runs only hooks of the administrator: allowManagedHooksOnly is true in {path}. Only the administrator can change that."
        elif (only is True or (isinstance(only, list) and "hooks" in only)) and not by_plugin:
            yield f"Claude Code runs only hooks of plugins: strictPluginOnlyCustomization in {path}. Install Tacit as a plugin, or ask the administrator."
    for path, values in (*managed, *own):
        off = values.get("disableAllHooks")
        if off is True:
            yield f"Claude Code runs no hooks: disableAllHooks is true in {path}. Take it out{' (only the administrator can)' if (path, values) in managed else ''}."
        if isinstance(off, bool):
            return  # it overrides the files behind it


def _plugins(values: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    enabled = values.get("enabledPlugins")
    if isinstance(enabled, Mapping):
        for name, on in cast("Mapping[str, object]", enabled).items():
            if name.startswith(PLUGIN):
                yield name, on is not False


def _copilot(user_home: Path, project_root: Path | None) -> Iterator[str]:
    for path, values in read_settings(
        *_of_project(project_root, ".github/copilot/settings.local.json", ".github/copilot/settings.json"),
        user_home / ".copilot" / "settings.json",
        user_home / ".copilot" / "config.json",
    ):
        if values.get("disableAllHooks") is True:
            yield f"Copilot CLI runs no hooks: disableAllHooks is true in {path}. Take it out."


def _gemini(user_home: Path, project_root: Path | None, machine: Path) -> Iterator[str]:
    files = (
        machine / "settings.json",
        *_of_project(project_root, ".gemini/settings.json"),
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


def _codex(user_home: Path, project_root: Path | None) -> Iterator[str]:
    for path in (
        *_of_project(project_root, ".codex/config.toml"),
        HostFolders.find(user_home).codex[0] / "config.toml",
    ):
        try:
            on = toml_tables.find(toml_tables.read(read_text(path) or "", path=path), ("features", "hooks"))
        except HostError:
            continue
        if on is False:
            yield f"Codex runs no hooks: features.hooks is false in {path}. Set it to true."
        if isinstance(on, bool):
            return


def _of_project(project_root: Path | None, *names: str) -> tuple[Path, ...]:
    return tuple(project_root / name for name in names) if project_root else ()


def read_settings(*paths: Path) -> Iterator[Settings]:
    """The files that hold a JSON object, with or without comments."""
    for path in paths:
        try:
            text = read_text(path)
            value = jsonc.read(text, path=path).value if text else None
        except HostError:
            continue
        if isinstance(value, Mapping):
            yield path, cast("Mapping[str, object]", value)
