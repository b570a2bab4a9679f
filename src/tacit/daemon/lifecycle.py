"""Exactly one daemon per home: its lock, its socket and the facts about it.

In: a home. Out: a claim that holds the lock and the bound socket until it is released. A stale socket is removed, but
only by whoever holds the lock. Only `end_daemon` ends another process; a newer daemon is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from tacit import __version__
from tacit.config.home import Home
from tacit.errors import DaemonError, StoreReadOnly

BACKLOG = 128
PATIENCE_S = 20.0
"""How long a successor waits for the old daemon to finish its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFacts:
    """What `run/daemon.json` says of the running daemon. `token` opens its loopback port, when it has one."""

    pid: int
    version: str
    started_at_ms: int
    http_port: int = 0
    token: str = ""


def version_key(text: str) -> tuple[int, ...]:
    """`1.10.2.dev3` -> (1, 10, 2), as the hook client reads it."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def read_facts(home: Home) -> DaemonFacts | None:
    """The facts as written last, or None; they may speak of a daemon that is gone."""
    try:
        found: object = json.loads(home.daemon_file.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    facts = cast(dict[str, object], found)
    try:
        return DaemonFacts(**{name: facts[name] for name in DaemonFacts.__slots__ if name in facts})  # pyright: ignore[reportArgumentType]
    except TypeError:
        return None


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


def ask_health(home: Home, *, timeout_s: float) -> Mapping[str, object] | None:
    """What `GET /health` on the socket answers; None when nothing sensible comes. Loads no HTTP library."""
    if not home.socket_can_be_trusted():
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        data = b""
        try:
            connection.connect(os.fspath(home.socket))
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: tacit\r\nConnection: close\r\n\r\n")
            while part := connection.recv(65_536):
                data += part
            found: object = json.loads(data.partition(b"\r\n\r\n")[2])
        except (OSError, ValueError):
            return None
    return cast(dict[str, object], found) if isinstance(found, dict) else None


def daemon_pid(daemon_file: Path) -> int | None:
    """Process id of the daemon that wrote `daemon_file`, or None when it is not running."""
    try:
        fields: object = json.loads(daemon_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    pid = cast(dict[str, object], fields).get("pid") if isinstance(fields, dict) else None
    return pid if isinstance(pid, int) and is_running(pid) else None


def is_running(pid: int) -> bool:
    """Whether a process of this id lives; one that ended but was not collected yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return False
    except OSError:
        return False
    else:
        return stat.rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_daemon(daemon_file: Path, *, timeout_s: float = 5.0) -> bool:
    """End the daemon that wrote `daemon_file`: ask with SIGTERM, insist with SIGKILL. True when none is left."""
    pid = daemon_pid(daemon_file)
    if pid is None:
        return True
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if not is_running(pid):
                return True
            time.sleep(0.02)
    return False


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
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
