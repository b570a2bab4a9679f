"""Measurements of the PostgreSQL store and of the server: its search (`measuring`, run `python -m tacit_evals.postgres_search`) and the costs of its parts (`units`)."""
