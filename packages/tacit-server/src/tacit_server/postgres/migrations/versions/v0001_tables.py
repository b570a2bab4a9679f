"""The tables, their indexes and their policies. In: an empty database, as the owner. Out: schema 1.

Text is ordered by its code points, as Python orders it. The first column of every primary key and of every index is the tenant. An account, an organization,
a team and a provider of single sign-on are tenants. No policy has a subquery, so that a distributed PostgreSQL takes the tables (deploy/citus.sql).
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TEXT = 'text COLLATE "C"'
_TABLES = {
    "memories": f"""
        id {_TEXT} NOT NULL,
        scope {_TEXT} NOT NULL,
        status {_TEXT} NOT NULL,
        source {_TEXT} NOT NULL,
        created_at_ms bigint NOT NULL,
        valid_from_ms bigint NOT NULL,
        valid_to_ms bigint,
        folded {_TEXT} NOT NULL,
        words tsvector NOT NULL,
        embedder {_TEXT},
        vector halfvec,
        body text NOT NULL,
        PRIMARY KEY (tenant, id)""",
    "versions": f"""
        number bigint NOT NULL,
        id {_TEXT} NOT NULL,
        change_id {_TEXT} NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (tenant, number)""",
    "purges": f"""
        number bigint NOT NULL,
        id {_TEXT} NOT NULL,
        change_id {_TEXT} NOT NULL,
        PRIMARY KEY (tenant, number)""",
    "accounts": f"""
        key {_TEXT} NOT NULL,
        PRIMARY KEY (tenant)""",
    "invites": f"""
        code {_TEXT} NOT NULL,
        until_ms bigint NOT NULL,
        anew boolean NOT NULL DEFAULT false,
        PRIMARY KEY (tenant, code)""",
    "devices": f"""
        device {_TEXT} NOT NULL,
        name text NOT NULL,
        token {_TEXT} NOT NULL,
        created_at_ms bigint NOT NULL,
        seen_at_ms bigint NOT NULL,
        revoked_at_ms bigint,
        taken_over text[] NOT NULL DEFAULT '{{}}',
        PRIMARY KEY (tenant, device),
        UNIQUE (tenant, token)""",
    "logs": f"""
        device {_TEXT} NOT NULL,
        last bigint NOT NULL,
        PRIMARY KEY (tenant, device)""",
    "entries": f"""
        device {_TEXT} NOT NULL,
        number bigint NOT NULL,
        id {_TEXT} NOT NULL,
        previous {_TEXT} NOT NULL,
        kind {_TEXT} NOT NULL,
        subject {_TEXT} NOT NULL,
        digest {_TEXT} NOT NULL,
        sealed bytea NOT NULL,
        signature bytea NOT NULL,
        received_at_ms bigint NOT NULL,
        PRIMARY KEY (tenant, device, number)""",
    "members": f"""
        principal {_TEXT} NOT NULL,
        name text NOT NULL,
        role {_TEXT} NOT NULL,
        service boolean NOT NULL DEFAULT false,
        added_by {_TEXT} NOT NULL,
        added_at_ms bigint NOT NULL,
        joined_at_ms bigint,
        token {_TEXT} NOT NULL DEFAULT '',
        until_ms bigint NOT NULL DEFAULT 0,
        ends_at_ms bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant, principal)""",
    "memberships": f"""
        principal {_TEXT} NOT NULL,
        team {_TEXT} NOT NULL,
        PRIMARY KEY (tenant, principal, team)""",
    "team_projects": f"""
        remote {_TEXT} NOT NULL,
        team {_TEXT} NOT NULL,
        PRIMARY KEY (tenant, remote)""",
    "share_requests": f"""
        id {_TEXT} NOT NULL,
        author {_TEXT} NOT NULL,
        state {_TEXT} NOT NULL,
        created_at_ms bigint NOT NULL,
        decided_at_ms bigint,
        decided_by {_TEXT} NOT NULL DEFAULT '',
        comment text NOT NULL DEFAULT '',
        memory_id {_TEXT} NOT NULL DEFAULT '',
        body text NOT NULL,
        PRIMARY KEY (tenant, id)""",
    "audit": f"""
        number bigint NOT NULL DEFAULT nextval('audit_numbers'),
        at_ms bigint NOT NULL,
        principal {_TEXT} NOT NULL,
        device {_TEXT} NOT NULL,
        action {_TEXT} NOT NULL,
        subject text NOT NULL,
        PRIMARY KEY (tenant, number)""",
    "sso_logins": f"""
        login {_TEXT} NOT NULL,
        secret {_TEXT} NOT NULL,
        code {_TEXT} NOT NULL,
        account {_TEXT} NOT NULL,
        device text NOT NULL,
        address text NOT NULL,
        until_ms bigint NOT NULL,
        outcome {_TEXT} NOT NULL DEFAULT '',
        result text NOT NULL DEFAULT '',
        PRIMARY KEY (tenant, login)""",
    "sso_identities": f"""
        identity {_TEXT} NOT NULL,
        account {_TEXT} NOT NULL,
        PRIMARY KEY (tenant, identity)""",
    "limits": f"""
        key {_TEXT} NOT NULL,
        minute bigint NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (tenant, key, minute)""",
    "sso_links": f"""
        identity {_TEXT} NOT NULL,
        issuer {_TEXT} NOT NULL,
        logged_in_at_ms bigint NOT NULL,
        PRIMARY KEY (tenant)""",
}
_STORAGE = {
    "memories": "toast_tuple_target = 8160",  # vectors stay in the row: a scan that unpacks each takes ten times as long
}
_INDEXES = (
    "versions (tenant, id)",
    "entries (tenant, subject)",
    "share_requests (tenant, state, created_at_ms)",
)
"""There is no index on words: under row-level security PostgreSQL would not use it, because the operator `@@` is not leakproof."""

_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_NAMED = "name = nullif(current_setting('tacit.tenant_name', true), '')"
"""Condition under which a transaction may see the row of a tenant: it names the tenant. So it gets the tenant's number."""
_RULES = {
    "tenants": f"{_NAMED} OR {_OWN}",
    "share_requests": f"""{_OWN} AND (current_setting('tacit.reviews', true) = 'on'
        OR author = nullif(current_setting('tacit.principal', true), ''))""",
}
"""The policies of tables of which a principal may see only some of the tenant's rows. A transaction sets `tacit.reviews` if its principal reviews requests."""


def upgrade() -> None:
    """Create the tables, each with a policy for its tenant."""
    op.execute("CREATE SEQUENCE audit_numbers")
    op.execute(
        f"""CREATE TABLE tenants (
            tenant bigint GENERATED ALWAYS AS IDENTITY,
            name {_TEXT} NOT NULL UNIQUE,
            organization {_TEXT} NOT NULL DEFAULT '',
            change bigint NOT NULL DEFAULT 0,
            PRIMARY KEY (tenant)
        ) WITH (fillfactor = 50)"""
    )
    for table, columns in _TABLES.items():
        storage = f" WITH ({_STORAGE[table]})" if table in _STORAGE else ""
        op.execute(f"CREATE TABLE {table} (tenant bigint NOT NULL, {columns}){storage}")
    for index in _INDEXES:
        op.execute(f"CREATE INDEX ON {index}")
    for table in ("tenants", *_TABLES):
        rule = _RULES.get(table, _OWN)
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_tenant ON {table} USING ({rule}) WITH CHECK ({rule})")
