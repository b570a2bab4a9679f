"""What the search on PostgreSQL finds, beside the one in plain Python: the same memories with the same scores, in every space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts import test_search_contract as search_contract
from contracts import test_store_contract as store_contract
from contracts.stores import ALPHA, BETA, EMBEDDER, NOW, add, make_store, memory, unit
from tacit.backends.postgres.documents import stored_term
from tacit.backends.postgres.search.matching import MAX_POSTINGS
from tacit.model.changes import Add
from tacit.model.evidence import Ranking
from tacit.model.memory import Entity, Validity
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter
from tacit.model.trigger import Trigger
from tacit.ports.store import MemoryFilter, Store
from tacit.providers.clock import FakeClock

pytestmark = pytest.mark.postgres

VISIBLE = ScopeFilter.of(ALPHA, UNIVERSAL)
FILES = [Entity(kind="file", key=name) for name in ("a.py", "b.py", "c.py")]


def scored(ranking: Ranking) -> dict[str, float]:
    return dict(ranking.hits)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    stored=st.lists(
        st.tuples(
            search_contract.texts,
            search_contract.triggers,
            st.sampled_from([ALPHA, UNIVERSAL, BETA]),
            st.sets(st.sampled_from(FILES)),
            st.sampled_from(["fact", "decision"]),
            st.sampled_from([Validity(valid_from_ms=0), Validity(valid_from_ms=0, valid_to_ms=NOW)]),
        ),
        min_size=1,
        max_size=10,
    ),
    asked=search_contract.texts,
    actions=st.dictionaries(st.sampled_from(["commit", "push"]), st.sampled_from([0.1, 0.5, 1.0])),
    kinds=st.sampled_from([None, ("fact",), ("decision", "goal")]),
    limit=st.integers(1, 6),
)
def test_every_space_finds_what_plain_python_finds(  # noqa: PLR0917 - what a search is made of
    stored: list[tuple[str, Trigger, Scope, set[Entity], str, Validity]],
    asked: str,
    actions: dict[str, float],
    kinds: tuple[str, ...] | None,
    limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    memories = [
        memory(
            f"mem_{number}", text, scope=scope, trigger=trigger, entities=tuple(sorted(entities, key=str)),
            kind=kind, validity=validity, importance=round(0.1 * (number % 3), 1),
        )
        for number, (text, trigger, scope, entities, kind, validity) in enumerate(stored)
    ]  # fmt: skip
    vectors = np.stack([unit(1, number % 3, number % 2, 0) for number in range(len(memories))])
    found: list[dict[str, dict[str, float]]] = []
    listed: list[object] = []
    words = list(dict.fromkeys(asked.split()))
    for name in ("memory", "postgres"):
        store = make_store(name, tmp_path_factory.mktemp("parity"), FakeClock(now_ms=NOW))
        store.apply([Add(memory=one) for one in memories], vectors=vectors, identity=EMBEDDER)
        spaces = every_space(store, asked, tuple(actions.items()), kinds, limit=50)
        for space, ranking in every_space(store, asked, tuple(actions.items()), kinds, limit=limit).items():
            assert ranking.hits == spaces[space].hits[:limit], space
        table = store.search.word_table(words, scope=VISIBLE, limit=50, kinds=kinds)
        found.append({space: scored(ranking) for space, ranking in spaces.items()})
        found[-1]["typed"] = dict(store.find_memories(asked, MemoryFilter(), scope=VISIBLE, limit=50))
        for place, word in enumerate(words):
            found[-1][f"word {word}"] = dict(zip(table.ids, table.scores[:, place].tolist(), strict=True))
        listed.append((
            store.search.standing(["fact", "decision"], scope=VISIBLE, limit=limit).hits,
            store.search.standing(["fact"], scope=VISIBLE, limit=limit, broadest=True).hits,
            store.list_memories(MemoryFilter(kinds=kinds), scope=VISIBLE, limit=limit),
        ))  # fmt: skip
        store.close()
    assert listed[1] == listed[0]
    for space, scores in found[0].items():
        assert found[1][space] == pytest.approx(
            scores, rel=1e-6, abs=2e-3 if space == "semantic" else 1e-6
        ), space


def every_space(
    store: Store,
    asked: str,
    actions: tuple[tuple[str, float], ...],
    kinds: tuple[str, ...] | None,
    *,
    limit: int,
) -> dict[str, Ranking]:
    search, within = store.search, {"scope": VISIBLE, "limit": limit, "kinds": kinds}
    return {
        "semantic": search.semantic(unit(1, 2, 3, 4), identity=EMBEDDER, **within),
        "lexical": search.lexical(asked, **within),
        "code": search.code(asked, **within),
        "entity": search.entity(FILES[:2], **within),
        "intent": search.intent(actions, **within),
    }


def test_nothing_outside_the_filter_ever_comes_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    store_contract.test_nothing_outside_the_filter_ever_comes_back(
        name="postgres", tmp_path_factory=tmp_path_factory
    )


@pytest.fixture
def store(tmp_path) -> Store:
    return make_store("postgres", tmp_path, FakeClock(now_ms=NOW))


def test_of_a_long_query_the_rarest_words_are_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_POSTINGS > 1000
    monkeypatch.setattr("tacit.backends.postgres.search.matching.MAX_POSTINGS", 12)
    store.apply([Add(memory=memory(f"mem_{number:02}", f"common words {number}")) for number in range(20)])
    add(store, memory("mem_rare", "a rare word, common"))
    assert [hit.memory_id for hit in store.search.lexical("common rare", scope=VISIBLE, limit=9).hits] == [
        "mem_rare"
    ]
    assert len(store.search.lexical("common", scope=VISIBLE, limit=99).hits) == 21, (
        "the rarest is always asked for"
    )
    monkeypatch.setattr("tacit.backends.postgres.search.matching.ASKED_POSTINGS", 12)
    table = store.search.word_table(["common", "rare"], scope=VISIBLE, limit=9)
    assert (table.ids, table.complete) == (("mem_rare",), False)


def test_best_hits_are_found_behind_many_that_hold_no_more(store: Store) -> None:
    over = Validity(valid_from_ms=0, valid_to_ms=NOW)
    store.apply(
        [Add(memory=memory(f"mem_a{number:02}", "run linters", validity=over)) for number in range(60)]
        + [Add(memory=memory(f"mem_b{number}", "run linters and more words")) for number in range(3)]
    )
    found = store.search.lexical("linters", scope=VISIBLE, limit=2)
    assert [hit.memory_id for hit in found.hits] == ["mem_b2", "mem_b1"]


def test_equal_scores_are_cut_by_id_among_many(store: Store) -> None:
    store.apply([Add(memory=memory(f"mem_{number:03}", "run linters")) for number in reversed(range(80))])
    found = store.search.lexical("linters", scope=VISIBLE, limit=3)
    assert [hit.memory_id for hit in found.hits] == ["mem_079", "mem_078", "mem_077"]


def test_long_words_and_keys_are_told_apart(store: Store) -> None:
    one, two = "x" * 5000 + "1", "x" * 5000 + "2"
    assert stored_term(one) != stored_term(two)
    add(
        store,
        memory("mem_1", one, entities=(Entity(kind="file", key=one),), error_signature=one),
        memory("mem_2", two, entities=(Entity(kind="file", key=two),), error_signature=two),
    )
    assert [hit.memory_id for hit in store.search.lexical(two, scope=VISIBLE, limit=9).hits] == ["mem_2"]
    assert [
        hit.memory_id
        for hit in store.search.entity([Entity(kind="file", key=one)], scope=VISIBLE, limit=9).hits
    ] == ["mem_1"]
    assert [hit.memory_id for hit in store.search.error(two, scope=VISIBLE, limit=9).hits] == ["mem_2"]


def test_a_beginning_is_found_among_what_waits(store: Store) -> None:
    words = "Straße " * 60
    add(
        store,
        memory("mem_1", f"{words}one", status="quarantined"),
        memory("mem_2", f"{words}two", status="quarantined"),
    )
    where = MemoryFilter(statuses=("quarantined",), begins=f"{words}ONE".upper())
    assert [one.id for one in store.list_memories(where, scope=VISIBLE, limit=9)] == ["mem_1"]
    short = MemoryFilter(statuses=("quarantined",), begins="STRASSE s")
    assert store.count_memories(short, scope=VISIBLE) == 2
