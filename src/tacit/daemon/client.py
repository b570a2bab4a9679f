"""A client of the daemon for the command line.

In: a home, requests. Out: status and JSON values; problems come back as the errors they were. It starts the daemon by
the hook client's own way, so that there is one way to start it. Never opens the store itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit import __version__
from tacit.config.home import Home
from tacit.daemon.launcher import hook_source
from tacit.daemon.lifecycle import ask_health, is_running, read_facts, version_key
from tacit.errors import DaemonError, DaemonNewer, DaemonUnavailable, error_of
from tacit.providers.unix_http import ask, describe_failure
from tacit.safety.authority import TERMINAL_HEADER, Authority

LAST_MOMENTS_S = 5.0
"""How long a daemon that let its lock go is waited for: its number may be somebody else's, seen from a container."""

SIGNS: Mapping[str, str] = {
    "n": "no daemon in time",
    "d": "past the deadline",
    "b": "the daemon was busy",
    "r": "the daemon refused the payload",
    "g": "a broken reply",
    "i": "input that cannot be used",
    "w": "an event could not be kept",
    "m": "MCP without a daemon",
    "x": "the hook itself failed",
    "s": "an earlier start block stood in",
}
"""What the characters of `log/hook.count` mean; all but `s` are failures."""


class DaemonClient:
    """Talks to the daemon of one home."""

    def __init__(
        self, home: Home | Path | None = None, *, token: str = "", at_terminal: bool = False
    ) -> None:
        """Take the home, its folder, or None for the one that TACIT_HOME names.

        Args:
            home: whose daemon is asked.
            token: the user's personal token, where a script has one.
            at_terminal: whether a person sits at this process's terminal. Without either the daemon hears an agent.
        """
        self._token, self._at_terminal = token, at_terminal
        self.home = home if isinstance(home, Home) else Home(home) if home is not None else Home.find()

    def request(
        self, method: str, path: str, json_body: object = None, *, timeout_s: float = 30.0
    ) -> tuple[int, Any]:
        """Send one request; return status and the reply's JSON value (None = no content).

        Raises:
            DaemonUnavailable: nothing answers.
            TacitError: what the daemon says went wrong, as the class its code names.
        """
        self._check_folder()
        headers = {"X-Tacit-Version": __version__, **self._authority()}
        try:
            status, data = ask(
                self.home.socket, method, path, json_body, timeout_s=timeout_s, headers=headers
            )
        except (OSError, http.client.HTTPException) as error:
            raise DaemonUnavailable(
                f"The daemon does not answer on {self.home.socket}: {describe_failure(error)}.",
                hint="`tacit doctor` says why.",
            ) from error
        value = _value(data)
        if status >= 400:
            raise error_of(value, status)
        return status, value

    def _authority(self) -> dict[str, str]:
        """What shows the daemon that the user speaks."""
        if self._token:
            return {"Authorization": f"Bearer {self._token}"}
        return {TERMINAL_HEADER: Authority(self.home).terminal_key()} if self._at_terminal else {}

    def _check_folder(self) -> None:
        self.home.check_owner()
        if not self.home.socket_can_be_trusted():
            raise DaemonUnavailable(
                f"The socket folder {self.home.socket.parent} belongs to someone else or is open to others.",
                hint="Remove it, or set TACIT_HOME to a path shorter than 80 characters.",
            )

    def ensure_running(self, timeout_s: float = 10.0) -> None:
        """Have a daemon that answers: start one where there is none, replace one that is older.

        Raises:
            DaemonUnavailable: it could not be started in time; the message says where it wrote why.
            DaemonNewer: one of a newer minor version runs, whose answers this version may not understand.
        """
        until = time.monotonic() + timeout_s
        self._check_folder()
        health = ask_health(self.home, timeout_s=2.0)
        if health is not None:
            theirs = version_key(str(health.get("version", "")))
            if theirs[:2] > version_key(__version__)[:2]:
                raise DaemonNewer(
                    f"A daemon of version {health.get('version')} runs; this is {__version__}.",
                    hint="Use the newer `tacit`, or stop the daemon with it.",
                )
            if theirs >= version_key(__version__):
                return
            self.stop(timeout_s=max(1.0, until - time.monotonic()))
        self.home.ensure()
        while time.monotonic() < until:
            self.home.check_space()
            self._start()
            pause = time.monotonic() + 1.0
            while time.monotonic() < min(pause, until):
                if ask_health(self.home, timeout_s=1.0) is not None:
                    return
                time.sleep(0.02)
        raise DaemonUnavailable(
            f"No daemon answered within {timeout_s:g} s.",
            hint=f"Look at {self.home.log_file.with_name('daemon.out')} and {self.home.log_file}.",
        )

    def _start(self) -> None:
        command = [sys.executable, "-I", "-S", "-E", os.fspath(hook_source()), "start"]
        environ = dict(os.environ, TACIT_HOME=os.fspath(self.home.root))
        with contextlib.suppress(subprocess.TimeoutExpired):  # a slow machine; who asked goes on looking
            subprocess.run(
                command, check=False, timeout=10, env=environ, stdin=subprocess.DEVNULL, capture_output=True
            )

    def stop(self, timeout_s: float = 15.0) -> bool:
        """Ask the daemon to stop and wait until it has; False when none was running.

        Raises:
            DaemonError: if it is still there after `timeout_s`.
        """
        pid = health.get("pid") if (health := ask_health(self.home, timeout_s=2.0)) else None
        try:
            self.request("POST", "/stop", timeout_s=5.0)
        except DaemonUnavailable:
            if not self.locked():
                return False
        until = time.monotonic() + timeout_s
        while self.locked():
            if time.monotonic() > until:
                facts = read_facts(self.home)
                raise DaemonError(
                    f"The daemon (process {facts.pid if facts else 'unknown'}) did not stop within {timeout_s:g} s.",
                    hint="It may be finishing long work; ask again, or end the process.",
                )
            time.sleep(0.02)
        # Its lock comes free a moment before it is gone; who removes the home next should find nobody in it.
        until = time.monotonic() + LAST_MOMENTS_S
        while isinstance(pid, int) and pid > 0 and is_running(pid) and time.monotonic() < until:
            time.sleep(0.02)
        return True

    def locked(self) -> bool:
        """Whether a daemon holds the lock of this home."""
        try:
            handle = os.open(self.home.daemon_lock, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def status(self) -> Mapping[str, object]:
        """What `GET /health` says, and `running`, `http_port`, `hook_failures`, `spooled`; works without a daemon."""
        health = ask_health(self.home, timeout_s=2.0)
        facts = read_facts(self.home)
        return {
            **(health or {}),
            "running": health is not None,
            "http_port": facts.http_port if facts and health is not None else 0,
            "hook_failures": hook_failures(self.home),
            "spooled": sum(1 for path in _entries(self.home.spool_dir) if path.suffix == ".event"),
        }


def hook_failures(home: Home) -> Mapping[str, int]:
    """How often hooks stayed silent for lack of a proper answer, by reason, most frequent first."""
    try:
        text = home.log_file.with_name("hook.count").read_text("ascii", "replace")
    except OSError:
        return {}
    counts = {words: text.count(sign) for sign, words in SIGNS.items()}
    return {words: count for words, count in sorted(counts.items(), key=lambda item: -item[1]) if count}


def _value(data: bytes) -> object:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode("utf-8", "replace")


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
