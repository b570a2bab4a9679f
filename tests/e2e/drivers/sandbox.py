"""One throw-away machine for a person: home, Tacit home, git project, stub model. Everything in it ends with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from e2e.drivers.last_of_run import end_with_run
from forks import run_tacit, start_daemon
from scripted_model import ScriptedModel
from tacit.client import daemon_facts
from tacit.hosts import probe as process
from tacit.system.processes import born, is_running
from user_voice import as_user

REPOSITORY = Path(__file__).parents[3]
PATIENT = {"TACIT_RECALL__DEADLINE_MS": "4000"}
"""What is tested is what arrives, not how fast: on a busy machine a recall takes longer than a person would wait."""


class Sandbox:
    """A person's machine. Paths are short: a Unix socket below them has to fit into 104 bytes."""

    def __init__(self, script=(), model: type[ScriptedModel] = ScriptedModel) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="te-")).resolve()
        self.home = self.root / "home"
        self.tacit_home = self.root / "t"
        self.project = self.root / "shop"
        for folder in (self.home, self.project):
            folder.mkdir()
        self.stub = model(script, record=self.root / "requests")
        self._groups: list[subprocess.Popen] = []
        self._daemons: set[tuple[int, int]] = set()
        self.search_path = process.SEARCH_PATH
        self.git("init", "-q", "-b", "main")

    def __enter__(self) -> Self:
        self.stub.__enter__()
        return self

    def __exit__(self, *error) -> None:
        for started in self._groups:
            if started.returncode is None:  # else its id may be another one's by now
                process.end_group(started.pid)
                started.wait(30)
        self._note_daemon()
        ended = daemon_facts.end_daemon(self.daemon_file, timeout_s=30)
        left = [pid for pid, born_at in self._daemons if is_running(pid, born_at=born_at)]
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.stub.__exit__(*error)
        if not os.environ.get("TACIT_E2E_KEEP"):
            shutil.rmtree(self.root, ignore_errors=True)
        assert ended, "a daemon survived SIGTERM and SIGKILL"
        assert not left, f"orphan daemons: {left}"

    # files ------------------------------------------------------------------------------------------

    def write(self, relative: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.project / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def git(self, *args: str) -> None:
        subprocess.run(
            ["git", *args], cwd=self.project, env=self.environment(), check=True, capture_output=True
        )

    def configure(self, text: str) -> None:
        """Write the user's settings file."""
        self.tacit_home.mkdir(mode=0o700, exist_ok=True)
        (self.tacit_home / "config.yaml").write_text(text, encoding="utf-8")

    # tacit ------------------------------------------------------------------------------------------

    def environment(self, **more: str) -> dict[str, str]:
        """What every program on this machine sees."""
        base = process.clean_environment(self.home, self.tacit_home, search_path=self.search_path)
        return {**base, **PATIENT, **more}

    def tacit(
        self, *args: str, check: bool = True, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line as the person would."""
        as_told = as_user(self.environment(), self.tacit_home)
        finished = run_tacit(args, environ=as_told, cwd=cwd or self.project)
        if check:
            assert finished.returncode == 0, f"tacit {' '.join(args)}\n{finished.stdout}\n{finished.stderr}"
        return finished

    def tacit_json(self, *args: str):
        """Run a command with --json and read what it prints."""
        return json.loads(self.tacit(*args, "--json").stdout)

    def ask_daemon(self, path: str):
        """What the running daemon answers to a GET; quicker than a command where a test looks again and again."""
        from tacit.client.daemon_client import DaemonClient
        from tacit.config.home import Home

        return DaemonClient(Home(self.tacit_home)).request("GET", path)[1]

    def engine(self):
        """The engine on this machine's store, to seed and to look; close it after use."""
        from tacit.app.wiring import open_engine

        return open_engine(self.tacit_home)

    def store(self):
        """This machine's store, to look at records the engine does not show; close it after use."""
        from tacit.backends.sqlite import open_sqlite_store
        from tacit.config.home import Home
        from tacit.providers.clock import SystemClock

        return open_sqlite_store(Home(self.tacit_home), clock=SystemClock())

    def remember(self, *statements: str, **how) -> list[str]:
        """Store statements for the project; return the ids of what was stored."""
        from contextlib import closing

        with closing(self.engine()) as engine:
            changes = [c for text in statements for c in engine.remember(text, cwd=str(self.project), **how)]
        ids = [change.memory.id for change in changes if hasattr(change, "memory")]
        assert len(ids) >= len(statements), f"not everything was stored: {changes}"
        return ids

    def contents(self) -> list[str]:
        """The content of every active memory."""
        from contextlib import closing

        from tacit.ports.store import MemoryFilter

        with closing(self.engine()) as engine:
            return [memory.content for memory in engine.list_memories(MemoryFilter(), limit=500)]

    def wait_for_memory(self, word: str, *, timeout_s: float = 90.0) -> list[str]:
        """Wait until a memory holds `word`, since capture runs after the session; return every active content."""
        end = time.monotonic() + timeout_s
        while True:
            found = self.contents()
            if any(word in text for text in found):
                return found
            if time.monotonic() > end:
                raise AssertionError(f"no memory holds {word!r}: {found}\n{self._what_the_daemon_did()}")
            time.sleep(0.3)

    def _what_the_daemon_did(self) -> str:
        """The end of the daemon's log."""
        log = self.tacit_home / "log" / "daemon.log"
        return log.read_text("utf-8")[-4000:] if log.is_file() else "no daemon has run"

    # processes --------------------------------------------------------------------------------------

    @property
    def daemon_file(self) -> Path:
        return self.tacit_home / "run" / "daemon.json"

    def daemon_pid(self) -> int | None:
        """Process id of the running daemon, or None."""
        self._note_daemon()
        return daemon_facts.daemon_pid(self.daemon_file)

    def wait_for_daemon(self, *, timeout_s: float = 60.0) -> int:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if pid := self.daemon_pid():
                return pid
            time.sleep(0.05)
        raise AssertionError("no daemon came up")

    def wake_daemon(self) -> int:
        """Have a daemon that answers."""
        if self.daemon_pid() is None:
            start_daemon(self.environment(), self.daemon_file)
        subprocess.run(
            [str(self.tacit_home / "bin" / "tacit-hook"), "start"],
            env=self.environment(),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )
        return self.wait_for_daemon()

    def kill_daemon(self) -> int:
        """End the daemon the hard way (SIGKILL) and wait until it is gone."""
        pid = self.wait_for_daemon()
        os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while is_running(pid) and time.monotonic() < end:
            time.sleep(0.01)
        assert not is_running(pid)
        return pid

    @contextmanager
    def daemon_away(self, *, start_block: str) -> Iterator[dict[str, str]]:
        """Kill the daemon once it has written a start block that contains `start_block`; until the end, no daemon can start.

        Yields environment variables that let a client's hooks wait for one second.
        """
        import fcntl

        end = time.monotonic() + 90
        while not any(start_block in file.read_text() for file in (self.tacit_home / "start").glob("*.json")):
            assert time.monotonic() < end, "the daemon left no start block"
            time.sleep(0.2)
        self.kill_daemon()
        with (self.tacit_home / "run" / "start.lock").open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # hooks believe that another one is starting the daemon
            yield {"TACIT_HOOK_DEADLINE_MS": "1000"}

    def start(self, command: list[str], environment: dict[str, str], **how) -> subprocess.Popen:
        """Start a long-lived program; it ends with the sandbox, or with a test run that is killed."""
        started = subprocess.Popen(
            command, env=environment, cwd=self.project, start_new_session=True, text=True, **how
        )
        self._groups.append(started)
        end_with_run(started.pid)
        return started

    def _note_daemon(self) -> None:
        if pid := daemon_facts.daemon_pid(self.daemon_file):
            self._daemons.add((pid, born(pid)))
