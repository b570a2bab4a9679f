"""Faults around the hook's process. Whatever happens, it must exit 0, in time, and print nothing that is no answer.

In: a lab. Out: an outcome for each fault. Every case has a home of its own; what plays the daemon is a socket of this program. The
limit is the deadline of the event plus `MARGIN_S`, or plus what a busy machine needs to start Python.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tacit_evals.attacks.outcome import Area, Lab, Outcome, spread
from tacit_evals.attacks.words import Words

MARGIN_S = 1.5
RETRIES = 2
_TOOK = "took "
"""A quarter of a second is the watchdog's; the rest is starting Python beside others."""
TOGETHER = 4
EVENTS: dict[str, tuple[float, Mapping[str, object]]] = {
    "SessionStart": (1.5, {"source": "startup"}),
    "UserPromptSubmit": (0.8, {"prompt": "please fix the login form"}),
    "PreToolUse": (0.8, {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"}),
    "PostToolUseFailure": (0.8, {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1", "error": "Exit code 2"}),
    "Stop": (0.8, {"last_assistant_message": "done"}),
    "SessionEnd": (0.8, {"reason": "other"}),
}  # fmt: skip
ANSWER = b'{"hookSpecificOutput": {"hookEventName": "X", "additionalContext": "known"}}'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nx-tacit-version: 99.0.0\r\n\r\n%s" % (len(ANSWER), ANSWER)
Play = Callable[[socket.socket, threading.Event], None]


@dataclass(slots=True, kw_only=True)
class Stage:
    """One case: a home, what the hook reads, and how it is started."""

    home: Path
    words: Words
    payload: bytes
    stack: ExitStack
    environment: dict[str, str] = field(default_factory=dict)
    limits: list[tuple[int, int]] = field(default_factory=list)
    feed: Callable[[int], None] | None = None
    closed: tuple[int, ...] = ()

    def play(self, play: Play) -> None:
        """Answer on the home's socket by `play`."""
        self.stack.enter_context(_playing(self.home / "run" / "daemon.sock", play))

    def no_daemon(self) -> None:
        """Nobody answers, and nobody can be started: the lock of starting is held."""
        lock = self.stack.enter_context((self.home / "run" / "start.lock").open("a"))
        fcntl.flock(lock, fcntl.LOCK_EX)


@contextmanager
def _playing(path: Path, play: Play) -> Iterator[None]:
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))
        server.listen(16)
        server.settimeout(0.1)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = server.accept()
                except (TimeoutError, OSError):
                    continue
                threading.Thread(target=_answered, args=(connection, play, over), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(2)


def _answered(connection: socket.socket, play: Play, over: threading.Event) -> None:
    with connection, contextlib.suppress(OSError):
        play(connection, over)


def _read(connection: socket.socket) -> None:
    connection.settimeout(5)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 20) or b"\r\n\r\n"


def _reply(data: bytes, *, pause_s: float = 0.0, hold: bool = False) -> Play:
    def play(connection: socket.socket, over: threading.Event) -> None:
        _read(connection)
        over.wait(pause_s)
        connection.sendall(data)
        if hold:
            over.wait(20)

    return play


def _silent(_: socket.socket, over: threading.Event) -> None:
    over.wait(20)


def _drip(data: bytes, every_s: float) -> Play:
    def play(connection: socket.socket, over: threading.Event) -> None:
        _read(connection)
        for at in range(len(data)):
            connection.sendall(data[at : at + 1])
            if over.wait(every_s):
                return

    return play


def _garbage(stage: Stage) -> None:
    chance = stage.words.chance
    stage.play(_reply(bytes(chance.randrange(256) for _ in range(chance.randint(1, 4000)))))


def _head(stage: Stage) -> None:
    heads = (
        b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", b"HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nabc", b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nabc",
        b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\ncontent-length: 2\r\nx-tacit-version: 0.1.0\r\n\r\n{}", b"HTTP/1.1 204 No\r\n\r\n", b"\r\n\r\n", b"HTTP/1.1 302 Go\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
    )  # fmt: skip
    stage.play(_reply(stage.words.chance.choice(heads)))


def _half(stage: Stage) -> None:
    cut = stage.words.chance.randint(1, len(WHOLE) - 1)
    stage.play(_reply(WHOLE[:cut], hold=stage.words.chance.random() < 0.5))


def _huge(stage: Stage) -> None:
    size = stage.words.chance.choice((70, 90)) << 20
    stage.play(_reply(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"x" * (2 << 20), hold=True))


def _full_queue(stage: Stage) -> None:
    server = stage.stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(os.fspath(stage.home / "run" / "daemon.sock"))
    server.listen(0)
    for _ in range(3):
        client = stage.stack.enter_context(socket.socket(socket.AF_UNIX))
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect(os.fspath(stage.home / "run" / "daemon.sock"))


def _stale_socket(stage: Stage) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(stage.home / "run" / "daemon.sock"))
    stage.no_daemon()


def _file_for(*names: str) -> Callable[[Stage], None]:
    """A file stands where a folder or a socket should."""

    def make(stage: Stage) -> None:
        name = stage.words.chance.choice(names)
        path = stage.home / name
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        if name != "run":
            stage.no_daemon()

    return make


def _fifo(*names: str) -> Callable[[Stage], None]:
    """A pipe without a reader stands where a file should."""

    def make(stage: Stage) -> None:
        for name in stage.words.chance.sample(names, stage.words.chance.randint(1, len(names))):
            path = stage.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(path, 0o600)
        if not (stage.home / "run" / "start.lock").exists():
            stage.no_daemon()

    return make


def _folder_for_file(stage: Stage) -> None:
    for name in ("log/hook.log", "log/hook.count"):
        (stage.home / name).mkdir(parents=True)
    stage.no_daemon()


def _loop(stage: Stage) -> None:
    name = stage.words.chance.choice(("log", "spool", "start"))
    (stage.home / name).symlink_to(stage.home / name)
    stage.no_daemon()


def _limits(stage: Stage) -> None:
    limit, value = stage.words.chance.choice(
        (
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_FSIZE, 64),
            (resource.RLIMIT_NOFILE, 4),
            (resource.RLIMIT_NOFILE, 6),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NPROC, 1),
            (resource.RLIMIT_STACK, 1 << 20),
            (resource.RLIMIT_AS, 200 << 20),
        )
    )
    stage.limits.append((limit, value))
    stage.no_daemon()


