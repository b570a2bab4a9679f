"""The client of the daemon: sends requests over its transport, and starts and stops it.

In: a home, requests. Out: status and JSON values; problems come back as the errors they were. It starts the daemon by
the hook client's own way, so that there is one way to start it. Never opens the store itself.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from tacit import __version__
from tacit.client.daemon_facts import ask_health, read_facts, start_daemon, version_key
from tacit.client.http_request import describe_failure, send_request
from tacit.config.home import TERMINAL_HEADER, Home
from tacit.errors import DaemonError, DaemonNewer, DaemonUnavailable, HostError, error_of
from tacit.system.files import open_handle, take_lock
from tacit.system.processes import is_running

READY_S = 10.0
"""How long a request that may start a daemon waits for it to answer."""
START_AGAIN_S = 30.0
"""Least seconds between two starts of a daemon in the background."""
LAST_MOMENTS_S = 5.0
"""Longest wait, in seconds, for the process of a daemon that released its lock to end; in a container its id may be another process's."""

HOOK_FAILURE_SIGNS: Mapping[str, str] = {
    "n": "no daemon in time",
    "d": "past the deadline",
    "b": "the daemon was busy",
    "r": "the daemon refused the payload",
    "g": "a broken reply",
    "i": "input that cannot be used",
    "w": "an event could not be kept",
    "m": "MCP without a daemon",
    "x": "the hook itself failed",
}
"""The failures that characters of `log/hook.count` stand for. `s`, an earlier start block stood in, is none."""


