"""The hook client over loopback TCP: it shows its payload to the daemon of the key file alone."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from loopback import DaemonSocket
from tacit.config.home import Home
from tacit.system.transport import TcpTransport, read_key_file

HOOK = Path(__file__).parents[5] / "packages/tacit-memory/src" / "tacit_hook.py"
PROMPT = json.dumps(
    {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "the secret plan"}
).encode()


@pytest.fixture
def place(tmp_path: Path) -> Home:
    made = Home(tmp_path / "h")
    made.ensure()
    return made


@pytest.fixture
def lonely(tmp_path: Path) -> Path:
    """A hook that finds no interpreter for a daemon."""
    copy = tmp_path / "hook.py"
    copy.write_text(HOOK.read_text().replace('\nPYTHON = ""', '\nPYTHON = "/nowhere/python"'))
    return copy


def run(home: Home, hook: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *options, "-I", "-S", "-E", hook, "claude-code"],
        input=PROMPT,
        capture_output=True,
        timeout=50,
        env={"PATH": "/nowhere", "TACIT_HOME": str(home.root), "TACIT_HOOK_DEADLINE_MS": "5000"},
        check=True,
    )


def answering(daemon: DaemonSocket) -> Thread:
    def serve() -> None:
        with suppress(OSError), daemon.accept() as connection:
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept")

    thread = Thread(target=serve, daemon=True)
    thread.start()
    return thread


def test_it_is_answered_and_loads_no_more_than_over_a_unix_socket(place: Home, lonely: Path) -> None:
    with DaemonSocket(place, transport=TcpTransport(place.key_file)) as daemon:
        thread = answering(daemon)
        done = run(place, lonely, "-X", "importtime")
        thread.join(10)
    assert done.stdout == b"kept"
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    assert not loaded & {
        "json",
        "socket",
        "subprocess",
        "re",
        "hashlib",
        "hmac",
        "_hashlib",
        "secrets",
        "random",
        "threading",
    }


def test_another_program_on_the_port_gets_the_nonce_and_not_the_payload(place: Home, lonely: Path) -> None:
    heard: list[bytes] = []
    with TcpTransport(place.key_file).bind() as stranger:
        _, key = read_key_file(place.key_file)

        def serve() -> None:
            while True:
                try:
                    connection, _ = stranger.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    said = connection.recv(1 << 16)
                    connection.sendall(b"0" * 64 + b" " + b"1" * 32 + b"\n")
                    heard.append(said + connection.recv(1 << 16))

        thread = Thread(target=serve, daemon=True)
        thread.start()
        assert run(place, lonely).stdout == b""
        stranger.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert heard
    assert all(re.fullmatch(rb"TACIT1 [0-9a-f]{32}\n", said) for said in heard)
    log = place.log_file.with_name("hook.log").read_bytes()
    assert b"silent" in log
    assert key not in log
    assert b"secret plan" not in log


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_key_file_that_is_open_to_others_is_not_used(place: Home, lonely: Path, mode: int) -> None:
    with DaemonSocket(place, transport=TcpTransport(place.key_file)) as daemon:
        thread = answering(daemon)
        place.key_file.chmod(mode)
        assert run(place, lonely).stdout == b""
        place.key_file.chmod(0o600)
        assert run(place, lonely).stdout == b"kept"
        thread.join(10)


@pytest.mark.parametrize("text", ["", "x", "0 " + "0" * 64, "80 short"])
def test_a_damaged_key_file_is_silence(place: Home, lonely: Path, text: str) -> None:
    place.key_file.write_text(text)
    place.key_file.chmod(0o600)
    assert run(place, lonely).stdout == b""


def test_its_mac_is_hmac_sha256() -> None:
    spec = importlib.util.spec_from_file_location("hook_under_test", HOOK)
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    key = b"0123456789abcdef" * 4
    for text in (b"", b"client a b", b"x" * 1000):
        assert hook.mac(key, text) == hmac.new(key, text, hashlib.sha256).hexdigest().encode()
    assert hook.same(b"a", b"a")
    assert not hook.same(b"a", b"b")
