"""Our stemmer beside the library's: the same stem for every word."""

from __future__ import annotations

import subprocess
import sys

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from tacit.providers.embedding.minilm import FOLDER
from tacit.reading.words.stems import stem

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
    assert stem(word) == expected


def test_words_of_a_real_vocabulary_have_the_librarys_stems():
    words = [word for word in (FOLDER / "vocab.txt").read_text("utf-8").split("\n") if word.isalpha()]
    assert len(words) > 20_000
    assert [word for word in words if stem(word) != LIBRARY.stemWord(word)] == []


@given(
    st.text(alphabet="abcdeilnostuxyz", max_size=8),
    st.lists(st.sampled_from(SUFFIXES), max_size=3).map("".join),
)
def test_made_up_words_have_the_librarys_stems(beginning: str, suffix: str):
    assert stem(beginning + suffix) == LIBRARY.stemWord(beginning + suffix)


@given(st.text(max_size=12).map(str.casefold))
def test_any_text_has_the_librarys_stem(word: str):
    assert stem(word) == LIBRARY.stemWord(word)


_ONE_STEMMER = """
import sys
from tacit.reading.words.stems import by_library
word = by_library("caf\\u00e9s")
loaded = sorted(name for name in sys.modules if name.startswith("snowballstemmer."))
import snowballstemmer
print(word, *loaded, snowballstemmer.stemmer("german").stemWord("laufen"))
"""


def test_no_other_language_is_loaded_and_the_library_still_imports() -> None:
    done = subprocess.run([sys.executable, "-c", _ONE_STEMMER], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "café", "snowballstemmer.among", "snowballstemmer.basestemmer", "snowballstemmer.porter_stemmer", "lauf",
    ]  # fmt: skip
