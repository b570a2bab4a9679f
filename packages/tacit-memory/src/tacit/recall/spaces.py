"""The spaces: ways to measure closeness, each with its own scale and its own thresholds.

A space proposes memories (`retrieve`), leads to further ones (`reach`), measures the short list (`measure`), or several of
these. What it needs for measuring besides the memories it reads beforehand (`read`), so that measuring does no I/O.
A new one is a section and a line of `SPACES`, at the end.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.fitted import load_fitted, values_of
from tacit.frozen import frozen
from tacit.model.evidence import CosineReference, Ranking, Shortlist, TokenMatches
from tacit.model.ids import newest_id_first
from tacit.model.kinds import BUILTIN_KINDS, Kind
from tacit.model.memory import Entity, Memory, Relation
from tacit.model.query import Query
from tacit.ports.models import Embedder, EmbedderIdentity, TokenEmbedder, Vectors
from tacit.ports.search import Search
from tacit.ports.store import MemoryStore
from tacit.reading.match import Matcher, MatchModel, relative_strengths
from tacit.reading.memory_vectors import unread_language
from tacit.recall.stage import Outcome, Tools
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import content_words, stem_list, stems
from tacit.text.tokens import segmented

_CAUSES = wording("causes")
COVERED = "covered"
"""The score that `recall.score.cover` computes: no space, as it finds nothing."""


Family = Literal["meaning", "words", "situation", "things", "time"]


@frozen
class SpaceThresholds:
    """The fitted thresholds of one space, with how they were derived; `python -m tacit_evals.fit` reproduces the file byte for byte.

    Attributes:
        low, high: on the space's own scale: at or above `high` a score speaks for a memory, below `low` against it. Quantiles
            of the scores of pairs that nobody needed, on real prompts.
        by: `data` = quantiles; `hand` = set by hand, where too few pairs speak.
        pairs: pairs that nobody needed, of which the space says something.
        others_at_high, needed_at_high: share of those pairs, and of needed pairs, at or above `high`.
    """

    low: float
    high: float
    by: Literal["data", "hand"]
    pairs: int = 0
    others_at_high: float = 0.0
    needed_at_high: float = 0.0


def shipped_thresholds() -> Mapping[str, SpaceThresholds]:
    """Return the shipped thresholds by space."""
    return load_fitted("space_thresholds", dict[str, SpaceThresholds], values_of)


SPACE_THRESHOLDS = {
    name: (thresholds.low, thresholds.high) for name, thresholds in shipped_thresholds().items()
}
"""The shipped (low, high) by space."""
UNFITTED = (0.0, 1.0)
"""(low, high) of a space that is not among them: the ends of a scale from 0 to 1."""


@frozen
class SpaceQuery:
    """The arguments of `Space.retrieve`.

    Attributes:
        query: the words and the situation.
        limit: most memories that it proposes.
        vector: of the words, shape (dimensions,), of unit length; None = they were not embedded.
        identity: of the embedder that made it.
    """

    query: Query
    limit: int
    vector: Vectors | None
    identity: EmbedderIdentity


@frozen
class Space:
    """One measure of similarity: data and functions by which a query and memories are compared.

    Attributes:
        name: as in the glossary.
        family: the sort of evidence, for those who look at scores.
        summary: what it compares, in a few words.
        topic_weight: its weight in agreement; 0 = it is no evidence of a topic (SPEC section 5).
        retrieve: searches and gives a ranking; None = it proposes nothing.
        embeds: whether it can only be asked with a vector.
        reach: gives ids of memories that the ones found lead to, and that no space proposed.
        read: adds to the short list what `measure` needs of the store or of a model.
        measure: gives scores by memory id, without I/O; None = its ranking is all it knows.
    """

    name: str
    family: Family
    summary: str
    topic_weight: float
    retrieve: Callable[[Search, SpaceQuery], Ranking] | None = None
    embeds: bool = False
    reach: Callable[[MemoryStore, Query, Sequence[str]], Sequence[str]] | None = None
    read: Callable[[Tools, Query, Shortlist, Callable[[], float]], Outcome[Shortlist]] | None = None
    measure: Callable[[Query, Shortlist], Mapping[str, float]] | None = None

    @property
    def high(self) -> float:
        """The score, on the space's own scale, from which on it speaks for a memory; infinite for a space whose thresholds were not fitted."""
        return SPACE_THRESHOLDS.get(self.name, UNFITTED)[1]

    @property
    def low(self) -> float:
        """The score, on the space's own scale, below which it speaks against a memory."""
        return SPACE_THRESHOLDS.get(self.name, UNFITTED)[0]


def each(
    measure: Callable[[Query, Memory], float],
) -> Callable[[Query, Shortlist], Mapping[str, float]]:
    """Return a function for `Space.measure` that scores every memory of the short list by itself with `measure`."""

    def measure_all(query: Query, shortlist: Shortlist) -> dict[str, float]:
        return {memory.id: measure(query, memory) for memory in shortlist.memories}

    return measure_all


# Semantic space (E1): cosine of sentence embeddings, -1 to 1. Source: Reimers and Gurevych, Sentence-BERT, 2019.


