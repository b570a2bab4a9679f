"""Cuts what waits of a session to what one request may cost. In: messages, a limit in tokens. Out: numbered texts. Pure.

A session that fits is sent whole. Else every message is ranked: the user's words come first, then what the agent said last before
they answered, then the beginnings of the agent's others, the newest first; whole messages as far as they fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.capture.write_up.messages import shortened
from tacit.reading.sentences import split_sentences
from tacit.state.captured import Message

EXTRA_TOKENS = 14
"""What number, role and punctuation of one message cost."""
GIST_CHARS = 700
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A message as it is sent: its number counts all messages that wait, from 1; `text` may be shortened."""

    number: int
    message: Message
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """A way to send a message: lower ranks first, then newer messages."""

    rank: int
    place: int
    text: str


def fit_messages(
    messages: Sequence[Message], *, most_tokens: int, count: Callable[[str], int]
) -> tuple[Numbered, ...]:
    """The messages, or parts of them, that fit into `most_tokens`, in order."""
    chosen: dict[int, tuple[str, int]] = {}
    costs = [count(message.text) + EXTRA_TOKENS for message in messages]
    if sum(costs) <= most_tokens:
        chosen = {place: (message.text, 0) for place, message in enumerate(messages)}
    else:
        tokens_left = most_tokens
        for variant in sorted(_variants(messages), key=lambda variant: (variant.rank, -variant.place)):
            whole = variant.text == messages[variant.place].text
            cost = costs[variant.place] if whole else count(variant.text) + EXTRA_TOKENS
            more = cost - chosen.get(variant.place, ("", 0))[1]
            if 0 < more <= tokens_left:
                chosen[variant.place] = (variant.text, cost)
                tokens_left -= more
    return tuple(
        Numbered(number=place + 1, message=messages[place], text=text)
        for place, (text, _) in sorted(chosen.items())
    )


def _variants(messages: Sequence[Message]) -> list[_Variant]:
    variants: list[_Variant] = []
    for place, message in enumerate(messages):
        whole = message.text

        def add(rank: int, text: str, *, place: int = place) -> None:
            variants.append(_Variant(rank=rank, place=place, text=text))

        if message.role == "user":
            add(0, shortened(whole, head=900, tail=500))
            add(3, whole)
        elif message.role == "tool":
            add(6, whole)
        else:
            following = next((later.role for later in messages[place + 1 :] if later.role != "tool"), "user")
            if following == "user":
                add(1, _without_code(whole))
            add(4, gist(whole))
            add(5, _without_code(whole))
            add(7, whole)
    return variants


def gist(text: str) -> str:
    """The first sentences of a message, as many as fit into `GIST_CHARS`."""
    bare = _without_code(text)
    if len(bare) <= GIST_CHARS:
        return bare
    chosen: list[str] = []
    for line in bare.split("\n"):
        for sentence in split_sentences(line):
            if len(sentence) > 15 and sum(map(len, chosen)) + len(sentence) <= GIST_CHARS:
                chosen.append(sentence)
    return "\n".join(chosen)


def _without_code(text: str) -> str:
    """The text with no more than the opening line of a block of code."""
    return _FENCE.sub(lambda match: match[0].strip().split("\n", 1)[0] + " [...]", text)
