"""The connection between the daemon and its clients: a Unix socket, or loopback TCP with a key file.

In: the file by which clients find the daemon. Out: bound sockets for the daemon, connected sockets for clients; both transports carry
HTTP. The mode of its folder protects a Unix socket. A TCP port is open to every user of the machine, so both sides first prove that
they can read the key file, and neither sends the key:

    client   TACIT1 <nonce>                        32 hexadecimal digits
    daemon   <proof> <nonce>                       HMAC-SHA256(key, "daemon", both nonces)
    client   <proof>                               HMAC-SHA256(key, "client", both nonces), then HTTP

Each daemon makes a new key. If another program has the port, a client sends it only the nonce. A browser cannot send this first line, so
it is refused before any HTTP is read. The hook client and OpenCode's plugin implement the same protocol.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import sys
import time
from pathlib import Path
from typing import Protocol

from tacit.system.files import is_private, open_handle, set_mode, write_whole

BACKLOG = 128
GREETING = b"TACIT1 "
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""The response to a browser, or to another program that does not send the first line."""
_GREETING_BYTES = len(GREETING) + 33
_ANSWER_BYTES = 64 + 1 + 32 + 1
_PROOF_BYTES = 65
_MAX_FILE_BYTES = 200
_GREETED = re.compile(rb"TACIT1 ([0-9a-f]{32})\n")
_ANSWERED = re.compile(rb"([0-9a-f]{64}) ([0-9a-f]{32})\n")
_KEY_FILE = re.compile(rb"([0-9]{1,5}) ([0-9a-f]{64})\n?")


class Admission(Protocol):
    """The daemon's check, for one connection, that its client may send requests."""

    def check(self, until: float) -> bool:
        """Return whether the client may send requests; False = close the connection.

        Args:
            until: deadline in seconds of `time.monotonic`. After a `TimeoutError`, the next call continues the check.

        Raises:
            TimeoutError: the client has not sent its proof in time.
            OSError: the connection broke.
        """
        ...


class Transport(Protocol):
    """A kind of connection to a daemon. `file` exists while the daemon accepts connections, and every daemon creates a new one."""

    @property
    def file(self) -> Path:
        """Return the file by which clients find the daemon."""
        ...

    def bind(self) -> socket.socket:
        """Listen, and create the file. Replaces the file of a daemon that has ended. The caller must hold the daemon's lock.

        Raises:
            OSError: this is not possible.
        """
        ...

    def admission(self, connection: socket.socket) -> Admission:
        """Return the check for a connection that was accepted."""
        ...

    def connect(self, until: float) -> socket.socket:
        """Connect to the daemon before `until`, in seconds of `time.monotonic`.

        Raises:
            FileNotFoundError, ConnectionRefusedError: no daemon is running.
            TimeoutError: the daemon does not answer in time.
            OSError: the connection broke, or the file is not this user's own.
        """
        ...


class _Admitted:
    """An admission without a check: only this user can open the socket."""

    def check(self, until: float) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True."""
        return True


class UnixTransport:
    """The transport over a Unix socket, which the mode of its folder protects."""

    def __init__(self, file: Path) -> None:
        """Use the socket at `file`, a path of at most about 100 bytes."""
        self._file = file

    @property
    def file(self) -> Path:
        """Return the path of the socket."""
        return self._file

    def bind(self) -> socket.socket:
        """Listen on the socket; see `Transport`."""
        self._file.unlink(missing_ok=True)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            bound.bind(os.fspath(self._file))
            set_mode(self._file, 0o600)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
        return bound

    def admission(self, connection: socket.socket) -> Admission:  # noqa: ARG002 - the protocol's signature
        """Return a check that lets every client in: the permissions of the socket's folder keep other users out."""
        return _Admitted()

    def connect(self, until: float) -> socket.socket:
        """Connect to the socket; see `Transport`."""
        if not hasattr(socket, "AF_UNIX"):
            raise FileNotFoundError(f"{self._file}: this system has no Unix sockets")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(until))
            connection.connect(os.fspath(self._file))
        except OSError:
            connection.close()
            raise
        return connection


