"""One conversation of a program: adds blocks to its messages, and learns from it.

In: the program's own list of messages. Out: new lists. Never changes the list or its messages. This is a boundary: `prepare` and `finish`
do not raise when the memory fails. Then the request has no blocks, and the log has one line.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.library.conversation import Conversation, Placement
from tacit.library.message_formats import ROLE_CONTENT, MessageFacts, MessageFormat, ToolOutcome

_LOG = logging.getLogger(__name__)
M = TypeVar("M")
T = TypeVar("T")
LOCK_S = 5.0
LEAST_MS = 20.0
"""With less time left, no event is sent."""
END_CHARS = 4000
RESULT_CHARS = 4000


@frozen
class Prepared(Generic[M]):
    """What to send to the model in place of a request's messages.

    Attributes:
        messages: a new list: the request's messages, with Tacit's blocks in them. Messages without a block are the same objects as before.
        system: text for the end of the system prompt; "" = none. Send it with every request.
        blocks: the number of messages with a block.
    """

    messages: list[M]
    system: str = ""
    blocks: int = 0


class Session:
    """A conversation with an id. Safe to use from several threads."""

    def __init__(
        self,
        session_id: str,
        *,
        hook: Callable[[Mapping[str, object], float], Mapping[str, object] | None],
        later: Callable[[Callable[[], object]], None],
        cwd: str = "",
        agent: str = "",
        resumed: bool = True,
        deadline_ms: float = 400.0,
        capture: bool = True,
        named: Callable[[str], str] = str,
    ) -> None:
        """Begin or continue a conversation. Programs call `Tacit.session` instead.

        Args:
            session_id: the id of the conversation.
            hook: sends one event, and waits for the answer for at most a number of milliseconds.
            later: runs a function in the background.
            cwd: the folder of the project; "" = none.
            agent: name of the agent, which may have its own settings.
            resumed: whether an earlier process may have begun this conversation.
            deadline_ms: longest wait for one event.
            capture: whether Tacit may learn from it.
            named: makes the id of a fork one that no other user's conversation has.
        """
        self.id = session_id
        self._named = named
        self.later = later
        self._hook = hook
        self._deadline_ms = deadline_ms
        self._until = math.inf
        self._capture = capture
        self._cwd, self._agent = cwd, agent
        self._about: dict[str, object] = {"session": session_id, "cwd": cwd, "agent": agent}
        if not capture:
            self._about["capture"] = False
        self._conversation = Conversation(ask=self._ask, about=self._about, resumed=resumed)
        self._lock = Lock()

    def prepare(
        self, messages: Sequence[M], *, shape: MessageFormat = ROLE_CONTENT, whole: bool = True
    ) -> Prepared[M]:
        """Return the messages of a request with their blocks.

        Call it for every request with the whole conversation. The messages may be an earlier result with its blocks. A block is at
        the end of its message and keeps its bytes; `recall.history_blocks` limits the number of blocks.

        Args:
            messages: oldest first; role and content, or another form that `shape` reads.
            shape: the format of the messages.
            whole: whether they are the whole conversation, not only the new messages.

        Raises:
            InvalidInput: `messages` is a text instead of a list.
        """
        if isinstance(messages, str):
            raise InvalidInput(
                "`prepare` got a text instead of a list.",
                hint='Give a list of messages: [{"role": "user", "content": text}].',
            )
        facts = guarded(
            lambda: [shape.read(message) for message in messages],
            None,
            "nothing is injected: the messages could not be read",
        )
        if facts is None:
            return Prepared(messages=list(messages))
        placed = self.place(facts, whole=whole)
        listed = with_texts(messages, facts, placed.texts, shape=shape)
        return Prepared(messages=listed, system=placed.system, blocks=sum(map(bool, placed.texts)))

    def place(
        self, messages: Sequence[MessageFacts], *, whole: bool = True, until: float = math.inf
    ) -> Placement:
        """Return the block of each message, like `prepare` for parsed messages. After a failure, return the blocks that are already decided.

        Args:
            messages: oldest first.
            whole: whether they are the whole conversation.
            until: time in seconds of `time.monotonic` after which no event is sent.
        """
        if not self._lock.acquire(timeout=min(LOCK_S, max(0.0, until - time.monotonic()))):
            return self._conversation.decided(messages)
        try:
            self._until = until
            placed = guarded(
                lambda: self._conversation.advance(messages, whole=whole),
                None,
                "nothing is injected: the conversation could not be continued",
            )
            return placed or self._conversation.decided(messages)
        finally:
            self._lock.release()

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the names of all messages that were sent without a block because there was no answer; see `Placement`."""
        return self._conversation.bare

    def went_out_without(self, names: Iterable[str], *, start_with: str) -> None:
        """Restore which messages an earlier process sent without a block; see `Placement`."""
        with self._lock:
            self._conversation.went_out_without(names, start_with=start_with)

    def fork(self, session_id: str) -> Session:
        """Return a conversation that continues this one in another way. It keeps the blocks that were sent so far."""
        forked = Session(
            self._named(session_id),
            hook=self._hook,
            later=self.later,
            cwd=self._cwd,
            agent=self._agent,
            deadline_ms=self._deadline_ms,
            capture=self._capture,
            named=self._named,
        )
        forked._conversation.begin_as_fork(self._conversation, parent=self.id)
        return forked

    def finish(
        self, text: str = "", *, messages: Sequence[object] = (), shape: MessageFormat = ROLE_CONTENT
    ) -> None:
        """Report that the agent's turn is over, so that Tacit may learn from `messages`. Returns at once.

        Args:
            text: the agent's message.
            messages: the whole conversation; without it, Tacit learns only statements that the user makes explicitly.
            shape: the format of the messages.
        """
        facts = guarded(
            lambda: [shape.read(message) for message in messages],
            None,
            "nothing is learned: the messages could not be read",
        )
        if facts is not None:
            self.heard(facts, text)

    def heard(
        self,
        messages: Sequence[MessageFacts],
        text: str = "",
        *,
        sent: Callable[[], Sequence[Mapping[str, object]]] = tuple,
    ) -> None:
        """Report the end of a turn; returns at once.

        `messages` = the whole conversation, `text` = the agent's last message if it may be missing there;
        `sent` is called in the background and returns facts about the turn's requests.
        """
        about = {**self._about, "event": "message_end", "final": True}

        def tell() -> None:
            closing = MessageFacts(role="assistant", text=text)
            already_last = messages and messages[-1].role == "assistant" and messages[-1].text == text
            all_messages = [*messages, closing] if text and not already_last else messages
            end = text or next(
                (message.text for message in reversed(messages) if message.role == "assistant"), ""
            )
            learned = transcript(all_messages) if self._capture else []
            payload = {"text": end[-END_CHARS:], "messages": learned, "sent": list(sent())}
            self._hook({**about, **payload}, 5_000.0)

        self.later(tell)

    def compacted(self) -> None:
        """Report that a summary replaced the conversation so far. This is detected without a call if none of the earlier messages is left."""
        with self._lock:
            self._conversation.compacted()

    def close(self) -> None:
        """Report that the conversation is over. Returns at once."""
        payload = {**self._about, "event": "end", "reason": "closed"}
        self.later(lambda: self._hook(payload, 2_000.0))

    @staticmethod
    def for_summary(messages: Iterable[M], *, shape: MessageFormat = ROLE_CONTENT) -> list[M]:
        """Return the messages without blocks, for a compaction: a summary should not repeat memories as if they were new."""
        cleaned: list[M] = []
        for message in messages:
            bare: Any = shape.place(message, "") if shape.read(message).role in ("user", "tool") else message
            if bare is message or not _empty(bare):
                cleaned.append(bare)
        return cleaned

    def _ask(self, payload: Mapping[str, object]) -> Mapping[str, object] | None:
        remaining_ms = (self._until - time.monotonic()) * 1000
        if remaining_ms < LEAST_MS:
            return None
        # One failed event costs one block: `place` still decides about the other messages, and this one stays without a block.
        return guarded(
            lambda: self._hook(payload, min(self._deadline_ms, remaining_ms)),
            None,
            "the memory gave no answer",
        )


