"""What the daemon leaves for the hook client: start blocks written ahead, and how long a prompt may wait.

Start blocks are for a session that starts while no daemon answers. Bytes only; the hook client prints them.
One file per working folder, `start/<first 24 hexadecimal digits of the folder's SHA-256>.json`:
`{"cwd", "at_ms", "replies": {host: the exact reply to its session start}}`. Written whole or not at all, for its
owner's eyes alone; what was not written again is removed, so that nothing outlives a change or a switch turned off.

The hook client gives up after 0.8 seconds, so that a daemon that hangs costs little. Settings may allow a recall more than
that (`multispace`: two seconds). Before it can matter, when a session starts, the daemon writes the time to `run/prompt_ms`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from tacit.config.home import Home
from tacit.hosts.registry import BUILT_IN
from tacit.model.pack import Block
from tacit.ports.clock import Clock
from tacit.ports.host import Host
from tacit.system.files import write_whole

USUAL_MS = 650
"""A recall that may take at most so many milliseconds fits the hook client's own deadline."""
REPLY_MS = 150
"""Milliseconds that are added for the way to the daemon and back."""


def start_file(home: Home, cwd: str) -> Path:
    """Return the path of the file that holds the start block for `cwd`."""
    digest = hashlib.sha256(os.path.normcase(cwd).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return home.start_dir / f"{digest}.json"


class StartBlocks:
    """Writes and removes the files of start blocks; the caller makes the blocks."""

    def __init__(self, *, home: Home, hosts: Mapping[str, Host], clock: Clock) -> None:
        self._home = home
        self._hosts = hosts
        self._clock = clock
        self._stale = False

    @property
    def stale(self) -> bool:
        """Whether a memory changed since the last `write`; the blocks were removed then."""
        return self._stale

    def drop(self) -> None:
        """Remove all start blocks and mark them stale: one may hold what has just been changed or forgotten."""
        self._stale = True
        remove_blocks(self._home)

    def write(
        self,
        folders: Iterable[str],
        context: Callable[[str, str], Block],
        *,
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> int:
        """Write a file for each folder for which `wanted` holds, with the start block for each host; remove all other files; return how many were written.

        `context` makes the start block for a folder and a host.
        """
        self._stale = False  # a change from here on is one that these blocks may not hold
        written: set[Path] = set()
        self._home.start_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        for cwd in folders:
            if not wanted(cwd):
                continue
            blocks = {
                name: context(cwd, name)
                for name, host in BUILT_IN.items()
                if host.start and name in self._hosts
            }
            replies = {
                name: self._hosts[name].encode(BUILT_IN[name].start, block)
                for name, block in blocks.items()
                if self._hosts[name].capabilities.holds(block.text)
            }
            path = start_file(self._home, cwd)
            text = json.dumps({"cwd": cwd, "at_ms": self._clock.now_ms(), "replies": replies})
            write_whole(path, text.encode("utf-8", "surrogatepass"))
            written.add(path)
        remove_blocks(self._home, but=written)
        return len(written)


def remove_blocks(home: Home, *, but: Collection[Path] = ()) -> None:
    """Remove the start blocks of `home`, except the files `but`."""
    for path in home.start_dir.glob("*.json"):
        if path not in but:
            path.unlink(missing_ok=True)


class HookDeadline:
    """Lets the hook client wait longer than usual for a prompt, if a recall may take longer.

    `tell` writes the time into `run/prompt_ms`; it only grows.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._told_ms: int | None = None

    def tell(self, recall_ms: int) -> None:
        """Let hooks wait for recalls of `recall_ms` milliseconds: write `run/prompt_ms`, or remove it if the usual time is enough.

        The time only grows until the process ends.
        """
        wanted_ms = max(self._told_ms or 0, recall_ms + REPLY_MS if recall_ms > USUAL_MS else 0)
        if wanted_ms == self._told_ms:
            return
        path = self._home.prompt_ms_file
        if wanted_ms:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.write_text(str(wanted_ms), encoding="ascii")
        else:
            path.unlink(missing_ok=True)
        self._told_ms = wanted_ms
