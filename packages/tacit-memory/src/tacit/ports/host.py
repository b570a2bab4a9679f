"""A host: the agent program that sends signals and receives blocks. Parses and encodes; decides nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

from tacit.frozen import frozen
from tacit.model.pack import Block, Surface
from tacit.model.session import SessionKey
from tacit.model.signal import Signal

Arrival = Literal["before", "after", "never"]
MemoryForm = Literal["notes", "codex"]
BESIDE_RESULTS: tuple[tuple[Surface, Arrival], ...] = tuple(
    (surface, "after" if surface is Surface.ACTION else "before")
    for surface in Surface
    if surface is not Surface.HOST
)
"""The `arrival` of hosts that deliver the block for a tool call only with its result (after the action), and all other blocks in time."""


@frozen
class MemoryFile:
    """A file of the host's own memory. The agent writes it, and the host loads it into every session.

    Attributes:
        path: relative to the folder of the session's transcript.
        universal: whether its notes hold for all projects; else for the project of the session.
        form: `notes` = the file consists of notes; `codex` = the notes of all projects in the form of Codex. Of these, the notes of the
            session's project are read, if Codex' settings switch its memory on.
    """

    path: str
    universal: bool = False
    form: MemoryForm = "notes"

    def at(self, transcript_path: str) -> str:
        """Return the absolute path of the file in a session with this transcript; "" if the transcript is not known."""
        folder = os.path.dirname(transcript_path)  # noqa: PTH120 - no file is touched
        return os.path.normpath(os.path.join(folder, self.path)) if os.path.isabs(folder) else ""  # noqa: PTH117, PTH118

    def key(self, transcript_path: str, root: str) -> str:
        """Return the key of this file's notes on the project at `root`: the file's path, for Codex with the root; "" if the transcript is not known."""
        path = self.at(transcript_path)
        return f"{path}#{root}" if path and self.form == "codex" else path


@frozen
class Delivery:
    """Where a block of `surface` arrives with a host, and what keeps it from arriving whole and in time.

    Both are words for people (docs/reference/hosts.md).

    Attributes:
        surface: the surface.
        where: the place of the block in the model request; empty if no block arrives.
        limit: why the block arrives late, shortened or not at all; empty = it arrives whole and in time.
    """

    surface: Surface
    where: str = ""
    limit: str = ""


@frozen
class HostCapabilities:
    """What a host can do: where and when its blocks arrive, its size caps, its own memory and rule files. Measured or read in its documentation.

    Attributes:
        arrival: per surface, when the block reaches the model: `before` or `after` the action that it is for, or `never`.
        cap_chars: most characters of one block; 0 = no such cap.
        cap_bytes: most bytes of one block in UTF-8, if the host counts bytes; 0 = no such cap.
        stored: whether handed-over text stays in the host's history (then the ledger sends only what is new).
        post_compaction: whether a signal comes after a compaction.
        loads_rule_files: names of rule files the host itself puts into context, looked up from the working folder upward.
        system_prompt: whether a block can stand in the system prompt of every call, replaced by the next one.
        refuses: whether a call can be refused before it runs.
        answers_again: whether a second event with the same key gets the same answer, because the first answer was lost;
            else the second event comes from another hook of ours, and only the first one is answered.
        rule_file_fallbacks: names it tries one after the other only where it found none of `loads_rule_files`.
        start_stays: whether a resumed session still has the block of its start in context; else it gets the same bytes again.
        compaction_at_prompt: whether what a compaction dropped is sent with the next prompt, because no signal comes after a compaction.
        memory_files: files of its own memory.
        agents_without_tools: types of its own subagents that cannot call tools of MCP servers.
        title: the name of the host for people; empty = it is no program with a name.
        basis: how these capabilities are known, such as `measured on version 1.2.3` or `read in its documentation, not run`.
        deliveries: where blocks arrive and what limits them, for each surface that this is declared for.
        tool_calls: whether the host asks the user before it calls `memory_get` and `memory_add`, and which rule changes that; empty = no
            question can come.
        log_delay_ms: most milliseconds between an event and the rows of the host's log that belong before it; 0 = the log is written first.
    """

    arrival: tuple[tuple[Surface, Arrival], ...]
    cap_chars: int
    stored: bool
    post_compaction: bool
    loads_rule_files: tuple[str, ...] = ()
    rule_file_fallbacks: tuple[str, ...] = ()
    system_prompt: bool = False
    refuses: bool = False
    start_stays: bool = True
    compaction_at_prompt: bool = False
    cap_bytes: int = 0
    memory_files: tuple[MemoryFile, ...] = ()
    agents_without_tools: tuple[str, ...] = ()
    title: str = ""
    basis: str = ""
    deliveries: tuple[Delivery, ...] = ()
    answers_again: bool = False
    tool_calls: str = ""
    log_delay_ms: int = 0

    def holds(self, text: str) -> bool:
        """Whether a block with this text is within the host's caps."""
        if self.cap_chars and len(text) > self.cap_chars:
            return False
        # A character has at most four bytes, so most blocks need not be encoded.
        return not self.cap_bytes or 4 * len(text) <= self.cap_bytes or _bytes(text) <= self.cap_bytes

    def with_room_for(self, line: str) -> HostCapabilities:
        """Return these capabilities with caps lowered by the size of `line`, which is added below the block; unchanged for ""."""
        if not line:
            return self
        room = len(line.encode("utf-8")) + 1
        caps = {
            name: max(1, cap - room) for name in ("cap_chars", "cap_bytes") if (cap := getattr(self, name))
        }
        return replace(self, **caps)

    def arrives(self, surface: Surface) -> Arrival:
        """Return when a block of `surface` reaches the model; `never` where not declared."""
        for name, when in self.arrival:
            if name is surface:
                return when
        return "never"

    def delivery(self, surface: Surface) -> Delivery:
        """Return the delivery that is declared for `surface`, or an empty one."""
        return next((each for each in self.deliveries if each.surface is surface), Delivery(surface=surface))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class Host(Protocol):
    """A host adapter: it turns a host's payloads into signals and blocks into the host's replies. Pure; decides nothing."""

    @property
    def name(self) -> str:
        """The host's name, e.g. `claude-code`."""
        ...

    @property
    def capabilities(self) -> HostCapabilities:
        """The capabilities of this host."""
        ...

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Return the signal that a payload describes, or None for an event that Tacit does not use.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        ...

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """Return the reply that makes the host hand `block` to the model, or "" when there is nothing to say.

        `notice` is one line for the person (not the model), where the host can show one.
        """
        ...


