"""What operating systems do differently stands in `tacit.system`, and in two programs that import nothing of `tacit`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tacit

ROOT = Path(tacit.__file__).parent
MODULES = {
    "fcntl",
    "msvcrt",
    "pwd",
    "grp",
    "resource",
    "termios",
    "tty",
    "pty",
    "winreg",
    "_winapi",
    "ctypes",
}
NAMES = {
    "os": {
        "fork", "setsid", "getuid", "geteuid", "getgid", "getpgrp", "killpg", "kill", "umask", "chmod", "fchmod", "chown", "pwrite",
        "sysconf", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_DIRECTORY", "mkfifo", "uname", "open",
    },
    "signal": {"SIGKILL", "SIGALRM", "SIGHUP", "setitimer", "alarm"},
    "socket": {"AF_UNIX"},
}  # fmt: skip
KEYWORDS = {"start_new_session", "creationflags", "preexec_fn", "process_group"}
PROGRAMS = {"providers/writing/guard.py"}
"""It runs as `python -I -S`, as the hook client does, which lies beside the package."""
EXCUSED = {
    "daemon/allocator.py": {"ctypes"},  # glibc's malloc; the module does nothing elsewhere
    # A folder below /tmp where there are Unix sockets; whose a folder is, in a message.
    "config/home.py": {"os.getuid", "st_uid"},
}


def found_in(path: Path) -> Iterator[str]:
    """Every word of one system that a module uses."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in MODULES)
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                yield module
            case ast.Attribute(value=ast.Name(id=module), attr=attribute) if attribute in NAMES.get(
                module, ()
            ):
                yield f"{module}.{attribute}"
            case ast.Attribute(attr="chmod" | "st_uid" as attribute):
                yield attribute
            case ast.keyword(arg=str(keyword)) if keyword in KEYWORDS:
                yield keyword
            case _:
                pass


def test_only_one_package_knows_the_operating_system() -> None:
    strays: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("system/") or name in PROGRAMS:
            continue
        if found := set(found_in(path)) - EXCUSED.get(name, set()):
            strays[name] = found
    assert strays == {}


def test_the_check_sees_what_it_looks_for() -> None:
    found = {word for path in (ROOT / "system").glob("*.py") for word in found_in(path)}
    assert {"fcntl", "msvcrt", "os.killpg", "os.open", "socket.AF_UNIX", "chmod", "st_uid"} <= found