class TcpTransport:
    """The transport over a random port of 127.0.0.1. A private key file holds the port and a key, with which both sides prove themselves."""

    def __init__(self, file: Path) -> None:
        """Use the key file `file`."""
        self._file = file
        self._key = b""

    @property
    def file(self) -> Path:
        """Return the path of the key file. It holds `PORT KEY`, the key in hexadecimal digits."""
        return self._file

    def bind(self) -> socket.socket:
        """Listen on a port that the system chooses, and write the key file; see `Transport`."""
        bound = listen_on_loopback(0, backlog=BACKLOG)
        self._key = secrets.token_hex(32).encode()
        try:
            write_whole(self._file, b"%d %s\n" % (bound.getsockname()[1], self._key))
        except OSError:
            bound.close()
            raise
        return bound

    def admission(self, connection: socket.socket) -> Admission:
        """Return a check that the client can read the key file."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Proof(connection, self._key)

    def connect(self, until: float) -> socket.socket:
        """Connect to the port and exchange proofs; see `Transport`."""
        port, key = read_key_file(self._file)
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(_left(until))
            connection.connect(("127.0.0.1", port))
            mine = secrets.token_hex(16).encode()
            connection.sendall(GREETING + mine + b"\n")
            answer = _ANSWERED.fullmatch(_read(connection, bytearray(), _ANSWER_BYTES, until))
            if answer is None or not hmac.compare_digest(answer[1], _proof(key, b"daemon", mine, answer[2])):
                # The daemon of this file has ended, and another program has its port.
                raise ConnectionRefusedError(f"127.0.0.1:{port} is not the daemon of {self._file}")
            connection.sendall(_proof(key, b"client", mine, answer[2]) + b"\n")
        except (BrokenPipeError, ConnectionResetError) as error:
            connection.close()
            raise ConnectionRefusedError(f"127.0.0.1:{port} closed the connection") from error
        except OSError:
            connection.close()
            raise
        return connection


def read_key_file(file: Path) -> tuple[int, bytes]:
    """Read port and key of the daemon from its key file.

    Raises:
        FileNotFoundError: no daemon listens on TCP.
        ConnectionRefusedError: the file is damaged; the next daemon replaces it.
        PermissionError: the file belongs to another user, or others have rights to it.
        OSError: the file cannot be read.
    """
    handle = open_handle(file, os.O_RDONLY, follow=False)
    try:
        if not is_private(os.fstat(handle)):
            raise PermissionError(f"{file} belongs to another user, or others have rights to it")
        found = _KEY_FILE.fullmatch(os.read(handle, _MAX_FILE_BYTES))
    finally:
        os.close(handle)
    if found is None or not 0 < int(found[1]) < 65_536:
        raise ConnectionRefusedError(f"{file} names no port")
    return int(found[1]), found[2]


def listen_on_loopback(port: int, *, backlog: int) -> socket.socket:
    """Return a socket that listens on a port of 127.0.0.1; 0 = the system chooses the port.

    Raises:
        OSError: the port is in use.
    """
    # asyncio sets TCP_NODELAY only on sockets that name the protocol. Without it, a small piece of a stream waits up to 40 ms.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # there, SO_REUSEADDR would let another process take the port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        bound.listen(backlog)
    except OSError:
        bound.close()
        raise
    return bound


class _Proof:
    """The daemon's side of the mutual proof, for one connection."""

    def __init__(self, connection: socket.socket, key: bytes) -> None:
        self._connection = connection
        self._key = key
        self._read = bytearray()
        self._expected = b""
        self._admitted = False

    def check(self, until: float) -> bool:
        """Exchange the proofs with the client; see `Admission.check`."""
        if self._admitted:
            return True
        if not self._expected:
            greeting = _GREETED.fullmatch(_read(self._connection, self._read, _GREETING_BYTES, until))
            if greeting is None:
                self._connection.sendall(REFUSAL)
                return False
            mine = secrets.token_hex(16).encode()
            self._read.clear()
            self._connection.sendall(_proof(self._key, b"daemon", greeting[1], mine) + b" " + mine + b"\n")
            self._expected = _proof(self._key, b"client", greeting[1], mine) + b"\n"
        said = _read(self._connection, self._read, _PROOF_BYTES, until)
        self._admitted = hmac.compare_digest(said, self._expected)
        return self._admitted


def _proof(key: bytes, side: bytes, client_nonce: bytes, daemon_nonce: bytes) -> bytes:
    text = b" ".join((side, client_nonce, daemon_nonce))
    return hmac.digest(key, text, "sha256").hex().encode()


def _read(connection: socket.socket, read: bytearray, wanted: int, until: float) -> bytes:
    """Receive into `read` until it has `wanted` bytes, and return them; fewer if the other side closes, or if a greeting is read and begins otherwise.

    Raises:
        TimeoutError: `until` has passed.
    """
    while len(read) < wanted:
        connection.settimeout(_left(until))
        part = connection.recv(wanted - len(read))
        read += part
        if not part or (wanted == _GREETING_BYTES and not read.startswith(GREETING[: len(read)])):
            break
    return bytes(read)


def _left(until: float) -> float:
    remaining_s = until - time.monotonic()
    if remaining_s <= 0:
        raise TimeoutError("timed out")
    return remaining_s
