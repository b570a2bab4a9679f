"""Fields of foreign rows as ours. In: whatever stands there. Out: texts, times, lists, kinds; never an error."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from tacit.model.memory import Sensitivity

MAX_TAGS = 12
MAX_TAG_CHARS = 60
MAX_PATHS = 20
_LATEST_S = 4_102_444_800
KINDS = {
    "decision": "decision", "architecture": "decision", "design": "decision", "pattern": "guideline",
    "preference": "preference", "user_preference": "preference", "file_context": "file_context", "file": "file_context",
    "error_pattern": "error_pattern", "error": "error_pattern", "bug": "error_pattern", "bugfix": "outcome",
    "gotcha": "error_pattern", "problem": "error_pattern", "issue": "error_pattern", "anti_pattern": "anti_pattern",
    "research": "research", "discovery": "research", "reference": "research", "learning": "fact", "insight": "fact",
    "outcome": "outcome", "feature": "outcome", "refactor": "outcome", "change": "outcome", "solution": "outcome",
    "guideline": "guideline", "standard": "guideline", "convention": "guideline", "rule": "guideline",
    "instruction": "guideline", "requirement": "guideline", "technique": "guideline", "method": "guideline",
    "fact": "fact", "note": "fact", "info": "fact", "tech": "fact", "technical": "fact", "config": "fact",
    "configuration": "fact", "goal": "goal", "todo": "todo", "task": "todo", "next": "todo", "plan": "todo",
    "event": "event", "identity": "identity", "correction": "correction", "observation": "observation",
}  # fmt: skip
"""Kinds of other tools, and what they are with us; others are read from the words."""


def kind_named(name: object) -> str:
    """Our kind for theirs; "" = read it from the words."""
    key = str(name or "").strip().lower().replace("-", "_").replace(" ", "_")
    return KINDS.get(key, "")


def sensitivity_named(value: object) -> Sensitivity:
    """Our level for a tool's. A name that is not ours becomes `restricted`: it meant a limit that we do not know."""
    key = str(value or "project").strip().upper()
    return Sensitivity[key] if key in Sensitivity.__members__ else Sensitivity.RESTRICTED


def text_of(value: object) -> str:
    """A text without its outer blanks; what is none gives none."""
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def moment_ms(value: object) -> int:
    """Milliseconds since the epoch of a number (seconds or milliseconds) or a date as text; 0 = unknown."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int | float):
        seconds = float(value)
        if not math.isfinite(seconds) or seconds <= 0:
            return 0
        seconds = seconds / 1000 if seconds > _LATEST_S else seconds
        return int(seconds * 1000) if seconds <= _LATEST_S else 0
    try:
        moment = datetime.fromisoformat(str(value).strip()[:40])
        at_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0
    return int(at_s * 1000) if 0 < at_s <= _LATEST_S else 0


def words_of(value: object, *, most: int = MAX_TAGS, longest: int = MAX_TAG_CHARS) -> tuple[str, ...]:
    """A list of short texts: a list, its JSON, or words between commas."""
    if isinstance(value, str):
        text = value.strip()
        listed_values = parsed(text) if text.startswith("[") else None
        listed = cast(object, listed_values) if isinstance(listed_values, list) else text.split(",")
    else:
        listed = value
    if not isinstance(listed, list | tuple):
        return ()
    texts = [text_of(item) for item in cast(list[object], listed)[: 4 * most]]
    return tuple(dict.fromkeys(text for text in texts if text and len(text) <= longest))[:most]


def paths_of(value: object) -> tuple[str, ...]:
    """Relative paths; what leads out of the project or is absolute is left out."""
    paths = words_of(value, most=MAX_PATHS, longest=300)
    return tuple(path for path in paths if is_inner_path(path))


def is_inner_path(path: str) -> bool:
    """Whether a path stays below where it begins."""
    segments = path.replace("\\", "/").split("/")
    return (
        not path.startswith(("/", "~", "\\"))
        and ".." not in segments
        and ":" not in segments[0]
        and "\n" not in path
    )


def parsed(text: object) -> object:
    """The JSON value of a text; None where it is none."""
    if not isinstance(text, str):
        return text
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return None


def fields_of(value: object) -> Mapping[str, Any]:
    """An object, or the empty one."""
    decoded = parsed(value) if isinstance(value, str) else value
    return cast(Mapping[str, Any], decoded) if isinstance(decoded, dict) else {}


def share_of(value: object, *, whole: float = 1.0) -> float | None:
    """A number between 0 and `whole` as a share of it; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, float(value) / whole))
