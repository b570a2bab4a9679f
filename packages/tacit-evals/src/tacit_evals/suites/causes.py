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
        _finding(result, name, grade, miss_cause(result, name, labels), labels)
        for result in handed
        for name, grade in sorted(result.judgment.needed.items())
        if name not in result.start and name not in result.pack
    )


def alarms(handed: Sequence[ItemResult], labels: Labels) -> tuple[Finding, ...]:
    """Memories that were handed over and that no judge gave anything."""
    return tuple(
        _finding(result, name, 0, alarm_cause(result, name, labels), labels)
        for result in handed
        for name in result.pack
        if name not in result.judgment.needed and name not in result.judgment.marginal
    )


def miss_cause(result: ItemResult, name: str, labels: Labels) -> str:
    """What stopped a needed memory."""
    if result.read is None or result.read.nothing_coming:
        return "no coming action read"
    if name not in result.predicted:
        return "not in the short list"
    stage, reason = result.fates.get(name, ("", ""))
    if not stage:
        return "passed, left out of the block"
    if not reason.startswith("relevance "):
        return f"{stage}: {re.sub(r'[0-9][0-9.,]*', 'n', reason)}"
    labelled, trigger = labels.situations.get(result.item), labels.memories[name].trigger
    classes, read = _classes(trigger), read_classes(result.read)
    if labelled is None or trigger.always:
        return "below the threshold"
    if not classes & labelled:
        return "below the threshold: the trigger lacks the class"
    if not classes & read:
        return "below the threshold: class of the situation wrong"
    return "below the threshold: trigger and situation meet"


def alarm_cause(result: ItemResult, name: str, labels: Labels) -> str:
    """What let a memory pass that was not needed."""
    trigger, labelled = labels.memories[name].trigger, labels.situations.get(result.item)
    read = read_classes(result.read) if result.read else frozenset[str]()
    met = _classes(trigger) & read
    if trigger.always or trigger.breadth >= GENERIC:
        return "a rule that holds almost always"
    if labelled is not None and not labelled:
        return "no action was coming"
    if not met:
        return "trigger and situation do not meet: its words"
    if labelled is None:
        return "trigger and situation meet"
    if not met & labelled:
        return "class of the situation wrong"
    labelled_trigger = labels.triggers.get(name)
    if labelled_trigger is not None and not _classes(labelled_trigger) & labelled:
        return "the trigger names a class that it is not for"
    return "class right, another matter"


def read_classes(situation: Situation) -> frozenset[str]:
    """Classes that were read with some certainty."""
    return frozenset(name for name, chance in situation.actions if chance >= READ)


def counted(findings: Sequence[Finding]) -> dict[str, int]:
    """How many findings have each cause, the most frequent first."""
    return dict(
        sorted(Counter(finding.cause for finding in findings).items(), key=lambda pair: (-pair[1], pair[0]))
    )


def chosen(findings: Sequence[Finding], most: int) -> tuple[Finding, ...]:
    """At most `most` findings, of every cause in turn, each cause's in order."""
    by_cause: dict[str, list[Finding]] = {}
    for finding in findings:
        by_cause.setdefault(finding.cause, []).append(finding)
    turns = sorted((place, cause) for cause, own in by_cause.items() for place in range(len(own)))
    picked = [by_cause[cause][place] for place, cause in turns[:most]]
    return tuple(sorted(picked, key=lambda finding: (finding.cause, finding.item, finding.memory)))


def _classes(trigger: Trigger) -> frozenset[str]:
    return frozenset(name for name, _ in trigger.actions)


def _finding(result: ItemResult, name: str, grade: int, cause: str, labels: Labels) -> Finding:
    trigger = labels.memories[name].trigger
    read = ", ".join(
        f"{action} {chance:.2f}" for action, chance in (result.read.actions[:4] if result.read else ())
    )
    labelled = labels.situations.get(result.item)
    reasons = [f"read: {read or 'nothing'}"]
    if labelled is not None:
        reasons.append(f"labelled: {', '.join(sorted(labelled)) or 'nothing'}")
    reasons.append(
        "trigger: "
        + ("always" if trigger.always else ", ".join(action for action, _ in trigger.actions[:5]) or "none")
    )
    return Finding(
        item=result.item,
        memory=name,
        grade=grade,
        cause=cause,
        relevance=result.predicted.get(name),
        asked=labels.asked.get(result.item, ""),
        content=labels.memories[name].content,
        why="; ".join(reasons),
    )
