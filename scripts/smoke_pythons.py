"""Install Tacit on every CPython >= 3.11 of this machine and use it there; print a table.

    uv run --no-sync python scripts/smoke_pythons.py [--wheel FILE] [INTERPRETER ...]

In: interpreters, named or found (PATH, pyenv, uv). Out: a table of interpreter x step; exit code 1 if a step failed or
no interpreter was found. Every interpreter gets a fresh environment with the wheel, a home and a project of its own
below the temporary folder. What the user has is never read or written. Needs uv.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
OLDEST = (3, 11)
AT_ONCE = 2
TIMEOUT_S = 120
STATEMENT = "Run the tests with `make check` before every commit."
DESCRIBE = """
import json, platform, sys
path = getattr(sys, "_base_executable", None) or sys.executable
print(json.dumps([platform.python_implementation(), list(sys.version_info[:3]), path]))
"""


class StepFailed(Exception):
    """A step did not do what it should; the text says what was seen."""


@dataclass(frozen=True, slots=True, order=True)
class Interpreter:
    """One CPython."""

    version: tuple[int, ...]
    path: Path

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def describe(path: str | Path) -> Interpreter | None:
    """The interpreter behind `path` (a shim, a link, an environment), or None when it is no CPython that is new enough."""
    command = [os.fspath(path), "-I", "-S", "-c", DESCRIBE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, cwd="/")
        implementation, version, base = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    found = Interpreter(tuple(version), Path(base).resolve())
    return found if implementation == "CPython" and found.version[:2] >= OLDEST else None


def candidates() -> Iterator[Path]:
    """Where interpreters usually are: PATH, pyenv's versions, what uv knows."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        with suppress(OSError):
            yield from (
                each for each in Path(folder).iterdir() if re.fullmatch(r"python3(\.\d+)?", each.name)
            )
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from pyenv.glob("versions/*/bin/python3")
    with suppress(OSError, ValueError):
        command = ["uv", "python", "list", "--only-installed", "--output-format", "json"]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        yield from (Path(each["path"]) for each in json.loads(listed.stdout) if each.get("path"))


def find_interpreters() -> list[Interpreter]:
    """Every CPython that is new enough, oldest first; of one version and place, one."""
    paths = sorted({path.absolute() for path in candidates()})
    with ThreadPoolExecutor(4) as pool:
        found = {each for each in pool.map(describe, paths) if each}
    return sorted({(each.version, each.path.parent): each for each in found}.values())


