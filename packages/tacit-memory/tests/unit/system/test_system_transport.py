"""Both transports by one contract, and what a stranger gets on a TCP port: nothing."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self

import pytest

from tacit.system import transport as transports
from tacit.system.transport import REFUSAL, TcpTransport, Transport, UnixTransport, read_key_file

SECRET = b"what only the daemon of this user may read"


def soon(seconds: float = 10) -> float:
    return time.monotonic() + seconds


@pytest.fixture(params=[UnixTransport, TcpTransport])
def transport(tmp_path: Path, request: pytest.FixtureRequest) -> Transport:
    return request.param(tmp_path / "daemon")


class Daemon:
    """Accepts on a transport and writes down what each client did."""

    def __init__(self, transport: Transport, *, patience_s: float = 5) -> None:
        self.transport, self.bound = transport, transport.bind()
        self.heard: list[bytes] = []
        self.refused = 0
        self._patience_s = patience_s
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.bound.accept()
            except OSError:
                return
            with connection:
                try:
                    admitted = self.transport.admission(connection).check(soon(self._patience_s))
                except OSError:
                    admitted = False
                if admitted:
                    self.heard.append(connection.recv(1 << 16))
                    connection.sendall(b"answer")
                else:
                    self.refused += 1

    def close(self) -> None:
        with suppress(OSError):
            self.bound.shutdown(socket.SHUT_RDWR)
        self.bound.close()
        self._thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def tcp(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(TcpTransport(tmp_path / "daemon.tcp")) as running:
        yield running


# --- the contract


def test_a_client_that_knows_the_file_is_heard_and_answered(transport: Transport) -> None:
    assert not transport.file.exists()
    with Daemon(transport) as daemon:
        assert transport.file.lstat().st_mode & 0o077 == 0
        with type(transport)(transport.file).connect(soon()) as connection:  # type: ignore[call-arg]
            connection.sendall(b"hello")
            assert connection.recv(100) == b"answer"
    assert daemon.heard == [b"hello"]


def test_without_a_daemon_it_is_absent(transport: Transport) -> None:
    with pytest.raises(FileNotFoundError):
        transport.connect(soon())
    Daemon(transport).close()
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        transport.connect(soon())


def test_a_file_that_a_dead_daemon_left_is_replaced(transport: Transport) -> None:
    Daemon(transport).close()
    before = transport.file.lstat().st_ino, transport.file.lstat().st_mtime_ns
    with Daemon(transport), transport.connect(soon()) as connection:
        connection.sendall(b"x")
        assert connection.recv(100) == b"answer"
        assert (transport.file.lstat().st_ino, transport.file.lstat().st_mtime_ns) != before


def test_a_daemon_that_accepts_nobody_is_left_in_time(tmp_path: Path) -> None:
    transport = TcpTransport(tmp_path / "daemon.tcp")
    with transport.bind(), pytest.raises(TimeoutError):
        transport.connect(soon(0.1))


# --- TCP: who may speak


def test_it_listens_on_the_loopback_alone_and_on_a_port_of_chance(tmp_path: Path) -> None:
    bound = [TcpTransport(tmp_path / str(number)).bind() for number in range(3)]
    assert {one.getsockname()[0] for one in bound} == {"127.0.0.1"}
    assert len({one.getsockname()[1] for one in bound}) == 3
    for one in bound:
        one.close()


def raw(port: int, sent: bytes) -> bytes:
    """What a program gets that sends these bytes to the port."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection, suppress(OSError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            data += part
    return data


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n\r\n",
        "GET /v1/memories HTTP/1.1\r\nHost: rebound.example\r\n\r\n",
        "POST /hook/plain HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nContent-Length: 2\r\n\r\n{}",
        "OPTIONS /v1/memories HTTP/1.1\r\nOrigin: null\r\nAccess-Control-Request-Method: TACIT1\r\n\r\n",
        "TACIT1 /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: tacit\r\nAuthorization: Bearer KEY\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01",
        "TACIT1 " + "0" * 32 + "\r\n\r\n",
        "tacit1 " + "0" * 32 + "\n",
        "",
    ],
)
def test_http_is_refused_before_a_word_of_it_is_read(tcp: Daemon, head: str) -> None:
    """What a browser of another origin, a rebound name, curl with the key as a token, or TLS would send."""
    port, key = read_key_file(tcp.transport.file)
    got = raw(port, head.replace("KEY", key.decode()).encode("latin-1"))
    assert REFUSAL.startswith(got)  # a client that goes on sending may lose the refusal
    assert key not in got
    wait_until(lambda: tcp.refused == 1)
    assert tcp.heard == []


