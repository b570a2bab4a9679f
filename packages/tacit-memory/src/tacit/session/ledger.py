"""What a session was given: what its context holds, what may come again, what refuses a call, and what is left of it in a list of messages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from tacit.model.memory import Memory, TrustTier
from tacit.model.pack import Block, PackItem, Surface
from tacit.model.session import Exposure, RenderedBlock, SessionState, StartPack
from tacit.model.signal import SessionStarted, Signal, ToolStarting
from tacit.model.trace import DropCause, DropReason
from tacit.ports.store import Recorded
from tacit.reading.moment_calls import fit_of, read_call_facts
from tacit.reading.moments import read_moments
from tacit.safety.escape import OPEN_TAG

# The ledger: the exposures that a session's context holds. Pure functions over `SessionState`; only the daemon stores the result.
#
# A resumed session and a fork still have in their context what was injected before. They get what has changed since they were
# answered last, and once what a compaction dropped.

MAX_EXPOSURES = 4000
MAX_BLOCKS = 400
RECENT_TURNS = 5
START_MESSAGE = "start"
"""Message id under which the start block of an epoch is kept."""
CALL_PREFIX = "call:"
"""Prefix of the message ids that stand for tool calls."""
KEY_PREFIX = "key:"
"""Prefix of the keys of signals. With such a key a host that keeps its blocks itself can ask again for a lost answer."""
LASTING = ("start", "refresh")
SAID_HERE = "you said it earlier in this session"
"""Why a statement of the user's is in context that the session learned itself."""


def why_in_context(
    state: SessionState, memory: Memory, *, surface: Surface, reinject_after: int
) -> DropReason | None:
    """Return why `memory` need not be handed over again in this context; None = it may be.

    It may come again when its content changed, after a compaction or clear (a new epoch), after `reinject_after`
    turns (0 = never), and, for what only the host has loaded, at the action it governs.
    """
    for entry in reversed(state.ledger):
        if entry.memory_id != memory.id or entry.epoch != state.epoch:
            continue
        if entry.content_hash != memory.content_hash:
            return None
        if entry.surface is Surface.HOST:
            if surface is Surface.ACTION:
                return None
            from_file = memory.provenance.from_file
            detail = "it stands in a file that the agent reads itself" if from_file else SAID_HERE
            return DropReason(cause=DropCause.IN_CONTEXT, detail=detail)
        if reinject_after and state.turn - entry.turn >= reinject_after:
            return None
        return DropReason(cause=DropCause.IN_CONTEXT, detail=f"turn {entry.turn}, {entry.surface.value}")
    return None


def held(state: SessionState, *, reinject_after: int) -> tuple[str, ...]:
    """Return the ids of the memories that the context holds: injected in this epoch and not to come again yet, oldest exposure first.

    `reinject_after` = turns until one may come again; 0 = never in this epoch.
    """
    return tuple(
        dict.fromkeys(
            e.memory_id
            for e in state.ledger
            if e.epoch == state.epoch
            and e.surface is not Surface.HOST
            and (not reinject_after or state.turn - e.turn < reinject_after)
        )
    )


def recent_share(state: SessionState, *, surface: Surface, budget: int) -> float:
    """Return which part of its budget `surface` used on average over the last five turns, 0-1; 0 for a budget of 0."""
    if budget <= 0:
        return 0.0
    spent = sum(
        e.tokens
        for e in state.ledger
        if e.epoch == state.epoch and e.surface is surface and 0 < state.turn - e.turn <= RECENT_TURNS
    )
    return min(1.0, spent / (budget * RECENT_TURNS))


def without_surface(state: SessionState, surface: Surface) -> SessionState:
    """Return the record without all exposures of `surface`, so that its memories may come again in a block that is written anew."""
    remaining = tuple(e for e in state.ledger if e.surface is not surface)
    return replace(state, ledger=remaining)


