"""The launcher: the command that hosts call, in the home, with a copy of the hook client beside it.

In: a home and the interpreter that has Tacit. Out: `bin/tacit-hook` (a shell script), `bin/tacit_hook.py` and its
bytecode. It survives upgrades and moved environments: it holds no path into a package, and where its interpreter is
gone it tries others and at last prints nothing and exits 0.

On Windows it is `bin/tacit-hook.exe`, because hosts start programs there without a shell, and Node does not start a `.cmd` file
without one (CVE-2024-27980). It consists of the launcher of distlib, which pip also uses, a line with the interpreter and its
options, and an archive with the hook client. If its interpreter was removed, it prints an error and exits 1. A host shows the
error and continues.

Measured here (median of 40, daemon answering "hello"): interpreter alone 9 ms; shell, bytecode 11 ms; a Python script
with its own shebang 16 ms, because it is compiled again on every call; `python -c 'import json,socket'` 22 ms.
"""

from __future__ import annotations

import contextlib
import os
import platform
import py_compile
import re
import secrets
import shlex
import sys
import tempfile
import zipfile
from importlib import resources
from io import BytesIO
from pathlib import Path

from tacit.client.daemon_facts import hook_source, version_key
from tacit.config.home import Home
from tacit.daemon.lifecycle import write_private
from tacit.errors import HostError, StoreReadOnly
from tacit.hosts.install.files import INSTALL_VERSION, STAMP, describe_age, version_in

HOOK_NAME = "tacit_hook.py"
_OURS = "# Tacit's launcher,"
_INTERPRETER = re.compile(r"""\nPYTHON = ('[^'\n]*'|"[^"\n]*")""")
"""The line of the copy that names the interpreter."""

_SCRIPT = """\
#!/bin/sh
# Tacit's launcher, {stamp}. Hosts call it; it prints what is to be injected, or nothing.
for python in {pythons} "$(command -v python3)"; do
  [ -x "$python" ] && break
done
[ -x "$python" ] || exit 0
hook={hook}
# A host may not have the variable that the installation had: this launcher belongs to this home.
[ -n "$TACIT_HOME" ] || export TACIT_HOME={home}
[ "$1" = mcp ] && exec "$python" -I -S -E "$hook" "$@"
# The hook itself always exits 0: anything else means that this interpreter cannot read the bytecode.
"$python" -I -S -E "${{hook}}c" "$@" 2>/dev/null || "$python" -I -S -E "$hook" "$@" 2>/dev/null
exit 0
"""


_MAIN = """\
# Tacit's launcher, {stamp}. Hosts call it; it prints what is to be injected, or nothing.
import sys
from os import _exit, environ

# A host may not have the variable that the installation had: this launcher belongs to this home.
environ["TACIT_HOME"] = environ.get("TACIT_HOME") or {home!r}
try:
    from tacit_hook import main
except BaseException:
    _exit(0)
main(sys.argv[1:])
"""
_AS_OF = (1980, 1, 1, 0, 0, 0)
"""The fixed time of the files in the archive, so that the same input gives the same bytes."""


def write_launcher(home: Home, *, python: str = "") -> Path:
    """Write the launcher and the hook client into `bin` of the home; safe to call again and while hooks run.

    Args:
        home: whose launcher it is; its folders are made if they are missing.
        python: interpreter that has Tacit; "" = this one.

    Returns:
        The launcher's path, which hosts are to call.

    Raises:
        HostError: if this installation lacks the hook client.
        StoreReadOnly: if the home cannot be written.
    """
    home.ensure()
    python = python or sys.executable
    text = _hook_text()
    copied = text.replace('\nPYTHON = ""', f"\nPYTHON = {python!r}")
    hook = home.bin_dir / HOOK_NAME
    write_private(hook, copied.encode("utf-8", "surrogateescape"))
    write_private(hook.with_suffix(".pyc"), _bytecode(hook))
    if home.launcher.suffix == ".exe":
        program = windows_program(home, python, copied)
        _make_room(home.launcher)
        write_private(home.launcher, program, mode=0o700)
        return home.launcher
    names = [python, os.path.realpath(python)]
    pythons = " ".join(shlex.quote(name) for name in dict.fromkeys(names))
    script = _SCRIPT.format(
        stamp=STAMP,
        pythons=pythons,
        hook=shlex.quote(os.fspath(hook)),
        home=shlex.quote(os.fspath(home.root)),
    )
    write_private(home.launcher, script.encode("utf-8", "surrogateescape"), mode=0o700)
    return home.launcher


