"""Folders in which hosts keep their sessions. In: an environment, the user's home folder. Out: folders, explicitly set ones first.

A host that was told to use another folder may have kept earlier sessions in its usual one: both are looked into. Touches no
file. Sources: the hosts' own documentation of CLAUDE_CONFIG_DIR, XDG_DATA_HOME, CODEX_HOME, GEMINI_CLI_HOME, COPILOT_HOME.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Folders = tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFolders:
    """The folder of each host's data: `~/.claude`, `~/.local/share/opencode`, `~/.codex`, `~/.gemini`, `~/.copilot`."""

    claude: Folders
    opencode: Folders
    codex: Folders
    gemini: Folders
    copilot: Folders

    @classmethod
    def find(cls, home: Path, environ: Mapping[str, str] | None = None) -> HostFolders:
        """The folders of the user at `home`, as `environ` names them (None = the process's own)."""
        variables = os.environ if environ is None else environ

        def named(variable: str, *below: str) -> Folders:
            text = variables.get(variable, "").strip()
            if not text or "\0" in text:
                return ()
            folder = Path(os.path.expanduser(text))  # noqa: PTH111 - as the hosts' own shells do, without an error
            return (folder.joinpath(*below),) if folder.is_absolute() else ()

        def both(folders: Folders, usual: Path) -> Folders:
            return tuple(dict.fromkeys((*folders, usual)))

        return cls(
            claude=both(named("CLAUDE_CONFIG_DIR"), home / ".claude"),
            opencode=both(named("XDG_DATA_HOME", "opencode"), home / ".local" / "share" / "opencode"),
            codex=both(named("CODEX_HOME"), home / ".codex"),
            gemini=both(named("GEMINI_CLI_HOME", ".gemini"), home / ".gemini"),
            copilot=both(named("COPILOT_HOME"), home / ".copilot"),
        )
