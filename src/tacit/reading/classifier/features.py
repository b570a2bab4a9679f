"""Features of the fitted readers besides vectors: words, word pairs and cues of a prompt, and the results of the rules.

In: a prompt, the end of the agent's last message, recent files. Out: names of binary features and a row of numbers.
Used alike when fitting and when reading. Pure; never reads more than the head and the tail of a long text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.reading.errors import looks_like_error
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.terms import find_paths, prose_of
from tacit.text.stemming import light_stem
from tacit.text.tokens import READER_TOKEN

Row = NDArray[np.float32]

HEAD_CHARS = 1_200
TAIL_CHARS = 600
WORDS = 200
END_CHARS = 300
END_WORDS = 60
VECTOR_CHARS = 480
"""So much of a prompt is embedded: what recall itself embeds."""
FILES = 8

_TESTS = ("test", "spec")
_DOCS = (".md", ".mdx", ".rst", ".txt")
_SETTINGS = (".json", ".yml", ".yaml", ".toml")
_SCREENS = (".css", ".html", ".tsx", ".vue", ".jsx", ".scss")
CUES = 24
"""How many numbers `cues` gives."""


def shortened(text: str) -> str:
    """The head and the tail of a long prompt: what is asked stands at one of the two."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]} {text[-TAIL_CHARS:]}"


def stems_of(text: str, limit: int = WORDS) -> list[str]:
    """Stems of the first `limit` words of the prose of `text`; code and paths are the mark `§`."""
    return list(map(light_stem, READER_TOKEN.findall(prose_of(text).lower())[:limit]))


def prompt_words(text: str) -> set[str]:
    """Words `w:`, pairs `b:` and the first two words `f0:`, `f1:` of a prompt."""
    stems = stems_of(shortened(text))
    words = {f"w:{word}" for word in stems}
    words.update(f"b:{a} {b}" for a, b in pairwise(stems))
    words.update(f"f{i}:{word}" for i, word in enumerate(stems[:2]))
    return words


@lru_cache(maxsize=256)
def end_words(previous_end: str) -> frozenset[str]:
    """Words `p:` of the end of the agent's last message."""
    return frozenset(f"p:{word}" for word in stems_of(previous_end[-END_CHARS:], 80)[-END_WORDS:])


def cues(text: str, *, previous_end: str, files: Sequence[str]) -> Row:
    """`CUES` numbers between 0 and about 1: length, question, error, reply, what kind the recent files are."""
    words = len(text.split())
    reply = read_reply(text)
    end = previous_end.rstrip()
    recent = [path.lower() for path in files[:FILES]]
    kinds = [0.0] * 5
    for kind in map(_file_kind, recent):
        kinds[kind] += 1.0 / len(recent)
    flags = (
        True,
        words <= 3,
        words <= 8,
        words <= 20,
        words > 60,
        words > 200,
        "?" in text,
        text.rstrip().endswith("?"),
        looks_like_error(text[:3000]),
        "```" in text,
        bool(find_paths(text.strip() if len(text) <= 2000 else text[:2000])),
        reply.accepts,
        reply.refuses,
        reply.small_talk,
        bool(reply.picks),
        not end,
        end.endswith("?"),
        not recent,
    )
    return np.array([*flags, *kinds, np.log1p(words) / 5], dtype=np.float32)


def shortness(text: str) -> float:
    """1 for an empty prompt, 0 from 40 words on: how much the agent's last message must explain it."""
    return max(0.0, 1.0 - len(text.split()) / 40)


@lru_cache(maxsize=256)
def _file_kind(path: str) -> int:
    if any(map(path.__contains__, _TESTS)):
        return 0
    if path.endswith(_DOCS):
        return 1
    if path.endswith(_SETTINGS):
        return 2
    return 3 if path.endswith(_SCREENS) else 4
