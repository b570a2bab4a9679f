"""Read memories, their history and relations. In: a reader's connection, ids or a filter, a scope. Out: values.

Every statement carries the scope. Never writes.

Find memories by the words that somebody types. In: a reader's connection, words, a filter, a scope. Out: ids with scores.

The text index holds active memories: it proposes those, and the filter is part of the same statement. Others (waiting,
superseded, forgotten, or as of another time) are read one by one. All are scored alike, by `word_score`. Never writes.

A word counts once per text, by its inverse document frequency (ln(1 + N / (1 + df)), N documents, df of them with the word):
whole where its stem is there, less where a longer word begins with it, less again where a word is only spelled like it.
Longer texts score a little less. Words of function count only where the query holds no others.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from tacit.backends.changes import resolution_error, searched_name
from tacit.backends.codec import clean_text, decode, decode_memory, decode_reason, json_list
from tacit.backends.sqlite.connection import Database, StoredScope, every_scope, numbers_of, visible_numbers
from tacit.backends.sqlite.memory_index import quoted
from tacit.frozen import frozen
from tacit.model.evidence import Hit
from tacit.model.ids import LEAST_ENDING
from tacit.model.kinds import SESSION_NOTES
from tacit.model.memory import Memory, Relation, RelationType, Sensitivity, TrustTier
from tacit.model.scope import ScopeFilter
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import GivenTimes, MemoryFilter, MemoryTally, Recorded
from tacit.text.spelling import LEAST_PREFIX, near_words
from tacit.text.stemming import content_words, porter_stem, words_of
from tacit.text.tokens import QUERY_CHARS

CACHED_MEMORIES = 1024
CACHED_LIST = 400
"""Longest list, in memories, that is read through the cache."""
_BATCH = 1000

_IN_SCOPE = "scope IN (SELECT value FROM json_each(:scopes))"
_GREATEST = "\U0010ffff"
_NOTE = (
    f"(kind IN ({','.join(repr(kind) for kind in SESSION_NOTES)}) AND json_extract(body, '$.provenance.source') = 'session'"
    " AND coalesce(json_extract(body, '$.provenance.span'), '') = '')"
)
"""`Memory.is_session_note` in SQL."""
_INDEXED_STATUSES = (("active",), ("quarantined",))


class MemoryReader:
    """A reader of memories by id, with a cache of those decoded last, checked by version and last change. Thread-safe.

    Counting a use makes a version and no change; a memory that is purged and comes back under its id has its first version again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, tuple[tuple[int, int], Memory]] = OrderedDict()

    def clear(self) -> None:
        """Empty the cache. Call it after texts were rewritten or memories purged."""
        with self._lock:
            self._cache.clear()

    def get(
        self, connection: sqlite3.Connection, ids: Sequence[str], scopes: Sequence[StoredScope]
    ) -> tuple[Memory, ...]:
        """Return the memories of `ids` that are in `scopes`, in the order of `ids`. Visibility and version are always read from the table."""
        clean_ids, numbers = [clean_text(name) for name in ids], numbers_of(scopes)
        rows: list[tuple[str, int, int, str, int, int]] = []
        for start in range(0, len(clean_ids), _BATCH):
            batch = clean_ids[start : start + _BATCH]
            marks, visible = ",".join("?" * len(batch)), ",".join("?" * len(numbers))
            rows += connection.execute(
                f"SELECT id, version, change, status, use_count, shown_count FROM memories WHERE id IN ({marks}) AND +scope IN ({visible})",
                (*batch, *numbers),
            ).fetchall()
        memories: dict[str, Memory] = {}
        with self._lock:
            cached = {name: self._cache.get(name) for name, *_ in rows}
            bodies = _bodies(
                connection, [row[0] for row in rows if not _is_current(cached[row[0]], row[1:3])]
            )
            for name, version, change, status, uses, sessions in rows:
                entry = cached[name]
                if entry is not None and name not in bodies:
                    memory = entry[1]
                    self._cache.move_to_end(name)
                else:
                    memory = decode_memory(bodies[name], uses, sessions)
                    self._cache[name] = ((version, change), memory)
                # The column is what everybody else goes by.
                memories[name] = memory if memory.status == status else replace(memory, status=status)
            while len(self._cache) > CACHED_MEMORIES:
                self._cache.popitem(last=False)
        return tuple(memories[name] for name in clean_ids if name in memories)


