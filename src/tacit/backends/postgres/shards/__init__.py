"""Tenants in several databases: finds the shard of a tenant, and moves a tenant to another shard while it is used.

`routing` finds a tenant, `directory` manages the shards, `moving` moves a tenant, `copying` copies its rows.
"""
