"""The server as it is started for a look: `tacit-server trial`, PostgreSQL and all, with two machines of one person."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine, wait_for
from tacit_server.postgres_process import reason_not_to_start

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(bool(reason_not_to_start()), reason=reason_not_to_start() or "-"),
]

STATEMENT = "Commit messages begin with the ticket number."
EAGER = "recall: {level: eager, budgets: {start: 0}}"


class Trial:
    """`tacit-server trial` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tacit_server.main",
                "trial",
                "--data",
                str(self.folder),
                "--port",
                str(self.port),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(3)]
        self.port = int(lines[0].strip().rpartition(":")[2])
        found = re.search(r"tacit (login \S+ --code \S+ --first)", lines[1])
        assert found, lines
        self.command = found[1].split()
        self.operator = lines[2].strip().partition(": ")[2]

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def end(self) -> None:
        self.process.terminate()
        self._ended()

    def _ended(self) -> None:
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def trial() -> Iterator[Trial]:
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="tacit-trial-", dir="/tmp"))  # a socket below it has a short path
    started = Trial(folder / "data")
    yield started
    started.end()
    shutil.rmtree(folder)


def add(machine: Machine, by: Machine, phrase: str) -> None:
    """Log a further machine in, with the command that the first one prints."""
    said = by.tacit("devices", "invite").stdout
    words = said.strip().partition("tacit ")[2].split()
    file = machine.root / "phrase"
    file.write_text(phrase)
    machine.tacit(*words, "--phrase-file", str(file), "--name", "desktop", "--yes")


def test_from_nothing_to_two_machines_with_one_memory(live, trial):
    laptop, desktop = live(EAGER), live(EAGER)
    said = laptop.tacit(*trial.command, "--name", "laptop", "--yes").stdout
    (phrase,) = re.findall(r"^ {4}((?:\w{5} ){7}\w{5})$", said, re.MULTILINE)
    add(desktop, laptop, phrase)
    laptop.remember(STATEMENT, kind="decision", when="")
    wait_for(lambda: STATEMENT in desktop.contents(), timeout_s=30)
    listed = laptop.tacit("devices").stdout
    assert re.search(r"laptop\s.*\s1\s+0\s*\n", listed)
    assert "synced" in laptop.tacit("status").stdout
    refused = desktop.said("login", trial.command[1], "--code", "me-00000000", "--yes", code=11)
    assert "code is unknown" in refused, "who is logged in accepts an invitation with a code"
    own = laptop.root / "mine.json"
    laptop.tacit("export", "--teams", "--output", str(own))
    assert own.stat().st_mode & 0o077 == 0
    assert "tacit logout" in laptop.said("devices", "revoke", "laptop", "--yes", code=3)
    laptop.tacit("devices", "revoke", "desktop", "--yes")
    assert "revoked" in desktop.said("devices", "sync", code=11)


def test_the_operators_commands_work_on_a_trial_as_it_prints_them(trial):
    said = subprocess.run(
        trial.operator.replace(
            "tacit-server invite NAME", f"{sys.executable} -m tacit_server.main invite eva"
        ),
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.search(r"eva-\w+", said), said
    bare = subprocess.run(
        [sys.executable, "-m", "tacit_server.main", "invite", "eva"],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert bare.returncode == 2
    assert "TACIT_DATABASE_URL" in bare.stderr
