"""The review queue: what waits for the user. In: a store, what is asked for. Out: entries in order, counts, reasons in words.

In the queue: pairs that contradict each other and that agents had three sessions to settle and did not, then statements that wait for a confirmation, newest first. Never changes
anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tacit.app.reasons import change_text
from tacit.model.change_reason import ChangeReason
from tacit.model.memory import BY_TOOL, Memory, Relation, Sensitivity, TrustTier
from tacit.model.scope import ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.statements.near import word_overlap
from tacit.text.spelling import holds_words
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import PATH_WORD

LIVE: tuple[Literal["active"], Literal["quarantined"]] = ("active", "quarantined")
MAX_ENTRIES = 100_000
MIN_SHARED_WORDS = 0.5
"""Least share of words in common at which two statements are said to differ in the others."""
SHOWN_CHARS = 160
SHOWN_WORDS = 4

ReviewCause = Literal["contradiction", "agent", "import", "unconfirmed", "branch"]
"""Why a statement waits: it contradicts another one; an agent added it; it was imported; it was captured and not confirmed; its branch was deleted."""

ReviewGroup = Literal["kind", "source", "tier", "cause", "scope"]
GROUPS: tuple[ReviewGroup, ...] = ("kind", "source", "tier", "cause", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """One question to the user.

    Attributes:
        memory: the statement in question, the later one of a pair.
        other: what it contradicts; None = it waits for a confirmation.
        cause: why it is here, as one of a few words.
        reason: why it is here, as a sentence.
        alike: whether the words of a pair are alike enough for a comparison word by word.
    """

    memory: Memory
    other: Memory | None
    cause: ReviewCause
    reason: str
    alike: bool = False

    @property
    def groups(self) -> Mapping[ReviewGroup, str]:
        """The group of each sort that it belongs to."""
        scope = self.memory.scope
        return {
            "kind": self.memory.kind,
            "source": self.memory.provenance.source,
            "tier": self.memory.provenance.tier.name.lower(),
            "cause": self.cause,
            "scope": str(project_scope(scope.project_id)) if scope.project_id else str(scope),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter:
    """Which entries; an empty field asks for all. `text` = all of these words, in any order."""

    kind: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage:
    """Part of the queue.

    Attributes:
        items: the entries.
        total: how many the filter asks for.
        waiting: how many wait in all.
        groups: of those asked for, how many by kind, source, tier, cause and scope, most first.
        following: where the next part begins; None = this is the last.
    """

    items: tuple[ReviewItem, ...]
    total: int
    waiting: int
    groups: Mapping[ReviewGroup, Sequence[tuple[str, int]]]
    following: tuple[int, str] | None


_EVERYTHING = ReviewFilter()
_Entry = tuple[Memory, Memory | None]
_Place = tuple[int, int, str, str]


class ReviewQueue:
    """Reads what waits, from one store."""

    def __init__(
        self, store: SearchableStore, *, settles: Callable[[], Callable[[Relation], bool] | None]
    ) -> None:
        """`settles`: of a pair, whether agents may still settle it; None = they settle none."""
        self._store = store
        self._settles = settles

    def page(
        self,
        where: ReviewFilter = _EVERYTHING,
        *,
        scope: ScopeFilter | None = None,
        limit: int = 50,
        after: tuple[int, str] | None = None,
        levels: tuple[Sensitivity, ...] | None = None,
    ) -> ReviewPage:
        """The entries that `where` asks for, from the one after `after`, which is a `following`.

        Memories of other sensitivities than `levels` (None = any) are neither shown nor counted.
        """
        entries = self._entries(scope or self._store.scopes(), levels)
        fitting = _filtered(entries, where)
        counts: dict[ReviewGroup, Counter[str]] = {name: Counter() for name in GROUPS}
        for memory, other in fitting:
            for name, value in ReviewItem(
                memory=memory, other=other, cause=_cause(memory, other), reason=""
            ).groups.items():
                counts[name][value] += 1
        remaining = (
            fitting if after is None else [item for item in fitting if _place(item) > _place_of(after)]
        )
        shown = remaining[: max(limit, 0)]
        return ReviewPage(
            items=tuple(self._item(*entry) for entry in shown),
            total=len(fitting),
            waiting=len(entries),
            groups={
                name: sorted(count.items(), key=lambda item: (-item[1], item[0]))
                for name, count in counts.items()
            },
            following=_following(shown[-1]) if shown and len(remaining) > len(shown) else None,
        )

    def matching(self, where: ReviewFilter, *, scope: ScopeFilter | None) -> tuple[Memory, ...]:
        """The statements in question of all entries that `where` asks for, each once."""
        entries = _filtered(self._entries(scope or self._store.scopes()), where)
        return tuple({memory.id: memory for memory, _ in entries}.values())

    def _entries(self, scope: ScopeFilter, levels: tuple[Sensitivity, ...] | None = None) -> list[_Entry]:
        live = MemoryFilter(statuses=LIVE, sensitivities=levels)
        with self._store.at_once():
            edges = [
                relation for relation in self._store.relations_of("contradicts", scope=scope) if relation.asks
            ]
            ends = dict.fromkeys(
                end for relation in edges for end in (relation.source_id, relation.target_id)
            )
            by_id = {
                memory.id: memory for memory in self._store.get(list(ends), scope=scope) if live.fits(memory)
            }
            unconfirmed = replace(live, statuses=("quarantined",))
            waiting = self._store.list_memories(unconfirmed, scope=scope, limit=MAX_ENTRIES)
        settles = self._settles()
        pairs = [
            (by_id[edge.source_id], by_id[edge.target_id])
            for edge in edges
            if {edge.source_id, edge.target_id} <= by_id.keys()
            and not any(by_id[end].ranks_behind for end in (edge.source_id, edge.target_id))
            and not (settles is not None and self._is_shown(edge, by_id) and settles(edge))
        ]
        paired = {memory.id for pair in pairs for memory in pair}
        entries: list[_Entry] = [*pairs, *((memory, None) for memory in waiting if memory.id not in paired)]
        return sorted(entries, key=_place)

    def _is_shown(self, pair: Relation, by_id: Mapping[str, Memory]) -> bool:
        """Whether agents are shown a pair: both of it are active."""
        return all(by_id[end].status == "active" for end in (pair.source_id, pair.target_id))

    def _item(self, memory: Memory, other: Memory | None) -> ReviewItem:
        cause = _cause(memory, other)
        if other is None and memory.branch is not None and memory.branch.gone:
            reason = (
                f"learned on the branch {memory.branch.name}, which is gone; it is not known whether it was merged. "
                "If you accept it, it holds for the whole project; if you reject it, it is dropped"
            )
            return ReviewItem(memory=memory, other=None, cause=cause, reason=reason)
        if other is None:
            return ReviewItem(
                memory=memory, other=None, cause=cause, reason=f"{_source_text(memory)}, not confirmed by you"
            )
        versions = self._store.recorded(scope=self._store.scopes(), limit=MAX_ENTRIES, memory_id=memory.id)
        alike = word_overlap(memory.content, other.content) >= MIN_SHARED_WORDS
        reason = _contradiction(memory, other, versions[-1].reason if versions else None, alike=alike)
        return ReviewItem(memory=memory, other=other, cause=cause, reason=reason, alike=alike)


def _place(entry: _Entry) -> _Place:
    """Pairs first, then the newest statement first; ties by id."""
    memory, other = entry
    return int(other is None), -memory.created_at_ms, memory.id, other.id if other else ""


def _following(entry: _Entry) -> tuple[int, str]:
    memory, other = entry
    return memory.created_at_ms, f"{memory.id} {other.id if other else ''}"


def _place_of(following: tuple[int, str]) -> _Place:
    created, names = following
    memory, _, other = names.partition(" ")
    return int(not other), -created, memory, other


def _filtered(entries: Sequence[_Entry], where: ReviewFilter) -> list[_Entry]:
    if where == _EVERYTHING:
        return list(entries)
    selected: dict[ReviewGroup, set[str]] = {
        name: set(values) for name in GROUPS if (values := getattr(where, name))
    }
    return [entry for entry in entries if _fits(entry, selected, where.text)]


def _fits(entry: _Entry, selected: Mapping[ReviewGroup, set[str]], text: str) -> bool:
    memory, other = entry
    groups = ReviewItem(memory=memory, other=other, cause=_cause(memory, other), reason="").groups
    if any(groups[name] not in values for name, values in selected.items()):
        return False
    return not text or holds_words(f"{memory.content} {other.content if other else ''}", text)


def _cause(memory: Memory, other: Memory | None) -> ReviewCause:
    if other is not None:
        return "contradiction"
    if memory.branch is not None and memory.branch.gone:
        return "branch"
    if memory.provenance.speaker == "agent":
        return "agent"
    return "import" if memory.provenance.tier is TrustTier.IMPORT else "unconfirmed"


def _source_text(memory: Memory) -> str:
    """Describe the source of a memory in words."""
    provenance = memory.provenance
    if provenance.speaker == "agent":
        if provenance.source == BY_TOOL:
            return "added by the agent (memory_add)"
        return "added by a command or request that did not prove to be yours"
    if provenance.tier is TrustTier.IMPORT and provenance.host:
        return f"imported from {provenance.host}"
    return f"said by {provenance.speaker}"


def _shared(text: str, other: str) -> list[str]:
    """Words of `text` as they are written there that mean something and stand in `other`, too."""
    words = dict.fromkeys(PATH_WORD.findall(text))
    others = {word.lower() for word in PATH_WORD.findall(other)} - STATEMENT_STOP_WORDS
    return [word for word in words if word.lower() in others][:SHOWN_WORDS]


def _is_about(reason: ChangeReason, memory_id: str) -> bool:
    """Whether a reason tells how the memory `memory_id` differs."""
    return memory_id in reason.memory_ids


def _contradiction(memory: Memory, other: Memory, recorded: ChangeReason | None, *, alike: bool) -> str:
    """Explain why a pair waits, and name the memory that accepting the later one would replace.

    What was recorded says how the two differ word by word: of other than similar texts nobody can read that.
    """
    parts = recorded.parts() if recorded is not None else ()
    reason = next((part for part in parts if _is_about(part, other.id)), None)
    against = next((change_text(part.but) for part in reversed(parts) if part.but is not None), "")
    shared = _shared(memory.content, other.content)
    if alike and reason is not None:
        how = change_text(replace(reason, further=())).replace(other.id, "the one on record")
    elif shared:
        how = f"both speak of {', '.join(shared)}" + (f", but {against}" if against else "")
    else:
        how = "the two may not both hold" + (f": {against}" if against else "")
    shown = (
        other.content if len(other.content) <= SHOWN_CHARS else f"{other.content[:SHOWN_CHARS].rstrip()}..."
    )
    return (
        f"{how}. Accepting it replaces \N{LEFT DOUBLE QUOTATION MARK}{shown}\N{RIGHT DOUBLE QUOTATION MARK}"
    )
