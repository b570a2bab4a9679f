"""The preset `typed`: relevance from five factors, a threshold and a place for each type of memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.kinds import BUILTIN_KINDS, DIGEST, RULES, Kind, KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionState
from tacit.model.signal import PromptSubmitted
from tacit.model.trace import Drop, DropCause, DropReason, NotAsked, SilenceCause, SilenceReason
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.presets.typed.settings import TypedSettings
from tacit.reading.sentences import shorten_at_sentence, split_sentences
from tacit.reading.terms import find_paths
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import start
from tacit.recall.render import delimiters, side_by_side, source_of
from tacit.recall.retrieve import rrf_weighted
from tacit.recall.score import judge_each, similarity_of
from tacit.recall.stage import Kit, Layout, Outcome, Pipeline, Preset, RecallState, StartPoolDesign
from tacit.safety.escape import Clean, escape_text, unchanged
from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import LATIN_WORD

# The formula of the `typed` seed: five parts with fixed weights. Sources: its sections 2.1, 2.2, 2.4, 2.5, 3.1.
#
#     0.40 semantic + 0.20 recency + 0.15 importance + 0.10 access + 0.15 kind
#
# semantic = cosine (below 0 counts 0; the same error signature counts 1); recency = 2 ** (-age in days / half-life), by the
# seed's half-life of the type unless the settings define the kind anew;
# importance 0-1; access = min(uses / 10, 1); kind = priority of the kind for the task. Weights come from the settings.
# The tables are the seed's; kinds that it does not have stand under the one they are a case of.
# What a prompt asks is read by the same tables: the types of its task (`typed_query`).

DAY_MS = 86_400_000
SUMMARIES = frozenset({DIGEST})
"""Kinds that count as the seed's type `outcome`, the summary of what was done."""
HALF_LIFE_DAYS: Mapping[str, float | None] = {
    "preference": None,
    "decision": 180,
    "file_context": 90,
    "error_pattern": 30,
    "research": 45,
    "outcome": 14,
}
OTHER_HALF_LIFE_DAYS = 60
PRIORITY: Mapping[str, float] = {
    "preference": 1.0,
    "decision": 0.9,
    "error_pattern": 0.8,
    "file_context": 0.7,
    "research": 0.6,
    "outcome": 0.5,
}
PRIORITY_FIX: Mapping[str, float] = {
    "error_pattern": 1.0,
    "file_context": 0.9,
    "preference": 0.8,
    "decision": 0.7,
    "outcome": 0.6,
    "research": 0.5,
}
OTHER_PRIORITY = 0.5
SATURATING_USES = 10
TASK_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("fix", frozenset({"fix", "bug", "error", "broken"})),
    ("feature", frozenset({"add", "create", "new", "implement"})),
    ("refactor", frozenset({"refactor", "clean", "improve"})),
    ("test", frozenset({"test", "testing", "coverage"})),
)
"""The first row with a word of the prompt names the task; whole words and their endings, so that `address` is no `add`."""
_ENDINGS = ("", "s", "es", "d", "ed", "ing")
TASK_TYPES: Mapping[str, tuple[str, ...]] = {
    "fix": ("error_pattern", "file_context", "decision", "preference"),
    "feature": ("decision", "preference", "file_context", "research"),
    "refactor": ("preference", "decision", "file_context"),
    "test": ("preference", "file_context", "error_pattern"),
    "general": ("preference", "decision", "file_context", "error_pattern"),
}
DEFAULT_TYPES = ("preference", "decision", "file_context", "error_pattern")
"""The types that are on unless the settings say otherwise."""
_POINTS_AT_FILE = lazy_regex(
    r"\b(?:this|that|the same|the current|these|those)\s+(?:file|module|class|function|method|component|script|code|test|view|helper"
    r"|handler|page|one)s?\b|\bhere\b|\b(?:in|of|to|with|from|about)\s+(?:it|this|that)\b"
    r"|\b(?:explain|refactor|test|document|simplify|review|describe|clean|split|move|fix)\s+(?:it|this|that)\b",
    re.IGNORECASE,
)
LONG_CHARS, LONG_SENTENCE_CHARS, ENDS = 2000, 400, 3
"""From when on a prompt is long; the longest sentence that people write; how many sentences of each end are read for a question."""
_ASKED_FOR = (Surface.START, Surface.COMPACTION, Surface.ON_DEMAND, Surface.FAILURE)
"""Surfaces whose query is not narrowed to the kinds of a task."""