def dropped_by_compaction(state: SessionState) -> tuple[str, ...]:
    """Return the ids of memories that were in context in an earlier epoch and are not in this one, oldest exposure first."""
    in_context = {
        entry.memory_id
        for entry in state.ledger
        if entry.epoch == state.epoch and entry.surface is not Surface.HOST
    }
    dropped: dict[str, None] = {}
    for entry in state.ledger:
        if (
            entry.epoch < state.epoch
            and entry.surface is not Surface.HOST
            and entry.memory_id not in in_context
        ):
            dropped.setdefault(entry.memory_id)
    return tuple(dropped)


def record(
    state: SessionState, *, items: Iterable[PackItem], block: Block, message_id: str, at_ms: int
) -> SessionState:
    """Return the record with the exposures of a delivered block, and with its text if `message_id` is not ""."""
    entries = tuple(
        Exposure(
            memory_id=item.candidate.memory.id,
            content_hash=item.candidate.memory.content_hash,
            epoch=state.epoch,
            turn=state.turn,
            surface=block.surface,
            tokens=item.tokens,
            at_ms=at_ms,
        )
        for item in items
    )
    state = replace(state, ledger=(*state.ledger, *entries)[-MAX_EXPOSURES:])
    return keep_block(state, message_id=message_id, text=block.text)


def keep_block(state: SessionState, *, message_id: str, text: str) -> SessionState:
    """Return the record with `text` kept as what was handed over for `message_id` in this epoch ("" = silence); unchanged if `message_id` is "".

    Silence for a tool call or a key is not kept: there are too many, and a missing entry means silence, too. Of more than `MAX_BLOCKS` the oldest
    go, silence first; what stands in the system prompt stays as long as its epoch.
    """
    if not message_id or (not text and message_id.startswith((CALL_PREFIX, KEY_PREFIX))):
        return state
    blocks = [
        b
        for b in state.blocks
        if b.epoch >= state.epoch - 1 and (b.message_id, b.epoch) != (message_id, state.epoch)
    ]
    blocks.append(RenderedBlock(message_id=message_id, epoch=state.epoch, text=text))
    surplus = len(blocks) - MAX_BLOCKS
    if surplus > 0:
        going = sorted(range(len(blocks)), key=lambda at: (_lasting(blocks[at]), bool(blocks[at].text), at))[
            :surplus
        ]
        blocks = [block for at, block in enumerate(blocks) if at not in set(going)]
    return replace(state, blocks=tuple(blocks))


def _lasting(block: RenderedBlock) -> bool:
    """Whether a block stands in the system prompt: the start block and the sections of the `refresh` preset."""
    return not block.message_id.startswith(CALL_PREFIX) and block.message_id.partition(":")[0] in LASTING


def bounded(state: SessionState, *, most: int | None) -> Callable[[str], bool]:
    """Return a function from the id of a message to whether its block stays in the history that the host sends to the model.

    The newest `most` blocks of this epoch stay, and those of the system prompt. None = all; 0 = only that of the current prompt.
    Source: the ambient seed's bounded persistence.
    """
    passing = [b for b in state.blocks if b.epoch == state.epoch and not _lasting(b)]
    if most is None:
        return lambda _message_id: True
    if most == 0:
        prompts = [b for b in passing if not b.message_id.startswith(CALL_PREFIX)]
        staying = {b.message_id for b in prompts[-1:]}
    else:
        staying = {b.message_id for b in [b for b in passing if b.text][-most:]}
    going = {b.message_id for b in passing} - staying
    return lambda message_id: message_id not in going


def staying_blocks(state: SessionState, *, most: int | None) -> tuple[str, ...] | None:
    """Return the ids of those messages of this epoch that have a block which stays in the history, oldest first; None = all stay. `most`: see `bounded`."""
    message_ids = [
        b.message_id for b in state.blocks if b.epoch == state.epoch and b.text and not _lasting(b)
    ]
    stays = bounded(state, most=most)
    return None if all(map(stays, message_ids)) else tuple(filter(stays, message_ids))


def kept_block(state: SessionState, message_id: str) -> str | None:
    """Return the text handed over for `message_id` in this epoch; "" = silence, None = nothing was decided for it yet."""
    for block in reversed(state.blocks):
        if block.message_id == message_id and block.epoch == state.epoch:
            return block.text
    return None


