"""Expected need: in what order memories belong into the start pack. In: memories, time. Out: an order. Pure.

This first version is the prior for a cold start: how broad the trigger is, what kind the memory is of, how often it was
stated and used, and for ageing kinds how fresh it is. Values are 0 to 1 and comparable only among one another.
"""

from __future__ import annotations

import math

from tacit.model.kinds import Kind
from tacit.model.memory import Memory
from tacit.recall.spaces.recent import freshness

KIND_PRIOR: dict[str, float] = {
    "identity": 1.0,
    "preference": 0.9,
    "correction": 0.9,
    "anti_pattern": 0.85,
    "guideline": 0.8,
    "decision": 0.7,
    "error_pattern": 0.5,
    "file_context": 0.45,
    "todo": 0.45,
    "goal": 0.45,
    "fact": 0.4,
    "digest": 0.4,
    "research": 0.25,
    "outcome": 0.2,
    "observation": 0.1,
    "event": 0.1,
}
WEIGHT_BREADTH = 0.45
WEIGHT_KIND = 0.30
WEIGHT_IMPORTANCE = 0.15
WEIGHT_RECORD = 0.10


def expected_need(memory: Memory, *, kind: Kind, at_ms: int) -> float:
    """Usefulness of having `memory` in context over a session of its project, 0 to 1."""
    breadth = 1.0 if memory.trigger.always else memory.trigger.breadth / 3.0
    record = 1.0 - 1.0 / (1.0 + math.log1p(memory.use_count + max(0, memory.frequency - 1)))
    value = (
        WEIGHT_BREADTH * breadth
        + WEIGHT_KIND * KIND_PRIOR.get(kind.name, kind.importance * 0.5)
        + WEIGHT_IMPORTANCE * memory.importance
        + WEIGHT_RECORD * record
    )
    return value * freshness(at_ms=at_ms, since_ms=memory.updated_at_ms, kind=kind)
