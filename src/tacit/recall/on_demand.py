"""The ranking for somebody who asks: wide, word by word, with what was said around each hit.

In: a query, the store, the embedder, the time that is left. Out: memories in order, a score of 0-1 each, and what was left
out for want of time. Takes some ten milliseconds, so it is for questions and never for the hook path.

    score = mean over lexical, semantic and late of  max(0, x - floor) / mean of the ten largest,  floor = mean (lexical: 0)

Where memories were said in sessions, half a part more is the session's: the sum over the words of the best that anything said
in it scores, as a share between the least and the most of all sessions. Source: passages judged with their document (Callan,
SIGIR 1994); the half was chosen on sessions with learnings (`capture`), never on the corpora that are reported.

Source: convex combination with equal weights (Bruch, Gai and Ingber, TOIS 2023). BM25 parts and token matches are spread to
the turns beside them (`spaces.sequence`) before they are summed. A long text (a pasted report) is two questions, itself and
its first line: five parts with equal weights, where the tokens of the heading are matched with headings alone. Source:
summary and description as fields of their own in finding duplicate reports (Sun, Lo, Khoo and Jiang, ASE 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate, Ranking, TokenMatches, WordTable
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.trace import Loss
from tacit.ports.models import Embedder
from tacit.ports.store import SearchableStore
from tacit.recall.fuse import truncate_fused
from tacit.recall.retrieve import embed_query
from tacit.recall.spaces import late
from tacit.recall.spaces.late import token_matches_of
from tacit.recall.spaces.sequence import (
    TurnNeighbors,
    add_neighbor_scores,
    find_turn_neighbors,
    session_position,
)
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.stemming import content_words

CANDIDATES_PER_SPACE = 128
"""Most memories that each space proposes."""
MAX_QUERY_WORDS = 64
"""Most words of a question that are looked up, first come first."""
MIN_TEXT_WORDS = 24
"""From here a question of several lines is a text, whose first line is its heading."""
MAX_POOL = 192
"""Most memories that are weighed."""
MATCHED_CHARS = 64_000
"""So much text is matched token by token, the likeliest memories first: about thirty milliseconds."""
HEADING_CHARS = 200

SESSION_SHARE = 0.5
"""What the session counts beside one part."""

TOP = 10
"""A part is scaled by the mean of its best ten: one text that repeats the question must not flatten all others."""

Scores = NDArray[np.float32]
Order = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question with its words; `heading` is "" where it is short."""

    text: str
    words: tuple[str, ...]
    heading: str = ""
    heading_columns: tuple[int, ...] = ()


def answer(
    query: Query,
    rankings: Sequence[Ranking],
    *,
    spaces: Sequence[str],
    store: SearchableStore,
    embedder: Embedder,
    remaining_ms: Callable[[], float] = lambda: 1e9,
) -> Outcome[Order]:
    """Weigh all memories that share a word with the query or are among the nearest by meaning.

    Returns:
        (memory id, score >= 0), best first, ties by id; losses name what missed the deadline.
    """
    asked = _read(query.text)
    losses: list[Loss] = []
    meanings = [_by_name(rankings, "semantic")]
    if asked.heading and meanings[0]:
        meanings.append(_near_heading(asked.heading, query, store, embedder, remaining_ms))
    near_in_meaning = {
        name: sum(one.get(name, 0.0) for one in meanings) for name in {*meanings[0], *meanings[-1]}
    }
    table = WordTable(ids=(), scores=np.zeros((0, len(asked.words)), np.float32))
    if "lexical" in spaces and asked.words:
        table = store.search.word_table(
            asked.words,
            scope=query.scope,
            limit=CANDIDATES_PER_SPACE,
            also=sorted(near_in_meaning),
            kinds=query.kinds,
        )
    memories = _pool(query, store, table, near_in_meaning)
    if not memories:
        return Outcome(kept=())
    names = [memory.id for memory in memories]
    places = [session_position(memory) if "sequence" in spaces else None for memory in memories]
    near = find_turn_neighbors(places)
    held = _held(table, names)
    parts = _lexical(asked, held, near)
    for one in meanings:
        if one:
            cosines = np.array([[max(0.0, one.get(name, 0.0))] for name in names], np.float32)
            parts.append(_share(add_neighbor_scores(cosines, near)[:, 0]))
    matches = token_matches_of(embedder) if "late" in spaces else None
    if matches is not None and remaining_ms() <= 0:
        losses.append(Loss(source="late", cause="late"))
    elif matches is not None:
        parts += _late(asked, memories, near, matches)
    parts.append(SESSION_SHARE * session_share(held, [place[0] if place else "" for place in places]))
    whole = np.mean(parts, axis=0)
    order = zip(names, map(float, whole), strict=True)
    return Outcome(kept=tuple(sorted(order, key=lambda entry: (-entry[1], entry[0]))), losses=tuple(losses))