def guarded(work: Callable[[], T], otherwise: T, warning: str) -> T:
    """Return the result of `work`. If it raises an exception, log `warning` with the name of the exception and return `otherwise`.

    This is the boundary of the library and of the middleware: no failure of the memory reaches the program.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the boundary of the library and the middleware
        # No traceback: the text of an exception may quote a message.
        _LOG.warning("%s: %s", warning, type(error).__name__)
        return otherwise


def with_texts(
    messages: Sequence[M], facts: Sequence[MessageFacts], texts: Sequence[str], *, shape: MessageFormat
) -> list[M]:
    """Return the messages with one text each at their end ("" = none). `facts` is what `shape` reads in them."""
    return [
        shape.place(message, text) if fact.takes_block else message
        for message, fact, text in zip(messages, facts, texts, strict=True)
    ]


def transcript(messages: Sequence[MessageFacts]) -> list[dict[str, object]]:
    """Return the conversation in the form that capture reads: roles, texts, tool calls and shortened results; no pictures, no blocks."""
    listed: list[dict[str, object]] = []
    for message in messages:
        listed.extend(_result(result) for result in message.results)
        if message.role == "user" and message.text:
            listed.append({"role": "user", "content": message.text})
        elif message.role == "assistant" and (message.text or message.calls):
            parts: list[dict[str, object]] = []
            if message.text:
                parts.append({"type": "text", "text": message.text})
            for c in message.calls:
                parts.append({"type": "tool_use", "id": c.call_id, "name": c.tool, "input": dict(c.args)})  # noqa: PERF401 - the type checker wants the shape once
            listed.append({"role": "assistant", "content": parts})
    return listed


def _result(result: ToolOutcome) -> dict[str, object]:
    answer = {"role": "tool", "tool_call_id": result.call_id, "is_error": result.failed}
    return {**answer, "content": result.text[:RESULT_CHARS]}


def _empty(message: object) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return content in ("", [], None)
