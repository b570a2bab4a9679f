"""Cutting what was said into passages that may be worth keeping. In: turns. Out: passages. Pure, deterministic.

A passage is a run of whole sentences of one message, 8 to 50 words. A short message of the user is taken as a whole too:
measured, its own words beside each other say best what it means.
Code, quotes, logs, tables and whatever the user pasted rather than said is never part of a passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate

from tacit.capture.prose import pasted_document, spoken_sentences
from tacit.capture.turn import Role, Turn
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MIN_WORDS, MAX_WORDS = 8, 50
UNCUT_WORDS = 22
"""A user's message of so few words is taken whole or not at all."""
MOST_SENTENCES: dict[Role, int] = {"user": 4, "assistant": 2}
CONTEXT_CHARS = 400
MOST_CUT = 24
"""Sentences of an agent's message that are looked at: the last ones, where its long work comes to its end."""
TAIL_CHARS = 4_000
"""So much of an agent's message is cut into sentences at all."""
MOST_SPOKEN = 80
"""A user's message of more sentences was pasted."""
_MARKER = lazy_regex(r"^\s*(?:[-*+\u2022>]|\d{1,2}[.)])\s+")
_BOLD = lazy_regex(r"\*\*|__(?=\S)|(?<=\S)__")
_NO_PROSE = lazy_regex(r"^\s*(?:```|~~~|\||#{1,6}\s|<\w)")
_PRESENTS = lazy_regex(
    r"\b(?:what (?:do|would) (?:you|we) think|(?:any |your )?thoughts|how about|what about|(?:this|next|another|last) (?:one|finding|comment|issue)"
    r"|consider|feedback|review|comments?|observation|finding|it says|they say|implement the following)\b[^.!]{0,60}[?:]\W*$",
    re.IGNORECASE,
)
PRESENTED_WORDS = 15
_PRINTED = lazy_regex(
    r"\blevel=\w+|^\W*\[[\w./ -]+\]\s*\[|^\W*\[\d\d?/\d\d?/\d\d|^\W*[\u2713\u2714\u2717\u2718\u26a0]|^\W*time=|\[Image #\d+\]\W*$|(?:^|\s)(?:npm (?:ERR|WARN)|zsh:|sh:|bash:)\s"
)
"""What a program printed."""
_ENDED = (".", "!", "?", ":", ";", "\u2026")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of one side with its surroundings.

    Attributes:
        turn: the message.
        sentences: its sentences, without marks of lists and bold type.
        raw: the same as they stand in the message.
        before: end of what the other side said before.
        after: head of what the other side said next; "" = nothing yet.
    """

    turn: Turn
    sentences: tuple[str, ...]
    raw: tuple[str, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Sentences `first` to `last` (excluded) of a message."""

    message: Message
    first: int
    last: int

    @property
    def whole(self) -> bool:
        """Whether it is all that the message says."""
        return self.first == 0 and self.last == len(self.message.sentences)

    @property
    def text(self) -> str:
        """Its words as one line; every sentence but the last ends with a mark."""
        *earlier, last = self.message.sentences[self.first : self.last]
        ended = (sentence if sentence.endswith(_ENDED) else f"{sentence}." for sentence in earlier)
        return " ".join((*ended, last))

    @property
    def span(self) -> str:
        """Its words verbatim, from the first to the last; only its longest sentence where something else stands between."""
        raw = self.message.raw[self.first : self.last]
        text = self.message.turn.text
        start, end = _place(text, raw[0]), _place(text, raw[-1])
        if start and end and end[1] - start[0] <= 1.3 * sum(map(len, raw)) + 20:
            return text[start[0] : end[1]]
        longest = max(raw, key=lambda text: (len(text), text))
        place = _place(text, longest)
        return text[place[0] : place[1]] if place else longest


