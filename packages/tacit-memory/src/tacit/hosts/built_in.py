"""A built-in coding agent: what is known of it without loading its modules, and these modules.

In: facts, each stated once. Out: the same, and the modules of the host's folder, imported when they are asked for. The folder holds `adapter`
(`HOST`, the adapter), `install` (`targets` of an installation), `proof` (`prove`, that its files work) and, if Tacit reads its sessions,
`transcript`. What else these may offer is said where it is used. Never writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit.config.environment import variables
from tacit.ports.host import Host

Folders = tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInHost:
    """A coding agent that Tacit supports without another package.

    Attributes:
        name: in settings, payloads and `tacit install`.
        title: for people.
        package: where its modules are.
        program: the name of its program.
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
        """The adapter."""
        return self.part("adapter").HOST

    def part(self, name: str) -> Any:
        """Import a module of the host's folder."""
        return import_module(f"{self.package}.{name}")

    def offered(self, part: str, function: str) -> Callable[..., Any] | None:
        """Return a function that a module of the host's folder may have."""
        return getattr(self.part(part), function, None)

    def data_folders(self, user_home: Path, environ: Mapping[str, str] | None = None) -> Folders:
        """Return its folders of data, an explicitly set one first; `environ` None = that of the process.

        A host that was told to use another folder may have kept earlier sessions in its usual one: both are looked into. Touches no file.
        """
        usual = (user_home.joinpath(*self.data),) if self.data else ()
        variable, *below = self.data_variable or ("",)
        text = (variables() if environ is None else environ).get(variable, "").strip()
        if not text or "\0" in text:
            return usual
        folder = Path(os.path.expanduser(text))  # noqa: PTH111 - as the hosts' own shells do, without an error
        return tuple(dict.fromkeys((folder.joinpath(*below), *usual))) if folder.is_absolute() else usual
