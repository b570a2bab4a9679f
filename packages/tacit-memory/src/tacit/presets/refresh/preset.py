"""The preset `refresh`: a block in the system prompt that is rebuilt by a cadence."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.errors import TacitError
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, Kind, KindRegistry
from tacit.model.memory import Memory, day
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Block, Pack, PackItem, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.model.session import SessionState
from tacit.model.trace import DropReason, Trace
from tacit.model.trigger import Situation
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.reading.sentences import split_sentences
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import start
from tacit.recall.render import (
    answer_line,
    frame_lines,
    line_text,
    needed_source,
    render_answer,
    render_block,
    side_by_side,
    with_clean_items,
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
    Context,
    Delivered,
    Kit,
    Layout,
    Pipeline,
    Preset,
    RecallState,
    StageLog,
    StartPoolDesign,
    Steps,
    newest_digests,
)
from tacit.safety.escape import Clean, escape_text, unchanged
from tacit.session import ledger

# The `refresh` preset: similarity with a share of age, a start pool by sections, and the `[MEMORY]` block; its cadence stands above.
#
# The block has sections fixed per epoch, and one section refreshed each turn. The order of sections is the seed's (codexfi, context.ts).
# Each list is cut by the budget stage before it comes here.

# --- block

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
    """Return the title of the section for memories of `kind`; unknown kinds belong to Tech Context."""
    return next((title for title, kinds in SECTIONS if kind in kinds), "Tech Context")


def sections_frame(surface: Surface) -> str:
    """Return the delimiters and all section titles as one text, whose tokens are reserved.

    It is the same for every surface.
    """
    del surface
    return "\n".join((OPEN, *(f"## {title}" for title, _ in SECTIONS), CLOSE))


def section_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line of a fixed section; its source only where a warning, branch or day is needed."""
    del kinds
    return f"- {escape_text(clean(text))}{_marked(candidate)}"


def sections_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block of the fixed sections alone; "" for the empty pack."""
    return memory_text(sections_text(with_clean_items(pack, clean).items, kinds), "")


def relevant_frame(surface: Surface) -> str:
    """Return the delimiters and title of the refreshed section, so that their tokens are reserved."""
    del surface
    return "\n".join((OPEN, f"## {RELEVANT}", CLOSE))


def relevant_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line of the refreshed section: relevance in percent, date, then its words."""
    del kinds
    share = f"{round(candidate.relevance * 100)}%, {day(candidate.memory.updated_at_ms, candidate.memory.validity.offset_ms)}"
    return f"- [{share}] {escape_text(clean(text))}{_marked(candidate)}"


def relevant_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block of the refreshed section alone; "" for the empty pack."""
    return memory_text("", relevant_text(with_clean_items(pack, clean).items, kinds))


def _marked(candidate: Candidate) -> str:
    source = needed_source(candidate)
    return f" ({escape_text(source)})" if source else ""


def sections_text(items: Sequence[PackItem], kinds: KindRegistry, *, named: bool = False) -> str:
    """Return the text of the fixed sections without delimiters, with the newest digest only; "" without items.

    `named` puts the memory's id and a tab before each line, for `sections_without`.
    """
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
            f"{item.candidate.memory.id}\t" * named + section_line(item.candidate, item.text, kinds)
            for item in side_by_side(by_title.get(title, []))
        ]
        if lines:
            sections.append("\n".join((f"## {title}", *lines)))
    return "\n".join(sections)


def sections_without(named: str, moved: Collection[str]) -> str:
    """Return the `named` text of the fixed sections without the ids, the lines of the memories `moved`, and titles that have no line left."""
    lines: list[str] = []
    for line in named.split("\n"):
        name, tab, text = line.partition("\t")
        if not tab and lines and lines[-1].startswith("## "):
            lines.pop()
        if name not in moved:
            lines.append(text if tab else name)
    return "\n".join(lines[:-1] if lines[-1].startswith("## ") else lines)


def relevant_text(items: Sequence[PackItem], kinds: KindRegistry) -> str:
    """Return the text of the refreshed section without delimiters, most relevant first; "" without items."""
    ranked = sorted(items, key=lambda i: (-i.candidate.relevance, i.candidate.memory.newest_first))
    lines = [relevant_line(item.candidate, item.text, kinds) for item in side_by_side(ranked)]
    return "\n".join((f"## {RELEVANT}", *lines)) if lines else ""


def memory_text(sections: str, relevant: str) -> str:
    """Return the `[MEMORY]` block of both texts; "" if both are empty."""
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
"""Most memories of one section that are read, newest first, and most that become candidates."""
START_POOL_KEEP_MS = 15 * 60_000


def similarity_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return the cosine of `candidate` with a share of recency, 0-1, and a reason; 0 if it has no cosine.

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
    """Read the start pool: candidates of all sections, pinned and most needed of each first, and a note for each section.

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
    """Return the memories with only the newest digest of each branch."""
    return (*(memory for memory in memories if memory.kind != DIGEST), *newest_digests(memories))


