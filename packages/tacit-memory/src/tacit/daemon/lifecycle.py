"""Exactly one daemon per home: its lock, its socket and the file with its facts.

In: a home. Out: a claim that holds the lock and the bound socket until it is released. A stale socket or key file is removed, but
only by whoever holds the lock. Never ends another process; a newer daemon is left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from dataclasses import asdict
from pathlib import Path

from tacit import __version__
from tacit.client.daemon_facts import DaemonFacts, ask_health, read_facts, version_key
from tacit.config.home import Home
from tacit.errors import DaemonError, StoreReadOnly
from tacit.system.files import open_handle, take_lock, write_whole
from tacit.system.transport import Transport

PATIENCE_S = 20.0
"""How long a successor waits for the old daemon to finish its work."""


def write_facts(home: Home, facts: DaemonFacts) -> None:
    """Write `run/daemon.json` with `facts`, readable by its owner only.

    Raises:
        StoreReadOnly: if it cannot be written.
    """
    write_private(home.daemon_file, json.dumps(asdict(facts)).encode())


def write_private(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file atomically, by default readable by its owner only.

    Raises:
        StoreReadOnly: if it cannot be written.
    """
    try:
        write_whole(path, data, mode=mode)
    except OSError as error:
        raise StoreReadOnly(
            f"{path} cannot be written: {error.strerror or error}.", hint=f"Make {path.parent} writable."
        ) from error


class Claim:
    """The right to be the daemon of a home: it holds the lock and the bound socket. Get it by `claim()`, and `release` it when done."""

    def __init__(self, home: Home, lock: int) -> None:
        self.home = home
        self.transport = home.new_transport()
        self._lock = lock
        self.socket = _bind(home, self.transport)
        self._file_id = _identity(self.transport.file)

    def holds(self) -> bool:
        """Return whether the file by which clients find the daemon (its socket or key file) is still the one that this daemon made. False if the home was deleted or moved."""
        return self._file_id is not None and _identity(self.transport.file) == self._file_id

    def hide(self) -> None:
        """Remove the socket or the key file, so that no client connects anymore. Open connections stay open."""
        if self.holds():
            with contextlib.suppress(OSError):
                self.transport.file.unlink()
        self._file_id = None

    def release(self) -> None:
        """Remove the socket or key file and this daemon's fact file, close the socket, and at last free the lock."""
        self.hide()
        self.socket.close()
        facts = read_facts(self.home)
        if facts is not None and facts.pid == os.getpid():
            with contextlib.suppress(OSError):
                self.home.daemon_file.unlink()
        os.close(self._lock)


def claim(home: Home, *, patience_s: float = PATIENCE_S) -> Claim | None:
    """Take the lock and bind the socket of `home`; return None if a daemon of this version or a newer one runs already.

    Blocks up to `patience_s` while an older daemon, or one that is stopping, holds the lock.

    Raises:
        StoreReadOnly: if the home cannot be used.
        InvalidSetting: TACIT_TRANSPORT names no transport.
        DaemonError: if the lock did not come free in time.
    """
    home.ensure()
    lock = open_handle(home.daemon_lock, os.O_RDWR | os.O_CREAT)
    until = time.monotonic() + patience_s
    while True:
        if take_lock(lock):
            return Claim(home, lock)
        if _current_runs(home):
            os.close(lock)
            return None
        if time.monotonic() > until:
            os.close(lock)
            raise DaemonError(
                f"Another daemon holds {home.daemon_lock} and does not answer.",
                hint="`tacit stop`, or end the process that run/daemon.json names.",
            )
        time.sleep(0.05)


def _current_runs(home: Home) -> bool:
    answer = ask_health(home, timeout_s=0.5)
    return answer is not None and version_key(str(answer.get("version", ""))) >= version_key(__version__)


def _bind(home: Home, transport: Transport) -> socket.socket:
    try:
        for file in (
            home.socket,
            home.key_file,
        ):  # this process holds the lock, so the daemon that created them has ended
            file.unlink(missing_ok=True)
        bound = transport.bind()
    except OSError as error:
        file = transport.file
        raise StoreReadOnly(
            f"The {'key file' if file == home.key_file else 'socket'} {file} cannot be made: {error.strerror or error}.",
            hint=f"Make {file.parent} writable.",
        ) from error
    bound.setblocking(False)
    return bound


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return (
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
    )  # a new file may get the inode number of a deleted one