def up_to_fork(state: SessionState, *, copied: Mapping[str, str], turns_back: int) -> SessionState:
    """Return the parent's record, cut back to the messages that a fork has copies of.

    Args:
        state: the parent's record.
        copied: message id of the parent -> id of the copy.
        turns_back: how many prompts of the parent have no copy.
    """
    turn = max(0, state.turn - turns_back)
    blocks = tuple(
        replace(block, message_id=copied.get(block.message_id, block.message_id))
        for block in state.blocks
        if block.message_id in copied or block.message_id.startswith(CALL_PREFIX) or _lasting(block)
    )
    return replace(state, turn=turn, blocks=blocks, ledger=tuple(e for e in state.ledger if e.turn <= turn))


def expose_host_rules(state: SessionState, memories: Sequence[Memory], *, at_ms: int) -> SessionState:
    """Return the record with an exposure of the surface `host` for each of these memories that has none in this epoch: the host loaded the file that it came from, or the user said it in a prompt."""
    exposed = {(e.memory_id, e.content_hash) for e in state.ledger if e.epoch == state.epoch}
    entries = tuple(
        Exposure(
            memory_id=memory.id,
            content_hash=memory.content_hash,
            epoch=state.epoch,
            turn=state.turn,
            surface=Surface.HOST,
            tokens=0,
            at_ms=at_ms,
        )
        for memory in memories
        if (memory.id, memory.content_hash) not in exposed
    )
    return replace(state, ledger=(*state.ledger, *entries)[-MAX_EXPOSURES:])


# --- resumed sessions and forks

GOES_ON = ("resume", "fork")


def carried_start_pack(signal: Signal, state: SessionState) -> StartPack | None:
    """Return the start pack that a resumed or forked session still has in its context; None = `signal` resumes or forks nothing, or the context was lost, so that a whole pack is due."""
    if not isinstance(signal, SessionStarted) or signal.source not in GOES_ON:
        return None
    before = state.start_pack
    return before if before is not None and before.epoch == state.epoch else None


def with_lost_start(
    block: Block, state: SessionState, *, holds: Callable[[str], bool]
) -> tuple[Block, SessionState]:
    """Return (the block for a resumed session whose host lost its start block, the new record): the bytes of that start block again, then the text of `block`.

    If both together are too long for the host (`holds`), the new memories come with the prompts that need them. The host also lost the blocks of
    failures, so their exposures are removed.
    """
    earlier = kept_block(state, START_MESSAGE) or ""
    text = "\n\n".join(part for part in (earlier, block.text) if part)
    text = text if holds(text) else earlier
    state = keep_block(without_surface(state, Surface.FAILURE), message_id=START_MESSAGE, text=text)
    return replace(block, text=text), state


def ids_dropped_by_compaction(
    state: SessionState, before: StartPack | None, *, surface: Surface
) -> tuple[str, ...]:
    """Return the ids of memories that a compaction took out of the context; () unless `surface` is the compaction itself, or this is the first resume after it (`before` = its start pack)."""
    resumed = before is not None and before.surface is Surface.COMPACTION and not before.resumed
    return dropped_by_compaction(state) if resumed or surface is Surface.COMPACTION else ()


def with_start_pack(
    state: SessionState, before: StartPack | None, *, surface: Surface, at_ms: int, change: int
) -> SessionState:
    """Return the record with the start pack of `surface` noted as given at `at_ms`; `before` = the one that a resumed session continues (None = none), `change` = the store's change counter then."""
    if before is not None:
        return replace(state, start_pack=replace(before, at_ms=at_ms, change=change, resumed=True))
    started = StartPack(epoch=state.epoch, at_ms=at_ms, surface=surface, change=change)
    return replace(state, start_pack=started)