_RELEVANT = Layout(frame=relevant_frame, line=relevant_line, block=relevant_block)
_FOUND = Layout(frame=frame_lines, line=line_text, block=render_block)
_ANSWER = Layout(frame=frame_lines, line=answer_line, block=render_answer)
_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: similarity_relevance(query, candidate, kind)
)


def _near(settings: RecallSettings) -> CosineFloor:
    return CosineFloor(cosine=settings.refresh.cosine, kinds=settings.kinds)


def search_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a search: search, and keep what is near enough or, for a prompt or a task, shares a rare name."""
    reach: Steps = (("score", partial(reach_cosine, _near)),)
    if state.query.surface in (Surface.PROMPT, Surface.SUBAGENT):
        reach = (("score", partial(find_shared_names, kit.tools)), *reach)
    return search(kit, state, judge=_JUDGE, reach=reach)


# --- facts
#
# What is stored of a request to remember: each fact as a memory of its own, so that each can move in the block by itself: the sentences of a
# statement, if every one of them stands alone, else the statement as it is. When in doubt it stays whole: a memory of two facts is found by
# either, half a thought by none.

LEAST_WORDS, MOST_WORDS, MOST_FACTS = 4, 40, 6
_LEANING_TEXT = """
it its they them their these those this that he him his she her here there such both one ones former latter same otherwise instead then
therefore thus hence so because since also too but and or yet however never always only not no neither nor else again nobody nothing us
"""
_LEANING = frozenset(_LEANING_TEXT.split())
"""A sentence with one of these leans on another one, or forbids and orders what another one is about."""
_VERBS_TEXT = """
is are has have uses use runs run lives live holds hold goes go needs need comes come stores store keeps keep belongs belong requires
require listens listen sends send means mean works work reads read writes write depends depend starts start ends end takes take
"""
_VERBS = frozenset(_VERBS_TEXT.split())
_WORD = re.compile(r"[a-z']+")


def facts_in(statement: str) -> tuple[str, ...]:
    """Return the facts of `statement`: its sentences, if there are several and each stands alone, else `statement` alone."""
    sentences = split_sentences(statement) if "\n" not in statement.strip() else ()
    if 1 < len(sentences) <= MOST_FACTS and all(map(_stands_alone, sentences)):
        return sentences
    return (statement,)


def _stands_alone(sentence: str) -> bool:
    """Whether a sentence states a fact without leaning on another one: a subject before its verb, a full stop, no word that points elsewhere."""
    words = _WORD.findall(sentence.casefold())
    return (
        LEAST_WORDS <= len(words) <= MOST_WORDS
        and sentence[0].isupper()
        and sentence.endswith(".")
        and not _LEANING.intersection(words)
        and words[0] not in _VERBS
        and not _VERBS.isdisjoint(words[1:6])
    )


_SEARCH = (
    "Search the persistent memory of this project and user. PROACTIVE USAGE: search mid-session when you detect a task switch,"
    " encounter unfamiliar references, or need historical context that is not in the [MEMORY] block. Also to get the id of a memory."
    " Example: memory_search({query: 'PR conventions and commit workflow'})"
)
"""What agents read of `memory_search`: the design asks them to search in mid-session, and says how."""

PRESET = Preset(
    name="refresh",
    # The modes of the design's tool that the lean set does not show.
    tools=("memory_profile", "memory_list", "memory_help"),
    tool_words={"memory_search": _SEARCH},
    pipelines={
        Surface.START: start,
        Surface.COMPACTION: start,
        Surface.PROMPT: search_pipeline,
        Surface.ACTION: search_pipeline,
        Surface.FAILURE: search_pipeline,
        Surface.SUBAGENT: search_pipeline,
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
    # A line that moves holds one fact.
    facts=facts_in,
)


# The `refresh` preset's cadence: sections fixed per epoch, one section refreshed each turn, all in the system prompt.
#
# Source: the fifth seed (per-turn memory refresh). Sections are made at the first chance in an epoch and stay byte for byte
# until the next one, or until a memory in them was changed or forgotten; "Relevant to Current Task" follows the newest prompt
# (a lower bar in the first turn; later a higher one, at most three and the project alone). What it holds is left out of the sections above. A subagent's task is its first prompt. A low-information turn keeps what was
# there, and so does a search that failed.

_LOG = logging.getLogger(__name__)
SECTIONS_BLOCK = "refresh:sections"
RELEVANT_BLOCK = "refresh:relevant"
EMPTY = f"{OPEN}\n{CLOSE}"
LOW_INFORMATION_WORDS = 3
FIRST_TURN_ITEMS = 20
_SEARCHED = (Surface.PROMPT, Surface.SUBAGENT)
"""Surfaces whose words may refresh the section."""


@frozen
class LowInformation:
    """What was read from a prompt, to decide whether it says enough to refresh the section."""

    nothing_coming: bool
    words: int

    @property
    def too_thin(self) -> bool:
        """Whether the prompt says too little ("ok", "yes do it") to search for, so that the refreshed section stays as it was."""
        return self.nothing_coming or self.words < LOW_INFORMATION_WORDS


class RefreshBlock:
    """Builds the `[MEMORY]` block of one session after a signal: fixed sections and the refreshed one."""

    def __init__(
        self,
        *,
        pipeline: RecallPipeline,
        settings: RecallSettings,
        new_id: Callable[[], str],
        kinds: KindRegistry,
        clean: Clean,
        current: Callable[[tuple[str, ...]], Mapping[str, str]] | None = None,
        log: StageLog | None = None,
    ) -> None:
        """Make a builder for one signal.

        Args:
            pipeline: asked for both parts of the block.
            settings: of the read path.
            new_id: makes ids of traces.
            kinds: the registry of kinds.
            clean: takes secrets out of every text that is rendered.
            current: gives the content hash by id of those memories that are still active; None = changes are not noticed.
            log: the stages before recall; None = the time starts here.
        """
        self._log = log
        self._current = current
        self._pipeline = pipeline
        self._settings = settings
        self._new_id = new_id
        self._kinds = kinds
        self._clean = clean

    def advance(
        self, query: Query, *, state: SessionState, low: LowInformation, cap: int
    ) -> tuple[Block, Trace | None, SessionState]:
        """Return the block after `query`, the trace of the last recall (None = none was run), and the session's new record.

        `cap` = most characters, 0 = no limit: beyond it the refreshed section goes, then all. `low`: whether the prompt says too little.
        """
        trace: Trace | None = None
        sections = ledger.kept_block(state, SECTIONS_BLOCK)
        if sections is not None and self._outdated(state, Surface.START):
            sections = None
            state = ledger.without_surface(state, Surface.START)
        if sections is None:
            done, trace = self._sections(query, state)
            sections = done.block.text
            state = ledger.record(
                state, items=done.pack.items, block=done.block, message_id=SECTIONS_BLOCK, at_ms=query.at_ms
            )
        relevant = ledger.kept_block(state, RELEVANT_BLOCK) or self._carried(state)
        shown = bool(sections or relevant)
        if relevant and self._outdated(state, Surface.PROMPT):
            relevant = ""
            state = ledger.without_surface(state, Surface.PROMPT)
            state = ledger.keep_block(state, message_id=RELEVANT_BLOCK, text="")
        if query.surface in _SEARCHED and query.text.strip() and not low.too_thin:
            fresh = self._refreshed(query, state)
            if fresh is not None:
                done, trace = fresh
                relevant = done.block.text
                state = ledger.record(
                    ledger.without_surface(state, Surface.PROMPT),
                    items=done.pack.items,
                    block=done.block,
                    message_id=RELEVANT_BLOCK,
                    at_ms=query.at_ms,
                )
        moved = {e.memory_id for e in state.ledger if relevant and e.surface is Surface.PROMPT}
        text = memory_text(sections_without(sections, moved), relevant)
        if not text and shown:
            text = EMPTY  # what a host is not told anew stays in its system prompt
        if cap and len(text) > cap:
            fixed = memory_text(sections_without(sections, ()), "")
            text = fixed if len(fixed) <= cap else ""
        injected = trace.injected if trace else ()
        block = Block(surface=query.surface, text=text, memory_ids=injected, placement="system")
        if trace is not None:
            trace = replace(trace, block=text)
        return block, trace, state

    def _outdated(self, state: SessionState, surface: Surface) -> bool:
        """Whether a memory that `surface` put into the block was changed, superseded or forgotten since."""
        if self._current is None:
            return False
        shown = {
            e.memory_id: e.content_hash
            for e in state.ledger
            if e.surface is surface and (e.epoch == state.epoch or surface is Surface.PROMPT)
        }
        if not shown:
            return False
        current_hashes = self._current(tuple(shown))
        return any(current_hashes.get(name) != content for name, content in shown.items())

    def _refreshed(self, query: Query, state: SessionState) -> tuple[Delivered, Trace] | None:
        """Return the refreshed section of this turn and its trace; None = it is off or the search failed, so the old one stays."""
        if not self._settings.refresh.top:
            return None
        try:
            done, trace = self._relevant(query, state)
        except TacitError as error:
            _LOG.warning("the refresh of this turn failed: %s", error)
            return None
        if any(loss.source == "semantic" for stage in trace.stages for loss in stage.losses):
            return None
        return done, trace

    def _carried(self, state: SessionState) -> str:
        """Return the refreshed section of the epoch before, which a compaction must not lose; "" = none."""
        return next((b.text for b in reversed(state.blocks) if b.message_id == RELEVANT_BLOCK), "")

    def _sections(self, query: Query, state: SessionState) -> tuple[Delivered, Trace]:
        budget = self._settings.budgets.start
        start = replace(query, surface=Surface.START, text="", situation=Situation(), budget_tokens=budget)
        context = Context(
            turn=state.turn,
            epoch=state.epoch,
            log=self._log.for_next_recall() if self._log else None,
            in_context=self._loaded_by_host(state),
            render=lambda pack: sections_text(
                with_clean_items(pack, self._clean).items, self._kinds, named=True
            ),
        )
        return self._pipeline.run(
            start, preset=PRESET, settings=self._settings, context=context, trace_id=self._new_id()
        )

    def _relevant(self, query: Query, state: SessionState) -> tuple[Delivered, Trace]:
        first = state.turn <= 1
        limit = self._settings.refresh.similarity_first if first else self._settings.refresh.similarity_later
        items = FIRST_TURN_ITEMS if first else self._settings.refresh.top
        if not first:
            query = replace(query, scope=_of_project(query.scope))
        budget = min(query.budget_tokens, self._settings.budgets.prompt)
        query = replace(query, surface=Surface.PROMPT, budget_tokens=budget)
        refresh = self._settings.refresh.model_copy(update={"cosine": limit})
        settings = self._settings.model_copy(update={"refresh": refresh, "max_items": items})

        def render(pack: Pack) -> str:
            return relevant_text(with_clean_items(pack, self._clean).items, self._kinds)

        context = Context(
            in_context=self._loaded_by_host(state),
            turn=state.turn,
            epoch=state.epoch,
            log=self._log.for_next_recall() if self._log else None,
            render=render,
        )
        return self._pipeline.run(
            query, preset=PRESET, settings=settings, context=context, trace_id=self._new_id()
        )

    @staticmethod
    def _loaded_by_host(state: SessionState) -> Callable[[Memory], DropReason | None]:
        """Return a function that tells why a memory is in context: only if the host loaded its rule file; else None."""

        def why(memory: Memory) -> DropReason | None:
            if memory.provenance.source not in state.host_rule_files:
                return None
            return ledger.why_in_context(state, memory, surface=Surface.START, reinject_after=0)

        return why


def _of_project(scope: ScopeFilter) -> ScopeFilter:
    """Return the project and path scopes alone; the whole scope if it has none."""
    own = [
        visible_scope
        for visible_scope in scope.scopes
        if visible_scope.kind in (ScopeKind.PROJECT, ScopeKind.PATH)
    ]
    return ScopeFilter.of(*own) if own else scope