def test_a_stranger_cannot_guess_repeat_or_reflect_a_proof(tcp: Daemon) -> None:
    port, key = read_key_file(tcp.transport.file)
    nonce = b"a" * 32
    answers: list[bytes] = []
    for proof in (b"0" * 64, None, b"repeat"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"TACIT1 " + nonce + b"\n")
            answer = connection.recv(98)
            assert re.fullmatch(rb"[0-9a-f]{64} [0-9a-f]{32}\n", answer)
            answers.append(answer)
            # A guess; the daemon's own proof sent back; the proof that a client would have sent for the first answer.
            text = b"client " + nonce + b" " + answers[0][65:97]
            known = hmac.new(key, text, hashlib.sha256).hexdigest().encode()
            sent = known if proof == b"repeat" else proof or answer[:64]
            connection.sendall(sent + b"\nGET /v1/memories HTTP/1.1\r\nHost: tacit\r\n\r\n")
            assert closed(connection)
    assert len(set(answers)) == 3
    wait_until(lambda: tcp.refused == 3)
    assert tcp.heard == []


def test_a_key_of_an_earlier_daemon_opens_nothing(tmp_path: Path) -> None:
    file = tmp_path / "daemon.tcp"
    Daemon(TcpTransport(file)).close()
    old_key = read_key_file(file)[1]
    with Daemon(TcpTransport(file)) as daemon:
        port, _ = read_key_file(file)
        file.write_bytes(b"%d %s\n" % (port, old_key))
        with pytest.raises(ConnectionRefusedError):
            TcpTransport(file).connect(soon())
        wait_until(lambda: daemon.refused == 1)
        assert daemon.heard == []


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200, b"0" * 64 + b" " + b"1" * 32 + b"\n"]
)
def test_another_program_on_the_port_of_a_dead_daemon_gets_nothing(tmp_path: Path, answer: bytes) -> None:
    """The daemon was killed, its file is left, and another user took the port: the nonce of the client is all that it sees."""
    file = tmp_path / "daemon.tcp"
    Daemon(TcpTransport(file)).close()
    port, key = read_key_file(file)
    heard = b""
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()

        def listen() -> None:
            nonlocal heard
            with stranger.accept()[0] as one, suppress(OSError):
                heard += one.recv(40)
                one.sendall(answer)
                one.shutdown(socket.SHUT_WR)
                while part := one.recv(1 << 16):
                    heard += part

        thread = Thread(target=listen)
        thread.start()
        with pytest.raises(ConnectionRefusedError):
            TcpTransport(file).connect(soon()).sendall(SECRET)
        thread.join(10)
    assert re.fullmatch(rb"TACIT1 [0-9a-f]{32}\n", heard)
    assert key not in heard


def test_a_client_that_proves_it_in_pieces_is_admitted_and_one_that_does_not_end_is_not(tcp: Daemon) -> None:
    port, key = read_key_file(tcp.transport.file)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for byte in b"TACIT1 " + b"b" * 32 + b"\n":
            connection.sendall(bytes([byte]))
        answer = b""
        while len(answer) < 98:
            answer += connection.recv(98 - len(answer))
        text = b"client " + b"b" * 32 + b" " + answer[65:97]
        proof = hmac.new(key, text, hashlib.sha256).hexdigest().encode()
        connection.sendall(proof[:20])
        time.sleep(0.05)
        connection.sendall(proof[20:] + b"\nhello")
        assert connection.recv(100) == b"answer"
    assert tcp.heard == [b"hello"]


