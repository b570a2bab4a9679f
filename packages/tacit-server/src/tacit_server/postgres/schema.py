"""The version of the schema. In: a database. Out: the newest schema, or a refusal.

Alembic runs the migrations in `migrations/versions`; a migration is never edited after a release. They run on a direct connection as the
owner, in one process at a time. Opening a store never migrates: a store with another schema is refused, with a message that says what to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from tacit.errors import UPGRADE, StoreNewer
from tacit_server.postgres.failures import not_migrated, translate
from tacit_server.postgres.roles import APPLICATION, grant_application

SCHEMA_VERSION = 1
"""The newest migration that this Tacit knows."""

_LOCK = 0x54414349
"""`TACI`: the advisory lock that migrations take."""


def migrate(dsn: str, *, application: str = APPLICATION) -> int:
    """Migrate the database to the newest schema, and give `application` its rights. Return the version of the schema.

    `dsn` is a direct connection (no pooler in between) as the owner. If another process is migrating, this one waits.

    Raises:
        StoreNewer: a newer Tacit wrote the schema; nothing was changed.
        StoreError: the database cannot be reached or written.
    """
    # Imported here, because the import of Alembic takes 200 ms and only a migration needs it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from sqlalchemy import NullPool, create_engine  # noqa: PLC0415
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.set_main_option("path_separator", "os")
    try:
        with psycopg.connect(dsn, autocommit=True) as lock:
            lock.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            refuse_newer(_stored_version(lock) or 0)
            engine = create_engine(
                "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
            )
            with engine.connect() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
                connection.commit()
            engine.dispose()
            grant_application(lock, application)
    except psycopg.Error as error:
        raise translate(error) from error
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise translate(error.orig) from error
        raise
    return SCHEMA_VERSION


def refuse_newer(version: int) -> None:
    """Refuse a schema that this Tacit does not know.

    Raises:
        StoreNewer: the schema is newer.
    """
    if version > SCHEMA_VERSION:
        raise StoreNewer(
            f"The database has schema {version}; this Tacit knows up to {SCHEMA_VERSION} and reads nothing.",
            hint=UPGRADE,
        )


def refuse_other_schema(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Refuse a database whose schema is not the newest.

    Raises:
        StoreNewer: it has a newer one.
        StoreError: it has an older one, or none.
    """
    version = _stored_version(connection)
    refuse_newer(version or 0)
    if version != SCHEMA_VERSION:
        raise not_migrated(
            f"it has no tables; schema {SCHEMA_VERSION} is needed"
            if version is None
            else f"it has schema {version}, and {SCHEMA_VERSION} is needed"
        )


def _stored_version(connection: psycopg.Connection[tuple[Any, ...]]) -> int | None:
    exists = connection.execute("SELECT to_regclass('alembic_version') IS NOT NULL").fetchone()
    if exists is None or not exists[0]:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else int(row[0])
