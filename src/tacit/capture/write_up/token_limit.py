"""Cuts what waits of a session to what one request may cost. In: messages, a limit in tokens. Out: numbered texts. Pure.

A session that fits is sent whole. Else every message is ranked: the user's words come first, then what the agent said last before
they answered, then messages with candidates, then the telling sentences of the agent's others; whole messages as far as they fit.
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
GIST_CHARS = 420
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TELLING = re.compile(
    r"\b(?:because|caused?|causes|root|reason|so that|since|why|due to|instead|rather than|never|always|must|should|only|not|no longer"
    r"|fix(?:ed|es)?|bug|issue|problem|wrong|missing|fails?|failed|error|breaks?|broken|need(?:s|ed)? to|requires?|uses?|convention|pattern"
    r"|design(?:ed)?|decid(?:ed|e)|by default|unless|before|after|when|where|lives?|defined|responsible|handles?|found|turns out|actually"
    r"|important|note|key|stored?|expects?|supports?|matches|means)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"`[^`\n]+`|\w+[/_.]\w+|[a-z][A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A message as it is sent: its number counts all messages that wait, from 1; `text` may be shortened."""

    number: int
    message: Message
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """A way to send a message: lower ranks first, then higher values, then newer messages."""

    rank: int
    value: float
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
        for variant in sorted(
            _variants(messages), key=lambda variant: (variant.rank, -variant.value, -variant.place)
        ):
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

        def add(rank: int, text: str, value: float = 0.0, *, place: int = place) -> None:
            variants.append(_Variant(rank=rank, value=value, place=place, text=text))

        if message.role == "user":
            add(0, shortened(whole, head=900, tail=500), message.chance)
            add(3, whole, message.chance)
        elif message.role == "tool":
            add(6, whole)
        else:
            telling = _telling(whole)
            following = next((later.role for later in messages[place + 1 :] if later.role != "tool"), "user")
            if following == "user":
                add(1, _without_code(whole))
            if message.chance:
                add(2, _without_code(whole), message.chance)
            add(4, gist(whole), telling)
            add(5, _without_code(whole), telling)
            add(7, whole, telling)
    return variants


def gist(text: str) -> str:
    """The telling sentences of a message, in order."""
    bare = _without_code(text)
    if len(bare) <= GIST_CHARS:
        return bare
    sentences = [
        sentence for line in bare.split("\n") for sentence in split_sentences(line) if len(sentence) > 15
    ]
    ranked = sorted(range(len(sentences)), key=lambda at: (-_telling(sentences[at]), at))
    chosen: list[int] = []
    chars = 0
    for at in ranked:
        if chars + len(sentences[at]) <= GIST_CHARS:
            chosen.append(at)
            chars += len(sentences[at])
    return "\n".join(sentences[at] for at in sorted(chosen))


def _without_code(text: str) -> str:
    """The text with no more than the opening line of a block of code."""
    return _FENCE.sub(lambda match: match[0].strip().split("\n", 1)[0] + " [...]", text)


def _telling(text: str) -> float:
    """Weigh the words of a text that say how things are, for its length."""
    hits = len(_TELLING.findall(text)) + 0.5 * len(_NAMES.findall(text))
    return hits / (60 + len(text))