def _is_current(entry: tuple[tuple[int, int], Memory] | None, state: tuple[int, int]) -> bool:
    return entry is not None and entry[0] == state


def _bodies(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, str]:
    bodies: dict[str, str] = {}
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        bodies.update(connection.execute(f"SELECT id, body FROM memories WHERE id IN ({marks})", batch))
    return bodies


class MemoryTables:
    """The part of `SqliteStore` that reads memories, their history, relations and vectors; see `MemoryStore` in `ports/store.py`."""

    _database: Database
    _reader: MemoryReader

    def get(self, ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return the memories of `ids` within `scope`, in the order of `ids`; unknown or invisible ones are left out. Any status."""
        with self._database.read() as connection:
            return self._reader.get(connection, ids, self._database.scopes(connection, scope))

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int = 0
    ) -> tuple[Memory, ...]:
        """Return the memories within `scope` that meet `where`, newest first (created_at_ms, then id) unless `where` orders them otherwise."""
        past = where.as_of_ms is not None
        with self._database.read() as connection:
            if past or limit > CACHED_LIST:
                columns = "body, 0, 0" if past else "body, use_count, shown_count"
                rows = _list(connection, columns, where, scope=scope, limit=limit, offset=offset)
                return tuple(decode(Memory, row[0]) if past else decode_memory(*row) for row in rows)
            # A session starts with many of the memories that the one before started with.
            rows = _list(connection, "id, 0, 0", where, scope=scope, limit=limit, offset=offset)
            return self._reader.get(
                connection, [row[0] for row in rows], self._database.scopes(connection, scope)
            )

    def count_memories(self, where: MemoryFilter, *, scope: ScopeFilter) -> int:
        """Count the memories that `list_memories` would give without a limit."""
        with self._database.read() as connection:
            table, tests, values = asked_rows(connection, where, scope)
            if where.stored_from_ms and where.as_of_ms is None:  # else every row of the scopes is read
                table += " INDEXED BY memories_by_age"
            row = connection.execute(
                f"SELECT count(*) FROM {table} WHERE {' AND '.join(tests)}", values
            ).fetchone()
            return int(row[0])

    def tally(self, where: MemoryFilter, *, scope: ScopeFilter) -> tuple[MemoryTally, ...]:
        """Count the memories that meet `where` by their values, in one pass; every count is above 0."""
        with self._database.read() as connection:
            table, tests, values = asked_rows(connection, where, scope)
            past = where.as_of_ms is not None
            rows = connection.execute(
                "SELECT kind, name, tier, status, level, given, used, counted FROM ("
                f" SELECT {_column('kind', past=past)} AS kind, scope, json_extract(body, '$.provenance.tier') AS tier,"
                f" {_column('status', past=past)} AS status, json_extract(body, '$.sensitivity') AS level,"
                f" {_given(past=past)} AS given, {_column('use_count', past=past)} > 0 AS used, count(*) AS counted"
                f" FROM {table} WHERE {' AND '.join(tests)} GROUP BY 1, 2, 3, 4, 5, 6, 7"
                ") JOIN scopes ON number = scope",
                values,
            )
            return tuple(
                MemoryTally(
                    kind=kind,
                    scope=name,
                    tier=TrustTier(tier),
                    status=status,
                    sensitivity=Sensitivity(level or 0),
                    given=bool(given),
                    used=bool(used),
                    count=count,
                )
                for kind, name, tier, status, level, given, used, count in rows
            )

    def given_times(self, ids: Sequence[str]) -> Mapping[str, GivenTimes]:
        """Return memory id -> how often it was given and fetched; an id that never was is left out."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT memory_id, sum(surface <> 'on_demand'), sum(surface = 'on_demand'), max(at_ms) FROM exposures"
                " WHERE memory_id IN (SELECT value FROM json_each(?)) AND surface <> 'host' GROUP BY memory_id",
                (json_list([clean_text(name) for name in ids]),),
            )
            return {
                name: GivenTimes(given=given, fetched=fetched, last_ms=last)
                for name, given, fetched, last in rows
            }

    def kinds(self, *, scope: ScopeFilter) -> tuple[str, ...]:
        """Return the names of all kinds that the active memories in `scope` have, sorted; cheap."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT value FROM json_each(?)", (visible_numbers(connection, scope),)
            ).fetchall()
            found = {
                row[0] for (number,) in rows for row in connection.execute(_KINDS_OF_SCOPE, {"scope": number})
            }
            return tuple(sorted(found))

    def resolve(
        self,
        id_or_prefix: str,
        *,
        scope: ScopeFilter,
        sensitivities: tuple[Sensitivity, ...] | None = None,
    ) -> Memory:
        """Return the one memory whose id is or begins with `id_or_prefix`; if none begins with it, the one whose id ends with it."""
        with self._database.read() as connection:
            clean_id = searched_name(id_or_prefix)
            values: dict[str, object] = {
                "wanted": clean_id,
                "greatest": _GREATEST,
                "scopes": visible_numbers(connection, scope),
            }
            tests = [
                _IN_SCOPE,
                *_filters(MemoryFilter(statuses=None, sensitivities=sensitivities), values, past=False),
            ]
            begins = "id >= :wanted AND id <= :wanted || :greatest"
            ends = "substr(id, -length(:wanted)) = :wanted"
            rows: list[tuple[str, str, int]] = []
            for matches in (begins, ends) if len(clean_id) >= LEAST_ENDING else (begins,):
                query = f"SELECT id, body, use_count, shown_count FROM memories WHERE {matches} AND {' AND '.join(tests)} ORDER BY id LIMIT 6"
                rows = connection.execute(query, values).fetchall()
                if rows:
                    break
            if rows and (len(rows) == 1 or rows[0][0] == clean_id):
                return decode_memory(*rows[0][1:])
            raise resolution_error(id_or_prefix, [str(row[0]) for row in rows])

    def history(self, memory_id: str, *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return all stored versions of one memory, oldest first; empty if it is unknown or not in `scope`.

        A version written under a scope outside the filter is left out.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT body FROM versions WHERE memory = (SELECT number FROM memories WHERE id = :id)"
                f" AND {_IN_SCOPE} ORDER BY version",
                {"id": clean_text(memory_id), "scopes": visible_numbers(connection, scope)},
            )
            return tuple(decode(Memory, row[0]) for row in rows)

    def recorded(
        self, *, scope: ScopeFilter, limit: int, memory_id: str | None = None, change_id: str | None = None
    ) -> tuple[Recorded, ...]:
        """Return the last versions written, newest first: of all memories, of the memory `memory_id`, or of the change `change_id`.

        Reads the numbers of all versions: for a person who looks, not for recall.
        """
        with self._database.read() as connection:
            if limit <= 0:
                return ()
            tests = [_IN_SCOPE]
            newest = "recorded_at_ms DESC, memory DESC, version DESC"
            values: dict[str, object] = {"scopes": visible_numbers(connection, scope), "limit": limit}
            if memory_id is not None:
                tests.append("memory = (SELECT number FROM memories WHERE id = :id)")
                values["id"] = clean_text(memory_id)
                newest = "version DESC"  # the clock may have been set back since
            if change_id is not None:
                tests.append("change_id = :change")
                values["change"] = clean_text(change_id)
            rows = connection.execute(
                "WITH last AS (SELECT memory, version FROM versions"
                f" WHERE {' AND '.join(tests)} ORDER BY {newest} LIMIT :limit)"
                " SELECT v.recorded_at_ms, v.reason, v.body, v.change_id, (SELECT w.body FROM versions AS w WHERE w.memory = v.memory"
                " AND w.version < v.version ORDER BY w.version DESC LIMIT 1)"
                " FROM last JOIN versions AS v ON v.memory = last.memory AND v.version = last.version"
                f" ORDER BY {', '.join(f'v.{column}' for column in newest.split(', '))}",
                values,
            )
            return tuple(map(_recorded_of, rows))

    def relations(self, memory_ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """Return the relations with one end in `memory_ids` and both ends within `scope`. Ordered by source, target, type."""
        with self._database.read() as connection:
            # Most stores hold few edges or none, and the graph space asks before every prompt.
            if connection.execute("SELECT 1 FROM relations LIMIT 1").fetchone() is None:
                return ()
            rows = connection.execute(
                "WITH wanted AS (SELECT number FROM memories WHERE id IN (SELECT value FROM json_each(:ids))),"
                " edges AS (SELECT source, target, type, weight FROM relations WHERE source IN wanted"
                " UNION SELECT source, target, type, weight FROM relations WHERE target IN wanted)"
                " SELECT a.id, b.id, e.type, e.weight FROM edges AS e"
                " JOIN memories AS a ON a.number = e.source JOIN memories AS b ON b.number = e.target"
                " WHERE a.scope IN (SELECT value FROM json_each(:scopes))"
                " AND b.scope IN (SELECT value FROM json_each(:scopes)) ORDER BY a.id, b.id, e.type",
                {
                    "ids": json_list([clean_text(name) for name in memory_ids]),
                    "scopes": visible_numbers(connection, scope),
                },
            )
            return tuple(
                Relation(source_id=row[0], target_id=row[1], type=cast(RelationType, row[2]), weight=row[3])
                for row in rows
            )

    def relations_of(self, kind: RelationType, *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """Return all relations of one type with both ends within `scope`. Ordered by source, target."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT a.id, b.id, e.weight FROM relations AS e"
                " JOIN memories AS a ON a.number = e.source JOIN memories AS b ON b.number = e.target"
                " WHERE e.type = :kind AND a.scope IN (SELECT value FROM json_each(:scopes))"
                " AND b.scope IN (SELECT value FROM json_each(:scopes)) ORDER BY a.id, b.id",
                {"kind": kind, "scopes": visible_numbers(connection, scope)},
            )
            return tuple(
                Relation(source_id=row[0], target_id=row[1], type=kind, weight=row[2]) for row in rows
            )

    def pending_vectors(self, identity: EmbedderIdentity, *, limit: int) -> tuple[Memory, ...]:
        """Return up to `limit` memories that have no vector of `identity`. Active and quarantined memories, in the order they were stored."""
        with self._database.read() as connection:
            if limit <= 0:
                return ()
            rows = connection.execute(
                f"SELECT m.body, m.use_count, m.shown_count {_PENDING} ORDER BY m.number LIMIT ?",
                (clean_text(identity.name), identity.dimensions, limit),
            )
            return tuple(decode_memory(*row) for row in rows)

    def count_pending(self, identity: EmbedderIdentity) -> int:
        """Count the memories that `pending_vectors` would name in all."""
        with self._database.read() as connection:
            cursor = connection.execute(
                f"SELECT count(*) {_PENDING}", (clean_text(identity.name), identity.dimensions)
            )
            return int(cursor.fetchone()[0])

    def get_vectors(
        self, ids: Sequence[str], *, scope: ScopeFilter, identity: EmbedderIdentity
    ) -> Mapping[str, Vectors]:
        """Return memory id -> stored vector of `identity`, each of shape (dimensions,); an id without one is left out."""
        with self._database.read() as connection:
            rows = connection.execute(
                # Joined in this order, or the vectors of the whole store would be looked through.
                "SELECT m.id, v.vector FROM memories AS m CROSS JOIN vectors AS v ON v.memory = m.number"
                " CROSS JOIN identities AS i ON i.number = v.identity"
                " WHERE i.name = ? AND i.dimensions = ? AND m.id IN (SELECT value FROM json_each(?))"
                " AND +m.scope IN (SELECT value FROM json_each(?))",
                (
                    clean_text(identity.name),
                    identity.dimensions,
                    json_list([clean_text(name) for name in ids]),
                    json_list(numbers_of(self._database.scopes(connection, scope))),
                ),
            )
            return {name: np.frombuffer(blob, "<f2").astype(np.float32) for name, blob in rows}

    def changed(self, since: int, *, scope: ScopeFilter, limit: int) -> tuple[str, ...] | None:
        """Return the ids of the memories in `scope`, of any status, that were written after `change()` was `since`.

        None = more than `limit`, or a memory may have left the scope: the caller must rebuild what it derived from the
        scope.
        """
        with self._database.read() as connection:
            values = {"scopes": visible_numbers(connection, scope), "since": since, "limit": limit + 1}
            moved = connection.execute(
                "SELECT max(moved) FROM scopes WHERE number IN (SELECT value FROM json_each(:scopes))", values
            ).fetchone()[0]
            if moved is not None and moved > since:
                return None
            rows = connection.execute(
                f"SELECT id FROM memories INDEXED BY memories_by_change WHERE {_IN_SCOPE} AND change > :since LIMIT :limit",
                values,
            ).fetchall()
            return None if len(rows) > limit else tuple(str(row[0]) for row in rows)

    def find_memories(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
    ) -> tuple[Hit, ...]:
        """Return the memories that meet `where` and contain a word of `text`, best first; ties by id, the newest first."""
        where = replace(where, text=None, after=None)
        with self._database.read() as connection:
            query = _words(connection, clean_text(text))
            if limit <= 0 or not query:
                return ()
            rows: list[tuple[str, str]] = []
            remaining = where
            if where.as_of_ms is None and (where.statuses is None or "active" in where.statuses):
                rows += _proposed(connection, query, replace(where, statuses=("active",)), scope)
                statuses = where.statuses or ("active", "quarantined", "superseded", "retired")
                remaining = replace(
                    where, statuses=tuple(status for status in statuses if status != "active")
                )
            if remaining.as_of_ms is not None or remaining.statuses:
                rows += _all(connection, remaining, scope)
            scored = ((*word_score(content, query), name) for name, content in rows)
            best = sorted(((score, name, whole) for score, whole, name in scored if score > 0), reverse=True)
            return tuple(Hit(memory_id=name, score=score, whole=whole) for score, name, whole in best[:limit])

    def count_active(self, *, scope: ScopeFilter) -> int:
        """Count the active memories that `scope` shows; cheap."""
        with self._database.read() as connection:
            return sum(stored_scope.active for stored_scope in self._database.scopes(connection, scope))

    def scopes(self) -> ScopeFilter:
        """Return a filter of every scope in the store. For the owner's tools (list, backup), never for recall. Scopes of stored memories, whatever their status."""
        with self._database.read() as connection:
            return every_scope(connection)

    def change(self) -> int:
        """Return the store's change counter. Every change of a memory or its vector raises it, use counts do not; equal = nothing has changed."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT change FROM state").fetchone()[0])


def _list(
    connection: sqlite3.Connection,
    columns: str,
    where: MemoryFilter,
    *,
    scope: ScopeFilter,
    limit: int,
    offset: int,
) -> Sequence[tuple[str, int, int]]:
    if limit <= 0:
        return ()
    table, tests, values = asked_rows(connection, where, scope)
    table += _index_for(connection, where, values)
    if where.order in ("given", "fetched", "last"):
        table += _TIMES.format(_column("id", past=where.as_of_ms is not None))
    values |= {"limit": limit, "offset": max(offset, 0)}
    past = where.as_of_ms is not None
    created, name = _column("created_at_ms", past=past), _column("id", past=past)
    first = _ORDERS[where.order][past]
    way = "ASC" if where.ascending else "DESC"
    order = f"{created} {way}, {name}" if not first else f"{first} {way}, {created} DESC, {name}"
    return connection.execute(
        f"SELECT {columns} FROM {table} WHERE {' AND '.join(tests)} ORDER BY {order} LIMIT :limit OFFSET :offset",
        values,
    ).fetchall()


def _index_for(connection: sqlite3.Connection, where: MemoryFilter, values: Mapping[str, object]) -> str:
    """Return an `INDEXED BY` clause where SQLite's own choice would read more rows; "" = leave the choice to SQLite."""
    if where.as_of_ms is not None:
        return ""
    if where.begins is not None and where.statuses == ("quarantined",):
        return " INDEXED BY memories_waiting"
    if _is_plain(where) and _is_most(connection, values):
        return " INDEXED BY memories_by_age"  # its first rows are those to show; by scope all would be read
    if where.statuses != ("active",) or where.order != "created" or where.source is not None:
        return ""
    if where.pinned:
        return " INDEXED BY memories_pinned"
    return " INDEXED BY memories_by_kind" if where.kinds is not None else ""


