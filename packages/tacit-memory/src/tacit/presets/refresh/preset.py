"""The `refresh` preset: similarity with a share of age, a start pool by sections, and the `[MEMORY]` block; its cadence stands in `cadence.py`.

The block has sections fixed per epoch, and one section refreshed each turn. The order of sections is the seed's (codexfi, context.ts).
Each list is cut by the budget stage before it comes here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, Kind, KindRegistry
from tacit.model.memory import Memory, day
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import start
from tacit.recall.render import (
    answer_line,
    cleaned,
    frame_text,
    line_text,
    needed_source,
    render_answer,
    render_block,
    side_by_side,
)
from tacit.recall.retrieve import fitted_order
from tacit.recall.score import (
    CosineFloor,
    find_shared_names,
    judge_each,
    order_by_need,
    reach_cosine,
    shipped_need,
)
from tacit.recall.stage import (
    Kit,
    Layout,
    Pipeline,
    Preset,
    RecallState,
    StartPoolDesign,
    Steps,
    newest_digests,
)
from tacit.safety.escape import escape_text

# --- block

Clean = Callable[[str], str]
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Project Brief", ("identity", "goal")),
    ("Architecture", ("decision",)),
    ("Tech Context", ("fact", "file_context", "error_pattern")),
    ("Product Context", ("research", "observation", "event")),
    ("Progress & Status", ("todo", "outcome")),
    ("Last Session", ("digest",)),
    ("User Preferences", ("preference", "correction", "anti_pattern", "guideline")),
)
RELEVANT = "Relevant to Current Task"
OPEN, CLOSE = "[MEMORY]", "[/MEMORY]"


def section_of(kind: str) -> str:
    """Title of the section that memories of `kind` stand in; kinds of the user's own stand in Tech Context."""
    return next((title for title, kinds in SECTIONS if kind in kinds), "Tech Context")


def sections_frame(surface: Surface) -> str:
    """Everything that can stand around the lines of the fixed sections."""
    del surface
    return "\n".join((OPEN, *(f"## {title}" for title, _ in SECTIONS), CLOSE))


def section_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory as one line: what it says, and, where nobody confirmed it, who said it."""
    del kinds
    return f"- {escape_text(clean(text))}{_marked(candidate)}"


def sections_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """The fixed sections alone as a block; the empty pack gives the empty text."""
    return memory_text(sections_text(cleaned(pack, clean).items, kinds), "")


def relevant_frame(surface: Surface) -> str:
    """What stands around the lines of the refreshed section alone."""
    del surface
    return "\n".join((OPEN, f"## {RELEVANT}", CLOSE))


def relevant_line(
    candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = lambda text: text
) -> str:
    """One memory with its similarity in percent and an absolute date before what it says."""
    del kinds
    share = f"{round(candidate.relevance * 100)}%, {day(candidate.memory.updated_at_ms, candidate.memory.validity.offset_ms)}"
    return f"- [{share}] {escape_text(clean(text))}{_marked(candidate)}"


def relevant_block(pack: Pack, kinds: KindRegistry, clean: Clean = lambda text: text) -> str:
    """The refreshed section alone as a block; the empty pack gives the empty text."""
    return memory_text("", relevant_text(cleaned(pack, clean).items, kinds))


def _marked(candidate: Candidate) -> str:
    source = needed_source(candidate)
    return f" ({escape_text(source)})" if source else ""


def sections_text(items: Sequence[PackItem], kinds: KindRegistry) -> str:
    """The fixed sections, without the frame; the newest digest only."""
    by_title: dict[str, list[PackItem]] = {}
    for item in items:
        by_title.setdefault(section_of(item.candidate.memory.kind), []).append(item)
    if "Last Session" in by_title:
        newest = max(
            by_title["Last Session"], key=lambda i: (i.candidate.memory.created_at_ms, i.candidate.memory.id)
        )
        by_title["Last Session"] = [newest]
    sections: list[str] = []
    for title, _ in SECTIONS:
        lines = [
            section_line(item.candidate, item.text, kinds) for item in side_by_side(by_title.get(title, []))
        ]
        if lines:
            sections.append("\n".join((f"## {title}", *lines)))
    return "\n".join(sections)


def relevant_text(items: Sequence[PackItem], kinds: KindRegistry) -> str:
    """The refreshed section, without the frame, the most similar first."""
    ranked = sorted(items, key=lambda i: (-i.candidate.relevance, i.candidate.memory.newest_first))
    lines = [relevant_line(item.candidate, item.text, kinds) for item in side_by_side(ranked)]
    return "\n".join((f"## {RELEVANT}", *lines)) if lines else ""


def memory_text(sections: str, relevant: str) -> str:
    """The whole block of both parts; the empty text when both are empty."""
    inner = "\n".join(part for part in (sections, relevant) if part)
    return f"{OPEN}\n{inner}\n{CLOSE}" if inner else ""


# --- score and start pool

DAY_MS = 86_400_000
RECENCY_PROJECT = 0.15
RECENCY_UNIVERSAL = 0.10
SHARES: Mapping[str, float] = {
    "identity": 0.05, "goal": 0.05, "decision": 0.25, "fact": 0.12, "file_context": 0.05, "error_pattern": 0.05, "research": 0.05,
    "observation": 0.02, "event": 0.02, "todo": 0.08, "outcome": 0.04, "digest": 0.10, "preference": 0.06, "correction": 0.03,
    "anti_pattern": 0.02, "guideline": 0.01,
}  # fmt: skip
"""Shares of the tokens of the fixed sections, by kind."""
SECTION_READ = 100
SECTION_ITEMS = 30
"""Most memories of one section that are looked at, newest first, and that may come."""
START_POOL_KEEP_MS = 15 * 60_000


def similarity_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Similarity of `candidate` to the words of `query` with a share of recency, 0 to 1; what has no cosine is not similar.

        score = (1 - w) * cosine + w * exp(-0.1 * age in days)    (source: the refresh seed, codexfi, store.ts)

    The age is taken at the moment asked for. Values below 0 count as 0. The weight w is 0.15 for project memories and 0.10
    for universal ones, as the seed says.
    """
    del kind
    cosine = candidate.score("semantic")
    if cosine is None:
        return 0.0, ("no cosine",)
    memory = candidate.memory
    weight = RECENCY_UNIVERSAL if memory.scope.kind is ScopeKind.UNIVERSAL else RECENCY_PROJECT
    age_days = max(0, query.at_ms - memory.updated_at_ms) / DAY_MS
    value = (1 - weight) * cosine + weight * math.exp(-0.1 * age_days)
    return min(1.0, max(0.0, value)), (f"cosine {cosine:.2f}",)


