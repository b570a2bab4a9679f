"""How well the rules read situations and make triggers, against labels. Evaluation only; nothing is fitted here.

In: the folder of the evaluation data (`--data`). Out: a table on standard output. `minsky` stands in a line of
its own: no rule was fitted on it, but its aggregates were printed while rules were written, so it is only weakly held out.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.model.situation import Situation
from tacit.model.trigger import ACTIONS, Trigger
from tacit.reading.situation import read_situation
from tacit.reading.trigger import Matcher, make_trigger

PROJECTS = ("getspecstory", "league-analyzer", "minsky")
HELD_OUT = "minsky"
THRESHOLD = 0.4
"""A class counts as predicted from this chance on; gold counts from grade 2 (`likely`, `often`) on."""

Row = dict[str, Any]
Scores = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Predicted chances and gold grades of one text."""

    chances: Scores
    gold: dict[str, int]
    seconds: float = 0.0


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def situation_of(row: Row) -> Situation:
    return read_situation(
        row["text"],
        previous_end=row.get("previous_assistant") or "",
        recent_files=row.get("recent_files") or (),
    )


def trigger_of(row: Row) -> Trigger:
    return make_trigger(row["content"], kind=row.get("kind", ""), files=row.get("files") or ())


def label_situations(rows: Iterable[Row], gold: Callable[[Row], dict[str, int]]) -> list[Labelled]:
    found: list[Labelled] = []
    for row in rows:
        started = time.perf_counter()
        situation = situation_of(row)
        took = time.perf_counter() - started
        chances = dict(situation.actions)
        chances["none"] = 1.0 if situation.nothing_coming else 0.0
        found.append(Labelled(chances=chances, gold=gold(row), seconds=took))
    return found


def label_triggers(rows: Iterable[Row], gold: Callable[[Row], dict[str, int]]) -> list[Labelled]:
    found: list[Labelled] = []
    for row in rows:
        trigger = trigger_of(row)
        chances = dict.fromkeys(ACTIONS, 0.3) if trigger.always else dict(trigger.actions)
        found.append(Labelled(chances=chances, gold=gold(row)))
    return found


