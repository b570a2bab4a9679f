"""Terminal codes and hidden characters go; emoji and text from right to left stay."""

from __future__ import annotations

import pytest

from tacit.text.terminal_codes import strip_terminal_codes


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("We deploy with \x1b[32mmake x\x1b[0m now", "We deploy with make x now"),
        ("\x1b[1;38;5;196mRed\x1b[m", "Red"),
        ("\x9b31mRed\x9b0m", "Red"),
        ("\x1b[?25l\x1b[2K\x1b[1Gdone", "done"),
        ("a\x1b]0;owned\x07b", "ab"),
        ("a\x1b]0;owned\x1b\\b", "ab"),
        ("a\x9d2;owned\x9cb", "ab"),
        ("see \x1b]8;;https://evil.example\x1b\\the docs\x1b]8;;\x1b\\ first", "see the docs first"),
        ("a\x1b]0;never ended", "anever ended"),
        ("a\x1bPq#0;2;0\x1b\\b", "ab"),
        ("a\x1b(Bb\x1b7c\x1b=d", "abcd"),
        ("ring\x07 it", "ring it"),
        ("pasx\x08sword", "password"),
        ("_\x08b_\x08o_\x08l_\x08d", "bold"),
        ("abc\x08\x08\x08xyz", "xyz"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("a\u2066b\u2069c", "abc"),
        ("hi\U000e0068\U000e0069\U000e007f there", "hi there"),
        ("x\ufe0f\ufe01\ufe02\U000e0101y", "x\ufe0fy"),
        ("end\x1b", "end"),
        ("end\x1b[", "end"),
        ("nul\x00s", "nuls"),
    ],
)
def test_a_sequence_goes_as_a_whole(text, seen):
    assert strip_terminal_codes(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "plain [32m in brackets, and \\x1b[0m written out",
        "tab\tand\nline\r\nend",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467 and heart \u2764\ufe0f",
        "England \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f won",
        "skin \U0001f44d\U0001f3fd, flag \U0001f1e9\U0001f1ea",
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u200f!",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u8fbb\U000e0100\u3055\u3093",
    ],
)
def test_what_a_reader_sees_stays(text):
    assert strip_terminal_codes(text) == text
