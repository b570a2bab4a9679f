"""Runs the migrations that are missing. In: the connection that `migrate` made. Out: tables, in one transaction. Never connects by itself."""

from __future__ import annotations

from alembic import context


def _run() -> None:
    context.configure(connection=context.config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()


_run()