def nearest_by_meaning(search: Search, space_query: SpaceQuery) -> Ranking:
    """Return the ranking of memories by cosine with the query's vector, which must not be None."""
    assert space_query.vector is not None
    return search.semantic(
        space_query.vector,
        identity=space_query.identity,
        scope=space_query.query.scope,
        limit=space_query.limit,
        kinds=space_query.query.kinds,
    )


SEMANTIC = Space(
    name="semantic",
    family="meaning",
    summary="meaning of the whole text",
    topic_weight=1.0,
    retrieve=nearest_by_meaning,
    embeds=True,
)


REFERENCE_MEAN = 0.13
REFERENCE_DEVIATION = 0.11
"""Mean and standard deviation of cosines of prompts and memories of one project with the shipped embedder (three projects)."""
REFERENCE_COUNT = 10.0
"""The reference counts as so many memories: in a small scope it decides, in a large one the scope itself does."""


DOMAIN_NEAREST = 5


def standardize(
    rankings: Sequence[Ranking], reference: CosineReference | None
) -> tuple[Callable[[str], float], float | None]:
    """Return the function of `make_similarity_z` and the value of `domain_similarity_z`, both by the mean and deviation of `reference`.

    Without `reference` the function uses the defaults, and the value is None.
    """
    if reference is None:
        return make_similarity_z(rankings), None
    mean, deviation = reference.mean, reference.deviation
    return make_similarity_z(rankings, mean=mean, deviation=deviation), domain_similarity_z(
        rankings, mean=mean, deviation=deviation
    )


def domain_similarity_z(rankings: Sequence[Ranking], *, mean: float, deviation: float) -> float | None:
    """Return how near the prompt is to the scope: the mean of its `DOMAIN_NEAREST` best cosines, in deviations above `mean`.

    None if the ranking of the space `semantic` is missing or empty. A prompt of another project is far from everything, which `make_similarity_z` cannot tell.
    """
    hits = next((ranking.hits for ranking in rankings if ranking.space == "semantic"), ())[:DOMAIN_NEAREST]
    return (sum(hit.score for hit in hits) / len(hits) - mean) / deviation if hits else None


def make_similarity_z(
    rankings: Sequence[Ranking], *, mean: float = REFERENCE_MEAN, deviation: float = REFERENCE_DEVIATION
) -> Callable[[str], float]:
    """Return a function from memory id to how many standard deviations its cosine lies above the scope's usual one.

    With n cosines of mean m and deviation s in the background, and k = `REFERENCE_COUNT` at the reference's
    M and S (`mean` and `deviation`):

        mean = (n m + k M) / (n + k)
        deviation ** 2 = (n (s ** 2 + (m - mean) ** 2) + k (S ** 2 + (M - mean) ** 2)) / (n + k)

    A memory that the ranking left out gets the value of its last one. Without a semantic ranking all have 0.
    """
    ranking = next((ranking for ranking in rankings if ranking.space == "semantic"), None)
    if ranking is None or not ranking.hits or ranking.background is None:
        return lambda _memory_id: 0.0
    background, k = ranking.background, REFERENCE_COUNT
    whole = background.count + k
    middle = (background.count * background.mean + k * mean) / whole
    inside = background.count * (background.deviation**2 + (background.mean - middle) ** 2)
    outside = k * (deviation**2 + (mean - middle) ** 2)
    spread = ((inside + outside) / whole) ** 0.5
    scores = {hit.memory_id: (hit.score - middle) / spread for hit in ranking.hits}
    least = min(scores.values())
    return lambda memory_id: scores.get(memory_id, least)


# Lexical space (E6): BM25 over stemmed words, above 0. Source: Robertson and Zaragoza, 2009 (k1 1.2, b 0.75).


def nearest_by_words(search: Search, space_query: SpaceQuery) -> Ranking:
    """Return the ranking of memories by shared words (BM25)."""
    return search.lexical(
        space_query.query.text,
        scope=space_query.query.scope,
        limit=space_query.limit,
        kinds=space_query.query.kinds,
    )


LEXICAL = Space(
    name="lexical",
    family="words",
    summary="shared words",
    topic_weight=1.0,
    retrieve=nearest_by_words,
)


# Code space (E7): BM25 over identifiers and paths, split by case and punctuation; above 0.


def nearest_by_code(search: Search, space_query: SpaceQuery) -> Ranking:
    """Return the ranking of memories by shared identifiers and paths; the last three files count as words of the query."""
    query = space_query.query
    return search.code(
        " ".join((query.text, *query.files[-3:])),
        scope=query.scope,
        limit=space_query.limit,
        kinds=query.kinds,
    )


CODE = Space(
    name="code",
    family="words",
    summary="identifiers and paths",
    topic_weight=1.0,
    retrieve=nearest_by_code,
)


# Entity space (E11): idf-weighted overlap of linked entities, 0 to 1: matched idf over the idf of all asked for.


def nearest_by_names(search: Search, space_query: SpaceQuery) -> Ranking:
    """Return the ranking of memories by shared entities: those of the query and its last three files."""
    query = space_query.query
    files = tuple(Entity(kind="file", key=path) for path in query.files[-3:])
    entities = tuple(dict.fromkeys((*query.entities, *files)))
    return search.entity(entities, scope=query.scope, limit=space_query.limit, kinds=query.kinds)


ENTITY = Space(
    name="entity",
    family="things",
    summary="linked things",
    topic_weight=0.5,
    retrieve=nearest_by_names,
)


