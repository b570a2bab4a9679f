"""Stage 3: ask the spaces under a deadline. In: search, embedder, query. Out: one ranking per space. Never fuses.

The semantic space may wait for a remote model; then it runs beside the others on the given executor. The others, and a
local model, are quick and run in turn: a thread of its own costs more than it saves. What missed the deadline is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from time import perf_counter

from tacit.errors import ProviderError
from tacit.model.evidence import Ranking
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.search import Search
from tacit.recall.outcome import Outcome
from tacit.recall.spaces import SPACES, semantic

QUERY_CHARS = 480
"""About 100 tokens: a longer prompt costs more time to embed than it gains (feasibility, section 6)."""


def embed_and_search(search: Search, embedder: Embedder, query: Query, limit: int) -> Ranking:
    """Semantic ranking for the query's words; empty for an empty query."""
    if not query.text.strip():
        return Ranking(space="semantic", hits=())
    vector = embedder.embed([query.text[:QUERY_CHARS]])[0]
    return semantic.retrieve(search, query, limit, vector=vector, identity=embedder.identity)


def retrieve(
    query: Query,
    *,
    search: Search,
    embedder: Embedder,
    spaces: Sequence[str],
    limit: int,
    executor: Executor | None,
    remaining_ms: Callable[[], float],
) -> Outcome[tuple[Ranking, ...]]:
    """Ask every space in `spaces` that can retrieve.

    Returns:
        One ranking per space that answered in time, in the spaces' fixed order; notes name the others.
    """
    notes: list[str] = []
    found: dict[str, Ranking] = {}
    wanted = "semantic" in spaces
    pending = (
        executor.submit(embed_and_search, search, embedder, query, limit) if wanted and executor else None
    )
    if query.error_signature:
        found["error"] = search.error(query.error_signature, scope=query.scope, limit=limit)
    for name in spaces:
        ask = SPACES[name].retrieve
        if ask is None:
            continue
        if remaining_ms() <= 0:
            notes.append(f"{name} missed the deadline")
            continue
        started = perf_counter()
        found[name] = _timed(ask(search, query, limit), started)
    if wanted:
        started = perf_counter()
        try:
            if pending is None:
                ranking = embed_and_search(search, embedder, query, limit)
            else:
                ranking = pending.result(timeout=max(0.0, remaining_ms()) / 1000)
            found["semantic"] = _timed(ranking, started)
        except TimeoutError:
            notes.append("semantic missed the deadline")
        except ProviderError as error:
            notes.append(f"semantic failed: {error}")
        finally:
            if pending is not None:
                pending.cancel()
    order = ("error", *SPACES)
    return Outcome(kept=tuple(found[name] for name in order if name in found), notes=tuple(notes))


def _timed(ranking: Ranking, started: float) -> Ranking:
    took = (perf_counter() - started) * 1000
    return Ranking(space=ranking.space, hits=ranking.hits, took_ms=took, complete=ranking.complete)
