"""What the gate looks at: one row of numbers for every candidate of a short list.

In: a query, its candidates with their scores, the usual chance of every action class. Out: a matrix, one column per name
in `EVIDENCE`. Pure; knows nothing of weights. Every number is between about -3 and 3, whatever the embedder or the project:

- Classes count by *lift*: a class that nearly every prompt announces says little. With the chance p of a class in this
  situation and its usual chance u (mean over many prompts),  lift = p / (p + 3 u), 0 to 1 (own; the share of Bayes' rule
  with a prior three times the usual chance). A trigger's match with class c is weight x lift.
- Words count by how few of the short list hold them: ln(1 + n / (1 + df)) / ln(1 + n), n candidates, df of them with it.
- Cosines are standardised over the short list (mean 0, deviation 1): embedders differ in level and spread.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.query import Query
from tacit.model.trigger import ACTIONS, Trigger
from tacit.reading.lexicon import stem
from tacit.reading.terms import STOPWORDS

Row = NDArray[np.float64]
Words = frozenset[str]

EVIDENCE: tuple[str, ...] = (
    "lift", "lift_squared", "lift_second", "lift_any", "lift_share", "lift_exact", "lift_of_best", "intent",
    "object_share", "object_rare", "object_files", "word_sum", "word_rare", "named_file", "entity", "lexical", "character",
    "cosine", "cosine_spread", "cosine_rank", "breadth", "standing", "length", "objects",
    "lift_x_object", "lift_x_rare", "lift_x_cosine", "lift_x_breadth", "lift_x_standing", "object_x_cosine", "all_three",
    "standing_x_cosine", "prompt_length", "accepted", "top_lift", "lift_mass", "best_cosine", "rank", "given",
)  # fmt: skip
"""Names of the columns."""

USUAL_FACTOR = 3.0
USUAL_FLOOR = 0.004
ANY_SHARE = 0.7
EXACT_WEIGHT = 0.99
PROMPT_CHARS = 4_000
FILES = 8
_INDEX = {name: at for at, name in enumerate(ACTIONS)}
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_RUN = re.compile(r"[a-z0-9]+")
_FILE = re.compile(r"[\w.-]+\.[a-z]{1,5}\b")


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return stem(word)


@lru_cache(maxsize=8192)
def words_of(text: str) -> Words:
    """Stems of the words of `text`, names split by case and punctuation, without words that any text could hold."""
    plain = _CAMEL.sub(r"\1 \2", text).lower()
    return frozenset(_stem(word) for word in _RUN.findall(plain) if len(word) > 1 and word not in STOPWORDS)


@lru_cache(maxsize=8192)
def _object_words(objects: tuple[str, ...]) -> Words:
    return frozenset[str]().union(*(words_of(one) for one in objects))


@lru_cache(maxsize=8192)
def _file_names(content: str, objects: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_FILE.findall(f"{content} {' '.join(objects)}".lower()))


@lru_cache(maxsize=8192)
def _weights(actions: tuple[tuple[str, float], ...]) -> Row:
    """Weights of the known classes, shape (classes,); nobody may change it."""
    row = np.zeros(len(ACTIONS))
    for name, weight in actions:
        at = _INDEX.get(name)
        if at is not None:
            row[at] = weight
    row.flags.writeable = False
    return row


def usual_row(usual: Mapping[str, float]) -> Row:
    """Usual chances by class as a row of shape (classes,), never below the floor."""
    return np.array([max(usual.get(name, 0.0), 0.0) + USUAL_FLOOR for name in ACTIONS])


def lifts(chances: Sequence[tuple[str, float]], usual: Row) -> Row:
    """Lift of every class, shape (classes,), 0-1."""
    row = np.zeros(len(ACTIONS))
    for name, chance in chances:
        at = _INDEX.get(name)
        if at is not None:
            row[at] = max(row[at], chance)
    return row / (row + USUAL_FACTOR * usual)


def evidence_of(query: Query, candidates: Sequence[Candidate], *, kinds: KindRegistry, usual: Row) -> Row:
    """The evidence of all candidates, shape (candidates, columns of `EVIDENCE`)."""
    if not candidates:
        return np.zeros((0, len(EVIDENCE)))
    triggers = [candidate.memory.trigger for candidate in candidates]
    lift, classes = _by_classes(query, triggers, usual)
    words = _by_words(query, candidates)
    spaces = _by_spaces(candidates)
    best, z = classes["lift"], np.clip(spaces["cosine_spread"], 0.0, 4.0) / 2
    breadth = np.array([trigger.breadth for trigger in triggers]) / 3
    standing = np.array([float(kinds.get(candidate.memory.kind).standing) for candidate in candidates])
    ones = np.ones(len(candidates))
    about = np.maximum(words["object_share"], 0.6 * words["object_files"])
    order = best * (z + 0.3) * (about + 0.2)
    columns = {
        **classes,
        **words,
        **spaces,
        "breadth": breadth,
        "standing": standing,
        "length": np.array([math.log(len(candidate.memory.content)) for candidate in candidates]),
        "objects": np.array([min(len(trigger.objects), 10) for trigger in triggers]) / 5,
        "lift_x_object": best * about,
        "lift_x_rare": best * words["object_rare"],
        "lift_x_cosine": best * z,
        "lift_x_breadth": best * breadth,
        "lift_x_standing": best * standing,
        "object_x_cosine": about * z,
        "all_three": best * about * z,
        "standing_x_cosine": standing * z,
        "prompt_length": ones * math.log1p(len(query.raw_text)) / 3,
        "accepted": ones * float(query.situation.accepted),
        "top_lift": ones * float(lift.max()),
        "lift_mass": ones * float(lift.sum()) / 5,
        "best_cosine": ones * float(spaces["cosine"].max()),
        "rank": _ranks(order),
        "given": np.array([float(trigger.maker != "local") for trigger in triggers]),
    }
    return np.stack([columns[name] for name in EVIDENCE], axis=1)


def _by_classes(query: Query, triggers: Sequence[Trigger], usual: Row) -> tuple[Row, dict[str, Row]]:
    lift = lifts(query.situation.actions, usual)
    weights = np.stack([_weights(trigger.actions) for trigger in triggers])
    match = weights * lift
    ordered = np.sort(match, axis=1)
    best = ordered[:, -1]
    return lift, {
        "lift": best,
        "lift_squared": best**2,
        "lift_second": ordered[:, -2],
        "lift_any": 1 - np.prod(1 - ANY_SHARE * match, axis=1),
        "lift_share": match.sum(axis=1) / np.maximum(weights.sum(axis=1), 0.3),
        "lift_exact": ((weights >= EXACT_WEIGHT) * lift).max(axis=1),
        "lift_of_best": best / max(float(lift.max()), 0.05),
    }


def _by_words(query: Query, candidates: Sequence[Candidate]) -> dict[str, Row]:
    asked = words_of(query.text[:PROMPT_CHARS])
    held = [words_of(candidate.memory.content) for candidate in candidates]
    about = [_object_words(_objects(candidate.memory.trigger)) for candidate in candidates]
    # Only words that can match or that a trigger names are weighed; counting is the costly part.
    counts = Counter(chain.from_iterable(held))
    counts.update(chain.from_iterable(said - text for text, said in zip(held, about, strict=True)))
    by_count = _rarities(len(candidates))
    near = asked.union(*(words_of(path) for path in query.files[:FILES]))
    names = {
        path.lower().rsplit("/", 1)[-1] for path in (*query.files[:FILES], *query.situation.paths[:FILES])
    }
    rows: list[tuple[float, ...]] = []
    for candidate, text, said in zip(candidates, held, about, strict=True):
        whole = sum([by_count[counts[word]] for word in said])
        hit = [by_count[counts[word]] for word in said & asked]
        by_file = [by_count[counts[word]] for word in said & near]
        common = [by_count[counts[word]] for word in text & asked]
        memory = candidate.memory
        rows.append(
            (
                sum(hit) / whole if whole else 0.0,
                max(hit, default=0.0),
                sum(by_file) / whole if whole else 0.0,
                math.log1p(sum(common)),
                max(common, default=0.0),
                min(len(_file_names(memory.content, memory.trigger.objects) & names), 2) / 2,
            )
        )
    table = np.array(rows)
    names_of = ("object_share", "object_rare", "object_files", "word_sum", "word_rare", "named_file")
    return {name: table[:, at] for at, name in enumerate(names_of)}


@lru_cache(maxsize=256)
def _rarities(size: int) -> tuple[float, ...]:
    """Weight of a word by how many of `size` candidates hold it."""
    return tuple(math.log(1 + size / (1 + count)) / math.log(1 + size) for count in range(size + 1))


def _objects(trigger: Trigger) -> tuple[str, ...]:
    return (*trigger.objects, *trigger.topics, *trigger.paths)


def _by_spaces(candidates: Sequence[Candidate]) -> dict[str, Row]:
    scores = [dict(candidate.scores) for candidate in candidates]
    known = [row["semantic"] for row in scores if "semantic" in row]
    least = min(known, default=0.0)  # what the ranking left out is no closer than its last
    cosine = np.array([row.get("semantic", least) for row in scores])
    spread = (cosine - cosine.mean()) / max(float(cosine.std()), 0.02)
    return {
        "intent": np.array([row.get("intent", 0.0) for row in scores]),
        "entity": np.array([row.get("entity", 0.0) for row in scores]),
        "lexical": np.log1p(np.array([row.get("lexical", 0.0) for row in scores])) / 2,
        "character": np.array([row.get("character", 0.0) for row in scores]) * 3,
        "cosine": cosine * 2,
        "cosine_spread": spread,
        "cosine_rank": _ranks(cosine),
    }


def _ranks(values: Row) -> Row:
    """1 for the greatest value, down to 0; ties share the better place."""
    order = np.sort(values)
    return np.searchsorted(order, values, side="right") / len(values)
