"""Stages 3 and 4: ask the spaces, make one order of their rankings, read what stands in the short list and measure it.

In: a query. Out: candidates with their evidence. A space or a model that fails or is late is named in the losses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import lru_cache

from tacit.errors import ProviderError
from tacit.fitted import load_fitted, values_of
from tacit.model.change_reason import ChangeCause
from tacit.model.evidence import Candidate, CosineReference, Hit, Ranking, Shortlist
from tacit.model.ids import newest_id_first
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.session import Armed
from tacit.model.trace import Drop, Loss
from tacit.ports.models import Embedder, Vectors
from tacit.ports.store import MemoryFilter, MemoryStore, SearchableStore
from tacit.reading.memory_vectors import unread_language
from tacit.recall import spaces
from tacit.recall.spaces import COVERED, SPACES, SpaceQuery, gram_cosine
from tacit.recall.stage import LAST_SESSION, Outcome, RecallState, Tools
from tacit.safety.trust import ENDED_STATUSES
from tacit.text.stemming import leading_letters

# Stage 4: order candidates over several rankings. One function, one paper, one test each. Orders; never gates.

FUSE_WEIGHTS: Mapping[str, float] = {
    "semantic": 1.0,
    "lexical": 1.0,
    "code": 0.5,
    "entity": 0.7,
    "intent": 1.2,
    "error": 4.0,
    "moment": 4.0,
}
"""Weights of the rankings in fusion; they order the short list and gate nothing."""

BEST_PER_SPACE = 1
"""How many of the best hits of each space are always in the short list."""
KEPT_IN_CONTEXT = 4
"""How many memories that the context already holds are scored in addition: they may have changed since."""
K = 60
"""The constant of reciprocal rank fusion."""

DEFAULT_WEIGHT = 0.2
"""Weight in `fitted_order` of a space that `fitted/fusion.json` does not name."""
LOGGED = frozenset({"lexical", "code"})


def reciprocal_rank(
    rankings: Sequence[Ranking], weights: Mapping[str, float]
) -> tuple[tuple[str, float], ...]:
    """Fuse rankings by reciprocal rank: the sum of weight / (60 + rank), rank from 1. Source: Cormack, Clarke and Buettcher, SIGIR 2009.

    A space without weight counts 1.

    Returns:
        (memory id, fused score above 0), best first.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking.space, 1.0)
        for rank, hit in enumerate(ranking.hits, start=1):
            total[hit.memory_id] = total.get(hit.memory_id, 0.0) + weight / (K + rank)
    return best_first(total.items())


