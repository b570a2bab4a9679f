"""The store's records as a caller may read them, and the search over memories. In: a store, the caller. Out: records without any trace of hidden memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tacit.app.reasons import change_text
from tacit.errors import EmbedderMismatch, ProviderError
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.evidence import Hit, Ranking
from tacit.model.memory import Memory, Sensitivity, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionState
from tacit.model.trace import Drop, SilenceCause, SilenceReason, StageRecord, Trace
from tacit.model.trigger import Situation
from tacit.model.why_not import Absence, WhyNot
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, Recorded, SearchableStore, Store, StoredExposure, StoreStats
from tacit.recall.retrieve import reciprocal_rank
from tacit.safety.trust import visible_levels, why_hidden

# The store's records as a caller may read them. In: a store, the caller. Out: records without any trace of hidden memories.
#
# A program that is not the user's gets no word, no id and no number of a memory that its level hides. The level that holds is the
# present one, also for what was recorded before. Only reads; never writes.

_MEMORY_ID = re.compile(r"\bmem_\w+")
_MOST = 100_000
HIDDEN_REASON = ChangeReason(cause=ChangeCause.HIDDEN)
"""The reason that is shown in place of one that names a memory which the caller may not see."""
_UNCOUNTED = ("signal", "query")
"""Stages whose notes count no memories."""
_Row = TypeVar("_Row")


class Visibility:
    """Filters the records of one store for one caller, so that nothing of hidden memories is left in them."""

    def __init__(self, store: Store, *, speaker: Speaker, session: str = "") -> None:
        """`session` (`host/id`) is the one that asks, if it is known; it may see what was stated for it alone."""
        self._store = store
        self._session = session
        self.by_user = speaker is Speaker.USER

    @property
    def levels(self) -> tuple[Sensitivity, ...] | None:
        """The sensitivities that the caller may see in lists and counts; None = all."""
        return visible_levels(by_user=self.by_user)

    def shows(self, memory: Memory) -> bool:
        """Whether the caller may see `memory`, by its sensitivity."""
        return why_hidden(memory, session=self._session, by_user=self.by_user) is None

    def memories(self, memories: Iterable[Memory]) -> tuple[Memory, ...]:
        """Return those of `memories` that the caller may see, by their sensitivity."""
        return tuple(memory for memory in memories if self.shows(memory))

    def hidden(self, ids: Iterable[str]) -> frozenset[str]:
        """Return those of `ids` that the caller may not see, by the memories' present sensitivity."""
        unique_ids = [] if self.by_user else sorted(set(ids) - {""})
        if not unique_ids:
            return frozenset()
        memories = self._store.get(unique_ids, scope=self._store.scopes())
        return frozenset(memory.id for memory in memories if not self.shows(memory))

    def reason(self, reason: ChangeReason) -> ChangeReason:
        """Return `reason`, or `HIDDEN_REASON` if it names a memory that the caller may not see."""
        return HIDDEN_REASON if self.hidden(_named(reason)) else reason

    def words(self, text: str) -> str:
        """Return `text`, or a neutral phrase if it names a memory that the caller may not see."""
        return change_text(HIDDEN_REASON) if self.hidden(_MEMORY_ID.findall(text)) else text

    def traces(self, traces: Sequence[Trace]) -> tuple[Trace, ...]:
        """Return `traces` as if hidden memories had not been there."""
        hidden = self.hidden(name for trace in traces for name in _ids_of(trace))
        return tuple(_without(trace, hidden) for trace in traces) if hidden else tuple(traces)

    def why_not(self, answer: WhyNot) -> WhyNot:
        """Return `answer` with hidden memories called "another memory"."""
        named = [
            absence.why.detail for absence in (answer.absence, answer.recorded) if absence and absence.why
        ]
        hidden = self.hidden(name for detail in named for name in _MEMORY_ID.findall(detail))
        if not hidden:
            return answer
        return replace(
            answer,
            absence=_absence_without(answer.absence, hidden),
            recorded=_absence_without(answer.recorded, hidden),
        )

    def changes(self, versions: Sequence[Recorded]) -> tuple[Recorded, ...]:
        """Return those of `versions` whose memory the caller may read as it is now, as it was written, and as it was before."""
        hidden = self.hidden(version.memory.id for version in versions)
        return tuple(
            version
            for version in versions
            if version.memory.id not in hidden
            and self.shows(version.memory)
            and (version.before is None or self.shows(version.before))
        )

    def exposures(self, exposures: Sequence[StoredExposure]) -> tuple[StoredExposure, ...]:
        """Return those of `exposures` that are not of a hidden memory."""
        hidden = self.hidden(stored.exposure.memory_id for stored in exposures)
        return tuple(stored for stored in exposures if stored.exposure.memory_id not in hidden)

    def session(self, state: SessionState) -> SessionState:
        """Return `state` without hidden memories in its ledger."""
        hidden = self.hidden(entry.memory_id for entry in state.ledger)
        return replace(state, ledger=tuple(entry for entry in state.ledger if entry.memory_id not in hidden))

    def stats(self, counts: StoreStats) -> StoreStats:
        """Return `counts` less the memories that the caller may not see, their vectors and their exposures."""
        if self.by_user:
            return counts
        hidden = self._store.list_memories(
            MemoryFilter(statuses=None, sensitivities=tuple(set(Sensitivity) - set(self.levels or ()))),
            scope=self._store.scopes(),
            limit=_MOST,
        )
        handed = sum(len(self._store.exposures(memory_id=memory.id, limit=_MOST)) for memory in hidden)
        return replace(
            counts,
            memories_active=counts.memories_active - sum(memory.status == "active" for memory in hidden),
            memories_total=counts.memories_total - len(hidden),
            exposures=max(0, counts.exposures - handed),
            vectors=max(0, counts.vectors - len(hidden)),
        )


