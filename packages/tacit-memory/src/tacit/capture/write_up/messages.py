"""The messages of a session that wait for the writer. In: turns. Out: records. Pure.

Secrets are taken out before anything waits. A session that is not written up in time keeps its newest messages.

Cuts what waits of a session to what one request may cost. In: messages, a limit in tokens. Out: numbered texts. Pure.

A session that fits is sent whole. Else every message is ranked: the user's words come first, then what the agent said last before
they answered, then the beginnings of the agent's others, the newest first; whole messages as far as they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.frozen import frozen
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.reading.prose import FENCE
from tacit.reading.sentences import split_sentences
from tacit.state.captured import Message, PendingSession

_HEAD, _TAIL = 4000, 1950
"""Characters kept of the beginning and the end of a longer message; one of about 6,000 is kept whole."""
CUT = "\n[...]\n"
PART_CHARS = 1200
"""A longer message of the agent is split into parts of about this length."""
MOST_CHARS = 600_000
"""Most characters of one session that wait; the newest are kept."""
_TOOL_CHARS = 400


def messages_of(turns: Sequence[Turn], *, redact: Callable[[str], str]) -> tuple[Message, ...]:
    """Return the messages of `turns` for the writer, redacted and shortened, with failed tool calls.

    Args:
        turns: what was said.
        redact: takes secrets out of a whole turn, before it is parted.
    """
    split_turns = _parted([replace(turn, text=redact(turn.text)) for turn in turns])
    messages: list[Message] = []
    for turn in split_turns:
        text = shortened(turn.text).strip()
        if text:
            messages.append(Message(prompt=turn.number, role=turn.role, text=text, at_ms=turn.at_ms))
        messages += [
            Message(prompt=turn.number, role="tool", text=line, at_ms=turn.at_ms)
            for use in turn.tools
            if (line := redact(_failure(use)).strip())
        ]
    return tuple(messages)


def _parted(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns with long ones of the agent split; a turn's tools stay with its last part."""
    split_turns: list[Turn] = []
    for turn in turns:
        texts = _parts(turn.text) if turn.role == "assistant" else [turn.text]
        for at, text in enumerate(texts, start=1):
            tools = turn.tools if at == len(texts) else ()
            split_turns.append(replace(turn, index=len(split_turns), text=text, tools=tools))
    return tuple(split_turns)


def with_messages(waiting: PendingSession, added: Sequence[Message]) -> PendingSession:
    """Return `waiting` with `added` appended, cut to the newest `MOST_CHARS` characters."""
    fitting: list[Message] = []
    chars = 0
    messages = (*waiting.messages, *added)
    for message in reversed(messages):
        chars += len(message.text)
        if chars > MOST_CHARS and fitting:
            break
        fitting.append(message)
    lost = len(messages) - len(fitting)
    return replace(waiting, messages=tuple(reversed(fitting)), taken=waiting.taken + lost)


def without_written(current: PendingSession, written: PendingSession) -> PendingSession:
    """Return `current` without the messages in `written`, an earlier copy of it that has been written up."""
    done = max(0, written.taken + len(written.messages) - current.taken)
    return replace(current, messages=current.messages[done:], taken=current.taken + done, tries=0)


def shortened(text: str, *, head: int = _HEAD, tail: int = _TAIL) -> str:
    """Return the first `head` and the last `tail` characters of a text that is longer than both, else the text."""
    if len(text) <= head + tail + len(CUT):
        return text
    return f"{text[:head]}{CUT}{text[-tail:]}" if tail else f"{text[:head]}{CUT}".rstrip()


def _parts(text: str) -> list[str]:
    """Return the text in parts of about `PART_CHARS`, split between paragraphs."""
    if len(text) <= PART_CHARS:
        return [text]
    parts: list[str] = []
    for paragraph in text.split("\n\n"):
        if parts and len(parts[-1]) + len(paragraph) < PART_CHARS:
            parts[-1] += f"\n\n{paragraph}"
        else:
            parts.append(paragraph)
    return [part for part in parts if part.strip()]


def _failure(use: ToolUse) -> str:
    if not (use.failed and use.error):
        return ""
    return f"{use.command or use.tool} failed:\n{use.error[-_TOOL_CHARS:]}"


EXTRA_TOKENS = 14
"""Tokens that number, role and punctuation of one message cost."""
GIST_CHARS = 700


@frozen
class Numbered:
    """A message as it is sent: its number among all waiting messages, from 1, and its text, which may be shortened."""

    number: int
    message: Message
    text: str


@frozen
class _Variant:
    """A form in which a message can be sent. Lower ranks are chosen first, then newer messages."""

    rank: int
    place: int
    text: str


def fit_messages(
    messages: Sequence[Message], *, most_tokens: int, count: Callable[[str], int]
) -> tuple[Numbered, ...]:
    """Return the messages, shortened where needed, that fit into `most_tokens`, in order."""
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
    """Return the first sentences of a message that fit into `GIST_CHARS`, without code blocks."""
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
    """Return the text with each code block reduced to its opening line."""
    return FENCE.sub(lambda match: match[0].strip().split("\n", 1)[0] + " [...]", text)
