"""One session through the real write path. In: a labelled session. Out: what capture kept of it, with its evidence turns.

Every session has a store of its own in a throw-away folder. The session's own notes (its digest, the agent's open tasks) are
no learnings and do not count; what waits for review counts apart.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.backends.sqlite import open_sqlite_store
from tacit.capture.pipeline import CapturePipeline
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import Settings
from tacit.errors import InvalidInput
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, TrustTier
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, ProjectRecord, Store
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import EstimateCounter
from tacit.safety.redact import Redactor
from tacit_evals.data.learnings import LabelledSession, Message

HOST = "plain"
NOTES = ("digest",)
TASKS = "Open tasks of the agent:"
_NOW_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
_MOST = 100_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """One statement that was kept. `turns` are places `i` of the session; `by` says whose words it is."""

    content: str
    kind: str
    turns: frozenset[int]
    by: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What capture kept of one session: learnings, and what it put up for review."""

    learnings: tuple[Captured, ...]
    review: tuple[Captured, ...] = ()


def capture_session(session: LabelledSession, *, embedder: Embedder) -> Kept:
    """Run the shipped write path over the session's file.

    Raises:
        InvalidInput: if the file cannot be captured.
    """
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        settings = SettingsWatcher(home, environ={}).current()
        store = open_sqlite_store(home, clock=FakeClock(now_ms=_NOW_MS))
        try:
            pipeline = _pipeline(store, settings, embedder)
            return _captured(session, pipeline, store)
        finally:
            store.close()


def _pipeline(store: Store, settings: Settings, embedder: Embedder) -> CapturePipeline:
    return CapturePipeline(
        store=store,
        embedder=embedder,
        tokens=EstimateCounter(),
        clock=FakeClock(now_ms=_NOW_MS),
        redactor=Redactor(settings.privacy),
        kinds=KindRegistry(),
        settings=settings.capture,
        identify=lambda root: ProjectRecord(id="evaluated", name="evaluated", root=root),
    )


def _captured(session: LabelledSession, pipeline: CapturePipeline, store: Store) -> Kept:
    info = TranscriptInfo(
        host=HOST,
        path=session.path,
        size_bytes=0,
        modified_ms=0,
        sessions=1,
        session_ids=(session.id,),
        cwd=f"/work/{session.project or 'project'}",
    )
    report = pipeline.backfill([info])
    if report.failed:
        raise InvalidInput(
            f"{session.path} could not be captured.", hint="It must be one session with turns."
        )
    everything = MemoryFilter(statuses=None)
    memories = store.list_memories(everything, scope=store.scopes(), limit=_MOST)
    learned = [
        memory for memory in memories if memory.kind not in NOTES and not memory.content.startswith(TASKS)
    ]
    learned.sort(key=lambda memory: (memory.provenance.turn, memory.id))
    return Kept(
        learnings=tuple(
            captured_of(memory, session.turns)
            for memory in learned
            if memory.status in ("active", "superseded")
        ),
        review=tuple(
            captured_of(memory, session.turns) for memory in learned if memory.status == "quarantined"
        ),
    )


def captured_of(memory: Memory, turns: Sequence[Message]) -> Captured:
    """The memory with the places its verbatim spans stand at."""
    by = "user" if memory.provenance.tier is TrustTier.USER else "assistant"
    if memory.error_signature:
        by = "fix"
    spans = (memory.provenance.span, *memory.evidence)
    places = {place for span in spans for place in evidence_turns(span, memory.provenance.turn, turns)}
    return Captured(
        content=memory.content,
        kind=memory.kind,
        turns=frozenset(places),
        by=by,
        confidence=memory.confidence,
    )


def evidence_turns(span: str, number: int, turns: Sequence[Message]) -> frozenset[int]:
    """Places of the messages that hold `span`, of those that belong to user prompt `number` where one of them does.

    Compared by words: redaction and line breaks do not matter. Without a span, the prompt itself.
    """
    prompts = 0
    numbered: list[tuple[int, Message]] = []
    for message in turns:
        prompts += message.role == "user"
        numbered.append((prompts, message))
    words = _words(span)
    holding = [(at, message) for at, message in numbered if words and words in _words(message.text)]
    near = [message.i for at, message in holding if at == number]
    if near or holding:
        return frozenset(near[:1] or [holding[0][1].i])
    return frozenset(message.i for at, message in numbered if at == number and message.role == "user")


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} " if text.strip() else ""
