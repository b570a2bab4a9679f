"""What every search must find, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.stores import ALPHA, BETA, EMBEDDER, NOW, add, make_store, memory, unit
from tacit.backends.sqlite.writing import ALWAYS_WEIGHT
from tacit.errors import EmbedderMismatch, InvalidInput
from tacit.model.changes import Add, Retire, Rewrite
from tacit.model.evidence import Ranking
from tacit.model.memory import Entity, Memory, Provenance, Sensitivity, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, Lent, Scope, ScopeFilter, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity
from tacit.ports.search import Search
from tacit.ports.store import MemoryFilter, Store
from tacit.providers.clock import FakeClock
from tacit.text.stemming import porter_stem
from tacit.text.tokens import code_query_words, code_words, fold_word, index_words, query_words

VISIBLE = ScopeFilter.of(ALPHA, UNIVERSAL)
NOTHING = ScopeFilter()


def ids(ranking: Ranking) -> list[str]:
    return [hit.memory_id for hit in ranking.hits]


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in ranking.hits}


def every_space_of(search: Search, kinds: tuple[str, ...] | None) -> dict[str, Ranking]:
    """Every space that takes kinds, asked for those alone."""
    asked = {"scope": VISIBLE, "limit": 2, "kinds": kinds}
    return {
        "semantic": search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, **asked),
        "lexical": search.lexical("linters", **asked),
        "code": search.code("getUserName", **asked),
        "entity": search.entity([Entity(kind="file", key="a.py")], **asked),
        "intent": search.intent([("commit", 0.8)], **asked),
    }


def every_space(search: Search, scope: ScopeFilter, limit: int) -> dict[str, Ranking]:
    return {
        "semantic": search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=scope, limit=limit),
        "lexical": search.lexical("linters", scope=scope, limit=limit),
        "code": search.code("getUserName", scope=scope, limit=limit),
        "entity": search.entity([Entity(kind="file", key="a.py")], scope=scope, limit=limit),
        "intent": search.intent([("commit", 0.8)], scope=scope, limit=limit),
        "standing": search.standing(["fact"], scope=scope, limit=limit),
        "error": search.error("boom", scope=scope, limit=limit),
    }


def findable(name: str, **more: object) -> Memory:
    """A memory that every space finds."""
    values: dict[str, object] = {
        "trigger": Trigger(actions=(("commit", 1.0),)),
        "entities": (Entity(kind="file", key="a.py"),),
        "error_signature": "boom",
        **more,
    }
    return memory(name, "run the linter over getUserName", **values)


def add_findable(store: Store, *memories: Memory) -> None:
    vectors = np.tile(unit(1, 0, 0, 0), (len(memories), 1))
    store.apply([Add(memory=one) for one in memories], vectors=vectors, identity=EMBEDDER)


class TestKinds:
    def test_a_crowd_of_another_kind_takes_no_place(self, store: Store) -> None:
        crowd = [findable(f"mem_a{number:02}") for number in range(20)]
        add_findable(store, *crowd, findable("mem_z", kind="decision"), findable("mem_y", kind="research"))
        for space, ranking in every_space_of(store.search, ("decision", "goal")).items():
            assert ids(ranking) == ["mem_z"], space
        for space, ranking in every_space_of(store.search, ("decision", "research")).items():
            assert ids(ranking) == ["mem_z", "mem_y"], space
        assert all(len(ranking.hits) == 2 for ranking in every_space_of(store.search, None).values())
        assert not any(ranking.hits for ranking in every_space_of(store.search, ()).values())

    def test_the_word_table_holds_the_kinds_alone(self, store: Store) -> None:
        crowd = [findable(f"mem_a{number:02}") for number in range(20)]
        add_findable(store, *crowd, findable("mem_z", kind="decision"))
        asked = {"scope": VISIBLE, "limit": 3, "also": ["mem_a07", "mem_z"]}
        table = store.search.word_table(["linters"], kinds=("decision",), **asked)
        assert table.ids == ("mem_z",)
        assert len(store.search.word_table(["linters"], **asked).ids) > 3

    def test_an_edited_kind_counts(self, store: Store) -> None:
        add_findable(store, findable("mem_a"), findable("mem_b"))
        assert not any(ranking.hits for ranking in every_space_of(store.search, ("decision",)).values())
        changed = findable("mem_b", kind="decision")
        store.apply([Rewrite(memory=changed)], vectors=unit(1, 0, 0, 0)[None, :], identity=EMBEDDER)
        for space, ranking in every_space_of(store.search, ("decision",)).items():
            assert ids(ranking) == ["mem_b"], space

    def test_scores_are_those_among_all_kinds(self, store: Store) -> None:
        add_findable(store, findable("mem_a"), findable("mem_b", kind="decision"))
        everything = every_space_of(store.search, None)
        for space, ranking in every_space_of(store.search, ("decision",)).items():
            assert scores(ranking)["mem_b"] == pytest.approx(scores(everything[space])["mem_b"]), space


class TestEverySpace:
    def test_an_empty_store_an_empty_scope_and_an_unknown_scope_give_nothing(self, store: Store) -> None:
        for scope in (VISIBLE, NOTHING):
            assert all(r.hits == () for r in every_space(store.search, scope, 9).values())
        add_findable(store, findable("mem_a"))
        for scope in (NOTHING, ScopeFilter.of(BETA), ScopeFilter.of(project_scope("unknown"))):
            assert all(r.hits == () for r in every_space(store.search, scope, 9).values())

    def test_of_equal_scores_the_newest_id_comes_first_and_the_oldest_are_cut(self, store: Store) -> None:
        names = ["mem_e", "mem_b", "mem_d", "mem_a", "mem_c", "mem_ab"]
        add_findable(store, *(findable(name) for name in names))
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == sorted(names, reverse=True), space
        for space, ranking in every_space(store.search, VISIBLE, 3).items():
            assert ids(ranking) == ["mem_e", "mem_d", "mem_c"], space

    def test_a_limit_of_zero_or_less_gives_nothing(self, store: Store) -> None:
        add_findable(store, findable("mem_a"))
        for limit in (0, -1):
            assert all(r.hits == () for r in every_space(store.search, VISIBLE, limit).values())

    def test_only_active_memories_that_hold_now_are_found(self, store: Store, clock: FakeClock) -> None:
        add_findable(
            store,
            findable("mem_now"),
            findable("mem_early", validity=Validity(valid_from_ms=NOW + 100)),
            findable("mem_late", validity=Validity(valid_from_ms=0, valid_to_ms=NOW + 50)),
            findable("mem_quarantined", status="quarantined"),
            findable("mem_retired", status="retired"),
            findable("mem_superseded", status="superseded"),
        )
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_now", "mem_late"], space
        clock.advance(50)
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_now"], space
        clock.advance(50)
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_now", "mem_early"], space

    def test_a_change_is_seen_by_the_next_search(self, store: Store) -> None:
        add_findable(store, findable("mem_a"), findable("mem_b"))
        every_space(store.search, VISIBLE, 9)
        store.apply([Retire(memory_id="mem_a", at_ms=NOW)])
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_b"], space
        add_findable(store, findable("mem_c"))
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_c", "mem_b"], space
        store.apply([Rewrite(memory=findable("mem_b", scope=BETA))])
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_c"], space
        for space, ranking in every_space(store.search, ScopeFilter.of(BETA), 9).items():
            assert ids(ranking) == ["mem_b"], space
        store.apply([Rewrite(memory=findable("mem_b"))])
        for space, ranking in every_space(store.search, VISIBLE, 9).items():
            assert ids(ranking) == ["mem_c", "mem_b"], space

    @pytest.mark.parametrize(
        ("lent", "seen"), [((), ""), (("public",), "mem_c"), (("public", "preferences"), "mem_c mem_b")]
    )
    def test_what_another_project_lends_is_found_and_nothing_else_of_it(
        self, store: Store, lent: tuple[Lent, ...], seen: str
    ) -> None:
        """See `Memory.lent_as`; every store keeps to it in lists, reads and searches."""
        said = Provenance(tier=TrustTier.USER, source="session")
        own = memory("mem_a", "linters here")
        rule = memory("mem_b", "linters there", scope=BETA, kind="preference", provenance=said)
        public = memory(
            "mem_c", "public linters", scope=BETA, provenance=said, sensitivity=Sensitivity.PUBLIC
        )
        plain = memory("mem_d", "linters of beta", scope=BETA, provenance=said)
        secret = replace(rule, id="mem_e", sensitivity=Sensitivity.RESTRICTED)
        add(store, own, rule, public, plain, secret)
        scope, wanted = ScopeFilter.of(ALPHA, lent=lent), {"mem_a", *seen.split()}
        every = ["mem_a", "mem_b", "mem_c", "mem_d", "mem_e"]
        assert set(ids(store.search.lexical("linters", scope=scope, limit=9))) == wanted
        assert {one.id for one in store.get(every, scope=scope)} == wanted
        assert {one.id for one in store.list_memories(MemoryFilter(), scope=scope, limit=9)} == wanted
        assert store.count_active(scope=scope) == len(wanted)
        store.apply([Rewrite(memory=replace(public, sensitivity=Sensitivity.SESSION))])
        assert set(ids(store.search.lexical("linters", scope=scope, limit=9))) == wanted - {"mem_c"}
        assert set(ids(store.search.lexical("linters", scope=ScopeFilter.of(BETA), limit=9))) == {*every} - {
            "mem_a"
        }


class TestSemantic:
    def test_by_cosine(self, store: Store) -> None:
        vectors = np.stack([unit(1, 0, 0, 0), unit(1, 1, 0, 0), unit(0, 1, 0, 0), unit(-1, 0, 0, 0)])
        names = ["mem_a", "mem_b", "mem_c", "mem_d"]
        store.apply([Add(memory=memory(name)) for name in names], vectors=vectors, identity=EMBEDDER)
        found = store.search.semantic(unit(1, 0.1, 0, 0), identity=EMBEDDER, scope=VISIBLE, limit=9)
        assert ids(found) == names
        expected = (vectors @ unit(1, 0.1, 0, 0)).tolist()
        assert [hit.score for hit in found.hits] == pytest.approx(expected, abs=2e-3)
        assert found.background is not None
        assert found.background.count == 4
        assert found.background.mean == pytest.approx(np.mean(expected), abs=2e-3)
        assert found.background.deviation == pytest.approx(np.std(expected), abs=2e-3)

    def test_memories_without_a_vector_are_not_found(self, store: Store) -> None:
        add(store, memory("mem_a"))
        assert store.search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=VISIBLE, limit=9).hits == ()

    def test_another_embedder_is_refused_only_where_it_stands_alone(self, store: Store) -> None:
        other = EmbedderIdentity(name="test@2", dimensions=4)
        add_findable(store, findable("mem_a"), findable("mem_x", scope=BETA))
        with pytest.raises(EmbedderMismatch, match="test@1/4") as caught:
            store.search.semantic(unit(1, 0, 0, 0), identity=other, scope=VISIBLE, limit=9)
        assert "reindex" in caught.value.hint
        assert store.search.semantic(unit(1, 0, 0, 0), identity=other, scope=NOTHING, limit=9).hits == ()
        store.put_vectors(["mem_a"], unit(1, 0, 0, 0)[np.newaxis], identity=other)
        assert ids(store.search.semantic(unit(1, 0, 0, 0), identity=other, scope=VISIBLE, limit=9)) == [
            "mem_a"
        ]
        both = ScopeFilter.of(ALPHA, BETA)
        assert ids(store.search.semantic(unit(1, 0, 0, 0), identity=other, scope=both, limit=9)) == ["mem_a"]
        assert ids(store.search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=both, limit=9)) == [
            "mem_x"
        ]

    def test_a_vector_of_the_wrong_shape_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="shape"):
            store.search.semantic(unit(1, 0), identity=EMBEDDER, scope=VISIBLE, limit=9)

    def test_a_new_vector_replaces_the_old_one(self, store: Store) -> None:
        add_findable(store, findable("mem_a"), findable("mem_b"))
        store.search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=VISIBLE, limit=9)
        store.put_vectors(["mem_a"], unit(0, 1, 0, 0)[np.newaxis], identity=EMBEDDER)
        found = store.search.semantic(unit(0, 1, 0, 0), identity=EMBEDDER, scope=VISIBLE, limit=9)
        assert scores(found) == pytest.approx({"mem_a": 1.0, "mem_b": 0.0}, abs=2e-3)


class TestLexical:
    def test_words_are_stemmed_and_rare_words_count_more(self, store: Store) -> None:
        add(
            store,
            memory("mem_a", "Always run the linters before committing"),
            memory("mem_b", "The build runs on every push"),
            memory("mem_c", "Runs are logged, and running twice is fine"),
            memory("mem_d", "Nothing of the kind"),
        )
        found = store.search.lexical("linter running", scope=VISIBLE, limit=9)
        assert ids(found)[0] == "mem_a"
        assert set(ids(found)) == {"mem_a", "mem_b", "mem_c"}
        assert all(hit.score > 0 for hit in found.hits)

    def test_bm25_by_hand(self, store: Store) -> None:
        """Two documents of equal length, one word in one of them.

        idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; tf part = 1 * 2.2 / (1 + 1.2) = 1; score = 0.6931.
        """
        add(store, memory("mem_a", "alpha beta gamma"), memory("mem_b", "delta beta gamma"))
        found = store.search.lexical("alpha", scope=VISIBLE, limit=9)
        assert scores(found) == pytest.approx({"mem_a": math.log(2)}, rel=1e-6)

    def test_a_word_in_every_memory_still_counts_a_little(self, store: Store) -> None:
        add(store, memory("mem_a", "tabs tabs"), memory("mem_b", "tabs spaces"))
        found = store.search.lexical("tabs", scope=VISIBLE, limit=9)
        assert ids(found) == ["mem_b", "mem_a"]
        assert all(hit.score > 0.05 for hit in found.hits)

    def test_stop_words_alone_find_nothing(self, store: Store) -> None:
        add(store, memory("mem_a", "this is what it is"))
        assert store.search.lexical("what is this", scope=VISIBLE, limit=9).hits == ()
        assert store.search.lexical("", scope=VISIBLE, limit=9).hits == ()

    @pytest.mark.parametrize(
        "text",
        [
            '"', '""', "'", "*", "a*", "(", ")", "linter AND", "OR", "NOT linter", "NEAR(a b, 2)", "words : x", "^linter",
            "{a b}", "scope : scope1", "col:linter", "--", "; DROP TABLE memories", "\\", "a-b", "+", "\x00", "\ud800",
            'linter" OR "x', "scope1", "\u200b", "\U0001f40d", "%", "_", "?", ":scopes",
        ],
    )  # fmt: skip
    def test_no_text_is_syntax(self, store: Store, text: str) -> None:
        add(store, memory("mem_a", "run the linter"), memory("mem_x", "run the linter", scope=BETA))
        for found in (
            store.search.lexical(text, scope=VISIBLE, limit=9),
            store.search.code(text, scope=VISIBLE, limit=9),
            store.search.lexical(f"{text} linter", scope=VISIBLE, limit=9),
        ):
            assert set(ids(found)) <= {"mem_a"}
        assert ids(store.search.lexical(f"{text} linter", scope=VISIBLE, limit=9)) == ["mem_a"]
        assert store.check() == ()

    def test_case_and_diacritics_do_not_matter(self, store: Store) -> None:
        add(store, memory("mem_a", "Füge Änderungen zusammen"), memory("mem_b", "НЕ ТРОГАТЬ базу"))
        assert ids(store.search.lexical("anderungen", scope=VISIBLE, limit=9)) == ["mem_a"]
        assert ids(store.search.lexical("базу", scope=VISIBLE, limit=9)) == ["mem_b"]

    def test_a_long_query_is_answered(self, store: Store) -> None:
        add(store, memory("mem_a", "the needle"), memory("mem_b", "hay"))
        text = "needle " + " ".join(f"word{number}" for number in range(500_000))
        assert ids(store.search.lexical(text, scope=VISIBLE, limit=9)) == ["mem_a"]
        assert store.search.code(text, scope=VISIBLE, limit=9).hits == ()


class TestWordTable:
    def test_every_word_by_itself_as_the_lexical_space_scores_it(self, store: Store) -> None:
        add(
            store,
            memory("mem_a", "run the linter"),
            memory("mem_b", "linters and builds, a longer statement"),
            memory("mem_c", "a build", scope=UNIVERSAL),
            memory("mem_x", "linter build", scope=BETA),
        )
        table = store.search.word_table(["linter", "builds", "zebra", "the"], scope=VISIBLE, limit=9)
        assert table.scores.shape == (3, 4)
        assert table.ids[0] == "mem_b"
        for column, word in enumerate(["linter", "builds", "zebra", "the"]):
            alone = scores(store.search.lexical(word, scope=VISIBLE, limit=9))
            held = {name: float(row[column]) for name, row in zip(table.ids, table.scores, strict=True)}
            assert {name: value for name, value in held.items() if value} == pytest.approx(alone, rel=1e-6)

    def test_every_word_has_its_weight(self, store: Store) -> None:
        """Of three memories two hold `linter`: ln(1 + 1.5 / 2.5); none holds `zebra`: ln(1 + 3.5 / 0.5); a sign is no word."""
        add(store, memory("mem_a", "a linter"), memory("mem_b", "linters"), memory("mem_c", "a build"))
        table = store.search.word_table(["linter", "zebra", '"'], scope=VISIBLE, limit=9)
        assert table.weights.tolist() == pytest.approx([0.470004, 2.079442, 0.0], abs=1e-5)

    def test_the_best_and_those_that_are_named(self, store: Store, clock: FakeClock) -> None:
        over = Validity(valid_from_ms=0, valid_to_ms=NOW)
        add(
            store,
            memory("mem_a", "linter build"),
            memory("mem_b", "linter alone"),
            memory("mem_c", "nothing"),
            memory("mem_d", "linter too", validity=over),
            memory("mem_x", "linter", scope=BETA),
        )
        named = ["mem_c", "mem_d", "mem_x", "mem_none", "mem_a"]
        table = store.search.word_table(["linter", "build"], scope=VISIBLE, limit=1, also=named)
        assert table.ids == ("mem_a", "mem_c")
        assert table.scores[1].tolist() == [0.0, 0.0]

    def test_shares_of_words(self, store: Store, clock: FakeClock) -> None:
        """Of four in scope three hold `linter`, ln(1 + 1.5 / 3.5), and one `aaa`, ln(1 + 3.5 / 1.5); none holds `zebra`, ln(1 + 4.5 / 0.5)."""
        over = Validity(valid_from_ms=0, valid_to_ms=NOW)
        add(
            store,
            memory("mem_a", "the linter aaa"),
            memory("mem_b", "linters"),
            memory("mem_c", "nothing"),
            memory("mem_d", "a linter", validity=over),
            memory("mem_x", "linter aaa", scope=BETA),
        )
        linter, aaa, zebra = 0.356675, 1.203973, 2.302585
        among = ["mem_a", "mem_b", "mem_c", "mem_d", "mem_x", "mem_none"]
        found = store.search.word_shares(["linter", "aaa", "zebra", '"'], among=among, scope=VISIBLE)
        whole = linter + aaa + zebra
        assert found == pytest.approx(
            {"mem_a": (linter + aaa) / whole, "mem_b": linter / whole, "mem_c": 0.0}, abs=1e-4
        )
        asked = {"among": among, "scope": VISIBLE}
        assert store.search.word_shares(["linter"], kinds=("goal",), **asked) == {}
        assert store.search.word_shares(['"'], **asked) == store.search.word_shares([], **asked) == {}
        assert store.search.word_shares(["linter"], among=among, scope=NOTHING) == {}
        assert store.search.word_shares(["linter"], among=[], scope=VISIBLE) == {}

    def test_nothing_asked_nothing_found(self, store: Store) -> None:
        add(store, memory("mem_a", "linter"))
        assert store.search.word_table([], scope=VISIBLE, limit=9).scores.shape == (0, 0)
        assert store.search.word_table(["linter"], scope=NOTHING, limit=9).ids == ()
        assert store.search.word_table(["linter"], scope=VISIBLE, limit=0, also=["mem_a"]).ids == ()
        assert store.search.word_table(['"', "NEAR(", "\ud800"], scope=VISIBLE, limit=9).ids == ()


class TestCode:
    def test_identifiers_and_paths_meet_in_every_spelling(self, store: Store) -> None:
        add(
            store,
            memory("mem_camel", "call getUserName first"),
            memory("mem_snake", "call get_user_name first"),
            memory("mem_path", "see src/user/name.py"),
            memory("mem_file", "plain words", files=("src/user_cache.go",)),
            memory("mem_entity", "plain words", entities=(Entity(kind="symbol", key="UserStore.load"),)),
            memory("mem_plain", "the user has a name"),
        )
        found = ids(store.search.code("getUserName", scope=VISIBLE, limit=9))
        assert set(found[:2]) == {"mem_camel", "mem_snake"}
        assert "mem_plain" not in found
        assert set(ids(store.search.code("user", scope=VISIBLE, limit=9))) == {
            "mem_camel",
            "mem_snake",
            "mem_path",
            "mem_file",
            "mem_entity",
        }
        assert ids(store.search.code("user_cache.go", scope=VISIBLE, limit=9))[0] == "mem_file"
        assert store.search.code("the first plain", scope=VISIBLE, limit=9).hits == ()


class TestEntity:
    def test_idf_weighted_overlap_by_hand(self, store: Store) -> None:
        """Four memories; file in two, symbol in one, package in none.

        idf = ln(1 + 4 / (1 + df)): file ln(7/3), symbol ln 3, package ln 5.
        """
        file = Entity(kind="file", key="a.py")
        symbol = Entity(kind="symbol", key="run")
        package = Entity(kind="package", key="run")
        add(
            store,
            memory("mem_a", entities=(file, symbol)),
            memory("mem_b", entities=(file,)),
            memory("mem_c", entities=(Entity(kind="file", key="b.py"),)),
            memory("mem_d"),
        )
        whole = math.log(7 / 3) + math.log(3) + math.log(5)
        found = store.search.entity([file, symbol, package, file], scope=VISIBLE, limit=9)
        assert scores(found) == pytest.approx(
            {"mem_a": (math.log(7 / 3) + math.log(3)) / whole, "mem_b": math.log(7 / 3) / whole}
        )
        assert scores(store.search.entity([symbol], scope=VISIBLE, limit=9)) == pytest.approx({"mem_a": 1.0})
        assert store.search.entity([package], scope=VISIBLE, limit=9).hits == ()
        assert store.search.entity([], scope=VISIBLE, limit=9).hits == ()

    def test_counts_stay_within_the_scope(self, store: Store) -> None:
        file, symbol = Entity(kind="file", key="a.py"), Entity(kind="symbol", key="run")
        add(store, memory("mem_a", entities=(file,)), memory("mem_b", entities=(symbol,)))
        before = scores(store.search.entity([file, symbol], scope=VISIBLE, limit=9))
        add(store, *(memory(f"mem_x{number}", entities=(file,), scope=BETA) for number in range(5)))
        assert scores(store.search.entity([file, symbol], scope=VISIBLE, limit=9)) == before


class TestIntent:
    def test_best_product_of_probability_and_weight(self, store: Store) -> None:
        add(
            store,
            memory("mem_sure", trigger=Trigger(actions=(("commit", 1.0), ("push", 0.33)))),
            memory("mem_often", trigger=Trigger(actions=(("commit", 0.67),))),
            memory("mem_push", trigger=Trigger(actions=(("push", 1.0),))),
            memory("mem_always", trigger=Trigger(always=True)),
            memory("mem_both", trigger=Trigger(always=True, actions=(("commit", 0.67),))),
            memory("mem_none"),
            memory("mem_paths", trigger=Trigger(paths=("src/**",))),
            memory("mem_other", trigger=Trigger(actions=(("release", 1.0),))),
        )
        found = store.search.intent(
            [("commit", 0.8), ("push", 0.5), ("unheard_of", 1.0)], scope=VISIBLE, limit=9
        )
        assert scores(found) == pytest.approx(
            {
                "mem_sure": 0.8,
                "mem_both": 0.536,
                "mem_often": 0.536,
                "mem_push": 0.5,
                "mem_always": 0.25,
                "mem_paths": 0.25,
            },  # it names places only, so it may apply to any action there
            abs=0.003,
        )
        assert ids(found) == ["mem_sure", "mem_often", "mem_both", "mem_push", "mem_paths", "mem_always"]

    def test_always_and_places_apply_without_any_action(self, store: Store) -> None:
        add(
            store,
            memory("mem_a", trigger=Trigger(always=True)),
            memory("mem_b", trigger=Trigger(actions=(("x", 1.0),))),
        )
        assert scores(store.search.intent([], scope=VISIBLE, limit=9)) == pytest.approx({"mem_a": 0.25})

    def test_an_action_named_twice_counts_once_with_its_higher_probability(self, store: Store) -> None:
        add(store, memory("mem_a", trigger=Trigger(actions=(("commit", 1.0),))))
        found = store.search.intent([("commit", 0.9), ("commit", 0.2)], scope=VISIBLE, limit=9)
        assert scores(found) == pytest.approx({"mem_a": 0.9}, abs=0.003)

    def test_a_changed_trigger_is_seen(self, store: Store) -> None:
        first = memory("mem_a", trigger=Trigger(actions=(("commit", 1.0),)))
        add(store, first)
        store.search.intent([("commit", 1.0)], scope=VISIBLE, limit=9)
        store.apply([Rewrite(memory=replace(first, trigger=Trigger(actions=(("new_action", 0.5),))))])
        assert store.search.intent([("commit", 1.0)], scope=VISIBLE, limit=9).hits == ()
        found = store.search.intent([("new_action", 1.0)], scope=VISIBLE, limit=9)
        assert scores(found) == pytest.approx({"mem_a": 0.5}, abs=0.003)


class TestStandingAndError:
    def test_standing_by_pin_then_importance_then_the_newest(self, store: Store) -> None:
        add(
            store,
            memory("mem_low", kind="preference", importance=0.2),
            memory("mem_high", kind="decision", importance=0.9, scope=UNIVERSAL),
            memory("mem_pinned", kind="preference", importance=0.1, pinned=True),
            memory("mem_also_high", kind="preference", importance=0.9),
            memory("mem_fact", kind="fact", importance=1.0),
        )
        found = store.search.standing(["preference", "decision", "preference"], scope=VISIBLE, limit=9)
        assert ids(found) == ["mem_pinned", "mem_high", "mem_also_high", "mem_low"]
        assert [hit.score for hit in found.hits] == [0.1, 0.9, 0.9, 0.2]
        assert ids(store.search.standing(["preference", "decision"], scope=VISIBLE, limit=2)) == [
            "mem_pinned",
            "mem_high",
        ]
        assert store.search.standing([], scope=VISIBLE, limit=9).hits == ()

    def test_standing_by_breadth_where_asked(self, store: Store) -> None:
        add(
            store,
            memory("mem_narrow", kind="preference", importance=0.9, trigger=Trigger(breadth=1.0)),
            memory("mem_broad", kind="decision", importance=0.2, trigger=Trigger(breadth=2.5)),
            memory("mem_always", kind="preference", importance=0.1, trigger=Trigger(always=True)),
            memory("mem_pinned", kind="preference", importance=0.1, pinned=True),
            memory("mem_wide", kind="preference", importance=0.3, trigger=Trigger(breadth=2.5)),
        )
        kinds = ["preference", "decision"]
        found = store.search.standing(kinds, scope=VISIBLE, limit=9, broadest=True)
        assert ids(found) == ["mem_pinned", "mem_always", "mem_wide", "mem_broad", "mem_narrow"]
        assert found.hits[1].score == 0.1
        assert ids(store.search.standing(kinds, scope=VISIBLE, limit=2))[1] == "mem_narrow"

    def test_breadth_follows_an_edit(self, store: Store) -> None:
        one, two = memory("mem_a", kind="preference"), memory("mem_b", kind="preference")
        add(store, one, two)
        store.apply([Rewrite(memory=replace(two, trigger=Trigger(breadth=3.0)))])
        assert ids(store.search.standing(["preference"], scope=VISIBLE, limit=9, broadest=True)) == [
            "mem_b",
            "mem_a",
        ]

    def test_standing_over_many_kinds(self, store: Store) -> None:
        add(store, memory("mem_a", kind="kind_299"))
        kinds = [f"kind_{number}" for number in range(300)]
        assert ids(store.search.standing(kinds, scope=VISIBLE, limit=9)) == ["mem_a"]

    def test_error_signatures_match_exactly(self, store: Store) -> None:
        add(
            store,
            memory("mem_b", error_signature="E: <n>"),
            memory("mem_a", error_signature="E: <n>"),
            memory("mem_c"),
        )
        found = store.search.error("E: <n>", scope=VISIBLE, limit=9)
        assert [(hit.memory_id, hit.score) for hit in found.hits] == [("mem_b", 1.0), ("mem_a", 1.0)]
        assert store.search.error("E: ", scope=VISIBLE, limit=9).hits == ()
        assert store.search.error("", scope=VISIBLE, limit=9).hits == ()


WORDS = [
    "lint",
    "linter",
    "tests",
    "testing",
    "commit",
    "push",
    "über",
    "the",
    "a",
    "getUser",
    "src/a.py",
    "x1",
]


def stems_of(words: Iterable[str]) -> set[str]:
    return {porter_stem(fold_word(part)) for word in words for part in index_words(word)}


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
triggers = st.builds(
    Trigger,
    always=st.booleans(),
    actions=st.dictionaries(
        st.sampled_from(["commit", "push", "release"]), st.sampled_from([1.0, 0.67, 0.33])
    ).map(lambda weights: tuple(weights.items())),
)


@settings(suppress_health_check=list(HealthCheck))
@given(
    stored=st.lists(
        st.tuples(texts, triggers, st.sampled_from([ALPHA, UNIVERSAL, BETA])), min_size=1, max_size=10
    ),
    asked=texts,
    actions=st.dictionaries(st.sampled_from(["commit", "push"]), st.sampled_from([0.1, 0.5, 1.0])),
    limit=st.integers(1, 6),
)
def test_a_search_finds_what_shares_a_word_and_ranks_what_fits_an_action(
    stored: list[tuple[str, Trigger, Scope]],
    asked: str,
    actions: dict[str, float],
    limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    clock = FakeClock(now_ms=NOW)
    memories = [
        memory(f"mem_{number}", text, scope=scope, trigger=trigger)
        for number, (text, trigger, scope) in enumerate(stored)
    ]
    store = make_store(tmp_path_factory.mktemp("parity"), clock)
    add(store, *memories)
    seen = [one for one in memories if one.scope in VISIBLE.scopes]
    stems = stems_of(query_words(asked))
    code = set(code_query_words(asked))
    assert set(ids(store.search.lexical(asked, scope=VISIBLE, limit=50))) == {
        one.id for one in seen if stems & stems_of(index_words(one.content))
    }
    assert set(ids(store.search.code(asked, scope=VISIBLE, limit=50))) == {
        one.id for one in seen if code & set(code_words(one.content))
    }

    def fits(one: Memory) -> float:
        products = [weight * actions.get(name, 0.0) for name, weight in one.trigger.actions]
        return max([*products, ALWAYS_WEIGHT if one.trigger.always else 0.0])

    ranked = sorted((one for one in seen if fits(one) > 0), key=lambda one: (fits(one), one.id), reverse=True)
    found = store.search.intent(tuple(actions.items()), scope=VISIBLE, limit=limit)
    assert ids(found) == [one.id for one in ranked][:limit]
    store.close()
