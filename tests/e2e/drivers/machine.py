"""A person's machine without any host client: the launcher as hosts call it, the command line, the daemon they start.

Everything started here ends here, by its process id; a process that is left is a failed test.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from forks import run_tacit, start_daemon
from tacit.client.daemon_client import DaemonClient
from tacit.client.daemon_facts import daemon_pid
from tacit.config.home import Home, chosen_transport
from tacit.daemon.launcher import write_launcher
from tacit.errors import TacitError
from tacit.system.processes import born, is_running
from user_voice import as_user, user_token

RULE = "Always run ruff before every commit"
PATIENT_MS = "20000"
"""Deadline of hooks and recalls where the test is not about time: they may start a daemon first, on a busy machine."""


class Machine:
    """Home, Tacit home and a git project. Paths are short: a Unix socket below them has to fit into 104 bytes."""

    def __init__(self, **environ: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tm-")).resolve()
        self.user_home = self.root / "u"
        self.project = self.root / "shop"
        self.home = Home(self.root / "t")
        for folder in (self.user_home, self.project):
            folder.mkdir()
        # The project's root is this folder, without a git process for each test.
        (self.project / ".git" / "objects").mkdir(parents=True)
        self.environ = {
            "HOME": str(self.user_home),
            "TACIT_HOME": str(self.home.root),
            "TACIT_EMBEDDER__PROVIDER": "fake",
            "TACIT_HOOK_DEADLINE_MS": PATIENT_MS,
            "TACIT_RECALL__DEADLINE_MS": PATIENT_MS,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "NO_PROXY": "*",
            **chosen_transport(),
            **environ,
        }
        self.launcher = self.home.launcher
        self.relaunch()
        self._session = 0
        self._forked: list[tuple[int, int]] = []

    def relaunch(self) -> None:
        """Write the launcher, as `tacit install` does."""
        write_launcher(self.home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        if not os.environ.get("TACIT_E2E_KEEP"):
            shutil.rmtree(self.root, ignore_errors=True)

    def end(self) -> None:
        """End every process of this machine; none may be left."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            until = time.monotonic() + 30
            while self.processes() and time.monotonic() < until:
                time.sleep(0.02)
        left = self.processes()
        assert not left, f"processes were left behind: {left}"

    def processes(self) -> list[int]:
        """Every living process that was started for this machine, found by its environment; a fork has none of its own."""
        mark = f"TACIT_HOME={self.home.root}\0".encode()
        found = [pid for pid, born_at in self._forked if is_running(pid, born_at=born_at)]
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if is_running(pid)]

    # the host's side --------------------------------------------------------------------------------

    def popen(self, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start the launcher as a host does."""
        return subprocess.Popen(
            [self.launcher, *(arguments or ("claude-code",))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env={**self.environ, **environ},
        )

    def hook(self, given: bytes, *arguments: str, **environ: str) -> bytes:
        """Send one event; what the host reads. Holds the promise of every hook: exit code 0, no word on standard error."""
        process = self.popen(*arguments, **environ)
        out, err = process.communicate(given, timeout=180)
        assert (process.returncode, err) == (0, b"")
        return out

    def payload(self, event: str, **fields: object) -> bytes:
        """A payload of Claude Code."""
        given = {"hook_event_name": event, "session_id": "s1", "cwd": str(self.project), **fields}
        return json.dumps(given).encode()

    def start(self, **fields: object) -> str:
        """Begin a new session; the text that is injected."""
        self._session += 1
        given = {"source": "startup", "session_id": f"new-{self._session}", **fields}
        return injected(self.hook(self.payload("SessionStart", **given)))

    def prompt(self, text: str, **fields: object) -> str:
        """Send a prompt; the text that is injected."""
        return injected(self.hook(self.payload("UserPromptSubmit", prompt=text, **fields)))

    # the person's side ------------------------------------------------------------------------------

    def tacit(
        self, *arguments: str | bytes, code: int = 0, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, which must end with `code`."""
        as_told = as_user({**self.environ, **environ}, self.home)
        done = run_tacit(arguments, environ=as_told, cwd=cwd or self.project)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def said(self, *arguments: str | bytes, code: int) -> str:
        """What a command that must fail with `code` says on standard error."""
        return self.tacit(*arguments, code=code).stderr

    def ask(self, *arguments: str):
        """What a command prints with --json."""
        return json.loads(self.tacit(*arguments, "--json").stdout)

    def remember(
        self, text: str = RULE, *, kind: str = "preference", when: str = "always", **fields: object
    ) -> dict[str, Any]:
        """Store a statement as `tacit remember` does, without the second that its process takes; the change."""
        if daemon_pid(self.home.daemon_file) is None:
            self.wake()
        body = {"content": text, "kind": kind, "when": when, "cwd": str(self.project), **fields}
        return self.request("POST", "/v1/memories", body)["changes"][0]

    def try_remember(self, text: str) -> str | None:
        """Store a statement if that is possible; else what the error says."""
        try:
            self.remember(text)
        except TacitError as error:
            return str(error)
        return None

    def contents(self) -> list[str]:
        """Every active memory."""
        self.wake()
        return [memory["content"] for memory in self.request("GET", "/v1/memories?limit=500")["memories"]]

    # the daemon -------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Have a daemon that answers; a start for another folder, which sees nothing."""
        if daemon_pid(self.home.daemon_file) is None:
            pid = start_daemon(self.environ, self.home.daemon_file)
            self._forked.append((pid, born(pid)))
        self.hook(self.payload("SessionStart", session_id="wake", source="startup", cwd=str(self.user_home)))

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Ask the running daemon."""
        return DaemonClient(self.home, token=user_token(self.home)).request(method, path, body)[1]

    @contextlib.contextmanager
    def setting(self, key: str, value: object) -> Iterator[None]:
        """Change a setting until the end of the block; the running daemon knows it at once."""
        self.request("PATCH", "/v1/settings", {"values": {key: value}})
        yield
        self.request("PATCH", "/v1/settings", {"reset": [key]})

    def pid(self) -> int:
        """Process id of the running daemon."""
        pid = json.loads(self.home.daemon_file.read_bytes())["pid"]
        assert is_running(pid)
        return pid

    def kill(self) -> None:
        """End the daemon the hard way."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_running(pid))

    def stop(self) -> None:
        """Stop the daemon."""
        assert DaemonClient(self.home).stop()

    def counters(self) -> dict[str, int]:
        """What the daemon counted."""
        return self.request("GET", "/health")["counters"]

    def hook_log(self) -> list[str]:
        """Lines of the hook's log."""
        path = self.home.log_file.with_name("hook.log")
        return path.read_text().splitlines() if path.exists() else []

    # what must hold after anything ------------------------------------------------------------------

    def goes_on(self, *, kept: str = RULE) -> None:
        """The next session has what was known, learns something new, and the store is sound."""
        assert kept in self.start()
        self._session += 1
        fresh = f"Prefer the queue number {self._session} for exports"
        self.remember(fresh)
        text = self.start()
        assert kept in text
        assert fresh in text
        self.sound()

    def sound(self) -> None:
        """The store is in order, and one daemon runs."""
        check = self.request("POST", "/v1/jobs", {"name": "check", "wait": True})["job"]
        assert (check["state"], check["problems"]) == ("done", [])
        wait_for(lambda: len(self.processes()) == 1)  # a child between fork and exec is seen for a moment

    def findings(self) -> list[dict[str, str]]:
        """What `doctor` finds, without running host clients; some other point may fail on a machine without hosts."""
        done = run_tacit(("doctor", "--no-hosts", "--json"), environ=self.environ, cwd=self.project)
        assert done.returncode in (0, 10), done.stderr
        return json.loads(done.stdout)["findings"]


def injected(out: bytes) -> str:
    """The context in a reply of a Claude Code hook; "" = silence."""
    if not out:
        return ""
    return json.loads(out).get("hookSpecificOutput", {}).get("additionalContext", "")


def wait_for(what: Callable[[], object], *, timeout_s: float = 90.0) -> None:
    """Wait until `what` holds."""
    until = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.03)
