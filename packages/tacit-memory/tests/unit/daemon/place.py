"""What tests of the daemon play with: an engine that answers by a function, and a home with a daemon in a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from forks import run_tacit
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home

Answer = Callable[[str, Mapping[str, object], float], str]


class EngineDouble:
    """Answers hooks by a function. `asked` = the deadlines, `taken` = whether each answer reached its client."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[float] = []
        self.taken: list[bool] = []

    def hook(
        self,
        host: str,
        payload: Mapping[str, object],
        *,
        deadline_ms: float,
        hand_over: Callable[[str], bool],
        project_dir: str,
    ) -> str:
        self.asked.append(deadline_ms)
        text = self._answer(host, payload, deadline_ms)
        if text:
            self.taken.append(hand_over(text))
        return text

    def take_kept(self, *_: object, **__: object) -> None:
        raise AssertionError("nothing was kept")


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
