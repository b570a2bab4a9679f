"""The `scoped` preset: scope, frequency, recency and task; a start pool of every scope; tokens for every scope, then the codes of past sessions.

The formula of the seed (context_injector.py):

    score     = 0.4 * scope + 0.3 * frequency + 0.2 * recency + 0.1 * task
    relevance = score / best score reachable for that scope

Scope: universal 0.4, language 0.7, project 1.0 (0.1 and 0.05 where language or project is another one); frequency:
times stated / 10, at most 1; recency: 1.0, 0.8, 0.6, 0.4, 0.2 for less than 7, 30, 90, 180 days and more; task: share of
the task's words that the memory holds, 0.5 where no task is known. The best score reachable has the scope at hand and age
zero. What a threshold may not ask for counts in it as it is, so that it orders and does not gate: how often a statement was
made (a rule said once would never pass 0.7), the words of the task, and the age of standing kinds ("always relevant"). Codes
of a digest are chosen by code, not by score.

The block (`_format_context`) has memories by scope under headings, best first, then the codes of past sessions, inside the usual
delimiters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, Kind, KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Pack, PackItem, Sections, Surface
from tacit.model.query import Query
from tacit.model.scope import Scope, ScopeFilter, ScopeKind
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.reading.digest_lines import counts_only, lines_of, still_fails, still_open, told_by
from tacit.reading.sentences import shorten_at_word
from tacit.recall.budget import (
    CategoryEntry,
    Filling,
    drops_for_no_room,
    fill_strict,
    finish_pack,
)
from tacit.recall.pipelines import search
from tacit.recall.pipelines.on_demand import judged_answer
from tacit.recall.pipelines.start import start
from tacit.recall.query import task_of
from tacit.recall.render import dated_source, frame_text, needed_source, side_by_side
from tacit.recall.retrieve import fitted_order
from tacit.recall.score import judge_each
from tacit.recall.spaces import SPACES, freshness
from tacit.recall.stage import Kit, Layout, Outcome, Pipeline, Preset, RecallState, StartPoolDesign
from tacit.safety.escape import Clean, escape_text, unchanged

# --- formula

DAY_MS = 86_400_000
WEIGHT_SCOPE, WEIGHT_FREQUENCY, WEIGHT_RECENCY, WEIGHT_TASK = 0.4, 0.3, 0.2, 0.1
MATCH_UNIVERSAL, MATCH_LANGUAGE, MATCH_PROJECT = 0.4, 0.7, 1.0
OTHER_LANGUAGE, OTHER_PROJECT = 0.1, 0.05
UNKNOWN_TASK = 0.5
TASK_WORDS: dict[str, tuple[str, ...]] = {
    "coding": ("implement", "write", "create", "function", "class"),
    "debugging": ("error", "bug", "fix", "debug", "test"),
    "documentation": ("doc", "comment", "readme", "explain"),
    "architecture": ("design", "pattern", "structure", "module"),
}


def scope_match(scope: Scope, allowed: tuple[Scope, ...]) -> float:
    """Return how near a memory's scope is: universal 0.4, language 0.7, project 1.0; much less if it is not among `allowed`."""
    if scope.kind is ScopeKind.UNIVERSAL:
        return MATCH_UNIVERSAL
    at_hand = scope in allowed
    if scope.kind is ScopeKind.LANGUAGE:
        return MATCH_LANGUAGE if at_hand else OTHER_LANGUAGE
    return MATCH_PROJECT if at_hand else OTHER_PROJECT


def highest_scope_match(scope: Scope) -> float:
    """Return the best `scope_match` that a memory of that scope can have."""
    if scope.kind is ScopeKind.UNIVERSAL:
        return MATCH_UNIVERSAL
    return MATCH_LANGUAGE if scope.kind is ScopeKind.LANGUAGE else MATCH_PROJECT


def recency(age_ms: int) -> float:
    """Return the recency of an age, falling in steps: 1.0 below 7 days, then 0.8 (30), 0.6 (90), 0.4 (180), 0.2."""
    days = age_ms // DAY_MS
    return next((value for limit, value in ((7, 1.0), (30, 0.8), (90, 0.6), (180, 0.4)) if days < limit), 0.2)


