"""Counts and checks of a tenant. In: a transaction. Out: counts, and sentences about problems. Never repairs anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit.backends.codec import decode
from tacit.backends.postgres.schema import SCHEMA_VERSION
from tacit.errors import StoreCorrupt
from tacit.model.memory import Memory
from tacit.model.session import SessionState
from tacit.model.trace import Trace
from tacit.ports.store import ProjectRecord, StoreStats

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_STATS = """
    SELECT (SELECT sum(active) FROM scopes WHERE tenant = %(tenant)s),
        (SELECT sum(total) FROM scopes WHERE tenant = %(tenant)s),
        (SELECT count(*) FROM projects WHERE tenant = %(tenant)s),
        (SELECT count(*) FROM sessions WHERE tenant = %(tenant)s),
        (SELECT count(*) FROM exposures WHERE tenant = %(tenant)s),
        (SELECT count(*) FROM traces WHERE tenant = %(tenant)s),
        (SELECT count(*) FROM handovers WHERE tenant = %(tenant)s AND done_at_ms IS NULL),
        (SELECT count(*) FROM vectors WHERE tenant = %(tenant)s)"""
_MISSING = """
    SELECT count(*) FROM memories AS m
    LEFT JOIN vectors AS v ON v.tenant = %(tenant)s AND v.number = m.number
    WHERE m.tenant = %(tenant)s AND v.number IS NULL
        AND m.status IN ('active', 'quarantined')"""
_SIZE = """
    SELECT sum(pg_column_size(m.*)) FROM memories AS m
    WHERE m.tenant = %(tenant)s"""

_M = "m.tenant = %(tenant)s"
_V = "v.tenant = %(tenant)s"
_P = "p.tenant = %(tenant)s"
_COUNTS = (
    (
        f"""SELECT count(*) FROM scopes AS s WHERE s.tenant = %(tenant)s AND (
            s.total <> (SELECT count(*) FROM memories AS m WHERE {_M} AND m.scope = s.scope)
            OR s.active <> (SELECT count(*) FROM memories AS m WHERE {_M} AND m.scope = s.scope AND m.status = 'active'))""",
        "{} scopes count other memories than they hold.",
    ),
    (
        f"""SELECT count(*) FROM postings AS p WHERE {_P} AND NOT EXISTS (
            SELECT 1 FROM memories AS m WHERE {_M} AND m.number = p.number AND m.scope = p.scope AND m.status = 'active')""",
        "{} postings are of no active memory of their scope.",
    ),
    (
        f"""SELECT count(*) FROM (
            SELECT p.space, p.term, p.scope, count(*) AS documents FROM postings AS p WHERE {_P} AND p.space < 3
            GROUP BY p.space, p.term, p.scope
        ) AS held FULL JOIN (
            SELECT space, term, scope, documents FROM terms WHERE tenant = %(tenant)s
        ) AS counted USING (space, term, scope) WHERE held.documents IS DISTINCT FROM counted.documents""",
        "{} terms are counted in other memories than hold them.",
    ),
    (
        f"""SELECT count(*) FROM vectors AS v JOIN identities AS i ON i.tenant = %(tenant)s AND i.identity = v.identity
        WHERE {_V} AND (vector_dims(v.vector) <> i.dimensions OR length(v.bits) <> i.dimensions)""",
        "{} vectors have the wrong length; `tacit reindex` renews them.",
    ),
    (
        f"""SELECT count(*) FROM vectors AS v LEFT JOIN memories AS m ON {_M} AND m.number = v.number
        WHERE {_V} AND (v.scope, v.active, v.kind, v.id, v.valid_from_ms, v.valid_to_ms)
            IS DISTINCT FROM (m.scope, m.status = 'active', m.kind, m.id, m.valid_from_ms, m.valid_to_ms)""",
        "{} vectors stand beside other values than their memories have.",
    ),
    (
        f"""SELECT count(*) FROM memories AS m WHERE {_M} AND NOT EXISTS (
            SELECT 1 FROM versions AS v WHERE {_V} AND v.number = m.number)""",
        "{} memories have no history.",
    ),
    (
        f"""SELECT count(*) FROM relations AS r WHERE r.tenant = %(tenant)s AND NOT (
            EXISTS (SELECT 1 FROM memories AS m WHERE {_M} AND m.number = r.source)
            AND EXISTS (SELECT 1 FROM memories AS m WHERE {_M} AND m.number = r.target))""",
        "{} relations name a memory that does not exist.",
    ),
)
_BODIES: dict[str, tuple[str, type[object]]] = {
    "memories": (f"SELECT m.body FROM memories AS m WHERE {_M}", Memory),
    "versions": (f"SELECT v.body FROM versions AS v WHERE {_V}", Memory),
    "sessions": ("SELECT body FROM sessions WHERE tenant = %(tenant)s", SessionState),
    "traces": ("SELECT body FROM traces WHERE tenant = %(tenant)s", Trace),
    "projects": ("SELECT body FROM projects WHERE tenant = %(tenant)s", ProjectRecord),
}

Step = Callable[["Transaction"], list[str]]


def read_stats(transaction: Transaction) -> StoreStats:
    """Return the counts of a tenant. The size is that of the rows of memories, in bytes."""
    row = transaction.row(_STATS)
    assert row is not None
    active, total, projects, sessions, exposures, traces, pending, vectors = (
        int(value or 0) for value in row
    )
    return StoreStats(
        memories_active=active,
        memories_total=total,
        projects=projects,
        sessions=sessions,
        exposures=exposures,
        traces=traces,
        handovers_pending=pending,
        vectors=vectors,
        vectors_missing=transaction.number(_MISSING),
        size_bytes=transaction.number(_SIZE),
        schema_version=SCHEMA_VERSION,
    )


def examinations() -> tuple[Step, ...]:
    """Return the steps of the check. Each step takes a transaction and returns sentences about problems."""
    return (*map(_unreadable, _BODIES), *(_miscounted(sql, sentence) for sql, sentence in _COUNTS))


def _unreadable(table: str) -> Step:
    statement, kind = _BODIES[table]

    def find(transaction: Transaction) -> list[str]:
        count = 0
        for (body,) in transaction.stream(statement):
            try:
                decode(kind, body)
            except StoreCorrupt:
                count += 1
        return [f"{count} rows of {table} cannot be read."] if count else []

    return find


def _miscounted(statement: str, sentence: str) -> Step:
    def find(transaction: Transaction) -> list[str]:
        count = transaction.number(statement)
        return [sentence.format(count)] if count else []

    return find
