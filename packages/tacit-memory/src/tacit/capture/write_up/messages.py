"""The messages of a session that wait for the writer. In: turns. Out: records. Pure.

Secrets are taken out before anything waits. A session that is not written up in time keeps its newest messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.hosts.transcripts import ToolUse, Turn
from tacit.state.captured import Message, PendingSession

_HEAD, _TAIL = 4000, 1950
"""Characters that are kept of a message's beginning and end; one of about 6,000 is kept whole."""
CUT = "\n[...]\n"
PART_CHARS = 1200
"""A longer message of the agent waits in parts of about this length."""
MOST_CHARS = 600_000
"""Most characters that wait of one session."""
_TOOL_CHARS = 400


def messages_of(turns: Sequence[Turn], *, redact: Callable[[str], str]) -> tuple[Message, ...]:
    """The messages of `turns`, redacted.

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
    """The turns, long ones of the agent as several, so that a part of them can be sent; tools stay with the last part."""
    split_turns: list[Turn] = []
    for turn in turns:
        texts = _parts(turn.text) if turn.role == "assistant" else [turn.text]
        for at, text in enumerate(texts, start=1):
            tools = turn.tools if at == len(texts) else ()
            split_turns.append(replace(turn, index=len(split_turns), text=text, tools=tools))
    return tuple(split_turns)


def with_messages(waiting: PendingSession, added: Sequence[Message]) -> PendingSession:
    """Append `added` to the waiting messages, and keep the newest `MOST_CHARS` characters."""
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
    """Return the messages of `current`, as they wait now, without those of `written`, which was read from the store earlier."""
    done = max(0, written.taken + len(written.messages) - current.taken)
    return replace(current, messages=current.messages[done:], taken=current.taken + done, tries=0)


def shortened(text: str, *, head: int = _HEAD, tail: int = _TAIL) -> str:
    """The beginning and the end of a text that is longer than both together."""
    if len(text) <= head + tail + len(CUT):
        return text
    return f"{text[:head]}{CUT}{text[-tail:]}" if tail else f"{text[:head]}{CUT}".rstrip()


def _parts(text: str) -> list[str]:
    """A text in parts of about `PART_CHARS`, cut between paragraphs."""
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
