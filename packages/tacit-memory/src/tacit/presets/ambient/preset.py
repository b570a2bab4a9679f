"""The `ambient` preset: rank fusion with importance and age, pinned memories, one cap on every surface, nothing that says the same twice.

Source of the order, of the pinned memories and of the block: the ambient seed. The outermost lines of its block stay the
delimiters of `recall/render.py`; the line inside them is the seed's own mark, by which the blocks of a message list can be found as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.model.evidence import PINNED, Candidate
from tacit.model.kinds import Kind, KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Pack, Surface
from tacit.model.query import Query
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.budget import pack_candidates
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import BY_NEED, start
from tacit.recall.render import delimiters, side_by_side, source_of
from tacit.recall.retrieve import rrf_equal
from tacit.recall.score import CosineFloor, find_shared_names, judge_each, reach_cosine
from tacit.recall.stage import Kit, Layout, Outcome, Pipeline, Preset, RecallState, Steps, Tools
from tacit.safety.escape import Clean, escape_text, unchanged
from tacit.safety.trust import why_not_on

ALPHA_IMPORTANCE = 0.01
BETA_RECENCY = 0.005
ONE_FIRST_RANK = 1 / 61
MARK = "[Context from memory]"
PINNED_TITLE = "[Pinned context]"
RELEVANT_TITLE = "[Relevant to this message]"
KNOWN_TITLE = "[Known from earlier work]"
"""Title of the memories at a start and after a compaction."""
PINNED_SURFACES = (Surface.START, Surface.PROMPT)
_SPARE = 4
"""How many more are read than the limit, to replace those that trust or validity takes out."""


def add_pinned(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Put the pinned memories in front of the state's `passed`. Reads the store."""
    pinned = pinned_candidates(state.query, store=tools.store, settings=state.settings)
    pinned_ids = {candidate.memory.id for candidate in pinned}
    unpinned = (candidate for candidate in state.passed or () if candidate.memory.id not in pinned_ids)
    return Outcome(kept=state.changed(passed=(*pinned, *unpinned)))


def pinned_candidates(
    query: Query, *, store: SearchableStore, settings: RecallSettings
) -> tuple[Candidate, ...]:
    """Return the memories pinned by hand, then at most `pinned_limit` of every pinned kind, kinds in the order of the settings.

    Validity and trust apply; thresholds, age and the delay before a memory may come again do not.
    """
    by_hand = store.list_memories(MemoryFilter(pinned=True), scope=query.scope, limit=settings.max_items)
    pinned_by_id = {memory.id: memory for memory in _ordered(_admitted(by_hand, query), settings)}
    for kind in settings.ambient.pinned_kinds:
        limit = settings.ambient.pinned_limit + _SPARE
        if settings.ambient.pinned_sort == "recent":
            memories = store.list_memories(MemoryFilter(kinds=(kind,)), scope=query.scope, limit=limit)
        else:
            hits = store.search.standing([kind], scope=query.scope, limit=limit).hits
            memories = store.get([hit.memory_id for hit in hits], scope=query.scope)
        pinned_by_id |= {
            memory.id: memory for memory in _admitted(memories, query)[: settings.ambient.pinned_limit]
        }
    return tuple(
        Candidate(memory=memory, fused=1.0 - place / 1000, relevance=1.0, reasons=(PINNED,))
        for place, memory in enumerate(pinned_by_id.values())
    )


def _admitted(memories: Sequence[Memory], query: Query) -> list[Memory]:
    return [
        m
        for m in memories
        if m.validity.holds_at(query.at_ms)
        and why_not_on(m, query.surface, session=query.session) is None
        and query.why_elsewhere(m) is None
    ]


def _ordered(memories: list[Memory], settings: RecallSettings) -> list[Memory]:
    if settings.ambient.pinned_sort == "recent":
        return memories
    return sorted(memories, key=lambda memory: (-memory.importance, memory.newest_first))


