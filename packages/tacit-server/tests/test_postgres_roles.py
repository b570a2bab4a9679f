"""Who may open a store, what keeps tenants apart, and which schema is taken."""

from __future__ import annotations

import importlib
import pkgutil
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psycopg
import pytest

import tacit_server
from postgres_server import OWN, OWNER, Server, add, check_statement, new_tenant_name, nothing, server
from samples import memory_named
from tacit.errors import StoreError, StoreNewer
from tacit.model.changes import Add
from tacit.model.scope import UNIVERSAL
from tacit.ports.models import EmbedderIdentity
from tacit.providers.clock import FakeClock
from tacit_server.postgres.connection import Connections, TenantDatabase, observe_nothing
from tacit_server.postgres.memories import QueryVector, TeamMemories
from tacit_server.postgres.roles import TENANT_TABLES, create_roles
from tacit_server.postgres.schema import SCHEMA_VERSION, migrate
from tacit_server.postgres.transaction import Transaction

pytestmark = pytest.mark.postgres

_T = TypeVar("_T")
NOW = 1_700_000_000_000
EMBEDDER = EmbedderIdentity(name="test@1", dimensions=4)
EAST = np.array([1, 0, 0, 0], np.float32)


@pytest.fixture
def running() -> Server:
    return server()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW)


