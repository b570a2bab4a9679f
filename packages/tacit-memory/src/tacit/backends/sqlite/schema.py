"""The tables, as numbered migrations. In: a connection inside a transaction. Out: the newest schema.

The number of the newest migration applied stands in the file (`PRAGMA user_version`). From the first release on, a migration is never
edited. Never runs outside a transaction of its caller, never reads a schema newer than it knows.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import lru_cache

APPLICATION_ID = 0x54414349
"""`TACI`, written into the file's header, so that another program's database is not taken for ours."""

_CORE = (
    """CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        store_id TEXT NOT NULL,
        change INTEGER NOT NULL
    )""",
    """CREATE TABLE scopes (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        lent TEXT NOT NULL DEFAULT '',
        change INTEGER NOT NULL DEFAULT 0,
        moved INTEGER NOT NULL DEFAULT 0,
        total INTEGER NOT NULL DEFAULT 0,
        active INTEGER NOT NULL DEFAULT 0,
        UNIQUE (name, lent)
    )""",
    """CREATE TABLE memories (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        scope INTEGER NOT NULL REFERENCES scopes (number),
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        source TEXT NOT NULL,
        valid_from_ms INTEGER NOT NULL,
        valid_to_ms INTEGER,
        created_at_ms INTEGER NOT NULL,
        importance REAL NOT NULL,
        pinned INTEGER NOT NULL,
        error_signature TEXT NOT NULL,
        use_count INTEGER NOT NULL,
        change INTEGER NOT NULL,
        version INTEGER NOT NULL,
        body TEXT NOT NULL,
        breadth REAL NOT NULL DEFAULT 1.0,
        shown_count INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX memories_by_change ON memories (scope, change)",
    "CREATE INDEX memories_by_age ON memories (created_at_ms DESC, id)",
    """CREATE INDEX memories_by_standing ON memories (scope, kind, pinned DESC, importance DESC, id)
        WHERE status = 'active'""",
    "CREATE INDEX memories_by_error ON memories (error_signature, scope) WHERE error_signature <> ''",
    """CREATE INDEX memories_by_breadth ON memories (scope, kind, pinned DESC, breadth DESC, importance DESC, id)
        WHERE status = 'active'""",
    # A session start asks for what a rule file said, an answer on demand for what waits: few of many.
    "CREATE INDEX memories_by_status ON memories (status, scope)",
    "CREATE INDEX memories_by_source ON memories (source, scope)",
    # An import asks of every statement whether the same words wait already, among as many as it has brought before.
    """CREATE INDEX memories_waiting ON memories (scope, lower(json_extract(body, '$.content')))
        WHERE status = 'quarantined'""",
    # The newest of a kind, without a look at the others: digests, decisions, the sections of a block.
    """CREATE INDEX memories_by_kind ON memories (scope, kind, created_at_ms DESC, id)
        WHERE status = 'active'""",
    """CREATE INDEX memories_pinned ON memories (scope, created_at_ms DESC, id)
        WHERE status = 'active' AND pinned = 1""",
    """CREATE TABLE versions (
        memory INTEGER NOT NULL REFERENCES memories (number),
        version INTEGER NOT NULL,
        recorded_at_ms INTEGER NOT NULL,
        scope INTEGER NOT NULL REFERENCES scopes (number),
        reason TEXT NOT NULL,
        body TEXT NOT NULL,
        change_id TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (memory, version)
    ) WITHOUT ROWID""",
    "CREATE INDEX versions_by_change ON versions (change_id)",
    """CREATE TABLE relations (
        source INTEGER NOT NULL REFERENCES memories (number),
        target INTEGER NOT NULL REFERENCES memories (number),
        type TEXT NOT NULL,
        weight REAL NOT NULL,
        PRIMARY KEY (source, target, type)
    ) WITHOUT ROWID""",
    "CREATE INDEX relations_by_target ON relations (target)",
    """CREATE TABLE identities (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        UNIQUE (name, dimensions)
    )""",
    """CREATE TABLE vectors (
        memory INTEGER PRIMARY KEY REFERENCES memories (number),
        identity INTEGER NOT NULL REFERENCES identities (number),
        vector BLOB NOT NULL
    )""",
    "CREATE INDEX vectors_by_identity ON vectors (identity)",
    """CREATE TABLE sessions (
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        last_signal_at_ms INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (host, session_id)
    )""",
    "CREATE INDEX sessions_by_signal ON sessions (last_signal_at_ms DESC, host, session_id)",
    """CREATE TABLE exposures (
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        surface TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)
    ) WITHOUT ROWID""",
    """CREATE TABLE traces (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        surface TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        body TEXT NOT NULL
    )""",
    "CREATE INDEX traces_by_time ON traces (at_ms DESC, id DESC)",
    "CREATE INDEX traces_by_session ON traces (session, at_ms DESC, id DESC)",
    """CREATE TABLE handovers (
        key TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        payload TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        error TEXT NOT NULL,
        done_at_ms INTEGER
    )""",
    "CREATE INDEX handovers_pending ON handovers (at_ms, key) WHERE done_at_ms IS NULL",
    "CREATE TABLE projects (id TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE named_values (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "INSERT INTO state (one, store_id, change) VALUES (1, lower(hex(randomblob(16))), 0)",
)