def typed_relevance(
    query: Query, candidate: Candidate, kind: Kind, *, weights: TypedSettings
) -> tuple[float, tuple[str, ...]]:
    """Return the weighted sum of the five parts, 0-1, and reasons that name task and similarity."""
    task = task_of(query)
    memory = candidate.memory
    similar = similarity_of(query, candidate)
    value = weights.semantic * similar + _rest(memory, kind, task, query.at_ms, weights)
    return min(1.0, value), (f"task {task}", f"similarity {similar:.2f}")


def weights_of(settings: TypedSettings) -> tuple[float, ...]:
    """Return the weights of the five parts: semantic, recency, importance, access, kind."""
    return (settings.semantic, settings.recency, settings.importance, settings.access, settings.kind)


def start_relevance(memory: Memory, kind: Kind, *, at_ms: int, weights: TypedSettings) -> float:
    """Return the relevance without a query, 0-1: the weighted mean of the parts but `semantic`. Rules have 1.

    The seed gives rules the highest score at session start and leaves the formula of the others open.
    """
    if memory.kind in RULES:
        return 1.0
    whole = weights.recency + weights.importance + weights.access + weights.kind
    return _rest(memory, kind, "general", at_ms, weights) / whole if whole > 0 else 0.0


def type_of(kind: str) -> str:
    """Return the seed's type that `kind` counts as: `preference` for rules, `outcome` for digests, else itself."""
    return "preference" if kind in RULES else "outcome" if kind in SUMMARIES else kind


def is_enabled(kind: str, enabled: Collection[str]) -> bool:
    """Whether `kind`, or the type that it counts as, is among `enabled`; () = all are."""
    return not enabled or kind in enabled or type_of(kind) in enabled


def serves_task(kind: str, task: str, enabled: Collection[str]) -> bool:
    """Whether memories of `kind` may be given for a prompt with this task.

    The seed lists the types of each task, of the four that are on by default and of research. What a user turned on besides
    is looked at for every task, or it would never be.
    """
    if not is_enabled(kind, enabled):
        return False
    return type_of(kind) in TASK_TYPES[task] or (bool(enabled) and type_of(kind) not in DEFAULT_TYPES)


def recency(memory: Memory, kind: Kind, *, at_ms: int) -> float:
    """Return 2 ** (-age / half-life of its type), 0-1; the age counts from `valid_from`, the future counts as new."""
    half_life = HALF_LIFE_DAYS.get(type_of(memory.kind), OTHER_HALF_LIFE_DAYS)
    if kind.half_life_days != BUILTIN_KINDS.of_stored(kind.name).half_life_days:
        half_life = kind.half_life_days
    if half_life is None:
        return 1.0
    return 2.0 ** (-max(0, at_ms - memory.validity.valid_from_ms) / DAY_MS / half_life)


def priority(kind: str, task: str) -> float:
    """Return how much a memory of `kind` matters for `task`, 0-1."""
    table = PRIORITY_FIX if task == "fix" else PRIORITY
    return table.get(type_of(kind), OTHER_PRIORITY)


def task_of(query: Query) -> str:
    """Return the task of a query: `fix`, `feature`, `refactor`, `test` or `general`, by its words or the accepted proposal."""
    task = task_in(query.raw_text)
    accepted = query.situation.accepted and query.task in TASK_TYPES
    return query.task if task == "general" and accepted else task


def task_in(text: str) -> str:
    """Return the task that the words of `text` name; `general` = none."""
    words = set(LATIN_WORD.findall(text.lower()))
    return next(
        (
            task
            for task, task_words in TASK_WORDS
            if any(f"{word}{ending}" in words for word in task_words for ending in _ENDINGS)
        ),
        "general",
    )


def _rest(memory: Memory, kind: Kind, task: str, at_ms: int, weights: TypedSettings) -> float:
    return (
        weights.recency * recency(memory, kind, at_ms=at_ms)
        + weights.importance * memory.importance
        + weights.access * min(memory.use_count / SATURATING_USES, 1.0)
        + weights.kind * priority(kind.name, task)
    )


