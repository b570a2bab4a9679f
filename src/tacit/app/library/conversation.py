"""One conversation whose messages a program keeps: the requests for it, and the block of every message.

In: what the messages of a request say, in order. Out: the text of the system prompt, and the block of each message. What was
handed over once goes out with the same bytes in every later request, so that a prompt cache holds; a message that went out
bare stays bare. Blocks are bounded every turn as `recall.history_blocks` says. Never raises for want of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tacit.app.library.message_formats import MessageFacts

Ask = Callable[[Mapping[str, object]], Mapping[str, object] | None]
"""Sends one event; None = no answer came."""
CALL_PREFIX = "call:"
MAX_TEXTS = 4000
MAX_REPLAY = 400
PREVIOUS_CHARS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The texts of a request: `system` for the system prompt, `texts` per message (in the order of the list; "" = none).

    `every_call` = the system text is written anew with every prompt.
    """

    system: str = ""
    texts: tuple[str, ...] = ()
    every_call: bool = False


@dataclass(slots=True)
class Conversation:
    """Mutable; one thread at a time (`Session` sees to that).

    Attributes:
        ask: sends one event.
        about: what every event says: session, cwd, agent.
        resumed: whether an earlier process may have handed something over already.
    """

    ask: Ask
    about: Mapping[str, object]
    resumed: bool = True
    system: str = ""
    _start: str = "startup"
    _decided: dict[str, str] = field(default_factory=dict[str, str])
    _prompts: set[str] = field(default_factory=set[str])
    _epoch: int = 0
    _every_call: bool = False

    def advance(self, messages: Sequence[MessageFacts], *, whole: bool = True) -> Placement:
        """Ask for what is new in `messages` and say what every message carries.

        Args:
            messages: the messages of a request, oldest first.
            whole: whether they are the whole conversation; else what came before is kept by the API.
        """
        slots = block_slots(messages)
        if whole:
            self._notice_compaction(slots)
        if self._start:
            self._begin()
        newest = last_answer(messages)
        previous = messages[newest].text[-PREVIOUS_CHARS:] if newest >= 0 else ""
        self._replay([slot for at, names in enumerate(slots) for slot in names if at < newest])
        calls = {call.call_id: call for message in messages for call in message.calls}
        for at in range(newest + 1, len(messages)):
            for result in messages[at].results:
                slot = CALL_PREFIX + result.call_id
                if result.call_id and slot not in self._decided:
                    call = calls.get(result.call_id)
                    self._tool(
                        slot,
                        result.call_id,
                        call.tool if call else "",
                        call.args if call else {},
                        result.text,
                        failed=result.failed,
                    )
            if messages[at].digest:
                self._prompt(slots[at][-1], messages[at].text, previous, newest=at == last_prompt(messages))
        return Placement(
            system=self.system,
            every_call=self._every_call,
            texts=tuple(
                "\n\n".join(text for slot in names if (text := self._decided.get(slot))) for names in slots
            ),
        )

    def compacted(self) -> None:
        """Note that a summary replaced the messages. The next request gets the system text again, and the memories that the summary lacks."""
        self._epoch += 1
        self._start = "compact"
        self._decided.clear()
        self._prompts.clear()

    def begin_as_fork(self, other: Conversation, *, parent: str) -> None:
        """Take over what `other` handed over: the same messages keep the same bytes here."""
        self.about = {**self.about, "parent": parent}
        self.system = other.system
        self._start = "fork"
        self._decided = dict(other._decided)
        self._prompts = set(other._prompts)

    def _notice_compaction(self, slots: Sequence[Sequence[str]]) -> None:
        current = {slot for names in slots for slot in names if not slot.startswith(CALL_PREFIX)}
        if self._prompts and current and not (current & self._prompts):
            self.compacted()

    def _begin(self) -> None:
        source = self._start
        key = f"start:{source}" + (f":{self._epoch}" if source == "compact" else "")
        answer = self._say("start", source=source, key=key)
        if answer is None:
            return
        system = answer.get("system")
        self.system = system if isinstance(system, str) else ""
        self._start = ""

    def _replay(self, slots: Sequence[str]) -> None:
        """Bytes of messages that this process has not decided on: an earlier one may have."""
        unknown = [slot for slot in slots if slot not in self._decided]
        if unknown and self.resumed:
            answer = self._say("replay", message_ids=unknown[-MAX_REPLAY:])
            texts = _texts(answer)
            for slot in unknown:
                self._decide(slot, texts.get(slot))
        for slot in unknown:
            self._decided.setdefault(slot, "")
        self._prompts.update(slot for slot in slots if not slot.startswith(CALL_PREFIX))

    def _prompt(self, slot: str, text: str, previous: str, *, newest: bool) -> None:
        self._prompts.add(slot)
        if slot in self._decided:
            return
        if not newest:
            self._replay([slot])
            return
        answer = self._say(
            "prompt", text=text, message_id=slot, key=f"prompt:{self._epoch}:{slot}", previous=previous
        )
        answer = answer or {}
        system = answer.get("system")
        if isinstance(system, str):  # the sections of the `refresh` preset: written anew with every prompt
            self.system, self._every_call = system, True
        self._decide(slot, answer.get("text"))
        self._bound(slot)

    def _bound(self, newest: str) -> None:
        """Let go the blocks that may not stay any longer."""
        older = [slot for slot, text in self._decided.items() if text and slot != newest][-MAX_REPLAY:]
        answer = self._say("replay", message_ids=older) if older else None
        if answer is None:
            return
        staying = _texts(answer)
        for slot in older:
            if slot not in staying:
                self._decided[slot] = ""

    def _tool(
        self, slot: str, call_id: str, tool: str, args: Mapping[str, object], output: str, *, failed: bool
    ) -> None:
        event, output_field = ("tool_failed", "error") if failed else ("tool_end", "output")
        key = f"{event}:{self._epoch}:{call_id}"
        answer = self._say(
            event, tool=tool or "tool", call_id=call_id, args=dict(args), key=key, **{output_field: output}
        )
        self._decide(slot, (answer or {}).get("text"))

    def _decide(self, slot: str, text: object) -> None:
        self._decided[slot] = text if isinstance(text, str) else ""
        if len(self._decided) > MAX_TEXTS:
            del self._decided[next(iter(self._decided))]

    def _say(self, event: str, **facts: object) -> Mapping[str, object] | None:
        return self.ask({**self.about, "event": event, **facts})


