"""Pieces of a text near words, by hand; and that costly shapes find near their words what they find in the whole text."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.config.settings import PrivacySettings
from tacit.safety.redact import SHORT, Redactor, pieces_near
from tacit.safety.secret_shapes import ISSUER_SHAPES, SHAPES

FILL = "x" * SHORT
CUT = [shape for shape in (*ISSUER_SHAPES, *SHAPES) if shape.reach is not None]
PARTS = [
    "API_TOKEN", "password", "client_secret", "name", "value", "openai key", "datadog", "token is", "'password'",
    "admin", "pass", "login", "passphrase", ":", "=", "=>", ",", "/", '"', "'", "is", "for the build", " ", "", "\t",
    "kX9vQ2mPz7LrT4wB8nYc", "Tr0ub4dor&3x!", "9f8e7d6c5b4a39281706f5e4d3c2b1a0", "changeme", "some plain words", "pass:Zq81xkPw7",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reach", "near"),
    [
        (f"a\nKEY\nb\n{FILL}", (0, 0), ["KEY"]),
        (f"{FILL}\na\nkey\nb\nc", (1, 1), ["a\nkey\nb"]),
        (f"{FILL}\nz\n\n key\n \n\nb\nc", (1, 1), ["z\n\n key\n \n\nb"]),
        (f"key\na\nb\nc\nkey\n\n{FILL}\nd", (0, 1), ["key\na", f"key\n\n{FILL}"]),
        (f"key\na\nkey\nb\n{FILL}", (0, 1), ["key\na\nkey\nb"]),
        (f"a key, a key\n{FILL}", (0, 0), ["a key, a key"]),
        (f"{FILL}\nkey", (9, 9), [f"{FILL}\nkey"]),
        (f"a\n{FILL}", (3, 3), []),
    ],
)
def test_what_stands_near_a_word(text: str, reach: tuple[int, int], near: list[str]) -> None:
    pieces = pieces_near(text, ["key"], reach)
    assert "".join(piece for _, piece in pieces) == text
    assert [piece for held, piece in pieces if held] == near


def test_short_texts_and_letters_that_grow_stay_whole() -> None:
    assert pieces_near("a\nb", ["key"], (0, 0)) == [(True, "a\nb")]
    grows = f"{FILL}\nİ"
    assert pieces_near(grows, ["key"], (0, 0)) == [(True, grows)]


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(PARTS), max_size=6), st.sampled_from(["\n", "\n\n", "\n  \n"])),
        max_size=14,
    )
)
def test_near_its_words_a_shape_finds_what_it_finds_in_the_whole(lines: list[tuple[list[str], str]]) -> None:
    text = "".join(" ".join(parts) + end for parts, end in lines) + FILL
    redactor = Redactor(PrivacySettings())
    for shape in CUT:
        assert shape.reach is not None
        whole: Counter[str] = Counter()
        near: Counter[str] = Counter()
        expected = redactor._apply(shape, text, whole) if _holds(text, shape.held) else text
        got = "".join(
            redactor._apply(shape, piece, near) if held else piece
            for held, piece in pieces_near(text, shape.held, shape.reach)
        )
        assert (got, near) == (expected, whole), shape.pattern.pattern


def _holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text.lower() for word in words)