def _is_plain(where: MemoryFilter) -> bool:
    """Whether a filter only asks for all active memories, or all active and quarantined ones, of any sensitivities."""
    live = where.statuses == ("active", "quarantined")
    return (
        replace(where, statuses=MemoryFilter().statuses if live else where.statuses, sensitivities=None)
        == MemoryFilter()
    )


def _is_most(connection: sqlite3.Connection, values: Mapping[str, object]) -> bool:
    """Whether the visible scopes hold at least half of the active memories."""
    in_scope, everywhere = connection.execute(
        "SELECT sum(active) FILTER (WHERE number IN (SELECT value FROM json_each(:scopes))), sum(active) FROM scopes",
        {"scopes": values["scopes"]},
    ).fetchone()
    return bool(in_scope) and in_scope * 2 >= everywhere


def _given(*, past: bool) -> str:
    """Return the SQL expression for whether a memory was ever given to a session."""
    known = " AND at_ms <= :as_of" if past else ""
    return f"({_column('id', past=past)} IN (SELECT memory_id FROM exposures WHERE surface <> 'host'{known}))"


# Each step reads one entry of the index behind the kind before, so the cost grows with the kinds, not with the memories.
_KINDS_OF_SCOPE = """
    WITH RECURSIVE held (kind) AS (
        SELECT min(kind) FROM memories WHERE scope = :scope AND status = 'active'
        UNION ALL
        SELECT (SELECT min(kind) FROM memories WHERE scope = :scope AND status = 'active' AND kind > held.kind)
        FROM held WHERE held.kind IS NOT NULL
    )
    SELECT kind FROM held WHERE kind IS NOT NULL
"""