def ambient_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return the fused score with small additions for importance and freshness, 0-1, and a reason. It orders and gates nothing.

        x = rrf + 0.01 * importance + 0.005 * freshness    (source: the ambient seed, hybrid search improvements, 3)
        relevance = x / (x + 1 / 61)

    The second line only maps x to 0-1 in the same order: the first of one ranking alone (1 / 61) becomes one half. What is
    near enough is decided by the floors, because a sum of reciprocal ranks says nothing about quality.
    """
    del query, kind
    fresh = candidate.score("recent") or 0.0
    value = candidate.fused + ALPHA_IMPORTANCE * candidate.memory.importance + BETA_RECENCY * fresh
    return value / (value + ONE_FIRST_RANK), (f"fused {candidate.fused:.4f}",)


def ambient_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line: `[Decision] We chose JWT. (importance: 0.8; user, 2026-11-20)`; kinds under their own names, as `Todo`."""
    del kinds
    memory = candidate.memory
    source = escape_text(clean(source_of(candidate)))
    kind = memory.kind.replace("_", " ").capitalize()
    return f"[{kind}] {escape_text(clean(text))} (importance: {memory.importance:.1f}; {source})"


def ambient_frame(surface: Surface) -> str:
    """Return every delimiter and title that a block of this preset can have, one a line. Their tokens are subtracted from the budget before memories are chosen."""
    first, last = delimiters(surface)
    return "\n".join((first, MARK, PINNED_TITLE, _title(surface), last))


def ambient_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block: a section of pinned memories and one of the others, empty ones left out; "" for the empty pack."""
    if not pack.items:
        return ""
    first, last = delimiters(pack.surface)
    lines: list[str] = []
    for title, pinned in ((PINNED_TITLE, True), (_title(pack.surface), False)):
        items = side_by_side(i for i in pack.items if (PINNED in i.candidate.reasons) is pinned)
        if items:
            lines += [title, *(ambient_line(i.candidate, i.text, kinds, clean) for i in items)]
    return "\n".join((first, MARK, *lines, last))


def _title(surface: Surface) -> str:
    return KNOWN_TITLE if surface in (Surface.START, Surface.COMPACTION) else RELEVANT_TITLE


def pack_ambient(state: RecallState) -> Outcome[Pack]:
    """Pack at most `recall.max_items` memories on every surface; an answer is bounded by its budget alone."""
    on_demand = state.query.surface is Surface.ON_DEMAND
    return pack_candidates(state, state.fresh or (), most=None if on_demand else state.settings.max_items)


_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: ambient_relevance(query, candidate, kind)
)


def _near(settings: RecallSettings) -> CosineFloor:
    return CosineFloor(ratio=settings.ambient.ratio, cosine=settings.ambient.cosine, kinds=settings.kinds)


def search_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a search: search, and keep what is near enough, shares a rare name, or is related to what passed.

    Pinned memories come first, where the settings and the surface have them.
    """
    reach: Steps = (("score", partial(reach_cosine, _near)),)
    if state.query.surface in (Surface.PROMPT, Surface.SUBAGENT):
        reach = (("score", partial(find_shared_names, kit.tools)), *reach)
    pinned: Steps = ()
    if state.settings.ambient.enabled and state.query.surface in PINNED_SURFACES:
        pinned = (("guard", partial(add_pinned, kit.tools)),)
    return search(kit, state, judge=_JUDGE, reach=reach, beside=pinned)


def start_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a start or a compaction: put pinned memories first, where the settings and the surface have them, then go on as `pipelines.start`."""
    pipeline = start(kit, state)
    if not state.settings.ambient.enabled or state.query.surface not in PINNED_SURFACES:
        return pipeline
    steps = list(pipeline.choose)
    behind = [stage for stage, _ in steps].index("guard") + 1
    steps.insert(behind, ("guard", partial(add_pinned, kit.tools)))
    return replace(pipeline, choose=tuple(steps))


PRESET = Preset(
    name="ambient",
    pipelines={
        Surface.START: start_pipeline,
        Surface.COMPACTION: start_pipeline,
        Surface.PROMPT: search_pipeline,
        Surface.ACTION: search_pipeline,
        Surface.FAILURE: search_pipeline,
        Surface.SUBAGENT: search_pipeline,
        Surface.ON_DEMAND: partial(judged_answer, judge=_JUDGE),
    },
    layout=Layout(
        frame=ambient_frame,
        line=ambient_line,
        block=ambient_block,
        pack=pack_ambient,
    ),
    start_pool=BY_NEED,
    # Reciprocal rank fusion with k = 60, every source counting the same.
    fuse=rrf_equal,
    # All of them are looked at.
    shortlist=60,
    # Best first, whatever the kind.
    order="value",
    # The search is for the message alone, however short it is.
    follow_ups=False,
)
