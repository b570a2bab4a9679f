"""The built-in coding agents, in the order in which they are listed. A host is registered by its line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.hosts.built_in import BuiltInHost, Folders
from tacit.hosts.claude_code import CLAUDE_CODE
from tacit.hosts.codex import CODEX
from tacit.hosts.copilot import COPILOT
from tacit.hosts.cursor import CURSOR
from tacit.hosts.gemini import GEMINI
from tacit.hosts.opencode import OPENCODE

BUILT_IN: dict[str, BuiltInHost] = {
    host.name: host for host in (CLAUDE_CODE, OPENCODE, CODEX, GEMINI, COPILOT, CURSOR)
}
"""Tests add one for as long as they run."""


@dataclass(frozen=True, slots=True)
class HostFolders:
    """The folders of data of the user at `user_home`, as `environ` names them (None = the process's own)."""

    user_home: Path
    environ: Mapping[str, str] | None = None

    def of(self, host: str) -> Folders:
        """Return those of `host`, an explicitly set one first."""
        return BUILT_IN[host].data_folders(self.user_home, self.environ)


def readable_hosts() -> tuple[BuiltInHost, ...]:
    """Return the hosts whose sessions Tacit reads."""
    return tuple(host for host in BUILT_IN.values() if host.reads_sessions)