def _full_disk(stage: Stage) -> None:
    """A tiny file system without a free block; without the rights to mount one, a file size of zero."""
    place = stage.home
    folders = list(place.iterdir())
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", place], capture_output=True, check=False
    )
    if done.returncode:
        stage.limits.append((resource.RLIMIT_FSIZE, 0))
    else:
        stage.stack.callback(subprocess.run, ["umount", "-l", place], capture_output=True, check=False)
        for folder in folders:
            with contextlib.suppress(OSError):
                (place / folder.name).mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            (place / "filler").write_bytes(b"x" * (1 << 20))
    with contextlib.suppress(OSError):
        stage.no_daemon()


def _owner(stage: Stage) -> None:
    """Another user owns the home, its `run`, or the folder behind a link; something answers there."""
    stage.play(_reply(WHOLE))
    which = stage.words.chance.choice(("run", "home"))
    if os.geteuid() == 0:
        os.chown(stage.home / "run" if which == "run" else stage.home, 65534, 65534)
    else:
        (stage.home / "run").chmod(0o777)


def _rights(stage: Stage) -> None:
    (stage.home / "log").mkdir()
    name, mode = (
        stage.words.chance.choice(("log", "run", ".")),
        stage.words.chance.choice((0o000, 0o500, 0o777)),
    )
    (stage.home / name).chmod(mode)
    with contextlib.suppress(OSError):
        stage.no_daemon()


def _payload(make: Callable[[Words], bytes]) -> Callable[[Stage], None]:
    def apply(stage: Stage) -> None:
        stage.payload = make(stage.words)
        stage.play(_reply(WHOLE))

    return apply


def _endless(stage: Stage) -> None:
    """Standard input that never ends, with or without bytes."""
    stage.play(_reply(WHOLE))
    stage.feed = lambda handle: (
        None if stage.words.chance.random() < 0.5 else _ignore(os.write, handle, stage.payload[:20])
    )


