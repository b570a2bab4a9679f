"""The words of a query that are worth asking the text index for. In: query words. Out: some of them; FTS5 expressions.

The cost of a text search is the sum of its words' document frequencies, so only the rarest words are asked for, within a
budget. Words reach FTS5 between quotes and are split into letters and digits first: no query text is ever syntax. Stems
are those of the store's index: of plain words we know them, all others are shown to FTS5 in a scratch index in memory.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tacit.backends.sqlite.documents import scope_token
from tacit.backends.sqlite.scopes import StoredScope
from tacit.text.stemming import porter_stem

TextIndex = Literal["words", "code"]

MAX_TERMS: dict[TextIndex, int] = {"words": 12, "code": 12}
MAX_POSTINGS: dict[TextIndex, int] = {"words": 300, "code": 120}
"""Most documents, summed over the words, that one query may visit; the rarest word is always asked for.

Reading one takes about half a microsecond (measured). A word that stands in more of the documents says little: its idf is
small beside that of the rarer ones.
"""

ASKED_TERMS = 64
ASKED_POSTINGS = 60_000
"""The same bounds where somebody waits for an answer: thirty milliseconds of reading."""

NARROW_SHARE = 0.3
"""Below this share of the index, the scope's own word is part of the text search, which then skips other scopes."""

_MOST_SKIPPED = 20
"""Words may stand in so many times more documents of other scopes, which are skipped at a fraction of the cost."""

_CACHED_STEMS = 8192
_OTHERWISE = ("bli", "logi")
_UNLIKE = frozenset({"eed", "ies"})
_SLACK = 200

_TOKENIZER: dict[TextIndex, str] = {"words": "porter unicode61", "code": "unicode61"}


def any_word(index: TextIndex, words: Iterable[str]) -> str:
    """The FTS5 expression for any of `words`, each between quotes."""
    return f"{index} : ({' OR '.join(_quoted(word) for word in words)})"


def within(scopes: Iterable[StoredScope], expression: str) -> str:
    """The FTS5 expression for `expression` inside `scopes`."""
    return f"scope : ({' OR '.join(_quoted(scope_token(scope.number)) for scope in scopes)}) AND {expression}"


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _whole(word: str) -> str:
    """The term that `unicode61` makes of a plain word; "" where it must be asked."""
    return word.lower() if word.isascii() and word.isalnum() else ""


def _stemmed(word: str) -> str:
    """The term that `porter` makes of a plain word; "" where it must be asked.

    It leaves numbers and words of two letters alone, and has `-bly`, `-logy` and doubled letters as Porter had them in 1980.
    """
    lowered = word.lower()
    if word.isascii() and (word.isdigit() or (len(word) <= 2 and word.isalnum())):
        return lowered
    if not word.isascii() or not word.isalpha() or "yy" in lowered or lowered in _UNLIKE:
        return ""
    term = porter_stem(lowered)
    return "" if term.endswith(_OTHERWISE) or term[-2:-1] == term[-1] else term


