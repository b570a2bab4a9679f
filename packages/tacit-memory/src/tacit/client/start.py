"""Start of the daemon by programs. They run the hook client's `start`, so there is only one implementation.

In: a home. Out: a daemon on its way, or none where one runs already. Never waits until it answers.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from tacit.config.home import Home
from tacit.errors import HostError

START_TIMEOUT_S = 10.0


def start_daemon(home: Home) -> None:
    """Start the daemon of `home` unless one runs or is on its way.

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
    """The hook client of this installation.

    Raises:
        HostError: if there is none.
    """
    spec = importlib.util.find_spec("tacit_hook")
    if spec is None or not spec.origin:
        raise HostError("This installation lacks tacit_hook.py.", hint="Install Tacit again.")
    return Path(spec.origin)