_TIMES = """ LEFT JOIN (
    SELECT memory_id, sum(surface <> 'on_demand') AS given, sum(surface = 'on_demand') AS fetched, max(at_ms) AS last
    FROM exposures WHERE surface <> 'host' GROUP BY memory_id
) ON memory_id = {}"""
"""How often each memory was given, joined to a list that is ordered by it."""

_ORDERS: dict[str, tuple[str, str]] = {
    **{name: (f"coalesce({name}, 0)", f"coalesce({name}, 0)") for name in ("given", "fetched", "last")},
    "created": ("", ""),
    "updated": ("json_extract(body, '$.updated_at_ms')", "json_extract(body, '$.updated_at_ms')"),
    "importance": ("importance", "json_extract(body, '$.importance')"),
    "used": ("use_count", "json_extract(body, '$.use_count')"),
}
"""Order of a list -> (SQL expression for the present, the same for the past) to sort by before the time of creation."""


def _column(name: str, *, past: bool) -> str:
    return f"json_extract(body, '$.{name}')" if past else name


def asked_rows(
    connection: sqlite3.Connection, where: MemoryFilter, scope: ScopeFilter
) -> tuple[str, list[str], dict[str, object]]:
    """Return (table, conditions, parameters) of the SQL statement that selects the memories in `scope` that meet `where`."""
    values: dict[str, object] = {"scopes": visible_numbers(connection, scope)}
    if where.as_of_ms is None:
        return "memories", [_IN_SCOPE, *_filters(where, values, past=False)], values
    values["as_of"] = where.as_of_ms
    statuses = (
        "recorded_at_ms <= :as_of AND NOT EXISTS ("
        " SELECT 1 FROM versions AS w WHERE w.memory = v.memory AND w.version > v.version"
        " AND w.recorded_at_ms <= :as_of)"
        " AND json_extract(body, '$.validity.valid_from_ms') <= :as_of"
        " AND coalesce(json_extract(body, '$.validity.valid_to_ms') > :as_of, 1)"
    )
    return "versions AS v", [statuses, _IN_SCOPE, *_filters(where, values, past=True)], values


