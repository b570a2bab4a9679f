"""Cuts what waits of a session to what one request may cost. In: messages, a limit in tokens. Out: numbered texts. Pure.

A session that fits is sent whole. Else the user's words come first, then what the agent said last before they answered, then
messages with candidates, and the rest as far as it fits: first a beginning and an end of each message, then whole messages,
the newest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.capture.write_up.messages import Message, shortened

EXTRA_TOKENS = 14
"""What number, role and punctuation of one message cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A message as it is sent: its number counts all messages that wait, from 1; `text` may be shortened."""

    number: int
    message: Message
    text: str


def cut_messages(
    messages: Sequence[Message], *, most_tokens: int, count: Callable[[str], int]
) -> tuple[Numbered, ...]:
    """The messages, or parts of them, that fit into `most_tokens`, in order."""
    costs = [count(one.text) + EXTRA_TOKENS for one in messages]
    chosen: dict[int, tuple[str, int]] = {}
    if sum(costs) <= most_tokens:
        chosen = {at: (one.text, 0) for at, one in enumerate(messages)}
    else:
        left = most_tokens
        for _, at, text in sorted(_variants(messages), key=lambda one: (one[0], -one[1])):
            cost = costs[at] if text == messages[at].text else count(text) + EXTRA_TOKENS
            more = cost - (chosen[at][1] if at in chosen else 0)
            if 0 < more <= left:
                chosen[at] = (text, cost)
                left -= more
    return tuple(
        Numbered(number=at + 1, message=messages[at], text=text) for at, (text, _) in sorted(chosen.items())
    )


def _variants(messages: Sequence[Message]) -> list[tuple[int, int, str]]:
    """(rank, place, text): what to send of each message, the most telling first; a later variant of a message is a longer one."""
    found: list[tuple[int, int, str]] = []
    for at, one in enumerate(messages):
        if one.role == "user":
            found += [(0, at, shortened(one.text, head=900, tail=500)), (4, at, one.text)]
            continue
        if one.role == "tool":
            found.append((6, at, one.text))
            continue
        following = next((other.role for other in messages[at + 1 :] if other.role != "tool"), "user")
        if following == "user":
            found += [(1, at, shortened(one.text, head=500, tail=900)), (5, at, one.text)]
        else:
            found += [
                (3, at, shortened(one.text, head=300, tail=0)),
                (7, at, shortened(one.text, head=700, tail=500)),
                (8, at, one.text),
            ]
        if one.candidate:
            found.append((2, at, one.text))
    return found
