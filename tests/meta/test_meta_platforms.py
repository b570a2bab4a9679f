"""What operating systems do differently stands in `tacit.system`, and in two programs that import nothing of `tacit`."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
import tacit_integrations
import tacit_server

ROOT = Path(tacit.__file__).parent
OTHERS = [Path(package.__file__).parent for package in (tacit_server, tacit_integrations)]
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
    # Servers for tests and measurements: PostgreSQL does not run as root, and a signal ends it.
    "postgres_process.py": {"os.geteuid", "chmod", "start_new_session"},
    "daemon/allocator.py": {"ctypes"},  # glibc's malloc; the module does nothing elsewhere
    # A folder below /tmp where there are Unix sockets; whose a folder is, in a message.
    "config/home.py": {"os.getuid", "st_uid"},
}


WORDS = re.compile(
    "|".join([*MODULES, *KEYWORDS, "chmod", "st_uid", *(rf"\b{module}\." for module in NAMES)])
)
"""Only modules in which these are found are parsed."""


def found_in(path: Path) -> Iterator[str]:
    """Every word of one system that a module uses."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if WORDS.search(text) else ():
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
    for root, path in ((each, path) for each in (ROOT, *OTHERS) for path in each.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("system/") or name in PROGRAMS:
            continue
        if found := set(found_in(path)) - EXCUSED.get(name, set()):
            strays[name] = found
    assert strays == {}


def test_the_check_sees_what_it_looks_for() -> None:
    found = {word for path in (ROOT / "system").glob("*.py") for word in found_in(path)}
    assert {"fcntl", "msvcrt", "os.killpg", "os.open", "socket.AF_UNIX", "chmod", "st_uid"} <= found


IMPORTS = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import windows_like
packages = ("tacit", "tacit_server", "tacit_integrations")
windows_like.load_foreign(*packages)
names = [m.name for package in packages for m in pkgutil.walk_packages(__import__(package).__path__, f"{package}.")]
for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
    del sys.modules[name]
windows_like.become_windows()
failed = {}
frameworks = {f"tacit_integrations.{name}" for name in ("langchain", "langgraph", "litellm", "llama_index", "openai_agents", "pydantic_ai")}
for name in names:
    if ".migrations." in name or name.endswith("__main__"):
        continue
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name not in frameworks:
            failed[name] = str(error)
    except BaseException as error:
        failed[name] = f"{type(error).__name__}: {error}"
print(json.dumps([len(names), failed]))
"""


@pytest.mark.slow
def test_every_module_loads_without_what_windows_lacks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    count, failed = json.loads(done.stdout)
    assert failed == {}
    assert count > 400