class Stemmer:
    """The stems that FTS5 makes of words. Safe to share between threads."""

    def __init__(self, index: TextIndex) -> None:
        self._plain = _whole if index == "code" else _stemmed
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._scratch = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._scratch.execute(
            f"CREATE VIRTUAL TABLE scratch USING fts5 (word, tokenize = '{_TOKENIZER[index]}')"
        )
        self._scratch.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (scratch, instance)")

    def stems(self, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The index terms of each word; a word that FTS5 sees nothing in has none."""
        unknown = list(words)
        with self._lock:
            fresh = [word for word in dict.fromkeys(unknown) if word not in self._known]
            if len(self._known) + len(fresh) > _CACHED_STEMS:
                self._known.clear()
                fresh = list(dict.fromkeys(unknown))
            not_plain: list[str] = []
            for word in fresh:
                term = self._plain(word)
                if term:
                    self._known[word] = (term,)
                else:
                    not_plain.append(word)
            if not_plain:
                self._learn(not_plain)
            return {word: self._known[word] for word in unknown}

    def _learn(self, words: list[str]) -> None:
        if all(word.isascii() and word.isalnum() for word in words):  # then every word is one term
            terms = self._terms_of([" ".join(words)])
            self._known.update({word: (term,) for word, (_, term) in zip(words, terms, strict=True)})
            return
        words_by_number: dict[int, list[str]] = {}
        for number, term in self._terms_of(words):
            words_by_number.setdefault(number, []).append(term)
        self._known.update(
            {word: tuple(words_by_number.get(number, ())) for number, word in enumerate(words)}
        )

    def _terms_of(self, texts: list[str]) -> list[tuple[int, str]]:
        """The terms of every text in order, each with the number of its text."""
        self._scratch.execute("BEGIN")
        self._scratch.executemany("INSERT INTO scratch (rowid, word) VALUES (?, ?)", enumerate(texts))
        rows = self._scratch.execute("SELECT doc, term FROM terms ORDER BY doc, offset").fetchall()
        self._scratch.execute("ROLLBACK")
        return rows

    def close(self) -> None:
        """Release the scratch index."""
        with self._lock:
            self._scratch.close()


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """Document frequencies as they were when the index held `documents` rows."""

    documents: int
    by_term: dict[str, int]


class QueryTerms:
    """Chooses the words of a query by how rare they are. Safe to share between threads."""

    def __init__(self, index: TextIndex) -> None:
        self.index: TextIndex = index
        self._stemmer = Stemmer(index)
        self._lock = threading.Lock()
        self._frequencies: _Frequencies | None = None

    def choose(
        self,
        connection: sqlite3.Connection,
        words: Iterable[str],
        *,
        documents: int,
        share: float,
        on_demand: bool = False,
    ) -> tuple[str, ...]:
        """The rarest of `words`, rarest first; then those that stand in one document or in none.

        Args:
            connection: a reader.
            words: what was asked, without repeats.
            documents: size of the index.
            share: part of the index (0-1) that the search may visit.
            on_demand: whether somebody waits for the answer.
        """
        most_terms = ASKED_TERMS if on_demand else MAX_TERMS[self.index]
        by_stem: dict[tuple[str, ...], str] = {}
        for word, stems in self._stemmer.stems(words).items():
            if stems:
                by_stem.setdefault(stems, word)
        frequencies = self._current(connection, documents).by_term
        # A word that is not in the table stands in one document or in none. To find out which costs more than to ask
        # the index for it, so such words are asked for beside the others.
        rare = [stems for stems in by_stem if not all(stem in frequencies for stem in stems)]
        common = [stems for stems in by_stem if all(stem in frequencies for stem in stems)]
        weighed = sorted((min(frequencies[stem] for stem in stems), stems) for stems in common)
        most = ASKED_POSTINGS if on_demand else MAX_POSTINGS[self.index]
        budget = most if share >= NARROW_SHARE else most * min(1 / max(share, 1e-9), _MOST_SKIPPED)
        chosen: list[str] = []
        postings = 0
        for frequency, stems in weighed:
            postings += frequency
            if len(chosen) >= most_terms or (postings > budget and chosen):
                break
            chosen.append(by_stem[stems])
        return (*chosen, *(by_stem[stems] for stems in rare[:most_terms]))

    def prepare(self, connection: sqlite3.Connection, documents: int) -> None:
        """Read how frequent words are, if that is not known well enough; a second for a million documents."""
        self._current(connection, documents)

    def _current(self, connection: sqlite3.Connection, documents: int) -> _Frequencies:
        """Frequencies, read again when the index has grown by a quarter; they only choose words, so older ones do."""
        frequencies = self._frequencies
        if (
            frequencies is not None
            and frequencies.documents * 3 // 4 <= documents <= frequencies.documents * 5 // 4 + _SLACK
        ):
            return frequencies
        with self._lock:
            rows = connection.execute(
                f"SELECT term, doc FROM text_{self.index}_terms WHERE doc > 1"
            ).fetchall()
            frequencies = _Frequencies(documents, dict(rows))
            self._frequencies = frequencies
        return frequencies

    def close(self) -> None:
        """Release the scratch index."""
        self._stemmer.close()
