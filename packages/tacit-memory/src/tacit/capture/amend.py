"""Edits of digests that quote decisions which ended or were restricted. In: changes about to be stored. Out: these changes, and edits of digests.

A digest quotes what was decided. When the decision is replaced, forgotten, taken back or hidden from agents by its sensitivity,
the line goes: it must not come back with the story of an earlier session. Reads the store; never writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Edit, Merge, Retire, Supersede
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory, Sensitivity
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, MemoryStore
from tacit.reading.digest_lines import lines_of, without_line

QUOTED = ("decision", "correction")
"""Kinds of which a digest quotes the words."""
_OVER = ("superseded", "retired")
_MOST = 50


def with_amended_digests(changes: Sequence[Change], store: MemoryStore) -> tuple[Change, ...]:
    """`changes` in their order, their digests without lines that hold no more; behind them edits of stored digests."""
    ended = _ended(changes, store)
    amended = [_amended(change, ended, store) for change in changes]
    digest_ids = {
        change.memory.id for change in amended if isinstance(change, Add | Edit) and _is_digest(change.memory)
    }
    at_ms = max((_moment(change) for change in changes), default=0)
    return (*amended, *_edits(ended, store, digest_ids, at_ms))


def _ended(changes: Sequence[Change], store: MemoryStore) -> tuple[Memory, ...]:
    """Decisions that `changes` end, or hide from agents."""
    ids: list[str] = []
    for change in changes:
        match change:
            case Supersede():
                ids += [change.old_id, *change.further]
            case Retire():
                ids.append(change.memory_id)
            case Edit() | Merge() if _is_untold(change.memory):
                ids.append(change.memory.id)
            case _:
                pass
    memories = store.get(ids, scope=store.scopes()) if ids else ()
    return tuple(memory for memory in memories if memory.kind in QUOTED)


def _amended(change: Change, ended: Sequence[Memory], store: MemoryStore) -> Change:
    """A digest that is written now: without what ends now, and without what an earlier reading said and has ended since."""
    if not isinstance(change, Add | Edit) or not _is_digest(change.memory):
        return change
    memory = change.memory
    over = [gone.content for gone in ended if gone.scope == memory.scope]
    scope = ScopeFilter.of(memory.scope)
    for code, text in lines_of(memory.content):
        if code == "dec":
            quoting = MemoryFilter(kinds=QUOTED, statuses=None, text=text.removesuffix("..."))
            memories = store.list_memories(quoting, scope=scope, limit=_MOST)
            if memories and all(_is_untold(statement) for statement in memories):
                over += [statement.content for statement in memories]
    return replace(change, memory=replace(memory, content=_without(memory.content, over) or memory.content))


def _edits(ended: Iterable[Memory], store: MemoryStore, digest_ids: set[str], at_ms: int) -> list[Change]:
    """Return edits of the stored digests that quote an ended statement."""
    digests: dict[str, Memory] = {}
    contents: dict[str, str] = {}
    for memory in ended:
        quoting = MemoryFilter(kinds=(DIGEST,), text=f"dec: {memory.content[:100]}")
        for note in store.list_memories(quoting, scope=ScopeFilter.of(memory.scope), limit=_MOST):
            if note.id not in digest_ids:
                digests[note.id] = note
                contents[note.id] = _without(contents.get(note.id, note.content), [memory.content])
    reason = ChangeReason(cause=ChangeCause.QUOTES_ENDED)
    return [
        Edit(memory=replace(digests[name], content=content), reason=reason)
        if content
        else Retire(memory_id=name, at_ms=at_ms, reason=reason)
        for name, content in contents.items()
        if content != digests[name].content
    ]


def _moment(change: Change) -> int:
    if isinstance(change, Supersede | Retire):
        return change.at_ms
    return change.memory.updated_at_ms if isinstance(change, Edit) else 0


def _is_untold(memory: Memory) -> bool:
    """Whether no digest may quote it: a digest is shown to agents."""
    return memory.status in _OVER or memory.sensitivity > Sensitivity.PROJECT


def _is_digest(memory: Memory) -> bool:
    return memory.kind == DIGEST


def _without(content: str, over: Iterable[str]) -> str:
    for text in over:
        content = without_line(content, "dec", text)
    return content