def kinds_for_task(task: str, enabled: Sequence[str], kinds: KindRegistry) -> tuple[str, ...]:
    """Return the names of the kinds of `kinds` that serve a task, among those `enabled` (() = all)."""
    return tuple(kind.name for kind in kinds if serves_task(kind.name, task, enabled))


def asked_in(text: str) -> str:
    """Return what a long prompt asks: the questions among its first and last sentences, else its first and its last sentence.

    The vector of a prompt is made of its beginning, and what is pasted behind a question of one line would draw it away. Sentences that
    are too long for people to have written them do not count; the whole text, if all are.
    """
    sentences = [sentence for sentence in split_sentences(text) if len(sentence) <= LONG_SENTENCE_CHARS]
    ends = list(dict.fromkeys((*sentences[:ENDS], *sentences[-ENDS:])))
    questions = [sentence for sentence in ends if sentence.endswith("?")]
    return " ".join(questions or dict.fromkeys((*sentences[:1], *sentences[-1:]))) or text


def typed_query(query: Query, settings: RecallSettings, kinds: KindRegistry) -> Query:
    """Return the query limited to the kinds of its task, with the newest file added to its text if the words point at one.

    Source: the typed seed, section 2.2. Its query names recent files beside the words of every prompt. Where the words do not
    point at a file, one more name only draws the vector away from what they ask, so it is added where they do.
    """
    if query.surface in _ASKED_FOR:
        return query
    if settings.typed.by_task:
        query = replace(query, kinds=kinds_for_task(task_of(query), settings.kinds, kinds))
    words = query.raw_text
    if len(words) > LONG_CHARS:
        query = replace(query, text=asked_in(words))
    if query.files and _POINTS_AT_FILE.search(words) and not find_paths(words):
        query = replace(query, text=f"{query.text} ({query.files[-1]})")
    return query


# The `typed` preset. It adds five weighted parts to a relevance, lists fixed kinds of memories at the start, and groups lines by type. The formula stands at the top.
#
# The blocks have sections by type at the start, prefixed lines before a prompt (section 3.3 of the seed). They stand inside the usual
# delimiters, which stand for the seed's own (`<relevant_context>`). Dates are absolute and who said it stays on the line. A long memory is
# shown by its first sentences, 200 characters in a section and 150 before a prompt, and ends in an ellipsis; of an error the last
# sentence, which says what fixed it, stays. An answer on demand is whole.

# --- blocks

TITLE = "## Project Context from Previous Sessions"
ABOUT = "The following context was automatically retrieved from your project's memory:"
INLINE = "Based on your project history:"
ELLIPSIS = " ..."
SECTION_CHARS, INLINE_CHARS = 200, 150
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Preference", ("identity", "preference", "correction", "anti_pattern", "guideline")),
    ("Decision", ("decision",)),
    ("File Context", ("file_context",)),
    ("Error Pattern", ("error_pattern",)),
    ("Research", ("research",)),
)
OTHER = "Other"
_SECTIONED = (Surface.START, Surface.COMPACTION, Surface.SUBAGENT)


