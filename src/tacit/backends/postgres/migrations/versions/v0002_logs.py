"""The tables of the logs that the devices of a person exchange. In: schema 1, as the owner. Out: schema 2."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TEXT = 'text COLLATE "C"'
_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_TABLES = {
    "accounts": f"""
        key {_TEXT} NOT NULL,
        PRIMARY KEY (tenant)""",
    "invites": f"""
        code {_TEXT} NOT NULL,
        until_ms bigint NOT NULL,
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
}


def upgrade() -> None:
    """Make the tables, each with a policy for its tenant."""
    for table, columns in _TABLES.items():
        op.execute(f"CREATE TABLE {table} (tenant bigint NOT NULL, {columns})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_tenant ON {table} USING ({_OWN}) WITH CHECK ({_OWN})")
    op.execute("CREATE INDEX entries_by_subject ON entries (tenant, subject)")