def sections_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Candidates of all sections, the most needed of each section first, and a fact per section.

    The refresh seed reads the project's memories and sorts them into sections by type. Here each section has a list of its
    own, so that no kind crowds out another: the newest are read, the pinned ones and the most needed of them come first, and
    of all digests the last one.
    """
    del settings
    names = {*(kind.name for kind in kinds), *kinds.unknown(store.kinds(scope=scope))}
    candidates: list[Candidate] = []
    facts: list[Note] = []
    for title, _ in SECTIONS:
        own = tuple(sorted(name for name in names if section_of(name) == title))
        listed = store.list_memories(MemoryFilter(kinds=own), scope=scope, limit=SECTION_READ)
        memories = _last_digest([memory for memory in listed if memory.validity.holds_at(at_ms)])
        needs = shipped_need().needs(memories, kinds=kinds, at_ms=at_ms)
        ordered = sorted(order_by_need(memories, needs), key=lambda needed: not needed[0].pinned)
        candidates += [
            Candidate(memory=memory, scores=(("recent", 1.0),), fused=need, relevance=need)
            for memory, need in ordered[:SECTION_ITEMS]
        ]
        facts.append(
            Note(
                cause=NoteCause.LISTED, detail=title, count=min(len(ordered), SECTION_ITEMS), of=len(ordered)
            )
        )
    return tuple(candidates), tuple(facts)


def _last_digest(memories: list[Memory]) -> tuple[Memory, ...]:
    """The memories, with only the newest digest of each branch."""
    return (*(memory for memory in memories if memory.kind != DIGEST), *newest_digests(memories))


_RELEVANT = Layout(frame=relevant_frame, line=relevant_line, block=relevant_block)
_FOUND = Layout(frame=lambda surface: "\n".join(frame_text(surface)), line=line_text, block=render_block)
_ANSWER = Layout(frame=lambda surface: "\n".join(frame_text(surface)), line=answer_line, block=render_answer)
_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: similarity_relevance(query, candidate, kind)
)


def _near(settings: RecallSettings) -> CosineFloor:
    return CosineFloor(cosine=settings.refresh.cosine, kinds=settings.kinds)


def searching(kit: Kit, state: RecallState) -> Pipeline:
    """A search for the newest message alone; what is near enough, or shares a rare name."""
    reach: Steps = (("score", partial(reach_cosine, _near)),)
    if state.query.surface in (Surface.PROMPT, Surface.SUBAGENT):
        reach = (("score", partial(find_shared_names, kit.tools)), *reach)
    return search(kit, state, judge=_JUDGE, reach=reach)


PRESET = Preset(
    name="refresh",
    pipelines={
        Surface.START: start,
        Surface.COMPACTION: start,
        Surface.PROMPT: searching,
        Surface.ACTION: searching,
        Surface.FAILURE: searching,
        Surface.SUBAGENT: searching,
        Surface.ON_DEMAND: partial(judged_answer, judge=_JUDGE),
    },
    layout=Layout(
        frame=sections_frame,
        line=section_line,
        block=sections_block,
        frame_is_most=True,
        others={
            Surface.PROMPT: _RELEVANT,
            Surface.ACTION: _FOUND,
            Surface.FAILURE: _FOUND,
            Surface.ON_DEMAND: _ANSWER,
        },
    ),
    # Each section has a list of its own, so that many memories of one kind do not crowd out the others.
    start_pool=StartPoolDesign(make=sections_start, keep_ms=START_POOL_KEEP_MS, one_digest=True),
    fuse=fitted_order,
    # Each kind has its share of the sections; what one leaves goes to the others.
    shares=lambda _settings, surface: SHARES if surface is Surface.START else {},
    # The block goes into the system prompt, in every request.
    every_call=True,
    # The newest message alone drives the search: with the one before it, the old topic would win a switch.
    follow_ups=False,
)