def _ignore(call: Callable[..., object], *arguments: object) -> None:
    with contextlib.suppress(OSError):
        call(*arguments)


def _closed(stage: Stage) -> None:
    stage.closed = stage.words.chance.choice(((0,), (1,), (2,), (0, 1, 2)))
    stage.no_daemon() if stage.words.chance.random() < 0.5 else stage.play(_reply(WHOLE))


def _environment(stage: Stage) -> None:
    stage.environment.update(
        stage.words.chance.choice(
            (
                {"TACIT_HOOK_DEADLINE_MS": "abc"},
                {"TACIT_HOOK_DEADLINE_MS": "-5"},
                {"HOME": "/nonexistent"},
                {"PATH": ""},
                {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"},
                {"TZ": "../../x"},
                {"LC_ALL": "xx_YY.broken"},
                {"TACIT_HOME": "/proc/self/mem"},
                {"TACIT_HOME": "/dev/null/x"},
                {"TACIT_HOME": "\udcff"},
                {"TACIT_HOME": "/" + "x" * 5000},
            )
        )
    )
    stage.no_daemon()


def _clock(stage: Stage) -> None:
    """Files of the home come from the future or from 1970."""
    at = stage.words.chance.choice((0.0, time.time() + 10**8))
    for name in ("run/upgrade", "run/daemon.json", "log/hook.log"):
        path = stage.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (at, at))
    (stage.home / "run" / "start.lock").write_text("starting again")
    os.utime(stage.home / "run" / "start.lock", (at, at))
    stage.no_daemon()


def _blocks(stage: Stage) -> None:
    """What the daemon left for starts is damaged."""
    folder = stage.home / "start"
    folder.mkdir(exist_ok=True)
    for number in range(5):
        (folder / f"{number}").write_bytes(os.urandom(200))
    (folder / "index.json").write_text("{")
    stage.no_daemon()


def _big(words: Words) -> bytes:
    return json.dumps(
        {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s",
            "cwd": "/",
            "prompt": words("{word} ") * 200_000,
        }
    ).encode() * words.chance.randint(1, 12)


def _broken_json(words: Words) -> bytes:
    whole = json.dumps(
        {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s",
            "cwd": "/",
            "prompt": words("{verb} the {thing}"),
        }
    )
    return words.chance.choice(
        (
            whole[: words.chance.randint(1, len(whole) - 1)].encode(),
            b"",
            b"null",
            b"[]",
            b"\xff\xfe\x00",
            b"[" * 100_000,
            b'{"a":' * 50_000,
            b'"' + b"\\" * 9999,
            whole.replace('"/"', "7").encode(),
            b"NaN",
            os.urandom(500),
        )
    )


FAULTS: dict[str, tuple[str, Callable[[Stage], None]]] = {
    "no answer": ("the daemon is stopped: it takes the connection and says nothing", lambda stage: stage.play(_silent)),
    "slow answer": ("the whole answer, too late", lambda stage: stage.play(_reply(WHOLE, pause_s=stage.words.chance.choice((0.7, 2.0, 6.0))))),
    "drip": ("one byte at a time", lambda stage: stage.play(_drip(WHOLE, stage.words.chance.choice((0.05, 0.3))))),
    "half an answer": ("the answer ends early, or stops", _half),
    "garbage": ("random bytes", _garbage),
    "wrong head": ("heads that mean nothing, refuse or lie", _head),
    "huge answer": ("more than anybody may send", _huge),
    "nothing accepted": ("a full queue of connections", _full_queue),
    "closed at once": ("the connection is closed before an answer", lambda stage: stage.play(lambda connection, _: connection.close())),
    "stale socket": ("nobody listens any more", _stale_socket),
    "no daemon": ("there is none, and none can be started", lambda stage: stage.no_daemon()),
    "file for a folder": ("a file stands where a folder should", _file_for("log", "spool", "start", "run")),
    "file for the socket": ("a file stands where the socket should", _file_for("run/daemon.sock")),
    "pipe for a log": ("a pipe without a reader stands where a log should", _fifo("log/hook.log", "log/hook.count", "log/hook.log.1")),
    "pipe for another file": ("the same for files of `run` and `start`", _fifo("run/daemon.lock", "run/upgrade", "run/daemon.json")),
    "folder for a file": ("folders stand where logs should", _folder_for_file),
    "loop of links": ("a folder links to itself", _loop),
    "limits": ("few handles, small files, little memory", _limits),
    "full disk": ("not a free block", _full_disk),
    "wrong owner": ("the folder belongs to somebody else, who answers", _owner),
    "wrong rights": ("nothing may be written or read there", _rights),
    "huge input": ("megabytes on standard input", _payload(_big)),
    "broken input": ("no JSON, half of it, or far too deep", _payload(_broken_json)),
    "input without end": ("standard input is never closed", _endless),
    "closed handles": ("no standard input, output or error", _closed),
    "environment": ("variables that mean nothing", _environment),
    "clock": ("files from the future or from 1970", _clock),
    "damaged blocks": ("the blocks for starts are garbage", _blocks),
}  # fmt: skip


