"""Sequence space (E4): distance along the chain of sessions and turns, 0 to 1.

    closeness(a, b) = 2 ** -(d / 2),  d = turns apart in one session, or 8 for every session between two sessions
    score(m) = max over anchors of weight * closeness(m, anchor)

Source: the contiguity effect of free recall, which falls off with the lag to both sides (Kahana, Memory & Cognition, 1996;
Howard and Kahana, 2002). The anchors are the place where the query is asked (weight 1) and, where nothing is known of it
(on demand), the memories that the other spaces found, weighted by their share of the best score: what was said around a
hit belongs to it. A memory is never its own anchor. Memories without a session have no place and score 0.
Sessions follow one another in the order of their earliest memory in the short list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Shortlist
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space

LOW, HIGH = SPACE_THRESHOLDS["sequence"]
HALF_LIFE_TURNS = 2.0
SESSION_LAG_TURNS = 8.0
NEIGHBOR_DECAY = 0.7
SEEDS = ("lexical", "semantic")
"""Spaces whose hits are anchors where the query has no place of its own."""

SessionPosition = tuple[str, int]


def session_position(memory: Memory) -> SessionPosition | None:
    """Session (`host/id`) and turn of a memory; None when it has no session."""
    provenance = memory.provenance
    return (f"{provenance.host}/{provenance.session_id}", provenance.turn) if provenance.session_id else None


def closeness(a: SessionPosition, b: SessionPosition, *, sessions: Mapping[str, int]) -> float:
    """Closeness of two places, 1 for the same one.

    `sessions` numbers the sessions in their order; one that is not among them is out of reach.
    """
    if a[0] == b[0]:
        return 2.0 ** -(abs(a[1] - b[1]) / HALF_LIFE_TURNS)
    if a[0] not in sessions or b[0] not in sessions:
        return 0.0
    return 2.0 ** -(SESSION_LAG_TURNS * abs(sessions[a[0]] - sessions[b[0]]) / HALF_LIFE_TURNS)


def session_order(memories: Iterable[Memory], last: str = "") -> dict[str, int]:
    """Numbers of the memories' sessions by their earliest memory, ties by name; `last` is the newest of all."""
    first: dict[str, int] = {}
    for memory in memories:
        place = session_position(memory)
        if place is not None:
            first[place[0]] = min(memory.created_at_ms, first.get(place[0], memory.created_at_ms))
    names = sorted(first, key=lambda name: (name == last, first[name], name))
    if last and last not in first:
        names.append(last)
    return {name: number for number, name in enumerate(names)}


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Closeness of every memory of the short list to the anchors, by memory id; only those above 0."""
    places = {m.id: place for m in shortlist.memories if (place := session_position(m)) is not None}
    if query.session and query.turn:
        position = (query.session, query.turn)
        sessions = session_order(shortlist.memories, last=query.session)
        near = {name: closeness(place, position, sessions=sessions) for name, place in places.items()}
        return {name: value for name, value in near.items() if value > 0}
    return _around(places, anchor_weights(shortlist))


def anchor_weights(shortlist: Shortlist) -> dict[str, float]:
    """Weights 0-1 of found memories: the mean over the seed spaces of the score's share of the best one."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNeighbors:
    """Pairs of rows that stand one or two turns apart in one session, and 0.7 ** turns for each; shape (pairs,)."""

    rows: NDArray[np.intp]
    others: NDArray[np.intp]
    decay: NDArray[np.float32]


def find_turn_neighbors(places: Sequence[SessionPosition | None]) -> TurnNeighbors:
    """The pairs among memories at these places; None = no place, no neighbours."""
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
    """For every memory and part of a query the best of its own score and its neighbours', 0.7 ** turns apart as much.

    What a question asks for is often said over two or three turns: one names the matter, the next says the thing. Parts
    are spread one by one, so that two turns which hold the same word count once. Source: passages of fixed windows
    (Callan, SIGIR 1994), with the decay of contiguity. `parts` holds scores >= 0, shape (memories, parts).
    """
    out = parts.copy()
    np.maximum.at(out, near.rows, near.decay[:, None] * parts[near.others])
    return out


SPACE = Space(
    name="sequence",
    family="time",
    summary="turns and sessions; for hints of time",
    topic_weight=0.0,
    high=HIGH,
    low=LOW,
    measure=measure,
)
