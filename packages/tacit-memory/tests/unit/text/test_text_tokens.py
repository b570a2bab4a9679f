"""Where a text is split, by examples; and that no other module splits, stems or leaves out words by a copy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tacit
from tacit.text import stop_words, tokens

PACKAGE = Path(tacit.__file__).parent
SHAPES = {
    "CODE_SPAN": "a | and |, 日 본",
    "SHORT_SPAN": "a | and |, 日 본",
    "NAMED_SPAN": "a `b|makeIt`, 日 본",
    "HUMP": "a `b` and `make|It`, 日 본",
    "UNSPACED": "a `b` and `makeIt`, | |",
}
TEXT = "don't run foo_bar2 in src/a.py (Größe: #12, C++)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("WORD", "don t run foo bar2 in src a py größe 12 c"),
        ("CODE_WORD", "don t run foo_bar2 in src a py größe 12 c"),
        ("LATIN_WORD", "don t run foo bar in src a py gr e c"),
        ("ALPHANUMERIC", "don t run foo bar2 in src a py gr e 12 c"),
        ("TEXT_WORD", "don't run foo bar in src a py größe c"),
        ("ENGLISH_WORD", "don't run foo bar in src a py gr e c"),
        ("PHRASE_TOKEN", "don't run foo bar 2 in src a . py ( gr e : 12 , c )"),
        ("READER_TOKEN", "don't run foo bar 2 in src a py gr e #12 c"),
        ("OBJECT_WORD", "don t run foo_bar2 in src a.py gr e #12 c++"),
        ("OBJECT_PART", "don run foo bar2 in src py gr #12"),
        ("PATH_WORD", "don t run foo_bar2 in src/a.py größe 12 c"),
        ("SOURCE_NAME", "don t run foo_bar2 in src a py gr e c"),
        ("ERROR_WORD", "don t run foo_bar in src a py gr e c"),
        ("SIGNATURE_WORD", "don run foo_bar2 in src py gr"),
    ],
)
def test_where_each_pattern_splits(name: str, expected: str) -> None:
    found = getattr(tokens, name).findall(TEXT.lower())
    assert " ".join(found) == expected


def test_every_pattern_has_an_example() -> None:
    patterns = {
        name for name in vars(tokens) if name.isupper() and not name.startswith("_") and name != "QUERY_CHARS"
    }
    patterns.discard("FUNCTION_WORDS")
    marks = test_where_each_pattern_splits.pytestmark  # pyright: ignore[reportFunctionMemberAccess]
    assert patterns == {name for name, _ in marks[0].args[1]} | set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_what_each_shape_finds_in_a_text(name: str) -> None:
    assert SHAPES[name] == getattr(tokens, name).sub("|", "a `b` and `makeIt`, 日 본")


def test_a_name_in_code_meets_its_other_spelling() -> None:
    assert set(tokens.code_words("getUserName")) & set(tokens.code_words("get_user_name")) == {
        "get", "user", "name", "getusername",
    }  # fmt: skip
    assert tokens.code_words("Run the tests") == ()
    assert tokens.code_query_words("Where is the getUserName test?") == (
        "get", "user", "name", "getusername", "test",
    )  # fmt: skip


def test_no_two_lists_of_stop_words_are_equal() -> None:
    lists = [value for value in vars(stop_words).values() if isinstance(value, frozenset)]
    assert len(lists) == len(set(lists)) > 5
    assert all(word == word.lower() for words in lists for word in words)


def test_words_are_split_and_stemmed_in_one_place() -> None:
    patterns = {
        getattr(tokens, name).pattern
        for name in vars(tokens)
        if name.isupper() and hasattr(getattr(tokens, name), "pattern")
    }
    allowed = {PACKAGE / "text" / "tokens.py", PACKAGE / "text" / "lazy_regex.py"}
    copies: list[str] = []
    for path in sorted(set(PACKAGE.rglob("*.py")) - allowed):
        source = path.read_text("utf-8")
        copies += [
            f"{path.name}: {pattern}"
            for pattern in patterns
            if f'r"{pattern}")' in source or f'findall(r"{pattern}"' in source
        ]
        if path.parent.name != "text" and re.search(r"def _?\w*stem\(word|import Stemmer", source):
            copies.append(f"{path.name}: a stemmer")
    assert copies == []
