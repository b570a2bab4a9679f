"""The default store: one SQLite file per user, its text index, and derived vectors beside it.

`SqliteBackend` is the entry for the rest of Tacit, also for a file that is damaged. `open_sqlite_store` opens or creates the file;
`damage_marker` is the mark that one may be damaged. The text indexes (FTS5) are known by `schema.sql`, `writing`, `memory_index`, `search`,
`memories`, `health`, `purging` and `store`, and by no other module.
"""

from __future__ import annotations

from tacit.backends.sqlite.backend import SqliteBackend, open_sqlite_store
from tacit.backends.sqlite.connection import damage_marker
from tacit.backends.sqlite.store import SqliteStore

__all__ = ["SqliteBackend", "SqliteStore", "damage_marker", "open_sqlite_store"]
