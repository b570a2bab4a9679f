"""Causal space (E5): does the query show the symptom that the memory explains or cures? 0 to 1, asymmetric.

    containment(symptom of the memory, query) = |stems of both| / |stems of the symptom|;  1 for the same error signature

Source: the containment of Broder, On the resemblance and containment of documents, 1997. A query that has a direction (an
error signature, or words that tell of a failure or ask for a cause) shows a symptom by one stem of it, another query by
three; else it scores 0. A memory has a symptom side when it is of a kind that explains (`error_pattern`) or says so: "X
because Y", "X is caused by Y", "Y causes X", "when X, do Y", "Y fixes X", "X: run Y". Symptom asks for fix; a query that resembles only the fix scores 0.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, each
from tacit.text.lazy_regex import lazy_regex
from tacit.text.stemming import stems

LOW, HIGH = SPACE_THRESHOLDS["causal"]
_LEAST_STEMS = 2
"""A symptom of one word is shown by half of all failures."""
_LEAST_SHOWN = 3
"""Stems of a symptom that a query without a direction has to hold: fewer may only name the thing that fails."""
_MAX_CHARS = 1200

_DIRECTION = lazy_regex(
    r"\b(?:error|exception|traceback|fail\w*|crash\w*|broken|breaks|bug|panic\w*|hang(?:s|ing)|stuck|timed? ?out|refused"
    r"|denied|why|cause[sd]?|wrong|doesn'?t work|does not work|not working|isn'?t working|won'?t|cannot|can'?t|unable)\b",
    re.IGNORECASE,
)
_EFFECT_FIRST = lazy_regex(
    r"^(?P<symptom>.+?)(?:\bbecause\b|\b(?:is |was |are )?(?:caused by|due to|fixed by|solved by|resolved by|cured by)\b"
    r"|\bcomes? from\b|\s(?:->|=>|→)\s|[.;:,]\s*(?:the )?(?:fix|solution|remedy|cause|workaround)\b(?: is)?:?)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = lazy_regex(
    r"\b(?:when|if|whenever|on)\b(?P<symptom>[^,:;]+?)(?:[,:;]|\bthen\b)", re.IGNORECASE | re.DOTALL
)
_EFFECT_LAST = lazy_regex(
    r"\b(?:fix(?:es|ed)?|solve[sd]?|resolve[sd]?|cure[sd]?|avoid(?:s|ed)?|prevent(?:s|ed)?|causes?|leads? to|results? in)\b"
    r"(?P<symptom>.+?)(?=[.;!?](?:\s|$)|$)",
    re.IGNORECASE | re.DOTALL,
)
_LABEL = lazy_regex(r"^(?P<symptom>[^:]{8,200}):\s")


@lru_cache(maxsize=4096)
def symptom_of(content: str, *, explains: bool) -> frozenset[str]:
    """Stems of the symptom side of a statement; empty when it has none.

    Args:
        content: the statement.
        explains: its kind explains by nature: then "X: do Y" and, failing all else, the first sentence is the symptom.
    """
    text = content[:_MAX_CHARS]
    patterns = (_EFFECT_FIRST, _EFFECT_LAST, _LABEL) if explains else (_EFFECT_FIRST, _EFFECT_LAST)
    for pattern in patterns:
        if match := pattern.search(text):
            return stems(match["symptom"])
    if (match := _CONDITION.search(text)) and (explains or _DIRECTION.search(match["symptom"])):
        return stems(match["symptom"])
    return stems(re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]) if explains else frozenset()


def has_direction(query: Query) -> bool:
    """Whether the query shows a symptom or asks for a cause."""
    return bool(query.error_signature) or _directed(query.text[:_MAX_CHARS])


@lru_cache(maxsize=64)
def _directed(text: str) -> bool:
    return _DIRECTION.search(text) is not None


def measure(query: Query, memory: Memory) -> float:
    """How much of the memory's symptom the query shows."""
    if query.error_signature and query.error_signature == memory.error_signature:
        return 1.0
    symptom = symptom_of(memory.content, explains=BUILTIN_KINDS.of_stored(memory.kind).explains_errors)
    if len(symptom) < _LEAST_STEMS:
        return 0.0
    shown = len(symptom & stems(query.text[:_MAX_CHARS]))
    return shown / len(symptom) if shown >= _LEAST_SHOWN or has_direction(query) else 0.0


SPACE = Space(
    name="causal",
    family="things",
    summary="cause and effect",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    measure=each(measure),
)
