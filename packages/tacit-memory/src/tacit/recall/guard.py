"""Stages 6 and 7: who may appear, and nothing twice.

In: scored candidates. Out: those that trust, validity, age, the state of the files, the user's own second-stage model and the threshold
let through, and of these what the context does not hold yet, best first.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from time import monotonic, perf_counter

from tacit.errors import ProviderError
from tacit.model.evidence import NEAR, PINNED, Candidate, Freshness
from tacit.model.ids import SHORT_ID, short_ids
from tacit.model.kinds import BUILTIN_KINDS, DIGEST, KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Pair, Surface
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason, Loss
from tacit.ports.models import Reranker
from tacit.recall.stage import Outcome, RecallState, Tools, compared_text, pair_line
from tacit.safety.trust import ENDED_STATUSES, why_not_on
from tacit.state.registry import TEAMS, TEAMS_HEARD
from tacit.statements.same import canonical_text, near_groups
from tacit.system.files import open_handle
from tacit.text.tokens import SOURCE_NAME

# Do the files a memory speaks of still look as it says? A probe: done by the pipeline before the pure stages.
#
# In: candidates and the project's root. Out: the same candidates, each with what was found (`Candidate.freshness`). What is
# not known (no root, no file named, a path outside the root) counts as fresh. Never reads more than a `stat` for a path,
# and, for a memory that says where a symbol lives, one named file of at most `MAX_BYTES`; never follows a path out of the
# root. What was found is kept for `KEPT_S` seconds, a file's words as long as the file has not changed.
#
#     gone      every file the memory names is gone, while the first folder of its path is there (else the path may
#               be meant from a folder below the root, and nothing is known)
#     moved     its one file is there, and none of the symbols it names stands in it any more
#     changed   its one file was written after the memory was last confirmed
#
# A memory that a team shares is marked if the team's server was not reached for `UNHEARD_MS`: the team may have changed it since.

UNHEARD_MS = 86_400_000
"""After this time without the server, an answer says when it was last reached."""
MAX_PROBED = 64
"""Most candidates whose files are looked at, best first; the others count as fresh."""
MAX_FILES = 4
"""A memory that names more is about a whole area, not about these files."""
MAX_BYTES = 262_144
KEPT_S = 5.0
MAX_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class _Seen:
    """What `stat` said of a path: whether it exists, when it changed (milliseconds), and its size; -1 = no regular file."""

    there: bool
    changed_ms: int = 0
    size: int = -1


class FreshnessProbe:
    """Checks whether the files that memories name still look as they say; caches results for `kept_s` seconds. Thread-safe."""

    def __init__(self, *, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._seen: dict[str, tuple[float, _Seen]] = {}
        self._lock = Lock()

    def probe(
        self, candidates: Sequence[Candidate], *, root: str, least: float = 0.0
    ) -> tuple[Candidate, ...]:
        """Return the candidates with `freshness` set by the state of their files. Reads files.

        Args:
            candidates: scored, best first.
            root: the project's root, absolute, or "" where it is not known.
            least: candidates of less relevance are not checked.
        """
        with_files = [c for c in candidates if c.memory.files and c.relevance >= least]
        if not root or not with_files or not self._look(root).there:
            return tuple(candidates)
        marked: list[Candidate] = []
        probed = 0
        for candidate in candidates:
            state: Freshness = ""
            if candidate.memory.files and candidate.relevance >= least and probed < MAX_PROBED:
                probed += 1
                state = self._state(candidate.memory, root)
            marked.append(replace(candidate, freshness=state) if state else candidate)
        return tuple(marked)

    def look(self, tools: Tools, state: RecallState) -> Outcome[RecallState]:
        """Set `freshness` on the `scored` candidates, by what the files that they name look like on the disk.

        Only candidates that reach the threshold are checked, at most `MAX_PROBED`, best first.

        A memory of a team also gets `heard_at_ms` if the server was not reached for `UNHEARD_MS`, and `lost` if a restored
        server no longer has it.
        """
        scored = self.probe(state.scored or (), root=state.context.root, least=state.threshold)
        if any(candidate.memory.provenance.team for candidate in scored):
            heard_ms = TEAMS_HEARD.read(tools.store)
            unheard = bool(heard_ms) and state.query.at_ms - heard_ms >= UNHEARD_MS
            lost = {name for team in TEAMS.read(tools.store).values() for name in team.lost}
            if unheard or lost:
                scored = tuple(
                    replace(
                        candidate,
                        heard_at_ms=heard_ms if unheard else 0,
                        lost=candidate.memory.id in lost,
                    )
                    if candidate.memory.provenance.team
                    else candidate
                    for candidate in scored
                )
        return Outcome(kept=state.changed(scored=scored))

    def _state(self, memory: Memory, root: str) -> Freshness:
        paths = [_inside(root, name) for name in memory.files[:MAX_FILES]]
        if not all(paths) or len(memory.files) > MAX_FILES:
            return ""
        states = [self._look(path) for path in paths]
        if not any(state.there for state in states):
            return "gone" if all(self._was_here(root, name) for name in memory.files) else ""
        if not BUILTIN_KINDS.of_stored(memory.kind).describes_code or len(paths) > 1 or states[0].size < 0:
            return ""
        symbols = [e.key for e in memory.entities if e.kind == "symbol"]
        if (
            symbols
            and 0 < states[0].size <= MAX_BYTES
            and not _holds(paths[0], states[0].changed_ms, symbols)
        ):
            return "moved"
        return "changed" if states[0].changed_ms > memory.updated_at_ms else ""

    def _was_here(self, root: str, name: str) -> bool:
        """Whether a missing file was probably below this root: the first folder of its path exists there. False for a bare name."""
        first, slash, _ = name.replace("\\", "/").removeprefix("./").partition("/")
        return bool(slash) and self._look(f"{root.rstrip('/')}/{first}").there

    def _look(self, path: str) -> _Seen:
        now = monotonic()
        with self._lock:
            cached = self._seen.get(path)
        if cached is not None and now - cached[0] < self._kept_s:
            return cached[1]
        try:
            file_stat = os.stat(path)  # noqa: PTH116 - a `Path` takes longer to make than the system to answer
        except (OSError, ValueError):
            file_state = _Seen(there=False)
        else:
            size = file_stat.st_size if stat.S_ISREG(file_stat.st_mode) else -1
            file_state = _Seen(there=True, changed_ms=file_stat.st_mtime_ns // 1_000_000, size=size)
        with self._lock:
            if len(self._seen) >= MAX_KEPT:
                self._seen.clear()
            self._seen[path] = (now, file_state)
        return file_state


def _inside(root: str, name: str) -> str:
    """Return the absolute path of `name` below `root`; "" for a pattern, an absolute path, or one with ".."."""
    plain = name.replace("\\", "/").rstrip("/")
    if (
        not plain
        or plain.startswith(("/", "~"))
        or ":" in plain[:3]
        or any(mark in plain for mark in "*?[{<")
    ):
        return ""
    if ".." in plain.split("/"):
        return ""
    return f"{root.rstrip('/')}/{plain}"


def _holds(path: str, changed_ms: int, symbols: Iterable[str]) -> bool:
    """Whether one of `symbols` (lower case, perhaps dotted) stands in the file; True where it cannot be read."""
    words = _words(path, changed_ms)
    return not words or any(symbol.removesuffix("()").rsplit(".", 1)[-1] in words for symbol in symbols)


@lru_cache(maxsize=64)
def _words(path: str, changed_ms: int) -> frozenset[str]:
    """Return the identifiers of a file, lower case; empty = it cannot be read. `changed_ms` only serves as a cache key."""
    del changed_ms
    try:
        # Not blocking: what looked like a file may have become a pipe since.
        descriptor = open_handle(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES)
    except OSError:
        return frozenset()
    return frozenset(SOURCE_NAME.findall(data.decode("utf-8", "replace").lower()))


# Ask the user's own second-stage model, one text at a time, as long as there is time.
#
# In: candidates or memories, a model, the time that is left. Out: those that the model lets through; scores by memory. A model
# that is being loaded, or broken, or too slow is named in the losses and changes nothing: without it nothing is missing. A
# forward pass cannot be interrupted, so none is begun that would take longer than what is left, judged by the longest so far.

ASKED_CHARS = 1000
CANDIDATES = 8
"""Most candidates that the model reads; each is a forward pass."""
LEAST_READ = 0.1
"""Least probability of a memory that the model read; below it the memory is left out."""
Scores = dict[str, float]


def rerank(
    query: Query,
    candidates: Sequence[Candidate],
    *,
    model: Reranker,
    least: float,
    threshold: float,
    remaining_ms: Callable[[], float],
) -> Outcome[tuple[Candidate, ...]]:
    """Drop those of the most relevant candidates to which the second-stage model gives less than `least`.

    Blocks while the model reads. A model that is loading, late or broken drops nothing and is named in the losses.

    Args:
        query: its words are read with each memory.
        candidates: scored.
        model: reads the most relevant `CANDIDATES` of them.
        least: probability that they must reach.
        threshold: least relevance of the surface; the model reads only candidates that reach it.
        remaining_ms: milliseconds left until the deadline.
    """
    if not query.text.strip():
        return Outcome(kept=tuple(candidates))
    due = sorted(
        (c for c in candidates if c.relevance >= threshold and PINNED not in c.reasons),
        key=lambda c: (-c.relevance, c.memory.newest_first),
    )[:CANDIDATES]
    scored = _scores(query, (c.memory for c in due), model, remaining_ms, total=len(due))
    low = {name: value for name, value in scored.kept.items() if value < least}
    drops = tuple(
        Drop(
            memory_id=name,
            why=DropReason(cause=DropCause.SECOND_STAGE, value=value, bound=least, detail=model.name),
        )
        for name, value in low.items()
    )
    kept = tuple(c for c in candidates if c.memory.id not in low)
    return Outcome(kept=kept, drops=drops, losses=scored.losses)


def read_again(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `reached`: what the user's second-stage model (`tools.reranker`, not None) lets through. See `rerank`."""
    assert tools.reranker is not None
    done = rerank(
        state.query,
        state.reached if state.reached is not None else state.scored or (),
        model=tools.reranker,
        least=LEAST_READ,
        threshold=state.threshold,
        remaining_ms=state.context.remaining_ms,
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops, losses=done.losses)


