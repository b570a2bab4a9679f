"""The two roles: an owner, which creates the tables, and an application, which row-level security binds. In: a superuser's connection. Out: roles.

Tacit never works as a superuser, nor as a role with BYPASSRLS: the policies that keep tenants apart would silently do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from tacit.errors import StoreError
from tacit_server.postgres.failures import translate

OWNER, APPLICATION = "tacit_owner", "tacit_app"
TENANT_TABLES = (
    "tenants", "memories", "versions", "purges",
    "accounts", "invites", "devices", "logs", "entries",
    "members", "memberships", "team_projects", "share_requests", "audit",
    "limits", "sso_logins", "sso_identities", "sso_links",
)  # fmt: skip
"""Every table with rows of tenants. The application reads and writes them, and each has a policy for its tenant."""
SEQUENCES = ("audit_numbers",)
APPEND_ONLY = ("audit",)
"""Tables whose rows the application may neither change nor delete."""

_BOUND = """
    SELECT rolcanlogin AND NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole) FROM pg_roles
    WHERE rolname = %(name)s"""
_HINT = "Connect as a role without these rights; `tacit-server set-up` makes one."


def create_roles(
    superuser_dsn: str,
    *,
    owner: str = OWNER,
    application: str = APPLICATION,
    owner_password: str | None = None,
    application_password: str | None = None,
) -> None:
    """Create both roles and the extension `vector` in the database of `superuser_dsn`. Existing roles are kept; rights that they must not have are revoked.

    Args:
        superuser_dsn: a connection that may create roles and extensions.
        owner: the name of the role that creates tables.
        application: the name of the role that reads and writes.
        owner_password: its new password; None = keep the present one.
        application_password: its new password; None = keep the present one.

    Raises:
        StoreError: the database cannot be reached, or refused it.
    """
    passwords = {owner: owner_password, application: application_password}
    try:
        with psycopg.connect(superuser_dsn, autocommit=True) as connection:
            _create(connection, passwords, owner=owner, application=application)
    except psycopg.Error as error:
        raise translate(error) from error


def _create(
    connection: psycopg.Connection[tuple[Any, ...]],
    passwords: Mapping[str, str | None],
    *,
    owner: str,
    application: str,
) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    for name, password in passwords.items():
        role = sql.Identifier(name)
        bound = connection.execute(_BOUND, {"name": name}).fetchone()
        if bound is None or not bound[0]:  # a role belongs to all databases, so a correct one is not changed
            form = "CREATE ROLE {}" if bound is None else "ALTER ROLE {}"
            rights = " LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
            connection.execute(sql.SQL(form + rights).format(role))
        if password is not None:
            secret = sql.Literal(password)
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, secret))
    connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(sql.Identifier(owner)))
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(application)))


def grant_application(connection: psycopg.Connection[tuple[Any, ...]], application: str) -> None:
    """Give the application its rights on the tables. `connection` is that of their owner."""
    role = sql.Identifier(application)
    tables = sql.SQL(", ").join(map(sql.Identifier, TENANT_TABLES))
    sequences = sql.SQL(", ").join(map(sql.Identifier, SEQUENCES))
    connection.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(tables, role))
    fixed = sql.SQL(", ").join(map(sql.Identifier, APPEND_ONLY))
    connection.execute(sql.SQL("REVOKE UPDATE, DELETE ON {} FROM {}").format(fixed, role))
    connection.execute(sql.SQL("GRANT USAGE ON SEQUENCE {} TO {}").format(sequences, role))
    connection.execute(sql.SQL("GRANT SELECT ON alembic_version TO {}").format(role))


def refuse_unbound_role(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Refuse a connection whose role may bypass row-level security.

    Raises:
        StoreError: the role or a table is wrong; the message says how.
    """
    row = connection.execute(
        "SELECT current_user, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row is not None
    name, superuser, bypasses = row
    if superuser or bypasses:
        right = "is a superuser" if superuser else "has BYPASSRLS"
        raise StoreError(
            f"The role {name} {right}: nothing would keep the tenants apart, and nothing was read.",
            hint=_HINT,
        )
    open_tables = [
        table
        for table, active in connection.execute(
            "SELECT name, row_security_active(name) FROM unnest(%s::text[]) AS name",
            (list(TENANT_TABLES),),
        )
        if not active
    ]
    if open_tables:
        raise StoreError(
            f"Row-level security does not bind the role {name} on {', '.join(open_tables)}; nothing was read.",
            hint="Somebody switched it off: `ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`.",
        )
