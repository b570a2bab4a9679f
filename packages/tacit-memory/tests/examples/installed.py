"""A machine on which example packages are installed beside Tacit, with a daemon that is started directly.

The hook client starts the daemon with `-E`, which ignores PYTHONPATH; a real package is installed into Tacit's environment.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from e2e.drivers.machine import Machine, wait_for
from plugins import install_project
from tacit.client.daemon_facts import ask_health

EXAMPLES = Path(__file__).parent


class ExampleMachine(Machine):
    """A `Machine` with the example packages that are named."""

    def __init__(self, *packages: str, **environ: str) -> None:
        super().__init__(**environ)
        site = self.root / "site"
        for package in packages:
            install_project(EXAMPLES / package, site)
        self.environ["PYTHONPATH"] = str(site)
        self._daemon: subprocess.Popen[bytes] | None = None

    def end(self) -> None:
        """End every process, and take the exit code of ours."""
        super().end()
        if self._daemon is not None:
            self._daemon.wait(timeout=60)

    def start_daemon(self) -> None:
        """Start the daemon and wait until it answers."""
        self._daemon = subprocess.Popen(
            [sys.executable, "-m", "tacit.daemon"],
            env=self.environ,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: ask_health(self.home, timeout_s=5))

    def stop_daemon(self) -> None:
        """Stop the daemon and wait until it has written everything."""
        assert self._daemon is not None
        self.stop()
        assert self._daemon.wait(timeout=60) == 0
