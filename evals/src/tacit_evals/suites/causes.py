"""Why a needed memory was not handed over, and why another one was. In: what items were handed, labels where there are any.
Out: one finding each, with its cause. Nothing is measured here, and nothing of it changes a figure.

A class counts as read from probability `READ` on, as labelled from grade `LABELLED` on (of 3). Causes are told in the order
of the read path: the first that would have stopped the memory, or let it pass, is the cause.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.model.memory import Memory
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit_evals.data.rows import read_rows
from tacit_evals.metrics.counts import ItemResult

READ = 0.2
LABELLED = 2
GENERIC = 3.0
SITUATIONS = "situations.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One memory at one item. `grade` is 0 for a false alarm; `asked` and `content` are texts of the data."""

    item: str
    memory: str
    grade: int
    cause: str
    relevance: float | None
    asked: str
    content: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What annotators said of one project, and the texts: by item and by memory; labels may be missing."""

    asked: Mapping[str, str]
    memories: Mapping[str, Memory]
    situations: Mapping[str, frozenset[str]]
    triggers: Mapping[str, Trigger]


def labelled_classes(path: Path, *, prefix: str) -> dict[str, frozenset[str]]:
    """Classes of each item from a `situations.jsonl`, by `prefix/id`; {} where there is no such file."""
    if not path.is_file():
        return {}
    return {
        f"{prefix}/{row.text('id')}": frozenset(
            name for name, grade in row.grades("actions").items() if grade >= LABELLED and name != "none"
        )
        for row in read_rows(path)
    }


def misses(handed: Sequence[ItemResult], labels: Labels) -> tuple[Finding, ...]:
    """Needed memories that neither start pack nor prompt pack held."""
    return tuple(
        _finding(one, name, grade, miss_cause(one, name, labels), labels)
        for one in handed
        for name, grade in sorted(one.judgment.needed.items())
        if name not in one.start and name not in one.pack
    )


def alarms(handed: Sequence[ItemResult], labels: Labels) -> tuple[Finding, ...]:
    """Memories that were handed over and that no judge gave anything."""
    return tuple(
        _finding(one, name, 0, alarm_cause(one, name, labels), labels)
        for one in handed
        for name in one.pack
        if name not in one.judgment.needed and name not in one.judgment.marginal
    )


def miss_cause(one: ItemResult, name: str, labels: Labels) -> str:
    """What stopped a needed memory."""
    if one.read is None or one.read.nothing_coming:
        return "no coming action read"
    if name not in one.predicted:
        return "not in the short list"
    stage, reason = one.fates.get(name, ("", ""))
    if not stage:
        return "passed, left out of the block"
    if not reason.startswith("relevance "):
        return f"{stage}: {re.sub(r'[0-9][0-9.,]*', 'n', reason)}"
    told, trigger = labels.situations.get(one.item), labels.memories[name].trigger
    classes, read = _classes(trigger), read_classes(one.read)
    if told is None or trigger.always:
        return "below the threshold"
    if not classes & told:
        return "below the threshold: the trigger lacks the class"
    if not classes & read:
        return "below the threshold: class of the situation wrong"
    return "below the threshold: trigger and situation meet"


def alarm_cause(one: ItemResult, name: str, labels: Labels) -> str:
    """What let a memory pass that was not needed."""
    trigger, told = labels.memories[name].trigger, labels.situations.get(one.item)
    read = read_classes(one.read) if one.read else frozenset[str]()
    met = _classes(trigger) & read
    if trigger.always or trigger.breadth >= GENERIC:
        return "a rule that holds almost always"
    if told is not None and not told:
        return "no action was coming"
    if not met:
        return "trigger and situation do not meet: its words"
    if told is None:
        return "trigger and situation meet"
    if not met & told:
        return "class of the situation wrong"
    given = labels.triggers.get(name)
    if given is not None and not _classes(given) & told:
        return "the trigger names a class that it is not for"
    return "class right, another matter"


def read_classes(situation: Situation) -> frozenset[str]:
    """Classes that were read with some certainty."""
    return frozenset(name for name, chance in situation.actions if chance >= READ)


def counted(findings: Sequence[Finding]) -> dict[str, int]:
    """How many findings have each cause, the most frequent first."""
    return dict(sorted(Counter(one.cause for one in findings).items(), key=lambda pair: (-pair[1], pair[0])))


def chosen(findings: Sequence[Finding], most: int) -> tuple[Finding, ...]:
    """At most `most` findings, of every cause in turn, each cause's in order."""
    by_cause: dict[str, list[Finding]] = {}
    for one in findings:
        by_cause.setdefault(one.cause, []).append(one)
    turns = sorted((place, cause) for cause, own in by_cause.items() for place in range(len(own)))
    picked = [by_cause[cause][place] for place, cause in turns[:most]]
    return tuple(sorted(picked, key=lambda one: (one.cause, one.item, one.memory)))


def _classes(trigger: Trigger) -> frozenset[str]:
    return frozenset(name for name, _ in trigger.actions)


def _finding(one: ItemResult, name: str, grade: int, cause: str, labels: Labels) -> Finding:
    trigger = labels.memories[name].trigger
    read = ", ".join(
        f"{action} {chance:.2f}" for action, chance in (one.read.actions[:4] if one.read else ())
    )
    told = labels.situations.get(one.item)
    parts = [f"read: {read or 'nothing'}"]
    if told is not None:
        parts.append(f"labelled: {', '.join(sorted(told)) or 'nothing'}")
    parts.append(
        "trigger: "
        + ("always" if trigger.always else ", ".join(action for action, _ in trigger.actions[:5]) or "none")
    )
    return Finding(
        item=one.item,
        memory=name,
        grade=grade,
        cause=cause,
        relevance=one.predicted.get(name),
        asked=labels.asked.get(one.item, ""),
        content=labels.memories[name].content,
        why="; ".join(parts),
    )
