"""Measures the first hour: from a wheel to the first memory that reaches the model, on a machine that has nothing yet.

Run: `python -m tacit_evals.timeline [--claude FILE] [--json FILE]`. Builds the wheel of the newest commit, installs it with
`uv tool install` for a person who has an empty home, connects Claude Code, imports a project's rule file, and runs one real
session of the real client against the stub model on loopback. The client comes from tests/e2e/clients unless it is named.

The client itself puts `CLAUDE.md` into its context, so its rules are not handed over twice. What is looked for is therefore
the memory that the person states with `tacit remember`, before the session.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tacit.client.daemon_facts import end_daemon
from tacit.config.home import TOKEN_VARIABLE, Home
from tacit.hosts.claude_code import install as claude_code
from tacit.hosts.probe import run_client
from tacit.hosts.probe.stub_model import StubModel
from tacit.safety.authority import Authority
from tacit_evals.plain_install import SOURCE, build_wheel, commit_copy
from tacit_evals.timing import Row, print_rows, write_json

TARGET_S = 60.0
NONCE = "kestrel4711"
RULE = f"Always name database migrations after {NONCE} and never edit one that has been released."
RULE_FILE = """# Shop

## Conventions

- Use pnpm, never npm, for everything in `web/`.
- Run `just check` before each commit; a red check is never pushed.
- Money is an integer number of cents everywhere; never a float.

## Tests

