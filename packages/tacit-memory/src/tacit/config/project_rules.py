"""Rules for a project's settings file. It comes with other people's code, so it can restrict but never widen.

In: a setting's name, the value so far (defaults, preset, user) and the one the project's file gives. Out: the value that
holds, and why the project's was refused or has no effect. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

from tacit.config.settings import LevelName, Notes
from tacit.frozen import frozen

Bound = Literal["lower", "higher", "turn_off", "turn_on", "subset", "more", "stricter"]

_BUDGETS = ("start", "prompt", "action", "failure", "compaction", "subagent", "on_demand")
_THRESHOLDS = tuple(name for name in _BUDGETS if name != "compaction")

ALLOWED: Mapping[str, Bound] = {
    "recall.enabled": "turn_off",
    "recall.level": "stricter",
    "recall.shadow": "turn_on",
    "recall.spaces": "subset",
    "recall.max_items": "lower",
    "recall.whole_start": "lower",
    "recall.refresh.top": "lower",
    "recall.refresh.similarity_first": "higher",
    "recall.refresh.similarity_later": "higher",
    "recall.deadline_ms": "lower",
    "recall.typed.min_prompt_chars": "higher",
    "recall.ambient.enabled": "turn_off",
    "recall.ambient.pinned_limit": "lower",
    "recall.anticipate.provider": "turn_off",
    "recall.judge.provider": "turn_off",
    **{f"recall.budgets.{surface}": "lower" for surface in _BUDGETS},
    **{f"recall.thresholds.{surface}": "higher" for surface in _THRESHOLDS},
    "capture.enabled": "turn_off",
    "capture.notes": "stricter",
    "capture.rule_files": "turn_off",
    "capture.project_files": "turn_off",
    "capture.branches": "turn_on",
    "privacy.redact": "turn_on",
    "privacy.allow": "subset",
    "privacy.deny": "more",
    "privacy.emails": "turn_on",
    "privacy.incognito": "turn_on",
    "retention.trace_days": "lower",
    "project.share_preferences": "turn_off",
    "project.link": "subset",
    "statusline": "turn_off",
}
"""The settings that a project's file may set, each with the one direction in which it may move it. All others are refused."""

_STRICTER: Mapping[str, tuple[str, ...]] = {
    "recall.level": tuple(reversed(get_args(LevelName))),
    "capture.notes": get_args(Notes),
}
"""The values of a setting, the strictest last."""
_ON: Mapping[str, object] = {
    "privacy.emails": "redact",
    "recall.anticipate.provider": "off",
    "recall.judge.provider": "off",
}


@frozen
class ProjectValueDecision:
    """The decision on one value of a project's file: whether it applies, and why not.

    Attributes:
        value: what holds from here on.
        applies: whether the project's value changed anything.
        refused: why the file must not say this, or empty.
        note: why the value has no effect although the file may say it, or empty.
    """

    value: object
    applies: bool = False
    refused: str = ""
    note: str = ""


def decide_project_value(key: str, *, current: object, proposed: object) -> ProjectValueDecision:
    """Decide whether a project's file may change the setting `key` from `current` to `proposed`: only to something stricter."""
    bound = ALLOWED.get(key)
    if bound is None:
        return ProjectValueDecision(value=current, refused="a project's file may not set it")
    if proposed == current:
        return ProjectValueDecision(value=current)
    match bound:
        case "lower" | "higher":
            return _limit(
                current=cast(float, current), proposed=cast(float, proposed), lower=bound == "lower"
            )
        case "turn_off" | "turn_on":
            strict = _ON.get(key, bound == "turn_on")
            if proposed == strict:
                return ProjectValueDecision(value=proposed, applies=True)
            return ProjectValueDecision(
                value=current, refused=f"a project's file may only set it to {_word(strict)}"
            )
        case "stricter":
            values = _STRICTER[key]
            if values.index(cast(str, proposed)) > values.index(cast(str, current)):
                return ProjectValueDecision(value=proposed, applies=True)
            which = "quieter level" if key == "recall.level" else "stricter value"
            return ProjectValueDecision(
                value=current, note=f"a project's file can only choose a {which}; {current} stays"
            )
        case "subset":
            return _subset(cast(tuple[str, ...], current), cast(tuple[str, ...], proposed))
        case "more":
            before = cast(tuple[str, ...], current)
            added = tuple(item for item in cast(tuple[str, ...], proposed) if item not in before)
            return ProjectValueDecision(value=before + added, applies=bool(added))


def _limit(*, current: float, proposed: float, lower: bool) -> ProjectValueDecision:
    if (proposed < current) if lower else (proposed > current):
        return ProjectValueDecision(value=proposed, applies=True)
    direction = "lower" if lower else "raise"
    return ProjectValueDecision(
        value=current, note=f"a project's file can only {direction} it; {current} stays"
    )


def _subset(current: tuple[str, ...], proposed: tuple[str, ...]) -> ProjectValueDecision:
    remaining = tuple(item for item in current if item in proposed)
    added = [item for item in proposed if item not in current]
    refused = f"a project's file may not add {', '.join(repr(item) for item in added)}" if added else ""
    return ProjectValueDecision(value=remaining, applies=remaining != current, refused=refused)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
