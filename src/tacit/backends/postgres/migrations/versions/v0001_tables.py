"""The tables, their partitions and their policies. In: an empty database, as the owner. Out: schema 1.

Text is ordered by its code points, as Python orders it. Large tables are partitioned by placement: 0 is shared by all tenants and
split by a hash of the tenant, any other number belongs to the tenant of that number alone.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SHARES = 16
_TEXT = 'text COLLATE "C"'

_PARTITIONED = {
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
        PRIMARY KEY (tenant, placement, number),
        UNIQUE (tenant, placement, id)""",
    "versions": f"""
        number bigint NOT NULL,
        version bigint NOT NULL,
        scope int NOT NULL,
        recorded_at_ms bigint NOT NULL,
        change_id {_TEXT} NOT NULL,
        reason text NOT NULL,
        body text NOT NULL,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        seq bigint NOT NULL DEFAULT nextval('version_numbers'),
        PRIMARY KEY (tenant, placement, number, version)""",
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
        PRIMARY KEY (tenant, placement, number)""",
    "postings": f"""
        space smallint NOT NULL,
        term {_TEXT} NOT NULL,
        scope int NOT NULL,
        number bigint NOT NULL,
        value int NOT NULL,
        PRIMARY KEY (tenant, placement, space, term, scope, number) INCLUDE (value)""",
}
_STORAGE = {
    "memories": "fillfactor = 85",
    "versions": "",
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
    "versions (tenant, xid, seq)",
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
    "purges (tenant, xid, seq)",
)
"""Without the placement: within a partition it says nothing, and an order behind it would not be used."""

_PLAIN = {
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
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        seq bigint NOT NULL DEFAULT nextval('version_numbers'),
        PRIMARY KEY (tenant, id)""",
}

_OWN = "tenant = nullif(current_setting('tacit.tenant', true), '')::bigint"
_NAMED = f"{_OWN} OR name = nullif(current_setting('tacit.tenant_name', true), '')"
"""Who knows the name of a tenant may learn its number: that is how a transaction gets it."""


def upgrade() -> None:
    """Make everything."""
    op.execute("CREATE SEQUENCE memory_numbers")
    op.execute("CREATE SEQUENCE version_numbers")
    op.execute(
        f"""CREATE TABLE tenants (
            tenant bigint GENERATED ALWAYS AS IDENTITY,
            name {_TEXT} NOT NULL UNIQUE,
            placements bigint[] NOT NULL DEFAULT '{{0}}',
            change bigint NOT NULL DEFAULT 0,
            indexed int[] NOT NULL DEFAULT '{{}}',
            PRIMARY KEY (tenant)
        ) WITH (fillfactor = 50)"""
    )
    for table, columns in _PLAIN.items():
        op.execute(f"CREATE TABLE {table} (tenant bigint NOT NULL, {columns})")
    for table, columns in _PARTITIONED.items():
        _make_partitioned(table, columns)
    for index in _INDEXES:
        op.execute(f"CREATE INDEX ON {index}")
    for table in ("tenants", *_PLAIN, *_PARTITIONED):
        own = _NAMED if table == "tenants" else _OWN
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_tenant ON {table} USING ({own}) WITH CHECK ({own})")


def _make_partitioned(table: str, columns: str) -> None:
    op.execute(
        f"CREATE TABLE {table} (tenant bigint NOT NULL, placement bigint NOT NULL, {columns}) PARTITION BY LIST (placement)"
    )
    op.execute(
        f"CREATE TABLE {table}_shared PARTITION OF {table} FOR VALUES IN (0) PARTITION BY HASH (tenant)"
    )
    storage = f" WITH ({_STORAGE[table]})" if _STORAGE[table] else ""
    for share in range(_SHARES):
        op.execute(
            f"CREATE TABLE {table}_shared_{share} PARTITION OF {table}_shared"
            f" FOR VALUES WITH (MODULUS {_SHARES}, REMAINDER {share}){storage}"
        )
