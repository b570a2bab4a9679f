"""What might let a memory through that a recall left out. In: where it was lost, the recall, the settings. Out: changes to try.

Never says that a change helps: `why_not` runs the recall again with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.config.levels import Levels
from tacit.config.settings import RecallSettings
from tacit.model.memory import Memory, Sensitivity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL, Scope, ScopeKind
from tacit.model.trace import DropCause, DropReason, NotAsked, SilenceCause, SilenceReason
from tacit.model.why_not import Absence, RecallNumbers, RemedyKind, RemedyStep
from tacit.reading.when import format_when
from tacit.recall.stage import START_SURFACES

MOST_PHRASE_WORDS = 12
"""A longer prompt is no phrase that a person would give as the moment of a rule."""
LEAST_CHANCE = 0.2
"""Least probability of an action that is offered as the moment of a memory."""
COMMAND_WORDS = 2
MOST_CANDIDATES, MOST_ITEMS, MOST_TOKENS = 100, 100, 20_000
"""Greatest values of the settings."""
_CONDITIONS = (
    DropCause.NOT_FOUND,
    DropCause.SHORT_LIST,
    DropCause.BELOW_THRESHOLD,
    DropCause.BELOW_SIMILARITY,
    DropCause.NO_HIT,
)
"""Causes that a better `when` may end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What the remedies are read off.

    Attributes:
        absence: where the memory was lost.
        numbers: what was measured of it.
        memory: as it was tried.
        query: what was asked; None = the signal asked for nothing.
        settings: that held, with the preset's name.
        rank: its best place in the ranking of a space, from 1; None = no space ranks it.
        among: its place among what was left for the budget, from 1; None = it did not get so far.
        files: of the call, relative to the project.
        project: scope of the project that was asked in; None = no project.
        levels: named thresholds of the preset; None = it has none.
    """

    absence: Absence
    numbers: RecallNumbers
    memory: Memory
    query: Query | None
    settings: RecallSettings
    preset: str = "focused"
    rank: int | None = None
    among: int | None = None
    files: tuple[str, ...] = ()
    project: Scope | None = None
    levels: Levels | None = None


def steps_against(lost: Lost) -> Iterator[RemedyStep]:
    """Single changes against this absence, the smallest first."""
    why, silence = lost.absence.why, lost.absence.silence
    if silence is not None:
        yield from _against_silence(silence)
    if why is None:
        return
    make = _MAKERS.get(why.cause)
    if make is not None:
        yield from make(why, lost)
    if why.cause in _CONDITIONS:
        yield from _conditions(lost)


def _setting(key: str, value: str | float | bool | tuple[str, ...]) -> RemedyStep:
    return RemedyStep(kind=RemedyKind.SETTING, target=f"recall.{key}", value=value)


def _against_silence(silence: SilenceReason) -> Iterator[RemedyStep]:
    match silence.cause:
        case SilenceCause.OFF:
            yield _setting("enabled", value=True)
        case SilenceCause.OFF_IN_PRESET:
            usual = RecallSettings().budgets
            yield _setting(f"budgets.{silence.detail}", int(getattr(usual, silence.detail)))
        case SilenceCause.SHADOW:
            yield _setting("shadow", value=False)
        case SilenceCause.COMPARISON:
            yield _setting("holdout", 0.0)
        case SilenceCause.CONTEXT_FULL:
            yield _setting("typed.max_session_memories", 0)
        case SilenceCause.MUTED:
            yield RemedyStep(kind=RemedyKind.UNMUTE)
        case SilenceCause.OPTED_OUT:
            yield RemedyStep(kind=RemedyKind.OPT_IN, value=silence.detail)
        case SilenceCause.NOT_ASKED if silence.not_asked is NotAsked.SHORT_PROMPT:
            yield _setting("typed.min_prompt_chars", 0)
        case _:
            return


def _below(value: float) -> float:
    """`value` rounded down to thousandths: what a copy of the store measures may differ in the last places."""
    return math.floor(value * 1000) / 1000


def _threshold(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    """A lower threshold, or a level that has one; a kind's own floor cannot be lowered by a setting of recall."""
    relevance, surface = why.value or 0.0, lost.query.surface if lost.query else Surface.PROMPT
    if (why.bound or 0.0) > lost.numbers.threshold:
        return
    if surface is Surface.PROMPT and lost.levels is not None:
        fitting = [name for name, level in lost.levels.items() if level.threshold <= relevance]
        if fitting:  # from the quietest to the one that speaks most
            yield RemedyStep(kind=RemedyKind.SETTING, target="recall.level", value=fitting[0])
    yield _setting(f"thresholds.{surface.value}", _below(relevance))


