"""Tenants that move between databases while they write: `python -m tacit_evals.torture.shards`, see `running`."""
