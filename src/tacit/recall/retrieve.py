"""Stage 3: ask the spaces under a deadline. In: search, query, the query's vector. Out: one ranking per space. Never fuses.

The vector is made first. A remote model is waited for on the given executor, and given up early enough that the other
spaces can still answer; a local one runs in turn: a thread of its own costs more than it saves. What missed the deadline is
named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from tacit.config.settings import RecallSettings
from tacit.errors import ProviderError
from tacit.model.evidence import Ranking
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import Loss
from tacit.ports.models import Embedder, EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.recall.outcome import Outcome
from tacit.recall.spaces import SPACES, semantic

QUERY_CHARS = 480
"""About 100 tokens: a longer prompt costs more time to embed than it gains (feasibility, section 6)."""

LEFT_FOR_SEARCH = 0.25
"""Share of the time left that waiting for a remote model leaves to the search."""


def spaces_at(settings: RecallSettings, surface: Surface) -> tuple[str, ...]:
    """The spaces that are asked on `surface`: of `spaces` those for prompts, a list of its own when somebody asks, else all."""
    if surface is Surface.PROMPT and settings.spaces_prompt:
        return tuple(name for name in settings.spaces if name in settings.spaces_prompt)
    if surface is Surface.ON_DEMAND and settings.spaces_on_demand:
        return settings.spaces_on_demand
    return settings.spaces


def embed_query(
    text: str,
    *,
    embedder: Embedder,
    executor: Executor | None,
    remaining_ms: Callable[[], float],
) -> Outcome[Vectors | None]:
    """The vector of a query's words, shape (dimensions,); None, with a loss, when there is none in time.

    Args:
        text: the words; none for nothing but blanks.
        embedder: who makes vectors.
        executor: where a remote model is waited for; None = it is local.
        remaining_ms: milliseconds left until the deadline.
    """
    if not text.strip():
        return Outcome(kept=None)
    asked = [text[:QUERY_CHARS]]
    try:
        if executor is None:
            return Outcome(kept=embedder.embed(asked)[0])
        pending = executor.submit(embedder.embed, asked)
        try:
            wait_s = max(0.0, remaining_ms()) * (1 - LEFT_FOR_SEARCH) / 1000
            return Outcome(kept=pending.result(timeout=wait_s)[0])
        finally:
            pending.cancel()
    except TimeoutError:
        return Outcome(kept=None, losses=(Loss(source="semantic", cause="late"),))
    except ProviderError as error:
        return Outcome(kept=None, losses=(Loss(source="semantic", cause="failed", detail=str(error)),))


def retrieve(
    query: Query,
    *,
    search: Search,
    vector: Vectors | None,
    identity: EmbedderIdentity,
    spaces: Sequence[str],
    limit: int,
    remaining_ms: Callable[[], float],
    wide: int = 0,
) -> Outcome[tuple[Ranking, ...]]:
    """Ask every space in `spaces` that can retrieve; `semantic` only with a `vector` of `identity`.

    Args:
        query: what is asked.
        search: who answers.
        vector: of the query's words.
        identity: who made it.
        spaces: which are asked.
        limit: how many memories each space proposes.
        remaining_ms: milliseconds left until the deadline.
        wide: how many they propose, if that is more, whose hits are all they know of a memory; the others measure what is
            listed, and more hits of theirs would only cost time.

    Returns:
        One ranking per space that answered in time, in the spaces' fixed order; losses name the others.
    """
    losses: list[Loss] = []
    found: dict[str, Ranking] = {}
    if query.error_signature:
        found["error"] = search.error(query.error_signature, scope=query.scope, limit=max(limit, wide))
    for name in spaces:
        ask = SPACES[name].retrieve
        embedded = vector if name == "semantic" else None
        if ask is None and embedded is None:
            continue
        if remaining_ms() <= 0:
            losses.append(Loss(source=name, cause="late"))
            continue
        most = limit if SPACES[name].together is not None else max(limit, wide)
        if embedded is not None:
            ranking = semantic.retrieve(search, query, most, vector=embedded, identity=identity)
        else:
            assert ask is not None
            ranking = ask(search, query, most)
        found[name] = ranking
    order = ("error", *SPACES)
    return Outcome(kept=tuple(found[name] for name in order if name in found), losses=tuple(losses))