def _scores(
    query: Query,
    memories: Iterable[Memory],
    model: Reranker,
    remaining_ms: Callable[[], float],
    *,
    total: int,
) -> Outcome[Scores]:
    scores: Scores = {}
    longest = 0.0
    text = query.text[:ASKED_CHARS]
    try:
        if total and not model.ready:
            return Outcome(
                kept=scores, losses=(Loss(source=model.name, cause="late", detail="it is being loaded"),)
            )
        for memory in memories:
            if remaining_ms() <= longest:
                late = Loss(source=model.name, cause="late", detail=f"after {len(scores)} of {total}")
                return Outcome(kept=scores, losses=(late,))
            since = perf_counter()
            scores[memory.id] = model.score(text, memory.content)
            longest = max(longest, (perf_counter() - since) * 1000)
    except ProviderError as error:
        return Outcome(kept={}, losses=(Loss(source=model.name, cause="failed", detail=str(error)),))
    return Outcome(kept=scores)


# Stage 6: who may appear. In: scored candidates. Out: those that trust, validity, age, freshness and threshold let through. Pure.

STALE_EPISODE = 0.25
"""An episodic memory whose freshness fell below this (two half-lives) is handed over on demand only."""

_IN_CONTEXT = (Surface.START, Surface.PROMPT, Surface.ACTION, Surface.FAILURE)
"""Surfaces of a session that still has in its context what its own digest tells, also where it is resumed."""


