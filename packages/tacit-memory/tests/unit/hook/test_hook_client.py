"""The hook client as hosts run it: a process of its own against a daemon that the test plays."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tacit
import tacit_hook
from loopback import DaemonSocket
from tacit.config.home import Home

HOOK = Path(__file__).parents[5] / "packages/tacit-memory/src" / "tacit_hook.py"
PROMPT = json.dumps(
    {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/w", "prompt": "hi"}
).encode()
START = json.dumps(
    {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/w/a/b", "source": "startup"}
).encode()
STOP = json.dumps(
    {"hook_event_name": "Stop", "session_id": "s", "cwd": "/w", "last_assistant_message": "done"}
).encode()

Reply = Callable[[socket.socket, bytes], None]


def http(body: bytes, *, status: int = 200, headers: str = "") -> bytes:
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body


class FakeDaemon:
    """Answers on a home's socket by a function; keeps what it was asked."""

    def __init__(self, home: Path, reply: Reply | bytes) -> None:
        self.asked: list[bytes] = []
        self._reply = reply
        run = home / "run"
        run.mkdir(parents=True, mode=0o700, exist_ok=True)
        self._socket = DaemonSocket(Home(home))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(30)
                try:
                    request = self._read(connection)
                    self.asked.append(request)
                    if isinstance(self._reply, bytes):
                        connection.sendall(self._reply)
                    else:
                        self._reply(connection, request)
                except OSError:
                    continue

    def _read(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(1 << 16)
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")
        )
        parts, size = [body], len(body)
        while size < length:
            parts.append(connection.recv(1 << 20))
            size += len(parts[-1])
        return head + b"\r\n\r\n" + b"".join(parts)

    def reply_with(self, reply: Reply | bytes) -> None:
        self._reply = reply

    def close(self) -> None:
        self._socket.close()
        self._thread.join(5)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "h"
    yield place
    while pids := daemons_of(
        place
    ):  # a hook that meets a stranger starts a daemon; it must not outlive the test
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def daemons_of(home: Path) -> list[int]:
    """Running daemons of `home`, by their environment, and hooks that are about to become one."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            own = f"TACIT_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0")
            if own and b"tacit" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest.fixture
def serve(home: Path) -> Iterator[Callable[[Reply | bytes], FakeDaemon]]:
    running: list[FakeDaemon] = []

    def start(reply: Reply | bytes) -> FakeDaemon:
        running.append(FakeDaemon(home, reply))
        return running[-1]

    yield start
    for daemon in running:
        daemon.close()


def run(
    home: Path,
    payload: bytes,
    *arguments: str,
    hook: Path = HOOK,
    stdout: int = subprocess.PIPE,
    **environ: str,
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", str(hook), *(arguments or ("claude-code",))],
        input=payload,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=50,
        env={"PATH": "/nowhere", "HOME": str(home), "TACIT_HOME": str(home), **environ},
    )
    assert done.returncode == 0
    assert done.stderr == b""
    return done


@pytest.fixture
def lonely(tmp_path: Path) -> Path:
    """The hook client as the launcher copies it, with an interpreter that is gone: it cannot start a daemon."""
    copy = tmp_path / "lonely" / "tacit_hook.py"
    copy.parent.mkdir()
    copy.write_text(HOOK.read_text().replace('\nPYTHON = ""', '\nPYTHON = "/gone/python"'))
    return copy


@pytest.fixture
def stillborn(tmp_path: Path) -> tuple[Path, Path]:
    """The hook client with an interpreter whose every daemon dies at once, and the file in which each leaves a line."""
    born = tmp_path / "born"
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho born >>'{born}'\n")
    python.chmod(0o700)
    copy = tmp_path / "stillborn.py"
    copy.write_text(HOOK.read_text().replace('\nPYTHON = ""', f'\nPYTHON = "{python}"'))
    return copy, born


def counted(home: Path) -> str:
    path = home / "log" / "hook.count"
    return path.read_text() if path.exists() else ""


def counted_in_time(home: Path, *, timeout_s: float = 30.0) -> str:
    """What was counted, as soon as anything was."""
    until = time.monotonic() + timeout_s
    while not (signs := counted(home)) and time.monotonic() < until:
        time.sleep(0.02)
    return signs


def spooled(home: Path) -> list[Path]:
    return sorted((home / "spool").glob("*")) if (home / "spool").exists() else []


def test_prints_the_reply_byte_for_byte(home, serve):
    text = '{"hookSpecificOutput": {"additionalContext": "é \\u0000 </x>"}}\n'.encode()
    daemon = serve(http(text))
    assert run(home, PROMPT).stdout == text
    head, _, body = daemon.asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /hook/claude-code HTTP/1.1\r\n")
    assert f"x-tacit-version: {tacit.__version__}".encode() in head.lower()
    wait = next(int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.startswith(b"X-Tacit-Deadline-Ms"))
    assert 0 < wait < 800
    assert body == PROMPT
    assert counted(home) == ""


def test_a_daemon_that_dies_at_birth_gets_one_successor_and_then_a_pause(home, stillborn):
    hook, born = stillborn
    run(home, START, hook=hook)
    run(home, PROMPT, hook=hook)
    assert born.read_text().split() == ["born", "born"]
    lock = home / "run" / "start.lock"
    os.utime(lock, (time.time() - 60, time.time() - 60))
    run(home, START, hook=hook)
    assert born.read_text().split() == ["born"] * 4


@pytest.mark.parametrize("died", [b"starting", b"starting again"])
def test_a_clock_that_was_set_back_keeps_no_daemon_from_starting(home, stillborn, died):
    hook, born = stillborn
    lock = home / "run" / "start.lock"
    lock.parent.mkdir(parents=True, mode=0o700)
    lock.write_bytes(died)
    os.utime(lock, (time.time() + 86_400, time.time() + 86_400))
    run(home, PROMPT, hook=hook)
    assert born.exists()
    assert lock.stat().st_mtime < time.time() + 3_600, "from now on the pause is measured again"


def test_an_upgrade_that_a_later_clock_noted_does_not_keep_an_old_daemon(home, serve):
    daemon = serve(http(b"", headers="x-tacit-version: 0.0.1\r\n"))
    mark = home / "run" / "upgrade"
    mark.touch()
    os.utime(mark, (time.time() + 86_400, time.time() + 86_400))
    run(home, PROMPT)
    assert any(asked.startswith(b"POST /stop") for asked in daemon.asked)
    assert mark.stat().st_mtime < time.time() + 3_600


@pytest.mark.parametrize(
    ("told", "prompt"), [("2150", 2150), ("9999999", 4000), ("100", 800), ("2e3", 800), ("", 800)]
)
def test_a_start_may_take_longer_and_a_prompt_as_long_as_the_daemon_says(home, monkeypatch, told, prompt):
    monkeypatch.setenv("TACIT_HOME", str(home))
    monkeypatch.delenv("TACIT_HOOK_DEADLINE_MS", raising=False)
    (home / "run").mkdir(parents=True)
    (home / "run" / "prompt_ms").write_text(told)
    events = ("SessionStart", "UserPromptSubmit", "Stop")
    assert [tacit_hook.deadline_ms(event, tacit_hook.HomePaths()) for event in events] == [1500, prompt, 800]


def test_the_daemon_is_told_what_is_left_of_the_deadline(home, serve):
    daemon = serve(http(b""))
    (home / "run" / "prompt_ms").write_text("4000")
    run(home, PROMPT)
    run(home, b"{}", "claude-code", "--event", "UserPromptSubmit")
    assert len(daemon.asked) == 2
    for request in daemon.asked:
        line = next(x for x in request.split(b"\r\n") if x.startswith(b"X-Tacit-Deadline-Ms"))
        assert 800 < int(line.split(b":")[1]) < 4000


def test_silence_prints_nothing(home, serve):
    serve(http(b""))
    assert run(home, PROMPT).stdout == b""
    assert counted(home) == ""


def test_a_reply_in_pieces_is_put_together(home, serve):
    def slowly(connection: socket.socket, _: bytes) -> None:
        for byte in http(b"memory"):
            connection.sendall(bytes([byte]))

    serve(slowly)
    assert run(home, PROMPT).stdout == b"memory"


@pytest.mark.parametrize(
    "reply",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf of it",
        b"HTTP/1.1 banana\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ncontent-length: -3\r\n\r\nx",
        b"\xff" * 300_000,
    ],
)
def test_garbage_never_reaches_the_model(home, serve, reply):
    serve(reply)
    assert run(home, PROMPT).stdout == b""
    assert counted(home) == "g"


@pytest.mark.parametrize(("status", "sign"), [(503, "b"), (400, "r"), (500, "r")])
def test_a_refusal_is_silence_and_is_counted(home, serve, status, sign):
    serve(http(b'{"detail": "not for the model"}', status=status))
    assert run(home, PROMPT).stdout == b""
    assert counted(home) == sign
    assert f"refused with {status}" in (home / "log" / "hook.log").read_text()
    assert "not for the model" not in (home / "log" / "hook.log").read_text()


def test_a_slow_daemon_costs_the_deadline_and_no_more(home, serve):
    released = threading.Event()
    serve(lambda connection, _: released.wait(60) and None)
    assert run(home, PROMPT, TACIT_HOOK_DEADLINE_MS="300").stdout == b""
    released.set()  # only now would it have answered
    assert set(counted(home)) == {
        "d"
    }  # twice, where a busy machine lets the watchdog bark after the deadline was noted


def test_a_dripping_daemon_cannot_stretch_the_deadline(home, serve):
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not released.wait(0.05):
            connection.sendall(b"x")

    released = threading.Event()
    serve(drip)
    assert run(home, PROMPT, TACIT_HOOK_DEADLINE_MS="300").stdout == b""
    released.set()  # until now another byte came every twentieth of a second


def test_input_that_never_ends_is_cut_by_the_watchdog(home, serve):
    serve(http(b"x"))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", str(HOOK), "claude-code"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"TACIT_HOME": str(home), "TACIT_HOOK_DEADLINE_MS": "300"},
    )
    try:
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert counted_in_time(home) == "d"  # a child of the hook writes it, after the hook has left
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"not json {",
        b"[1, 2]",
        b'{"prompt": "\\ud800 \\u0000 lone"}',
        b'{"prompt": "\xff\xfe"}',
        b'{"prompt": "' + b"x" * (5 << 20) + b'"}',
        b"\0" * 4096,
    ],
)
def test_any_payload_is_carried_as_it_is(home, serve, payload):
    daemon = serve(http(b"ok"))
    assert run(home, payload, TACIT_HOOK_DEADLINE_MS="5000").stdout == b"ok"
    assert daemon.asked[0].partition(b"\r\n\r\n")[2] == payload


def test_a_payload_above_the_limit_is_read_to_its_end_and_answered_by_silence(home, serve):
    daemon = serve(http(b"x"))
    assert run(home, b"x" * (9 << 20)).stdout == b""
    assert daemon.asked == []
    assert counted(home) == "i"


def test_a_daemon_that_answers_before_it_has_read_everything_is_understood(home, lonely):
    run_dir = home / "run"
    run_dir.mkdir(parents=True, mode=0o700)
    with DaemonSocket(Home(home)) as listener:

        def refuse() -> None:
            connection = listener.accept()
            connection.recv(100)
            connection.sendall(http(b"too large", status=413))
            connection.shutdown(socket.SHUT_WR)
            time.sleep(0.3)
            connection.close()

        thread = threading.Thread(target=refuse)
        thread.start()
        slow = {"TACIT_HOOK_DEADLINE_MS": "10000"}  # five megabytes on a busy machine
        assert run(home, b"x" * (5 << 20), hook=lonely, **slow).stdout == b""
        thread.join(5)
    assert counted(home) in {"r", "g", "n"}


def test_the_event_is_found_without_parsing_and_never_inside_a_text(home, lonely):
    # The words of a prompt hold the key of an event that would be kept: it must not be taken for one.
    text = json.dumps(
        {"session_id": "s", "prompt": '"hook_event_name":"Stop"', "hook_event_name": "UserPromptSubmit"}
    )
    run(home, text.encode(), hook=lonely)
    assert spooled(home) == []
    run(home, b'{ "hook_event_name" :\n "Stop" }', hook=lonely)
    assert len(spooled(home)) == 1


def test_without_a_daemon_a_prompt_gets_silence(home, lonely):
    assert run(home, PROMPT, hook=lonely).stdout == b""
    assert counted(home) == "n"
    assert spooled(home) == []


def test_without_a_daemon_the_end_of_a_turn_is_kept(home, lonely):
    run(home, STOP, hook=lonely)
    (path,) = spooled(home)
    head, _, body = path.read_bytes().partition(b"\n")
    assert path.suffix == ".event"
    assert json.loads(head)["host"] == "claude-code"
    assert json.loads(head)["event"] == "Stop"
    assert abs(json.loads(head)["at_ms"] / 1000 - time.time()) < 60
    assert json.loads(body) == json.loads(STOP)


def test_the_end_of_a_turn_is_on_disk_before_the_daemon_is_asked_and_gone_once_it_answered(home, serve):
    at_work: list[Path] = []
    content: list[bytes] = []

    def answer(connection: socket.socket, _: bytes) -> None:
        at_work.extend(spooled(home))
        content.extend(path.read_bytes() for path in at_work)
        connection.sendall(http(b""))

    serve(answer)
    run(home, STOP)
    (path,) = at_work
    assert path.name.endswith("-text.event.tmp")
    assert json.loads(content[0].partition(b"\n")[2]) == json.loads(STOP)
    assert spooled(home) == []


def test_the_end_of_a_turn_survives_a_hook_that_is_ended_while_it_waits(home, serve):
    released = threading.Event()
    serve(lambda connection, _: released.wait(60) and None)
    environ = {"TACIT_HOME": str(home), "TACIT_HOOK_DEADLINE_MS": "60000"}
    command = [sys.executable, "-I", "-S", "-E", str(HOOK), "claude-code"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ)
    try:
        assert process.stdin is not None
        process.stdin.write(STOP)
        process.stdin.close()
        until = time.monotonic() + 30
        while not spooled(home) and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
    finally:
        process.wait(30)
        released.set()
    (path,) = spooled(home)
    assert json.loads(path.read_bytes().partition(b"\n")[2]) == json.loads(STOP)


def test_the_daemon_is_told_that_a_reply_reached_the_host_and_not_of_silence(home, serve):
    told: queue.Queue[bytes] = queue.Queue()

    def then_listen(text: bytes) -> Reply:
        def answer(connection: socket.socket, request: bytes) -> None:
            assert b"\r\nX-Tacit-Acknowledges: 1\r\n" in request
            connection.sendall(http(text))
            told.put(connection.recv(10))

        return answer

    daemon = serve(then_listen(b"memory"))
    assert run(home, PROMPT).stdout == b"memory"
    daemon.reply_with(then_listen(b""))
    assert run(home, PROMPT).stdout == b""
    assert [told.get(timeout=30), told.get(timeout=30)] == [b"\x06", b""]


def test_the_daemon_is_not_told_of_a_reply_that_nobody_reads(home, serve):
    told: queue.Queue[bytes] = queue.Queue()

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(http(b"memory"))
        told.put(connection.recv(10))

    serve(answer)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run(home, PROMPT, stdout=writer)
    finally:
        os.close(writer)
    assert told.get(timeout=30) == b""


def test_a_refused_end_of_a_turn_is_kept_when_the_fault_is_the_daemons(home, serve):
    serve(http(b"", status=503))
    run(home, STOP)
    assert len(spooled(home)) == 1


def test_a_malformed_end_of_a_turn_is_not_kept(home, serve):
    serve(http(b"", status=400))
    run(home, STOP)
    assert spooled(home) == []


def write_start(home: Path, folder: str, replies: object) -> None:
    digest = hashlib.sha256(folder.encode()).hexdigest()[:24]
    (home / "start").mkdir(parents=True, exist_ok=True)
    (home / "start" / f"{digest}.json").write_text(json.dumps({"cwd": folder, "replies": replies}))


def start_in(folder: Path) -> bytes:
    return json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(folder)}).encode()


def test_without_a_daemon_a_start_gets_the_block_of_the_nearest_folder_of_its_repository(
    home, lonely, tmp_path
):
    deep = tmp_path / "repo" / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "objects").mkdir(parents=True)
    write_start(home, str(tmp_path), {"claude-code": "above"})
    write_start(home, str(tmp_path / "repo"), {"claude-code": "é near", "opencode": "other"})
    assert run(home, start_in(deep), hook=lonely).stdout.decode() == "é near"
    assert counted(home) == "s"
    (path,) = spooled(home)
    assert path.name.endswith("-start.event")


@pytest.mark.parametrize("border", ["file", "folder", "link to nowhere"])
def test_a_nested_repository_does_not_get_the_block_of_the_one_around_it(home, lonely, tmp_path, border):
    nested = tmp_path / "repo" / "vendor" / "nested"
    nested.mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "objects").mkdir(parents=True)
    if border == "file":
        (nested / ".git").write_text("gitdir: x")
    elif border == "link to nowhere":
        (nested / ".git").symlink_to(tmp_path / "gone")
    else:
        (nested / ".git" / "objects").mkdir(parents=True)
    write_start(home, str(tmp_path / "repo"), {"claude-code": "another project's"})
    assert run(home, start_in(nested), hook=lonely).stdout == b""
    assert counted(home) == "n"


def test_an_empty_git_folder_is_no_repository(home, lonely, tmp_path):
    (tmp_path / "notes" / ".git").mkdir(parents=True)
    (tmp_path / "notes" / "deep").mkdir()
    write_start(home, str(tmp_path / "notes"), {"claude-code": "another folder's"})
    assert run(home, start_in(tmp_path / "notes" / "deep"), hook=lonely).stdout == b""


def test_an_empty_git_folder_inside_a_repository_is_no_border(home, lonely, tmp_path):
    (tmp_path / "repo" / ".git" / "objects").mkdir(parents=True)
    (tmp_path / "repo" / "deep" / ".git").mkdir(parents=True)
    write_start(home, str(tmp_path / "repo"), {"claude-code": "the repository's"})
    assert run(home, start_in(tmp_path / "repo" / "deep"), hook=lonely).stdout == b"the repository's"


def test_outside_a_repository_only_the_very_folder_counts(home, lonely, tmp_path):
    inner = tmp_path / "notes" / "deep"
    inner.mkdir(parents=True)
    write_start(home, str(tmp_path / "notes"), {"claude-code": "notes"})
    assert run(home, start_in(inner), hook=lonely).stdout == b""
    assert run(home, start_in(tmp_path / "notes"), hook=lonely).stdout == b"notes"


def test_a_start_block_for_another_host_is_not_used(home, lonely):
    write_start(home, "/w/a/b", {"opencode": "other"})
    assert run(home, START, hook=lonely).stdout == b""
    assert counted(home) == "n"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"replies": 3}', '{"replies": {"claude-code": ""}}'])
def test_a_broken_start_block_is_silence(home, lonely, text):
    digest = hashlib.sha256(b"/w/a/b").hexdigest()[:24]
    (home / "start").mkdir(parents=True)
    (home / "start" / f"{digest}.json").write_text(text)
    assert run(home, START, hook=lonely).stdout == b""


def test_a_start_past_its_deadline_gets_the_block_as_well(home, serve):
    write_start(home, "/w/a/b", {"claude-code": "earlier"})
    released = threading.Event()
    serve(lambda connection, _: released.wait(60) and None)
    # The watchdog follows the deadline by a quarter of a second, which a busy machine can lose.
    assert any(run(home, START, TACIT_HOOK_DEADLINE_MS="300").stdout == b"earlier" for _ in range(4))
    released.set()


def test_a_host_that_takes_no_text_at_the_start_gets_its_block_with_the_first_prompt(home, lonely, tmp_path):
    """Its prompt stands in no event that is kept; the daemon is told later that this session has its block."""
    write_start(home, str(tmp_path), {"gemini": "block"})
    chat = tmp_path / "chat.jsonl"
    about = {"session_id": "s", "cwd": str(tmp_path), "transcript_path": str(chat), "timestamp": "t1"}

    def send(event: str, **fields: str) -> bytes:
        payload = {"hook_event_name": event, **about, **fields}
        return run(home, json.dumps(payload).encode(), "gemini", hook=lonely).stdout

    chat.write_text('{"id":"u","type":"user","content":[{"text":"the prompt"}]}\n')
    assert send("SessionStart", source="startup") == b""
    assert spooled(home) == []
    assert send("BeforeAgent", prompt="the prompt") == b"block"
    (path,) = spooled(home)
    head, _, body = path.read_bytes().partition(b"\n")
    assert path.name.endswith("-start.event")
    assert json.loads(head)["host"] == "gemini"
    assert json.loads(body) == {**about, "hook_event_name": "SessionStart", "source": "startup"}
    chat.write_text('{"id":"g","type":"gemini","content":"an answer"}\n')
    assert send("BeforeAgent", prompt="another one") == b""


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_silence(home, lonely):
    home.mkdir(mode=0o500)
    assert run(home, STOP, hook=lonely).stdout == b""


def test_a_home_that_is_a_file_is_silence(home, lonely):
    home.write_text("not a folder")
    assert run(home, STOP, hook=lonely).stdout == b""
    assert run(home, START, hook=lonely).stdout == b""


def test_a_home_that_cannot_be_made_is_silence(lonely):
    for payload in (PROMPT, START, STOP):
        assert run(Path("/proc/tacit"), payload, hook=lonely).stdout == b""


def test_without_arguments_or_with_strange_ones_nothing_happens(home, serve):
    daemon = serve(http(b"x"))
    for argument in ("", "a/b", "../../x", "é", "x" * 100, "--help", ".", "-"):
        assert run(home, PROMPT, argument).stdout == b""
    assert daemon.asked == []


@pytest.mark.parametrize(
    "name", ["log/hook.log", "log/hook.count", "log/daemon.out", "run/upgrade", "run/start.lock"]
)
@pytest.mark.parametrize("payload", [START, PROMPT, STOP])
def test_a_fifo_in_the_place_of_a_file_hangs_no_hook_and_no_host(home, stillborn, name, payload):
    """Nobody reads it: opening it to write would wait for ever, in the hook or in what it leaves behind."""
    hook, _ = stillborn
    for folder in ("log", "run"):
        (home / folder).mkdir(parents=True, mode=0o700)
    os.mkfifo(home / name)
    assert run(home, payload, hook=hook).stdout == b""


@pytest.mark.parametrize("name", ["log/hook.log", "log/hook.count"])
def test_the_watchdog_ends_a_hook_whose_log_nobody_reads(home, lonely, name):
    (home / "log").mkdir(parents=True)
    os.mkfifo(home / name)
    command = [sys.executable, "-I", "-S", "-E", str(lonely), "claude-code"]
    environ = {"PATH": "/nowhere", "TACIT_HOME": str(home), "TACIT_HOOK_DEADLINE_MS": "200"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    with process:
        assert process.stdout is not None
        assert process.stdout.read() == b"", "its input never ends, and nothing of it keeps its output open"
        assert process.wait(timeout=50) == 0


def other_users(folder: Path, uid: int = 65_534) -> Path:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)
    return folder


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("whose", ["home", "run"])
@pytest.mark.parametrize("event", [START, PROMPT, STOP])
def test_nothing_is_sent_to_or_taken_from_another_users_folder(tmp_path, home, whose, event):
    real = tmp_path / "theirs"
    daemon = FakeDaemon(real, http(b"PWNED"))
    write_start(real, "/w/a/b", {"claude-code": "PWNED"})
    other_users(real if whose == "home" else real / "run")
    home.symlink_to(real)
    try:
        assert run(home, event).stdout == b""
        assert daemon.asked == []
        assert not (real / "log").exists()
        assert not (real / "spool").exists()
        assert daemons_of(home) == []
    finally:
        daemon.close()


def test_a_home_that_everybody_may_change_is_not_trusted(home, serve):
    daemon = serve(http(b"PWNED"))
    for folder in (home, home / "run"):
        folder.chmod(0o777)
        assert run(home, PROMPT).stdout == b""
        folder.chmod(0o700)
    assert daemon.asked == []
    assert run(home, PROMPT).stdout == b"PWNED"


def test_a_home_that_is_a_link_to_a_folder_of_the_same_user_works(tmp_path, home):
    real = tmp_path / "e"  # short: a socket's path has a limit
    daemon = FakeDaemon(real, http(b"mine"))
    home.symlink_to(real)
    assert run(home, PROMPT).stdout == b"mine"
    daemon.close()


def test_a_socket_folder_of_somebody_else_is_not_trusted(tmp_path, lonely):
    home = tmp_path / ("long" * 25)  # the socket of such a home lies below /tmp
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    folder = Path(f"/tmp/tacit-{os.getuid()}-{digest}")
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(folder / "daemon.sock"))
        listener.listen(2)

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(http(b"private"))

        thread = threading.Thread(target=answer)
        thread.start()
        assert run(home, PROMPT, hook=lonely).stdout == b"private"
        thread.join(5)
        folder.chmod(0o755)
        assert run(home, PROMPT, hook=lonely).stdout == b""
        assert counted(home) == "g"
    finally:
        listener.close()
        (folder / "daemon.sock").unlink()
        folder.rmdir()


def test_an_older_daemon_is_asked_to_stop_once(home, serve, lonely):
    daemon = serve(http(b"still used", headers="x-tacit-version: 0.0.9\r\n"))
    assert run(home, PROMPT, hook=lonely).stdout == b"still used"
    assert run(home, PROMPT, hook=lonely).stdout == b"still used"
    paths = [request.split(b" ")[1] for request in daemon.asked]
    assert paths.count(b"/stop") == 1
    assert paths.count(b"/hook/claude-code") == 2


def test_a_newer_daemon_is_used_as_it_is(home, serve):
    daemon = serve(http(b"new", headers="x-tacit-version: 99.1\r\n"))
    assert run(home, PROMPT).stdout == b"new"
    assert len(daemon.asked) == 1


def test_its_version_is_the_packages():
    assert f'\nVERSION = "{tacit.__version__}"\n' in HOOK.read_text()


def test_a_hook_loads_few_modules_and_only_from_the_standard_library(home, serve):
    serve(http(b"ok"))
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", "-E", str(HOOK), "claude-code"],
        input=PROMPT,
        capture_output=True,
        timeout=50,
        env={"TACIT_HOME": str(home)},
    )
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    assert done.stdout == b"ok"
    assert not loaded & {
        "json",
        "socket",
        "subprocess",
        "re",
        "enum",
        "typing",
        "threading",
        "hashlib",
        "signal",
    }
    named = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(HOOK.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert named <= set(sys.stdlib_module_names)


def test_the_log_and_its_counter_are_private_and_bounded(home, serve):
    serve(http(b"", status=503))
    (home / "log").mkdir(parents=True)
    (home / "log" / "hook.log").write_bytes(b"x" * (600 << 10))
    run(home, PROMPT)
    log = home / "log" / "hook.log"
    assert log.stat().st_size < 1000
    assert log.stat().st_mode & 0o077 == 0
    assert (home / "log" / "hook.log.1").exists()


def secret_words() -> str:
    return "Kx7" + "q" * 3 + "-Zebra-4471"


def said(event: str, **fields: object) -> bytes:
    return json.dumps({"hook_event_name": event, "session_id": "s", "cwd": "/w", **fields}).encode()


def words_in(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_nothing_that_was_said_is_kept_where_a_transcript_holds_it(home, lonely, tmp_path):
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("{}\n")
    secret = secret_words()
    for event in (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ):
        fields = {
            "prompt": f"my password is {secret}",
            "last_assistant_message": f"ok {secret}",
            "tool_input": {"command": secret},
            "error": secret,
        }
        run(
            home,
            said(event, transcript_path=str(transcript), source="startup", reason="other", **fields),
            hook=lonely,
        )
    assert words_in(home, secret) == []
    kept = [json.loads(path.read_bytes().partition(b"\n")[2]) for path in spooled(home)]
    assert {one["hook_event_name"] for one in kept} == {"Stop", "SubagentStop", "SessionEnd"}
    assert all(
        one["transcript_path"] == str(transcript) and one["session_id"] == "s" and one["cwd"] == "/w"
        for one in kept
    )
    assert {name for one in kept for name in one} == {
        "hook_event_name",
        "session_id",
        "cwd",
        "transcript_path",
        "source",
        "reason",
    }


@pytest.mark.parametrize(
    "shape",
    [
        "my password is {}",
        "token={} and on",
        "https://joe:{}@host/x",
        "das Passwort ist {}",
        "use {}abcdefgh123456789",
    ],
)
def test_words_without_a_transcript_are_kept_without_plain_secrets_and_for_an_hour(home, lonely, shape):
    secret = secret_words()
    text = shape.format(secret)
    run(
        home,
        json.dumps(
            {"event": "message_end", "session": "s", "cwd": "/w", "text": f"Use pnpm here. {text}"}
        ).encode(),
        "plain",
        hook=lonely,
        TACIT_HOOK_DEADLINE_MS="20000",  # on a busy machine the watchdog would come first
    )
    (path,) = spooled(home)
    assert path.name.endswith("-text.event")
    assert "Use pnpm here." in json.loads(path.read_bytes().partition(b"\n")[2])["text"]
    assert words_in(home, secret) == []
    old = path.with_name(f"{time.time_ns() - 3_700 * 10**9:020d}-1-text.event")
    path.rename(old)
    run(home, STOP, hook=lonely, TACIT_HOOK_DEADLINE_MS="20000")
    assert old not in spooled(home)
    assert len(spooled(home)) == 1


@pytest.mark.parametrize("arguments", [("claude-code",), ("opencode",), ("mcp",), ("start",)])
def test_a_headless_run_of_ours_gets_nothing_and_leaves_nothing(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    home = tmp_path / "t"
    environ = {**os.environ, "TACIT_HOME": str(home), "TACIT_HEADLESS": "1"}
    command = [sys.executable, "-I", "-S", "-E", str(HOOK), *arguments]
    for given in (START, PROMPT, STOP):
        done = subprocess.run(command, input=given, capture_output=True, env=environ, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not home.exists()