def _of_session(where: MemoryFilter, values: dict[str, object]) -> list[str]:
    if where.session is None:
        return []
    values |= {"host": clean_text(where.session.host), "session_id": clean_text(where.session.session_id)}
    return [
        "json_extract(body, '$.provenance.host') = :host",
        "json_extract(body, '$.provenance.session_id') = :session_id",
    ]


def _filters(where: MemoryFilter, values: dict[str, object], *, past: bool) -> list[str]:
    tests = _of_session(where, values)
    if where.kinds is not None:
        values["kinds"] = json_list([clean_text(kind) for kind in where.kinds])
        column = "json_extract(body, '$.kind')" if past else "kind"
        tests.append(f"{column} IN (SELECT value FROM json_each(:kinds))")
    if where.statuses is not None:
        column = "json_extract(body, '$.status')" if past else "status"
        if where.statuses in _INDEXED_STATUSES:  # word for word as the partial indexes have it
            tests.append(f"{column} = '{where.statuses[0]}'")
        else:
            values["statuses"] = json_list(list(where.statuses))
            tests.append(f"{column} IN (SELECT value FROM json_each(:statuses))")
    if where.source is not None:
        values["source"] = clean_text(where.source)
        column = "json_extract(body, '$.provenance.source')" if past else "source"
        tests.append(f"{column} = :source")
    if where.text is not None:
        values["text"] = clean_text(where.text).casefold()
        tests.append("text_holds(json_extract(body, '$.content'), :text)")
    if where.begins is not None:
        values |= {"begins": clean_text(where.begins), "greatest": _GREATEST}
        tests.append("lower(json_extract(body, '$.content')) >= lower(:begins)")
        tests.append("lower(json_extract(body, '$.content')) < lower(:begins) || :greatest")
    if where.tiers is not None:
        values["tiers"] = json_list([tier.value for tier in where.tiers])
        tests.append("json_extract(body, '$.provenance.tier') IN (SELECT value FROM json_each(:tiers))")
    if where.sensitivities is not None:
        values["sensitivities"] = json_list([int(level) for level in where.sensitivities])
        among = "json_extract({}, '$.sensitivity') IN (SELECT value FROM json_each(:sensitivities))"
        tests.append(among.format("body"))
        if past:
            tests.append(
                f"EXISTS (SELECT 1 FROM memories AS m WHERE m.number = v.memory AND {among.format('m.body')})"
            )
    tests += _flags(where, values, past=past)
    if where.after is not None:
        values |= {"after_ms": where.after[0], "after_id": clean_text(where.after[1])}
        created, name = _column("created_at_ms", past=past), _column("id", past=past)
        tests.append(f"({created} < :after_ms OR ({created} = :after_ms AND {name} > :after_id))")
    return tests


