"""The search of the PostgreSQL store, measured on a server of its own. Run: `python -m tacit_evals.postgres_search`, see `measuring`."""