def weigh(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """The order of an answer, cut to the short list."""
    answered = answer(
        state.query,
        state.rankings,
        spaces=state.spaces,
        store=tools.store,
        embedder=tools.embedder,
        remaining_ms=state.context.remaining_ms,
    )
    order = truncate_fused(answered.kept, state.rankings, state.settings.shortlist)
    return Outcome(kept=state.changed(order=order), losses=answered.losses)


def order(state: RecallState) -> Outcome[RecallState]:
    """The judged candidates of an answer in its order; all others as they stand."""
    if state.source != "answer":
        return Outcome(kept=state)
    return Outcome(kept=state.changed(scored=in_order(state.scored or ())))


def has_heading(text: str) -> bool:
    """Whether `answer` embeds the heading of `text` besides."""
    return bool(_read(text).heading)


def in_order(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Candidates by their place in the answer, each as relevant as its share of the best answer says.

    Whether there is an answer at all is judged by the best candidate's own evidence; what stands beside it in the talk may
    share no word with the question and is handed over with it: relevance = max(own, best own * score / best score).
    """
    best_own = max((c.relevance for c in candidates), default=0.0)
    best_score = max((c.fused for c in candidates), default=0.0)
    raised = [
        replace(c, relevance=round(max(c.relevance, best_own * c.fused / best_score), 4))
        if best_score > 0
        else c
        for c in candidates
    ]
    return tuple(sorted(raised, key=lambda c: (-c.fused, -c.relevance, c.memory.id)))


def _read(text: str) -> _Asked:
    words = content_words(text)[:MAX_QUERY_WORDS]
    first, _, rest = text.strip().partition("\n")
    if len(words) < MIN_TEXT_WORDS or not rest.strip():
        return _Asked(text=text, words=words)
    heading = first[:HEADING_CHARS]
    head = set(content_words(heading))
    columns = tuple(number for number, word in enumerate(words) if word in head)
    if not columns or len(columns) == len(words):
        return _Asked(text=text, words=words)
    return _Asked(text=text, words=words, heading=heading, heading_columns=columns)


def _by_name(rankings: Sequence[Ranking], space: str) -> dict[str, float]:
    return {
        hit.memory_id: hit.score for ranking in rankings if ranking.space == space for hit in ranking.hits
    }


def _near_heading(
    heading: str, query: Query, store: SearchableStore, embedder: Embedder, remaining_ms: Callable[[], float]
) -> dict[str, float]:
    """Cosines of what is nearest to the heading; nothing where there is no time for it."""
    if remaining_ms() <= 0:
        return {}
    vector = embed_query(heading, embedder=embedder, executor=None, remaining_ms=remaining_ms).kept
    if vector is None:
        return {}
    found = store.search.semantic(
        vector, identity=embedder.identity, scope=query.scope, limit=CANDIDATES_PER_SPACE, kinds=query.kinds
    )
    return _by_name((found,), "semantic")


def _pool(
    query: Query, store: SearchableStore, table: WordTable, near_in_meaning: Mapping[str, float]
) -> tuple[Memory, ...]:
    """The memories to weigh, likeliest first by both shares together, ties by id."""
    sums = dict(zip(table.ids, table.scores.sum(axis=1).tolist(), strict=True))
    words, meaning = max(sums.values(), default=0.0) or 1.0, max(near_in_meaning.values(), default=0.0) or 1.0
    rough = {
        name: sums.get(name, 0.0) / words + near_in_meaning.get(name, 0.0) / meaning
        for name in {*sums, *near_in_meaning}
    }
    best = sorted(rough, key=lambda name: (-rough[name], name))[:MAX_POOL]
    return store.get(best, scope=query.scope)


def session_share(held: Scores, sessions: Sequence[str]) -> Scores:
    """What the session of every memory says of the question, 0 to 1; 0 where there is none ("") or only one.

    Args:
        held: BM25 by memory and word, shape (memories, words).
        sessions: of every memory.
    """
    numbers = {name: number for number, name in enumerate(sorted({*sessions} - {""}))}
    shares = np.zeros(len(sessions), np.float32)
    if len(numbers) < 2 or not held.any():
        return shares
    rows = [row for row, name in enumerate(sessions) if name]
    of = [numbers[sessions[row]] for row in rows]
    best = np.zeros((len(numbers), held.shape[1]), np.float32)
    np.maximum.at(best, of, held[rows])
    sums = best.sum(axis=1)
    spread = float(sums.max() - sums.min())
    if spread > 0:
        shares[rows] = ((sums - sums.min()) / spread)[of]
    return shares


def _held(table: WordTable, names: Sequence[str]) -> Scores:
    """The table's rows in the order of `names`; zeros for those it lacks."""
    at = {name: row for row, name in enumerate(table.ids)}
    held = np.zeros((len(names), table.scores.shape[1]), np.float32)
    rows = [(row, at[name]) for row, name in enumerate(names) if name in at]
    if rows:
        held[[row for row, _ in rows]] = table.scores[[place for _, place in rows]]
    return held


def _lexical(asked: _Asked, held: Scores, near: TurnNeighbors) -> list[Scores]:
    if not held.any():
        return []
    spread = add_neighbor_scores(held, near)
    parts = [_share(spread.sum(axis=1), floor=0.0)]
    if asked.heading:
        parts.append(_share(spread[:, list(asked.heading_columns)].sum(axis=1), floor=0.0))
    return parts


def _late(
    asked: _Asked, memories: Sequence[Memory], near: TurnNeighbors, matches: TokenMatches
) -> list[Scores]:
    """How well the tokens are matched; of a long text the heading's alone, with headings."""
    if asked.heading:
        texts = [memory.content.lstrip().split("\n", 1)[0][:HEADING_CHARS] for memory in memories]
    else:
        texts = [memory.content[: late.MAX_CHARS] for memory in memories]
    lengths = np.cumsum([len(text) for text in texts])
    count = max(1, int(np.searchsorted(lengths, MATCHED_CHARS, side="right")))
    question = asked.heading or asked.text[: late.MAX_CHARS]
    found = matches(question, texts[:count])
    if not found.shape[1]:
        return []
    own = np.zeros((len(texts), found.shape[1]), np.float32)
    own[:count] = found
    return [_share(late.idf_weighted_mean(add_neighbor_scores(own, near), own))]


def _share(values: Scores, *, floor: float | None = None) -> Scores:
    lowest = float(values.mean()) if floor is None else floor
    above: Scores = np.maximum(values - np.float32(lowest), np.float32(0))
    most = float(np.sort(above)[-TOP:].mean()) if len(above) else 0.0
    return (above / np.float32(most)).astype(np.float32) if most > 0 else above