def admin(running: Server, statement: str, *, database: str = "tacit") -> list[tuple[Any, ...]]:
    with psycopg.connect(running.dsn("postgres", database), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_a_superuser_is_refused(running: Server) -> None:
    with pytest.raises(StoreError, match="superuser") as caught:
        Connections(running.dsn("postgres"))
    assert "tacit-server set-up" in caught.value.hint


def test_a_role_that_bypasses_the_policies_is_refused(running: Server) -> None:
    admin(running, "DROP ROLE IF EXISTS bypassing")
    admin(running, "CREATE ROLE bypassing LOGIN BYPASSRLS IN ROLE tacit_app")
    with pytest.raises(StoreError, match="BYPASSRLS"):
        Connections(running.dsn("bypassing"))


@pytest.fixture
def spare(running: Server) -> Iterator[str]:
    """A database of its own, set up."""
    name = f"spare_{uuid.uuid4().hex[:12]}"
    admin(running, f"CREATE DATABASE {name}", database="postgres")
    create_roles(running.dsn("postgres", name))
    migrate(running.dsn(OWNER, name))
    yield name
    admin(running, f"DROP DATABASE {name} WITH (FORCE)", database="postgres")


def test_what_postgresql_refuses_during_the_setup_is_an_error_of_the_store(running: Server) -> None:
    name = f"spare_{uuid.uuid4().hex[:12]}"
    admin(running, f"CREATE DATABASE {name}", database="postgres")
    try:
        with pytest.raises(StoreError, match="permission denied for schema") as caught:
            migrate(running.dsn(OWNER, name))
        assert "tacit-server set-up" in caught.value.hint
    finally:
        admin(running, f"DROP DATABASE {name} WITH (FORCE)", database="postgres")
    with pytest.raises(StoreError, match="does not exist"):
        create_roles(running.dsn("postgres", name))


def test_a_table_whose_policies_were_switched_off_is_refused(running: Server, spare: str) -> None:
    admin(running, "ALTER TABLE versions DISABLE ROW LEVEL SECURITY", database=spare)
    with pytest.raises(StoreError, match="versions") as caught:
        Connections(running.dsn(database=spare))
    assert "FORCE ROW LEVEL SECURITY" in caught.value.hint


def test_other_schemas_are_refused_and_migrating_again_changes_nothing(
    running: Server, spare: str, clock: FakeClock
) -> None:
    owner = running.dsn(OWNER, spare)
    assert migrate(owner) == SCHEMA_VERSION
    connections = Connections(running.dsn(database=spare))
    store = opened(connections, "team", clock)
    admin(running, "UPDATE alembic_version SET version_num = '0999'", database=spare)
    for use in (store.scopes, lambda: add(store, memory_named("mem_a"))):
        with pytest.raises(StoreNewer, match="reads nothing"):
            use()
    connections.close()
    with pytest.raises(StoreNewer, match="999"):
        Connections(running.dsn(database=spare))
    with pytest.raises(StoreNewer):
        migrate(owner)
    admin(running, "UPDATE alembic_version SET version_num = '0000'", database=spare)
    with pytest.raises(StoreError, match="schema 0") as caught:
        Connections(running.dsn(database=spare))
    assert "tacit-server migrate" in caught.value.hint


def test_a_database_without_tables_says_what_to_do(running: Server) -> None:
    with pytest.raises(StoreError, match="no tables") as caught:
        Connections(running.dsn(database="postgres"))
    assert "tacit-server migrate" in caught.value.hint


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        Connections(f"host={tmp_path} user=nobody dbname=tacit")


def opened(connections: Connections, tenant: str, clock: FakeClock) -> TeamMemories:
    return TeamMemories(connections, tenant, clock=clock, principal="")


def test_every_table_has_a_forced_policy(running: Server) -> None:
    rows = admin(
        running,
        "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace",
    )
    found = {name: (on, forced) for name, on, forced in rows if name != "alembic_version"}
    assert found == dict.fromkeys(TENANT_TABLES, (True, True))


def add_findable(store: TeamMemories, name: str) -> None:
    one = memory_named(name, f"run the linter, says {name}")
    store.apply([Add(memory=one)], vectors=EAST[np.newaxis], identity=EMBEDDER, beside=nothing)


class _Stripped(Transaction):
    """A transaction whose statements forget the tenant."""

    def execute(self, statement: str, values: Any = None) -> Any:
        stripped = OWN.sub("true", statement)
        assert stripped != statement
        return super().execute(stripped, values)


class _OneTransaction(TenantDatabase):
    """A database whose reads all happen in one transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction_given = transaction

    def reading(self, work: Callable[[Transaction], _T]) -> _T:
        return work(self._transaction_given)


def found_without_tenant(dsn: str, store: TeamMemories, ids: list[str]) -> dict[str, set[str]]:
    """What each way to read finds when no statement names the tenant."""
    own = store.database
    try:
        with psycopg.connect(dsn) as connection:
            connection.execute(f"SET LOCAL tacit.tenant = '{own.tenant}'".encode())
            store.database = _OneTransaction(
                _Stripped(tenant=own.tenant, _connection=connection, _observe=observe_nothing)
            )
            found = store.search("linters", QueryVector(vector=EAST, identity=EMBEDDER), limit=50)
            told = store.database.reading(
                lambda t: t.rows("SELECT id FROM versions WHERE tenant = %(tenant)s")
            )
            return {
                "meaning": {hit.memory_id for hit in found.meaning},
                "words": {hit.memory_id for hit in found.words},
                "ids": {one.id for one in store.get(ids)},
                "author": {one.id for one in store.stated_by(memory_named("mem").provenance.source)},
                "beginning": {one.id for one in store.beginning_with("run", scope=UNIVERSAL, limit=50)},
                "feed": {row[0] for row in told},
            }
    finally:
        store.database = own


def test_the_policies_alone_keep_tenants_apart(running: Server, spare: str, clock: FakeClock) -> None:
    connections = Connections(running.dsn(database=spare))
    stores = {f"mem_of_{name}": opened(connections, name, clock) for name in ("one", "two", "three")}
    for name, store in stores.items():
        add_findable(store, name)
    for name, store in stores.items():
        found = found_without_tenant(running.dsn(database=spare), store, list(stores))
        assert found == {way: {name} for way in found}
    # The same, with nothing to keep them apart, shows that the statements would find the others.
    unbound = found_without_tenant(running.dsn("postgres", spare), stores["mem_of_one"], list(stores))
    assert unbound == {way: set(stores) for way in unbound}
    with psycopg.connect(running.dsn(database=spare)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (0,), "no tenant was named"
        connection.execute("SET LOCAL tacit.tenant = ''")
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)
        connection.execute("SET LOCAL tacit.tenant = '1'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO purges (tenant, number, id, change_id) VALUES (2, 1, 'n', 'v')")
    connections.close()


def test_the_same_id_may_be_stored_by_two_tenants(clock: FakeClock, running: Server) -> None:
    connections = Connections(running.dsn(), observe=check_statement)
    one, two = (opened(connections, new_tenant_name(), clock) for _ in range(2))
    for store in (one, two):
        add_findable(store, "mem_same")
    one.purge("mem_same", beside=nothing)
    assert one.get(["mem_same"]) == ()
    assert [memory.id for memory in two.get(["mem_same"])] == ["mem_same"]
    connections.close()


OF_NO_TENANT = {"_FIND_TENANT", "_ADD_TENANT", "_ADD_TEAM", "_BOUND"}
"""By the first three a transaction learns the number of the tenant whose name it knows. The last one asks the catalog."""
UNROUTABLE = re.compile(
    r"\b(?:set_config|nextval|pg_advisory\w*|pg_current_xact_id\w*|txid_\w+|DECLARE|MERGE|TABLESAMPLE|GROUPING SETS|RECURSIVE|SKIP LOCKED)\b"
    r"|\(\s*(?:INSERT|UPDATE|DELETE)\b|\bSET tenant\b"
)
"""What a coordinator of a distributed PostgreSQL refuses, or runs on the wrong node."""


def texts(value: object) -> Iterator[str]:
    """The strings in a constant."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts(tuple(value.values()))
    elif isinstance(value, tuple):
        for one in value:
            yield from texts(one)


def statements() -> Iterator[tuple[str, str]]:
    """Every statement that a module of the package holds as a constant."""
    package = tacit_server
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".migrations" in found.name or found.name.endswith((".entry", ".main")):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            for text in texts(value) if name.startswith("_") and not name.startswith("__") else ():
                if re.match(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH \w+)\b", text):
                    yield name, text


def test_every_statement_of_the_package_names_the_tenant_of_every_table() -> None:
    found = list(statements())
    assert len(found) > 60
    for place, text in found:
        if place not in OF_NO_TENANT:
            check_statement(text)


def test_no_statement_and_no_policy_uses_what_a_coordinator_cannot_route(running: Server) -> None:
    assert [text for _, text in statements() if UNROUTABLE.search(text)] == []
    for wrong in (
        "SELECT set_config('a', 'b', true)",
        "UPDATE memories SET tenant = 1",
        "WITH a AS (DELETE FROM b)",
    ):
        assert UNROUTABLE.search(wrong)
    # In one transaction, the reference table `tenants` and the tables of a tenant are never joined.
    joined = [text for _, text in statements() if " tenants " in text and "FROM members" in text]
    assert joined == []
    policies = admin(running, "SELECT tablename, qual, with_check FROM pg_policies")
    assert {table for table, _, _ in policies} == set(TENANT_TABLES)
    assert [row for row in policies if "SELECT" in f"{row[1]} {row[2]}".upper()] == []


def test_the_script_for_citus_distributes_every_table_of_a_tenant() -> None:
    script = (Path(__file__).parents[3] / "deploy" / "citus.sql").read_text()
    distributed = re.findall(
        r"create_distributed_table\('(\w+)', 'tenant'(?:, colocate_with => 'memories')?\)", script
    )
    assert sorted(distributed) == sorted(set(TENANT_TABLES) - {"tenants"})
    assert "create_reference_table('tenants')" in script
    assert "citus.propagate_set_commands = 'local'" in script


def test_settings_are_made_by_a_statement_and_not_by_a_function() -> None:
    """A distributed PostgreSQL can pass `SET LOCAL` on to other servers, but not the call of a function."""
    files = [*Path(tacit_server.__file__).parent.rglob("*.py")]
    assert len(files) > 20
    assert [path for path in files if "set_config" in path.read_text()] == []


def test_every_key_and_every_index_of_a_tenants_table_begins_with_the_tenant(running: Server) -> None:
    rows = admin(
        running,
        "SELECT c.relname, i.indexrelid::regclass::text, a.attname, i.indisprimary FROM pg_index AS i"
        " JOIN pg_class AS c ON c.oid = i.indrelid AND NOT c.relispartition"
        " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE c.relnamespace = 'public'::regnamespace",
    )
    of_tenants = [row for row in rows if row[0] in TENANT_TABLES]
    assert {table for table, _, _, primary in of_tenants if primary} == set(TENANT_TABLES)
    others = {name for _, name, first, _ in of_tenants if first != "tenant"}
    assert others == {"tenants_name_key"}, "a tenant is found by its name, once in each database"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT body FROM memories WHERE id = %(id)s",
        "SELECT m.id FROM memories AS m JOIN versions AS v ON v.id = m.id WHERE m.tenant = %(tenant)s",
        "DELETE FROM versions WHERE id IN (SELECT id FROM memories WHERE tenant = %(tenant)s)",
        "INSERT INTO purges (id, tenant) VALUES (1, %(tenant)s)",
        "SELECT 1",
    ],
)
def test_a_statement_that_forgets_the_tenant_is_seen(statement: str) -> None:
    with pytest.raises(AssertionError):
        check_statement(statement)


def test_connections_are_made_in_one_place_so_that_no_statement_runs_before_a_team_was_shown() -> None:
    """Each transaction begins with a look at the tenant's row, which policies show to members alone; elsewhere only owners connect."""
    root = Path(tacit_server.__file__).parent
    marks = ("onnection.connect(", "psycopg.connect(", ".borrow(", ".getconn(", "ConnectionPool(")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(mark in path.read_text() for mark in marks)
    }
    own = {f"postgres/{name}.py" for name in ("connection", "roles", "schema")}
    assert found == {"embedded.py", "news.py", "postgres_process.py", *own}