def _run(stage: Stage, lab: Lab) -> tuple[int | None, float, bytes, bytes]:
    """Start the hook as a host does; its exit code (None = it had to be killed), its time and what it printed."""

    def prepare() -> None:
        for limit, value in stage.limits:
            resource.setrlimit(limit, (value, value))
        for handle in stage.closed:
            os.close(handle)

    environment = {**os.environ, "TACIT_HOME": str(stage.home), **stage.environment}
    began = time.monotonic()
    process = subprocess.Popen(
        [lab.python, "-I", "-S", "-E", lab.hook, "claude-code"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=stage.home.parent,
        preexec_fn=prepare,  # noqa: PLW1509 - limits belong to the child alone
        start_new_session=True,
    )
    assert process.stdin is not None
    if stage.feed is not None:
        stage.feed(process.stdin.fileno())
    else:
        threading.Thread(target=_write, args=(process.stdin, stage.payload), daemon=True).start()
    try:
        code = process.wait(timeout=8)
    except subprocess.TimeoutExpired:
        process.kill()
        code = None
    took_s = time.monotonic() - began
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = (b"", b"") if code is None else (process.stdout.read(), process.stderr.read())
    process.wait()
    for stream in (process.stdout, process.stderr):
        stream.close()
    _ignore(process.stdin.close)
    return code, took_s, out, err


def _write(stream: object, payload: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        stream.write(payload)  # type: ignore[attr-defined]
        stream.close()  # type: ignore[attr-defined]


def _judged(stage: Stage, form: str, event: str, deadline_s: float, lab: Lab) -> Outcome:
    code, took_s, out, err = _run(stage, lab)
    wrong: list[str] = []
    if code != 0:
        wrong.append("did not end" if code is None else f"exit code {code}")
    if took_s > deadline_s + MARGIN_S:
        wrong.append(f"{_TOOK}{took_s:.2f} s of {deadline_s:.1f} s")
    if err:
        wrong.append(f"standard error: {err[:200]!r}")
    if out and not _is_answer(out):
        wrong.append(f"printed {out[:100]!r}")
    if form == "wrong owner" and b"known" in out:
        wrong.append("handed over what another user answered")
    return Outcome(form=form, tried=event, survived=not wrong, came_out=", ".join(wrong))


def _is_answer(out: bytes) -> bool:
    try:
        return isinstance(json.loads(out), dict)
    except ValueError:
        return False


@contextmanager
def _staged(lab: Lab, number: int, event: str, words: Words) -> Iterator[Stage]:
    """A home of its own for one case of an event."""
    home = lab.root / f"k{number}"
    (home / "run").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    payload = {"hook_event_name": event, "session_id": f"k{number}", "cwd": str(lab.root), **EVENTS[event][1]}
    with ExitStack() as stack:
        stack.callback(_readable, home)
        yield Stage(home=home, words=words, payload=json.dumps(payload).encode(), stack=stack)


def attack(lab: Lab) -> list[Outcome]:
    """Every fault with a home of its own, a few at once."""
    events = list(EVENTS)
    plan = [
        (number, form, events[lab.chance.randrange(len(events))], Words(random.Random(lab.chance.random())))
        for number, form in enumerate(spread(list(FAULTS), lab.cases))
    ]

    def attempt(planned: tuple[int, str, str, Words]) -> Outcome:
        number, form, event, words = planned
        deadline_s, _ = EVENTS[event]
        with _staged(lab, number, event, words) as stage:
            FAULTS[form][1](stage)
            return _judged(stage, form, event, max(deadline_s, 1.5 if form in _UNKNOWN_EVENT else 0.0), lab)

    with ThreadPoolExecutor(TOGETHER) as pool:
        outcomes = list(pool.map(attempt, plan))
    # A fault that blocks the hook blocks it again. A case that was late only because the machine was busy passes when it runs alone.
    for number in range(len(outcomes)):
        for _ in range(RETRIES):
            if not _only_late(outcomes[number]):
                break
            _, form, event, words = plan[number]
            outcomes[number] = attempt((len(plan), form, event, words))
            plan.append(plan[number])  # a home of its own for every try
    _end_daemons(lab.root)
    return outcomes


def _only_late(outcome: Outcome) -> bool:
    return outcome.came_out.startswith(_TOOK) and "," not in outcome.came_out


_UNKNOWN_EVENT = frozenset({"input without end", "broken input", "huge input", "closed handles"})
"""Until the event is known the hook waits as long as for a start."""


def _readable(home: Path) -> None:
    with contextlib.suppress(OSError):
        home.chmod(0o700)
        for path in home.iterdir():
            if not path.is_symlink():
                path.chmod(0o700)


def _end_daemons(root: Path) -> None:
    """End daemons that hooks started below `root`."""
    mark = f"TACIT_HOME={root}/".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if (
                any(variable.startswith(mark) for variable in (entry / "environ").read_bytes().split(b"\0"))
                and b"tacit.daemon" in (entry / "cmdline").read_bytes()
            ):
                os.kill(int(entry.name), 9)


_LOGGED = (
    "no answer",
    "slow answer",
    "half an answer",
    "garbage",
    "huge answer",
    "closed at once",
    "no daemon",
)
"""Faults after which `hook.log` must say that the hook was silent, and in which event."""


def answers(lab: Lab) -> list[Outcome]:
    """What a hook that works does: it hands over the answer of a daemon, and a fault leaves its line."""
    plan = list(enumerate(spread(list(_HEALTHY), lab.cases)))

    def attempt(planned: tuple[int, str]) -> Outcome:
        number, form = planned
        kind, _, name = form.partition(": ")
        words = Words(random.Random(f"{form} {number}"))
        event = name if kind == "answer" else _EVENTS_WITH_ANSWERS[number % len(_EVENTS_WITH_ANSWERS)]
        wrong = ""
        for again in range(1 + RETRIES):  # a busy machine may take an answer's time
            with _staged(lab, number + again * len(plan), event, words) as stage:
                if kind == "answer":
                    stage.play(_reply(WHOLE))
                else:
                    FAULTS[name][1](stage)
                code, _, out, _ = _run(stage, lab)
                log = stage.home / "log" / "hook.log"
                lines = log.read_text("utf-8") if log.is_file() else ""
            if kind == "answer":
                wrong = "" if (code, out) == (0, ANSWER) else f"exit code {code}, printed {out[:100]!r}"
            else:
                wrong = "" if event in lines else f"hook.log holds {lines[:200]!r}"
            if not wrong:
                break
        return Outcome(form=form, tried=event, survived=not wrong, came_out=wrong)

    with ThreadPoolExecutor(TOGETHER) as pool:
        outcomes = list(pool.map(attempt, plan))
    _end_daemons(lab.root)
    return outcomes


_EVENTS_WITH_ANSWERS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure")
_HEALTHY = {
    f"answer: {event}": "what the daemon answers is handed over" for event in _EVENTS_WITH_ANSWERS
} | {f"line: {fault}": "after this fault hook.log says that the hook was silent" for fault in _LOGGED}
HOOK_ANSWERS = Area(
    name="hook, healthy",
    about="A healthy hook hands over what the daemon answers, and a fault leaves its line in hook.log.",
    forms=_HEALTHY,
    run=answers,
    standard=110,
    control=True,
)
HOOK_FAULTS = Area(
    name="hook",
    about="Whatever happens around it, the hook exits 0 in time.",
    forms={name: about for name, (about, _) in FAULTS.items()},
    run=attack,
)
