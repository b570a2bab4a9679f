"""Driving the real engine in the tests of the presets: a store, a clock that waits, an agent whose hooks fire."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

from agent import Agent
from samples import DAY_MS, NOW_MS
from tacit.app.wiring import open_engine
from tacit.errors import ProviderError
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import project_scope
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import ExactCounter


class Workplace:
    """An engine over a fresh home, a project's folder, and memories of any age in it."""

    def __init__(self, tmp_path, *, preset, embedder=None, **overrides):
        self.home = tmp_path / "home"
        self.place = tmp_path / "shop"
        self.place.mkdir(exist_ok=True)
        self.clock = FakeClock(now_ms=NOW_MS)
        self.embedder = embedder or FakeEmbedder()
        named = "fake" if isinstance(self.embedder, FakeEmbedder) else "minilm"
        self.engine = open_engine(
            self.home,
            overrides={"preset": preset, "embedder": {"provider": named}, **overrides},
            clock=self.clock,
            embedder=self.embedder,
            tokens=ExactCounter(),
        )
        self.project = self.engine.project(str(self.place))
        self.count = 0

    def know(self, content, kind="preference", *, days_ago=0.0, scope=None, tier=TrustTier.USER, **fields):
        """Put a memory into the store as it would stand there; returns it."""
        at_ms = NOW_MS - int(days_ago * DAY_MS)
        self.count += 1
        memory = Memory(
            id=fields.pop("id", f"mem_{self.count:04}"),
            kind=kind,
            content=content,
            scope=scope or project_scope(self.project.id),
            provenance=Provenance(tier=tier, **{"source": "session", **fields.pop("said", {})}),
            validity=Validity(valid_from_ms=at_ms),
            created_at_ms=at_ms,
            updated_at_ms=at_ms,
            tokens=self.engine._parts.tokens.count(content),
            **fields,
        )
        store = self.engine.store
        identity = self.embedder.identity
        store.apply([Add(memory=memory)], vectors=self.embedder.embed([content]), identity=identity)
        return memory

    def kinds_stored(self):
        """(kind, content) of all memories."""
        self.engine.flush()
        return {(m.kind, m.content) for m in self.engine.list_memories(MemoryFilter(), limit=100)}

    def agent(self, session="s1", **fields):
        """A session of an agent."""
        return Agent(self.engine, self.place, session, clock=self.clock, **fields)

    def last_trace(self, surface=None):
        """The newest trace."""
        return self.engine.why(surface=surface, limit=1)[0]


class Failing(FakeEmbedder):
    """Embeds until it is told to fail."""

    broken = False

    def embed(self, texts):
        if self.broken:
            raise ProviderError("the model is gone.")
        return super().embed(texts)


@contextmanager
def workplace(tmp_path, preset, **given):
    """A workplace that is closed at the end."""
    lab = Workplace(tmp_path, preset=preset, **given)
    try:
        yield lab
    finally:
        lab.engine.close()


def speaks(lab, *names):
    """Make the project one of git-tracked files with these names, and read its languages."""
    track(lab.place, *names)
    lab.engine._projects.read_languages(lab.project)


def track(folder, *names):
    """Make `folder` a repository whose index tracks files with these names."""
    empty = "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    entries = [word for name in names for word in ("--cacheinfo", f"{empty},{name}")]
    for words in (
        ("init", "-q"),
        ("rm", "-r", "-q", "--cached", "--ignore-unmatch", "."),
        ("update-index", "--add", *entries),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def lines_of(block):
    """The lines of a block that hold a memory."""
    return [line for line in block.splitlines() if line.startswith(("- [", "["))]
