"""Stage 3: embed the query and ask the spaces under a deadline. In: a query. Out: one ranking per space. Never fuses.

The vector is made first. A remote model is waited for on the given executor, and given up early enough that the other
spaces can still answer; a local one runs in turn: a thread of its own costs more than it saves. What missed the deadline is
named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from tacit.errors import ProviderError
from tacit.model.evidence import CosineReference, Hit, Ranking
from tacit.model.ids import newest_id_first
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.trace import Loss
from tacit.ports.models import Embedder, Vectors
from tacit.ports.store import MemoryFilter, MemoryStore, SearchableStore
from tacit.reading.unread import unread_language
from tacit.recall.ended import rank_ended
from tacit.recall.spaces import SPACES, SpaceQuery
from tacit.recall.spaces.character import closeness
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.stemming import leading_letters

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
    """The vector of a query's words, shape (dimensions,); None, with a loss, when there is none in time.

    Args:
        text: the words; none for nothing but blanks.
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
    """Vectors of texts, shape (texts, dimensions); a remote model is given up early enough for the search.

    Raises:
        TimeoutError: then.
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
    """The language of the query where the embedder does not read it, else its vector where a space needs one.

    With `reference` the vector is transformed as the gate was fitted.
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
    """Rankings of the memories that wait for confirmation, and for a question about the past of those that hold no more."""
    query = state.query
    rankings = (rank_unconfirmed(query, store=tools.store, embedder=tools.embedder),)
    return Outcome(
        kept=state.changed(rankings=(*rankings, rank_ended(tools, state)) if query.about_past else rankings)
    )


def find_nothing(state: RecallState) -> Outcome[RecallState]:
    """No candidates: the agent will do nothing after this prompt."""
    return Outcome(kept=state.changed(found=(), scored=()), facts=(Note(cause=NoteCause.NOTHING_ASKED),))


def ask(
    tools: Tools,
    state: RecallState,
    *,
    wide: int = 0,
    besides: Collection[str] = (),
    by_moment: bool = False,
) -> Outcome[RecallState]:
    """Every space that can retrieve, and that has what it needs for it, within the time that is left.

    Args:
        tools: the store to search.
        state: of the recall.
        wide: how many memories a space proposes, if that is more, whose ranking is all it knows of a memory; the others
            measure what is listed, and more hits of theirs would only cost time.
        besides: spaces that are not asked here.
        by_moment: whether the rules are looked up that name the moment of a call.
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
    """Return the lexical ranking by the first letters of words, for a language without a stemmer."""
    active = MemoryFilter(statuses=("active",), kinds=query.kinds)
    words = " ".join(leading_letters(query.text))
    hits = store.find_memories(words, active, scope=query.scope, limit=limit) if words else ()
    return Ranking(space="lexical", hits=hits)


def rank_unconfirmed(query: Query, *, store: MemoryStore, embedder: Embedder) -> Ranking:
    """Semantic ranking of the newest quarantined memories in scope; empty when nothing waits or nothing was asked.

    Quarantined memories are in no index on purpose: however many somebody adds, they cannot crowd out what the user said.
    They are few and read in full here; the likeliest by characters are embedded (mostly from the cache) and compared.
    """
    quarantined = MemoryFilter(statuses=("quarantined",))
    waiting = (
        store.list_memories(quarantined, scope=query.scope, limit=MAX_UNCONFIRMED)
        if query.text.strip()
        else ()
    )
    likely = sorted(waiting, key=lambda m: (-closeness(query.text, m.content), m.newest_first))[
        :MAX_UNCONFIRMED_COMPARED
    ]
    if not likely:
        return Ranking(space="semantic", hits=())
    if unread_language(embedder, query.text):
        hits = [Hit(memory_id=m.id, score=closeness(query.text, m.content)) for m in likely]
        return Ranking(
            space="semantic",
            hits=tuple(sorted(hits, key=lambda hit: (-hit.score, newest_id_first(hit.memory_id)))),
        )
    try:
        vectors = embedder.embed([query.text, *(memory.content for memory in likely)])
    except ProviderError:
        return Ranking(space="semantic", hits=())
    cosines = vectors[1:] @ vectors[0]
    hits = [Hit(memory_id=m.id, score=float(c)) for m, c in zip(likely, cosines, strict=True)]
    return Ranking(
        space="semantic",
        hits=tuple(sorted(hits, key=lambda hit: (-hit.score, newest_id_first(hit.memory_id)))),
    )
