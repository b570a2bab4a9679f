"""A home of made-up work with its daemon, and the two who talk to it: the user, and somebody else.

In: `packages/tacit-evals/goals/memories.jsonl`. Out: a `Place` for the time of a `with` block. Never touches another home, and ends its daemon.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.client.daemon_client import DaemonClient
from tacit.config.home import TOKEN_VARIABLE, Home
from tacit.safety.authority import Authority

DATA = Path(__file__).parents[3] / "goals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One made-up memory: `id` is its name in this data, not the one that the store gives."""

    id: str
    project: str
    kind: str
    content: str


def statements() -> list[Statement]:
    """All made-up memories, in their order."""
    lines = (DATA / "memories.jsonl").read_text("utf-8").splitlines()
    return [Statement(**json.loads(line)) for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A home whose daemon runs.

    Attributes:
        home: its folder.
        work: a folder to work in, which is no project of anybody else.
        token: the user's personal token.
    """

    home: Path
    work: Path
    token: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a program that speaks as the user of this home."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_")}
        return {**clean, "TACIT_HOME": str(self.home), TOKEN_VARIABLE: self.token, "NO_COLOR": "1"}

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Ask the daemon as the user.

        Raises:
            TacitError: it refuses.
        """
        return self.client().request(method, path, body, timeout_s=120)[1]

    def client(self) -> DaemonClient:
        """A client that speaks as the user."""
        return DaemonClient(Home(self.home), token=self.token)

    def somebody_else(self) -> DaemonClient:
        """A client of an agent, which has no token."""
        return DaemonClient(Home(self.home))

    def tacit(self, *arguments: str) -> str:
        """What the command line prints.

        Raises:
            SystemExit: it failed.
        """
        command = [sys.executable, "-m", "tacit.cli.main", *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=self.work, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"tacit {' '.join(arguments)} failed:\n{done.stderr}")
        return done.stdout

    def event(self, name: str, **fields: object) -> None:
        """Tell an event as an agent of one's own does.

        Raises:
            OSError: the daemon refuses it.
        """
        payload = {"event": name, "cwd": str(self.work), **fields}
        status, _ = self.somebody_else().send("POST", "/hook/plain", payload, timeout_s=60)
        if status != 200:
            raise OSError(f"the event {name} was answered with {status}")

    def fill(self) -> dict[str, str]:
        """Store all made-up memories for every project; the store's id of each one by its name.

        They share one scope, so that every search looks through all of them.
        """
        stored: dict[str, str] = {}
        for one in statements():
            body = {"content": one.content, "kind": one.kind, "scope": "universal"}
            answer = self.api("POST", "/v1/remember", body)
            stored[one.id] = answer["changes"][0]["memory"]["id"]
        return stored


@contextmanager
def place(settings: str = "") -> Generator[Place]:
    """A new home with its daemon; `settings` = the text of its config.yaml."""
    with tempfile.TemporaryDirectory(prefix="tacit-goals-") as folder:
        home, work = Home(Path(folder) / "home"), Path(folder) / "work"
        work.mkdir()
        home.ensure()
        if settings:
            (home.root / "config.yaml").write_text(settings, "utf-8")
        made = Place(home=home.root, work=work, token=Authority(home).create("goals"))
        made.client().ensure_running(60.0)
        try:
            yield made
        finally:
            made.client().stop(30.0)
