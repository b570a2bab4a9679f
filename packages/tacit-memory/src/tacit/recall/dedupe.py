"""Stage 7: nothing twice. In: candidates, what the session holds. Out: the rest, best first. Pure.

Only the same statement is a copy: two that differ in a word both come, marked, so that the block shows them side by side. Which two may not both
hold is looked up in the store, where the write side noted it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.model.evidence import NEAR, PINNED, Candidate
from tacit.model.ids import SHORT_ID, short_ids
from tacit.model.pack import Pair
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.stage import Outcome, RecallState, Tools, compared_text, pair_line
from tacit.statements.near import near_groups
from tacit.statements.same import canonical_text

MOST_PAIRS = 4
"""Lines of a block that say that two memories may not both hold."""
MOST_SHARE = 0.15
"""Share of the budget that these lines may take."""
MOST_COMPARED = 500
"""So many of the first candidates are looked at for pairs: more do not fit a block."""


def drop_known(state: RecallState) -> Outcome[RecallState]:
    """What the context does not hold yet, without copies; pinned memories may come again where their blocks leave the history."""
    passed, context = state.passed or (), state.context
    why_known: dict[str, DropReason] = {}
    for candidate in passed:
        in_context = context.pinned_in_context if PINNED in candidate.reasons else context.in_context
        if why := in_context(candidate.memory):
            why_known[candidate.memory.id] = why
    done = dedupe(passed, in_context=why_known)
    return Outcome(kept=state.changed(fresh=_near_marked(done.kept)), drops=done.drops)


def find_pairs(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """The pairs among what is fresh that may not both hold, likeliest first, with room for their lines in the budget.

    A memory stands in one pair at most. None where the reader cannot settle them, or where one of the two ranks behind another already.
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
    """Return the candidates with a mark on those in whose words others say nearly the same."""
    groups = near_groups(tuple(compared_text(candidate) for candidate in candidates))
    sizes = Counter(groups)
    return tuple(
        replace(candidate, reasons=(*candidate.reasons, NEAR)) if sizes[group] > 1 else candidate
        for candidate, group in zip(candidates, groups, strict=True)
    )


def dedupe(
    candidates: Sequence[Candidate], *, in_context: Mapping[str, DropReason]
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what the context holds and copies within the pack.

    Args:
        candidates: best first; of two copies the first stays.
        in_context: memory id -> why the session's context already holds it.
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