@frozen
class ReplayRequest:
    """A host's request for the exact text that these messages got in this epoch, because it lost its copy."""

    session: SessionKey
    message_ids: tuple[str, ...]


@runtime_checkable
class ReplayingHost(Protocol):
    """A host whose plugin loses handed-over text when it restarts, and then asks for it again.

    The adapter reads the request and writes the reply. The caller takes the texts from `SessionState.blocks`, which stay as they are.
    """

    def parse_replay(self, payload: Mapping[str, object]) -> ReplayRequest | None:
        """Return the request for a replay that a payload holds, or None if the payload is something else.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        ...

    def encode_replay(self, texts: Mapping[str, str]) -> str:
        """Return the reply that hands over `texts` (message id -> exact text): those of the request that are known and not empty."""
        ...


@runtime_checkable
class OutcomeHost(Protocol):
    """A host that reports the failure of a call only in its transcript, not in its hooks."""

    def with_outcome(self, signal: Signal, transcript_end: bytes) -> Signal | None:
        """Return `signal`, or a failure if the call failed according to the transcript; None = the transcript does not contain the call. Pure.

        `transcript_end` consists of whole lines. It is read only if `needs_outcome` is true.
        """
        ...

    def needs_outcome(self, signal: Signal) -> bool:
        """Whether the outcome of the call of `signal` is only in the transcript."""
        ...


@runtime_checkable
class DeferringHost(Protocol):
    """A host that takes text only with some of its events.

    The block of another event waits in the session's record (`SessionState.waiting`) and is sent with the next event that takes text.
    """

    def reply_takes_text(self, payload: Mapping[str, object]) -> bool:
        """Whether the reply to `payload` can hand text to the model; if not, the block waits for a later event."""
        ...


@runtime_checkable
class TranscriptHost(DeferringHost, Protocol):
    """A host that reports a compaction only in its transcript. The block after a compaction waits for the next event that takes text."""

    def compaction_in(self, row: bytes) -> str:
        """Return the name of the compaction that a line of the transcript reports; "" = none.

        A later line may report the same compaction again, under the same name.
        """
        ...
