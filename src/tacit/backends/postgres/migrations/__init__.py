"""Alembic's environment and the numbered migrations. Run by `tacit.backends.postgres.schema.migrate` alone."""