def guard(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `passed`: the candidates that `admit` keeps under the settings and the preset; the drops also hold those that were withheld before."""
    preset, asked_for = state.preset, state.query.surface is Surface.ON_DEMAND
    done = admit(
        state.reached if state.reached is not None else state.scored or (),
        query=state.query,
        kinds=state.kinds,
        threshold=state.threshold,
        enabled=() if asked_for else state.settings.kinds,
        is_enabled=preset.enabled,
        ages_out=preset.ages_out,
    )
    return Outcome(kept=state.changed(passed=done.kept), drops=(*state.withheld, *done.drops))


def admit(
    candidates: Sequence[Candidate],
    *,
    query: Query,
    kinds: KindRegistry,
    threshold: float,
    enabled: Collection[str] = (),
    is_enabled: Callable[[str, Collection[str]], bool] = lambda kind, enabled: kind in enabled,
    ages_out: bool = True,
) -> Outcome[tuple[Candidate, ...]]:
    """Keep the candidates that trust, validity, age, files, kind and threshold let through, in the order given; others are drops.

    After a prompt that needs no action nothing is kept.

    Args:
        candidates: with their relevance.
        query: what is asked.
        kinds: the registry of kinds.
        threshold: least relevance.
        enabled: names of the kinds that are handed over; () = all.
        is_enabled: says whether a kind is one of them.
        ages_out: whether an episodic memory that is too old for its kind stays away.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    if query.surface is Surface.PROMPT and query.situation.nothing_coming:
        return Outcome(kept=(), drops=(Drop(memory_id="", why=DropReason(cause=DropCause.NOTHING_COMING)),))
    for candidate in candidates:
        if enabled and PINNED not in candidate.reasons and not is_enabled(candidate.memory.kind, enabled):
            off = DropReason(cause=DropCause.KIND_OFF, detail=candidate.memory.kind)
            drops.append(Drop(memory_id=candidate.memory.id, why=off))
            continue
        reason = _objection(candidate, query=query, kinds=kinds, threshold=threshold, ages_out=ages_out)
        if reason:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        else:
            kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))


