"""The Porter stemmer beside the library's: the same stem for every word. The lighter stemmers by examples."""

from __future__ import annotations

import subprocess
import sys

import pytest
import snowballstemmer
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

LIBRARY = snowballstemmer.stemmer("porter")
SUFFIXES = (
    "s sses ies ed eed ing y ational tional enci anci izer abli alli entli eli ousli ization ation ator alism iveness fulness"
    " ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion"
    " tion ou ism ate iti ous ive ize e ll le"
).split()


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
    ],
)
def test_by_hand(word: str, expected: str):
    """Most are examples of Porter's paper."""
    assert porter_stem(word) == expected


def test_words_of_a_real_vocabulary_have_the_librarys_stems():
    words = [word for word in (FOLDER / "vocab.txt").read_text("utf-8").split("\n") if word.isalpha()]
    assert len(words) > 20_000
    assert [word for word in words if porter_stem(word) != LIBRARY.stemWord(word)] == []


@given(
    st.text(alphabet="abcdeilnostuxyz", max_size=8),
    st.lists(st.sampled_from(SUFFIXES), max_size=3).map("".join),
)
def test_made_up_words_have_the_librarys_stems(beginning: str, suffix: str):
    assert porter_stem(beginning + suffix) == LIBRARY.stemWord(beginning + suffix)


@given(st.text(max_size=12).map(str.casefold))
def test_any_text_has_the_librarys_stem(word: str):
    assert porter_stem(word) == LIBRARY.stemWord(word)


_ONE_STEMMER = """
import sys
from tacit.text.stemming import porter_stem_by_library
word = porter_stem_by_library("caf\\u00e9s")
loaded = sorted(name for name in sys.modules if name.startswith("snowballstemmer."))
import snowballstemmer
print(word, *loaded, snowballstemmer.stemmer("german").stemWord("laufen"))
"""


def test_no_other_language_is_loaded_and_the_library_still_imports() -> None:
    done = subprocess.run([sys.executable, "-c", _ONE_STEMMER], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "café", "snowballstemmer.among", "snowballstemmer.basestemmer", "snowballstemmer.porter_stemmer", "lauf",
    ]  # fmt: skip


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