def typed_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line: `- [DEC] Use PostgreSQL. (user, 2026-11-20)`."""
    kind = candidate.memory.kind
    prefix = kinds.of_stored("outcome" if kind in SUMMARIES else kind).prefix
    shortened = text != candidate.memory.content and text == candidate.memory.content[: len(text)]
    mark = ELLIPSIS if shortened and text else ""
    return f"- [{prefix}] {escape_text(clean(text))}{mark} ({escape_text(clean(source_of(candidate)))})"


def typed_text(memory: Memory, surface: Surface) -> str:
    """Return the words of a memory that a block shows: all, or its first sentences if it is longer than the surface allows."""
    if surface is Surface.ON_DEMAND:
        return memory.content
    most = INLINE_CHARS if surface is Surface.PROMPT else SECTION_CHARS
    text = " ".join(memory.content.split())
    if len(text) <= most:
        return memory.content
    if BUILTIN_KINDS.of_stored(memory.kind).explains_errors:
        sentences = split_sentences(text) or (text,)
        last = sentences[-1]
        head = _cut(sentences[0], most - len(last) - len(ELLIPSIS) - 1)
        if len(sentences) > 1 and head:
            return f"{head}{ELLIPSIS} {last}"
    return f"{_cut(text, most) or text[:most]}{ELLIPSIS}"


def _cut(text: str, most: int) -> str:
    """Return whole sentences of `text` within `most` characters, else whole words; "" = not even one word fits."""
    if len(text) <= most:
        return text
    return (
        shorten_at_sentence(text, lambda shortened: len(shortened) <= most)
        or text[: most + 1].rpartition(" ")[0]
    )


def typed_frame(surface: Surface) -> str:
    """Return every delimiter and title that a block of this preset can have, one a line. Their tokens are subtracted from the budget before memories are chosen."""
    first, last = delimiters(surface)
    titles = [f"### {title}" for title in (*(name for name, _ in SECTIONS), OTHER)]
    between = [TITLE, ABOUT, *titles, "---"] if surface in _SECTIONED else [INLINE]
    return "\n".join((first, *between, last))


def typed_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block: sections in the seed's order, or one list, depending on the surface; best first; "" for the empty pack."""
    if not pack.items:
        return ""
    first, last = delimiters(pack.surface)
    if pack.surface not in _SECTIONED:
        ranked = side_by_side(sorted(pack.items, key=_rank))
        lines = [typed_line(item.candidate, item.text, kinds, clean) for item in ranked]
        return "\n".join((first, INLINE, *lines, last))
    by_title: dict[str, list[PackItem]] = {}
    for item in sorted(pack.items, key=_rank):
        by_title.setdefault(section_of(item.candidate.memory.kind), []).append(item)
    body: list[str] = []
    for title in (*(name for name, _ in SECTIONS), OTHER):
        if title in by_title:
            body.append(f"### {title}")
            body += [
                typed_line(item.candidate, item.text, kinds, clean) for item in side_by_side(by_title[title])
            ]
    return "\n".join((first, TITLE, ABOUT, *body, "---", last))


def section_of(kind: str) -> str:
    """Return the title of the section for `kind`."""
    return next((title for title, kinds in SECTIONS if kind in kinds), OTHER)


def _rank(item: PackItem) -> tuple[bool, float, float, tuple[int, str]]:
    """Return the sort key of a line: what people said comes first, the most relevant first, then the agent's own notes."""
    candidate, memory = item.candidate, item.candidate.memory
    return (memory.provenance.own_note, -candidate.relevance, -candidate.fused, memory.newest_first)


# --- start pool and parts

START_POOL_KEEP_MS = 5 * 60_000
"""Source: section 8.3 of the typed seed."""
MOST_READ = 400
"""Most memories of one list that are read, newest first."""


@frozen
class _List:
    name: str
    kinds: tuple[str, ...]
    limit: int
    days: int | None = None


LISTS: tuple[_List, ...] = (
    _List(name="preferences", kinds=tuple(sorted(RULES)), limit=20),
    _List(name="decisions", kinds=("decision",), limit=10, days=30),
    _List(name="files", kinds=("file_context",), limit=10),
    _List(name="errors", kinds=("error_pattern",), limit=5, days=60),
    _List(name="research", kinds=("research",), limit=5, days=90),
)