def _texts(answer: Mapping[str, object] | None) -> Mapping[str, object]:
    texts = answer.get("texts") if answer else None
    return cast("Mapping[str, object]", texts) if isinstance(texts, Mapping) else {}


def block_slots(messages: Sequence[MessageFacts]) -> list[tuple[str, ...]]:
    """The names under which blocks of each message are kept: tool results by their call, words by what they are.

    Words said twice are two messages: the second one's name ends in `#2`.
    """
    counts: Counter[str] = Counter()
    slots: list[tuple[str, ...]] = []
    for message in messages:
        names = [CALL_PREFIX + result.call_id for result in message.results if result.call_id]
        if message.digest:
            counts[message.digest] += 1
            names.append(
                message.digest
                if counts[message.digest] == 1
                else f"{message.digest}#{counts[message.digest]}"
            )
        slots.append(tuple(names))
    return slots


def last_answer(messages: Sequence[MessageFacts]) -> int:
    """Position of the newest message of the agent that something follows; -1 = none. One at the end is a beginning put into its mouth."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    return max((at for at in range(end) if messages[at].role == "assistant"), default=-1)


def last_prompt(messages: Sequence[MessageFacts]) -> int:
    """Position of the newest message with words of the user; -1 = none."""
    return max((at for at, message in enumerate(messages) if message.digest), default=-1)