class DaemonClient:
    """The client of one home's daemon: sends requests, and starts and stops the daemon. Thread-safe."""

    def __init__(
        self,
        home: Home | Path | None = None,
        *,
        token: str = "",
        terminal_key: Callable[[], str] | None = None,
        hint: str = "`tacit doctor` says why.",
        on_start_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        """Take the home, its folder, or None for the one that TACIT_HOME names.

        Args:
            home: whose daemon is asked.
            token: the user's personal token, where a script has one.
            terminal_key: gives the key that shows that a person sits at this process's terminal. Without it and without
                a token the daemon hears an agent.
            hint: what to do when no daemon answers.
            on_start_failure: hears why a start in the background failed.
        """
        self.home = home if isinstance(home, Home) else Home(home) if home is not None else Home.find()
        self._token, self._terminal_key = token, terminal_key
        self._hint = hint
        self._on_start_failure = on_start_failure
        self._started_at = -START_AGAIN_S

    def request(
        self,
        method: str,
        path: str,
        json_body: object = None,
        *,
        timeout_s: float = 30.0,
        start: bool = False,
    ) -> tuple[int, Any]:
        """Send one request; return status and the reply's JSON value (None = no content).

        Args:
            method: of the request.
            path: of the request.
            json_body: sent as JSON; None = no body.
            timeout_s: seconds for all of it, a start included.
            start: start a daemon where none runs, and wait for it.

        Raises:
            DaemonUnavailable: nothing answers.
            TacitError: what the daemon says went wrong, as the class its code names.
        """
        status, value = self.request_any(method, path, json_body, timeout_s=timeout_s, start=start)
        if status >= 400:
            raise error_of(value, status)
        return status, value

    def request_any(
        self,
        method: str,
        path: str,
        json_body: object = None,
        *,
        timeout_s: float = 30.0,
        start: bool = False,
    ) -> tuple[int, Any]:
        """Send one request as `request` does, but return a status of 400 and above with its value instead of raising.

        Raises:
            DaemonUnavailable: nothing answers.
        """
        began = time.monotonic()
        until = began + timeout_s
        while True:
            try:
                status, data = self.send(method, path, json_body, timeout_s=until - time.monotonic())
                return status, _value_of(status, data)
            except (OSError, http.client.HTTPException, ValueError) as error:
                absent = isinstance(error, FileNotFoundError | ConnectionRefusedError)
                if not (absent and start) or time.monotonic() > min(began + READY_S, until):
                    raise DaemonUnavailable(
                        f"The daemon does not answer on {self.home.transport().file}: {describe_failure(error)}.",
                        hint=self._hint,
                    ) from error
            self.start_in_background()
            time.sleep(0.02)

    def send(
        self,
        method: str,
        path: str,
        json_body: object = None,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Send one request to a running daemon; return status and the reply's bytes. Starts nothing.

        Raises:
            OSError: nobody listens, the time is over (`TimeoutError`), or the connection broke.
            http.client.HTTPException: what came back is no HTTP.
            StoreReadOnly, DaemonUnavailable: who listens there cannot be trusted.
        """
        self._check_folder()
        fixed = {"X-Tacit-Version": __version__, **self._authority()}
        return send_request(
            self.home.transport(),
            method,
            path,
            json_body,
            timeout_s=timeout_s,
            headers={**fixed, **(headers or {})},
        )

    def _authority(self) -> dict[str, str]:
        """Return the headers that prove to the daemon that the user speaks."""
        if self._token:
            return {"Authorization": f"Bearer {self._token}"}
        return {TERMINAL_HEADER: self._terminal_key()} if self._terminal_key is not None else {}

    def _check_folder(self) -> None:
        self.home.check_owner()
        if self.home.socket.parent.is_file():
            raise DaemonUnavailable(
                f"{self.home.socket.parent} is a file; Tacit needs a folder there.",
                hint="Move the file away.",
            )
        if not self.home.socket_can_be_trusted():
            raise DaemonUnavailable(
                f"The socket folder {self.home.socket.parent} belongs to someone else or is open to others.",
                hint="Remove it, or set TACIT_HOME to a path shorter than 80 characters.",
            )

    def ensure_running(self, timeout_s: float = 10.0) -> None:
        """Make sure that a daemon of this version or newer answers: start one if none runs, stop and replace an older one. Blocks.

        Raises:
            DaemonUnavailable: it could not be started in time; the message says where it wrote why.
            DaemonNewer: one of a newer minor version runs, whose answers this version may not understand.
            InvalidSetting: TACIT_TRANSPORT names no transport, so no daemon would start.
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
        self.home.new_transport()
        self.home.ensure()
        while time.monotonic() < until:
            self.home.check_space()
            with contextlib.suppress(subprocess.TimeoutExpired):  # a slow machine; who asked goes on looking
                start_daemon(self.home)
            pause = time.monotonic() + 1.0
            while time.monotonic() < min(pause, until):
                if ask_health(self.home, timeout_s=1.0) is not None:
                    return
                time.sleep(0.02)
        raise DaemonUnavailable(
            f"No daemon answered within {timeout_s:g} s.",
            hint=f"Look at {self.home.log_file.with_name('daemon.out')} and {self.home.log_file}.",
        )

    def start_in_background(self) -> None:
        """Start a daemon on a thread, at most once every `START_AGAIN_S`. Does not wait for it."""
        if time.monotonic() - self._started_at < START_AGAIN_S:
            return
        # Two threads at once start it twice at worst: the second one leaves at once.
        self._started_at = time.monotonic()
        Thread(target=self._start, name="tacit-start", daemon=True).start()

    def _start(self) -> None:
        try:
            start_daemon(self.home)
        except (OSError, subprocess.SubprocessError, HostError) as error:
            self._on_start_failure(error)

    def stop(self, timeout_s: float = 15.0) -> bool:
        """Ask the daemon to stop, and wait until it has released its lock. Return False if none was running. Blocks.

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
        """Return whether a daemon holds the lock of this home. Takes the lock for a moment if none does; starts nothing."""
        try:
            handle = open_handle(self.home.daemon_lock, os.O_RDWR)
        except OSError:
            return False
        try:
            return not take_lock(handle)
        finally:
            os.close(handle)

    def status(self) -> Mapping[str, object]:
        """Return the answer of `GET /health` with `running`, `http_port` (0 = none), `hook_failures` and `spooled` (waiting events); works without a daemon."""
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
    """Return how often each failure in `HOOK_FAILURE_SIGNS` happened, as {words: number}, most frequent first; {} = none."""
    try:
        text = home.log_file.with_name("hook.count").read_text("ascii", "replace")
    except OSError:
        return {}
    counts = {words: text.count(sign) for sign, words in HOOK_FAILURE_SIGNS.items()}
    return {words: count for words, count in sorted(counts.items(), key=lambda item: -item[1]) if count}


def _value_of(status: int, data: bytes) -> object:
    """Return the JSON value of a reply's body; None = no body, or a failed reply (400 and above) whose body is not JSON.

    Raises:
        ValueError: what came back is no reply of a daemon.
    """
    try:
        return json.loads(data) if data else None
    except ValueError:
        if status < 400:
            raise
        return None


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
