"""The memories nearest to a vector. In: a vector, a scope. Out: hits, and the background that they stand out from.

Two ways, by the number of memories in scope: every vector is compared; or the signs of all, which an index holds, choose candidates that
are then compared. The first is exact. A graph (HNSW) over several tenants is never asked: under a filter it finds next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.backends.postgres.search.shown import HOLDS, OF_KINDS, best_shown
from tacit.backends.postgres.vectors import vector_text
from tacit.backends.text import clean_text
from tacit.errors import EmbedderMismatch
from tacit.model.evidence import Background, Hit
from tacit.ports.models import EmbedderIdentity, Vectors

if TYPE_CHECKING:
    from tacit.backends.postgres.scopes import StoredScope
    from tacit.backends.postgres.transaction import Transaction

EXACT_ROWS = 10_000
"""In scopes of no more memories every vector is compared."""
CANDIDATES = 400
"""Candidates that signs choose."""
SAMPLE = 512
"""The background of a large scope is that of about so many memories."""
EVERY = 64
"""Of so many vectors one is in the index that samples are drawn from."""
_LEAST_SAMPLE = 32

_MINE = """v.tenant = %(tenant)s AND v.identity = %(identity)s AND v.active
            AND v.scope = ANY(%(scopes)s)"""
_EXACT = (
    f"SELECT array_agg(v.number), array_agg(v.vector <#> %(query)s::halfvec) FROM vectors AS v WHERE {_MINE}"
)
_BY_SIGNS = f"""
    WITH near AS MATERIALIZED (
        SELECT v.number FROM vectors AS v WHERE {_MINE} AND {HOLDS}{{kinds}}
        ORDER BY v.bits <~> binary_quantize(%(query)s::halfvec)::bit varying LIMIT %(candidates)s
    )
    SELECT v.id, -(v.vector <#> %(query)s::halfvec) AS score FROM near
    JOIN vectors AS v ON v.tenant = %(tenant)s AND v.number = near.number
    ORDER BY score DESC, v.id DESC LIMIT %(limit)s"""
_SAMPLED = f"""
    WITH drawn AS MATERIALIZED (SELECT v.number FROM vectors AS v WHERE {_MINE} {{drawn}} LIMIT {2 * SAMPLE})
    SELECT count(*), avg(-(v.vector <#> %(query)s::halfvec)), stddev_pop(-(v.vector <#> %(query)s::halfvec)) FROM drawn
    JOIN vectors AS v ON v.tenant = %(tenant)s AND v.number = drawn.number"""
_DRAWN = f"AND v.number %% {EVERY} = 0 AND v.number %% %(step)s = 0"
_OTHER = """
    SELECT i.name, i.dimensions FROM vectors AS v JOIN identities AS i ON i.tenant = %(tenant)s AND i.identity = v.identity
    WHERE v.tenant = %(tenant)s AND v.active AND v.scope = ANY(%(scopes)s) LIMIT 1"""


def nearest(
    transaction: Transaction,
    vector: Vectors,
    scopes: Sequence[StoredScope],
    *,
    identity: EmbedderIdentity,
    identity_number: int,
    limit: int,
    now_ms: int,
    kinds: Sequence[str] | None,
) -> tuple[list[Hit], Background | None]:
    """The best `limit`, ties by id, and the background.

    Raises:
        EmbedderMismatch: there are vectors in scope, none of them of `identity`.
    """
    values: dict[str, object] = {
        "query": vector_text(vector),
        "identity": identity_number,
        "scopes": [stored.number for stored in scopes],
        "limit": limit,
        "now_ms": now_ms,
        "kinds": None if kinds is None else [clean_text(kind) for kind in kinds],
    }
    of_kinds = "" if kinds is None else OF_KINDS
    total = sum(stored.active for stored in scopes)
    if total <= EXACT_ROWS:
        hits, background = _exact(transaction, values, limit)
    else:
        background = _sampled(transaction, values, total)
        rows = transaction.rows(
            _BY_SIGNS.format(kinds=of_kinds), {**values, "candidates": max(CANDIDATES, 4 * limit)}
        )
        hits = [Hit(memory_id=name, score=float(score)) for name, score in rows]
    if background is None:
        _refuse_other_embedder(transaction, values, identity)
    return sorted(hits, key=lambda hit: (hit.score, hit.memory_id), reverse=True), background


def _exact(
    transaction: Transaction, values: dict[str, object], limit: int
) -> tuple[list[Hit], Background | None]:
    numbers, distances = transaction.arrays(_EXACT, values)[0]
    if not len(numbers):
        return [], None
    scores = -distances
    background = Background(
        count=len(scores), mean=float(scores.mean()), deviation=float(scores.std()), total=len(scores)
    )
    best = best_shown(transaction, numbers, scores, values, limit=limit)
    return [Hit(memory_id=shown.id, score=shown.score) for shown in best], background


def _sampled(transaction: Transaction, values: dict[str, object], total: int) -> Background | None:
    # Numbers are given out in the order of writing, by turns to all tenants: every so-manieth is as good as chance.
    step = EVERY * max(round(total / (EVERY * SAMPLE)), 1)
    for drawn, least in ((_DRAWN, _LEAST_SAMPLE), ("", 1)):
        count, mean, deviation = transaction.rows(_SAMPLED.format(drawn=drawn), {**values, "step": step})[0]
        if count >= least:
            return Background(count=count, mean=float(mean), deviation=float(deviation), total=total)
    return None


def _refuse_other_embedder(
    transaction: Transaction, values: dict[str, object], identity: EmbedderIdentity
) -> None:
    row = transaction.row(_OTHER, values)
    if row is not None:
        raise EmbedderMismatch(
            f"The stored vectors belong to {EmbedderIdentity(name=row[0], dimensions=row[1])}, the query to {identity}.",
            hint="Run `tacit reindex` to renew them.",
        )
