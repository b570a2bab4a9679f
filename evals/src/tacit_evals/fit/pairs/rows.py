"""Pairs of statements with their outcome. In: written groups, dated changes of rule files, judged pools. Out: labelled pairs.

- `made.txt`: statements written for this, each with what says the same, what ends it, what holds beside it.
- the same pairs dressed up: with openings and reasons, as people write.
- rule changes (`knowledge_history/`): weak labels. A removed line and the most alike line added in its place (overlap of words
  at least `LEAST_LIKE`): `same` where the content words are equal or one line holds all of the other's, `conflict` where values, polarity or a single word changed,
  unlabelled otherwise. Lines that were added together: `apart`.
- pools (`inject/`): what supersedes what is labelled; a pool holds no repetitions, so its nearest others are `apart`.

Text of the data is data. `getspecstory` is left out: cases of the suite `update` are made from its pool.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import numpy as np

from tacit.capture.reconcile.compare import overlap
from tacit.capture.reconcile.words import parts_of
from tacit.capture.wording import negated
from tacit.ports.models import Embedder
from tacit_evals.data.recognise import is_inject
from tacit_evals.data.rows import read_rows
from tacit_evals.fit.leaks import same_project

LEAST_LIKE = 0.3
LEAST_APART = 0.1
PER_FILE = 60
NEAREST = 3
WORDS = (5, 45)
LEFT_OUT = ("getspecstory",)
_SEED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A later and an earlier statement. `group` = pairs that must not be told apart by fitting on one of them."""

    new: str
    old: str
    outcome: str
    group: str
    source: str


def made_pairs() -> list[Pair]:
    """Pairs of the written groups."""
    text = (files("tacit_evals.fit.pairs") / "made.txt").read_text("utf-8")
    found: list[Pair] = []
    for number, block in enumerate(text.split("\n\n")):
        by_mark: dict[str, list[str]] = defaultdict(list)
        for line in block.splitlines():
            if line and line[0] in ".=!+":
                by_mark[line[0]].append(line[2:])
        found += _of_group(by_mark, f"made {number}")
    return found


_PREFIXES = (
    "IMPORTANT: ", "Note: ", "Please ", "Remember: ", "As a rule, ", "In this project, ", "For the record: ", "Team decision: ",
    "Just so you know, ", "By the way, ", "OK, ", "One more thing: ", "Convention: ", "We agreed: ",
)  # fmt: skip
_SUFFIXES = (
    "because the build broke twice", "since it saves time", "otherwise the pipeline fails", "so that reviews stay easy",
    "as agreed in the team meeting", "to keep things consistent", "because customers asked for it", "for legal reasons",
    "since the other way caused an incident", "to avoid surprises", "this came up in the last review", "as the handbook says",
    "for performance", "because of the audit", "which makes debugging easier", "and it works well for us",
    "because the vendor recommends it", "so that newcomers find their way",
)  # fmt: skip
_DRESSED = 0.6