def messages_of(turns: Sequence[Turn], *, before: str = "") -> Iterator[Message]:
    """The messages of `turns` with what stands around them; `before` = end of what the agent said before the first."""
    ends: dict[Role, str] = {"assistant": before, "user": ""}
    for turn, after in zip(turns, _replies(turns), strict=True):
        other_role: Role = "assistant" if turn.role == "user" else "user"
        sentences = [(plain, sentence) for sentence in _said(turn) if (plain := _plain(sentence))]
        yield Message(
            turn=turn,
            sentences=tuple(plain for plain, _ in sentences),
            raw=tuple(sentence for _, sentence in sentences),
            before=ends[other_role][-CONTEXT_CHARS:],
            after=after[:CONTEXT_CHARS],
        )
        ends[turn.role] = turn.text


def _replies(turns: Sequence[Turn]) -> list[str]:
    """Return what the other side said next, for each of `turns`; "" = nothing yet."""
    heads: dict[Role, str] = {"assistant": "", "user": ""}
    replies: list[str] = []
    for turn in reversed(turns):
        replies.append(heads["assistant" if turn.role == "user" else "user"])
        heads[turn.role] = turn.text
    return replies[::-1]


def _plain(sentence: str) -> str:
    """A sentence without marks of lists and bold type."""
    marker = _MARKER.match(sentence)
    bare = sentence[marker.end() :] if marker else sentence
    return (_BOLD.sub("", bare) if "**" in bare or "__" in bare else bare).strip()


def passages_of(message: Message, *, near: AbstractSet[int] | None = None) -> Iterator[Passage]:
    """The passages of a message: all of it where it is the user's and at most 50 words, and from 23 words on its short runs.

    With `near` only those that hold one of these sentences.
    """
    role = message.turn.role
    sizes = [len(sentence.split()) for sentence in message.sentences]
    total = sum(sizes)
    whole = role == "user" and MIN_WORDS <= total <= MAX_WORDS
    if whole:
        yield Passage(message=message, first=0, last=len(sizes))
    if role == "user" and total <= UNCUT_WORDS:
        return
    for first in range(len(sizes)):
        for length, words in enumerate(accumulate(sizes[first : first + MOST_SENTENCES[role]]), start=1):
            if not MIN_WORDS <= words <= MAX_WORDS or (whole and length == len(sizes)):
                continue
            if near is None or not near.isdisjoint(range(first, first + length)):
                yield Passage(message=message, first=first, last=first + length)


def _said(turn: Turn) -> list[str]:
    if turn.role == "user":
        if pasted_document(turn.text):
            return []
        spoken = spoken_sentences(_own_words(turn.text))
        if len(spoken) > MOST_SPOKEN:
            return []
        return [
            sentence.text
            for sentence in spoken
            if sentence.own and not sentence.doubted and not _PRINTED.search(sentence.text)
        ]
    return [sentence for sentence in split_sentences(_tail(turn.text)) if not _NO_PROSE.match(sentence)][
        -MOST_CUT:
    ]


def _tail(text: str) -> str:
    """The last lines; one that stands in a block of code keeps its fence."""
    if len(text) <= TAIL_CHARS:
        return text
    cut = text.find("\n", len(text) - TAIL_CHARS) + 1 or len(text) - TAIL_CHARS
    return ("```\n" if text.count("```", 0, cut) % 2 else "") + text[cut:]


def _own_words(text: str) -> str:
    """The part before what the user only puts up for discussion: "What do you think of this one?" and a pasted comment."""
    lead, _, presented = text.strip().partition("\n")
    return lead if _PRESENTS.search(lead) and len(presented.split()) >= PRESENTED_WORDS else text


def _place(text: str, sentence: str) -> tuple[int, int] | None:
    """Return the span of a sentence in `text`; line breaks within it do not matter."""
    at = text.find(sentence)
    if at >= 0:
        return at, at + len(sentence)
    match = re.search(r"\s+".join(map(re.escape, sentence.split())), text)
    return match.span() if match else None
