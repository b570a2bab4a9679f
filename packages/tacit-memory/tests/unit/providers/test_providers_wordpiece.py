"""Our WordPiece against ids that the library `tokenizers` made (`scripts/expect_wordpiece.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.providers.embedding.minilm import FOLDER
from tacit.providers.embedding.wordpiece import CHARS_PER_TOKEN, WordPiece, read_vocabulary

EXPECTED = json.loads(Path(__file__).with_name("wordpiece_expected.json").read_text("utf-8"))
CLS, SEP, UNK = 101, 102, 100


@pytest.fixture(scope="module")
def wordpiece() -> WordPiece:
    return WordPiece(read_vocabulary(FOLDER / "vocab.txt"))


def test_ids_are_those_of_the_library(wordpiece: WordPiece) -> None:
    assert len(EXPECTED) > 500
    different = [text for text, ids in EXPECTED if wordpiece.encode(text, max_tokens=256) != ids]
    assert different == []


def test_markers_inside_a_text_are_plain_text(wordpiece: WordPiece) -> None:
    ids = wordpiece.encode("[CLS] a [SEP] b [PAD] [MASK] [UNK]", max_tokens=64)
    assert ids[0] == CLS
    assert ids[-1] == SEP
    assert not {CLS, SEP, UNK, 0, 103} & set(ids[1:-1])


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800\udfff", "\u200b\ufeff\x07"])
def test_a_text_of_nothing_is_two_markers(wordpiece: WordPiece, text: str) -> None:
    assert wordpiece.encode(text, max_tokens=256) == [CLS, SEP]


def test_a_surrogate_vanishes(wordpiece: WordPiece) -> None:
    assert wordpiece.encode("a\ud800b", max_tokens=9) == wordpiece.encode("ab", max_tokens=9)


@pytest.mark.parametrize("limit", [2, 3, 5, 256])
def test_a_text_is_cut_at_the_limit(wordpiece: WordPiece, limit: int) -> None:
    ids = wordpiece.encode("incomprehensibilities " * 400, max_tokens=limit)
    assert len(ids) == limit
    assert ids == [*wordpiece.encode("incomprehensibilities " * 400, max_tokens=300)[: limit - 1], SEP]


def test_a_word_over_a_hundred_characters_is_unknown(wordpiece: WordPiece) -> None:
    assert wordpiece.encode("y" * 101, max_tokens=9) == [CLS, UNK, SEP]
    assert UNK not in wordpiece.encode("y" * 100, max_tokens=200)


def test_what_lies_behind_the_bound_is_not_read(wordpiece: WordPiece) -> None:
    read = 254 * CHARS_PER_TOKEN  # the two markers need no characters
    for blanks, words in ((read - 2, "a b"), (read - 1, "a")):
        ids = wordpiece.encode("a" + " " * blanks + "b" * 5_000_000, max_tokens=256)
        assert ids == wordpiece.encode(words, max_tokens=256)