def changed_since(
    before: StartPack, versions_of: Callable[[Memory], Sequence[Recorded]]
) -> Callable[[Memory], bool]:
    """Return a function that tells whether a memory is new or changed since `before`; `versions_of` gives its versions, newest first."""

    def changed(memory: Memory) -> bool:
        old = next((version.memory for version in versions_of(memory) if version.at_ms < before.at_ms), None)
        return old is None or old.status != "active" or old.content_hash != memory.content_hash

    return changed


# Our blocks in a list of messages that an agent keeps itself: find them, bound their number, leave them out of a summary.
#
# In: messages as role and content (a text, or parts with a `text`), oldest first. Out: a new list; messages are never
# changed. For hosts that keep the list themselves `ledger.bounded` does the same by message id. Source: the ambient seed,
# "bounded persistence and compactor-aware filtering" (P1 to P3).

MARKS = (f"<{OPEN_TAG}", "[Context from memory]")
"""How a block begins; a memory's text cannot begin so, because it is escaped."""
M = TypeVar("M", bound=Mapping[str, object])


def is_block(message: Mapping[str, object]) -> bool:
    """Whether `message` is a block of Tacit: a user message with a text that begins with one of `MARKS`."""
    return message.get("role") == "user" and any(text.lstrip().startswith(MARKS) for text in _texts(message))


def prune_blocks(messages: Sequence[M], *, most: int, incoming: bool = False) -> list[M]:
    """Return a new list with the messages but for Tacit's blocks, of which only the newest `most` stay; 0 = none.

    Call it on every turn, also when nothing new is handed over. With `incoming` room is left for one more block.
    """
    at = [number for number, message in enumerate(messages) if is_block(message)]
    keep = max(0, most - 1 if incoming else most)
    gone = set(at[: max(0, len(at) - keep)])
    return [message for number, message in enumerate(messages) if number not in gone]


def without_blocks(messages: Sequence[M]) -> list[M]:
    """Return the messages without any block, for a summary: so a compaction does not retell memories as news."""
    return [message for message in messages if not is_block(message)]


def _texts(message: Mapping[str, object]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if not isinstance(content, Sequence):
        return []
    blocks = [
        cast(Mapping[str, object], block)
        for block in cast(Sequence[object], content)
        if isinstance(block, Mapping)
    ]
    return [text for block in blocks if isinstance(text := block.get("text"), str)]


# Rules that the user marked as blocking, and those that forbid a call in their own words: the call is refused once, with the rule as the reason.
#
# In: memories, the signal and the session's record before the delivery. Out: whether a rule is due, and the block as a refusal.
# Never refuses by anything that the user did not say or confirm, never twice for one rule in one epoch, never after the call.


def is_due(memory: Memory, signal: Signal, state: SessionState, *, may_refuse: bool) -> bool:
    """Whether `memory` must refuse the tool call that `signal` announces; it then comes again although it is in context.

    Only what the user said or confirmed, marked as blocking or with words that forbid this very call, once per epoch.
    `may_refuse` False = never.
    """
    if not may_refuse or not isinstance(signal, ToolStarting):
        return False
    if memory.provenance.tier is not TrustTier.USER:
        return False
    if not memory.trigger.blocking and not _forbids(memory, signal):
        return False
    return not any(
        entry.memory_id == memory.id and entry.surface is Surface.ACTION and entry.epoch == state.epoch
        for entry in state.ledger
    )


def _forbids(memory: Memory, signal: ToolStarting) -> bool:
    """Whether the words of `memory` forbid this very call."""
    facts = read_call_facts(signal.call)
    return any(moment.forbids and fit_of(moment, facts) == "now" for moment in read_moments(memory.content))


def with_refusal(
    block: Block, memories: Iterable[Memory], signal: Signal, state: SessionState, *, may_refuse: bool
) -> Block:
    """Return `block`, marked as a refusal of the tool call (`refuses`) if one of `memories` must refuse it (`is_due`); else unchanged."""
    if block.empty or block.surface is not Surface.ACTION:
        return block
    due = any(is_due(memory, signal, state, may_refuse=may_refuse) for memory in memories)
    return replace(block, refuses=True) if due else block
