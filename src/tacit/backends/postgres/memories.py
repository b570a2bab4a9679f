"""Reads memories, their history and relations. In: a transaction, ids or a filter, a scope. Out: values.

Every statement names the tenant and the scope. Lists as of an earlier time are filtered in Python, because only people request them, and recall does not. Never writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from tacit.backends.changes import resolution_error, searched_name
from tacit.backends.codec import decode, decode_memory
from tacit.backends.listing import in_order, passes
from tacit.backends.rows import recorded_of
from tacit.backends.text import clean_text
from tacit.model.ids import LEAST_ENDING
from tacit.model.memory import Memory, Relation, RelationType, Sensitivity
from tacit.model.scope import ScopeFilter
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import MemoryFilter, Recorded

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_OWN = "tenant = %(tenant)s"
_IN_SCOPE = f"{_OWN} AND scope = ANY(%(scopes)s)"
_GREATEST = "\U0010ffff"
_INDEXED_CHARS = 200
"""So many characters at the beginning of a statement are in the index of those that wait."""
_INDEXED_STATUSES = (("active",), ("quarantined",))
_ORDERS = {
    "created": "created_at_ms {way}, id",
    "updated": "updated_at_ms {way}, created_at_ms DESC, id",
    "importance": "importance {way}, created_at_ms DESC, id",
    "used": "use_count {way}, created_at_ms DESC, id",
}

_GET = (
    f"SELECT id, body, use_count, shown_count, status FROM memories WHERE {_IN_SCOPE} AND id = ANY(%(ids)s)"
)
_KNOWN_THEN = f"""
    SELECT v.body FROM (
        SELECT DISTINCT ON (number) number, scope, body FROM versions
        WHERE {_OWN} AND recorded_at_ms <= %(as_of)s ORDER BY number, version DESC
    ) AS v
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = v.number
    WHERE v.scope = ANY(%(scopes)s) AND (%(any_level)s OR m.sensitivity = ANY(%(levels)s))"""
# Each step reads one entry of the index behind the kind before, so the cost grows with the kinds, not with the memories.
_KINDS = f"""
    WITH RECURSIVE held (scope, kind) AS (
        SELECT asked.scope, (SELECT min(kind) FROM memories WHERE {_OWN} AND scope = asked.scope AND status = 'active')
        FROM unnest(%(scopes)s::int[]) AS asked (scope)
        UNION ALL
        SELECT held.scope, (SELECT min(kind) FROM memories
            WHERE {_OWN} AND scope = held.scope AND status = 'active' AND kind > held.kind)
        FROM held WHERE held.kind IS NOT NULL
    )
    SELECT DISTINCT kind FROM held WHERE kind IS NOT NULL ORDER BY kind"""
_CHANGED = f"SELECT id FROM memories WHERE {_IN_SCOPE} AND change > %(since)s LIMIT %(limit)s"
_HISTORY = """
    SELECT v.body FROM memories AS m
    JOIN versions AS v ON v.tenant = %(tenant)s AND v.number = m.number
    WHERE m.tenant = %(tenant)s AND m.id = %(id)s AND v.scope = ANY(%(scopes)s)
    ORDER BY v.version"""
_EDGES = """
    SELECT a.id, b.id, r.type, r.weight FROM relations AS r
    JOIN memories AS a ON a.tenant = %(tenant)s AND a.number = r.source
    JOIN memories AS b ON b.tenant = %(tenant)s AND b.number = r.target
    WHERE r.tenant = %(tenant)s AND a.scope = ANY(%(scopes)s) AND b.scope = ANY(%(scopes)s)"""
_RELATIONS = (
    f"{_EDGES} AND (r.source = ANY(%(numbers)s) OR r.target = ANY(%(numbers)s)) ORDER BY a.id, b.id, r.type"
)
_RELATIONS_OF = f"{_EDGES} AND r.type = %(type)s ORDER BY a.id, b.id"
_ANY_RELATION = "SELECT 1 FROM relations WHERE tenant = %(tenant)s LIMIT 1"
_NUMBERS = f"SELECT number FROM memories WHERE {_IN_SCOPE} AND id = ANY(%(ids)s)"
_PENDING = """
    FROM memories AS m
    LEFT JOIN identities AS i ON i.tenant = %(tenant)s AND i.name = %(name)s AND i.dimensions = %(dimensions)s
    LEFT JOIN vectors AS v ON v.tenant = %(tenant)s AND v.number = m.number
        AND v.identity = i.identity
    WHERE m.tenant = %(tenant)s AND v.number IS NULL
        AND m.status IN ('active', 'quarantined')"""
_COUNT_PENDING = f"SELECT count(*) {_PENDING}"
_LIST_PENDING = f"SELECT m.body, m.use_count, m.shown_count {_PENDING} ORDER BY m.number LIMIT %(limit)s"
_VECTORS = """
    SELECT m.id, v.vector::real[] FROM memories AS m
    JOIN identities AS i ON i.tenant = %(tenant)s AND i.name = %(name)s AND i.dimensions = %(dimensions)s
    JOIN vectors AS v ON v.tenant = %(tenant)s AND v.number = m.number
        AND v.identity = i.identity
    WHERE m.tenant = %(tenant)s AND m.scope = ANY(%(scopes)s)
        AND m.id = ANY(%(ids)s)"""


def get(transaction: Transaction, ids: Sequence[str], scope: ScopeFilter) -> tuple[Memory, ...]:
    """See the port."""
    clean_ids = [clean_text(name) for name in ids]
    scopes = transaction.visible(scope)
    if not clean_ids or not scopes:
        return ()
    rows = transaction.rows(_GET, {"ids": list(dict.fromkeys(clean_ids)), "scopes": scopes})
    memories = {name: decode_memory(body, uses, shown) for name, body, uses, shown, _ in rows}
    return tuple(memories[name] for name in clean_ids if name in memories)


def list_memories(
    transaction: Transaction, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int
) -> tuple[Memory, ...]:
    """See the port."""
    if limit <= 0:
        return ()
    if where.as_of_ms is not None:
        matches = known_then(transaction, where, scope)
        first = max(offset, 0)
        return tuple(in_order(matches, where)[first : first + limit])
    tests, values = conditions(transaction, where, scope)
    order = _ORDERS[where.order].format(way="ASC" if where.ascending else "DESC")
    rows = transaction.rows(
        f"SELECT body, use_count, shown_count FROM memories WHERE {tests}"
        f" ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s",
        {**values, "limit": limit, "offset": max(offset, 0)},
    )
    return tuple(decode_memory(body, uses, shown) for body, uses, shown in rows)


def count_memories(transaction: Transaction, where: MemoryFilter, *, scope: ScopeFilter) -> int:
    """See the port."""
    if where.as_of_ms is not None:
        return len(known_then(transaction, where, scope))
    tests, values = conditions(transaction, where, scope)
    return transaction.number(f"SELECT count(*) FROM memories WHERE {tests}", values)


def known_then(transaction: Transaction, where: MemoryFilter, scope: ScopeFilter) -> list[Memory]:
    """Return the memories that fit `where` at its time `as_of_ms`: in the version stored by then, and valid then."""
    assert where.as_of_ms is not None
    rows = transaction.rows(
        _KNOWN_THEN,
        {
            "as_of": where.as_of_ms,
            "scopes": transaction.visible(scope),
            "any_level": where.sensitivities is None,
            "levels": [int(level) for level in where.sensitivities or ()],
        },
    )
    memories = [decode(Memory, row[0]) for row in rows]
    return [
        memory for memory in memories if memory.validity.holds_at(where.as_of_ms) and passes(memory, where)
    ]


def conditions(
    transaction: Transaction, where: MemoryFilter, scope: ScopeFilter
) -> tuple[str, dict[str, object]]:
    """Return an SQL condition and its parameters. It selects the rows of `memories` that fit `where`, whose time it ignores."""
    tests, values = [_IN_SCOPE], dict[str, object](scopes=transaction.visible(scope))
    if where.kinds is not None:
        tests.append("kind = ANY(%(kinds)s)")
        values["kinds"] = [clean_text(kind) for kind in where.kinds]
    if (
        where.statuses in _INDEXED_STATUSES and where.statuses
    ):  # exactly the condition of the partial indexes, so that the planner can use them
        tests.append(f"status = '{where.statuses[0]}'")
    elif where.statuses is not None:
        tests.append("status = ANY(%(statuses)s)")
        values["statuses"] = list(where.statuses)
    if where.source is not None:
        tests.append("source = %(source)s")
        values["source"] = clean_text(where.source)
    if where.text is not None:
        tests.append("strpos(folded, %(text)s) > 0")
        values["text"] = clean_text(clean_text(where.text).casefold())
    if where.begins is not None:
        start = clean_text(clean_text(where.begins).casefold())
        head = start[:_INDEXED_CHARS]
        tests.append(
            f"left(folded, {_INDEXED_CHARS}) >= %(head)s AND left(folded, {_INDEXED_CHARS}) < %(end)s"
        )
        tests.append("starts_with(folded, %(start)s)")
        values |= {"head": head, "end": head + _GREATEST, "start": start}
    if where.tiers is not None:
        tests.append("tier = ANY(%(tiers)s)")
        values["tiers"] = [tier.value for tier in where.tiers]
    if where.sensitivities is not None:
        tests.append("sensitivity = ANY(%(levels)s)")
        values["levels"] = [int(level) for level in where.sensitivities]
    if where.pinned is not None:
        tests.append(f"pinned = {where.pinned}")
    if where.branched is not None:
        same = "IS NOT DISTINCT FROM" if where.branched else "IS DISTINCT FROM"
        tests.append(f"jsonb_typeof(body::jsonb -> 'branch') {same} 'object'")
    if where.session is not None:
        tests.append("host = %(host)s AND session_id = %(session)s")
        values |= {"host": clean_text(where.session.host), "session": clean_text(where.session.session_id)}
    if where.after is not None:
        tests.append("(created_at_ms < %(after_ms)s OR (created_at_ms = %(after_ms)s AND id > %(after_id)s))")
        values |= {"after_ms": where.after[0], "after_id": clean_text(where.after[1])}
    return " AND ".join(tests), values


def kinds(transaction: Transaction, scope: ScopeFilter) -> tuple[str, ...]:
    """Return the names of the kinds of active memories in `scope`, sorted."""
    return tuple(row[0] for row in transaction.rows(_KINDS, {"scopes": transaction.visible(scope)}))


def changed(
    transaction: Transaction, since: int, scope: ScopeFilter, *, limit: int
) -> tuple[str, ...] | None:
    """See the port."""
    if any(stored.moved > since for stored in transaction.scopes(scope)):
        return None
    values = {"scopes": transaction.visible(scope), "since": since, "limit": limit + 1}
    rows = transaction.rows(_CHANGED, values)
    return None if len(rows) > limit else tuple(str(row[0]) for row in rows)


def resolve(
    transaction: Transaction,
    id_or_prefix: str,
    scope: ScopeFilter,
    sensitivities: tuple[Sensitivity, ...] | None,
) -> Memory:
    """See the port."""
    wanted = searched_name(id_or_prefix)
    tests, values = conditions(transaction, MemoryFilter(statuses=None, sensitivities=sensitivities), scope)
    values |= {"wanted": wanted, "greatest": wanted + _GREATEST}
    begins = "id >= %(wanted)s AND id <= %(greatest)s"
    ends = "right(id, length(%(wanted)s)) = %(wanted)s"
    rows: list[tuple[str, str, int, int]] = []
    for matches in (begins, ends) if len(wanted) >= LEAST_ENDING else (begins,):
        rows = cast(
            "list[tuple[str, str, int, int]]",
            transaction.rows(
                f"SELECT id, body, use_count, shown_count FROM memories WHERE {tests} AND {matches} ORDER BY id LIMIT 6",
                values,
            ),
        )
        if rows:
            break
    if rows and (len(rows) == 1 or rows[0][0] == wanted):
        return decode_memory(*rows[0][1:])
    raise resolution_error(id_or_prefix, [row[0] for row in rows])


def history(transaction: Transaction, memory_id: str, scope: ScopeFilter) -> tuple[Memory, ...]:
    """See the port. A version written under a scope outside the filter is left out."""
    rows = transaction.rows(_HISTORY, {"id": clean_text(memory_id), "scopes": transaction.visible(scope)})
    return tuple(decode(Memory, row[0]) for row in rows)


def recorded(
    transaction: Transaction, scope: ScopeFilter, *, limit: int, memory_id: str | None, change_id: str | None
) -> tuple[Recorded, ...]:
    """See the port."""
    if limit <= 0:
        return ()
    tests = [_IN_SCOPE]
    newest = ["recorded_at_ms", "number", "version"]
    values: dict[str, object] = {"scopes": transaction.visible(scope), "limit": limit}
    if memory_id is not None:
        tests.append(f"number = (SELECT number FROM memories WHERE {_OWN} AND id = %(id)s)")
        values["id"] = clean_text(memory_id)
        newest = ["version"]  # the clock may have been set back since
    if change_id is not None:
        tests.append("change_id = %(change)s")
        values["change"] = clean_text(change_id)
    rows = transaction.rows(
        "WITH last AS (SELECT number, version, recorded_at_ms, reason, body, change_id FROM versions"
        f" WHERE {' AND '.join(tests)} ORDER BY {', '.join(f'{column} DESC' for column in newest)} LIMIT %(limit)s)"
        " SELECT l.recorded_at_ms, l.reason, l.body, l.change_id, (SELECT w.body FROM versions AS w"
        " WHERE w.tenant = %(tenant)s AND w.number = l.number"
        " AND w.version < l.version ORDER BY w.version DESC LIMIT 1)"
        f" FROM last AS l ORDER BY {', '.join(f'l.{column} DESC' for column in newest)}",
        values,
    )
    return tuple(map(recorded_of, rows))


def relations(
    transaction: Transaction, memory_ids: Sequence[str], scope: ScopeFilter
) -> tuple[Relation, ...]:
    """See the port. Ordered by source, target, type."""
    # Most stores hold few edges or none, and the graph space asks before every prompt.
    if transaction.row(_ANY_RELATION) is None:
        return ()
    values: dict[str, object] = {
        "ids": [clean_text(name) for name in memory_ids],
        "scopes": transaction.visible(scope),
    }
    values["numbers"] = [row[0] for row in transaction.rows(_NUMBERS, values)]
    return _relations(transaction, _RELATIONS, values)


def relations_of(transaction: Transaction, kind: RelationType, scope: ScopeFilter) -> tuple[Relation, ...]:
    """See the port. Ordered by source, target."""
    return _relations(transaction, _RELATIONS_OF, {"type": kind, "scopes": transaction.visible(scope)})


def _relations(transaction: Transaction, statement: str, values: dict[str, object]) -> tuple[Relation, ...]:
    return tuple(
        Relation(source_id=row[0], target_id=row[1], type=cast(RelationType, row[2]), weight=row[3])
        for row in transaction.rows(statement, values)
    )


def count_pending(transaction: Transaction, identity: EmbedderIdentity) -> int:
    """See the port."""
    return transaction.number(_COUNT_PENDING, identity_values(identity))


def pending_vectors(transaction: Transaction, identity: EmbedderIdentity, limit: int) -> tuple[Memory, ...]:
    """See the port. Active and quarantined memories, in the order they were stored."""
    if limit <= 0:
        return ()
    rows = transaction.rows(_LIST_PENDING, {**identity_values(identity), "limit": limit})
    return tuple(decode_memory(*row) for row in rows)


def get_vectors(
    transaction: Transaction, ids: Sequence[str], scope: ScopeFilter, identity: EmbedderIdentity
) -> dict[str, Vectors]:
    """See the port."""
    values = {
        **identity_values(identity),
        "ids": [clean_text(name) for name in ids],
        "scopes": transaction.visible(scope),
    }
    return {name: np.array(vector, np.float32) for name, vector in transaction.rows(_VECTORS, values)}


def identity_values(identity: EmbedderIdentity) -> dict[str, object]:
    """Return the parameters of a statement that identify an embedder."""
    return {"name": clean_text(identity.name), "dimensions": identity.dimensions}
