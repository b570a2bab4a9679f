"""When somebody asks: a wide search, word by word, with what was said around each hit.

In: a question. Out: its pipeline. For questions, never for the hook path. The ranking gives each memory a score and a match with the
question:

    score = mean over lexical, semantic and late of  max(0, x - floor) / mean of the ten largest,  floor = mean (lexical: 0)

Where memories were said in sessions, half a part more is the session's: the sum over the words of the best that anything said
in it scores, as a share between the least and the most of all sessions. Source: passages judged with their document (Callan,
SIGIR 1994); the half was chosen on sessions with learnings (`capture`), never on the corpora that are reported.

Source: convex combination with equal weights (Bruch, Gai and Ingber, TOIS 2023). BM25 parts and token matches are spread to
the turns beside them (`spaces.add_neighbor_scores`) before they are summed. A long text (a pasted report) is two questions, itself and
its first line: five parts with equal weights, where the tokens of the heading are matched with headings alone. Source:
summary and description as fields of their own in finding duplicate reports (Sun, Lo, Khoo and Jiang, ASE 2011).

    match = cosine + half the share of the question's words that the memory holds, by their idf;  1 at most

spread to neighboring turns like the parts. A statement that another one replaced stands beside it, as a neighboring turn does.

Of the ranked memories one is an answer if it matches the question (`thresholds.on_demand`) and scores at least `ANSWER_SHARE` of what the
best one does, or matches nearly as well: where one memory answers, what merely shares a word with the question stays out; where many do,
all of them come. Both numbers were chosen on projects: for each of seven those of the six others are 0.15 to 0.30 and 0.26 to 0.30, the
middle ships (ADR 50).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacit.frozen import frozen
from tacit.model.evidence import Candidate, Ranking, TokenMatches, WordTable
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason, Loss
from tacit.ports.models import Embedder
from tacit.ports.store import SearchableStore
from tacit.reading.memory_vectors import unread_language
from tacit.recall import spaces
from tacit.recall.guard import guard
from tacit.recall.pipelines import hand_over, second_stage
from tacit.recall.retrieve import (
    ask,
    best_first,
    by_leading_letters,
    embed,
    embed_query,
    find_replaced,
    load,
    measure,
    rank_waiting_and_ended,
    truncate_fused,
)
from tacit.recall.spaces import (
    NEIGHBOR_DECAY,
    TurnNeighbors,
    add_neighbor_scores,
    find_turn_neighbors,
    session_position,
    token_matches_of,
    topic_gram_cosines,
)
from tacit.recall.stage import Kit, Outcome, Pipeline, RecallState, Step, Steps, Tools
from tacit.text.natural_language import WITHOUT_BLANKS, natural_language_of
from tacit.text.stemming import content_words, leading_letters, stems

ANSWER_SHARE = 0.25
"""Least share of the best answer's score that a further memory needs."""
NEAR_MATCH = 0.7
"""Share of the best match from which a memory matches nearly as well, and is kept whatever its score."""
LEAST_TOLD = 0.1
"""Least cosine that is named as a reason."""
CANDIDATES_PER_SPACE = 128
"""Most memories that each space proposes."""
MAX_QUERY_WORDS = 64
"""Most words of a question that are looked up, first come first."""
MIN_TEXT_WORDS = 24
"""With so many words a question of several lines counts as a long text, whose first line is its heading."""
MAX_POOL = 96
"""Largest number of memories that are scored for an answer. A budget with room for more raises it."""
MAX_POOL_OF_TALK = 192
"""The same for memories that were said in sessions, where a turn may matter because of the turn beside it."""
LEAST_LINE_TOKENS = 24
"""Tokens of a short memory in an answer; by it a budget is turned into a number of memories."""
MATCHED_CHARS = 64_000
"""Characters of memories that are matched token by token, likeliest memories first: about 30 ms."""
HEADING_CHARS = 200

WORDS_SHARE = 0.5
"""Weight of the share of the question's words in the match, beside the cosine."""

PAIRS_PER_WORD = 2.0
"""Pairs of characters for each word of a text without blanks. Every other pair spans two words, so a memory need not contain it."""

SESSION_SHARE = 0.5
"""Weight of the session's score, beside 1 for each other part."""

TOP = 10
"""A part is scaled by the mean of its best ten: one text that repeats the question must not flatten all others."""

Scores = NDArray[np.float32]
Order = Sequence[tuple[str, float]]
WEIGHED = ("lexical", "late", "sequence")
"""Spaces that `answer` measures itself, so that no other stage does."""


