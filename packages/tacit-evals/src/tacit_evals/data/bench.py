"""What latency is measured on: stores of a size, in homes that can be kept, and the events an agent's host would send.

In: an interpreter, a folder to work in, a case. Out: homes, daemons on them, events. Measures nothing itself.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.config.settings import EmbedderSettings
from tacit.model.scope import ScopeFilter, project_scope
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit.session.projects import identify_project
from tacit_evals.daemon_under_test import DaemonUnderTest
from tacit_evals.data.bulk_store import build_bulk
from tacit_evals.data.workload import build_store, topic_vectors

BULK_FROM = 200_000
"""From this size on, and for stores of several projects, rows are written in bulk."""
BULK_TOPICS = 4_000
"""Sentences that are embedded for such a store; its vectors gather round them."""
Spaces = Literal["shipped", "all"]
DEFAULT_PRESET = "focused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One store, asked with one choice of spaces.

    Attributes:
        size: memories in all.
        projects: how many projects share them evenly; prompts come from one of them.
        spaces: `shipped` = those of a fresh home or of the preset, `all` = all thirteen.
        preset: the preset of the home.
    """

    size: int
    projects: int = 1
    spaces: Spaces = "shipped"
    preset: str = DEFAULT_PRESET

    @property
    def home(self) -> str:
        """The folder of its store."""
        return f"home-{self.size}" + (f"-in-{self.projects}" if self.projects > 1 else "")

    @property
    def stored(self) -> str:
        """The store, in words."""
        return f"{self.size:,} memories" + (f" in {self.projects} projects" if self.projects > 1 else "")

    @property
    def name(self) -> str:
        """The case, in words."""
        preset = f", {self.preset}" if self.preset != DEFAULT_PRESET else ""
        return self.stored + (", all spaces" if self.spaces == "all" else "") + preset

    @property
    def searches_all(self) -> bool:
        """Whether a prompt is answered from all thirteen spaces."""
        return self.spaces == "all" or self.preset == "multispace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every measurement needs."""

    python: Path
    work: Path
    console: Console
    run: str
    """Part of every session's name: a store that is used again knows the sessions of the run before."""

    @property
    def project(self) -> Path:
        """The folder that the agent works in."""
        folder = self.work / "project"
        folder.mkdir(exist_ok=True)
        return folder

    def home(self, case: Case) -> Path:
        """The home with the memories of `case`, built once; its settings are written anew."""
        root = self.work / case.home
        if not (root / "built").exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            began, worked = time.perf_counter(), time.process_time()
            self._build(case, root)
            (root / "built").touch()
            elapsed, work = time.perf_counter() - began, time.process_time() - worked
            size_mb = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) / 2**20
            self.console.print(
                f"built {case.stored}: {elapsed:,.0f} s, {work:,.0f} s of processor time, {size_mb:,.0f} MB"
            )
        settings: dict[str, object] = {"preset": case.preset}
        if case.spaces == "all":  # the preset that asks all of them before a prompt
            settings = {"preset": "multispace", "recall": {"budgets": {"start": 2000}}}
        Home(root).config_file.write_text(json.dumps(settings), "utf-8")  # JSON is YAML
        return root

    def _build(self, case: Case, root: Path) -> None:
        embedder = make_embedder(EmbedderSettings())
        project_id = identify_project(str(self.project)).id
        topics = topic_vectors(embedder, count=BULK_TOPICS)
        if case.projects == 1 and case.size < BULK_FROM:
            build_store(root, scope=project_scope(project_id), size=case.size, embedder=embedder)
        else:
            others = (f"other-{number}" for number in range(1, case.projects))
            projects = (project_id, *others)
            build_bulk(root, projects=projects, size=case.size, topics=topics, identity=embedder.identity)
        store = open_sqlite_store(Home(root), clock=SystemClock())
        try:
            # What upkeep does in a quiet hour, and what is derived from the vectors, would else come among the prompts.
            store.tidy()
            scope = ScopeFilter.of(project_scope(project_id))
            store.search.semantic(topics[0], identity=embedder.identity, scope=scope, limit=5)
            store.settle()
        finally:
            store.close()

    def daemon(self, case: Case) -> DaemonUnderTest:
        """A daemon on that home."""
        return DaemonUnderTest(self.python, self.home(case))

    def started(self, session: str) -> dict[str, object]:
        """The event of a session that starts in the project."""
        return {
            "hook_event_name": "SessionStart",
            "session_id": f"{self.run}-{session}",
            "cwd": str(self.project),
            "source": "startup",
        }

    def prompted(self, session: str, text: str, number: int) -> dict[str, object]:
        """The event of a prompt in the project."""
        return {
            "hook_event_name": "UserPromptSubmit",
            "session_id": f"{self.run}-{session}",
            "cwd": str(self.project),
            "prompt": text,
            "prompt_id": f"{session}-{number}",
        }
