"""Whether a passage repeats what the session was given. In: texts that were put into context. Out: yes or no. Pure.

An agent that reads "always run the linter" from us and says it again has taught us nothing, whoever nods at it afterwards. A user
who pastes it back, or quotes it, has not said it anew either; but who changes a word of it corrects it, and is heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import CODE_WORD

SHINGLE = 3
MAX_ECHO_SHARE = 0.5
"""From this share of its runs of three words on, an agent's passage is an echo."""
MAX_QUOTE_ECHO_SHARE = 0.6
"""The same for a passage of the user that quotes; one that does not is an echo only word by word."""
_QUOTE = lazy_regex(r"[\"“”«»]|^\s*>|\byou (?:wrote|said|told)\b", re.IGNORECASE | re.MULTILINE)


class EchoDetector:
    """The text injected into a session, as runs of three words. False if there is none."""

    __slots__ = ("_runs", "_texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        words = [_words(text) for text in texts]
        self._texts = tuple(f" {' '.join(text_words)} " for text_words in words if text_words)
        self._runs = frozenset(run for text_words in words for run in _runs_of(text_words))

    def __bool__(self) -> bool:
        return bool(self._texts)

    def of_agent(self, *passages: str) -> bool:
        """Whether any of the agent's `passages` is mostly made of what was given."""
        return bool(self) and any(self._share(_words(passage)) >= MAX_ECHO_SHARE for passage in passages)

    def of_user(self, passage: str) -> bool:
        """Whether the user's `passage` is what was given, word by word, or quotes it."""
        share = self._share(_words(passage)) if self else 0.0
        return share == 1.0 or (share >= MAX_QUOTE_ECHO_SHARE and bool(_QUOTE.search(passage)))

    def _share(self, words: list[str]) -> float:
        """Share of the runs of three words that were given; of a shorter passage 1 or 0."""
        if not words:
            return 0.0
        runs = _runs_of(words)
        if not runs:
            return float(any(f" {' '.join(words)} " in text for text in self._texts))
        return sum(run in self._runs for run in runs) / len(runs)


def _words(text: str) -> list[str]:
    return CODE_WORD.findall(text.casefold())


def _runs_of(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]