def on_demand(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of an answer: embed, search wide, weigh word by word, order by match, guard, cut what is far below the best, pack, render."""
    tools = kit.tools
    return Pipeline(
        ask=_ask_first(kit),
        find=(
            ("retrieve", partial(ask_wide, tools, besides=WEIGHED)),
            ("fuse", partial(order_by_answer, tools, by_match=True)),
            ("fuse", partial(load, tools)),
            ("fuse", partial(measure, weighed=WEIGHED)),
        ),
        choose=(
            ("score", order_by_match),
            ("score", partial(kit.files.look, tools)),
            *second_stage(kit),
            ("guard", guard),
            ("guard", cut_answer),
            *hand_over(kit, state),
        ),
        at_once=not has_heading(state.query.text),
    )


def judged_answer(kit: Kit, state: RecallState, *, judge: Step) -> Pipeline:
    """Return the pipeline of an answer: embed, search wide, weigh word by word, judge, order by weight, guard, pack, render.

    For a preset with a score of its own: `judge` says how relevant each memory is, the ranking in which order they come.
    """
    tools = kit.tools
    return Pipeline(
        ask=_ask_first(kit),
        find=(
            ("retrieve", partial(ask_wide, tools)),
            ("fuse", partial(order_by_answer, tools)),
            ("fuse", partial(load, tools)),
            ("fuse", measure),
        ),
        choose=(
            ("score", judge),
            ("score", order_judged),
            ("score", partial(kit.files.look, tools)),
            *second_stage(kit),
            ("guard", guard),
            *hand_over(kit, state),
        ),
        at_once=not has_heading(state.query.text),
    )


def _ask_first(kit: Kit) -> Steps:
    return (
        ("retrieve", partial(embed, kit.tools)),
        ("retrieve", partial(rank_waiting_and_ended, kit.tools)),
    )


@frozen
class WeighedAnswer:
    """The memories that a question found, with their scores.

    Attributes:
        order: (memory id, score >= 0), best first, ties by id.
        memories: the memories in it, by id.
        matches: match with the question, 0-1, by id.
        scores: scores of the spaces that were measured here, by space and id.
    """

    order: Order = ()
    memories: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    matches: Mapping[str, float] = field(default_factory=dict[str, float])
    scores: Mapping[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])


@frozen
class AskedWords:
    """A question with its content words; of a long text also the first line (`heading`, else "") and the places of its words."""

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
) -> Outcome[WeighedAnswer]:
    """Score the memories that share a word with the query or are near in meaning, and order them best first. Reads the store.

    `rankings` must hold the semantic ranking; `spaces` are the active spaces. Losses name what missed the deadline.
    """
    if unread_language(embedder, query.text):
        return Outcome(kept=_by_words(query, rankings, store))
    asked_words = _read(query.text)
    losses: list[Loss] = []
    meanings = [_by_name(rankings, "semantic")]
    if asked_words.heading and meanings[0]:
        meanings.append(_near_heading(asked_words.heading, query, store, embedder, remaining_ms))
    near_in_meaning = {
        name: sum(cosines_by_id.get(name, 0.0) for cosines_by_id in meanings)
        for name in {*meanings[0], *meanings[-1]}
    }
    nothing = np.zeros(len(asked_words.words), np.float32)
    table = WordTable(ids=(), scores=np.zeros((0, len(asked_words.words)), np.float32), weights=nothing)
    if "lexical" in spaces and asked_words.words:
        table = store.search.word_table(
            asked_words.words,
            scope=query.scope,
            limit=breadth(query, CANDIDATES_PER_SPACE),
            also=sorted(near_in_meaning),
            kinds=query.kinds,
        )
    memories = _pool(query, store, table, near_in_meaning, of_talk="sequence" in spaces)
    if not memories:
        return Outcome(kept=WeighedAnswer())
    names = [memory.id for memory in memories]
    places = [session_position(memory) if "sequence" in spaces else None for memory in memories]
    near = find_turn_neighbors(places)
    word_scores = _held(table, names)
    shares = _lexical(asked_words, word_scores, near)
    cosines = np.array(
        [
            [
                0.0
                if unread_language(embedder, memory.content)
                else max(0.0, cosines_by_id.get(memory.id, 0.0))
                for cosines_by_id in meanings
            ]
            for memory in memories
        ],
        np.float32,
    )
    spread = add_neighbor_scores(cosines, near)
    shares += [_share(spread[:, column]) for column, cosines_by_id in enumerate(meanings) if cosines_by_id]
    scores = {"lexical": dict(zip(names, word_scores.sum(axis=1).tolist(), strict=True))}
    matches = token_matches_of(embedder) if "late" in spaces else None
    if matches is not None and remaining_ms() <= 0:
        losses.append(Loss(source="late", cause="late"))
    elif matches is not None:
        late_scores = _late(asked_words, memories, near, matches)
        shares += [_share(column_scores) for column_scores in late_scores]
        for column_scores in late_scores:
            scores["late"] = dict(zip(names, column_scores.tolist(), strict=True))
    shares.append(SESSION_SHARE * session_share(word_scores, [place[0] if place else "" for place in places]))
    whole = np.mean(shares, axis=0)
    coverage = _holds(asked_words, table, word_scores, memories)
    weights = cap_unknown(table.weights, coverage)
    match = match_with(asked_words, spread, add_neighbor_scores(coverage, near), weights)
    if query.about_past:
        whole, match = beside_successors(whole, memories), beside_successors(match, memories)
    order = zip(names, map(float, whole), strict=True)
    return Outcome(
        kept=WeighedAnswer(
            order=best_first(order),
            memories=dict(zip(names, memories, strict=True)),
            matches=dict(zip(names, match.tolist(), strict=True)),
            scores=scores,
        ),
        losses=tuple(losses),
    )


def _by_words(query: Query, rankings: Sequence[Ranking], store: SearchableStore) -> WeighedAnswer:
    """Return the answer to a question in a language that the embedder does not read: by first letters of words and runs of letters.

    score = mean of both, each divided by the best one;  match = share of the question's words that a memory contains, weighted by idf
    """
    words = leading_letters(query.text)
    hits = by_leading_letters(store, query, limit=breadth(query, MAX_POOL)).hits
    found = {hit.memory_id: hit.score for hit in hits}
    others = [hit.memory_id for ranking in rankings for hit in ranking.hits if hit.memory_id not in found]
    memories = store.get([*found, *dict.fromkeys(others)], scope=query.scope)
    if not memories:
        return WeighedAnswer()
    contents = [memory.content.lower() for memory in memories]
    holding = np.array([[word in content for word in words] for content in contents], np.float32)
    holders = holding.sum(axis=0)
    idf = np.log1p(len(memories) / (1 + holders))
    # A word that no memory contains may be any verb of a request: it counts as much as the most frequent word of the memories.
    idf = np.where(holders > 0, idf, min(idf[holders > 0], default=0.0))
    coverage = (holding * idf).sum(axis=1) / max(float(idf.sum()), 1e-6) if words else np.zeros(len(memories))
    if natural_language_of(query.text) in WITHOUT_BLANKS:
        coverage = np.minimum(1.0, PAIRS_PER_WORD * coverage)
    lexical = np.array([found.get(memory.id, 0.0) for memory in memories])
    runs = topic_gram_cosines(query.text, [memory.content for memory in memories])
    scores = (lexical / max(float(lexical.max()), 1e-6) + runs / max(float(runs.max()), 1e-6)) / 2
    order = zip((memory.id for memory in memories), map(float, scores), strict=True)
    return WeighedAnswer(
        order=best_first(order),
        memories={memory.id: memory for memory in memories},
        matches={memory.id: float(share) for memory, share in zip(memories, coverage, strict=True)},
        scores={"lexical": found},
    )


def breadth(query: Query, least: int) -> int:
    """Return how many memories to consider for a question: as many short lines as its token budget has room for, but at least `least`."""
    return max(least, query.budget_tokens // LEAST_LINE_TOKENS)


def place_of_last_answer(order: Order, matches: Mapping[str, float], *, least: float) -> int:
    """Return the place, from 1, of the last memory in `order` whose match is at least `least`; 0 = none."""
    places = enumerate(order, start=1)
    return max((place for place, (name, _) in places if matches[name] >= least), default=0)


def ask_wide(tools: Tools, state: RecallState, *, besides: Collection[str] = ()) -> Outcome[RecallState]:
    """Search with all active spaces but `besides`, for as many hits as the budget may need; see `ask`."""
    return ask(tools, state, wide=breadth(state.query, CANDIDATES_PER_SPACE), besides=besides)


def order_by_answer(tools: Tools, state: RecallState, *, by_match: bool = False) -> Outcome[RecallState]:
    """Set the state's `order` by what `answer` returns (also `read` and `matches`), cut to what the budget can hold.

    With `by_match` it reaches at least to the last memory whose match reaches the threshold, and the state also gets each space's scores.
    """
    done = answer(
        state.query,
        state.rankings,
        spaces=state.spaces,
        store=tools.store,
        embedder=tools.embedder,
        remaining_ms=state.context.remaining_ms,
    )
    weighed = done.kept
    size = state.preset.shortlist_at(state.query.surface)
    if by_match:
        visible = [
            (name, score) for name, score in weighed.order if not state.why_withheld(weighed.memories[name])
        ]
        answers = place_of_last_answer(visible, weighed.matches, least=state.threshold)
        size = max(size, answers + len(weighed.order) - len(visible))
    else:
        size = breadth(state.query, size)
    order = truncate_fused(tuple(weighed.order), state.rankings, size)
    facts: tuple[Note, ...] = ()
    scores = state.space_scores
    if by_match:
        lexical = sum(score > 0 for score in weighed.scores.get("lexical", {}).values())
        facts = (Note(cause=NoteCause.SPACE_ASKED, detail="lexical", count=lexical),)
        scores = {**scores, **weighed.scores}
    state = state.changed(order=order, read=weighed.memories, matches=weighed.matches, space_scores=scores)
    return Outcome(kept=state, facts=facts, losses=done.losses)


def has_heading(text: str) -> bool:
    """Whether `text` is long and has several lines, so that `answer` embeds its first line, too."""
    return bool(_read(text).heading)


def _read(text: str) -> AskedWords:
    words = content_words(text)[:MAX_QUERY_WORDS]
    first, _, body = text.strip().partition("\n")
    if len(words) < MIN_TEXT_WORDS or not body.strip():
        return AskedWords(text=text, words=words)
    heading = first[:HEADING_CHARS]
    head = set(content_words(heading))
    columns = tuple(number for number, word in enumerate(words) if word in head)
    if not columns or len(columns) == len(words):
        return AskedWords(text=text, words=words)
    return AskedWords(text=text, words=words, heading=heading, heading_columns=columns)


def _by_name(rankings: Sequence[Ranking], space: str) -> dict[str, float]:
    return {
        hit.memory_id: hit.score for ranking in rankings if ranking.space == space for hit in ranking.hits
    }


def _near_heading(
    heading: str, query: Query, store: SearchableStore, embedder: Embedder, remaining_ms: Callable[[], float]
) -> dict[str, float]:
    """Return the cosines of the memories nearest to the heading, by id; {} = no time or no vector."""
    if remaining_ms() <= 0:
        return {}
    vector = embed_query(heading, embedder=embedder, executor=None, remaining_ms=remaining_ms).kept
    if vector is None:
        return {}
    ranking = store.search.semantic(
        vector, identity=embedder.identity, scope=query.scope, limit=CANDIDATES_PER_SPACE, kinds=query.kinds
    )
    return _by_name((ranking,), "semantic")


def _pool(
    query: Query,
    store: SearchableStore,
    table: WordTable,
    near_in_meaning: Mapping[str, float],
    *,
    of_talk: bool,
) -> tuple[Memory, ...]:
    """Read the memories to weigh, likeliest first by words and meaning; for a question about the past with those they replaced."""
    sums = dict(zip(table.ids, table.scores.sum(axis=1).tolist(), strict=True))
    words, meaning = max(sums.values(), default=0.0) or 1.0, max(near_in_meaning.values(), default=0.0) or 1.0
    rough = {
        name: sums.get(name, 0.0) / words + near_in_meaning.get(name, 0.0) / meaning
        for name in {*sums, *near_in_meaning}
    }
    ranked = [name for name, _ in best_first(rough.items())]
    size = breadth(query, MAX_POOL)
    pool = store.get(ranked[:size], scope=query.scope)
    if of_talk and size < MAX_POOL_OF_TALK and any(memory.provenance.session_id for memory in pool):
        pool = (*pool, *store.get(ranked[size:MAX_POOL_OF_TALK], scope=query.scope))
    return (*pool, *find_replaced(pool, query, store)) if query.about_past else pool


def beside_successors(values: Scores, memories: Sequence[Memory]) -> Scores:
    """Return `values` (one for each of `memories`), where that of a replaced memory is raised to 0.7 times the value of the memory that replaced it."""
    at = {memory.id: row for row, memory in enumerate(memories)}
    out = values.copy()
    for row, memory in enumerate(memories):
        successor = at.get(memory.validity.superseded_by or "")
        if successor is not None:
            out[row] = max(out[row], np.float32(NEIGHBOR_DECAY) * values[successor])
    return out


def cap_unknown(weights: Scores, coverage: Scores) -> Scores:
    """Return `weights`, shape (words,), where a word that no memory holds is lowered to the greatest weight of a held one; unchanged if none is held.

    `coverage` = the share of each word that each memory holds, shape (memories, words).
    """
    covered = coverage.any(axis=0)
    return (
        np.where(covered, weights, np.minimum(weights, weights[covered].max())) if covered.any() else weights
    )


def match_with(asked_words: AskedWords, cosines: Scores, coverage: Scores, weights: Scores) -> Scores:
    """Return how well each memory matches the question, 0-1, shape (memories,).

    That is the cosine plus a part of the share of the question's words that it holds, or the share alone
    without vectors. The heading of a long question is matched, too; the better cosine and the better share
    count.

    Args:
        asked_words: of the question.
        cosines: with the question and with its heading, shape (memories, 1 or 2).
        coverage: share of every word that is held, 0 to 1, shape (memories, words).
        weights: of the words, shape (words,).
    """
    shares = [_weighted_share(coverage, weights)]
    if asked_words.heading:
        columns = list(asked_words.heading_columns)
        shares.append(_weighted_share(coverage[:, columns], weights[columns]))
    share = np.max(shares, axis=0)
    if not cosines.any():
        return share  # words alone must do
    return np.minimum(1.0, cosines.max(axis=1) + np.float32(WORDS_SHARE) * share).astype(np.float32)


def _weighted_share(coverage: Scores, weights: Scores) -> Scores:
    whole = float(weights.sum())
    return (coverage @ weights / np.float32(whole)) if whole > 0 else np.zeros(len(coverage), np.float32)


def _holds(
    asked_words: AskedWords, table: WordTable, word_scores: Scores, memories: Sequence[Memory]
) -> Scores:
    """Return 1.0 where a memory holds a word, else 0.0, shape (memories, words); for memories in no index by their text."""
    coverage = (word_scores > 0).astype(np.float32)
    unindexed = [row for row, memory in enumerate(memories) if memory.status != "active"]
    if unindexed and table.weights.any():
        for row in unindexed:
            memory_stems = stems(memories[row].content)
            coverage[row] = [bool(stems(word) & memory_stems) for word in asked_words.words]
    return coverage


def session_share(word_scores: Scores, sessions: Sequence[str]) -> Scores:
    """Return for each memory how well its session answers the question, 0-1; 0 without a session, or with only one in all.

    Args:
        word_scores: BM25 by memory and word, shape (memories, words).
        sessions: of every memory; "" = none.
    """
    numbers = {name: number for number, name in enumerate(sorted({*sessions} - {""}))}
    shares = np.zeros(len(sessions), np.float32)
    if len(numbers) < 2 or not word_scores.any():
        return shares
    rows = [row for row, name in enumerate(sessions) if name]
    of = [numbers[sessions[row]] for row in rows]
    best = np.zeros((len(numbers), word_scores.shape[1]), np.float32)
    np.maximum.at(best, of, word_scores[rows])
    sums = best.sum(axis=1)
    spread = float(sums.max() - sums.min())
    if spread > 0:
        shares[rows] = ((sums - sums.min()) / spread)[of]
    return shares


def _held(table: WordTable, names: Sequence[str]) -> Scores:
    """Return the scores of the table in the order of `names`; zeros for memories that it lacks."""
    at = {name: row for row, name in enumerate(table.ids)}
    word_scores = np.zeros((len(names), table.scores.shape[1]), np.float32)
    rows = [(row, at[name]) for row, name in enumerate(names) if name in at]
    if rows:
        word_scores[[row for row, _ in rows]] = table.scores[[place for _, place in rows]]
    return word_scores


def _lexical(asked_words: AskedWords, word_scores: Scores, near: TurnNeighbors) -> list[Scores]:
    if not word_scores.any():
        return []
    spread = add_neighbor_scores(word_scores, near)
    shares = [_share(spread.sum(axis=1), floor=0.0)]
    if asked_words.heading:
        shares.append(_share(spread[:, list(asked_words.heading_columns)].sum(axis=1), floor=0.0))
    return shares


def _late(
    asked_words: AskedWords, memories: Sequence[Memory], near: TurnNeighbors, matches: TokenMatches
) -> list[Scores]:
    """Return a list with the token-level scores of the memories, shape (memories,); [] if the question has no tokens.

    Of a long question the heading is compared with the first lines of the memories.
    """
    if asked_words.heading:
        texts = [memory.content.lstrip().split("\n", 1)[0][:HEADING_CHARS] for memory in memories]
    else:
        texts = [memory.content[: spaces.MAX_CHARS] for memory in memories]
    lengths = np.cumsum([len(text) for text in texts])
    count = max(1, int(np.searchsorted(lengths, MATCHED_CHARS, side="right")))
    question = asked_words.heading or asked_words.text[: spaces.MAX_CHARS]
    token_scores = matches(question, texts[:count])
    if not token_scores.shape[1]:
        return []
    own = np.zeros((len(texts), token_scores.shape[1]), np.float32)
    own[:count] = token_scores
    return [spaces.idf_weighted_mean(add_neighbor_scores(own, near), own)]


def _share(values: Scores, *, floor: float | None = None) -> Scores:
    lowest = float(values.mean()) if floor is None else floor
    above: Scores = np.maximum(values - np.float32(lowest), np.float32(0))
    most = float(np.sort(above)[-TOP:].mean()) if len(above) else 0.0
    return (above / np.float32(most)).astype(np.float32) if most > 0 else above


# --- which of them answer


def order_by_match(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: the found candidates in the order of the answer, with the match as relevance; see `by_match`."""
    return Outcome(kept=state.changed(scored=by_match(state.found or (), state.matches)))


def order_judged(state: RecallState) -> Outcome[RecallState]:
    """Bring the state's `scored` candidates into the order of the answer; see `in_order`."""
    return Outcome(kept=state.changed(scored=in_order(state.scored or ())))


def by_match(candidates: Sequence[Candidate], matches: Mapping[str, float]) -> tuple[Candidate, ...]:
    """Sort the candidates by their score in the answer, and set their relevance to their match with the question (`matches`, 0-1, by id)."""
    judged = [c.judged(round(matches.get(c.memory.id, 0.0), 4), _reasons(c)) for c in candidates]
    return tuple(sorted(judged, key=lambda c: (-c.fused, -c.relevance, c.memory.newest_first)))


def _reasons(candidate: Candidate) -> tuple[str, ...]:
    cosine = candidate.score("semantic") or 0.0
    words = ("shared words",) if (candidate.score("lexical") or 0.0) > 0 else ()
    return (*(("near in meaning",) if cosine >= LEAST_TOLD else ()), *words)


def in_order(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort the candidates by their score in the answer, and raise their relevance in proportion to it; for presets whose own score judges relevance.

    Whether there is an answer depends on the relevance of the best candidate alone. Another candidate may come from the same
    conversation and share no word with the question. Its relevance is therefore raised in proportion to its score in the answer:
    max(own, best own * score / best score).
    """
    best_own = max((c.relevance for c in candidates), default=0.0)
    best_score = max((c.fused for c in candidates), default=0.0)
    raised = [
        replace(c, relevance=round(max(c.relevance, best_own * c.fused / best_score), 4))
        if best_score > 0
        else c
        for c in candidates
    ]
    return tuple(sorted(raised, key=lambda c: (-c.fused, -c.relevance, c.memory.newest_first)))


def cut_answer(state: RecallState) -> Outcome[RecallState]:
    """Reduce the state's `passed` to what is not far below the best; see `cut`."""
    done = cut(state.passed or (), share=ANSWER_SHARE)
    return Outcome(kept=state.changed(passed=done.kept), drops=done.drops)


def cut(candidates: Sequence[Candidate], *, share: float) -> Outcome[tuple[Candidate, ...]]:
    """Keep the candidates with at least `share` of the best score, or with nearly the best match, in the order given; the others are drops."""
    least = share * max((c.fused for c in candidates), default=0.0)
    near = NEAR_MATCH * max((c.relevance for c in candidates), default=0.0)
    kept = tuple(c for c in candidates if c.fused >= least or c.relevance >= near)
    kept_ids = {c.memory.id for c in kept}
    drops = tuple(
        Drop(
            memory_id=c.memory.id,
            why=DropReason(cause=DropCause.FAR_BELOW_BEST, value=round(c.fused, 4), bound=round(least, 4)),
        )
        for c in candidates
        if c.memory.id not in kept_ids
    )
    return Outcome(kept=kept, drops=drops)
