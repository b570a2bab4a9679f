"""The tables of single sign-on. In: schema 4, as the owner. Out: schema 5.

The logins that are under way, and the list of accounts by identity, lie in a tenant of the provider. The link of an account to an identity lies in the
tenant of the account, and is removed with it.
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TEXT = 'text COLLATE "C"'
_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_TABLES = {
    "sso_logins": f"""
        login {_TEXT} NOT NULL,
        secret {_TEXT} NOT NULL,
        code {_TEXT} NOT NULL,
        account {_TEXT} NOT NULL,
        device text NOT NULL,
        address text NOT NULL,
        until_ms bigint NOT NULL,
        browser {_TEXT} NOT NULL DEFAULT '',
        state {_TEXT} NOT NULL DEFAULT '',
        nonce {_TEXT} NOT NULL DEFAULT '',
        verifier {_TEXT} NOT NULL DEFAULT '',
        outcome {_TEXT} NOT NULL DEFAULT '',
        result text NOT NULL DEFAULT '',
        PRIMARY KEY (tenant, login)""",
    "sso_identities": f"""
        identity {_TEXT} NOT NULL,
        account {_TEXT} NOT NULL,
        PRIMARY KEY (tenant, identity)""",
    "sso_links": f"""
        identity {_TEXT} NOT NULL,
        issuer {_TEXT} NOT NULL,
        logged_in_at_ms bigint NOT NULL,
        PRIMARY KEY (tenant)""",
}


def upgrade() -> None:
    """Create the tables, each with a policy for its tenant, and add the end of a membership."""
    for table, columns in _TABLES.items():
        op.execute(f"CREATE TABLE {table} (tenant bigint NOT NULL, {columns})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_tenant ON {table} USING ({_OWN}) WITH CHECK ({_OWN})")
    op.execute("CREATE INDEX sso_logins_by_state ON sso_logins (tenant, state)")
    op.execute("ALTER TABLE members ADD COLUMN ends_at_ms bigint NOT NULL DEFAULT 0")
