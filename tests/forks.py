"""Start `tacit` and the daemon as processes of their own without loading them anew: forks of one process that has them loaded.

Loading is most of what a command and the start of a daemon take, and a run of the tests starts more than a thousand of each.
Where the start itself is the question, a test starts the program itself: tests/e2e/test_e2e_terminal.py and
scripts/smoke_pythons.py the commands; every test that kills or replaces a daemon, and packages/tacit-memory/tests/unit/daemon, the daemon.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

from tacit.client.daemon_facts import daemon_pid
from tacit.config.environment import one_thread_for_arrays
from tacit.system.processes import is_running
from tacit.text.lazy_regex import compile_all

LOADED = (
    "tacit.cli", "tacit.hosts", "tacit.daemon", "tacit.api", "tacit.app", "tacit.backends.sqlite", "tacit.capture", "tacit.recall",
)  # fmt: skip


def run_tacit(
    arguments: Sequence[str | bytes], *, environ: Mapping[str, str], cwd: Path, timeout_s: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal and without input; what it printed and its exit code, as of `subprocess.run`.

    Raises:
        subprocess.TimeoutExpired: it was killed after `timeout_s`.
    """
    words = [os.fsdecode(argument) for argument in arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        ours, pid = _fork("tacit.cli.main", words, environ=environ, cwd=cwd, files=(out, err))
        if not select.select([ours], [], [], timeout_s)[0]:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout_s)
        with ours:
            code = int(ours.recv(32))
        told = []
        for file in (out, err):
            file.seek(0)
            told.append(file.read().decode("utf-8", "replace").replace("\r\n", "\n"))
    return subprocess.CompletedProcess(["tacit", *words], code, *told)


def start_tacit(
    arguments: Sequence[str], *, environ: Mapping[str, str], cwd: Path, files: Sequence[IO[bytes]]
) -> socket.socket:
    """Start a command whose output and errors go to two files; its exit code can be read from what is returned."""
    return _fork("tacit.cli.main", arguments, environ=environ, cwd=cwd, files=files)[0]


def start_daemon(environ: Mapping[str, str], facts: Path) -> int:
    """Start the daemon of the home that `environ` names; its process id, once it has written its `facts` or has left."""
    with Path(os.devnull).open("wb") as nowhere:
        ours, pid = _fork(
            "tacit.daemon.__main__", (), environ=environ, cwd=Path("/"), files=(nowhere, nowhere)
        )
    with ours:
        while daemon_pid(facts) != pid and is_running(pid):
            time.sleep(0.005)
    return pid


_lock = threading.Lock()


def _fork(
    module: str, words: Sequence[str], *, environ: Mapping[str, str], cwd: Path, files: Sequence[IO[bytes]]
) -> tuple[socket.socket, int]:
    asked = {"module": module, "arguments": words, "environ": dict(environ), "cwd": str(cwd)}
    ours, theirs = socket.socketpair()
    with theirs, _lock:
        numbers = [theirs.fileno(), *(file.fileno() for file in files)]
        socket.send_fds(_loaded()[0], [json.dumps(asked).encode("ascii")], numbers)
    return ours, int(ours.recv(32))


@functools.cache
def _loaded() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the process with the command line in it; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
        started = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            env=environ, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return ours, started


def _load() -> None:
    one_thread_for_arrays()
    for package in LOADED:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for _ in compile_all():
        pass
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork has one thread"
    gc.collect()
    gc.freeze()


def _serve(asked: socket.socket) -> dict | None:
    """Fork for every command that is asked for; what a fork is to run, or None at the end."""
    while True:
        given, files, _, _ = socket.recv_fds(asked, 1 << 20, 3)
        if not given:
            return None
        if os.fork() == 0:
            asked.close()
            return _begin(json.loads(given), *files)
        for file in files:
            os.close(file)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _begin(command: dict, told: int, out: int, err: int) -> dict:
    """Become the process of `command`; another one waits for its end and tells it."""
    if pid := os.fork():
        os.close(out)
        os.close(err)
        os.write(told, str(pid).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # nobody waited so long
            os.write(told, str(code).encode())
        os._exit(0)
    os.close(told)
    if command["module"] == "tacit.daemon.__main__":
        os.setsid()
    for number, file in ((1, out), (2, err)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(command["environ"])
    os.chdir(command["cwd"])
    return command


if __name__ == "__main__":
    door = socket.socket(fileno=int(sys.argv[1]))
    _load()
    command = _serve(door)
    if command is not None:
        main = import_module(command["module"])
        sys.argv = [str(main.__file__), *command["arguments"]]
        sys.exit(main.main())
