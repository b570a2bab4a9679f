"""The pack of `scoped`: universal, language, project, a reserve, then the codes of digests. In: candidates. Out: a pack. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.pack import Pack, Surface
from tacit.model.scope import ScopeKind
from tacit.model.sections import Sections
from tacit.reading.digest_lines import finished, lines_of
from tacit.recall.category_budget import Costs, Entry, Filling, memory_costs, pack_strict, packed
from tacit.recall.presets.scoped.render import CODE_CATEGORIES, code_line
from tacit.recall.presets.scoped.score import scope_score, task_of
from tacit.recall.stage import Outcome, RecallState

OPEN_CODES = ("block", "next")
_OWN = ("done", "fix")
_LATER = ("done", "fix", "impl")
_CODE_CATEGORY = {"impl": "done", "dec": "decided", "block": "open", "next": "open"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLine:
    """One line of a digest: `code` is impl, dec, block, next, done or fix."""

    code: str
    text: str
    digest: Candidate


def code_lines(digests: Sequence[Candidate]) -> tuple[CodeLine, ...]:
    """Lines that still say something, newest digest first, in the order of each digest; none twice.

    Source: the `scoped` seed's session codes. What a later line reports as done is open no more: a `next` or `block` line goes
    when a later digest (or the `done` and `fix` lines of its own) holds at least 60 % of its words' stems. Reading never deletes.
    """
    newest = sorted(digests, key=lambda c: (-c.memory.updated_at_ms, c.memory.newest_first))
    later: list[str] = []
    seen_lines: set[tuple[str, str]] = set()
    kept_lines: list[CodeLine] = []
    for digest in newest:
        lines = lines_of(digest.memory.content)
        reports = [*later, *(text for code, text in lines if code in _OWN)]
        for code, text in lines:
            key = (code, text.casefold())
            if key in seen_lines or (code in OPEN_CODES and finished(text, reports)):
                continue
            seen_lines.add(key)
            kept_lines.append(CodeLine(code=code, text=text, digest=digest))
        later += [text for code, text in lines if code in _LATER]
    return tuple(kept_lines)


def _costs(state: RecallState) -> Costs:
    """What lines cost: those of memories as the layout says, those of digests as they stand."""
    costs = memory_costs(state)

    def line(entry: Entry, text: str) -> int:
        if entry.category in CODE_CATEGORIES:
            return state.count(code_line(text)) + 1
        return costs.line(entry, text)

    return replace(costs, line=line)


def pack_scoped(state: RecallState) -> Outcome[Pack]:
    """Universal, language and project memories with a reserve; in a start pack the codes of digests after them."""
    query, candidates, budgets = state.query, state.fresh or (), state.settings.scopes
    filling = Filling(costs=_costs(state), total=max(0, query.budget_tokens - state.frame_tokens))
    starts = query.surface is not Surface.ON_DEMAND
    digests = [c for c in candidates if c.memory.kind == DIGEST]
    task = task_of(query)
    entries: list[Entry] = []
    for candidate in candidates:
        if starts and candidate.memory.kind == DIGEST:
            continue
        # An answer stands in the order of its question; scope and tokens only limit it.
        value = candidate.fused
        if starts:
            value = scope_score(candidate.memory, allowed=query.scope.scopes, at_ms=query.at_ms, task=task)
        entries.append(
            Entry(
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
        drops = pack_strict(entries, budgets=own, reserve=unallotted, filling=filling)
        return packed(query, filling.items, drops, Sections(), count=state.count)
    # The frame is paid from the reserve, so that every other part has what its design promises.
    reserve = max(0, budgets.reserve - state.frame_tokens)
    drops = pack_strict(entries, budgets=own, reserve=reserve, filling=filling)
    lines = [line for line in code_lines(digests) if line.code in _CODE_CATEGORY]
    codes = [
        Entry(
            candidate=line.digest,
            text=f"{line.code}: {line.text}",
            category=_CODE_CATEGORY[line.code],
            value=-number,  # newest digest first, in the order of its lines
        )
        for number, line in enumerate(lines)
    ]
    limits = {"done": budgets.done, "decided": budgets.decided, "open": budgets.open}
    drops += pack_strict(codes, budgets=limits, reserve=0, filling=filling)
    return packed(query, filling.items, drops, Sections(), count=state.count)


def scope_category(candidate: Candidate) -> str:
    """`universal`, `language` or `project`, which holds whatever belongs to one."""
    kind = candidate.memory.scope.kind
    if kind is ScopeKind.LANGUAGE:
        return "language"
    return "project" if kind in (ScopeKind.PROJECT, ScopeKind.PATH) else "universal"
