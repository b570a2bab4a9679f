"""Runs a Python program here as if on Windows, as far as that goes: its paths stay POSIX paths.

    python windows_like.py FILE ARGUMENTS...      or      python windows_like.py -m MODULE ARGUMENTS...

What Windows lacks is gone (`fork`, signals, owners, Unix sockets, `fcntl` and its like), what only Windows has is played
(`msvcrt`, flags of `subprocess`, the calls of `kernel32` that Tacit makes), and `sys.platform` says `win32`. Modules that are
not Tacit's are loaded before, because theirs is another story. A program that is started from here runs the same way.
"""

from __future__ import annotations

import os
import runpy
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

BLOCKED = (
    "fcntl",
    "pwd",
    "grp",
    "resource",
    "termios",
    "tty",
    "pty",
    "syslog",
    "readline",
    "curses",
    "posix",
    "spwd",
)
GONE_FROM_OS = (
    "fork", "forkpty", "setsid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgrp", "getpgid", "killpg",
    "setpgid", "pwrite", "pread", "fchmod", "fchown", "chown", "lchown", "sysconf", "nice", "mkfifo", "mknod", "getloadavg",
    "uname", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "O_NOATIME", "sched_getaffinity", "posix_spawn",
    "posix_spawnp", "statvfs", "chroot", "wait", "wait3", "wait4", "register_at_fork", "ctermid", "setuid", "setgid",
)  # fmt: skip
GONE_FROM_SIGNAL = ("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE", "SIGQUIT", "setitimer", "alarm", "pause")  # fmt: skip
NEW_GROUP, NO_WINDOW, DETACHED, BREAKAWAY = 0x200, 0x0800_0000, 0x8, 0x0100_0000


def become_windows() -> None:
    """Change this process. Everything that is imported from here on sees a Windows."""
    flock, exclusive = _module("fcntl").flock, _module("fcntl").LOCK_EX | _module("fcntl").LOCK_NB
    kill, killpg, sigkill = os.kill, os.killpg, signal.SIGKILL
    _change_processes()
    _play_kernel(kill)
    _play_taskkill(killpg, sigkill)

    def locking(handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        flock(handle, exclusive)

    msvcrt: Any = types.ModuleType("msvcrt")
    msvcrt.locking, msvcrt.LK_NBLCK = locking, 2
    sys.modules["msvcrt"] = msvcrt
    socket.SO_EXCLUSIVEADDRUSE = socket.SO_KEEPALIVE  # type: ignore[attr-defined] # the name alone is played
    pair, unix = socket.socketpair, socket.AF_UNIX
    socket.socketpair = lambda *_, **__: pair(unix)  # Windows makes one of TCP sockets
    for module, names in (
        (os, GONE_FROM_OS),
        (signal, GONE_FROM_SIGNAL),
        (_module("_signal"), GONE_FROM_SIGNAL),
        (socket, ("AF_UNIX",)),
        (_module("_socket"), ("AF_UNIX",)),
    ):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in BLOCKED:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.platform = "win32"


def _module(name: str) -> Any:
    return __import__(name)


def _change_processes() -> None:
    """`subprocess` takes the flags of Windows, and a Python that it starts lives here, too."""
    started = subprocess.Popen.__init__

    def start(self: Any, args: Any, *given: Any, creationflags: int = 0, **options: Any) -> None:
        if creationflags:
            assert not creationflags & ~(NEW_GROUP | NO_WINDOW | DETACHED | BREAKAWAY), hex(creationflags)
            options["start_new_session"] = True
        if isinstance(args, list | tuple) and "tacit.daemon" in args:
            at = args.index("-m")
            args = [*args[:at], os.fspath(Path(__file__).resolve()), *args[at:]]
        started(self, args, *given, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
    subprocess.CREATE_NEW_PROCESS_GROUP = NEW_GROUP  # type: ignore[attr-defined]
    subprocess.CREATE_NO_WINDOW = NO_WINDOW  # type: ignore[attr-defined]


def _play_kernel(kill: Any) -> None:
    """The three calls of kernel32 that tell whether a process lives."""
    ctypes: Any = _module("ctypes")

    class Kernel:
        def __init__(self, name: str, *, use_last_error: bool) -> None:
            assert (name, use_last_error) == ("kernel32", True)

        def OpenProcess(self, _access: int, _inherit: int, pid: int) -> int:  # noqa: N802
            try:
                kill(pid, 0)
            except OSError:
                return 0
            return pid

        def WaitForSingleObject(self, process: int, _ms: int) -> int:  # noqa: N802
            try:
                stat = Path(f"/proc/{process}/stat").read_text("utf-8")
                return 0 if stat.rpartition(")")[2].split()[0] == "Z" else 258
            except OSError:
                return 0

        def CloseHandle(self, _process: int) -> None:  # noqa: N802
            pass

    ctypes.WinDLL = Kernel
    ctypes.get_last_error = lambda: 87  # ERROR_INVALID_PARAMETER: no such process


def _play_taskkill(killpg: Any, sigkill: int) -> None:
    run = subprocess.run

    def taskkill(command: Any, *given: Any, **options: Any) -> Any:
        if command[:1] != ["taskkill"]:
            return run(command, *given, **options)
        assert command[1:4] == ["/T", "/F", "/PID"]
        try:
            killpg(int(command[4]), sigkill)
        except ProcessLookupError:
            return subprocess.CompletedProcess(command, 128)
        return subprocess.CompletedProcess(command, 0)

    subprocess.run = taskkill


def load_foreign(*packages: str) -> None:
    """Load everything that Tacit loads, then forget Tacit's own modules."""
    import contextlib
    import importlib
    import pkgutil

    for package in packages:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not (module.name.endswith("__main__") or ".migrations." in module.name):
                with contextlib.suppress(ModuleNotFoundError):  # of an agent framework that is not installed
                    importlib.import_module(module.name)
    for name in list(sys.modules):
        if name.partition(".")[0] in ("tacit", *packages):
            del sys.modules[name]


def main(arguments: list[str]) -> None:
    """Run what the arguments name."""
    isolated = sys.flags.no_site
    if isolated:  # the hook client: the standard library alone
        _module("zipimport"), _module("json"), _module("ctypes"), _module("hashlib")
    else:
        load_foreign("tacit")
        (
            _module("rich.console"),
            _module("rich.table"),
            _module("rich.progress"),
        )  # loaded when the command line prints
    become_windows()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