def average_precision(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """Average precision; ties share their mean rank position by being taken as one block. None without positives."""
    positives = sum(hit for _, hit in pairs)
    if not positives:
        return None
    ordered = sorted(pairs, key=lambda pair: -pair[0])
    total = seen = hits = 0.0
    i = 0
    while i < len(ordered):
        j = i
        while j < len(ordered) and ordered[j][0] == ordered[i][0]:
            j += 1
        block = sum(hit for _, hit in ordered[i:j])
        seen += j - i
        hits += block
        total += block * hits / seen
        i = j
    return total / positives


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Chance that a random positive scores above a random negative; ties count half."""
    if not positive or not negative:
        return math.nan
    ranked = sorted([(score, 1) for score in positive] + [(score, 0) for score in negative])
    total, i = 0.0, 0
    while i < len(ranked):
        j = i
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            j += 1
        total += sum(label for _, label in ranked[i:j]) * (i + j + 1) / 2
        i = j
    n, m = len(positive), len(negative)
    return (total - n * (n + 1) / 2) / (n * m)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScore:
    """Precision, recall and average precision of one class."""

    name: str
    support: int
    precision: float
    recall: float
    ap: float


def class_scores(
    rows: Sequence[Labelled], *, threshold: float = THRESHOLD, grade: int = 2
) -> list[ClassScore]:
    names = sorted({name for row in rows for name in row.gold})
    found: list[ClassScore] = []
    for name in names:
        gold = [row.gold.get(name, 0) >= grade for row in rows]
        predicted = [row.chances.get(name, 0.0) >= threshold for row in rows]
        hits = sum(g and p for g, p in zip(gold, predicted, strict=True))
        if not any(gold):
            continue
        ap = average_precision([(row.chances.get(name, 0.0), g) for row, g in zip(rows, gold, strict=True)])
        found.append(
            ClassScore(
                name=name, support=sum(gold), precision=hits / sum(predicted) if any(predicted) else 0.0,
                recall=hits / sum(gold), ap=ap or 0.0,
            )
        )  # fmt: skip
    return found


def summary(label: str, rows: Sequence[Labelled], *, threshold: float = THRESHOLD) -> str:
    scores = [s for s in class_scores(rows, threshold=threshold) if s.support >= 3]
    gold = sum(sum(g >= 2 for g in row.gold.values()) for row in rows)
    predicted = sum(sum(p >= threshold for p in row.chances.values()) for row in rows)
    hits = sum(
        sum(g >= 2 and row.chances.get(n, 0) >= threshold for n, g in row.gold.items()) for row in rows
    )
    macro = [
        statistics.fmean(getattr(s, key) for s in scores) if scores else math.nan
        for key in ("precision", "recall", "ap")
    ]
    took = statistics.median(row.seconds for row in rows) * 1000
    return (
        f"{label:34} n={len(rows):4}  macro P {macro[0]:.2f} R {macro[1]:.2f} AP {macro[2]:.2f}"
        f"   micro P {hits / max(predicted, 1):.2f} R {hits / max(gold, 1):.2f}   median {took:.2f} ms"
    )


def needs(data: Path, project: str, *, gold_triggers: bool = False, gold_situations: bool = False) -> str:
    """How well the match of trigger and situation separates needed pairs from the rest (qrels grades 1 and 2)."""
    folder, labels = data / "inject" / project, data / "situation" / project
    memories, prompts = read_rows(folder / "memories.jsonl"), read_rows(folder / "prompts.jsonl")
    grades: dict[tuple[str, str], str] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        prompt, memory, grade = line.split("\t")
        grades[prompt, memory] = grade
    given = {row["id"]: row for row in read_rows(labels / "triggers.jsonl")}
    told = {row["id"]: row for row in read_rows(labels / "situations.jsonl")}
    superseded = {row["supersedes"] for row in memories if row.get("supersedes")}
    live = [row for row in memories if row["id"] not in superseded]
    triggers = {
        row["id"]: gold_trigger(given[row["id"]]) if gold_triggers else trigger_of(row) for row in live
    }
    positive: list[float] = []
    negative: list[float] = []
    found_at: dict[int, int] = {5: 0, 10: 0}
    total = 0
    for prompt in prompts:
        situation = gold_situation(told[prompt["id"]]) if gold_situations else situation_of(prompt)
        matcher = Matcher(situation)
        ranked = sorted(
            ((matcher.match(triggers[row["id"]]).score, row["id"]) for row in live),
            key=lambda p: (-p[0], p[1]),
        )
        for rank, (score, memory) in enumerate(ranked):
            grade = grades.get((prompt["id"], memory), "0")
            if grade == "m":
                continue
            if grade == "0":
                negative.append(score)
                continue
            positive.append(score)
            total += 1
            for k in found_at:
                found_at[k] += rank < k and score > 0
    ap = average_precision([(s, True) for s in positive] + [(s, False) for s in negative]) or 0.0
    which = f"{'labelled' if gold_triggers else 'made'} triggers, {'labelled' if gold_situations else 'read'} situations"
    return (
        f"{project:16} {which:40} AUC {auc(positive, negative):.3f}  AP {ap:.3f} (chance {len(positive) / len(positive + negative):.3f})"
        f"  recall@5 {found_at[5] / total:.2f} @10 {found_at[10] / total:.2f}"
    )


def gold_trigger(row: Row) -> Trigger:
    actions = sorted(
        ((n, round(g / 3, 2)) for n, g in row["actions"].items() if n != "none"), key=lambda p: -p[1]
    )
    return Trigger(
        actions=tuple(actions), objects=tuple(row["objects"]), breadth=float(row["breadth"]), maker="agent"
    )


def gold_situation(row: Row) -> Situation:
    actions = sorted(
        ((n, round(g / 3, 2)) for n, g in row["actions"].items() if n != "none"), key=lambda p: -p[1]
    )
    return Situation(actions=tuple(actions), objects=tuple(row["objects"]), nothing_coming=not actions)


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    return statistics.correlation(xs, ys) if len(set(xs)) > 1 and len(set(ys)) > 1 else math.nan


def object_recall(found: Iterable[str], gold: Iterable[str]) -> float | None:
    gold_words = {word for item in gold for word in item.lower().split()}
    found_words = {word for item in found for word in item.lower().split()}
    return len(gold_words & found_words) / len(gold_words) if gold_words else None


def report(data: Path, *, classes: bool = False) -> list[str]:
    lines = ["Situations (a class counts from 0.4; gold from grade 2)"]
    sets: dict[str, list[Row]] = {}
    for project in PROJECTS:
        told = {row["id"]: row for row in read_rows(data / "situation" / project / "situations.jsonl")}
        sets[f"{project} (inject)"] = [
            {**row, **told[row["id"]]} for row in read_rows(data / "inject" / project / "prompts.jsonl")
        ]
    prompts = read_rows(data / "situation" / "prompts.jsonl")
    for project in sorted({row["project"] for row in prompts}):
        sets[f"{project} (more prompts)"] = [row for row in prompts if row["project"] == project]
    sets["nine further projects"] = read_rows(data / "situation" / "more.jsonl")
    detail: list[str] = []
    for label, rows in sets.items():
        labelled = label_situations(rows, lambda row: row["actions"])
        held = " [held out]" if HELD_OUT in label else ""
        lines.append(summary(label + held, labelled))
        none = [row for row in labelled if row.gold.get("none", 0) >= 2]
        silent = [row for row in labelled if row.chances["none"] > 0]
        right = sum(row.gold.get("none", 0) >= 2 for row in silent)
        objects = [
            v for row in rows if (v := object_recall(situation_of(row).objects, row["objects"])) is not None
        ]
        lines.append(
            f"    nothing coming: gold {len(none)}, said {len(silent)}, right {right};  objects found {statistics.fmean(objects):.2f}"
        )
        if classes:
            detail.append(f"\n{label}")
            detail.extend(
                f"  {s.name:20} {s.support:4}  P {s.precision:.2f} R {s.recall:.2f} AP {s.ap:.2f}"
                for s in sorted(class_scores(labelled), key=lambda s: -s.support)
            )
    lines.append("Triggers")
    rules = [row for row in read_rows(data / "situation" / "rules.jsonl") if row["keep"]]
    groups = {
        f"rules of {HELD_OUT} [held out]": [r for r in rules if HELD_OUT in r["repo"]],
        "rules of 19 other projects": [r for r in rules if HELD_OUT not in r["repo"]],
    }
    for project in PROJECTS:
        given = {row["id"]: row for row in read_rows(data / "situation" / project / "triggers.jsonl")}
        held = " [held out]" if project == HELD_OUT else ""
        groups[f"memories of {project}{held}"] = [
            {**row, **given[row["id"]]} for row in read_rows(data / "inject" / project / "memories.jsonl")
        ]
    for label, rows in groups.items():
        labelled = label_triggers(rows, lambda row: row["actions"])
        breadth = correlation([(trigger_of(row).breadth, float(row["breadth"])) for row in rows])
        objects = [
            v for row in rows if (v := object_recall(trigger_of(row).objects, row["objects"])) is not None
        ]
        lines.append(summary(label, labelled, threshold=0.5))
        lines.append(f"    breadth correlates {breadth:.2f};  objects found {statistics.fmean(objects):.2f}")
        if classes:
            detail.append(f"\n{label}")
            detail.extend(
                f"  {s.name:20} {s.support:4}  P {s.precision:.2f} R {s.recall:.2f} AP {s.ap:.2f}"
                for s in sorted(class_scores(labelled, threshold=0.5), key=lambda s: -s.support)
            )
    lines.append("Needed pairs: trigger matched with situation")
    for project in PROJECTS:
        for triggers in (True, False):
            lines.extend(
                needs(data, project, gold_triggers=triggers, gold_situations=situations)
                for situations in (True, False)
            )
    return lines + detail


def main() -> None:
    parser = argparse.ArgumentParser(description="Situation reader and trigger maker against labels.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--classes", action="store_true", help="one line per action class")
    arguments = parser.parse_args()
    print("\n".join(report(arguments.data, classes=arguments.classes)))


if __name__ == "__main__":
    main()