def dressed(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs as people write them: with an opening, a reason, without backticks. Neither changes what becomes of them."""
    chance = random.Random(_SEED)

    def dress(text: str) -> str:
        if chance.random() < _DRESSED:
            text = f"{text.rstrip('.')}, {chance.choice(_SUFFIXES)}."
        if chance.random() < _DRESSED / 2:
            opening = chance.choice(_PREFIXES)
            text = opening + (
                text[:1].lower() + text[1:] if opening.endswith(", ") or opening == "Please " else text
            )
        return text.replace("`", "") if chance.random() < _DRESSED / 2 else text

    return [replace(pair, new=dress(pair.new), old=dress(pair.old), source="dressed") for pair in pairs]


def _of_group(said: dict[str, list[str]], group: str) -> Iterator[Pair]:
    def pair(new: str, old: str, outcome: str) -> Pair:
        return Pair(new=new, old=old, outcome=outcome, group=group, source="made")

    (base,) = said["."]
    same, ended, beside = said["="], said["!"], said["+"]
    for other in same:
        yield pair(other, base, "same")
        yield pair(base, other, "same")
    for other in ended:
        for old in (base, *same):
            yield pair(other, old, "conflict")
    for other in beside:
        yield pair(other, base, "apart")
        yield pair(base, other, "apart")
        yield pair(other, same[0], "apart")
    for old, new in combinations(beside, 2):
        yield pair(new, old, "apart")


def history_pairs(folder: Path) -> list[Pair]:
    """Weakly labelled pairs of all changed rule files in `folder`; at most `PER_FILE` of an outcome and repository."""
    by_kind: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for path in sorted(folder.glob("*.jsonl")):
        repository = path.name.split("__", 1)[0]
        for row in read_rows(path):
            for hunk in row.values.get("hunks") or ():
                for new, old, outcome in _of_hunk(hunk.get("added") or (), hunk.get("removed") or ()):
                    if (new, old) not in seen:
                        seen.add((new, old))
                        one = Pair(new=new, old=old, outcome=outcome, group=repository, source="history")
                        by_kind[repository, outcome].append(one)
    chance = random.Random(_SEED)
    return [pair for key in sorted(by_kind) for pair in _some(by_kind[key], chance)]


def _some(pairs: list[Pair], chance: random.Random) -> list[Pair]:
    return pairs if len(pairs) <= PER_FILE else chance.sample(pairs, PER_FILE)


def _of_hunk(added: Sequence[str], removed: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    new_lines = [line for raw in added if (line := _statement(raw))]
    old_lines = [line for raw in removed if (line := _statement(raw))]
    fresh: list[str] = []
    for new in new_lines:
        likeness, old = _most_alike(new, old_lines)
        if likeness < LEAST_LIKE or new == old:
            fresh.append(new)
        elif outcome := _weak_outcome(new, old):
            yield new, old, outcome
    for place, new in enumerate(fresh):
        likeness, old = _most_alike(new, fresh[max(0, place - 4) : place])
        if likeness >= LEAST_APART and old != new:
            yield new, old, "apart"


def _most_alike(line: str, others: Sequence[str]) -> tuple[float, str]:
    return max(
        ((overlap(parts_of(line).words, parts_of(one).words), one) for one in others), default=(0.0, "")
    )


def _weak_outcome(new: str, old: str) -> str:
    a, b = parts_of(new), parts_of(old)
    if a.words == b.words:
        return "same"
    if negated(new) == negated(old) and (a.words < b.words or b.words < a.words):
        return "same"  # said again with more or with less
    values = bool(a.values - b.words) and bool(b.values - a.words)
    one_word = len(a.words - b.words) == 1 == len(b.words - a.words)
    return "conflict" if values or one_word or negated(new) != negated(old) else ""


def _statement(raw: str) -> str:
    """A line of a rule file as a statement; "" where it is none."""
    line = raw.strip()
    if line.startswith(("#", "|", "```", ">", "<", "import ", "from ", "$")):
        return ""
    line = re.sub(r"^(?:[-*+]|\d+\.)\s+", "", line)
    line = re.sub(r"\*\*(.+?)\*\*", r"\1", line)
    line = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", line).strip()
    least, most = WORDS
    return line if least <= len(line.split()) <= most and (line[:1].isalpha() or line[:1] == "`") else ""


def pool_pairs(root: Path, embedder: Embedder) -> list[Pair]:
    """Pairs of the judged pools at `root`, without those of `LEFT_OUT`."""
    found: list[Pair] = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and is_inject(path)):
        if any(same_project(folder.name, name) for name in LEFT_OUT):
            continue
        raw = {row.text("id"): row.maybe("supersedes") for row in read_rows(folder / "memories.jsonl")}
        texts = {row.text("id"): row.text("content") for row in read_rows(folder / "memories.jsonl")}
        over = {old for old in raw.values() if old}

        def pair(new: str, old: str, outcome: str, group: str = folder.name) -> Pair:
            return Pair(new=new, old=old, outcome=outcome, group=group, source="pools")

        found += [pair(texts[new], texts[old], "conflict") for new, old in raw.items() if old in texts]
        live = [name for name in texts if name not in over]
        vectors = np.stack([embedder.embed([texts[name]])[0] for name in live])
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -1)
        near = {
            (min(i, j), max(i, j))
            for i in range(len(live))
            for j in np.argsort(-cosines[i])[:NEAREST].tolist()
            if i != j
        }
        found += [pair(texts[live[new]], texts[live[old]], "apart") for old, new in sorted(near)]
    return found
