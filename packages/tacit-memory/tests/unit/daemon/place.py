"""A home with a daemon in a process of its own, and hooks and commands in it as a user runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from forks import run_tacit
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home


class Place:
    """What a hook or a command finds there; a deadline that a busy machine keeps."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.client = DaemonClient(self.home)
        self.environ = {
            **os.environ,
            "TACIT_HOME": str(root),
            "TACIT_EMBEDDER__PROVIDER": "fake",
            "TACIT_HOOK_DEADLINE_MS": "20000",
            "TACIT_RECALL__DEADLINE_MS": "20000",
        }

    def fire(self, given: bytes, **environ: str) -> bytes:
        """What a hook of Claude Code prints for this payload."""
        done = subprocess.run(
            [self.home.launcher, "claude-code"], input=given, capture_output=True, timeout=90,
            env={**self.environ, **environ}, check=True,
        )  # fmt: skip
        assert done.stderr == b""
        return done.stdout

    def run(
        self, *arguments: str, cwd: Path, environ: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of `tacit` to its end."""
        return run_tacit(arguments, environ=environ or self.environ, cwd=cwd)