def task_match(content: str, task: str) -> float:
    """Return the share of the task's words that `content` holds; 0.5 for an unknown task."""
    words = TASK_WORDS.get(task, ())
    text = content.lower()
    return sum(word in text for word in words) / len(words) if words else UNKNOWN_TASK


def recency_of(memory: Memory, *, at_ms: int) -> float:
    """Return the `recency` of a memory at `at_ms`, 0.2 to 1, by the time of its last update."""
    return recency(max(0, at_ms - memory.updated_at_ms))


def scope_score(memory: Memory, *, allowed: tuple[Scope, ...], at_ms: int, task: str) -> float:
    """Return the seed's score, 0-1, by which memories are ordered; `allowed` = the scopes at hand, `task` "" = unknown."""
    return min(
        1.0,
        WEIGHT_SCOPE * scope_match(memory.scope, allowed)
        + WEIGHT_FREQUENCY * min(memory.frequency / 10, 1.0)
        + WEIGHT_RECENCY * recency_of(memory, at_ms=at_ms)
        + WEIGHT_TASK * task_match(memory.content, task),
    )


def best_score(memory: Memory, kind: Kind, *, at_ms: int, task: str) -> float:
    """Return the best score that this memory could reach with the best scope and, unless its kind is standing, age 0."""
    return (
        WEIGHT_SCOPE * highest_scope_match(memory.scope)
        + WEIGHT_FREQUENCY * min(memory.frequency / 10, 1.0)
        + WEIGHT_RECENCY * (recency_of(memory, at_ms=at_ms) if kind.standing else 1.0)
        + WEIGHT_TASK * task_match(memory.content, task)
    )


def matches(candidate: Candidate) -> bool:
    """Whether a memory shares a word with the query, or its cosine reaches the `low` of the semantic space."""
    return bool(candidate.score("lexical")) or (candidate.score("semantic") or 0.0) >= SPACES["semantic"].low


def scoped_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return the relevance of `candidate`, 0-1 (its `scope_score` as a share of its `best_score`), and a reason.

    A digest has 1. On demand a memory that does not match the words has 0.
    """
    if query.surface is Surface.ON_DEMAND and not matches(candidate):
        return 0.0, ("does not match the words",)
    if kind.name == DIGEST:
        return 1.0, ("session codes",)
    memory = candidate.memory
    task = task_of(query)
    score = scope_score(memory, allowed=query.scope.scopes, at_ms=query.at_ms, task=task)
    best = best_score(memory, kind, at_ms=query.at_ms, task=task)
    return min(1.0, score / best), (f"score {score:.2f} of {best:.2f}",)


# --- block


TITLE = "## Developer Memory"
UNIVERSAL = "### Universal Rules"
CODES = "### Session Codes"
MOST_ASKED_CHARS = 60
CODE_CATEGORIES = ("done", "decided", "open")
_ID_TAIL = re.compile(r"-[0-9a-f]{10}$")
_NEGATIVE = re.compile(
    r"(?<!\w)(?:avoid|never|no|don['’]?t|dont|not|without|stop|nie|niemals|nicht|kein\w*|jamais|pas|nunca|jamás|não|mai|non|nooit|niet|geen)(?!\w)",
    re.IGNORECASE,
)
"""Words by which a statement is negative itself, so that "Avoid: " before it would say the opposite."""


def heading_of(scope: Scope) -> str:
    """Return the heading of the block's part for memories of `scope`, with the language or project in it, escaped."""
    if scope.kind is ScopeKind.LANGUAGE:
        return f"### {escape_text(scope.key).title()} Preferences"
    project = scope.project_id
    if project is None:
        return UNIVERSAL
    return f"### {escape_text(_ID_TAIL.sub('', project)).title()} Decisions"


def scoped_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory as a line; an anti-pattern without a negation begins with "Avoid: "."""
    del kinds
    memory = candidate.memory
    avoid = "Avoid: " if memory.kind == "anti_pattern" and not _NEGATIVE.search(text) else ""
    source = needed_source(candidate)
    mark = f" ({escape_text(clean(source))})" if source else ""
    return f"- {avoid}{escape_text(clean(text))}{mark}"


def scoped_answer_line(candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return one memory of an answer as a line, with its date."""
    line = scoped_line(candidate, text, kinds, clean)
    dated = f" ({escape_text(clean(dated_source(candidate, kinds)))})"
    return line if needed_source(candidate) else f"{line}{dated}"


