"""The importance of a new statement, 0 to 1. In: a draft, its kind, the method. Out: a number. Pure.

`kind` takes the kind's base. `typed` is the formula of the typed seed (section 4.4), its scale of 0-2 halved: a base by
type, +0.15 when stated outright, +0.1 when it concerns several files, +0.1 when stressed, at most 1; what is said again
gains when it is merged (`reconcile`). `ambient` takes the bases of the eight types behind the ambient seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tacit.model.changes import Draft
from tacit.model.kinds import Kind

Judge = Literal["kind", "typed", "ambient"]

TYPED: Mapping[str, float] = {
    "preference": 0.75,
    "correction": 0.75,
    "anti_pattern": 0.75,
    "guideline": 0.75,
    "decision": 0.6,
    "error_pattern": 0.5,
    "research": 0.45,
    "file_context": 0.4,
    "outcome": 0.3,
}
AMBIENT: Mapping[str, float] = {
    "identity": 1.0,
    "goal": 0.9,
    "decision": 0.8,
    "todo": 0.8,
    "preference": 0.7,
    "fact": 0.6,
    "event": 0.4,
    "observation": 0.3,
}
EXPLICIT, SEVERAL_FILES, STRESSED = 0.15, 0.1, 0.1
STRESS = ("important", "critical", "always", "never", "must", "!", "essential", "crucial")


def importance_of(draft: Draft, kind: Kind, judge: Judge) -> float:
    """The importance that `draft` states, else the one that `judge` finds."""
    if draft.importance is not None:
        return draft.importance
    if judge == "ambient":
        return AMBIENT.get(kind.name, kind.importance)
    if judge == "kind":
        return kind.importance
    value = TYPED.get(kind.name, kind.importance)
    value += EXPLICIT if draft.explicit else 0.0
    value += SEVERAL_FILES if len(draft.files) > 1 else 0.0
    value += STRESSED if any(mark in draft.content.lower() for mark in STRESS) else 0.0
    return round(min(1.0, value), 4)