def best_first(scores: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Sort pairs of memory id and score, the greatest score first; of equal scores the newest memory comes first."""
    return tuple(sorted(scores, key=lambda entry: (-entry[1], newest_id_first(entry[0]))))


def rrf_equal(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Fuse rankings by reciprocal rank with a weight of 1 for each, as in the original paper."""
    return reciprocal_rank(rankings, {})


def rrf_weighted(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Fuse rankings by reciprocal rank with the weights of `FUSE_WEIGHTS`."""
    return reciprocal_rank(rankings, FUSE_WEIGHTS)


def fitted_order(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Order all memories that any ranking found by a weighted sum of their scores; the weights were fitted. Source: Gey, SIGIR 1994.

        order = sum over rankings of weight x score;  BM25 scores count as ln(1 + score)

    A memory that a ranking left out counts there as its last one did, or as 0 where the ranking found all there is to find (its
    scores start at 0, and it names whatever has more). The weights (`fitted/fusion.json`) are those of ridge logistic regression on
    judged pairs of three projects, each left out once: 20 memories that are not in the context yet then hold .62 to .66 of the needed
    ones, as many as the gate itself puts there when it judges every memory of the store. Spaces that were not in the fit have weights
    by hand.

    Returns:
        (memory id, order), best first; ties are broken by memory id.
    """
    fitted = _fusion_weights()
    total: dict[str, float] = {}
    base = 0.0
    for ranking in rankings:
        if not ranking.hits:
            continue
        weight = fitted.get(ranking.space, DEFAULT_WEIGHT)
        scores = {
            hit.memory_id: weight
            * (math.log1p(max(hit.score, 0.0)) if ranking.space in LOGGED else hit.score)
            for hit in ranking.hits
        }
        left_out = min(scores.values()) if ranking.space == "semantic" else 0.0
        base += left_out
        for name, score in scores.items():
            total[name] = total.get(name, 0.0) + score - left_out
    return best_first((name, base + score) for name, score in total.items())


@lru_cache(maxsize=1)
def _fusion_weights() -> Mapping[str, float]:
    """Return the shipped fusion weights by space; read once."""
    return load_fitted("fusion", dict[str, float], values_of)


def truncate_fused(
    fused: tuple[tuple[str, float], ...],
    rankings: Sequence[Ranking],
    size: int,
    held: Collection[str] = (),
) -> tuple[tuple[str, float], ...]:
    """Return the first `size` entries of the fused order; the best hit of every space is always among them.

    A memory that one space alone finds, and finds best, must not be crowded out by many that two spaces find somehow. Those
    that the context holds (`held`) take none of the `size` places from the others: the best `KEPT_IN_CONTEXT` of them come besides.
    """
    if held:
        held_ids = frozenset(held)
        again = [entry for entry in fused if entry[0] in held_ids][:KEPT_IN_CONTEXT]
        short = truncate_fused(tuple(entry for entry in fused if entry[0] not in held_ids), rankings, size)
        return best_first((*short, *again))
    heads = {hit.memory_id for ranking in rankings for hit in ranking.hits[:BEST_PER_SPACE]}
    chosen = [entry for entry in fused if entry[0] in heads]
    chosen += [entry for entry in fused if entry[0] not in heads]
    return best_first(chosen[:size])


def fuse(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `order`: all rankings fused into one order, cut to the size of the short list."""
    preset, rankings = state.preset, state.rankings
    order = truncate_fused(
        preset.fuse(rankings),
        rankings,
        preset.shortlist_at(state.query.surface),
        held=state.context.window,
    )
    return Outcome(kept=state.changed(order=order))


# Stage 3: embed the query and ask the spaces under a deadline. In: a query. Out: one ranking per space. Never fuses.
#
# The vector is made first. A remote model is waited for on the given executor, and given up early enough that the other
# spaces can still answer; a local one runs in turn: a thread of its own costs more than it saves. What missed the deadline is
# named.

QUERY_CHARS = 480
"""About 100 tokens: a longer prompt costs more time to embed than it gains (feasibility, section 6)."""

MAX_UNCONFIRMED = 200
MAX_UNCONFIRMED_COMPARED = 12
NOT_IN_TIME = "no vector came in time"
LEFT_FOR_SEARCH = 0.25
"""Share of the time left that waiting for a remote model leaves to the search."""


def embed_query(
    text: str,
    *,
    embedder: Embedder,
    executor: Executor | None,
    remaining_ms: Callable[[], float],
) -> Outcome[Vectors | None]:
    """Embed a query's words into a vector, shape (dimensions,); None for blank text, and with a loss if it is late or fails.

    Args:
        text: the words; only the first `QUERY_CHARS` are embedded.
        embedder: who makes vectors.
        executor: where a remote model is waited for; None = it is local.
        remaining_ms: milliseconds left until the deadline.
    """
    if not text.strip():
        return Outcome(kept=None)
    try:
        rows = embed_in_time(
            [text[:QUERY_CHARS]], embedder=embedder, executor=executor, remaining_ms=remaining_ms
        )
        return Outcome(kept=rows[0])
    except TimeoutError:
        return Outcome(kept=None, losses=(Loss(source="semantic", cause="late"),))
    except ProviderError as error:
        return Outcome(kept=None, losses=(Loss(source="semantic", cause="failed", detail=str(error)),))


def embed_in_time(
    texts: Sequence[str], *, embedder: Embedder, executor: Executor | None, remaining_ms: Callable[[], float]
) -> Vectors:
    """Return the vectors of texts, shape (texts, dimensions). Blocks; for a remote model 75 % of the remaining time at most.

    Raises:
        TimeoutError: if a remote model does not answer within that time.
        ProviderError: if they cannot be made.
    """
    if executor is None:
        return embedder.embed(texts)
    pending = executor.submit(embedder.embed, texts)
    try:
        return pending.result(timeout=max(0.0, remaining_ms()) * (1 - LEFT_FOR_SEARCH) / 1000)
    finally:
        pending.cancel()


def embed(
    tools: Tools, state: RecallState, *, reference: CosineReference | None = None
) -> Outcome[RecallState]:
    """Add the query's vector to the state, if a space needs one and the embedder reads its language; else add that language.

    With `reference` the vector gets the prompt transform that the gate was fitted with. A late or failed embedder is a loss.
    """
    query = state.query
    embedded: Outcome[Vectors | None] = Outcome(kept=None)
    unread = unread_language(tools.embedder, query.text)
    if not unread and any(SPACES[name].embeds for name in state.spaces):
        embedded = embed_query(
            query.text,
            embedder=tools.embedder,
            executor=tools.executor,
            remaining_ms=state.context.remaining_ms,
        )
    error = next((loss.detail or NOT_IN_TIME for loss in embedded.losses), "")
    vector = embedded.kept
    if vector is not None and reference is not None:
        vector = reference.transform(vector)
    facts = (Note(cause=NoteCause.NOT_READ, detail=unread),) if unread else ()
    return Outcome(
        kept=state.changed(vector=vector, embedding_error=error, reference=reference, unread=unread),
        losses=embedded.losses,
        facts=facts,
    )


def rank_waiting_and_ended(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `rankings` to those of the memories that wait for confirmation and, for a question about the past, of ended memories. Reads the store."""
    query = state.query
    rankings = (rank_unconfirmed(query, store=tools.store, embedder=tools.embedder),)
    return Outcome(
        kept=state.changed(rankings=(*rankings, rank_ended(tools, state)) if query.about_past else rankings)
    )


def find_nothing(state: RecallState) -> Outcome[RecallState]:
    """Empty the state's candidates (`found`, `scored`), for a prompt after which the agent will do nothing."""
    return Outcome(kept=state.changed(found=(), scored=()), facts=(Note(cause=NoteCause.NOTHING_ASKED),))


def ask(
    tools: Tools,
    state: RecallState,
    *,
    wide: int = 0,
    besides: Collection[str] = (),
    by_moment: bool = False,
) -> Outcome[RecallState]:
    """Search with every active space while time is left, and set the state's `rankings` and `space_scores`.

    A space that needs a vector is skipped without one. A space whose turn comes too late is a loss.

    Args:
        tools: the store to search.
        state: of the recall.
        wide: how many memories a space without `measure` proposes, if that is more than `candidates_per_space`. The other
            spaces measure the short list later, and more hits of theirs would only cost time.
        besides: names of spaces that are not asked here.
        by_moment: whether to look up rules by the moment of a call that they name.
    """
    query, limit = state.query, state.settings.candidates_per_space
    search, remaining_ms = tools.store.search, state.context.remaining_ms
    losses: list[Loss] = []
    by_space: dict[str, Ranking] = {}
    if query.error_signature:
        by_space["error"] = search.error(query.error_signature, scope=query.scope, limit=max(limit, wide))
    if by_moment and query.moments:
        moment_ranking = search.entity(query.moments, scope=query.scope, limit=max(limit, wide))
        by_space["moment"] = replace(moment_ranking, space="moment")
    names = state.spaces
    if state.embedding_error and "lexical" in state.settings.spaces:
        names = (*names, "lexical")  # without the prompt's vector nothing else may find a memory
    for name in dict.fromkeys(names):
        space = SPACES[name]
        if space.retrieve is None or name in besides or (space.embeds and state.vector is None):
            continue
        if remaining_ms() <= 0:
            losses.append(Loss(source=name, cause="late"))
            continue
        most = limit if space.measure is not None else max(limit, wide)
        space_query = SpaceQuery(
            query=query, limit=most, vector=state.vector, identity=tools.embedder.identity
        )
        by_space[name] = space.retrieve(search, space_query)
    if state.unread and not {"semantic", "lexical"}.isdisjoint({*state.spaces} - {*besides}):
        by_space["lexical"] = by_leading_letters(tools.store, query, limit=max(limit, wide))
    order = ("error", "moment", *SPACES)
    rankings = (*(by_space[name] for name in order if name in by_space), *state.rankings)
    scores: dict[str, dict[str, float]] = {}
    for ranking in rankings:
        scores.setdefault(ranking.space, {}).update({hit.memory_id: hit.score for hit in ranking.hits})
    only = tuple(Note(cause=NoteCause.KINDS_ASKED, detail=name) for name in query.kinds or ())
    return Outcome(
        kept=state.changed(rankings=rankings, space_scores=scores),
        facts=(
            *(
                Note(cause=NoteCause.SPACE_ASKED, detail=r.space, count=len(r.hits), took_ms=r.took_ms)
                for r in rankings
            ),
            *only,
        ),
        losses=tuple(losses),
    )


def by_leading_letters(store: SearchableStore, query: Query, *, limit: int) -> Ranking:
    """Return the ranking, named `lexical`, of active memories that have words with the same first letters; for a language without a stemmer."""
    active = MemoryFilter(statuses=("active",), kinds=query.kinds)
    words = " ".join(leading_letters(query.text))
    hits = store.find_memories(words, active, scope=query.scope, limit=limit) if words else ()
    return Ranking(space="lexical", hits=hits)


def _semantic(scores: Iterable[tuple[str, float]]) -> Ranking:
    hits = tuple(Hit(memory_id=name, score=score) for name, score in best_first(scores))
    return Ranking(space="semantic", hits=hits)


def rank_unconfirmed(query: Query, *, store: MemoryStore, embedder: Embedder) -> Ranking:
    """Return a ranking, named `semantic`, of the memories in scope that wait for confirmation (quarantined); empty if there are none or the query has no text. Reads the store and embeds.

    Quarantined memories are in no index on purpose: however many somebody adds, they cannot crowd out what the user said.
    They are few and read in full here; the likeliest by characters are embedded (mostly from the cache) and compared.
    """
    quarantined = MemoryFilter(statuses=("quarantined",))
    waiting = (
        store.list_memories(quarantined, scope=query.scope, limit=MAX_UNCONFIRMED)
        if query.text.strip()
        else ()
    )
    likely = sorted(waiting, key=lambda m: (-gram_cosine(query.text, m.content), m.newest_first))[
        :MAX_UNCONFIRMED_COMPARED
    ]
    if not likely:
        return _semantic(())
    if unread_language(embedder, query.text):
        return _semantic((m.id, gram_cosine(query.text, m.content)) for m in likely)
    try:
        vectors = embedder.embed([query.text, *(memory.content for memory in likely)])
    except ProviderError:
        return _semantic(())
    cosines: list[float] = (vectors[1:] @ vectors[0]).tolist()
    return _semantic(zip((memory.id for memory in likely), cosines, strict=True))


# From an order of ids to candidates with evidence. In: the fused order. Out: what every space says of each memory.
#
# Loads the short list and what the spaces need for it, then measures without I/O. Never orders; takes out only what whoever
# asks may not see.

Scores = tuple[tuple[str, float], ...]


def load(tools: Tools, state: RecallState, *, armed_too: bool = False) -> Outcome[RecallState]:
    """Read the memories of the short list, and what the spaces need to measure them, and set the state's `shortlist` to both.

    `armed_too` = also the memories that a model named in the pause. Memories that the asker may not see are taken out here, so
    that no later stage, model or trace reads them.
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
        if hidden := state.why_withheld(memory):
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
    facts = _not_read(state, unread) if unread else ()
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
    """Return probabilities by memory id, for loaded memories that the model saw in their present form; 0 = listed but not named."""
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
    """Set the state's `found`: the memories of the short list as candidates, in the fused order, with their score in every space.

    Sets `domain_similarity`, too. The spaces `weighed` have scored every memory before and are not measured again.
    """
    z, domain_similarity = spaces.standardize(state.rankings, state.reference)
    shortlist = state.shortlist or Shortlist(memories=())
    if state.unread_ids:
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
    """Return pairs (space, score) by memory id, in the fixed order of `SPACES`; a space without a score for a memory is left out.

    The spaces `weighed` have scored every memory before: their scores are taken from the short list.
    """
    shortlist = replace(shortlist, kinds=kinds)
    scores_by_space = {
        name: space.measure(query, shortlist)
        if space.measure is not None and name not in weighed
        else shortlist.found.get(name, {})
        for name, space in SPACES.items()
        if name in spaces
    }
    if COVERED in shortlist.found:
        scores_by_space[COVERED] = shortlist.found[COVERED]
    return {
        memory.id: tuple(
            (name, round(scores[memory.id], 4))
            for name, scores in scores_by_space.items()
            if memory.id in scores
        )
        for memory in shortlist.memories
    }


# Statements that hold no more, for a question about the past. In: a question, the store. Out: their cosines, and what replaced them.
#
# Ended memories are in no index, so that no other question can meet them. Where one asks for the past, those that share its words
# and the newest ones are compared by the vectors that the store kept, and what a memory found replaced comes with it. What somebody
# forgot, rejected or took back, and what faded, is not the past: it stays out. Never writes.

MAX_BY_WORDS = 64
"""Most ended memories that are found by their words; also most of the newest ones that are kept for their meaning."""
MAX_NEWEST = 200
"""How many of the most recently changed ended memories are compared by meaning."""
ENDED = MemoryFilter(statuses=ENDED_STATUSES, order="updated")
NO_PAST = frozenset(
    {
        ChangeCause.FORGOTTEN,
        ChangeCause.FORGOTTEN_BY_AGENT,
        ChangeCause.NOT_USEFUL,
        ChangeCause.DELETED_FROM_EXPORT,
        ChangeCause.UNDONE,
        ChangeCause.REJECTED,
        ChangeCause.FADED,
        ChangeCause.OVER_LIMIT,
        ChangeCause.CONSOLIDATED,
    }
)
"""Causes for which a memory was retired that say nothing about the time in which it held."""


def rank_ended(tools: Tools, state: RecallState) -> Ranking:
    """Return a ranking, named `semantic`, of superseded and retired memories that a question about the past may mean; one without a vector has the score 0. Reads the store."""
    query, store = state.query, tools.store
    ended = replace(ENDED, kinds=query.kinds)
    by_words = store.find_memories(query.text, ended, scope=query.scope, limit=MAX_BY_WORDS)
    newest = store.list_memories(ended, scope=query.scope, limit=MAX_NEWEST)
    cosines = _cosines(tools, state, [memory.id for memory in newest])
    nearest = [memory_id for memory_id, _ in best_first(cosines.items())[:MAX_BY_WORDS]]
    ids = list(dict.fromkeys((*(hit.memory_id for hit in by_words), *nearest)))
    cosines |= _cosines(tools, state, [memory_id for memory_id in ids if memory_id not in cosines])
    once = [memory.id for memory in store.get(ids, scope=query.scope) if held_once(memory, query, store)]
    return _semantic((memory_id, cosines.get(memory_id, 0.0)) for memory_id in once)


def find_replaced(pool: Sequence[Memory], query: Query, store: SearchableStore) -> tuple[Memory, ...]:
    """Return the ended memories that memories of `pool` replaced (`updates` relations), by id, without members of the pool."""
    pool_ids = {memory.id for memory in pool}
    edges = store.relations(sorted(pool_ids), scope=query.scope)
    old = {e.target_id for e in edges if e.type == "updates" and e.source_id in pool_ids} - pool_ids
    return tuple(m for m in store.get(sorted(old), scope=query.scope) if held_once(m, query, store))


def held_once(memory: Memory, query: Query, store: SearchableStore) -> bool:
    """Whether a memory once held: it is superseded, or retired for a cause that is not in `NO_PAST`."""
    if memory.status == "superseded":
        return True
    if memory.status != "retired":
        return False
    versions = store.recorded(scope=query.scope, limit=1, memory_id=memory.id)
    return all(version.reason.cause not in NO_PAST for version in versions)


def _cosines(tools: Tools, state: RecallState, ids: Sequence[str]) -> dict[str, float]:
    if state.vector is None or not ids:
        return {}
    stored = tools.store.get_vectors(ids, scope=state.query.scope, identity=tools.embedder.identity)
    return {memory_id: float(vector @ state.vector) for memory_id, vector in stored.items()}