def _flags(where: MemoryFilter, values: dict[str, object], *, past: bool) -> list[str]:
    tests: list[str] = []
    if where.pinned is not None:
        column = "json_extract(body, '$.pinned')" if past else "pinned"
        tests.append(f"{column} = {int(where.pinned)}")  # a literal, as the partial index has it
    if where.branched is not None:
        tests.append(f"json_extract(body, '$.branch') IS {'NOT ' if where.branched else ''}NULL")
    if where.notes is not None:
        note = _NOTE.replace("kind IN", f"{_column('kind', past=past)} IN")
        tests.append(f"{note} = {int(where.notes)}")
    if where.stored_from_ms:
        values["stored_from"] = where.stored_from_ms
        tests.append(f"{_column('created_at_ms', past=past)} >= :stored_from")
    if where.used is not None:
        tests.append(f"({_column('use_count', past=past)} > 0) = {int(where.used)}")
    if where.given is not None:
        tests.append(f"{_given(past=past)} = {int(where.given)}")
    return tests


_PENDING = (
    "FROM memories AS m LEFT JOIN vectors AS v ON v.memory = m.number AND v.identity ="
    " (SELECT number FROM identities WHERE name = ? AND dimensions = ?)"
    " WHERE v.memory IS NULL AND m.status IN ('active', 'quarantined')"
)