- Every bug fix comes with a test that failed before it.
"""
PROMPT = "Add a database migration that gives orders a note column."
_CLIENTS = Path("tests") / "e2e" / "clients" / "node_modules" / ".bin"
_STEP_LIMIT_S = 300
_NOT_COUNTED = "not counted"


class Person:
    """Somebody with an empty home, a git project with a rule file, and a clock beside them."""

    def __init__(self, root: Path, client: Path | None) -> None:
        self.home = root / "home"
        self.project = root / "shop"
        self.tacit_home = self.home / ".tacit"
        self.steps: list[Row] = []
        self._bin = root / "bin"
        for folder in (self.home, self.project, self._bin):
            folder.mkdir()
        if client is not None:
            # A link by another name would confuse the client about itself; a two-line script does not.
            script = self._bin / client.name
            script.write_text(f'#!/bin/sh\nexec "{client}" "$@"\n', "utf-8")
            script.chmod(0o755)
        folders = [
            str(self._bin),
            *(str(Path(program).parent) for name in ("uv", "node") if (program := shutil.which(name))),
        ]
        self.search_path = ":".join([*folders, "/usr/local/bin", "/usr/bin", "/bin"])
        self._root = root
        # The person has a terminal; a program that plays them has their token.
        self._token = Authority(Home(self.tacit_home)).create("person")

    def environment(self) -> dict[str, str]:
        """What the person's shell has: nothing of ours but where packages come from."""
        env = {name: text for name, text in os.environ.items() if name.startswith(("UV_", "PIP_", "SSL_"))}
        return {
            **env, "HOME": str(self.home), "TACIT_HOME": str(self.tacit_home), "PATH": self.search_path,
            "LANG": "C.UTF-8", "TERM": "dumb", "UV_TOOL_DIR": str(self._root / "tools"),
            "UV_TOOL_BIN_DIR": str(self._bin), "UV_PYTHON": sys.executable,
        }  # fmt: skip

    def step(self, name: str, command: Sequence[str], *, counts: bool = True) -> str:
        """Run one command of the first hour and note how long it took."""
        began = time.perf_counter()
        done = subprocess.run(
            list(command),
            cwd=self.project,
            env={**self.environment(), TOKEN_VARIABLE: self._token},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_STEP_LIMIT_S,
            check=False,
        )
        self.note(name, time.perf_counter() - began, counts=counts)
        if done.returncode:
            raise SystemExit(f"{name} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def note(self, name: str, seconds: float, *, counts: bool = True, note: str = "") -> None:
        """Add a step; what does not count is the machine's preparation, not the person's time."""
        self.steps.append(Row(name=name, value=seconds, unit="s", note=note if counts else _NOT_COUNTED))

    def first_request(self, prompt: str, pattern: str) -> tuple[float, str]:
        """Run one real session of Claude Code until a request with the expected text reaches the stub model.

        Args:
            prompt: the prompt of the session.
            pattern: regular expression of the expected text.

        Returns:
            The seconds until the first request that holds the text, and where in the request it is.

        Raises:
            SystemExit: no request holds the text.
        """
        with StubModel() as stub:
            environment = claude_code.environment(
                stub.url, home=self.home, tacit_home=self.tacit_home, search_path=self.search_path
            )
            command = ["claude", "-p", prompt, "--model", claude_code.MODEL]
            return self.request_with(pattern, stub, command, environment)

    def request_with(
        self, pattern: str, stub: StubModel, command: Sequence[str], environment: Mapping[str, str]
    ) -> tuple[float, str]:
        """Run a client of the person, which talks to `stub`, until a request has a text that matches `pattern`.

        Returns:
            The seconds until that request, and where in the request the text is.

        Raises:
            SystemExit: no request holds the text.
        """
        began_ms = time.time_ns() // 1_000_000
        words = [str(self._bin / command[0]), *command[1:]]
        finished = run_client(words, environment=environment, cwd=self.project, timeout_s=120)
        for request in stub.agent_requests:
            if found := request.find(pattern):
                return (request.at_ms - began_ms) / 1000, found[0]
        raise SystemExit(
            f"the memory is in none of {len(stub.agent_requests)} requests:\n{finished.out}{finished.err}"
        )


def prepare_project(person: Person) -> None:
    """A small git project with a rule file."""
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "config", "user.email", "dev@example.invalid"],
        ["git", "config", "user.name", "Dev"],
    ):
        subprocess.run(command, cwd=person.project, check=True)
    (person.project / "CLAUDE.md").write_text(RULE_FILE, "utf-8")
    (person.project / "orders.py").write_text(
        "def total(cents: list[int]) -> int:\n    return sum(cents)\n", "utf-8"
    )
    subprocess.run(["git", "add", "-A"], cwd=person.project, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Begin"], cwd=person.project, check=True)


def first_hour(root: Path, claude: Path) -> list[Row]:
    """Do everything from the wheel to the first injected memory. Return the steps with their times."""
    person = Person(root, claude)
    prepare_project(person)
    began = time.perf_counter()
    wheel = build_wheel(commit_copy(root / "source"), root / "dist")
    person.note("uv build", time.perf_counter() - began, counts=False)
    tacit = str(root / "bin" / "tacit")
    try:
        person.step("uv tool install", ["uv", "tool", "install", str(wheel)])
        person.step("tacit install", [tacit, "install", "--yes"])
        person.step("tacit init", [tacit, "init", "--yes"])
        person.step("tacit remember", [tacit, "remember", RULE])
        took_s, location = person.first_request(PROMPT, re.escape(NONCE))
        person.note("Claude Code: first request with the memory in it", took_s, note=f"at {location}")
    finally:
        end_daemon(Home(person.tacit_home).daemon_file)
    return person.steps


def find_client(name: str, named: Path | None = None) -> Path:
    """Return the client to use: `named`, or the one that `scripts/install_clients.sh` installs.

    Raises:
        SystemExit: it does not exist; the message says how to get one.
    """
    client = named or SOURCE / _CLIENTS / name
    if not client.exists():
        raise SystemExit(f"{client} is missing: `bash scripts/install_clients.sh` installs the clients.")
    return client.absolute()


def run_timeline(
    measure: Callable[[Path, Path], Sequence[Row]],
    *,
    program: str,
    description: str | None,
    title: str,
    total_name: str,
    target_s: float,
) -> NoReturn:
    """Measure a timeline with the options of the command line, and print it. The exit code is 1 if it took longer than the target.

    Args:
        measure: does the steps, given an empty folder and the Claude Code client; returns them with their times.
        program: the name of the module, for the help text.
        description: the docstring of the module; its first line is shown in the help text.
        title: the title of the table.
        total_name: the name of the row with the total.
        target_s: the target for the total, in seconds.
    """
    parser = argparse.ArgumentParser(prog=program, description=(description or "").partition("\n")[0])
    parser.add_argument("--claude", type=Path, help="the Claude Code client")
    parser.add_argument("--json", type=Path, help="also write the timeline to this file")
    options = parser.parse_args()
    claude = find_client("claude", options.claude)
    with tempfile.TemporaryDirectory(prefix="tl-", dir="/tmp") as folder:
        steps = measure(Path(folder), claude)
    total_s = sum(row.value for row in steps if row.note != _NOT_COUNTED)
    total = Row(name=total_name, value=total_s, unit="s", target=target_s, note="tool time")
    print_rows([*steps, total], title=title)
    write_json(options.json, [*steps, total])
    raise SystemExit(0 if total.verdict == "ok" else 1)


def main() -> None:
    """Measure the first hour of a person."""
    run_timeline(
        first_hour,
        program="tacit_evals.timeline",
        description=__doc__,
        title="The first hour",
        total_name="first injected memory after",
        target_s=TARGET_S,
    )


if __name__ == "__main__":
    main()