def test_a_check_goes_on_where_the_time_was_over(tmp_path: Path) -> None:
    transport = TcpTransport(tmp_path / "daemon.tcp")
    with transport.bind() as bound:
        client = Thread(target=lambda: transport.connect(soon()).close())
        with socket.create_connection(bound.getsockname(), timeout=10) as silent:
            connection, _ = bound.accept()
            admission = transport.admission(connection)
            for part in (b"TACIT1 " + b"c" * 10, b"c" * 22):
                silent.sendall(part)
                with pytest.raises(TimeoutError):
                    admission.check(time.monotonic() + 0.05)
            connection.close()
        client.start()
        connection, _ = bound.accept()
        assert transport.admission(connection).check(soon())
        connection.close()
        client.join(10)


# --- the key file


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
def test_a_key_file_that_others_may_read_or_write_is_not_used(tcp: Daemon, mode: int) -> None:
    tcp.transport.file.chmod(mode)
    with pytest.raises(PermissionError):
        tcp.transport.connect(soon())
    assert (tcp.heard, tcp.refused) == ([], 0)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_key_file_of_another_user_is_not_used(tcp: Daemon) -> None:
    os.chown(tcp.transport.file, 65_534, 65_534)
    with pytest.raises(PermissionError):
        tcp.transport.connect(soon())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_can_neither_read_the_key_nor_speak(tmp_path: Path) -> None:
    """In a process of its own, as `nobody`, beside a daemon of this user."""
    import shutil
    import subprocess
    import sys
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        Path(folder).chmod(0o755)
        with Daemon(TcpTransport(home / "daemon.tcp"), patience_s=1) as daemon:
            port, _ = read_key_file(home / "daemon.tcp")
            program = (
                "import os, socket, sys\n"
                "try:\n    open(sys.argv[1]).read()\n    print('READ')\n"
                "except PermissionError:\n    print('no key')\n"
                "c = socket.create_connection(('127.0.0.1', int(sys.argv[2])), timeout=5)\n"
                "c.sendall(b'GET /v1/memories HTTP/1.1\\r\\nHost: tacit\\r\\n\\r\\n')\n"
                "try:\n    print(c.recv(100)[:12].decode())\n"
                "except ConnectionResetError:\n    print('reset')\n"
            )
            python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
            done = subprocess.run(
                [
                    "/usr/bin/env",
                    "-i",
                    python,
                    "-I",
                    "-S",
                    "-c",
                    program,
                    str(home / "daemon.tcp"),
                    str(port),
                ],
                capture_output=True,
                text=True,
                timeout=30,
                user=65_534,
                group=65_534,
                extra_groups=[],
                cwd="/",
                check=False,
            )
            if "Permission denied" in done.stderr and not done.stdout:
                pytest.skip("the other user cannot run this Python")
            assert done.stdout.splitlines()[0] == "no key", done.stderr
            assert done.stdout.splitlines()[1] in ("HTTP/1.1 403", "reset")
            assert daemon.heard == []


def test_a_link_is_not_followed_to_a_key_file(tcp: Daemon, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tcp.transport.file)
    with pytest.raises(OSError, match=r"link|symbolic"):
        TcpTransport(tmp_path / "link").connect(soon())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "80",
        "0 " + "0" * 64,
        "99999 " + "0" * 64,
        "80 " + "0" * 63,
        "80 " + "G" * 64,
        "-1 " + "0" * 64,
    ],
)
def test_a_damaged_key_file_means_that_no_daemon_is_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_text(text)
    (tmp_path / "f").chmod(0o600)
    with pytest.raises(ConnectionRefusedError):
        TcpTransport(tmp_path / "f").connect(soon())


def test_on_windows_nobody_else_can_take_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """There SO_REUSEADDR lets two programs listen on one port; the exclusive flag does not exist here, so its name stands in."""
    options: list[tuple[int, int]] = []

    class Recorded(socket.socket):
        def setsockopt(self, *given: int) -> None:  # type: ignore[override]
            options.append(given[:2])

    monkeypatch.setattr(transports.sys, "platform", "win32")
    monkeypatch.setattr(transports.socket, "socket", Recorded)
    monkeypatch.setattr(transports.socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    transports.listen_on_loopback(0, backlog=1).close()
    assert options == [(socket.SOL_SOCKET, -5)]


def closed(connection: socket.socket) -> bool:
    """Whether the other side sends nothing more and closes."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def wait_until(done, timeout_s: float = 10) -> None:
    until = soon(timeout_s)
    while not done() and time.monotonic() < until:
        time.sleep(0.01)
    assert done()
