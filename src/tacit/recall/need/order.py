"""The order of a start pack. In: memories with their expected need. Out: the same, best first. Pure.

Greedy by marginal coverage (facility location; Nemhauser, Wolsey and Fisher, 1978):

    gain(i) = need(i) * (1 - max over chosen j of overlap(i, j))

overlap is the share of the shorter statement's words that the other one has, 0 up to one half and 1 for all of them,
so that only what says nearly the same is crowded out. Memories that matter in the same situations are not: measured on
judged prompts, what is needed together is needed together, and a stronger penalty lost coverage.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.model.memory import Memory
from tacit.recall.need.evidence import words_in

OVERLAP_FROM = 0.5
LEAST_WORDS = 4
"""Shorter statements share words by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A memory with its expected need and what it adds to those before it."""

    memory: Memory
    need: float
    gain: float


def by_marginal_need(memories: Sequence[Memory], needs: NDArray[np.float64]) -> tuple[Needed, ...]:
    """All of `memories` in the order in which they should be packed; ties by need, then the newest first.

    Args:
        memories: of one pool.
        needs: their expected needs, shape (len(memories),).
    """
    order = sorted(range(len(memories)), key=lambda number: (-needs[number], memories[number].newest_first))
    rows = [memories[number] for number in order]
    need = np.array([needs[number] for number in order], dtype=np.float64)
    if not rows:
        return ()
    overlap = overlaps([memory.content for memory in rows])
    near: list[list[int]] = [overlap[number].nonzero()[0].tolist() for number in range(len(rows))]
    gains: list[float] = need.tolist()
    room = [1.0] * len(rows)
    # Most statements share hardly a word: only the gains of those near a chosen one are put in anew.
    waiting = [(-gain, number) for number, gain in enumerate(gains)]
    heapq.heapify(waiting)
    chosen: list[Needed] = []
    done = [False] * len(rows)
    while waiting:
        gain, best = heapq.heappop(waiting)
        if done[best] or -gain != gains[best]:
            continue
        done[best] = True
        chosen.append(Needed(memory=rows[best], need=float(need[best]), gain=gains[best]))
        for number in near[best]:
            novelty = 1.0 - float(overlap[best, number])
            if not done[number] and novelty < room[number]:
                room[number] = novelty
                gains[number] = float(need[number]) * novelty
                heapq.heappush(waiting, (-gains[number], number))
    return tuple(chosen)


def overlaps(texts: Sequence[str]) -> NDArray[np.float64]:
    """How much each pair of texts says the same by its words, 0 to 1, shape (len(texts), len(texts))."""
    words = [words_in(text) for text in texts]
    counts = Counter(chain.from_iterable(words))
    shared = [word for word, count in counts.items() if count > 1]
    columns = {word: number for number, word in enumerate(shared)}
    incidence = np.zeros((len(texts), len(columns)), dtype=np.float32)
    for number, own in enumerate(words):
        incidence[number, [columns[word] for word in own if word in columns]] = 1.0
    common = (incidence @ incidence.T).astype(np.float64)
    sizes = np.array([max(len(own), LEAST_WORDS) for own in words], dtype=np.float64)
    share = common / np.minimum(sizes[:, None], sizes[None, :])
    return np.clip((share - OVERLAP_FROM) / (1.0 - OVERLAP_FROM), 0.0, 1.0)
