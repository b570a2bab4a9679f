"""Features of expected need. In: the memories of a pool. Out: one row of numbers each. Pure.

Nothing here depends on the prompt: the start pack comes before it. `known` and `recent` compare a memory with the others
of its pool; the rest is read from the memory alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.model.memory import Memory, TrustTier
from tacit.model.trigger import GREATEST_BREADTH
from tacit.text.stemming import light_stem
from tacit.text.tokens import ALPHANUMERIC

EVIDENCE: tuple[str, ...] = ("breadth", "known", "recent", "short", "learned", "few_objects", "no_places")
"""Columns, in order; the higher each, the more it should speak for the memory."""

LINE_TOKENS = 6
CHARS_PER_TOKEN = 4


@lru_cache(maxsize=8192)
def words_in(text: str) -> frozenset[str]:
    """Stems of the words of `text`; a path or an identifier falls into its parts."""
    return frozenset(light_stem(word) for word in ALPHANUMERIC.findall(text.lower()))


def from_rule_file(memory: Memory) -> bool:
    """Whether the memory was read from a rule file, which the host itself may load; its source is a path then."""
    source = memory.provenance.source
    if memory.provenance.tier is TrustTier.TEAMMATE:  # no host reads the team's files
        return False
    return ("." in source or "/" in source) and not source.startswith("session")


def evidence_of(memories: Sequence[Memory]) -> NDArray[np.float64]:
    """Evidence for `memories`, shape (len(memories), len(EVIDENCE)).

    Columns: breadth / 3 (always = 1); ln(1 + how many statements of the pool name the most frequent object of its
    trigger), ln 2 without objects; share of the pool that is older; -ln(6 + characters / 4), what a line costs; 1 unless
    it comes from a rule file; minus the number of objects; -1 where it is bound to files, else 0.
    """
    if not memories:
        return np.zeros((0, len(EVIDENCE)))
    frequencies = _known(memories)
    times = np.array([memory.updated_at_ms for memory in memories])
    older = np.searchsorted(np.sort(times), times, side="left") / len(memories)
    rows = [
        (
            memory.trigger.reach / GREATEST_BREADTH,
            frequencies[number],
            float(older[number]),
            -math.log(LINE_TOKENS + len(memory.content) / CHARS_PER_TOKEN),
            0.0 if from_rule_file(memory) else 1.0,
            -float(len(memory.trigger.objects)),
            -1.0 if memory.files else 0.0,
        )
        for number, memory in enumerate(memories)
    ]
    return np.array(rows)


def _known(memories: Sequence[Memory]) -> list[float]:
    # One bit per statement: a pool is made between two sessions' starts, and sets would take most of its time.
    holding: dict[str, int] = {}
    for number, memory in enumerate(memories):
        bit = 1 << number
        for word in words_in(memory.content):
            holding[word] = holding.get(word, 0) | bit
    counted: dict[str, int] = {}

    def count(object_name: str) -> int:
        frequency = counted.get(object_name)
        if frequency is None:
            words = words_in(object_name)
            common = -1 if words else 0
            for word in words:
                common &= holding.get(word, 0)
            frequency = counted[object_name] = common.bit_count()
        return frequency

    return [math.log1p(max(map(count, memory.trigger.objects), default=1)) for memory in memories]
