"""One conversation whose messages a program keeps: the events for it, and the block of every message.

In: the messages of a request as `MessageFacts`, in order. Out: the text of the system prompt, and the block of each message. A block has
the same bytes in every later request, so that prompt caches stay valid. A message that was sent without a block stays without one, and a
start pack that is late for the first request is added to a later message. `recall.history_blocks` limits the blocks in every turn. Never
raises because an event got no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tacit.frozen import frozen
from tacit.library.message_formats import MessageFacts

Ask = Callable[[Mapping[str, object]], Mapping[str, object] | None]
"""Sends one event and returns the answer; None = there was no answer."""
CALL_PREFIX = "call:"
START = "start"
"""The name of the start pack in `Placement.missed`. Messages are named by a digest of their content."""
MAX_TEXTS = 4000
MAX_REPLAY = 400
PREVIOUS_CHARS = 4000


@frozen
class Placement:
    """The texts of a request: `system` for the system prompt, `texts` per message (in the order of the list; "" = none).

    `every_call` = the system text changes with every prompt.
    `missed` = names of the messages that this request sends without a block because there was no answer; `start_with` = the message
    that carries the start pack, "" = the system prompt carries it.
    """

    system: str = ""
    texts: tuple[str, ...] = ()
    every_call: bool = False
    missed: tuple[str, ...] = ()
    start_with: str = ""


@dataclass(slots=True)
class Conversation:
    """The blocks of one conversation. Mutable; used by one thread at a time, for which `Session` holds a lock.

    Attributes:
        ask: sends one event.
        about: the fields of every event: session, cwd, agent.
        resumed: whether an earlier process may have sent blocks for it.
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
    _bare: set[str] = field(default_factory=set[str])
    _missed: list[str] = field(default_factory=list[str])
    _start_with: str = ""
    _start_text: str = ""

    def advance(self, messages: Sequence[MessageFacts], *, whole: bool = True) -> Placement:
        """Send the events for what came after the assistant's last message (tool results and the newest prompt), and return the block of every message.

        Older messages get no event of their own: they keep the blocks that they had, also those of an earlier process.

        Args:
            messages: the messages of a request, oldest first.
            whole: whether `messages` is the whole conversation; False = the API stores the earlier messages.
        """
        slots = block_slots(messages)
        self._missed.clear()
        if whole:
            self._notice_compaction(slots)
        newest = last_answer(messages)
        if self._start:
            self._begin([slot for names in slots[newest + 1 :] for slot in names])
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
        return self.decided(messages)

    def decided(self, messages: Sequence[MessageFacts]) -> Placement:
        """Return the blocks that are already decided. Sends no event."""
        return Placement(
            system=self.system,
            every_call=self._every_call,
            texts=tuple(
                "\n\n".join(text for slot in names if (text := self._decided.get(slot)))
                for names in block_slots(messages)
            ),
            missed=tuple(self._missed),
            start_with=self._start_with,
        )

    @property
    def bare(self) -> tuple[str, ...]:
        """Return the names of all messages that were sent without a block because there was no answer."""
        return tuple(sorted(self._bare))

    def went_out_without(self, names: Iterable[str], *, start_with: str) -> None:
        """Restore the state of an earlier process: the messages that it sent without a block, and the message with the start pack."""
        self._bare.update(names)
        self._start_with = start_with

    def compacted(self) -> None:
        """Record that a summary replaced the messages. The next request gets the system text again, with the memories that the summary lacks."""
        self._epoch += 1
        self._start = "compact"
        self._decided.clear()
        self._prompts.clear()
        self._bare.clear()
        self._start_with = self._start_text = ""

    def begin_as_fork(self, other: Conversation, *, parent: str) -> None:
        """Copy the blocks of `other`, so that common messages keep the same bytes."""
        self.about = {**self.about, "parent": parent}
        self.system = other.system
        self._start = "fork"
        self._decided = dict(other._decided)
        self._prompts = set(other._prompts)
        self._bare = set(other._bare)
        self._start_with, self._start_text = other._start_with, other._start_text

    def _notice_compaction(self, slots: Sequence[Sequence[str]]) -> None:
        current = {slot for names in slots for slot in names if not slot.startswith(CALL_PREFIX)}
        if self._prompts and current and not (current & self._prompts):
            self.compacted()

    def _begin(self, new: Sequence[str]) -> None:
        """Send the event for the start pack. If requests were already sent without it, one of the messages `new` carries it, not the system prompt."""
        late = START in self._bare and not self._start_with
        carriers = [slot for slot in new if slot not in self._decided]
        if late and not carriers:
            return
        source = self._start
        key = f"start:{source}" + (f":{self._epoch}" if source == "compact" else "")
        answer = self._say("start", source=source, key=key)
        if answer is None:
            self._miss(START)
            return
        self._start = ""
        system = answer.get("system")
        text = system if isinstance(system, str) else ""
        if late or self._start_with:
            self._start_text = text
            self._start_with = self._start_with or carriers[-1]
        else:
            self.system = text

    def _miss(self, name: str) -> None:
        if name not in self._bare:
            self._bare.add(name)
            self._missed.append(name)

    def _replay(self, slots: Sequence[str]) -> None:
        """Decide about messages that are new to this process. An earlier process may have given them blocks: then use the same bytes."""
        unknown = [slot for slot in slots if slot not in self._decided]
        asked = [slot for slot in unknown if slot not in self._bare]
        if asked and self.resumed:
            answer = self._say("replay", message_ids=asked[-MAX_REPLAY:])
            texts = _texts(answer)
            for slot in asked:
                self._decide(slot, texts.get(slot))
        for slot in unknown:
            if slot not in self._decided:
                self._decide(slot, "")
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
        if answer is None:
            self._miss(slot)
        system = answer.get("system") if answer else None
        if isinstance(system, str):  # the sections of the `refresh` preset change with every prompt
            self.system, self._every_call = system, True
        self._decide(slot, (answer or {}).get("text"))
        self._keep_only(slot, (answer or {}).get("history"))

    def _keep_only(self, newest: str, staying: object) -> None:
        """Empty the blocks of all messages but `newest`, the one with the start pack, and those in `staying`, which the daemon's answer lists.

        If `staying` is no list, every block stays.
        """
        if not isinstance(staying, list):
            return
        lasting = {newest, self._start_with, *cast("list[object]", staying)}
        for slot in self._decided:
            if slot not in lasting:
                self._decided[slot] = ""

    def _tool(
        self, slot: str, call_id: str, tool: str, args: Mapping[str, object], output: str, *, failed: bool
    ) -> None:
        event, output_field = ("tool_failed", "error") if failed else ("tool_end", "output")
        key = f"{event}:{self._epoch}:{call_id}"
        answer = self._say(
            event, tool=tool or "tool", call_id=call_id, args=dict(args), key=key, **{output_field: output}
        )
        if answer is None:
            self._miss(slot)
        self._decide(slot, (answer or {}).get("text"))

    def _decide(self, slot: str, text: object) -> None:
        own = text if isinstance(text, str) else ""
        start = self._start_text if slot == self._start_with else ""
        self._decided[slot] = "\n\n".join(block for block in (start, own) if block)
        if len(self._decided) > MAX_TEXTS:
            del self._decided[next(iter(self._decided))]

    def _say(self, event: str, **facts: object) -> Mapping[str, object] | None:
        return self.ask({**self.about, "event": event, **facts})


def _texts(answer: Mapping[str, object] | None) -> Mapping[str, object]:
    texts = answer.get("texts") if answer else None
    return cast("Mapping[str, object]", texts) if isinstance(texts, Mapping) else {}


def block_slots(messages: Sequence[MessageFacts]) -> list[tuple[str, ...]]:
    """Return the names under which the blocks of each message are kept: a tool result has the name of its call, a text that of its digest.

    If a text occurs twice, the name of the second message ends with `#2`.
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
    """Return the position of the newest message of the agent before another message; -1 = none. One at the end is a prefilled answer."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    return max((at for at in range(end) if messages[at].role == "assistant"), default=-1)


def last_prompt(messages: Sequence[MessageFacts]) -> int:
    """Return the position of the newest message with text of the user; -1 = none."""
    return max((at for at, message in enumerate(messages) if message.digest), default=-1)
