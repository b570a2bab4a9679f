"""Facts about a home's daemon (its fact file, whether it answers, whether its process lives), and its start and end.

In: a home, or the file `run/daemon.json`. Out: values. `start_daemon` runs the hook client's `start`, so that there is one implementation; only
`end_daemon` ends a process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import cast

from tacit.config.home import Home
from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.system.processes import end_process, is_running


@frozen
class DaemonFacts:
    """The contents of `run/daemon.json`, which a daemon writes when it starts.

    `born_at` = when its process began (see `born`). `http_port` = its loopback port, 0 = it has none; `token` = the secret that opens that port.
    """

    pid: int
    version: str
    started_at_ms: int
    born_at: int = 0
    http_port: int = 0
    token: str = ""


def version_key(text: str) -> tuple[int, ...]:
    """Return a version's numbers for comparison: `1.10.2.dev3` -> (1, 10, 2); segments that are not numbers are dropped."""
    return tuple(int(segment) for segment in text.split(".") if segment.isdigit())


def read_facts(home: Home) -> DaemonFacts | None:
    """Return the facts in `run/daemon.json`; None = there is no such file, or it is damaged. The daemon that wrote them may have ended."""
    return _facts_in(home.daemon_file)


def _facts_in(daemon_file: Path) -> DaemonFacts | None:
    try:
        value: object = json.loads(daemon_file.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    facts = cast(dict[str, object], value)
    try:
        return DaemonFacts(**{one.name: facts[one.name] for one in fields(DaemonFacts) if one.name in facts})  # pyright: ignore[reportArgumentType]
    except TypeError:
        return None


def ask_health(home: Home, *, timeout_s: float) -> Mapping[str, object] | None:
    """Return the daemon's answer to `GET /health`, a JSON object; None = it gave none within `timeout_s`, or none runs. Blocks; starts nothing."""
    from http.client import HTTPException  # noqa: PLC0415 - a daemon that starts alone asks nobody

    from tacit.client.http_request import send_request  # noqa: PLC0415

    if not home.socket_can_be_trusted():
        return None
    try:
        _, data = send_request(home.transport(), "GET", "/health", timeout_s=timeout_s, headers={})
        value: object = json.loads(data)
    except (OSError, HTTPException, ValueError):
        return None
    return cast(dict[str, object], value) if isinstance(value, dict) else None


def daemon_pid(daemon_file: Path) -> int | None:
    """Return the process id of the daemon that wrote `daemon_file` (`run/daemon.json`); None = it has ended, or there is no such file."""
    facts = _facts_in(daemon_file)
    return facts.pid if facts is not None and is_running(facts.pid, born_at=facts.born_at) else None


def end_daemon(daemon_file: Path, *, timeout_s: float = 5.0) -> bool:
    """End the daemon that wrote `daemon_file` with SIGTERM, then with SIGKILL, and wait up to `timeout_s` after each. Return whether it has ended; True if none ran."""
    pid = daemon_pid(daemon_file)
    if pid is None:
        return True
    return end_process(pid, timeout_s=timeout_s)


START_TIMEOUT_S = 10.0


def start_daemon(home: Home) -> None:
    """Start the daemon of `home`, unless one runs or is being started. Does not wait until it answers.

    Raises:
        HostError: if this installation lacks the hook client.
        OSError: if no process can be started.
        subprocess.TimeoutExpired: the machine is slow; the daemon may come all the same.
    """
    command = [sys.executable, "-I", "-S", "-E", os.fspath(hook_source()), "start"]
    subprocess.run(
        command,
        check=False,
        timeout=START_TIMEOUT_S,
        env=home.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def hook_source() -> Path:
    """Return the path of this installation's hook client, `tacit_hook.py`.

    Raises:
        HostError: if there is none.
    """
    spec = importlib.util.find_spec("tacit_hook")
    if spec is None or not spec.origin:
        raise HostError("This installation lacks tacit_hook.py.", hint="Install Tacit again.")
    return Path(spec.origin)