# Character space (E9): cosine of character 3-gram sets, 0 to 1. Robust to typos and inflection.
#
# Source: Cavnar and Trenkle, N-gram-based text categorization, 1994, with set weights instead of counts:
# |A and B| / sqrt(|A| * |B|), where A and B are the sets of 3-grams of the words, each framed by blanks. A short list is
# compared at once: making a set of strings for every fresh memory took a third of an embedding.

_MOST_CHARS = 320
_BETWEEN_TEXTS = "\0"
_BETWEEN_WORDS = re.compile(r"[^\w\0]+|_+")
_ASCII = bytes(code if not code or chr(code).isalnum() else 32 for code in range(256))
_BLANK = ord(" ")
_CODE_BITS, _SPARE_BITS = np.uint64(40), np.uint64(24)
_CODE = np.uint64((1 << 40) - 1)
_LAST = np.array([_CODE])
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Odd numbers that spread three code points over 64 bits; of 3-grams that differ one pair in 2**40 is taken for the same."""


def grams(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the 3-grams of the first 320 characters of every text, sorted, without repeats.

    Each is one number: the index of its text in the upper 24 bits and a 40-bit hash of the 3-gram in the lower ones.
    """
    plain = (segmented(text[:_MOST_CHARS]).casefold().replace(_BETWEEN_TEXTS, " ") for text in texts)
    joined = _BETWEEN_TEXTS.join(f" {text} " for text in plain)
    points = _letters(joined)
    if len(points) < 3:  # no 3-gram at all
        return np.empty(0, np.uint64)
    number = (points == 0).cumsum(dtype=np.uint64)[1:-1]
    middle = points[1:-1]
    # In the middle of a 3-gram stands a letter. One with an end of a text at its side has the blank before it there.
    whole = middle > _BLANK
    mixed = ((points[:-2] * _FACTORS[0] + middle) * _FACTORS[1] + points[2:]) * _FACTORS[0]
    packed = ((number << _CODE_BITS) | (mixed >> _SPARE_BITS))[whole]
    packed.sort()
    first = np.ones(len(packed), np.bool_)
    np.not_equal(packed[1:], packed[:-1], out=first[1:])
    return packed[first]


def _letters(text: str) -> NDArray[np.uint64]:
    """Return the code points of `text` as uint64, with blanks in place of what belongs to no word (one per run if the text is not ASCII). NUL between texts stays."""
    if text.isascii():
        return np.frombuffer(text.encode().translate(_ASCII), np.uint8).astype(np.uint64)
    points = np.frombuffer(_BETWEEN_WORDS.sub(" ", text).encode("utf-32-le", "replace"), np.uint32)
    return points.astype(np.uint64)


def gram_cosines(text: str, others: Sequence[str]) -> NDArray[np.float64]:
    """Return the set cosine of the 3-grams of `text` with those of each of `others`, 0 to 1, shape (others,)."""
    packed = grams([text, *others])
    owners = (packed >> _CODE_BITS).view(np.int64)
    codes = packed & _CODE
    sizes = np.bincount(owners, minlength=len(others) + 1)
    text_codes = np.concatenate((codes[: sizes[0]], _LAST))  # ascending; the last so that every place exists
    same = text_codes[text_codes.searchsorted(codes)] == codes
    shared = np.bincount(owners[same], minlength=len(others) + 1)
    return shared[1:] / np.sqrt(np.maximum(sizes[0] * sizes[1:], 1))


def gram_cosine(left: str, right: str) -> float:
    """Return the set cosine of the 3-grams of two texts, 0 to 1."""
    return float(gram_cosines(left, [right])[0])


def character_overlap(query: Query, shortlist: Shortlist) -> Mapping[str, float]:
    """Return the 3-gram closeness of the query's text and each memory by memory id; outside English by content words alone."""
    memories = shortlist.memories
    # The gate was fitted on whole English texts.
    compare = gram_cosines if natural_language_of(query.text) == ENGLISH else topic_gram_cosines
    scores = compare(query.text, [memory.content for memory in memories]).tolist()
    return {memory.id: score for memory, score in zip(memories, scores, strict=True)}


def topic_gram_cosines(text: str, others: Sequence[str]) -> NDArray[np.float64]:
    """Return the set cosine of 3-grams of `text` with each of `others`, 0 to 1, shape (others,), of their content words alone."""
    return gram_cosines(_topical(text), [_topical(other) for other in others])


def _topical(text: str) -> str:
    """Return the content words of a text. In a language without a stemmer, function words share as many 3-grams as words of the topic."""
    return " ".join(content_words(text))


CHARACTER = Space(
    name="character",
    family="words",
    summary="runs of letters",
    topic_weight=0.5,
    measure=character_overlap,
)


# Recent space (E2): age under the kind's half-life, 0 to 1: 0.5 ** (age / half-life).
#
# A kind that never ages has a half-life of a year here: what was learned later is needed sooner whatever its kind. In dated
# replays of 275 prompts R@10 is .270 (0.114 at random; .122 where ageless kinds tie at 1). `freshness` itself, by which
# memories fade, leaves such kinds at 1.

DAY_MS = 86_400_000
AGELESS_HALF_LIFE_DAYS = 365.0