def _recorded_of(row: Sequence[Any]) -> Recorded:
    """Return the version that a row holds: (recorded_at_ms, reason, body, change_id, body of the version before or None)."""
    return Recorded(
        memory=decode(Memory, row[2]),
        before=None if row[4] is None else decode(Memory, row[4]),
        at_ms=row[0],
        reason=decode_reason(row[1]),
        change_id=row[3],
    )


CANDIDATES = 600
"""Most active memories that the text index proposes for one search, best first by its own BM25."""
MOST_WORDS = 24
NEAR_WORDS = 4
BEGINNING, MISSPELLED = 0.8, 0.6
"""Share of a word's weight that a longer word that begins with it, and a similarly spelled word, count for."""


def _words(connection: sqlite3.Connection, text: str) -> tuple[QueryWord, ...]:
    documents = int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def frequency(word: str, begins: bool) -> int:
        row = connection.execute(
            "SELECT sum(doc) FROM text_words_terms WHERE term >= ? AND term <= ?",
            (word, word + _GREATEST if begins else word),
        ).fetchone()
        return int(row[0] or 0)

    def vocabulary() -> list[str]:
        return [row[0] for row in connection.execute("SELECT term FROM text_words_terms")]

    return parse_query_words(text, documents=documents, frequency=frequency, vocabulary=vocabulary)