def typed_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Read the start pool: candidates of the lists with their scores, best first, and a note for each list.

    Source: the typed seed, section 8.1: preferences (20), decisions of the last 30 days (10), file contexts (10, the most
    used), error patterns of the last 60 days (5); each only where the settings turn its type on. Research, where it is on, has
    a section and a share at the start in the seed (3.3, 5.2) and no list: it gets that of error patterns, 5 of two half-lives.
    An agent's own notes come behind what people said; of equals the newest comes first.
    """
    weights, enabled = settings.typed, settings.kinds
    candidates: list[Candidate] = []
    facts: list[Note] = []
    for listing in LISTS:
        names = tuple(kind for kind in listing.kinds if is_enabled(kind, enabled))
        if not names:
            continue
        memories = store.list_memories(MemoryFilter(kinds=names), scope=scope, limit=MOST_READ)
        fit = [m for m in memories if m.validity.holds_at(at_ms) and _within(m, at_ms, listing.days)]
        scored = [(start_relevance(m, kinds.of_stored(m.kind), at_ms=at_ms, weights=weights), m) for m in fit]
        scored.sort(
            key=lambda entry: (
                entry[1].provenance.own_note,
                -entry[0],
                -entry[1].importance,
                -entry[1].use_count,
                entry[1].newest_first,
            )
        )
        candidates += [
            Candidate(memory=m, scores=(("recent", 1.0),), fused=s, relevance=s)
            for s, m in scored[: listing.limit]
        ]
        facts.append(
            Note(
                cause=NoteCause.LISTED,
                detail=listing.name,
                count=min(len(scored), listing.limit),
                of=len(scored),
            )
        )
    candidates.sort(key=lambda c: (-c.relevance, c.memory.newest_first))
    return tuple(candidates), tuple(facts)


def _within(memory: Memory, at_ms: int, days: int | None) -> bool:
    return days is None or at_ms - memory.validity.valid_from_ms <= days * DAY_MS


# --- what a memory needs

_REST = "*"
"""Key of the least similarities for every type that has none of its own."""


def reach_floors(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `reached`: the scored candidates that reach every floor of the seed; see `keep_above_floors`.

    Sources: sections 2.2 (kinds of a task, least importance), 2.3 (least similarity by type, what is certain), 6.1 (enabled types).
    """
    done = keep_above_floors(
        state.scored or (), query=state.query, settings=state.settings, threshold=state.threshold
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops)


def keep_above_floors(
    scored: Sequence[Candidate], *, query: Query, settings: RecallSettings, threshold: float
) -> Outcome[tuple[Candidate, ...]]:
    """Keep what reaches every floor: enabled kind, kind of the task, importance, similarity of its type; others are drops.

    A candidate whose similarity is certain gets at least the relevance `threshold`.
    """
    floors = settings.typed
    kept: list[Candidate] = []
    drops: list[Drop] = []
    for candidate in scored:
        reason = _kind_objection(candidate.memory.kind, query, settings) or _objection(
            candidate, query, floors
        )
        if reason is not None:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        elif floors.certain and similarity_of(query, candidate) >= floors.certain:
            reasons = (*candidate.reasons, "certain")
            kept.append(replace(candidate, relevance=max(candidate.relevance, threshold), reasons=reasons))
        else:
            kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))


def _kind_objection(kind: str, query: Query, settings: RecallSettings) -> DropReason | None:
    kinds, by_task = settings.kinds, settings.typed.by_task
    if kinds and kind not in kinds and not (by_task and is_enabled(kind, kinds)):
        return DropReason(cause=DropCause.KIND_OFF, detail=kind)
    if by_task and query.surface is not Surface.FAILURE:
        task = task_of(query)
        if not serves_task(kind, task, kinds):
            return DropReason(cause=DropCause.KIND_NOT_FOR_TASK, detail=f"{kind}, {task}")
    return None


def _objection(candidate: Candidate, query: Query, floors: TypedSettings) -> DropReason | None:
    memory = candidate.memory
    if memory.importance < floors.least_importance:
        return DropReason(
            cause=DropCause.BELOW_IMPORTANCE, value=memory.importance, bound=floors.least_importance
        )
    similar = similarity_of(query, candidate)
    of_type = floors.similarity.get(type_of(memory.kind), floors.similarity.get(_REST, 0.0))
    least = floors.similarity.get(memory.kind, of_type)
    if similar < least:
        return DropReason(cause=DropCause.BELOW_SIMILARITY, value=similar, bound=least, detail=memory.kind)
    return None


_ALONE = 1 / 3
"""Share of its least similarity from which the best memory is kept alone, if none reaches its least similarity."""


