"""Tenants spread over several databases: which shard holds which tenant, and how one moves while it writes.

`routing` finds a tenant, `directory` names the shards, `moving` moves a tenant, `copying` carries its rows over.
"""
