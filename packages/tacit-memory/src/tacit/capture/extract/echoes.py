"""Whether a passage repeats what the session was given. In: texts that were put into context. Out: yes or no. Pure.

An agent that reads "always run the linter" from us and says it again has taught us nothing, whoever nods at it afterwards. A user
who pastes it back, or quotes it, has not said it anew either; but who changes a word of it corrects it, and is heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.statements.same import canonical_text
from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import CODE_WORD

SHINGLE = 3
MAX_ECHO_SHARE = 0.5
"""From this share of its runs of three words on, an agent's passage is an echo."""
MAX_QUOTE_ECHO_SHARE = 0.6
"""The same for a passage of the user that quotes; one that does not is an echo only if it is the same statement."""
_QUOTE = lazy_regex(r"[\"“”«»]|^\s*>|\byou (?:wrote|said|told)\b", re.IGNORECASE | re.MULTILINE)

_LINE = lazy_regex(r"^[\s>*-]*(?:\[[^\]\n]*\]\s*)?(?P<said>.*?)(?:\s+\([^()\n]*\))?\s*$")
"""A line of a block without its bullet, the name of its kind, and where it comes from."""


class EchoDetector:
    """The text injected into a session, as runs of three words. False if there is none."""

    __slots__ = ("_runs", "_statements", "_texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        texts = tuple(texts)
        lines = (line for text in texts for line in (text, *text.splitlines()))
        self._statements = frozenset(_without_marks(_LINE.sub(r"\g<said>", line)) for line in lines)
        words = [_words(text) for text in texts]
        self._texts = tuple(f" {' '.join(text_words)} " for text_words in words if text_words)
        self._runs = frozenset(run for text_words in words for run in _runs_of(text_words))

    def __bool__(self) -> bool:
        return bool(self._texts)

    def of_agent(self, *passages: str) -> bool:
        """Whether any of the agent's `passages` is mostly made of what was given."""
        return bool(self) and any(self._share(_words(passage)) >= MAX_ECHO_SHARE for passage in passages)

    def of_user(self, passage: str) -> bool:
        """Whether the user's `passage` is what was given, as it stands there, or quotes it."""
        if not self:
            return False
        if _without_marks(passage) in self._statements:
            return True
        return bool(_QUOTE.search(passage)) and self._share(_words(passage)) >= MAX_QUOTE_ECHO_SHARE

    def _share(self, words: list[str]) -> float:
        """Share of the runs of three words that were given; of a shorter passage 1 or 0."""
        if not words:
            return 0.0
        runs = _runs_of(words)
        if not runs:
            return float(any(f" {' '.join(words)} " in text for text in self._texts))
        return sum(run in self._runs for run in runs) / len(runs)


def _without_marks(text: str) -> str:
    """The text by which statements are compared, without the marks of code and quotations."""
    return canonical_text(re.sub(r"[`\"“”«»]", "", text))


def _words(text: str) -> list[str]:
    return CODE_WORD.findall(text.casefold())


def _runs_of(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]
