"""The Porter stemmer and the lighter ones, by examples."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.providers.embedding.minilm import FOLDER
from tacit.text.stemming import (
    content_words,
    light_stem,
    porter_stem,
    statement_stem,
    stems,
    wording_stem,
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("failing", "fail"),
        ("sky", "sky"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("adoption", "adopt"),
        ("replacement", "replac"),
        ("controlling", "control"),
        ("nashville", "nashvil"),
        ("größe", "größe"),
        ("42", "42"),
        ("a\ud800", "a\ud800"),
    ],
)
def test_by_hand(word: str, expected: str):
    """Most are examples of Porter's paper."""
    assert porter_stem(word) == expected


def test_words_of_a_real_vocabulary_are_stemmed_alike_in_several_threads():
    words = [word for word in (FOLDER / "vocab.txt").read_text("utf-8").split("\n") if word.isalpha()]
    alone = [porter_stem(word) for word in words]
    with ThreadPoolExecutor(4) as threads:
        assert all(
            each == alone for each in threads.map(lambda _: [porter_stem(word) for word in words], range(4))
        )


@given(st.text(max_size=12).map(str.casefold))
def test_any_text_has_a_stem(word: str):
    assert isinstance(porter_stem(word), str)


@pytest.mark.parametrize(
    ("word", "light", "statement", "wording"),
    [
        ("names", "name", "nam", "nam"),
        ("name", "name", "name", "nam"),
        ("running", "run", "runn", "run"),
        ("used", "used", "used", "used"),
        ("renamed", "renam", "renam", "renamed"),
        ("policies", "policy", "polici", "policy"),
        ("classes", "class", "class", "class"),
        ("class", "class", "class", "class"),
        ("written", "writ", "written", "written"),
        ("a.py", "a.py", "a.py", "a.py"),
    ],
)
def test_the_lighter_stemmers_by_hand(word: str, light: str, statement: str, wording: str):
    assert (light_stem(word), statement_stem(word), wording_stem(word)) == (
        light, statement, wording,
    )  # fmt: skip


@given(st.text(alphabet="abcdeginstxyz", max_size=12))
def test_stems_of_statements_are_beginnings_of_their_words(word: str):
    assert word.startswith(statement_stem(word))


def test_content_words_leave_out_function_words_and_ends_of_contractions():
    assert content_words("It's what we'll run: the linters, then the linter") == ("run", "linters")
    assert stems("It's what we'll run: the linters") == {"run", "linter"}
