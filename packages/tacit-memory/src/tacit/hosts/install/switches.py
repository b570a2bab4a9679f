"""Settings with which a host runs no hooks of ours. In: its settings files as they are. Out: sentences that name file and setting and say what to do.

Measured on the hosts (docs/adr/0007-hosts.md) or, for what an administrator sets, taken from their documentation. A file that cannot be read decides nothing here: what
is wrong with our own files is told elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import read_text
from tacit.hosts.registry import BUILT_IN

Settings = tuple[Path, Mapping[str, object]]


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
    off = BUILT_IN[host].offered("install", "switched_off") if host in BUILT_IN else None
    if off is None:
        return ()
    machine = machine or machine_folder(host)
    return tuple(off(user_home=user_home, project_root=project_root, machine=machine, connected=connected))


def machine_folder(host: str) -> Path:
    """Return the folder of the administrator's settings of `host` on this system."""
    folders = BUILT_IN[host].machine_folders
    return Path(folders.get(sys.platform, folders.get("", "/etc")))


def files_of_project(project_root: Path | None, *names: str) -> tuple[Path, ...]:
    """Return the files of the project by these names; () without a project."""
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