def windows_program(home: Home, python: str, hook_text: str, *, arm: bool | None = None) -> bytes:
    """Return the bytes of the launcher for Windows, an `.exe` file. The same arguments give the same bytes.

    Args:
        home: the home that it uses if TACIT_HOME is not set.
        python: path of an interpreter.
        hook_text: the hook client.
        arm: whether it is for an ARM processor; None = for the processor of this machine.

    Raises:
        HostError: distlib is not installed.
    """
    arm = platform.machine().lower() in ("arm64", "aarch64") if arm is None else arm
    try:
        stub = resources.files("distlib").joinpath("t64-arm.exe" if arm else "t64.exe").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        raise HostError(
            "This installation lacks distlib, which makes programs for Windows.", hint="Install Tacit again."
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / HOOK_NAME
        source.write_bytes(hook_text.encode("utf-8", "surrogateescape"))
        files = {
            "__main__.py": _MAIN.format(stamp=STAMP, home=os.fspath(home.root)).encode(
                "utf-8", "surrogateescape"
            ),
            # A Python of another version cannot read the bytecode and uses the source.
            f"{HOOK_NAME}c": _bytecode(source, shown_as=HOOK_NAME),
            HOOK_NAME: source.read_bytes(),
        }
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
        for name, data in files.items():
            opened.writestr(zipfile.ZipInfo(name, _AS_OF), data)
    line = f'#!"{python}" -I -S -E\r\n'.encode("utf-8", "surrogateescape")
    return stub + line + archive.getvalue()


def _make_room(launcher: Path) -> None:
    """Rename a running program, because Windows does not allow to replace it. Also delete programs that were renamed before, if they have ended."""
    for old in launcher.parent.glob(f".{launcher.stem}.*.old"):
        with contextlib.suppress(OSError):
            old.unlink()
    with contextlib.suppress(OSError):
        launcher.rename(launcher.with_name(f".{launcher.stem}.{secrets.token_hex(4)}.old"))


def launcher_problem(home: Home) -> str:
    """Return, as a sentence, why the launcher of a home is not the one that this version writes; "" = it is."""
    try:
        version = version_in(home.launcher.read_text("utf-8", "surrogateescape"))
        hook = (home.bin_dir / HOOK_NAME).read_text("utf-8", "surrogateescape")
        current = version == INSTALL_VERSION and _INTERPRETER.sub('\nPYTHON = ""', hook) == _hook_text()
    except (OSError, HostError) as error:
        return f"{home.launcher} and {HOOK_NAME} cannot be read: {error}."
    return "" if current else f"{home.launcher} {describe_age(version)}."


def refresh_launcher(home: Home) -> bool:
    """Write the launcher anew if an older version wrote it. Return whether it did; False also if the files cannot be read or written."""
    try:
        written = _version_of((home.bin_dir / HOOK_NAME).read_text("utf-8"))
        script = home.launcher.read_text("utf-8", "surrogateescape")
        older_script = _OURS in script and version_in(script) < INSTALL_VERSION
        if not older_script and version_key(written) >= version_key(_version_of(_hook_text())):
            return False
        write_launcher(home)
    except (OSError, UnicodeDecodeError, HostError, StoreReadOnly):
        return False
    return True


def _hook_text() -> str:
    source = hook_source()
    text = source.read_text("utf-8")
    if text.count('\nPYTHON = ""') != 1:
        raise HostError(f"{source} is not the hook client of this version.", hint="Install Tacit again.")
    return text


def _version_of(text: str) -> str:
    line = next((line for line in text.splitlines() if line.startswith("VERSION = ")), "")
    return line.removeprefix("VERSION = ").strip("\"'")


def _bytecode(hook: Path, *, shown_as: str = "") -> bytes:
    """Return the compiled bytecode of `hook`, so that no call compiles it. It does not depend on the time of the file.

    `shown_as` is the name of the file in error messages; "" = its path.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "hook.pyc"
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            os.fspath(hook),
            cfile=os.fspath(target),
            dfile=shown_as or None,
            doraise=True,
            invalidation_mode=mode,
        )
        return target.read_bytes()
