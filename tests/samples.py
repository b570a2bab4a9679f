"""Small values that many tests need. Nothing here is real data."""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.model.trigger import Situation, Trigger
from tacit.presets import preset_of
from tacit.providers.tokens import EstimateCounter
from tacit.recall.render import renderer
from tacit.recall.stage import Context, RecallState

NOW_MS = 1_760_000_000_000
DAY_MS = 86_400_000
PROJECT = project_scope("shop-0123456789")


def memory(
    content: str = "Run `make lint` before committing.",
    *,
    id: str = "mem_1",  # noqa: A002 - the field's own name
    kind: str = "preference",
    scope: Scope = PROJECT,
    tier: TrustTier = TrustTier.USER,
    source: str = "cli",
    at_ms: int = NOW_MS,
    trigger: Trigger | None = None,
    **fields: object,
) -> Memory:
    """A memory with sensible defaults."""
    values: dict[str, object] = {
        "provenance": Provenance(tier=tier, source=source),
        "validity": Validity(valid_from_ms=at_ms),
        "created_at_ms": at_ms,
        "updated_at_ms": at_ms,
        "trigger": trigger or Trigger(),
        **fields,
    }
    return Memory(id=id, kind=kind, content=content, scope=scope, **values)


def memory_named(name: str, content: str = "", **fields: object) -> Memory:
    """A memory by its id: a fact for all, written at 1 and true since ever unless `fields` say otherwise."""
    values: dict[str, object] = {
        "kind": "fact",
        "scope": UNIVERSAL,
        "validity": Validity(valid_from_ms=0),
        "at_ms": 1,
        **fields,
    }
    return memory(content or f"statement {name}", id=name, **values)


def trace(name: str = "trc_1", **fields: object) -> Trace:
    """A trace of a prompt for which nothing was found."""
    values: dict[str, object] = {
        "session": "h/s",
        "turn": 1,
        "epoch": 0,
        "surface": Surface.PROMPT,
        "at_ms": NOW_MS,
        "preset": "focused",
        "text": "words",
        "situation": Situation(),
        "stages": (),
        **fields,
    }
    return Trace(id=name, **values)


def candidate(
    content: str = "Run `make lint` before committing.",
    *,
    relevance: float = 0.5,
    scores: tuple[tuple[str, float], ...] = (),
    **fields: object,
) -> Candidate:
    """A candidate over a sample memory."""
    return Candidate(memory=memory(content, **fields), relevance=relevance, fused=relevance, scores=scores)


def query(
    text: str = "commit this",
    *,
    surface: Surface = Surface.PROMPT,
    situation: Situation | None = None,
    **fields: object,
) -> Query:
    """A query that may see the sample project and the universal scope."""
    values: dict[str, object] = {
        "scope": ScopeFilter.of(PROJECT, UNIVERSAL),
        "at_ms": NOW_MS,
        "budget_tokens": 800,
        **fields,
    }
    return Query(surface=surface, text=text, raw_text=text, situation=situation or Situation(), **values)


def recall_state(
    asked: Query, settings: RecallSettings | None = None, *, preset: str = "focused", **fields: object
) -> RecallState:
    """A recall before its first step."""
    settings, chosen = settings or RecallSettings(), preset_of(preset)
    kinds, layout = KindRegistry(), chosen.layout.at(asked.surface)
    values: dict[str, object] = {"context": Context(), "count": EstimateCounter().count, **fields}
    return RecallState(
        query=asked,
        settings=settings,
        kinds=kinds,
        preset=chosen,
        layout=layout,
        render=renderer(kinds, str, layout),
        spaces=chosen.spaces_at(asked.surface, settings.spaces),
        **values,
    )
