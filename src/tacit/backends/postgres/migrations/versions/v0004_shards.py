"""The directory: which shard holds which tenant. In: schema 3, as the owner. Out: schema 4.

Every database has these tables, but only the directory uses them: it has a route for every tenant. A transaction that knows the name of a tenant can read
its route. The owner of the tables, who moves tenants, sees all routes.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TEXT = 'text COLLATE "C"'
_NAMED = "name = nullif(current_setting('tacit.tenant_name', true), '')"


def upgrade() -> None:
    """Create the tables, and a route for every tenant in this database."""
    op.execute("ALTER TABLE tenants ADD COLUMN moved_to text, ADD COLUMN stay int NOT NULL DEFAULT 0")
    op.execute(
        "CREATE TABLE this_database (one boolean PRIMARY KEY DEFAULT true CHECK (one),"
        " directory uuid NOT NULL DEFAULT gen_random_uuid(), shard text NOT NULL DEFAULT 'main')"
    )
    op.execute("INSERT INTO this_database DEFAULT VALUES")
    op.execute(
        f"CREATE TABLE shards (name {_TEXT} PRIMARY KEY, accepts boolean NOT NULL DEFAULT true, tenants bigint NOT NULL DEFAULT 0)"
    )
    op.execute(
        f"CREATE TABLE routes (name {_TEXT} PRIMARY KEY, shard {_TEXT} NOT NULL REFERENCES shards,"
        f" also_on {_TEXT} REFERENCES shards)"
    )
    op.execute("CREATE INDEX routes_on_the_way ON routes (name) WHERE also_on IS NOT NULL")
    # The policy on `tenants` shows the owner one tenant at a time; this transaction has to see all of them.
    op.execute("ALTER TABLE tenants NO FORCE ROW LEVEL SECURITY")
    op.execute("INSERT INTO shards (name, tenants) SELECT 'main', count(*) FROM tenants")
    op.execute("INSERT INTO routes (name, shard) SELECT name, 'main' FROM tenants")
    op.execute("ALTER TABLE tenants FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE routes ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE routes FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY own_route ON routes USING ({_NAMED}) WITH CHECK ({_NAMED})")
    op.execute("CREATE POLICY every_route ON routes TO CURRENT_USER USING (true) WITH CHECK (true)")
