"""Alembic's environment and the numbered migrations. Run by `tacit_server.postgres.schema.migrate` alone."""