def may_start(candidate: Candidate, state: RecallState) -> bool:
    """Whether trust, validity, age, files and branch let the memory into a start block, whatever its relevance."""
    query, sure = replace(state.query, surface=Surface.START), candidate.judged(1.0, ())
    return not _objection(sure, query=query, kinds=state.kinds, threshold=0.0, ages_out=state.preset.ages_out)


def _objection(
    candidate: Candidate, *, query: Query, kinds: KindRegistry, threshold: float, ages_out: bool
) -> DropReason | None:
    memory = candidate.memory
    past = query.about_past and memory.status in ENDED_STATUSES
    if not (past or memory.validity.holds_at(query.at_ms)):
        return DropReason(cause=DropCause.NOT_VALID)
    ruling = why_not_on(memory, query.surface, session=query.session, by_user=query.by_user, ended=past)
    ruling = ruling or query.why_elsewhere(memory)
    if ruling is not None:
        return ruling
    if memory.kind == DIGEST and memory.session == query.session and query.surface in _IN_CONTEXT:
        return DropReason(cause=DropCause.OWN_DIGEST)
    kind = kinds.of_stored(memory.kind)
    on_demand = query.surface is Surface.ON_DEMAND
    if ages_out and kind.episodic and not on_demand and (candidate.score("recent") or 0.0) < STALE_EPISODE:
        return DropReason(cause=DropCause.TOO_OLD)
    if candidate.freshness in ("gone", "moved") and not kind.standing and not on_demand:
        return DropReason(cause=DropCause.CODE_GONE)
    least = max(threshold, kind.relevance_floor)
    if candidate.relevance < least:
        return DropReason(cause=DropCause.BELOW_THRESHOLD, value=candidate.relevance, bound=least)
    return None


# Stage 7: nothing twice. In: candidates, what the session holds. Out: the rest, best first. Pure.
#
# Only the same statement is a copy: two that differ in a word both come, marked, so that the block shows them side by side. Which two may not both
# hold is looked up in the store, where the write side noted it.

MOST_PAIRS = 4
"""Most lines of a block that say that two memories may not both hold."""
MOST_SHARE = 0.15
"""Greatest share of the budget for these lines."""
MOST_COMPARED = 500
"""How many of the first candidates are searched for pairs: more do not fit a block."""


