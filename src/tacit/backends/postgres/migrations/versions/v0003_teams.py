"""The tables of organizations and teams. In: schema 2, as the owner. Out: schema 3.

An organization and each of its teams are tenants, so that their memories lie in the same tables as those of every store. A transaction sees the row of a
team in `tenants` only if its principal is a member, and no transaction begins without that row.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TEXT = 'text COLLATE "C"'
_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_NAMED = "name = nullif(current_setting('tacit.tenant_name', true), '')"
_PRINCIPAL = "nullif(current_setting('tacit.principal', true), '')"
_IS_MEMBER = f"""EXISTS (
    SELECT 1 FROM members WHERE members.tenant = tenants.tenant AND members.principal = {_PRINCIPAL})"""
_MAY_SEE_TENANT = f"{_NAMED} OR ({_OWN} AND (organization = '' OR {_IS_MEMBER}))"
_MAY_SEE_REQUEST = f"""{_OWN} AND (author = {_PRINCIPAL} OR EXISTS (
    SELECT 1 FROM members WHERE members.tenant = share_requests.tenant AND members.principal = {_PRINCIPAL}
    AND members.role IN ('reviewer', 'admin')))"""
_TABLES = {
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
}


def upgrade() -> None:
    """Create the tables, each with a policy for its tenant."""
    op.execute("CREATE SEQUENCE audit_numbers")
    op.execute(f"ALTER TABLE tenants ADD COLUMN organization {_TEXT} NOT NULL DEFAULT ''")
    for table, columns in _TABLES.items():
        op.execute(f"CREATE TABLE {table} (tenant bigint NOT NULL, {columns})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        rule = _MAY_SEE_REQUEST if table == "share_requests" else _OWN
        op.execute(f"CREATE POLICY own_tenant ON {table} USING ({rule}) WITH CHECK ({rule})")
    op.execute("DROP POLICY own_tenant ON tenants")
    op.execute(
        f"CREATE POLICY own_tenant ON tenants USING ({_MAY_SEE_TENANT}) WITH CHECK ({_MAY_SEE_TENANT})"
    )
    for table in (
        "tenants",
        "share_requests",
    ):  # the owner of the tables promotes and moves tenants, and must see every row of a tenant
        op.execute(
            f"CREATE POLICY whole_tenant ON {table} TO CURRENT_USER USING ({_OWN}) WITH CHECK ({_OWN})"
        )
    op.execute("CREATE INDEX share_requests_by_state ON share_requests (tenant, state, created_at_ms)")
