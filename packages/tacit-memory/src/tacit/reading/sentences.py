"""Cut text at sentence ends, never inside a word, a code fence, a file name or an abbreviation.

In: prose or Markdown. Out: its sentences in order, or the longest run of whole ones that fits. Never rewrites.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_ABBREVIATIONS_TEXT = """
e.g i.e etc vs cf al approx resp dr mr mrs ms prof st no nos fig eq sec ch vol pp p ed eds inc ltd co
corp dept est min max avg ver v jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat
sun a.k.a aka w.r.t wrt ca bzw evtl z.b u.a d.h
"""
_ABBREVIATIONS = frozenset(_ABBREVIATIONS_TEXT.split())
_FENCE = re.compile(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_NEXT = re.compile(r"\S")
_LIST = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-zA-Z][.)])[ \t]+\S|^[ \t]*(?:#{1,6} |>|\|)")
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]*_`]*(?=\s|$)|[。！？](?:[\"'”’」』）]*)")


def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `text` in order, stripped. A code fence, heading or list item stands alone."""
    sentences: list[str] = []
    position = 0
    for fence in _FENCE.finditer(text):
        _split_prose(text[position : fence.start()], sentences)
        sentences.append(fence[0].strip())
        position = fence.end()
    _split_prose(text[position:], sentences)
    return tuple(sentence for sentence in sentences if sentence)


def shorten_at_sentence(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest run of whole sentences from the start of `text` that fits; "" = not even one.

    Args:
        text: what is to be shortened.
        fits: says whether a text is small enough; must hold for every prefix of a text it holds for.
    """
    text = text.strip()
    if text and fits(text):
        return text
    ends = _sentence_ends(text)
    low, high = 0, len(ends)  # the first `low` sentences fit, the first `high + 1` do not
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[: ends[middle - 1]]):
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] if low else ""


def shorten_at_word(text: str, most_chars: int) -> str:
    """Return `text` on one line, cut after a whole word and marked with `...` if it has more than `most_chars` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most_chars else flat[: most_chars - 3].rsplit(" ", 1)[0] + "..."


@lru_cache(maxsize=4096)
def _sentence_ends(text: str) -> tuple[int, ...]:
    ends: list[int] = []
    position = 0
    for sentence in split_sentences(text):
        words = sentence.split()
        for word in words:  # a sentence may span line breaks that joining folded into one space
            position = text.index(word, position) + len(word)
        ends.append(position)
    return tuple(ends)


def _split_prose(text: str, sentences: list[str]) -> None:
    paragraph: list[str] = []
    for line in text.split("\n"):
        if not line.strip():
            _split_paragraph(paragraph, sentences)
        elif _LIST.match(line):
            _split_paragraph(paragraph, sentences)
            paragraph.append(line)
            if line.lstrip().startswith(("#", "|")):
                _split_paragraph(paragraph, sentences)
        else:
            paragraph.append(line)
    _split_paragraph(paragraph, sentences)


def _split_paragraph(lines: list[str], sentences: list[str]) -> None:
    if not lines:
        sentences.append("")
        return
    text = " ".join([line.strip() for line in lines]).strip()
    lines.clear()
    start = 0
    for end in _END.finditer(text):
        if _is_sentence_end(text, start, end):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    sentences.append(text[start:].strip())


def _is_sentence_end(text: str, start: int, end: re.Match[str]) -> bool:
    if end[0][0] in "。！？":
        return True
    if text.count("`", start, end.start()) % 2 and "`" in text[end.start() : end.end() + 80]:
        return False  # inside a code span
    following = _NEXT.search(text, end.end())
    if following is None:
        return True
    if end[0][0] == ".":
        before = text[start : end.start()]
        # A word that ends before the mark: none where white space does.
        last = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
        word = last.lstrip("(\"'*_[").lower()
        if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
            return False
        if word.isdigit() and not text[start : end.start() - len(word)].strip():
            return False  # the number of a list item
    return not (following[0].islower() and end[0][0] in ".…")
