"""From an order of ids to candidates with evidence. In: the fused order. Out: what every space says of each memory.

Loads the short list and what the spaces need for it, then measures without I/O. Never orders; takes out only what whoever
asks may not see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tacit.model.evidence import Candidate, Shortlist
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.session import Armed
from tacit.model.trace import Drop, Loss
from tacit.reading.unread import unread_language
from tacit.recall.spaces import SPACES, semantic
from tacit.recall.stage import LAST_SESSION, Outcome, RecallState, Tools

Scores = tuple[tuple[str, float], ...]


def load(tools: Tools, state: RecallState, *, armed_too: bool = False) -> Outcome[RecallState]:
    """The memories of the short list with what the spaces read for them; `armed_too` = with those that a model in the pause named.

    What whoever asks may not see is taken out here, so that no later stage, model or trace reads it.
    """
    query = state.query
    ranked_ids = [memory_id for memory_id, _ in state.order]
    armed = state.context.armed if armed_too else None
    named_ids = (
        *(state.judged or ()),
        *(armed_memory.memory_id for armed_memory in (armed.memories if armed else ())),
    )
    further = dict.fromkeys((*state.recent, *filter(None, (state.last_session,)), *named_ids))
    for name in state.spaces:
        if reach := SPACES[name].reach:
            further.update(dict.fromkeys(reach(tools.store, query, ranked_ids)))
    order = (*state.order, *((memory_id, 0.0) for memory_id in further if memory_id not in ranked_ids))
    unread = [memory_id for memory_id, _ in order if memory_id not in state.read]
    memories = {m.id: m for m in tools.store.get(unread, scope=query.scope)} if unread else {}
    memories |= {name: state.read[name] for name, _ in order if name in state.read}
    drops: list[Drop] = []
    for memory in tuple(memories.values()):
        if hidden := state.hidden(memory):
            drops.append(Drop(memory_id=memory.id, why=hidden))
            del memories[memory.id]
    order = tuple(entry for entry in order if entry[0] in memories)
    shortlist = Shortlist(
        memories=tuple(memories[memory_id] for memory_id, _ in order),
        found=state.space_scores,
        kinds=state.kinds,
    )
    unread = {
        memory.id: language
        for memory in shortlist.memories
        if (language := unread_language(tools.embedder, memory.content))
    }
    losses: list[Loss] = []
    for name in state.spaces:
        if read := SPACES[name].read:
            done = read(tools, query, shortlist, state.context.remaining_ms)
            shortlist = done.kept
            losses += done.losses
    state = state.changed(
        order=order, shortlist=shortlist, withheld=tuple(drops), unread_ids=frozenset(unread)
    )
    facts = _not_read(state, unread)
    if armed is None:
        return Outcome(kept=state, losses=tuple(losses), facts=facts)
    holding = _still_armed(armed, memories)
    fact = Note(
        cause=NoteCause.ARMED,
        detail=armed.model,
        count=sum(chance > 0 for chance in holding.values()),
        of=len(armed.memories),
    )
    return Outcome(kept=state.changed(armed=holding), losses=tuple(losses), facts=(*facts, fact))


def _not_read(state: RecallState, unread: Mapping[str, str]) -> tuple[Note, ...]:
    """Return notes on memories whose language the embedder does not read, except for the language of the query, which has its own note."""
    counts = Counter(language for language in unread.values() if language != state.unread)
    return tuple(
        Note(cause=NoteCause.MEMORIES_NOT_READ, detail=language, count=count)
        for language, count in sorted(counts.items())
    )


def _still_armed(armed: Armed, memories: Mapping[str, Memory]) -> dict[str, float]:
    """The probability of each loaded memory that the model saw as it is now; 0 = it was not named."""
    armed_by_id = {armed_memory.memory_id: armed_memory for armed_memory in armed.memories}
    listed = frozenset(armed.listed)
    holding: dict[str, float] = {}
    for memory in memories.values():
        armed_memory = armed_by_id.get(memory.id)
        if armed_memory is not None:
            if armed_memory.content_hash == memory.content_hash:
                holding[memory.id] = armed_memory.probability
        elif memory.id in listed and memory.updated_at_ms <= armed.at_ms:
            holding[memory.id] = 0.0
    return holding


def measure(state: RecallState, *, weighed: Collection[str] = ()) -> Outcome[RecallState]:
    """Candidates with the scores of every space, in the fused order; the spaces `weighed` were asked of every memory before."""
    z, domain_similarity = semantic.standardize(state.rankings, state.reference)
    shortlist = state.shortlist or Shortlist(memories=())
    shortlist = _without_vectors_of(state.unread_ids, shortlist)
    measured = measure_spaces(state.query, shortlist, spaces=state.spaces, kinds=state.kinds, weighed=weighed)
    candidates = tuple(
        Candidate(
            memory=memory,
            scores=measured[memory.id],
            fused=fused,
            similarity_z=None if state.unread or memory.id in state.unread_ids else z(memory.id),
            reasons=(LAST_SESSION,) if memory.id == state.last_session else (),
        )
        for memory, (_, fused) in zip(shortlist.memories, state.order, strict=True)
    )
    return Outcome(kept=state.changed(found=candidates, domain_similarity=domain_similarity))


def _without_vectors_of(unread_ids: Collection[str], shortlist: Shortlist) -> Shortlist:
    """Return the short list without cosines of memories that the embedder does not read."""
    cosines = shortlist.found.get("semantic", {})
    if cosines.keys().isdisjoint(unread_ids):
        return shortlist
    read = {name: score for name, score in cosines.items() if name not in unread_ids}
    return replace(shortlist, found={**shortlist.found, "semantic": read})


def measure_spaces(
    query: Query,
    shortlist: Shortlist,
    *,
    spaces: Sequence[str],
    kinds: KindRegistry,
    weighed: Collection[str] = (),
) -> dict[str, Scores]:
    """Scores by memory id, in the spaces' fixed order; a space that says nothing of a memory is left out.

    Those of `weighed` were asked of every memory before, and are not measured again.
    """
    shortlist = replace(shortlist, kinds=kinds)
    scores_by_space = {
        name: space.measure(query, shortlist)
        if space.measure is not None and name not in weighed
        else shortlist.found.get(name, {})
        for name, space in SPACES.items()
        if name in spaces
    }
    return {
        memory.id: tuple(
            (name, round(scores[memory.id], 4))
            for name, scores in scores_by_space.items()
            if memory.id in scores
        )
        for memory in shortlist.memories
    }
