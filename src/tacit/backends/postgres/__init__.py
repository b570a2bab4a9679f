"""A store on PostgreSQL with pgvector, for a server that many tenants share. It passes the same contract suites as the others.

`open_postgres_store` opens the store of one tenant. A server keeps one `Connections` and makes a `PostgresStore` of it for each tenant.
`create_roles` and `migrate` set a database up; `promote` gives a large tenant partitions of its own; `changes_after` is the feed of
changes. Nothing here is loaded unless it is asked for.
"""

from __future__ import annotations

from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.export import examine_export, restore_export
from tacit.backends.postgres.feed import Cursor, FeedEntry
from tacit.backends.postgres.promotion import promote
from tacit.backends.postgres.roles import create_roles
from tacit.backends.postgres.schema import SCHEMA_VERSION, migrate, schema_version
from tacit.backends.postgres.store import PostgresStore, open_postgres_store

__all__ = [
    "SCHEMA_VERSION",
    "Connections",
    "Cursor",
    "FeedEntry",
    "PostgresStore",
    "create_roles",
    "examine_export",
    "migrate",
    "open_postgres_store",
    "promote",
    "restore_export",
    "schema_version",
]
