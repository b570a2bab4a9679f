"""Tenants that move between databases while they are written: `python -m tacit_evals.torture.shards`, see `running`."""
