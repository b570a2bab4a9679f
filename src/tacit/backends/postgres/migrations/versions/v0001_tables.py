"""The tables, their indexes and their policies. In: an empty database, as the owner. Out: schema 1.

Text is ordered by its code points, as Python orders it. The first column of every primary key and of every index is the tenant. An account, an organization,
a team and a provider of single sign-on are tenants. A transaction sees the row of a team in `tenants` only if its principal is a member, and no transaction
begins without that row.
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
        number bigint NOT NULL,
        id {_TEXT} NOT NULL,
        scope int NOT NULL,
        kind {_TEXT} NOT NULL,
        status {_TEXT} NOT NULL,
        source {_TEXT} NOT NULL,
        tier smallint NOT NULL,
        sensitivity smallint NOT NULL,
        host {_TEXT} NOT NULL,
        session_id {_TEXT} NOT NULL,
        valid_from_ms bigint NOT NULL,
        valid_to_ms bigint,
        created_at_ms bigint NOT NULL,
        updated_at_ms bigint NOT NULL,
        importance double precision NOT NULL,
        breadth double precision NOT NULL,
        pinned boolean NOT NULL,
        error_key {_TEXT} NOT NULL,
        folded {_TEXT} NOT NULL,
        use_count bigint NOT NULL,
        shown_count bigint NOT NULL,
        change bigint NOT NULL,
        version bigint NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (tenant, number),
        UNIQUE (tenant, id)""",
    "versions": f"""
        number bigint NOT NULL,
        version bigint NOT NULL,
        scope int NOT NULL,
        recorded_at_ms bigint NOT NULL,
        change_id {_TEXT} NOT NULL,
        reason text NOT NULL,
        body text NOT NULL,
        told bigint NOT NULL,
        PRIMARY KEY (tenant, number, version)""",
    "vectors": f"""
        number bigint NOT NULL,
        identity int NOT NULL,
        scope int NOT NULL,
        active boolean NOT NULL,
        id {_TEXT} NOT NULL,
        kind {_TEXT} NOT NULL,
        valid_from_ms bigint NOT NULL,
        valid_to_ms bigint,
        bits bit varying NOT NULL,
        vector halfvec NOT NULL,
        PRIMARY KEY (tenant, number)""",
    "postings": f"""
        space smallint NOT NULL,
        term {_TEXT} NOT NULL,
        scope int NOT NULL,
        number bigint NOT NULL,
        value int NOT NULL,
        PRIMARY KEY (tenant, space, term, scope, number) INCLUDE (value)""",
    "scopes": f"""
        scope int NOT NULL,
        name {_TEXT} NOT NULL,
        change bigint NOT NULL DEFAULT 0,
        moved bigint NOT NULL DEFAULT 0,
        total bigint NOT NULL DEFAULT 0,
        active bigint NOT NULL DEFAULT 0,
        words bigint NOT NULL DEFAULT 0,
        code bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant, scope),
        UNIQUE (tenant, name)""",
    "identities": f"""
        identity int NOT NULL,
        name {_TEXT} NOT NULL,
        dimensions int NOT NULL,
        PRIMARY KEY (tenant, identity),
        UNIQUE (tenant, name, dimensions)""",
    "terms": f"""
        space smallint NOT NULL,
        term {_TEXT} NOT NULL,
        scope int NOT NULL,
        documents bigint NOT NULL,
        PRIMARY KEY (tenant, space, term, scope)""",
    "relations": f"""
        source bigint NOT NULL,
        target bigint NOT NULL,
        type {_TEXT} NOT NULL,
        weight double precision NOT NULL,
        PRIMARY KEY (tenant, source, target, type)""",
    "sessions": f"""
        host {_TEXT} NOT NULL,
        session_id {_TEXT} NOT NULL,
        project_id {_TEXT} NOT NULL,
        parent_host {_TEXT} NOT NULL,
        parent_id {_TEXT} NOT NULL,
        last_signal_at_ms bigint NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (tenant, host, session_id)""",
    "exposures": f"""
        host {_TEXT} NOT NULL,
        session_id {_TEXT} NOT NULL,
        memory_id {_TEXT} NOT NULL,
        content_hash {_TEXT} NOT NULL,
        epoch bigint NOT NULL,
        turn bigint NOT NULL,
        surface {_TEXT} NOT NULL,
        tokens bigint NOT NULL,
        at_ms bigint NOT NULL,
        PRIMARY KEY (tenant, host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)""",
    "traces": f"""
        id {_TEXT} NOT NULL,
        session {_TEXT} NOT NULL,
        surface {_TEXT} NOT NULL,
        at_ms bigint NOT NULL,
        project_id {_TEXT} NOT NULL,
        injected boolean NOT NULL,
        seen text[] COLLATE "C" NOT NULL,
        folded {_TEXT} NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (tenant, id)""",
    "handovers": f"""
        key {_TEXT} NOT NULL,
        host {_TEXT} NOT NULL,
        session_id {_TEXT} NOT NULL,
        payload text NOT NULL,
        at_ms bigint NOT NULL,
        attempts bigint NOT NULL,
        error text NOT NULL,
        done_at_ms bigint,
        PRIMARY KEY (tenant, key)""",
    "projects": f"id {_TEXT} NOT NULL, body text NOT NULL, PRIMARY KEY (tenant, id)",
    "named_values": f"name {_TEXT} NOT NULL, value text NOT NULL, PRIMARY KEY (tenant, name)",
    "purges": f"""
        id {_TEXT} NOT NULL,
        at_ms bigint NOT NULL,
        told bigint NOT NULL,
        PRIMARY KEY (tenant, id)""",
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
_STORAGE = {
    "memories": "fillfactor = 85",
    "vectors": "toast_tuple_target = 8160",  # long vectors stay in the row: a scan that unpacks each takes ten times as long
    "postings": "autovacuum_vacuum_insert_scale_factor = 0.05",  # index-only scans need the visibility map
}
_INDEXES = (
    "memories (tenant, scope, number) INCLUDE (id, kind, valid_from_ms, valid_to_ms) WHERE status = 'active'",
    "memories (tenant, scope, change)",
    "memories (tenant, created_at_ms DESC, id)",
    "memories (tenant, status, scope)",
    "memories (tenant, source, scope)",
    "memories (tenant, scope, kind, created_at_ms DESC, id) WHERE status = 'active'",
    "memories (tenant, scope, kind, pinned DESC, importance DESC, id) WHERE status = 'active'",
    "memories (tenant, scope, left(folded, 200)) WHERE status = 'quarantined'",
    "memories (tenant, error_key, scope) WHERE error_key <> ''",
    "versions (tenant, recorded_at_ms DESC, number DESC, version DESC)",
    "versions (tenant, change_id)",
    "versions (tenant, told)",
    "vectors (tenant, identity, scope) INCLUDE (number, kind, valid_from_ms, valid_to_ms, bits) WHERE active",
    "vectors (tenant, identity, scope) INCLUDE (number) WHERE active AND number % 64 = 0",
    "postings (tenant, number)",
    "terms (tenant, space, scope)",
    "relations (tenant, target)",
    "sessions (tenant, last_signal_at_ms DESC, host, session_id)",
    "exposures (tenant, memory_id)",
    "traces (tenant, at_ms DESC, id DESC)",
    "traces (tenant, session, at_ms DESC, id DESC)",
    "handovers (tenant, at_ms, key) WHERE done_at_ms IS NULL",
    "purges (tenant, told)",
    "entries (tenant, subject)",
    "share_requests (tenant, state, created_at_ms)",
    "sso_logins (tenant, state)",
)

_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_NAMED = "name = nullif(current_setting('tacit.tenant_name', true), '')"
"""Who knows the name of a tenant may learn its number: that is how a transaction gets it."""
_PRINCIPAL = "nullif(current_setting('tacit.principal', true), '')"
_IS_MEMBER = f"""EXISTS (
    SELECT 1 FROM members WHERE members.tenant = tenants.tenant AND members.principal = {_PRINCIPAL})"""
_RULES = {
    "tenants": f"{_NAMED} OR ({_OWN} AND (organization = '' OR {_IS_MEMBER}))",
    "share_requests": f"""{_OWN} AND (author = {_PRINCIPAL} OR EXISTS (
        SELECT 1 FROM members WHERE members.tenant = share_requests.tenant AND members.principal = {_PRINCIPAL}
        AND members.role IN ('reviewer', 'admin')))""",
}
"""The policies of tables that show less than every row of the tenant."""


def upgrade() -> None:
    """Create the tables, each with a policy for its tenant."""
    op.execute("CREATE SEQUENCE memory_numbers")
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
