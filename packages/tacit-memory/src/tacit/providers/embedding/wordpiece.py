"""BERT's uncased WordPiece tokenizer in plain Python.

In: a text and the vocabulary of a model. Out: token ids, the same as the `tokenizers` library makes, except that
`[CLS]`, `[SEP]` and their like inside a text are plain text here and can never act as a marker. Never raises on a text,
and never looks at more of it than `CHARS_PER_TOKEN` characters for each token that is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from tacit.text.lazy_regex import lazy_regex

CHARS_PER_TOKEN = 64
"""How many characters are read per wanted token, which bounds the work. English has about four per token, so only a text of mostly blanks or very long words could give more tokens."""

_LONGEST_WORD = 100  # of BERT's reference implementation: a longer word is [UNK]
_CACHED_WORDS = 8192

_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CLEAN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))  # control characters vanish
_CJK = lazy_regex(
    "(["
    "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
    "])"
)


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read `vocab.txt`, one token a line; the id is the line number from 0.

    Raises:
        OSError: if the file cannot be read.
    """
    return {token: index for index, token in enumerate(path.read_text("utf-8").split("\n")) if token}


class WordPiece:
    """The tokenizer of uncased BERT models: turns a text, in lower case and without accents, into token ids. Safe to share between threads."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        """Use a vocabulary, which must hold `[CLS]`, `[SEP]` and `[UNK]` (else KeyError)."""
        self._vocabulary = vocabulary
        self._first = vocabulary["[CLS]"]
        self._last = vocabulary["[SEP]"]
        self._unknown = vocabulary["[UNK]"]
        self._pieces = lru_cache(maxsize=_CACHED_WORDS)(self._split)

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return the token ids of `text` between `[CLS]` and `[SEP]`, at most `max_tokens` with these two."""
        room = max(0, max_tokens - 2)
        words = _words(text.lstrip()[: room * CHARS_PER_TOKEN])[:room]  # no word has less than one piece
        words = [word[: _LONGEST_WORD + 1] for word in words]  # what is remembered has an end
        return [self._first, *list(chain.from_iterable(map(self._pieces, words)))[:room], self._last]

    def _split(self, word: str) -> tuple[int, ...]:
        """Split a word into known pieces, each the longest from the left. If a part is unknown, the whole word becomes [UNK]."""
        number = self._vocabulary.get(word)
        if number is not None:
            return (number,)
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(pieces)


def _words(text: str) -> Sequence[str]:
    """Split a text into lower-case words and single punctuation marks, without accents and control characters."""
    if text.isascii():
        return _ASCII_WORD.findall(text.translate(_ASCII_CLEAN).lower())
    clean = "".join(_clean(character) for character in text)
    spaced = _CJK.sub(r" \1 ", clean)
    plain = "".join(c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    lowered = "".join(c.lower() for c in plain)
    return "".join(f" {c} " if _is_punctuation(c) else c for c in lowered).split()


def _clean(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character == "\ufffd":
        return ""
    category = unicodedata.category(character)
    if category in {"Zs", "Zl", "Zp"}:
        return " "
    return "" if category in {"Cc", "Cf", "Co", "Cs"} else character


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return not (character.isalnum() or character.isspace() or ord(character) < 32)
    return unicodedata.category(character)[0] == "P"
