"""Tenants in several databases: which shard holds which tenant, and how a tenant moves to another shard while it is used.

`routing` finds a tenant, `directory` manages the shards, `moving` moves a tenant, `copying` copies its rows.
"""
