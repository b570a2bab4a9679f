"""Running a host client in an environment of its own. In: a command, folders. Out: what it printed and its exit code.

The client gets nothing of the caller's environment but what is given here, and its whole process group ends with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where clients find git, node and a shell when the caller names no other folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A client that ended. `code` is None when it was ended for taking too long."""

    code: int | None
    out: str
    err: str
    took_ms: float


HOOK_DEADLINE_MS = 4500
"""A probe asks whether text arrives, not how fast: hooks may start a daemon first. Below the hosts' own 5 seconds."""


def clean_environment(home: Path, tacit_home: Path, *, search_path: str = SEARCH_PATH) -> dict[str, str]:
    """The environment every client gets: a home of its own, no proxies, no package registry.

    Args:
        home: throw-away home folder of the client.
        tacit_home: the Tacit home that hooks and plugin shall use.
        search_path: value of PATH.
    """
    return {
        "HOME": str(home),
        "TACIT_HOME": str(tacit_home),
        "TACIT_HOOK_DEADLINE_MS": str(HOOK_DEADLINE_MS),
        "PATH": search_path,
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "no_proxy": "*",
        "npm_config_registry": "http://127.0.0.1:9/",
        "npm_config_fetch_retries": "0",
        "npm_config_audit": "false",
    }


def run_client(
    command: Sequence[str], *, environment: Mapping[str, str], cwd: Path, stdin: str = "", timeout_s: float
) -> Finished:
    """Run `command` to its end, or end its whole process group after `timeout_s`."""
    started = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(environment),
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    code: int | None
    try:
        out, err = process.communicate(stdin, timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end_group(process.pid)
        out, err = process.communicate()
        code = None
    return Finished(code=code, out=out, err=err, took_ms=(time.monotonic() - started) * 1000)


def end_group(pid: int) -> None:
    """Kill the process group that `pid` leads; nothing happens when it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