def first_rows(
    read: Callable[[int], Sequence[_Row]], keep: Callable[[Sequence[_Row]], Sequence[_Row]], limit: int
) -> tuple[_Row, ...]:
    """Return the first `limit` rows that `keep` lets through.

    `read` returns the first n rows; it is called with a larger n until enough rows are left, so that the length of a
    page does not tell how many were left out.
    """
    most = limit
    while True:
        rows = read(most)
        visible = keep(rows)
        if len(visible) >= limit or len(rows) < most:
            return tuple(visible[:limit])
        most *= 4


def _named(reason: ChangeReason) -> tuple[str, ...]:
    """Return the ids of the memories that a reason names, also in words that a person or a model wrote."""
    return tuple(
        name
        for part in reason.parts()
        for text in (part.detail, *part.memory_ids, *part.terms)
        for name in _MEMORY_ID.findall(text)
    )


def _ids_of(trace: Trace) -> set[str]:
    names = {candidate.memory_id for candidate in trace.candidates} | set(trace.injected)
    for stage in trace.stages:
        names |= {*stage.kept, *(drop.memory_id for drop in stage.drops)}
    return names


def _without(trace: Trace, hidden: frozenset[str]) -> Trace:
    if not hidden & _ids_of(trace):
        return trace
    was_injected = not hidden.isdisjoint(trace.injected)
    visible = replace(
        trace,
        candidates=tuple(
            replace(candidate, reasons=tuple(_unnamed(text, hidden) for text in candidate.reasons))
            for candidate in trace.candidates
            if candidate.memory_id not in hidden
        ),
        injected=tuple(name for name in trace.injected if name not in hidden),
        stages=tuple(_stage_without(stage, hidden) for stage in trace.stages),
        block="" if was_injected else trace.block,
        tokens=0 if was_injected else trace.tokens,
    )
    if was_injected and not visible.injected:
        cause = SilenceCause.NOT_RELEVANT if visible.candidates else SilenceCause.NOTHING_FOUND
        visible = replace(visible, why=SilenceReason(cause=cause))
    if was_injected and trace.surface is Surface.ON_DEMAND:
        visible = _without_question(visible)
    return visible


def _without_question(trace: Trace) -> Trace:
    """Return `trace` without the words of its question, which mostly say what the hidden memory of its answer is about."""
    stages = tuple(replace(stage, facts=()) for stage in trace.stages)
    return replace(trace, text="", situation=Situation(), asked=None, stages=stages)


def _stage_without(stage: StageRecord, hidden: frozenset[str]) -> StageRecord:
    return replace(
        stage,
        kept=tuple(name for name in stage.kept if name not in hidden),
        drops=tuple(_drop_without(drop, hidden) for drop in stage.drops if drop.memory_id not in hidden),
        facts=stage.facts if stage.stage in _UNCOUNTED else (),
    )


def _absence_without(absence: Absence | None, hidden: frozenset[str]) -> Absence | None:
    if absence is None or absence.why is None:
        return absence
    return replace(absence, why=replace(absence.why, detail=_unnamed(absence.why.detail, hidden)))


def _drop_without(drop: Drop, hidden: frozenset[str]) -> Drop:
    return replace(drop, why=replace(drop.why, detail=_unnamed(drop.why.detail, hidden)))


