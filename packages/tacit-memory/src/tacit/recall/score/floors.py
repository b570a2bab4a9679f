"""The least cosine of a candidate, and what admits a memory below it: a rare name, a relation to what passed. Part of stage 5.

In: scored candidates, a prompt. Out: those that reach the floor, with reasons for the others. Source: the ambient seed's
`contextual_min_score`, read as a ratio to the best cosine with an absolute floor.

An embedding knows common words; of a name like `QX9040` it knows next to nothing, and a memory that shares it lies far away. A name
is an entity; a word with digits and letters, with a capital inside, or of four digits, on either side; or a word that both sides
write with a capital within a sentence. It is rare if few memories hold it (`MOST_HOLDERS`), and then it admits a memory whatever the
cosine is. On seven projects with judged prompts 0.2 memories a prompt come in so, 8 % of them needed (12 % of those that the cosine
admits); with names of up to five memories it was 0.3 and 4 %, with a capital on one side 1.3 and 4 %.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.memory import Entity, Relation
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.ports.search import Search
from tacit.reading.entities import find_entities
from tacit.recall.spaces import graph
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.lazy_regex import lazy_regex

REAL_HITS = ("lexical", "entity", "error")
"""Spaces whose find stands for itself where no cosine was measured."""
_NO_NAMES: Mapping[str, str] = {}
_BY_COSINE = (DropCause.BELOW_SIMILARITY, DropCause.NO_HIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineFloor:
    """What a cosine must reach: `ratio` of the best one of the enabled `kinds` (() = all), and `cosine` whatever the best is."""

    ratio: float = 0.0
    cosine: float = 0.0
    kinds: Collection[str] = ()


def reach_cosine(
    floor_of: Callable[[RecallSettings], CosineFloor], state: RecallState
) -> Outcome[RecallState]:
    """The scored candidates that reach the floor."""
    done = reach_floor(
        state.scored or (),
        query=state.query,
        floor=floor_of(state.settings),
        named=state.named,
        relations=state.shortlist.relations if state.shortlist is not None else (),
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops)


def reach_floor(
    scored: Sequence[Candidate],
    *,
    query: Query,
    floor: CosineFloor,
    named: Mapping[str, str] = _NO_NAMES,
    relations: Sequence[Relation] = (),
) -> Outcome[tuple[Candidate, ...]]:
    """Keep what reaches the floor.

    A memory below it passes if it shares a rare name with the prompt (`named`), or if the graph found it and one of
    `relations` joins it to a memory that passed.
    """
    kinds = floor.kinds
    best = max((similarity_of(query, c) for c in scored if not kinds or c.memory.kind in kinds), default=0.0)
    kept: list[Candidate] = []
    drops: list[Drop] = []
    for candidate in scored:
        kind = candidate.memory.kind
        if kinds and kind not in kinds:
            reason: DropReason | None = DropReason(cause=DropCause.KIND_OFF, detail=kind)
        else:
            reason = _objection(candidate, query, floor, best)
        name = named.get(candidate.memory.id, "")
        if reason and reason.cause in _BY_COSINE and name:
            kept.append(replace(candidate, reasons=(*candidate.reasons, f"name: {name}")))
        elif reason:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        else:
            kept.append(candidate)
    return _with_related(scored, kept, drops, relations)


def similarity_of(query: Query, candidate: Candidate) -> float:
    """Cosine of 0 to 1; 1 for the very error that is asked for; 0 where none was measured."""
    if query.error_signature and candidate.memory.error_signature == query.error_signature:
        return 1.0
    return min(1.0, max(0.0, candidate.score("semantic") or 0.0))


def _objection(candidate: Candidate, query: Query, floor: CosineFloor, best: float) -> DropReason | None:
    if not (floor.ratio or floor.cosine):
        return None
    similar = similarity_of(query, candidate)
    if candidate.score("semantic") is None and similar == 0.0:
        real = any((candidate.score(space) or 0.0) > 0 for space in REAL_HITS)
        return None if real else DropReason(cause=DropCause.NO_HIT)
    least = max(floor.ratio * best, floor.cosine)
    if similar < least:
        return DropReason(cause=DropCause.BELOW_SIMILARITY, value=similar, bound=least)
    return None


def _with_related(
    scored: Sequence[Candidate],
    kept: Sequence[Candidate],
    drops: Sequence[Drop],
    relations: Sequence[Relation],
) -> Outcome[tuple[Candidate, ...]]:
    """What passed, with the memories that the graph leads to from them, in the order of `scored`."""
    passed = {candidate.memory.id: candidate for candidate in kept}
    far = {d.memory_id for d in drops if d.why.cause in _BY_COSINE}
    joined = {
        to_id
        for relation in relations
        for from_id, to_id in (
            (relation.source_id, relation.target_id),
            (relation.target_id, relation.source_id),
        )
        if from_id in passed and to_id in far
    }
    for candidate in scored:
        memory_id = candidate.memory.id
        if memory_id in joined and (candidate.score("graph") or 0.0) >= graph.HIGH:
            passed[memory_id] = replace(candidate, reasons=(*candidate.reasons, "related"))
    return Outcome(
        kept=tuple(passed[c.memory.id] for c in scored if c.memory.id in passed),
        drops=tuple(drop for drop in drops if drop.memory_id not in passed),
    )


# --- names

MOST_HOLDERS = 2
"""A name that more memories hold admits none of them."""
MOST_NAMES = 8
"""So many names are looked up; each costs one search."""
_WORD = lazy_regex(r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_NAME = lazy_regex(r"^(?:(?=.*\d)(?=.*[A-Za-z]).{3,}|\d{4,}|.*[a-z][A-Z].*)$")
_STARTS_SENTENCE = lazy_regex(r"(?:^|[.!?:;\n])[\s\"'`(\[*#-]*$")


def find_shared_names(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Which candidates share a rare name with the prompt."""
    named = shared_names(state.query, state.scored or (), search=tools.store.search)
    return Outcome(kept=state.changed(named=named))