def freshness(*, at_ms: int, since_ms: int, kind: Kind) -> float:
    """Return how fresh a memory of `kind` from `since_ms` is at `at_ms`, 0-1, halved with each half-life; ageless kinds have 1."""
    return 1.0 if kind.half_life_days is None else _halved(at_ms - since_ms, kind.half_life_days)


def _halved(age_ms: int, half_life_days: float) -> float:
    return 0.5 ** (max(0, age_ms) / DAY_MS / half_life_days)


def recency(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return by memory id how recent each memory is at the time of the query, 0-1; ageless kinds have a half-life of a year."""
    days = {
        kind: shortlist.kinds.of_stored(kind).half_life_days or AGELESS_HALF_LIFE_DAYS
        for kind in {memory.kind for memory in shortlist.memories}
    }
    return {
        memory.id: _halved(query.at_ms - memory.updated_at_ms, days[memory.kind])
        for memory in shortlist.memories
    }


RECENT = Space(
    name="recent",
    family="time",
    summary="age, by the half-life of its kind; for hints of time",
    topic_weight=0.0,
    measure=recency,
)


# Intent space (E10): match of the memory's trigger with the situation, 0 to 1. The formula stands in `reading.trigger`.


def nearest_by_intent(search: Search, space_query: SpaceQuery) -> Ranking:
    """Return the ranking of memories whose trigger shares the most with the coming actions."""
    query = space_query.query
    actions = relative_strengths(query.situation.actions, _match_model(query))
    return search.intent(actions, scope=query.scope, limit=space_query.limit, kinds=query.kinds)


def _match_model(query: Query) -> MatchModel | None:
    return query.matching if isinstance(query.matching, MatchModel) else None


def intent_match(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return by memory id how well its trigger matches the situation, 0-1."""
    matcher = Matcher(query.situation, tool=query.tool, model=_match_model(query))
    return {memory.id: matcher.score(memory.trigger) for memory in shortlist.memories}


INTENT = Space(
    name="intent",
    family="situation",
    summary="trigger and situation",
    topic_weight=1.0,
    retrieve=nearest_by_intent,
    measure=intent_match,
)


# Periodic space (E3): same hour of day and same day of week as earlier work, 0 to 1.
#
#     half of exp(4 * (cos(2 pi t / day) - 1))  +  half of exp(4 * (cos(2 pi t / week) - 1)),  t = time between the two
#
# Source: the von Mises kernel of circular statistics (Mardia and Jupp, Directional Statistics, 2000, chapter 3) with a
# concentration of 4: half its peak two and a half hours off the hour, eighteen hours off the weekday. Only the time
# between the two moments counts, so that no time zone is needed. What is younger than half a day shows no rhythm and
# scores 0. Two moments that have nothing to do with each other score 0.21 on average.

WEEK_MS = 7 * DAY_MS
YOUNGEST_MS = DAY_MS // 2
_CONCENTRATION = 4.0


def rhythm(between_ms: int) -> float:
    """Return how alike two moments `between_ms` apart are in hour of day and day of week, 0-1; less than half a day apart = 0."""
    if abs(between_ms) < YOUNGEST_MS:
        return 0.0
    return 0.5 * _kernel(between_ms, DAY_MS) + 0.5 * _kernel(between_ms, WEEK_MS)


def _kernel(between_ms: int, period_ms: int) -> float:
    angle = 2 * math.pi * (between_ms % period_ms) / period_ms
    return math.exp(_CONCENTRATION * (math.cos(angle) - 1))


def rhythm_of(query: Query, memory: Memory) -> float:
    """Return how alike the time of the query and the creation time of the memory are in hour of day and day of week, 0-1.

    A memory less than half a day old has 0.
    """
    return rhythm(query.at_ms - memory.created_at_ms)


PERIODIC = Space(
    name="periodic",
    family="time",
    summary="hour and weekday; for hints of time, no sign of need",
    topic_weight=0.0,
    measure=each(rhythm_of),
)


# Sequence space (E4): distance along the chain of sessions and turns, 0 to 1.
#
#     session_closeness(a, b) = 2 ** -(d / 2),  d = turns apart in one session, or 8 for every session between two sessions
#     score(m) = max over anchors of weight * session_closeness(m, anchor)
#
# Source: the contiguity effect of free recall, which falls off with the lag to both sides (Kahana, Memory & Cognition, 1996;
# Howard and Kahana, 2002). The anchors are the place where the query is asked (weight 1) and, where nothing is known of it
# (on demand), the memories that the other spaces found, weighted by their share of the best score: what was said around a
# hit belongs to it. A memory is never its own anchor. Memories without a session have no place and score 0.
# Sessions follow one another in the order of their earliest memory in the short list.

HALF_LIFE_TURNS = 2.0
SESSION_LAG_TURNS = 8.0
NEIGHBOR_DECAY = 0.7
SEEDS = ("lexical", "semantic")
"""Spaces whose hits are anchors where the query has no place of its own."""

SessionPosition = tuple[str, int]


def session_position(memory: Memory) -> SessionPosition | None:
    """Return the session (`host/id`) and turn in which a memory was learned; None = it has no session."""
    provenance = memory.provenance
    return (f"{provenance.host}/{provenance.session_id}", provenance.turn) if provenance.session_id else None


def session_closeness(a: SessionPosition, b: SessionPosition, *, sessions: Mapping[str, int]) -> float:
    """Return how close two positions are, 1 = the same one, halved every two turns; a step between sessions counts as 8 turns.

    `sessions` holds the number of each session in their order; a session that is not in it has 0 to all others.
    """
    if a[0] == b[0]:
        return 2.0 ** -(abs(a[1] - b[1]) / HALF_LIFE_TURNS)
    if a[0] not in sessions or b[0] not in sessions:
        return 0.0
    return 2.0 ** -(SESSION_LAG_TURNS * abs(sessions[a[0]] - sessions[b[0]]) / HALF_LIFE_TURNS)


def session_order(memories: Iterable[Memory], last: str = "") -> dict[str, int]:
    """Return the number of each session, in the order of its earliest memory, ties by name; `last` gets the highest number."""
    first: dict[str, int] = {}
    for memory in memories:
        place = session_position(memory)
        if place is not None:
            first[place[0]] = min(memory.created_at_ms, first.get(place[0], memory.created_at_ms))
    names = sorted(first, key=lambda name: (name == last, first[name], name))
    if last and last not in first:
        names.append(last)
    return {name: number for number, name in enumerate(names)}


def nearness_in_session(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return by memory id how close it was learned to the turn of the query or, if that has none, to the best hits; only values above 0."""
    places = {m.id: place for m in shortlist.memories if (place := session_position(m)) is not None}
    if query.session and query.turn:
        position = (query.session, query.turn)
        sessions = session_order(shortlist.memories, last=query.session)
        near = {name: session_closeness(place, position, sessions=sessions) for name, place in places.items()}
        return {name: value for name, value in near.items() if value > 0}
    return _around(places, anchor_weights(shortlist))


def anchor_weights(shortlist: Shortlist) -> dict[str, float]:
    """Return by memory id how well the spaces `SEEDS` found it, 0-1: its score as a share of the best one, averaged over these spaces."""
    total: defaultdict[str, float] = defaultdict(float)
    for space in SEEDS:
        scores = shortlist.found.get(space, {})
        best = max(scores.values(), default=0.0)
        for name, score in scores.items():
            if best > 0 and score > 0:
                total[name] += score / best / len(SEEDS)
    return dict(total)


def _around(places: Mapping[str, SessionPosition], weights: Mapping[str, float]) -> dict[str, float]:
    by_session: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, (session, turn) in places.items():
        by_session[session].append((name, turn))
    scores: dict[str, float] = {}
    for members in by_session.values():
        for name, turn in members:
            best = max(
                (
                    weights.get(other, 0.0) * 2.0 ** -(abs(turn - at) / HALF_LIFE_TURNS)
                    for other, at in members
                    if other != name
                ),
                default=0.0,
            )
            if best > 0:
                scores[name] = best
    return scores


@frozen
class TurnNeighbors:
    """Memories (row numbers) and their neighbors one or two turns away in a session.

    Each pair stands in both directions. `decay` = 0.7 ** turns; all are of shape (pairs,).
    """

    rows: NDArray[np.intp]
    others: NDArray[np.intp]
    decay: NDArray[np.float32]


def find_turn_neighbors(places: Sequence[SessionPosition | None]) -> TurnNeighbors:
    """Return the pairs of neighboring turns among memories at these positions; None = no session, so no neighbors."""
    at: defaultdict[SessionPosition, list[int]] = defaultdict(list)
    for row, place in enumerate(places):
        if place is not None:
            at[place].append(row)
    pairs = [
        (row, neighbor, NEIGHBOR_DECAY ** abs(step))
        for (session, turn), rows in at.items()
        for step in (-2, -1, 1, 2)
        for neighbor in at.get((session, turn + step), ())
        for row in rows
    ]
    rows, neighbors, decay = zip(*pairs, strict=True) if pairs else ((), (), ())
    return TurnNeighbors(
        rows=np.array(rows, np.intp), others=np.array(neighbors, np.intp), decay=np.array(decay, np.float32)
    )


def add_neighbor_scores(parts: NDArray[np.float32], near: TurnNeighbors) -> NDArray[np.float32]:
    """Return `parts` with each score raised to that of a neighboring turn times its `decay`, where that is more.

    What a question asks for is often said over two or three turns: one names the matter, the next says the thing. Parts
    are spread one by one, so that two turns which hold the same word count once. Source: passages of fixed windows
    (Callan, SIGIR 1994), with the decay of contiguity. `parts` holds scores >= 0, shape (memories, parts).
    """
    out = parts.copy()
    np.maximum.at(out, near.rows, near.decay[:, None] * parts[near.others])
    return out


SEQUENCE = Space(
    name="sequence",
    family="time",
    summary="turns and sessions; for hints of time",
    topic_weight=0.0,
    measure=nearness_in_session,
)


# Causal space (E5): does the query show the symptom that the memory explains or cures? 0 to 1, asymmetric.
#
#     containment(symptom of the memory, query) = |stems of both| / |stems of the symptom|;  1 for the same error signature
#
# Source: the containment of Broder, On the resemblance and containment of documents, 1997. A query that has a direction (an
# error signature, or words that tell of a failure or ask for a cause) shows a symptom by one stem of it, another query by
# three; else it scores 0. A memory has a symptom side when it is of a kind that explains (`error_pattern`) or says so: "X
# because Y", "X is caused by Y", "Y causes X", "when X, do Y", "Y fixes X", "X: run Y". Symptom asks for fix; a query that resembles only the fix scores 0.

_LEAST_STEMS = 2
"""A symptom of one word is shown by half of all failures."""
_LEAST_SHOWN = 3
"""Stems of a symptom that a query without a direction has to hold: fewer may only name the thing that fails."""
_MAX_CHARS = 1200

_LABEL = lazy_regex(r"^(?P<symptom>[^:]{8,200}):\s")


@lru_cache(maxsize=4096)
def symptom_of(content: str, *, explains: bool) -> frozenset[str]:
    """Return the stems of the part of a statement that describes a symptom; empty = it has none.

    Args:
        content: the statement.
        explains: whether its kind explains errors: then "X: do Y" and, failing all else, the first sentence is the symptom.
    """
    text = content[:_MAX_CHARS]
    patterns = (
        (_CAUSES.effect_first, _CAUSES.effect_last, _LABEL)
        if explains
        else (_CAUSES.effect_first, _CAUSES.effect_last)
    )
    for pattern in patterns:
        if match := pattern.search(text):
            return stems(match["symptom"])
    if (match := _CAUSES.condition.search(text)) and (explains or _CAUSES.direction.search(match["symptom"])):
        return stems(match["symptom"])
    return stems(re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]) if explains else frozenset()


def has_direction(query: Query) -> bool:
    """Whether the query shows a symptom or asks for a cause."""
    return bool(query.error_signature) or _directed(query.text[:_MAX_CHARS])


@lru_cache(maxsize=64)
def _directed(text: str) -> bool:
    return _CAUSES.direction.search(text) is not None


def causal_overlap(query: Query, memory: Memory) -> float:
    """Return the share of the memory's symptom that the query shows, 0-1; 1 for the same error signature."""
    if query.error_signature and query.error_signature == memory.error_signature:
        return 1.0
    symptom = symptom_of(memory.content, explains=BUILTIN_KINDS.of_stored(memory.kind).explains_errors)
    if len(symptom) < _LEAST_STEMS:
        return 0.0
    shown = len(symptom & stems(query.text[:_MAX_CHARS]))
    return shown / len(symptom) if shown >= _LEAST_SHOWN or has_direction(query) else 0.0


CAUSAL = Space(
    name="causal",
    family="things",
    summary="cause and effect",
    topic_weight=1.0,
    measure=each(causal_overlap),
)


# Graph space (E8): personalized PageRank over relations, seeded by the other spaces; 0 to 1 (the best one has 1).
#
#     r = (1 - d) * s + d * W r;  d = 0.5, s = seed weights (sum 1), W = column-normalized edge weights, both ways
#     score(m) = d * (W r)(m) / sqrt(degree(m)), as a share of the largest;  degree = sum of the weights of its edges
#
# Source: Page, Brin, Motwani and Winograd, 1999; personalized as in Haveliwala, Topic-sensitive PageRank, 2002; d = 0.5 as
# HippoRAG (Gutierrez et al., 2024) has it for memories. A memory without edges keeps its seed to itself. The score counts
# only what comes in over edges: a memory that has no edge to a found one scores 0 here, even if other spaces rank it high.
# Power iteration stops after 30 rounds or when the largest change is below 0.000001. `contradicts` is no path.
#
# A memory with many edges gets some of every flow. Two things keep it from being the answer to every question. The seeds are
# sharp: a memory with a hit of words or entities, weighed by the cube of its share of the best score. The flow is divided by
# the root of the degree. On seven projects with judged prompts the five memories with most edges held 0.29 of the five best
# places without the two, and hold 0.09 with them; R@10 rose from .245 to .256 (0.079 at random).

DAMPING = 0.5
ROUNDS = 30
MOST_BEYOND = 16
"""So many related memories that no other space found join the short list."""
CONVERGED = 1e-6
SHARPNESS = 3
"""Power of a seed's share of the best score."""
SEED_HITS = ("lexical", "entity")
"""Spaces one of which must have found a seed: an embedding finds something near everything."""
TYPE_WEIGHTS = {
    "related_to": 0.5,
    "part_of": 0.7,
    "updates": 0.8,
    "caused_by": 1.0,
    "result_of": 1.0,
    "contradicts": 0.0,
}
"""How well a topic passes along an edge of each type."""

Ranks = NDArray[np.float64]


def personalized_pagerank(edges: Ranks, seeds: Ranks) -> Ranks:
    """Return what flows into every node over edges in personalized PageRank, without its own seed, shape (n,).

    Args:
        edges: symmetric weights >= 0, shape (n, n), no loops.
        seeds: weights >= 0, shape (n,), not all 0.
    """
    seeds = seeds / seeds.sum()
    out = edges.sum(axis=0)
    walk = np.divide(edges, out, out=np.zeros_like(edges), where=out > 0)
    ranks = seeds
    inflow = np.zeros_like(seeds)
    for _ in range(ROUNDS):
        inflow = DAMPING * (walk @ ranks)
        fresh = (1 - DAMPING) * seeds + inflow
        if np.abs(fresh - ranks).max() < CONVERGED:
            break
        ranks = fresh
    return inflow


def reach_by_graph(store: MemoryStore, query: Query, ids: Sequence[str]) -> tuple[str, ...]:
    """Return ids of memories, not among `ids`, that relations of the found memories `ids` lead to; see `beyond`."""
    return beyond(ids, store.relations(ids, scope=query.scope))


def read_relations(
    tools: Tools, query: Query, shortlist: Shortlist, remaining_ms: Callable[[], float]
) -> Outcome[Shortlist]:
    """Put the relations that touch memories of the short list, within the query's scope, into it. It does not look at the deadline (`remaining_ms`)."""
    del remaining_ms
    ids = [memory.id for memory in shortlist.memories]
    return Outcome(kept=replace(shortlist, relations=tools.store.relations(ids, scope=query.scope)))


def beyond(ids: Sequence[str], relations: Sequence[Relation]) -> tuple[str, ...]:
    """Return ids outside `ids` that a relation leads to in either direction, strongest first, ties by id; at most `MOST_BEYOND`."""
    known_ids = set(ids)
    reached: dict[str, float] = {}
    for relation in relations:
        weight = relation.weight * TYPE_WEIGHTS[relation.type]
        for from_id, to_id in relation.both_ways:
            if weight > 0 and from_id in known_ids and to_id not in known_ids:
                reached[to_id] = max(weight, reached.get(to_id, 0.0))
    return tuple(sorted(reached, key=lambda name: (-reached[name], newest_id_first(name)))[:MOST_BEYOND])


def seed_weights(shortlist: Shortlist, names: Sequence[str]) -> list[float]:
    """Return for each memory id in `names` how well words and meaning found it, 0-1; 0 if none of the spaces `SEED_HITS` found it."""
    weights = anchor_weights(shortlist)
    hits = {
        name for space in SEED_HITS for name, score in shortlist.found.get(space, {}).items() if score > 0
    }
    return [weights.get(name, 0.0) if name in hits else 0.0 for name in names]


def nearness_in_graph(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return the PageRank flow into each memory as a share of the largest, by memory id; only those above 0."""
    del query
    if not shortlist.relations:
        return {}
    names = [memory.id for memory in shortlist.memories]
    at = {name: number for number, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)))
    for relation in shortlist.relations:
        source, target = at.get(relation.source_id), at.get(relation.target_id)
        if source is None or target is None or source == target:
            continue
        weight = relation.weight * TYPE_WEIGHTS[relation.type]
        edges[source, target] = edges[target, source] = max(edges[source, target], weight)
    seeds = np.array([weight**SHARPNESS for weight in seed_weights(shortlist, names)])
    if not edges.any() or not seeds.any():
        return {}
    degree = edges.sum(axis=0)
    inflow = personalized_pagerank(edges, seeds) / np.sqrt(np.where(degree > 0, degree, 1.0))
    most = float(inflow.max())
    return (
        {name: float(value) / most for name, value in zip(names, inflow, strict=True) if value > 0}
        if most > 0
        else {}
    )


GRAPH = Space(
    name="graph",
    family="things",
    summary="relations",
    topic_weight=0.5,
    reach=reach_by_graph,
    read=read_relations,
    measure=nearness_in_graph,
)


# Late space (E12): token-level maximum similarity (late interaction) on the short list, 0 to 1.
#
#     score(m) = sum over query tokens of w(t) * max over tokens u of m of max(0, cosine(t, u))  /  sum of w(t)
#     w(t) = ln(1 + (N - n + 0.5) / (n + 0.5)),  n = memories of the short list that hold the token itself
#
# Source: MaxSim of ColBERT (Khattab and Zaharia, SIGIR 2020), weighted by rarity as in BERTScore (Zhang et al., ICLR 2020). The embedder matches the tokens; the
# shipped model does it by its input embeddings: a table look-up, no forward pass.

Matches = NDArray[np.float32]

SAME_TOKEN_COSINE = 0.99
"""Cosine from which two tokens count as the same."""
MAX_CHARS = 1000
"""Characters of each text that are compared: the cost grows with the product of both lengths."""


def token_matches_of(embedder: Embedder) -> TokenMatches | None:
    """Return the token matcher of an embedder, or of the one behind its cache; None = the embedder does not work with tokens."""
    inner = getattr(embedder, "inner", embedder)
    return inner.token_matches if isinstance(inner, TokenEmbedder) else None


def read_tokens(
    tools: Tools, query: Query, shortlist: Shortlist, remaining_ms: Callable[[], float]
) -> Outcome[Shortlist]:
    """Add the embedder's token matcher to the short list; leave it unchanged if the embedder does not read the query's language."""
    del remaining_ms
    if unread_language(tools.embedder, query.text):
        return Outcome(kept=shortlist)
    return Outcome(kept=replace(shortlist, token_matches=token_matches_of(tools.embedder)))


def token_agreement(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return the token-level similarity of each memory with the query, 0-1, by memory id; {} without a token matcher."""
    if shortlist.token_matches is None or not shortlist.memories:
        return {}
    texts = [memory.content[:MAX_CHARS] for memory in shortlist.memories]
    best = shortlist.token_matches(query.text[:MAX_CHARS], texts)
    if not best.shape[1]:
        return {}
    scores = idf_weighted_mean(best, best)
    return {memory.id: float(score) for memory, score in zip(shortlist.memories, scores, strict=True)}


def idf_weighted_mean(best: Matches, own: Matches) -> Matches:
    """Return the mean of each row of `best`, weighted by how few texts hold each token in `own` (a cosine of at least `SAME_TOKEN_COSINE`); shape (texts,).

    Both have shape (texts, asked tokens), with at least one token; `own` tells what each text holds itself, `best` what counts as its match.
    """
    total = len(own)
    holding = (own >= SAME_TOKEN_COSINE).sum(axis=0)
    weights = np.log1p((total - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return best @ weights / weights.sum()


LATE = Space(
    name="late",
    family="meaning",
    summary="meaning, token by token",
    topic_weight=1.0,
    read=read_tokens,
    measure=token_agreement,
)


# Expanded space (E13): relevance-model feedback (RM3) over the short list, 0 to 1.
#
#     P(w | R)  = sum over feedback memories of P(w | m) * share of m in their lexical scores
#     P'(w)     = 0.5 * P(w | query) + 0.5 * P(w | R), R cut to its 20 likeliest words
#     score(m)  = sum_w P'(w) * idf(w) * tf(w) * 2.2 / (tf(w) + 1.2 * (0.25 + 0.75 * length / mean))  /  sum_w P'(w) * idf(w) * 2.2
#
# Source: Lavrenko and Croft, Relevance-based language models, SIGIR 2001; interpolated as in Abdul-Jaleel et al., UMass at
# TREC 2004 (RM3, weight 0.5); the memories are scored by BM25 (k1 = 1.2, b = 0.75) with the expanded words' weights, as a
# share of the most it could be. Feedback memories are the eight best of the lexical space. idf = ln(1 + (N - n + 0.5) / (n + 0.5))
# over the short list.

FEEDBACK_MEMORIES = 8
EXPANSION_WORDS = 20
ORIGINAL_SHARE = 0.5
_K1, _B = 1.2, 0.75


def expansion_words(documents: Mapping[str, Sequence[str]], shares: Mapping[str, float]) -> dict[str, float]:
    """Return the 20 words to expand a query with: the likeliest ones of the feedback memories, with probabilities of sum 1 (relevance model RM1, P(w | R)).

    Args:
        documents: stems by memory id.
        shares: the feedback memories by id, each with its share, sum 1.
    """
    words: defaultdict[str, float] = defaultdict(float)
    for name, share in shares.items():
        document = documents[name]
        for word, times in Counter(document).items():
            words[word] += share * times / len(document)
    likeliest = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:EXPANSION_WORDS]
    whole = math.fsum(value for _, value in likeliest)
    return {word: value / whole for word, value in likeliest} if whole > 0 else {}


def expand_query(query_stems: Sequence[str], model: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the words of the expanded query, P'(w): half from the query, half from `model` (`expansion_words`); with an empty `model` the query's alone."""
    own = Counter(query_stems)
    mixed: defaultdict[str, float] = defaultdict(float)
    share = ORIGINAL_SHARE if model else 1.0
    for word, times in own.items():
        mixed[word] += share * times / len(query_stems)
    for word, value in model.items():
        mixed[word] += (1 - ORIGINAL_SHARE) * value
    return dict(mixed)


def expanded_overlap(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Return the BM25 score of each memory for the expanded query, 0-1, by memory id; only those above 0."""
    query_stems = stem_list(query.text)
    documents = {memory.id: stem_list(memory.content) for memory in shortlist.memories}
    documents = {name: document for name, document in documents.items() if document}
    if not query_stems or not documents:
        return {}
    lexical = shortlist.found.get("lexical", {})
    best = sorted((-lexical[name], name) for name in documents if lexical.get(name, 0.0) > 0)[
        :FEEDBACK_MEMORIES
    ]
    whole = math.fsum(-score for score, _ in best)
    model = expansion_words(documents, {name: -score / whole for score, name in best})
    return _expanded_scores(documents, expand_query(query_stems, model))


def _expanded_scores(documents: Mapping[str, Sequence[str]], words: Mapping[str, float]) -> dict[str, float]:
    mean = sum(map(len, documents.values())) / len(documents)
    total = len(documents)
    times: dict[str, dict[str, int]] = {word: {} for word in words}
    for name, document in documents.items():
        for word in document:
            counts = times.get(word)
            if counts is not None:
                counts[name] = counts.get(name, 0) + 1
    norms = {name: _K1 * (1 - _B + _B * len(document) / mean) for name, document in documents.items()}
    weights: list[float] = []
    contributions: defaultdict[str, list[float]] = defaultdict(list)
    for word, share in words.items():
        holding = len(times[word])
        weight = share * math.log(1 + (total - holding + 0.5) / (holding + 0.5))
        weights.append(weight)
        for name, count in times[word].items():
            contributions[name].append(weight * count * (_K1 + 1) / (count + norms[name]))
    most = math.fsum(weights) * (_K1 + 1)
    values = {name: math.fsum(contributions[name]) for name in documents if name in contributions}
    return {name: value / most for name, value in values.items() if value > 0}


EXPANDED = Space(
    name="expanded",
    family="words",
    summary="words that often stand beside the asked ones",
    topic_weight=1.0,
    measure=expanded_overlap,
)


SPACES: dict[str, Space] = {
    space.name: space
    for space in (
        SEMANTIC,
        LEXICAL,
        CODE,
        ENTITY,
        CHARACTER,
        RECENT,
        INTENT,
        PERIODIC,
        SEQUENCE,
        CAUSAL,
        GRAPH,
        LATE,
        EXPANDED,
    )
}
"""All spaces by name, in their fixed order."""