def _unnamed(text: str, hidden: frozenset[str]) -> str:
    return _MEMORY_ID.sub(lambda match: "another memory" if match[0] in hidden else match[0], text)


# The search over memories for the lists of the page, the command line and MCP.
#
# In: words as somebody types them, a filter, a scope. Out: memories, best first. Words count in any order, inflected, as beginnings
# of longer words and misspelled; meaning counts beside them where it stands out. The same question of the same store gives the
# same answer. Not for recall: nothing is judged, nothing is handed over.

MAX_HITS = 200
"""Most memories that one search returns."""
MAX_SEMANTIC_HITS = 20
"""Most memories that one search finds by meaning."""
MIN_DEVIATIONS_ABOVE_MEAN = 2.5
"""Standard deviations above the mean similarity of the scope from which a memory counts as found by meaning."""
MIN_SIMILARITY = 0.3


@frozen
class SearchHit:
    """A memory found by the search: its places in the rankings by words and by meaning (1 = first; None = not in it), and the fused score.

    `whole` = it holds every word of the question, perhaps in another form or spelling; the others are near.
    """

    memory: Memory
    whole: bool
    score: float
    by_words: int | None
    by_meaning: int | None


class MemorySearch:
    """Searches the memories of one store by words and by meaning. Safe to use from several threads."""

    def __init__(self, store: SearchableStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def find(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int = MAX_HITS
    ) -> tuple[SearchHit, ...]:
        """Search the memories that fit `where`: those with every word first, best first; ties by id. `where.text` and `where.after` are ignored."""
        where = replace(where, text=None, after=None, order="created")
        vector = None
        if where.as_of_ms is None and (where.statuses is None or "active" in where.statuses):
            try:
                vector = self._embedder.embed([text])[0]
            except ProviderError:
                vector = None  # words alone must do
        with self._store.at_once():
            words = Ranking(
                space="words", hits=self._store.find_memories(text, where, scope=scope, limit=MAX_HITS)
            )
            near: tuple[Hit, ...] = ()
            if vector is not None:
                try:
                    near = _above_background(
                        self._store.search.semantic(
                            vector, identity=self._embedder.identity, scope=scope, limit=MAX_HITS
                        )
                    )
                except EmbedderMismatch:
                    near = ()
            memories = self._store.get([hit.memory_id for hit in near], scope=scope)
            fitting = {memory.id for memory in memories if where.fits(memory)}
            if where.given is not None:
                given = self._store.given_times(list(fitting))
                fitting = {name for name in fitting if (name in given) == where.given}
            meaning = Ranking(
                space="semantic",
                hits=tuple(hit for hit in near if hit.memory_id in fitting)[:MAX_SEMANTIC_HITS],
            )
            whole = {hit.memory_id for hit in words.hits if hit.whole}
            fused = sorted(reciprocal_rank((words, meaning), {}), key=lambda pair: pair[0] not in whole)
            scores = dict(fused[:limit])
            by_id = {memory.id: memory for memory in self._known(list(scores), where, scope)}
        by_words = {hit.memory_id: place for place, hit in enumerate(words.hits, start=1)}
        by_meaning = {hit.memory_id: place for place, hit in enumerate(meaning.hits, start=1)}
        return tuple(
            SearchHit(
                memory=by_id[name],
                whole=name in whole,
                score=round(score, 6),
                by_words=by_words.get(name),
                by_meaning=by_meaning.get(name),
            )
            for name, score in scores.items()
            if name in by_id
        )

    def _known(self, ids: list[str], where: MemoryFilter, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return the memories as they are now, or as they were at `where.as_of_ms`."""
        current = self._store.get(ids, scope=scope)
        if where.as_of_ms is None:
            return current
        everything = self._store.scopes()
        earlier: list[Memory] = []
        for memory_id in ids:
            versions = self._store.recorded(scope=everything, limit=10_000, memory_id=memory_id)
            earlier += [next(v.memory for v in versions if v.at_ms <= where.as_of_ms)]
        return tuple(earlier)


def _above_background(ranking: Ranking) -> tuple[Hit, ...]:
    """Return the hits that are clearly nearer than memories of this scope usually are."""
    background = ranking.background
    least = MIN_SIMILARITY
    if background is not None and background.total > MAX_SEMANTIC_HITS:
        least = max(least, background.mean + MIN_DEVIATIONS_ABOVE_MEAN * background.deviation)
    return tuple(hit for hit in ranking.hits if hit.score >= least)
