"""Query words: stems as the index makes them, the rarest first, within a budget, never as syntax."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import memory_named as memory
from tacit.backends.codec import clean_text
from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.backends.sqlite.memory_index import MAX_POSTINGS, MAX_TERMS, QueryTerms, Stemmer, any_word
from tacit.backends.sqlite.search import TEXT_DEADLINE_MS
from tacit.config.home import Home
from tacit.model.changes import Add
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.providers.clock import FakeClock
from tacit.text.tokens import index_words

EVERYONE = ScopeFilter.of(UNIVERSAL)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = open_sqlite_store(Home(tmp_path / "home"), clock=FakeClock())
    yield made
    made.close()


def test_stems_are_those_of_the_porter_stemmer() -> None:
    stemmer = Stemmer("words")
    found = stemmer.stems(["running", "Linters", "committed", "ÜBERSICHT", "snake", "..."])
    assert found == {
        "running": ("run",),
        "Linters": ("linter",),
        "committed": ("commit",),
        "ÜBERSICHT": ("ubersicht",),
        "snake": ("snake",),
        "...": (),
    }
    assert stemmer.stems(["running"]) == {"running": ("run",)}


@given(
    st.text(st.characters(max_codepoint=0x52F, exclude_categories=["Cn", "Cs"]), max_size=80)
)  # younger characters differ between Unicode versions
def test_every_word_of_a_stored_text_finds_it(text: str) -> None:
    """Whatever was stored: the words that a query would use are words of the index."""
    text = clean_text(text)
    stemmer = Stemmer("words")
    with closing(sqlite3.connect(":memory:")) as scratch:
        scratch.execute("CREATE VIRTUAL TABLE t USING fts5 (words, tokenize = 'porter unicode61')")
        scratch.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, row)")
        scratch.execute("INSERT INTO t (words) VALUES (?)", (text,))
        vocabulary = {row[0] for row in scratch.execute("SELECT term FROM v")}
        for word, stems in stemmer.stems(index_words(text)).items():
            assert set(stems) <= vocabulary
            if stems:
                found = scratch.execute(
                    "SELECT count(*) FROM t WHERE t MATCH ?", (any_word("words", [word]),)
                )
                assert found.fetchone() == (1,)


def test_the_rarest_words_are_chosen_within_the_budget(store: SqliteStore) -> None:
    counts = {f"w{chr(97 + number)}x": 30 * (number + 1) for number in range(20)}
    total = max(counts.values())
    contents = [" ".join(word for word, count in counts.items() if number < count) for number in range(total)]
    store.apply([Add(memory=memory(f"mem_{number}", content)) for number, content in enumerate(contents)])
    with store._database.read() as connection:
        chosen = QueryTerms("words").choose(connection, [*counts, "unknown"], documents=total, share=1.0)
        assert chosen[-1] == "unknown"  # in one document or in none: cheaper to ask for than to look up
        chosen = chosen[:-1]
        assert chosen == tuple(list(counts)[: len(chosen)])
        assert 1 < len(chosen) <= MAX_TERMS["words"]
        assert sum(counts[word] for word in chosen) <= MAX_POSTINGS["words"]
        one = QueryTerms("words").choose(connection, ["wtx"], documents=total, share=1.0)
        assert one == ("wtx",)  # the rarest word is asked for whatever it costs
        narrow = QueryTerms("words").choose(connection, list(counts), documents=total, share=0.01)
        assert len(narrow) == MAX_TERMS["words"]


def test_words_stored_after_the_frequencies_were_read_are_found(store: SqliteStore) -> None:
    store.apply([Add(memory=memory("mem_a", "alpha"))])
    assert store.search.lexical("zebra alpha", scope=EVERYONE, limit=5).hits
    store.apply([Add(memory=memory("mem_b", "zebra"))])
    assert [h.memory_id for h in store.search.lexical("zebra", scope=EVERYONE, limit=5).hits] == ["mem_b"]


def test_large_stores_rank_alike_in_narrow_and_in_wide_scopes(store: SqliteStore) -> None:
    """Beyond the small index, and with a scope that holds little or most of it."""
    narrow = project_scope("narrow")
    contents = [f"common word{number} {'needle' if number % 500 == 0 else 'hay'}" for number in range(2400)]
    scopes = [narrow if number % 100 == 0 else UNIVERSAL for number in range(2400)]
    store.apply(
        [
            Add(memory=memory(f"mem_{number:04d}", content, scope=scope))
            for number, (content, scope) in enumerate(zip(contents, scopes, strict=True))
        ]
    )
    found = store.search.lexical("needles", scope=ScopeFilter.of(narrow), limit=9).hits
    assert [hit.memory_id for hit in found] == [f"mem_{number:04d}" for number in range(2000, -1, -500)]
    assert store.search.lexical("needles", scope=EVERYONE, limit=9).hits == ()
    both = store.search.lexical("needles word7", scope=ScopeFilter.of(narrow, UNIVERSAL), limit=3).hits
    assert [hit.memory_id for hit in both] == ["mem_0007", "mem_2000", "mem_1500"]
    assert all(hit.score > 0 for hit in both)
    only = store.search.lexical("common", scope=ScopeFilter.of(narrow), limit=3).hits
    assert [hit.memory_id for hit in only] == ["mem_2300", "mem_2200", "mem_2100"]


class JumpingClock(FakeClock):
    """Every look at it costs a second."""

    def monotonic_ms(self) -> float:
        self.advance(1000)
        return super().monotonic_ms()


def test_a_search_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    assert TEXT_DEADLINE_MS < 1000
    store = open_sqlite_store(Home(tmp_path / "home"), clock=JumpingClock())
    store.apply([Add(memory=memory(f"mem_{number}", "needle " * 20)) for number in range(400)])
    ranking = store.search.lexical("needle", scope=EVERYONE, limit=5)
    assert (ranking.hits, ranking.complete) == ((), False)
    assert store.search.error("x", scope=EVERYONE, limit=5).complete
    store.close()


def test_how_frequent_words_are_is_read_outside_the_deadline(tmp_path: Path) -> None:
    store = open_sqlite_store(Home(tmp_path / "home"), clock=JumpingClock())
    contents = (f"needle word{number % 300} word{number % 299}" for number in range(900))
    store.apply([Add(memory=memory(f"mem_{number}", content)) for number, content in enumerate(contents)])
    store.search.lexical("word7", scope=EVERYONE, limit=5)
    known = store._search._terms["words"]._frequencies
    assert known is not None
    assert known.by_term["needl"] == 900
    store.close()


def test_text_indexes_are_made_one_again_and_answer_the_same(store: SqliteStore, tmp_path: Path) -> None:
    """Every write leaves a piece; a search looks into all of them."""
    for number in range(9):
        store.apply([Add(memory=memory(f"mem_{number}", f"write word{number} of `file_{number}.py` often"))])
    before = store.search.lexical("word3 often", scope=EVERYONE, limit=9).hits
    store.tidy()
    with closing(sqlite3.connect(Home(tmp_path / "home").database)) as reader:
        for index in ("text_words", "text_code"):
            found = reader.execute(f"SELECT count(DISTINCT segid) FROM {index}_idx").fetchone()
            assert found == (1,)
    assert store.search.lexical("word3 often", scope=EVERYONE, limit=9).hits == before
    assert before[0].memory_id == "mem_3"
    assert store.check() == ()
