"""Exactly one daemon per home: its lock, its socket and the facts about it.

In: a home. Out: a claim that holds the lock and the bound socket until it is released. A stale socket is removed, but
only by whoever holds the lock. Never ends another process; a newer daemon is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
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

BACKLOG = 128
PATIENCE_S = 20.0
"""How long a successor waits for the old daemon to finish its work."""


def write_facts(home: Home, facts: DaemonFacts) -> None:
    """Replace `run/daemon.json`, private from its first byte."""
    write_private(home.daemon_file, json.dumps(asdict(facts)).encode())


def write_private(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file whole or not at all, readable by its owner alone.

    Raises:
        StoreReadOnly: if it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
        unfinished.chmod(mode)
        unfinished.replace(path)
    except OSError as error:
        raise StoreReadOnly(
            f"{path} cannot be written: {error.strerror or error}.", hint=f"Make {path.parent} writable."
        ) from error


class Claim:
    """The right to be the daemon of a home. Use `claim()`; release it when done."""

    def __init__(self, home: Home, lock: int) -> None:
        self.home = home
        self._lock = lock
        self.socket = _bind(home)
        self._socket_id = _identity(home.socket)

    def holds(self) -> bool:
        """Whether the socket file is still ours; False when the home was deleted or moved away."""
        return self._socket_id is not None and _identity(self.home.socket) == self._socket_id

    def hide(self) -> None:
        """Take the socket's name away, so that nobody new comes; what is connected stays connected."""
        if self.holds():
            with contextlib.suppress(OSError):
                self.home.socket.unlink()
        self._socket_id = None

    def release(self) -> None:
        """Give everything back; the lock last."""
        self.hide()
        self.socket.close()
        facts = read_facts(self.home)
        if facts is not None and facts.pid == os.getpid():
            with contextlib.suppress(OSError):
                self.home.daemon_file.unlink()
        os.close(self._lock)


def claim(home: Home, *, patience_s: float = PATIENCE_S) -> Claim | None:
    """Become the daemon of `home`; None when one of this version or a newer one runs already.

    An older one, or one that is on its way out, is waited for.

    Raises:
        StoreReadOnly: if the home cannot be used.
        DaemonError: if the lock did not come free in time.
    """
    home.ensure()
    lock = os.open(home.daemon_lock, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if _current_runs(home):
                os.close(lock)
                return None
            if time.monotonic() > until:
                os.close(lock)
                raise DaemonError(
                    f"Another daemon holds {home.daemon_lock} and does not answer.",
                    hint="`tacit stop`, or end the process that run/daemon.json names.",
                ) from None
            time.sleep(0.05)
        else:
            return Claim(home, lock)


def _current_runs(home: Home) -> bool:
    answer = ask_health(home, timeout_s=0.5)
    return answer is not None and version_key(str(answer.get("version", ""))) >= version_key(__version__)


def _bind(home: Home) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        home.socket.unlink()  # we hold the lock: whoever made it is gone
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(os.fspath(home.socket))
        home.socket.chmod(0o600)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise StoreReadOnly(
            f"The socket {home.socket} cannot be made: {error.strerror or error}.",
            hint=f"Make {home.socket.parent} writable.",
        ) from error
    bound.setblocking(False)
    return bound


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
