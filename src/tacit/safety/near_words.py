"""Cut a text where one of some words stands on a line. In: a text and words. Out: its pieces, near such a line or not. Pure.

A costly pattern every match of which holds one of the words need only be tried near them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SHORT = 256
"""A text of so few characters is not worth cutting."""


def pieces_near(text: str, words: Sequence[str], reach: tuple[int, int]) -> list[tuple[bool, str]]:
    """`text` in pieces, in order, each with whether a line of it is near one of `words` (lower-case, found in any case).

    Args:
        text: any text; lines end with a newline.
        words: without newlines.
        reach: how many lines that are not blank belong to a line with a word, before and after it; blank ones between come along.
    """
    lower = text.lower()
    if len(text) < SHORT or len(lower) != len(text):  # some letters are two in lower case
        return [(True, text)]
    pieces: list[tuple[bool, str]] = []
    done = 0
    for start, end in _joined(_spans(lower, words, reach)):
        pieces += [(False, text[done:start]), (True, text[start:end])]
        done = end
    return [*pieces, (False, text[done:])]


def _spans(lower: str, words: Sequence[str], reach: tuple[int, int]) -> list[tuple[int, int]]:
    before, after = reach
    spans: list[tuple[int, int]] = []
    for word in words:
        at = lower.find(word)
        while at >= 0:
            start, end = lower.rfind("\n", 0, at) + 1, _line_end(lower, at)
            next_line = end
            for _ in range(before):
                start = _lines_before(lower, start)
            for _ in range(after):
                end = _lines_after(lower, end)
            spans.append((start, end))
            at = lower.find(word, next_line)
    return spans


def _line_end(text: str, at: int) -> int:
    """Return the end of the line around `at`: its newline, or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _lines_before(text: str, start: int) -> int:
    """Return the start of the last line before `start` that is not blank; `start` begins a line."""
    while start > 0:
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        if not text[start:end].isspace() and start < end:
            break
    return start


def _lines_after(text: str, end: int) -> int:
    """Return the end of the first line behind `end` that is not blank; `end` ends a line."""
    while end < len(text):
        start, end = end + 1, _line_end(text, end + 1)
        if not text[start:end].isspace() and start < end:
            break
    return end


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that meet as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