_SEARCH = (
    """CREATE TABLE documents (
        memory INTEGER PRIMARY KEY REFERENCES memories (number),
        scope TEXT NOT NULL,
        words TEXT NOT NULL,
        code TEXT NOT NULL
    )""",
    """CREATE VIRTUAL TABLE text_words USING fts5 (
        scope, words, content = 'documents', content_rowid = 'memory', tokenize = 'porter unicode61'
    )""",
    """CREATE VIRTUAL TABLE text_code USING fts5 (
        scope, code, content = 'documents', content_rowid = 'memory', tokenize = 'unicode61'
    )""",
    "INSERT INTO text_words (text_words, rank) VALUES ('rank', 'bm25(0.0, 1.0)')",
    "INSERT INTO text_code (text_code, rank) VALUES ('rank', 'bm25(0.0, 1.0)')",
    "CREATE VIRTUAL TABLE text_words_terms USING fts5vocab (text_words, row)",
    "CREATE VIRTUAL TABLE text_code_terms USING fts5vocab (text_code, row)",
    """CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
        INSERT INTO text_words (rowid, scope, words) VALUES (new.memory, new.scope, new.words);
        INSERT INTO text_code (rowid, scope, code) VALUES (new.memory, new.scope, new.code);
    END""",
    """CREATE TRIGGER documents_gone AFTER DELETE ON documents BEGIN
        INSERT INTO text_words (text_words, rowid, scope, words)
            VALUES ('delete', old.memory, old.scope, old.words);
        INSERT INTO text_code (text_code, rowid, scope, code)
            VALUES ('delete', old.memory, old.scope, old.code);
    END""",
    """CREATE TABLE entities (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        UNIQUE (kind, key)
    )""",
    """CREATE TABLE memory_entities (
        entity INTEGER NOT NULL REFERENCES entities (number),
        scope INTEGER NOT NULL REFERENCES scopes (number),
        memory INTEGER NOT NULL REFERENCES memories (number),
        PRIMARY KEY (entity, scope, memory)
    ) WITHOUT ROWID""",
    "CREATE INDEX memory_entities_by_memory ON memory_entities (memory)",
    "CREATE TABLE actions (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE intents (memory INTEGER PRIMARY KEY REFERENCES memories (number), weights BLOB NOT NULL)",
)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in (*_CORE, *_SEARCH):
        connection.execute(statement)


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create]
"""Migration n (from 1) brings a file of version n - 1 to version n. Tests add one for as long as they run."""


MAX_VERSION = 9_999
"""The greatest schema version that any release can have; a greater number in a file means damage, not a newer schema."""


def _table_names(statements: Iterable[str]) -> frozenset[str]:
    matches = (re.match(r"CREATE (?:VIRTUAL )?TABLE (\w+)", statement) for statement in statements)
    return frozenset(match[1] for match in matches if match)


_TABLES = _table_names((*_CORE, *_SEARCH))


def newest_version() -> int:
    """Return the schema version that this code reads and writes."""
    return len(MIGRATIONS)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of the file; 0 = it is empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_possible_version(version: int) -> bool:
    """Whether a release can have this schema version; False means damage."""
    return 0 <= version <= MAX_VERSION


def missing_parts(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about what the file lacks: tables, or the only row of `state`; empty for a complete or an empty file."""
    if schema_version(connection) < 1:
        return []
    if missing := sorted(_TABLES - _tables(connection)):
        return [f"the table {name} is missing" for name in missing]
    if connection.execute("SELECT change FROM state").fetchone() is None:
        return ["the row of the table state is missing"]
    return []


def is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether another program wrote the file: neither its header nor its tables are ours."""
    tables = _tables(connection)
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    return bool(tables) and owner != APPLICATION_ID and len(tables & _TABLES) < len(_TABLES) / 2


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def missing_columns(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about the columns of the newest schema that the file lacks, by comparison with a new store."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for version in range(1, newest_version() + 1):
            migrate_one(fresh, version)
        missing = _columns(fresh) - _columns(connection)
    return sorted(f"the column {table}.{column} is missing" for table, column in missing)


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    return {
        (table, column[1])
        for table in _TABLES
        for column in connection.execute(f"PRAGMA table_info({table})")
    }


@lru_cache(maxsize=1)
def empty_database() -> bytes:
    """Return the bytes of the database file of an empty store with the newest schema. Cached for the process."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for version in range(1, newest_version() + 1):
            migrate_one(fresh, version)
        return fresh.serialize()


def migrate_one(connection: sqlite3.Connection, version: int) -> None:
    """Migrate the file from the schema version before to `version`, inside the caller's transaction."""
    MIGRATIONS[version - 1](connection)
    connection.execute(f"PRAGMA user_version = {version}")