def drop_known(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `fresh`: what passed without copies and without what the context holds; others are drops.

    For pinned memories `pinned_in_context` decides what the context holds.
    """
    passed, context = state.passed or (), state.context
    why_known: dict[str, DropReason] = {}
    for candidate in passed:
        in_context = context.pinned_in_context if PINNED in candidate.reasons else context.in_context
        if why := in_context(candidate.memory):
            why_known[candidate.memory.id] = why
    done = dedupe(passed, in_context=why_known)
    fresh = _near_marked(done.kept) if len(done.kept) > 1 else done.kept
    return Outcome(kept=state.changed(fresh=fresh), drops=done.drops)


def find_pairs(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `pairs`: fresh memories that may not both hold, likeliest first; their lines are taken off the query's token budget.

    Each memory is in at most one pair. No pairs are formed if the reader cannot settle them, and none of two memories of which one is set to rank behind the other.
    """
    by_id = {candidate.memory.id: candidate.memory for candidate in (state.fresh or ())[:MOST_COMPARED]}
    settles = state.context.settles
    if settles is None or len(by_id) < 2 or not state.query.budget_tokens:
        return Outcome(kept=state)
    scope, paired, pairs = state.query.scope, set[str](), list[tuple[str, str]]()
    edges = tools.store.relations(list(by_id), scope=scope)
    for edge in sorted(edges, key=lambda edge: (-edge.weight, edge.source_id, edge.target_id)):
        ends = edge.source_id, edge.target_id
        if not edge.may_disagree or not by_id.keys() >= set(ends) or not paired.isdisjoint(ends):
            continue
        if any(by_id[end].ranks_behind for end in ends) or not settles(edge):
            continue
        first, second = sorted(ends, key=lambda end: by_id[end].newest_first)
        pairs.append((first, second))
        paired.update(ends)
        if len(pairs) == MOST_PAIRS:
            break
    if not pairs:
        return Outcome(kept=state)
    names = short_ids(sorted(paired), among=tools.store.count_active(scope=scope))
    cost = state.count(pair_line(("x" * SHORT_ID, "x" * SHORT_ID))) + 1
    pairs = pairs[: int(MOST_SHARE * state.query.budget_tokens / cost)]
    found = tuple(
        Pair(first=first, second=second, names=(names[first], names[second]), tokens=cost)
        for first, second in pairs
    )
    left = max(0, state.query.budget_tokens - sum(pair.tokens for pair in found))
    return Outcome(kept=state.changed(pairs=found, query=replace(state.query, budget_tokens=left)))


def _near_marked(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return the candidates; those that another says nearly the same as get the reason `NEAR`."""
    groups = near_groups(tuple(compared_text(candidate) for candidate in candidates))
    sizes = Counter(groups)
    return tuple(
        replace(candidate, reasons=(*candidate.reasons, NEAR)) if sizes[group] > 1 else candidate
        for candidate, group in zip(candidates, groups, strict=True)
    )


def dedupe(
    candidates: Sequence[Candidate], *, in_context: Mapping[str, DropReason]
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what the context holds, and copies: of it or of an earlier candidate (equal canonical text).

    Args:
        candidates: best first; of two copies the first stays.
        in_context: by memory id, why the session's context already holds it.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    seen_ids: set[str] = set()
    # A copy of what the context holds need not come either, wherever in the list it stands.
    holders = {
        canonical_text(c.memory.content): c.memory.id for c in candidates if in_context.get(c.memory.id)
    }
    for candidate in candidates:
        memory = candidate.memory
        words = canonical_text(memory.content)
        if memory.id in seen_ids:
            why = DropReason(cause=DropCause.REPEATED)
        elif known := in_context.get(memory.id):
            why = known
        elif words in holders:
            why = DropReason(cause=DropCause.COPY, detail=holders[words])
        else:
            holders[words] = memory.id
            kept.append(candidate)
            why = None
        seen_ids.add(memory.id)
        if why is not None:
            drops.append(Drop(memory_id=memory.id, why=why))
    return Outcome(kept=tuple(kept), drops=tuple(drops))