def _proposed(
    connection: sqlite3.Connection, query: Sequence[QueryWord], where: MemoryFilter, scope: ScopeFilter
) -> list[tuple[str, str]]:
    terms = dict.fromkeys(
        f"{quoted(term)}{' *' if word.begins and not word.near else ''}"
        for word in query
        for term in (word.near or (word.stem,))
    )
    _, tests, values = asked_rows(connection, where, scope)
    values |= {"match": f"words : ({' OR '.join(terms)})", "most": CANDIDATES}
    return connection.execute(
        "SELECT id, json_extract(body, '$.content') FROM"
        " (SELECT rowid AS number, rank AS place FROM text_words WHERE text_words MATCH :match)"
        f" JOIN memories USING (number) WHERE {' AND '.join(tests)} ORDER BY place, id DESC LIMIT :most",
        values,
    ).fetchall()


def _all(connection: sqlite3.Connection, where: MemoryFilter, scope: ScopeFilter) -> list[tuple[str, str]]:
    table, tests, values = asked_rows(connection, where, scope)
    name = "json_extract(body, '$.id')" if where.as_of_ms is not None else "id"
    return connection.execute(
        f"SELECT {name}, json_extract(body, '$.content') FROM {table} WHERE {' AND '.join(tests)}", values
    ).fetchall()


@frozen
class QueryWord:
    """A word of a search query, with what may match it.

    Attributes:
        stem: as the index holds it.
        begins: whether longer words that begin with it count.
        near: stems that it may be a misspelling of.
        weight: its inverse document frequency.
    """

    stem: str
    begins: bool
    near: frozenset[str]
    weight: float


def parse_query_words(
    text: str,
    *,
    documents: int,
    frequency: Callable[[str, bool], int],
    vocabulary: Callable[[], Iterable[str]],
) -> tuple[QueryWord, ...]:
    """Return the words of a search query, at most `MOST_WORDS`, with their weights.

    Args:
        text: what was typed.
        documents: number of documents in the index.
        frequency: returns how many documents contain a stem; with True, words that begin with it count, too.
        vocabulary: returns all stems of the index; called only if a word is in no document.
    """
    head = text[:QUERY_CHARS]
    words = content_words(head) or tuple(dict.fromkeys(words_of(head)))
    query_words: list[QueryWord] = []
    stems_known: tuple[str, ...] | None = None
    for word in words[:MOST_WORDS]:
        root = porter_stem(word)
        begins = root.isalpha() and len(root) >= LEAST_PREFIX
        document_count = frequency(root, begins)
        near: tuple[str, ...] = ()
        if not document_count:
            stems_known = tuple(vocabulary()) if stems_known is None else stems_known
            near = near_words(word, stems_known, limit=NEAR_WORDS)
            document_count = sum(frequency(stem, False) for stem in near)
        weight = math.log1p(documents / (1 + document_count))
        query_words.append(QueryWord(stem=root, begins=begins, near=frozenset(near), weight=weight))
    return tuple(query_words)


def word_score(content: str, query_words: Sequence[QueryWord]) -> tuple[float, bool]:
    """Return a score of how well `content` matches the words of a query (0 = it contains none of them), and whether it has all of them."""
    stems = stems_of(content)
    total = 0.0
    whole = True
    for word in query_words:
        if word.stem in stems:
            total += word.weight
        elif word.begins and any(stem.startswith(word.stem) for stem in stems):
            total += BEGINNING * word.weight
        elif word.near & stems:
            total += MISSPELLED * word.weight
        else:
            whole = False
    return total / (1 + math.log1p(len(stems)) / 10), whole


@lru_cache(maxsize=8192)
def stems_of(content: str) -> frozenset[str]:
    """Return the Porter stems of all words of a text, function words included."""
    return frozenset(porter_stem(word) for word in words_of(content))