def _candidates(_why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    if lost.rank is not None and lost.rank <= MOST_CANDIDATES:
        yield _setting("candidates_per_space", lost.rank)


def _room(_why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    """A budget that has room for its line; the room of other slots and lines before it is tried step by step."""
    surface = lost.query.surface if lost.query else Surface.PROMPT
    missing = max(1, (lost.numbers.tokens or 0) - (lost.numbers.tokens_left or 0))
    wanted = lost.numbers.budget_tokens + missing
    if wanted <= MOST_TOKENS:
        yield _setting(f"budgets.{surface.value}", wanted)
    if surface in START_SURFACES and not lost.memory.pinned:
        yield RemedyStep(kind=RemedyKind.PIN)


def _items(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    """More memories, unless the surface has a bound of its own."""
    if why.bound is not None and why.bound < lost.settings.max_items:
        return
    wanted = max(lost.settings.max_items + 1, lost.among or 0)
    if wanted <= MOST_ITEMS:
        yield _setting("max_items", wanted)


def _kinds(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    yield _setting("kinds", (*lost.settings.kinds, why.detail))


def _similarity(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    """The floor that held: that of the kind, the least cosine, or the share of the best one."""
    settings, value, bound = lost.settings, why.value or 0.0, why.bound or 0.0
    least = _below(value)
    if lost.preset == "typed":
        yield _setting("typed.similarity", json.dumps({**settings.typed.similarity, why.detail: least}))
    elif lost.preset == "refresh" or bound <= settings.ambient.cosine:
        yield _setting(f"{lost.preset}.cosine", max(0.0, least))
    elif ratio := settings.ambient.ratio:
        yield _setting("ambient.ratio", max(0.0, _below(value / (bound / ratio))))


def _in_context(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    del why, lost
    yield RemedyStep(kind=RemedyKind.NEW_SESSION)


def _scope(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    del why
    yield RemedyStep(kind=RemedyKind.SCOPE, value=str(lost.project or UNIVERSAL))


def _sensitivity(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    del why
    wide = lost.memory.scope.project_id is None and lost.memory.scope.kind is not ScopeKind.SESSION
    level = Sensitivity.PUBLIC if wide else Sensitivity.PROJECT
    yield RemedyStep(kind=RemedyKind.SENSITIVITY, value=level.name.lower())


def _only(*steps: RemedyStep) -> Callable[[DropReason, Lost], Iterator[RemedyStep]]:
    return lambda _why, _lost: iter(steps)


def _conditions(lost: Lost) -> Iterator[RemedyStep]:
    """Words for when it applies: what is about to run or to be touched, the likeliest action, the prompt itself."""
    if lost.query is None or lost.query.surface in START_SURFACES:
        return
    own = format_when(lost.memory.trigger) if lost.memory.trigger.maker == "user" else ""
    for words in _moments(lost.query, lost.files):
        yield RemedyStep(kind=RemedyKind.WHEN, value=f"{own}, {words}" if own else words)


def _moments(query: Query, files: Sequence[str]) -> Iterator[str]:
    if query.call is not None and query.call.command:
        yield f"cmd:{' '.join(_plain(query.call.command).split()[:COMMAND_WORDS])}"
    if query.call is not None and files:
        yield f"path:{files[0]}"
    for action, chance in query.situation.actions[:2]:
        if chance >= LEAST_CHANCE:
            yield action
    words = _plain(query.raw_text).split()
    if query.call is None and 0 < len(words) <= MOST_PHRASE_WORDS:
        yield f"phrase:{' '.join(words)}"


def _plain(text: str) -> str:
    """`text` without what separates the terms of `--when`."""
    return re.sub(r"[,\n]+", " ", text)


_MAKERS: dict[DropCause, Callable[[DropReason, Lost], Iterator[RemedyStep]]] = {
    DropCause.OUT_OF_SCOPE: _scope,
    DropCause.NOT_FOUND: _candidates,
    DropCause.NOT_IN_POOL: _only(RemedyStep(kind=RemedyKind.PIN)),
    DropCause.QUARANTINED: _only(RemedyStep(kind=RemedyKind.ACCEPT)),
    DropCause.UNTRUSTED: _only(RemedyStep(kind=RemedyKind.CONFIRM)),
    DropCause.SENSITIVE: _sensitivity,
    DropCause.OTHER_BRANCH: _only(RemedyStep(kind=RemedyKind.ALL_BRANCHES)),
    DropCause.BELOW_THRESHOLD: _threshold,
    DropCause.BELOW_IMPORTANCE: lambda why, _lost: iter(
        [_setting("typed.least_importance", _below(why.value or 0.0))]
    ),
    DropCause.BELOW_SIMILARITY: _similarity,
    DropCause.SECOND_STAGE: lambda why, _lost: iter([_setting("reranker.least", _below(why.value or 0.0))]),
    DropCause.KIND_OFF: _kinds,
    DropCause.IN_CONTEXT: _in_context,
    DropCause.TOO_MANY: _items,
    DropCause.NO_ROOM: _room,
    DropCause.INDEXED: _room,
}


def with_setting(settings: RecallSettings, key: str, value: Any, levels: Levels | None) -> RecallSettings:
    """`settings` with the value of one dotted name below `recall`; a level sets the threshold that it stands for."""
    if key == "recall.level" and levels is not None:
        threshold = levels.of(value).threshold
        settings = settings.model_copy(
            update={"thresholds": settings.thresholds.model_copy(update={"prompt": threshold})}
        )
    if key == "recall.typed.similarity":
        value = json.loads(value)
    return _with(settings, key.split(".")[1:], value)


def _with(section: Any, names: Sequence[str], value: Any) -> Any:
    name, *below = names
    changed = _with(getattr(section, name), below, value) if below else value
    return section.model_copy(update={name: changed})
