"""A store on PostgreSQL with pgvector, for a server that many tenants share. It passes the same contract suites as the other stores.

`open_postgres_store` opens the store of one tenant. A server opens one `Connections` and creates a `PostgresStore` from it for each tenant.
`create_roles` and `migrate` set a database up; `changes_after` of a store returns its feed of changes. No other module of Tacit imports this package unless PostgreSQL is used.
"""

from __future__ import annotations

from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.export import examine_export, restore_export
from tacit.backends.postgres.feed import Cursor, FeedEntry
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
    "restore_export",
    "schema_version",
]
