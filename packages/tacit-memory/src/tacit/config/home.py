"""The folder that holds everything Tacit knows.

In: an environment mapping. Out: paths below one root, and the folders themselves, readable by their owner alone.
Never opens the database, never follows a link into a folder of another user.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidSetting, StoreFull, StoreReadOnly
from tacit.system.files import (
    is_own,
    is_private,
    is_sticky,
    only_owner_writes,
    open_handle,
    rights_of_others,
    set_mode,
)

if TYPE_CHECKING:
    from tacit.system.transport import Transport

HOME_VARIABLE = "TACIT_HOME"
TRANSPORT_VARIABLE = "TACIT_TRANSPORT"
"""The variable that chooses the transport of a new daemon: `unix` or `tcp`. Clients use the transport whose file is in the home."""
TOKEN_VARIABLE = "TACIT_TOKEN"  # noqa: S105 - a name
TERMINAL_HEADER = "X-Tacit-Terminal"
"""The header of a request in which the command line shows the terminal's key."""
MAX_SOCKET_BYTES = 100
"""The most bytes of a socket's path. macOS allows 104 and Linux 108, including the closing NUL."""

START_BYTES = 256 * 1024
"""The free space in bytes that a daemon needs to start: for its facts, its log and the database's shared memory."""

_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of the files and folders of one home. Use `Home.find()`; the constructor takes an absolute root.

    The socket is `<root>/run/daemon.sock`. Where that path is longer than 100 bytes the socket is
    `/tmp/tacit-<uid>-<hash>/daemon.sock`, with <hash> the first 12 hexadecimal digits of the SHA-256 of the
    root's bytes. The rule reads no environment beyond TACIT_HOME, because the daemon and the hooks of a host
    see different ones, and it needs only the standard library, so that the hook client repeats it exactly::

        root = os.path.abspath(os.path.expanduser(os.environ.get("TACIT_HOME") or "~/.tacit"))
        socket = os.path.join(root, "run", "daemon.sock")
        if len(os.fsencode(socket)) > 100:
            digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
            socket = f"/tmp/tacit-{os.getuid()}-{digest}/daemon.sock"

    Before anything is sent to a socket below /tmp, its folder must be a real folder (no link) of this user with
    no rights for others: `socket_is_private` checks it.

    A daemon that listens on TCP writes `<root>/run/daemon.tcp` instead, whatever the length of the path. Clients use this file if it
    exists, else the socket, so that they need no setting.
    """

    root: Path

    @classmethod
    def find(cls, environ: Mapping[str, str] | None = None) -> Home:
        """Return the home that TACIT_HOME names, else `~/.tacit`. Touches no file.

        Raises:
            InvalidSetting: if TACIT_HOME cannot be a path.
        """
        configured = (os.environ if environ is None else environ).get(HOME_VARIABLE, "")
        if "\0" in configured:
            raise InvalidSetting(f"{HOME_VARIABLE} holds a NUL byte.", hint="Set it to an absolute path.")
        return cls(Path(os.path.abspath(os.path.expanduser(configured or "~/.tacit"))))  # noqa: PTH100, PTH111 - see the rule

    @property
    def config_file(self) -> Path:
        """Return the path of the user's settings; may be absent."""
        return self.root / "config.yaml"

    @property
    def unrelated_cosines_file(self) -> Path:
        """Return the path of the cosines that `tacit config tune` measured for an embedder of the user's own; may be absent."""
        return self.root / "unrelated_cosines.json"

    @property
    def levels_file(self) -> Path:
        """Return the path of the levels that `tacit config tune` fitted to this store; may be absent."""
        return self.root / "levels.json"

    @property
    def database(self) -> Path:
        """Return the path of the store's database."""
        return self.root / "tacit.db"

    @property
    def lock_file(self) -> Path:
        """Return the path of the store's writer lock."""
        return self.root / "tacit.lock"

    @property
    def run_dir(self) -> Path:
        """Return the folder of the running daemon: lock, facts, and the socket unless its path would be too long."""
        return self.root / "run"

    @property
    def prompt_ms_file(self) -> Path:
        """Return the path of the file with the milliseconds that hooks wait for the answer to a prompt, if the settings allow more than the default."""
        return self.run_dir / "prompt_ms"

    @property
    def socket(self) -> Path:
        """Return the path of the daemon's Unix socket; see the class for the rule."""
        socket = self.run_dir / "daemon.sock"
        if sys.platform == "win32" or len(os.fsencode(socket)) <= MAX_SOCKET_BYTES:
            return socket
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        return Path("/tmp") / f"tacit-{os.getuid()}-{digest}" / "daemon.sock"  # noqa: S108 - ownership is checked

    @property
    def key_file(self) -> Path:
        """Return the file with port and key of a daemon that listens on TCP. It exists only while such a daemon runs."""
        return self.run_dir / "daemon.tcp"

    def transport(self) -> Transport:
        """Return the transport to the daemon of this home: TCP if there is a key file, else the Unix socket."""
        from tacit.system.transport import TcpTransport, UnixTransport  # noqa: PLC0415 - many uses of a home need no connection

        if sys.platform == "win32" or self.key_file.exists():
            return TcpTransport(self.key_file)
        return UnixTransport(self.socket)

    def new_transport(self, environ: Mapping[str, str] | None = None) -> Transport:
        """Return the transport for a new daemon: that of TACIT_TRANSPORT, else TCP on Windows and a Unix socket on other systems.

        Raises:
            InvalidSetting: TACIT_TRANSPORT names no transport, or one that this system does not have.
        """
        from tacit.system.transport import TcpTransport, UnixTransport  # noqa: PLC0415 - see `transport`

        usual = "tcp" if sys.platform == "win32" else "unix"
        name = (os.environ if environ is None else environ).get(TRANSPORT_VARIABLE, "").strip() or usual
        if name not in ("unix", "tcp") or (name == "unix" and sys.platform == "win32"):
            raise InvalidSetting(
                f"{TRANSPORT_VARIABLE} is {name!r}, which is no transport of this system.",
                hint=f"Set it to tcp, or leave it out; {usual} is the default here.",
            )
        return TcpTransport(self.key_file) if name == "tcp" else UnixTransport(self.socket)

    @property
    def daemon_lock(self) -> Path:
        """Return the path of the lock that the running daemon holds, so that there is only one."""
        return self.run_dir / "daemon.lock"

    @property
    def daemon_file(self) -> Path:
        """Return the path of the JSON facts of the running daemon: pid, version, started, http port, token."""
        return self.run_dir / "daemon.json"

    @property
    def proxy_journal(self) -> Path:
        """Return the journal of `tacit proxy`: digests that identify the session of each conversation. May be absent or deleted."""
        return self.root / "proxy" / "conversations.jsonl"

    def proxy_file(self, port: int) -> Path:
        """Return the file with the facts of the proxy on `port`, in JSON."""
        return self.run_dir / f"proxy-{port}.json"

    @property
    def tokens_file(self) -> Path:
        """Return the path of the hashes of the user's personal tokens; may be absent."""
        return self.root / "tokens.json"

    @property
    def terminal_key_file(self) -> Path:
        """Return the path of the key that the command line sends to the daemon for a person at a terminal; may be absent."""
        return self.run_dir / "terminal.key"

    @property
    def spool_dir(self) -> Path:
        """Return the folder with signals and transcripts that wait for a daemon, one file each."""
        return self.root / "spool"

    @property
    def start_dir(self) -> Path:
        """Return the folder of pre-rendered start blocks, one file per working folder."""
        return self.root / "start"

    @property
    def bin_dir(self) -> Path:
        """Return the folder of the launcher."""
        return self.root / "bin"

    @property
    def launcher(self) -> Path:
        """Return the command that hosts call: a shell script, on Windows a program."""
        return self.bin_dir / ("tacit-hook.exe" if sys.platform == "win32" else "tacit-hook")

    @property
    def log_file(self) -> Path:
        """Return the path of the daemon's log."""
        return self.root / "log" / "daemon.log"

    @property
    def quarantine_dir(self) -> Path:
        """Return the folder of damaged and replaced databases. They are never deleted, but a purge cleans them."""
        return self.root / "quarantine"

    @property
    def backups_dir(self) -> Path:
        """Return the folder of the automatic backups of the store."""
        return self.root / "backups"

    def automatic_backups(self) -> tuple[Path, ...]:
        """Return the paths of the automatic backups, newest first."""
        try:
            return tuple(sorted(self.backups_dir.glob("tacit-*.db"), reverse=True))
        except OSError:
            return ()

    @property
    def purge_log(self) -> Path:
        """Return the path of the log of purges. It holds only ids, so that purged memories are not brought back by a backup or a damaged file."""
        return self.root / "purges.jsonl"

    @property
    def export_key(self) -> Path:
        """Return the path of the secret key that signs this home's exports."""
        return self.root / "export.key"

    def ensure(self) -> None:
        """Create the folders of the home with mode 0700, or restrict existing ones to it. Safe to call again and from several processes.

        Raises:
            StoreReadOnly: naming the folder that cannot be made, written or trusted, and what to do.
        """
        self.check_owner()
        for folder in self._folders():
            if folder == self.start_dir:
                _move_file_away(folder)
            _make_private(folder)
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise StoreReadOnly(
                f"The home {self.root} cannot be written.",
                hint=f"Make it writable (chmod u+rwx {self.root}), or set {HOME_VARIABLE} to another folder.",
            )
        if not self.socket_is_private():
            raise StoreReadOnly(
                f"The socket folder {self.socket.parent} belongs to someone else or is open to others.",
                hint=f"Remove it, or set {HOME_VARIABLE} to a path shorter than 80 characters.",
            )

    def check_owner(self) -> None:
        """Check that the home and `run/` belong to this user, if they exist.

        A home may be a link, but not into a folder of another user, who could put another daemon in its place and read what
        hooks send. One of this user's that others may write to is closed by `ensure`.

        Raises:
            StoreReadOnly: naming the folder, and what to do.
        """
        for folder in (self.root, self.run_dir):
            try:
                status = folder.stat()
            except OSError:
                continue  # not there yet, or a dangling link, which nobody can fill without being met here again
            if not is_own(status):
                link = f" It is a link to {folder.resolve()}." if folder.is_symlink() else ""
                raise StoreReadOnly(
                    f"{folder} belongs to another user (uid {status.st_uid}).{link}",
                    hint=f"Set {HOME_VARIABLE} to a folder of your own, or remove the link.",
                )

    def socket_is_private(self) -> bool:
        """Return whether the socket's folder is a real folder of this user that nobody else may enter."""
        return _is_private(self.socket.parent)

    def socket_can_be_trusted(self) -> bool:
        """Return whether only programs of this user can listen on the socket: home, `run/` and the socket's folder belong to the user.

        Another user could create this folder below /tmp, or own the home, and answer in the daemon's place.
        """
        try:
            self.check_owner()
        except StoreReadOnly:
            return False
        folder = self.socket.parent
        if folder != self.run_dir and os.path.lexists(folder) and not _is_private(folder):
            return False
        return _only_owner_writes(self.run_dir)

    def check_space(self) -> None:
        """Check that the disk has the `START_BYTES` that a daemon needs to start, by writing a file in `run/` and removing it. A home that cannot be written passes.

        Raises:
            StoreFull: if there is none.
        """
        probe = self.run_dir / f".space-{os.getpid()}"
        try:
            handle = open_handle(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                remaining = START_BYTES
                while remaining > 0:
                    remaining -= os.write(handle, bytes(min(remaining, 65_536)))
            finally:
                os.close(handle)
        except OSError as error:
            if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
                raise StoreFull(
                    f"No space is left for {self.root}; nothing was stored.",
                    hint="Free some space, then try again.",
                ) from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def environment(self) -> dict[str, str]:
        """Return the variables of this process, with TACIT_HOME set to this home, for a program that uses it."""
        return dict(os.environ, **{HOME_VARIABLE: os.fspath(self.root)})

    def _folders(self) -> tuple[Path, ...]:
        below = (self.run_dir, self.spool_dir, self.start_dir, self.bin_dir)
        kept = (self.log_file.parent, self.quarantine_dir, self.backups_dir)
        return (self.root, *below, *kept, self.socket.parent)


def _only_owner_writes(folder: Path) -> bool:
    """Return whether only this user can create files in `folder`. True if it does not exist; False for a symbolic link."""
    if not os.path.lexists(folder):
        return True
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and only_owner_writes(status)


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_private(status)


def _move_file_away(folder: Path) -> None:
    """Rename a file that has the name of a folder for derived files, so that the folder can be created."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(folder.lstat().st_mode):
            folder.rename(folder.with_name(f"{folder.name}.file-{time.time_ns()}"))


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        status = folder.lstat()
        # Never change a link, the folder of another user, or a sticky folder such as /tmp. `ensure` checks them.
        ours = stat.S_ISDIR(status.st_mode) and is_own(status)
        if ours and rights_of_others(status) and not is_sticky(status):
            set_mode(folder, _PRIVATE)
    except FileExistsError:
        raise StoreReadOnly(
            f"{folder} is a file; Tacit needs a folder there.",
            hint=f"Move the file away, or set {HOME_VARIABLE} to another folder.",
        ) from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull(
                f"No space is left for {folder}.", hint="Free some space, then try again."
            ) from error
        raise StoreReadOnly(
            f"The folder {folder} cannot be created: {error.strerror or error}.",
            hint=f"Make {folder.parent} writable, or set {HOME_VARIABLE} to a folder you own.",
        ) from error


def chosen_transport() -> dict[str, str]:
    """Return the variable TACIT_TRANSPORT of this process; empty = it is not set. Programs that get a reduced environment need it."""
    name = os.environ.get(TRANSPORT_VARIABLE, "")
    return {TRANSPORT_VARIABLE: name} if name else {}


def personal_token() -> str:
    """Return the personal token that the user gave to a script; "" = there is none."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()