def shared_names(query: Query, candidates: tuple[Candidate, ...], *, search: Search) -> dict[str, str]:
    """Memory id -> a name that it shares with the prompt and that at most `most_holders` memories hold."""
    prompt_entities, prompt = set(find_entities(query.raw_text)), _read(query.raw_text)
    holders: dict[str | Entity, frozenset[str]] = {}
    shared: dict[str, str] = {}
    for candidate in candidates:
        memory = candidate.memory
        entities = [entity for entity in memory.entities if entity in prompt_entities]
        for name in (*entities, *sorted(prompt.names_in(memory.content))):
            if name not in holders and len(holders) < MOST_NAMES:
                holders[name] = _holders(name, query, search)
            if memory.id in holders.get(name, ()):
                shared[memory.id] = name.key if isinstance(name, Entity) else name
                break
    return shared


def _holders(name: str | Entity, query: Query, search: Search) -> frozenset[str]:
    """The memories that hold a name; none where they are more than `MOST_HOLDERS`."""
    limit = MOST_HOLDERS + 1
    if isinstance(name, Entity):
        hits = search.entity((name,), scope=query.scope, limit=limit).hits
    else:
        hits = search.lexical(name, scope=query.scope, limit=limit).hits
    return frozenset(hit.memory_id for hit in hits) if len(hits) <= MOST_HOLDERS else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """Words of a prompt, case folded: all, those with the form of a name, those with a capital within a sentence."""

    words: frozenset[str]
    names: frozenset[str]
    capitals: frozenset[str]

    def names_in(self, text: str) -> set[str]:
        """Names that the prompt and `text` hold. Of `text` only the words of the prompt are looked at: most memories share few."""
        return {
            word
            for match in _WORD.finditer(text)
            if (word := match[0].casefold()) in self.words
            and (
                word in self.names
                or _NAME.search(match[0])
                or (word in self.capitals and _is_capital(match, text))
            )
        }


def _read(prompt: str) -> _Prompt:
    matches = list(_WORD.finditer(prompt))
    return _Prompt(
        words=frozenset(match[0].casefold() for match in matches),
        names=frozenset(match[0].casefold() for match in matches if _NAME.search(match[0])),
        capitals=frozenset(match[0].casefold() for match in matches if _is_capital(match, prompt)),
    )


def _is_capital(match: re.Match[str], text: str) -> bool:
    word = match[0]
    return len(word) > 2 and word[0].isupper() and _STARTS_SENTENCE.search(text, 0, match.start()) is None
