"""The memories of a team in PostgreSQL: what is written, what is found, and what the feed tells."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postgres_server import add, changes_of, check_statement, new_tenant_name, nothing, server
from samples import memory_named
from tacit.errors import InvalidInput, NotFound
from tacit.model.changes import Add, Retire, Rewrite, Supersede
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, project_scope
from tacit.ports.models import EmbedderIdentity
from tacit.providers.clock import FakeClock
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.feed import FeedCursor, FeedEntry
from tacit_server.postgres.memories import QueryVector, TeamMemories
from tacit_server.postgres.transaction import Transaction

pytestmark = pytest.mark.postgres

NOW = 1_700_000_000_000
ALPHA, BETA = project_scope("alpha"), project_scope("beta")
EMBEDDER = EmbedderIdentity(name="test@1", dimensions=4)


@pytest.fixture(scope="module")
def connections() -> Iterator[Connections]:
    made = Connections(server().dsn(), max_size=4, observe=check_statement)
    yield made
    made.close()


def opened(connections: Connections) -> TeamMemories:
    return TeamMemories(connections, new_tenant_name(), clock=FakeClock(now_ms=NOW), principal="")


@pytest.fixture
def memories(connections: Connections) -> TeamMemories:
    return opened(connections)


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def by_words(memories: TeamMemories, text: str, **more: object) -> list[str]:
    return [hit.memory_id for hit in memories.search(text, None, **{"limit": 99, **more}).words]


def by_meaning(memories: TeamMemories, *values: float, **more: object) -> dict[str, float]:
    query = QueryVector(vector=unit(*values), identity=EMBEDDER)
    hits = memories.search("", query, **{"limit": 99, **more}).meaning
    return {hit.memory_id: hit.score for hit in hits}


# --- what is written


def test_what_is_written_is_read_in_the_order_that_was_asked_for(memories: TeamMemories) -> None:
    one, two = memory_named("mem_1", "first", scope=ALPHA), memory_named("mem_2", "second")
    add(memories, one, two)
    assert memories.get(["mem_2", "mem_none", "mem_1", "mem_2", "mem\0"]) == (two, one)
    assert memories.get(["mem_1", "mem_2"], scopes=[ALPHA, BETA]) == (one,)
    assert memories.get(["mem_1"], scopes=[]) == ()
    assert set(memories.scopes()) == {ALPHA, UNIVERSAL}
    assert memories.get([]) == ()


def test_a_memory_that_is_replaced_ends_and_keeps_its_vector(memories: TeamMemories) -> None:
    memories.apply(
        [Add(memory=memory_named("mem_1", "old words"))],
        vectors=np.stack([unit(1, 0, 0, 0)]),
        identity=EMBEDDER,
        beside=nothing,
    )
    new = memory_named("mem_2", "new words")
    memories.apply([Supersede(memory=new, old_id="mem_1", at_ms=NOW)], beside=nothing)
    old = memories.get(["mem_1"])[0]
    assert (old.status, old.validity.superseded_by) == ("superseded", "mem_2")
    assert by_words(memories, "words") == ["mem_2"]
    assert by_meaning(memories, 1, 0, 0, 0) == {}
    brought_back = memory_named("mem_1", "old words", status="active")
    memories.apply([Rewrite(memory=brought_back)], beside=nothing)
    assert list(by_meaning(memories, 1, 0, 0, 0)) == ["mem_1"]
    memories.apply([Rewrite(memory=memory_named("mem_1", "other words"))], beside=nothing)
    assert by_meaning(memories, 1, 0, 0, 0) == {}, "the vector was that of the old words"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Add(memory=memory_named("mem_a")), InvalidInput),
        (Retire(memory_id="mem_none", at_ms=NOW), NotFound),
        (Supersede(memory=memory_named("mem_new"), old_id="mem_none", at_ms=NOW), NotFound),
    ],
)
def test_a_change_that_cannot_be_carried_out_changes_nothing(
    memories: TeamMemories, change: Add | Retire | Supersede, error: type[Exception]
) -> None:
    add(memories, memory_named("mem_a"))
    with pytest.raises(error):
        memories.apply([Add(memory=memory_named("mem_b")), change], beside=nothing)
    assert [entry.memory_id for entry in changes_of(memories)] == ["mem_a"]
    assert memories.get(["mem_b", "mem_new"]) == ()


def test_nothing_is_written_if_what_runs_beside_it_fails(memories: TeamMemories) -> None:
    def fail(_transaction: Transaction) -> None:
        raise NotFound("no such request")

    with pytest.raises(NotFound):
        memories.apply([Add(memory=memory_named("mem_a"))], beside=fail)
    add(memories, memory_named("mem_a"))
    with pytest.raises(NotFound):
        memories.purge("mem_a", beside=fail)
    assert [one.id for one in memories.get(["mem_a"])] == ["mem_a"]


def test_a_vector_of_another_shape_is_refused(memories: TeamMemories) -> None:
    with pytest.raises(InvalidInput, match="shape"):
        memories.apply(
            [Add(memory=memory_named("mem_a"))],
            vectors=np.ones((1, 3), np.float32),
            identity=EMBEDDER,
            beside=nothing,
        )


def test_a_memory_that_is_purged_leaves_nothing_but_its_id(memories: TeamMemories) -> None:
    add(memories, memory_named("mem_a", "Ask Wilhelmina."), memory_named("mem_b"))
    memories.apply([Rewrite(memory=memory_named("mem_a", "Ask Wilhelmina again."))], beside=nothing)
    memories.purge("mem_a", beside=nothing)
    with pytest.raises(NotFound):
        memories.purge("mem_a", beside=nothing)
    for table in ("memories", "versions", "purges"):
        statement = f"SELECT {table}::text FROM {table} WHERE tenant = %(tenant)s"
        rows = memories.database.reading(lambda transaction, statement=statement: transaction.rows(statement))
        assert not any("Wilhelmina" in row[0] for row in rows)
    assert by_words(memories, "Wilhelmina") == []
    told = [(entry.memory_id, entry.memory is None) for entry in changes_of(memories)]
    assert told == [("mem_b", False), ("mem_a", True)]


# --- lists


def test_the_memories_of_an_author_are_listed_whatever_their_state(memories: TeamMemories) -> None:
    ana, bo = (Provenance(tier=TrustTier.TEAMMATE, source=name) for name in ("ana", "bo"))
    add(
        memories,
        memory_named("mem_1", provenance=ana, created_at_ms=1),
        memory_named("mem_2", provenance=ana, created_at_ms=2),
        memory_named("mem_3", provenance=bo),
    )
    memories.apply([Retire(memory_id="mem_1", at_ms=NOW)], beside=nothing)
    assert [(one.id, one.status) for one in memories.stated_by("ana")] == [
        ("mem_2", "active"),
        ("mem_1", "retired"),
    ]
    assert memories.stated_by("nobody") == ()


def test_a_beginning_is_found_whatever_its_case_and_length(memories: TeamMemories) -> None:
    words = "Straße 100% _ " * 60
    add(
        memories,
        memory_named("mem_1", f"{words}one"),
        memory_named("mem_2", f"{words}two"),
        memory_named("mem_3", f"{words}one", scope=ALPHA),
        memory_named("mem_4", f"{words}one", status="retired"),
    )

    def found(text: str, limit: int = 9) -> list[str]:
        return [one.id for one in memories.beginning_with(text, scope=UNIVERSAL, limit=limit)]

    assert found(f"{words}ONE".upper()) == ["mem_1"]
    assert found("STRASSE 1") == ["mem_1", "mem_2"]
    assert found("straße", limit=1) == ["mem_1"]
    assert found("%") == []


# --- searches


def test_words_find_other_forms_of_themselves_and_rank_those_that_hold_more(memories: TeamMemories) -> None:
    add(
        memories,
        memory_named("mem_1", "Run the linter before each commit."),
        memory_named("mem_2", "Commits are signed."),
        memory_named("mem_3", "The office has plants."),
    )
    assert by_words(memories, "linters and committing") == ["mem_1", "mem_2"]
    assert by_words(memories, "the") == [], "no word of it says anything"
    assert by_words(memories, "") == []


def test_a_headline_and_other_languages_are_found(memories: TeamMemories) -> None:
    add(
        memories,
        memory_named("mem_1", "Use it for the tables.", headline="migration tool"),
        memory_named("mem_2", "数据库在周日重建索引。"),
        memory_named("mem_3", "Die Datenbank wird sonntags gesichert."),
    )
    assert by_words(memories, "migrations") == ["mem_1"]
    assert by_words(memories, "重建") == ["mem_2"]
    assert by_words(memories, "datenbank") == ["mem_3"]


def test_only_active_memories_that_hold_now_in_the_scopes_are_found(memories: TeamMemories) -> None:
    shown = [
        memory_named("mem_1", "linters", scope=ALPHA),
        memory_named("mem_2", "linters"),
        memory_named("mem_3", "linters", scope=BETA),
        memory_named("mem_4", "linters", status="retired"),
        memory_named("mem_5", "linters", validity=Validity(valid_from_ms=0, valid_to_ms=NOW)),
        memory_named("mem_6", "linters", validity=Validity(valid_from_ms=NOW + 1)),
    ]
    memories.apply(
        [Add(memory=one) for one in shown],
        vectors=np.tile(unit(1, 0, 0, 0), (6, 1)),
        identity=EMBEDDER,
        beside=nothing,
    )
    assert by_words(memories, "linter") == ["mem_3", "mem_2", "mem_1"]
    assert set(by_meaning(memories, 1, 0, 0, 0)) == {"mem_1", "mem_2", "mem_3"}
    seen = {"scopes": [ALPHA, UNIVERSAL]}
    assert by_words(memories, "linter", **seen) == ["mem_2", "mem_1"]
    assert set(by_meaning(memories, 1, 0, 0, 0, **seen)) == {"mem_1", "mem_2"}
    assert by_words(memories, "linter", scopes=[]) == []


def test_equal_scores_are_cut_by_id(memories: TeamMemories) -> None:
    many = [memory_named(f"mem_{number:03}", "run linters") for number in range(80)]
    memories.apply(
        [Add(memory=one) for one in many],
        vectors=np.tile(unit(1, 0, 0, 0), (80, 1)),
        identity=EMBEDDER,
        beside=nothing,
    )
    best = ["mem_079", "mem_078", "mem_077"]
    assert by_words(memories, "linters", limit=3) == best
    assert list(by_meaning(memories, 1, 0, 0, 0, limit=3)) == best


def test_vectors_are_compared_by_cosine_and_those_of_other_embedders_never(memories: TeamMemories) -> None:
    vectors = np.stack([unit(1, 0, 0, 0), unit(1, 1, 0, 0), unit(-1, 0, 0, 0)])
    named = [memory_named(f"mem_{number}") for number in range(3)]
    memories.apply([Add(memory=one) for one in named], vectors=vectors, identity=EMBEDDER, beside=nothing)
    memories.apply(
        [Add(memory=memory_named("mem_other"))],
        vectors=np.ones((1, 3), np.float32),
        identity=EmbedderIdentity(name="test@1", dimensions=3),
        beside=nothing,
    )
    add(memories, memory_named("mem_without"))
    found = by_meaning(memories, 1, 0, 0, 0)
    assert list(found) == ["mem_0", "mem_1", "mem_2"]
    assert list(found.values()) == pytest.approx([1, 0.5**0.5, -1], abs=1e-3)
    both = memories.search("statement", QueryVector(vector=unit(0, 1, 0, 0), identity=EMBEDDER), limit=2)
    assert both.meaning[0].memory_id == "mem_1"
    assert len(both.words) == 2


@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(text=st.text(max_size=60), asked=st.text(max_size=60))
def test_no_text_is_read_as_syntax(connections: Connections, text: str, asked: str) -> None:
    memories = opened(connections)
    add(memories, memory_named("mem_1", f"x {text}"), memory_named("mem_2", "y" * 5000))
    by_words(memories, asked)
    assert by_words(memories, "x" if text.isspace() else f"zebra {'y' * 5000}")
    assert memories.get(["mem_2"])[0].content == "y" * 5000


# --- the feed


def after(memories: TeamMemories, cursor: FeedCursor, limit: int = 99) -> tuple[FeedEntry, ...]:
    return changes_of(memories, cursor, limit=limit)


def test_every_version_comes_once_and_in_order(memories: TeamMemories) -> None:
    add(memories, memory_named("mem_a"), memory_named("mem_b"))
    memories.apply([Retire(memory_id="mem_a", at_ms=NOW)], beside=nothing)
    first = after(memories, FeedCursor(), limit=2)
    rest = after(memories, FeedCursor.parse(str(first[-1].cursor)))
    told = [(entry.memory_id, _status(entry.memory)) for entry in (*first, *rest)]
    assert told == [("mem_a", "active"), ("mem_b", "active"), ("mem_a", "retired")]
    assert [entry.cursor.number for entry in (*first, *rest)] == [1, 2, 3]
    assert first[0].cursor.change_id == first[1].cursor.change_id != rest[0].cursor.change_id
    assert after(memories, rest[-1].cursor) == ()


def _status(memory: Memory | None) -> str:
    return "purged" if memory is None else memory.status


def test_a_writer_takes_its_number_when_the_one_before_has_ended(memories: TeamMemories) -> None:
    """Otherwise a reader could pass the number of a transaction that has not ended, and would never see its entry."""
    add(memories, memory_named("mem_a"))
    start = after(memories, FeedCursor())[-1].cursor
    seen: list[tuple[FeedEntry, ...]] = []

    def beside(_transaction: Transaction) -> None:
        later.start()
        later.join(0.5)
        assert later.is_alive()
        seen.append(after(memories, start))

    later = threading.Thread(target=lambda: add(memories, memory_named("mem_c")))
    memories.apply([Add(memory=memory_named("mem_b"))], beside=beside)
    later.join()
    assert seen == [()]
    assert [entry.memory_id for entry in after(memories, start)] == ["mem_b", "mem_c"]