@dataclass(slots=True)
class Machine:
    """A person's machine with one Python: an environment, a home, a project and a stub of one coding agent."""

    python: Interpreter
    root: Path
    output: str = field(default="", init=False)

    @property
    def home(self) -> Path:
        """The user's folder."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """Where the commands run."""
        return self.root / "shop"

    @property
    def bin(self) -> Path:
        """Programs of the environment."""
        return self.root / "env" / "bin"

    def environment(self) -> dict[str, str]:
        """What every program sees; nothing of the real user's."""
        return {
            "HOME": os.fspath(self.home), "TACIT_HOME": os.fspath(self.home / ".tacit"), "LANG": "C.UTF-8",
            "PATH": f"{self.root / 'agents'}:{self.bin}:/usr/local/bin:/usr/bin:/bin", "TERM": "dumb",
            "TACIT_HOOK_DEADLINE_MS": "30000", "TACIT_RECALL__DEADLINE_MS": "20000",
        }  # fmt: skip

    def run(self, *command: str | Path, given: str = "") -> str:
        """Run a program; return what it printed.

        Raises:
            StepFailed: if it fails.
        """
        done = subprocess.run(
            list(map(os.fspath, command)), cwd=self.project, env=self.environment(), input=given, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        self.output = done.stdout
        if done.returncode:
            raise StepFailed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def tacit(self, *arguments: str) -> str:
        """Run a command in a script's way: no terminal."""
        return self.run(self.bin / "tacit", *arguments)

    def type(self, *arguments: str) -> str:
        """Run a command in a person's way: on a terminal."""
        ours, theirs = pty.openpty()
        command = [os.fspath(self.bin / "tacit"), *arguments]
        try:
            running = subprocess.Popen(
                command, cwd=self.project, env=self.environment(), stdin=theirs, stdout=theirs, stderr=theirs,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs)
        late = threading.Timer(TIMEOUT_S, running.kill)
        late.start()
        shown = b""
        with suppress(OSError):  # Linux says so when the other end is closed
            while part := os.read(ours, 65_536):
                shown += part
        code = running.wait()
        late.cancel()
        os.close(ours)
        if code:
            raise StepFailed(
                f"tacit {' '.join(arguments)}: exit code {code}\n{shown.decode(errors='replace')}"
            )
        return shown.decode(errors="replace")


def has(text: str, *wanted: str) -> None:
    """Raises StepFailed unless all of `wanted` stand in `text`."""
    missing = [each for each in wanted if each not in text]
    if missing:
        raise StepFailed(f"expected {missing!r} in:\n{text}")


def make(machine: Machine, wheel: Path) -> None:
    """A fresh environment with the wheel, and a machine around it."""
    for folder in (machine.home, machine.project, machine.root / "agents"):
        folder.mkdir()
    agent = machine.root / "agents" / "claude"
    agent.write_text('#!/bin/sh\necho "2.1.0 (Claude Code)"\n')
    agent.chmod(0o755)
    environment = machine.root / "env"
    for command in (
        ("uv", "venv", "--quiet", "--no-project", "--python", machine.python.path, environment),
        ("uv", "pip", "install", "--quiet", "--python", environment / "bin" / "python", wheel),
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise StepFailed(done.stderr)


def install(machine: Machine) -> None:
    """Connect the agent that is found."""
    machine.tacit("install", "--yes")
    has((machine.home / ".claude" / "settings.json").read_text(), "tacit-hook")


def doctor(machine: Machine) -> None:
    """Every check passes; the Python is named."""
    findings = json.loads(machine.tacit("doctor", "--no-hosts", "--json"))["findings"]
    [python] = [each for each in findings if each["name"] == "python"]
    if python["state"] != "ok":
        raise StepFailed(
            f"{python['detail']} Add it to the classifiers of packages/tacit-memory/pyproject.toml once it passes."
        )
    has(python["detail"], str(machine.python))


def remember(machine: Machine) -> None:
    """A person states a rule."""
    has(machine.type("remember", "--when", "always", STATEMENT), "remembered mem_")


def list_(machine: Machine) -> None:
    """The rule is listed."""
    has(machine.tacit("list", "--json"), "make check")


def hook(machine: Machine) -> None:
    """The installed launcher answers a session's start with the rule, and a prompt without an error."""
    launcher = machine.home / ".tacit" / "bin" / "tacit-hook"
    common = {"session_id": "smoke", "cwd": str(machine.project), "transcript_path": "/dev/null"}
    start = {**common, "hook_event_name": "SessionStart", "source": "startup"}
    has(machine.run(launcher, "claude-code", given=json.dumps(start)), "make check")
    prompt = {**common, "hook_event_name": "UserPromptSubmit", "prompt": "commit this change"}
    machine.run(launcher, "claude-code", given=json.dumps(prompt))
    log = machine.home / ".tacit" / "log" / "hook.log"
    if log.exists():
        raise StepFailed(log.read_text())


def why(machine: Machine) -> None:
    """The session's decisions are told."""
    has(machine.tacit("why"), "commit this change")


def ui(machine: Machine) -> None:
    """The page is served."""
    port = json.loads(machine.tacit("ui", "--port", "0", "--json"))["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ui/", timeout=20) as page:
        has(page.read().decode(), "<div id=")


def import_(machine: Machine) -> None:
    """What was exported is read again."""
    machine.tacit("export", "-o", "export.jsonl")
    machine.tacit("import", "export.jsonl")


def stop(machine: Machine) -> None:
    """The daemon leaves."""
    machine.tacit("stop")
    if (machine.home / ".tacit" / "run" / "daemon.sock").exists():
        raise StepFailed("The socket is still there.")


STEPS: dict[str, Callable[[Machine], None]] = {
    "install": install, "doctor": doctor, "remember": remember, "list": list_, "hook": hook, "why": why, "ui": ui,
    "import": import_, "stop": stop,
}  # fmt: skip
MAIN = ("install", "doctor", "remember", "hook", "stop")
"""The way of a memory from a person to an agent. The other commands run on the newest alone: the tests run them on the oldest."""


def smoke(python: Interpreter, wheel: Path, names: Iterable[str]) -> dict[str, str]:
    """Run these steps; a step's name -> "" or what went wrong. Where the environment cannot be made, nothing else runs."""
    # A Unix socket below it has to fit into 104 bytes.
    machine = Machine(python, Path(tempfile.mkdtemp(prefix="tp-", dir="/tmp")).resolve())
    results: dict[str, str] = {}
    try:
        for name, step in {
            "wheel": lambda m: make(m, wheel),
            **{name: STEPS[name] for name in names},
        }.items():
            try:
                step(machine)
                results[name] = ""
            except (StepFailed, OSError, ValueError, subprocess.SubprocessError) as error:
                results[name] = f"{type(error).__name__}: {error}"
                if name == "wheel":
                    break
    finally:
        end_daemon(machine)
        shutil.rmtree(machine.root, ignore_errors=True)
    return results


def end_daemon(machine: Machine) -> None:
    """End a daemon that a failed step left behind; by its own number."""
    with suppress(OSError, ValueError, KeyError):
        os.kill(json.loads((machine.home / ".tacit" / "run" / "daemon.json").read_text())["pid"], 15)


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this working tree."""
    subprocess.run(
        ["uv", "build", "--quiet", "--wheel", "--out-dir", folder, REPOSITORY / "packages/tacit-memory"],
        check=True,
    )
    [wheel] = folder.glob("*.whl")
    return wheel


def print_table(rows: dict[Interpreter, dict[str, str]]) -> None:
    """One line per interpreter, one column per step."""
    names = ("wheel", *STEPS)
    print(f"{'CPython':<9}" + "".join(f"{name:>10}" for name in names) + "  path")
    for python, results in rows.items():
        words = ("ok" if results.get(name) == "" else "FAIL" if name in results else "-" for name in names)
        print(f"{python!s:<9}" + "".join(f"{word:>10}" for word in words) + f"  {python.path}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="A wheel that is there already; without it one is built.")
    parser.add_argument("interpreter", nargs="*", help="Paths; without any, all that are found.")
    given = parser.parse_args()
    named = [describe(each) for each in given.interpreter]
    pythons = [each for each in named if each] if named else find_interpreters()
    if not pythons or None in named:
        print("There is no CPython of 3.11 or newer.", file=sys.stderr)
        return 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tacit-wheel-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        wheel = (given.wheel or build_wheel(Path(folder))).resolve()
        newest = max(pythons)
        done = pool.map(lambda python: smoke(python, wheel, STEPS if python is newest else MAIN), pythons)
        rows = dict(zip(pythons, done, strict=True))
    print_table(rows)
    print(f"{len(rows)} interpreters, {time.monotonic() - began:.0f} s")
    failures = [(python, name, said) for python, row in rows.items() for name, said in row.items() if said]
    for python, name, said in failures:
        print(f"\n{python} {name}: {said}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