def judge_answer(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: each candidate judged for a question, without those below the least similarity of their type (section 2.3).

    Where none reaches it, the most similar one is kept alone, because somebody asked: the shipped model gives `add authentication` and
    `JWT vs session tokens decision` (section 9.2) a cosine of 0.16. A memory that has no vector yet is judged by its words.
    """
    done = _JUDGE(state)
    scored, floors = done.kept.scored or (), state.settings.typed
    below: dict[str, tuple[float, DropReason]] = {}
    for candidate in scored:
        reason = _objection(candidate, state.query, floors)
        if reason is not None and candidate.score("semantic") is not None:
            below[candidate.memory.id] = (similarity_of(state.query, candidate), reason)
    if scored and len(below) == len(scored):
        best = max(below, key=lambda name: below[name][0])
        similar, reason = below[best]
        if reason.cause is DropCause.BELOW_SIMILARITY and similar >= _ALONE * (reason.bound or 0.0):
            del below[best]
    return Outcome(
        kept=done.kept.changed(scored=tuple(c for c in scored if c.memory.id not in below)),
        drops=(*done.drops, *(Drop(memory_id=name, why=reason) for name, (_, reason) in below.items())),
    )


def why_silent(
    signal: PromptSubmitted, state: SessionState, settings: RecallSettings
) -> SilenceReason | None:
    """Return why a prompt gets nothing: it is too short, or the context was given too many memories; None = it may get some."""
    limits = settings.typed
    if len(signal.text.strip()) < limits.min_prompt_chars:
        return SilenceReason(
            cause=SilenceCause.NOT_ASKED, not_asked=NotAsked.SHORT_PROMPT, bound=limits.min_prompt_chars
        )
    if limits.max_session_memories and memories_for_prompts(state) > limits.max_session_memories:
        return SilenceReason(cause=SilenceCause.CONTEXT_FULL, bound=limits.max_session_memories)
    return None


def memories_for_prompts(state: SessionState) -> int:
    """Count the different memories that prompts of this epoch were given. A start pack does not count."""
    return len({e.memory_id for e in state.ledger if e.epoch == state.epoch and e.surface is Surface.PROMPT})


# --- pipelines

_JUDGE = partial(
    judge_each,
    lambda query, candidate, kind, settings: typed_relevance(query, candidate, kind, weights=settings.typed),
)


def search_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a search: search, score each memory by the formula of five parts, and keep those that reach the least similarity of their type."""
    return search(kit, state, judge=_JUDGE, reach=(("score", reach_floors),))


def adapt(settings: RecallSettings, surface: Surface) -> RecallSettings:
    """Return the settings for `surface`: after a failure only error patterns are enabled."""
    return (
        settings.model_copy(update={"kinds": ("error_pattern",)}) if surface is Surface.FAILURE else settings
    )


def _shares(settings: RecallSettings, surface: Surface) -> Mapping[str, float]:
    """Return the share of the budget for each slot; {} = no shares."""
    if surface is Surface.START:
        return settings.typed.start_shares
    return settings.typed.prompt_shares if surface is Surface.PROMPT else {}


def _task_kinds(task: str, settings: RecallSettings, kinds: KindRegistry) -> tuple[str, ...]:
    return kinds_for_task(task_in(task), settings.kinds, kinds) if settings.typed.by_task else ()


PRESET = Preset(
    name="typed",
    tools=("inject_context", "get_context_for_task"),  # source: its seed, section 3.2
    pipelines={
        Surface.START: start,
        Surface.COMPACTION: start,
        Surface.PROMPT: search_pipeline,
        Surface.ACTION: search_pipeline,
        Surface.FAILURE: search_pipeline,
        Surface.SUBAGENT: search_pipeline,
        Surface.ON_DEMAND: partial(judged_answer, judge=judge_answer),
    },
    layout=Layout(frame=typed_frame, line=typed_line, block=typed_block, text=typed_text, frame_is_most=True),
    # Fixed lists: rules, decisions of 30 days, files, error patterns of 60 days.
    start_pool=StartPoolDesign(
        make=typed_start,
        keep_ms=START_POOL_KEEP_MS,
        keyed_by=lambda settings: (settings.kinds, weights_of(settings.typed)),
    ),
    # Candidates only; the score orders.
    fuse=rrf_weighted,
    # All of them are scored.
    shortlist=20,
    # The best of every type first, then the rest by score.
    order="breadth",
    shares=_shares,
    adapt=adapt,
    ask=typed_query,
    enabled=is_enabled,
    # Long prompts, small context windows and a session that was given much lately make the budget smaller.
    shrinks=frozenset({"prompt", "window", "usage"}),
    window_tokens=lambda settings: settings.typed.context_window,
    why_silent=why_silent,
    task_kinds=_task_kinds,
)