def code_line(text: str, clean: Clean = unchanged) -> str:
    """Return `text`, a line of a digest, as a line of the block: escaped, and through `clean`."""
    return escape_text(clean(text))


def scoped_item_line(item: PackItem, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return an item of the pack as a line: a memory, or a line of a digest."""
    if item.category in CODE_CATEGORIES:
        return code_line(item.text, clean)
    return scoped_line(item.candidate, item.text, kinds, clean)


def scoped_answer_item_line(item: PackItem, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return an item of an answer as a line: a memory with its date, or a line of a digest."""
    if item.category in CODE_CATEGORIES:
        return code_line(item.text, clean)
    return scoped_answer_line(item.candidate, item.text, kinds, clean)


def scoped_frame(surface: Surface) -> str:
    """Return all delimiters and headings that a block can have, so that their tokens are reserved."""
    first, last = frame_text(surface)
    asked = f": {'question ' * 7}" if surface is Surface.ON_DEMAND else ""
    return f"{first}\n{TITLE}{asked}\n{UNIVERSAL}\n### Language Preferences\n### Project Name Decisions\n{CODES}\n{last}"


def scoped_block(pack: Pack, kinds: KindRegistry, clean: Clean = unchanged) -> str:
    """Return the block: memories by scope under headings, then lines of digests; "" for the empty pack."""
    if not pack.items:
        return ""
    item_line = scoped_answer_item_line if pack.surface is Surface.ON_DEMAND else scoped_item_line
    memories = [item for item in pack.items if item.category not in CODE_CATEGORIES]
    lines: list[str] = []
    for heading, items in _by_heading(memories):
        lines.append(heading)
        lines += [item_line(item, kinds, clean) for item in items]
    codes = [item for item in pack.items if item.category in CODE_CATEGORIES]
    if codes:
        lines.append(CODES)
        lines += [code_line(item.text, clean) for item in codes]
    first, last = frame_text(pack.surface)
    title = f"{TITLE}: {escape_text(clean(pack.asked))}" if pack.asked else TITLE
    return "\n".join((first, title, *lines, last))


def _by_heading(items: Iterable[PackItem]) -> list[tuple[str, tuple[PackItem, ...]]]:
    ranks = {ScopeKind.UNIVERSAL: 0, ScopeKind.AGENT: 0, ScopeKind.SESSION: 0, ScopeKind.LANGUAGE: 1}
    by_heading: dict[tuple[int, str], list[PackItem]] = {}
    for item in items:
        scope = item.candidate.memory.scope
        by_heading.setdefault((ranks.get(scope.kind, 2), heading_of(scope)), []).append(item)
    return [
        (
            heading,
            side_by_side(sorted(group, key=lambda i: (-i.candidate.fused, i.candidate.memory.newest_first))),
        )
        for (_, heading), group in sorted(by_heading.items())
    ]


# --- pack

OPEN_CODES = ("block", "next")
_OWN = ("done", "fix")
_LATER = ("done", "fix", "impl")
_CODE_CATEGORY = {
    "impl": "done", "done": "done", "fix": "done", "dec": "decided", "block": "open", "next": "open",
}  # fmt: skip
MOST_MEMORY_TOKENS = 1500
"""Most tokens of memories at the start, with what other parts leave. Source: scenario 3 of the seed."""


@frozen
class CodeLine:
    """One line of a digest: `code` is impl, dec, block, next, done or fix."""

    code: str
    text: str
    digest: Candidate


def code_lines(digests: Sequence[Candidate]) -> tuple[CodeLine, ...]:
    """Return the lines of digests that still hold, newest digest first, each line once.

    Source: the `scoped` seed's session codes. What a later line reports as done is open no more: a `next` or `block` line, or a task
    of a compound one, goes when a later digest (or the `done` and `fix` lines of its own) holds at least 60 % of its words' stems, and
    what blocked a session's next steps goes with the last of them. Reading never deletes.
    """
    newest = sorted(digests, key=lambda c: (-c.memory.updated_at_ms, c.memory.newest_first))
    later: list[str] = []
    seen_lines: set[tuple[str, str]] = set()
    kept_lines: list[CodeLine] = []
    for digest in newest:
        lines = lines_of(digest.memory.content)
        reports = [*later, *(text for code, text in lines if code in _OWN)]
        steps = [text for code, text in lines if code == "next"]
        unblocked = bool(steps) and not still_open(steps, reports)
        for code, text in lines:
            if code == "block" and unblocked and not still_fails(text):
                continue
            left = still_open([text], reports) if code in OPEN_CODES else (text,)
            for said in left:
                key = (code, said.casefold())
                if key not in seen_lines:
                    seen_lines.add(key)
                    kept_lines.append(CodeLine(code=code, text=said, digest=digest))
        later += [text for code, text in lines if code in _LATER]
    return tuple(kept_lines)


def _line_tokens(state: RecallState, entry: CategoryEntry, text: str) -> int:
    """Return the tokens of a line: of a memory by the layout, of a digest by the bare line."""
    if entry.category in CODE_CATEGORIES:
        return state.count(code_line(text)) + 1
    return state.line_tokens(entry.candidate, text)


def asked_of(words: str) -> str:
    """Return the question of an answer as its title names it: in one line, at most 60 characters."""
    return shorten_at_word(words, MOST_ASKED_CHARS)


def pack_scoped(state: RecallState) -> Outcome[Pack]:
    """Return the pack of the candidates that passed, by parts with token budgets of their own.

    Universal, language and project memories have budgets of their own; then comes a reserve for the best of
    the rest. Digest lines follow, but not in the answer to a question (`on_demand`).
    """
    query, candidates, budgets = state.query, state.fresh or (), state.settings.scoped
    filling = Filling(
        cost=partial(_line_tokens, state), total=max(0, query.budget_tokens - state.frame_tokens)
    )
    starts = query.surface is not Surface.ON_DEMAND
    digests = [c for c in candidates if c.memory.kind == DIGEST]
    task = task_of(query)
    entries: list[CategoryEntry] = []
    for candidate in candidates:
        if starts and candidate.memory.kind == DIGEST:
            continue
        # An answer stands in the order of its question; scope and tokens only limit it.
        value = candidate.fused
        if starts:
            value = scope_score(candidate.memory, allowed=query.scope.scopes, at_ms=query.at_ms, task=task)
        entries.append(
            CategoryEntry(
                candidate=replace(candidate, fused=round(value, 4)),
                text=candidate.memory.content,
                category=scope_category(candidate),
                value=value,
            )
        )
    if not starts:
        budgets = budgets.of_an_answer()
    own = {"universal": budgets.universal, "language": budgets.language, "project": budgets.project}
    if not starts:
        unallotted = max(0, query.budget_tokens - sum(own.values()))
        drops = drops_for_no_room(fill_strict(entries, budgets=own, reserve=unallotted, filling=filling))
        answer = finish_pack(query, filling.items, drops, Sections(), count=state.count)
        return replace(answer, kept=replace(answer.kept, asked=asked_of(query.text)))
    # The frame is paid from the reserve, so that every other part has what its design promises.
    reserve = max(0, budgets.reserve - state.frame_tokens)
    out = fill_strict(entries, budgets=own, reserve=reserve, filling=filling)
    told = [item.candidate.memory.content for item in filling.items]
    lines = [
        line
        for line in code_lines(digests)
        if line.code in _CODE_CATEGORY
        and not counts_only(line.text)
        and not (line.code in ("dec", "fix") and told_by(line.text, told))
    ]
    codes = [
        CategoryEntry(
            candidate=line.digest,
            text=f"{line.code}: {line.text}",
            category=_CODE_CATEGORY[line.code],
            value=-number,  # newest digest first, in the order of its lines
        )
        for number, line in enumerate(lines)
    ]
    limits = {"done": budgets.done, "decided": budgets.decided, "open": budgets.open}
    out_codes = fill_strict(codes, budgets=limits, reserve=0, filling=filling)
    if any(scope.kind is not ScopeKind.UNIVERSAL for scope in query.scope.scopes):
        # What no part needed goes to the best memories that wait; without project and language the seed keeps to 500 tokens.
        used = sum(item.tokens for item in filling.items if item.category not in CODE_CATEGORIES)
        most = max(MOST_MEMORY_TOKENS, sum(own.values()) + budgets.reserve)
        out = filling.fill(out, most - used)[1]
    drops = drops_for_no_room([*out, *out_codes])
    return finish_pack(query, filling.items, drops, Sections(), count=state.count)


def scope_category(candidate: Candidate) -> str:
    """Return the category of a memory by its scope: `language`, `project` (also its paths), or `universal` for all others."""
    kind = candidate.memory.scope.kind
    if kind is ScopeKind.LANGUAGE:
        return "language"
    return "project" if kind in (ScopeKind.PROJECT, ScopeKind.PATH) else "universal"


# --- start pool and parts

PER_SCOPE = 120
DIGESTS = 40
START_POOL_KEEP_MS = 15 * 60_000


def scoped_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Read the start pool: candidates of every kind of scope, with score and freshness but no relevance, and a note for each.

    The scoped seed loads all memories of every layer; here each kind of scope brings its 120 most important ones, so that none
    crowds out another, and the newest digests come besides.
    """
    del settings
    removed = kinds.unknown(store.kinds(scope=scope))
    names = [*(kind.name for kind in kinds if kind.name != DIGEST), *removed]
    ids: dict[str, None] = {}
    facts: list[Note] = []
    for kind in ScopeKind:
        own = ScopeFilter.of(*(visible_scope for visible_scope in scope.scopes if visible_scope.kind is kind))
        if own.scopes:
            hits = store.search.standing(names, scope=own, limit=PER_SCOPE).hits
            ids.update(dict.fromkeys(hit.memory_id for hit in hits))
            facts.append(Note(cause=NoteCause.LISTED, detail=kind.value, count=len(hits)))
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=scope, limit=DIGESTS)
    facts.append(Note(cause=NoteCause.LISTED, detail="digests", count=len(digests)))
    candidates = [
        Candidate(
            memory=memory,
            fused=round(scope_score(memory, allowed=scope.scopes, at_ms=at_ms, task=""), 4),
            scores=(
                (
                    "recent",
                    round(
                        freshness(
                            at_ms=at_ms, since_ms=memory.updated_at_ms, kind=kinds.of_stored(memory.kind)
                        ),
                        4,
                    ),
                ),
            ),
        )
        for memory in (*store.get(list(ids), scope=scope), *digests)
    ]
    return tuple(candidates), tuple(facts)


_LAYOUT = Layout(
    frame=scoped_frame,
    line=scoped_line,
    block=scoped_block,
    item_line=scoped_item_line,
    pack=pack_scoped,
    frame_is_most=True,
)
_JUDGE = partial(
    judge_each, lambda query, candidate, kind, _settings: scoped_relevance(query, candidate, kind)
)


def search_pipeline(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a search: judged by `scoped_relevance`, for surfaces that are silent unless the user gives them tokens."""
    return search(kit, state, judge=_JUDGE)


PRESET = Preset(
    name="scoped",
    pipelines={
        # The start pack is held to the score's threshold, too, instead of expected need.
        Surface.START: partial(start, judge=_JUDGE),
        Surface.COMPACTION: partial(start, judge=_JUDGE),
        Surface.PROMPT: search_pipeline,
        Surface.ACTION: search_pipeline,
        Surface.FAILURE: search_pipeline,
        Surface.SUBAGENT: search_pipeline,
        Surface.ON_DEMAND: partial(judged_answer, judge=_JUDGE),
    },
    layout=replace(
        _LAYOUT,
        others={
            Surface.ON_DEMAND: replace(_LAYOUT, line=scoped_answer_line, item_line=scoped_answer_item_line)
        },
    ),
    start_pool=StartPoolDesign(make=scoped_start, keep_ms=START_POOL_KEEP_MS),
    fuse=fitted_order,
    # As many as their parts have tokens for.
    shortlist=50,
    # The budget is the design's own, whatever the prompt's size.
    shrinks=frozenset(),
    answer_limits=lambda settings: (settings.scoped.answers_per_session, settings.scoped.session_tokens),
)
