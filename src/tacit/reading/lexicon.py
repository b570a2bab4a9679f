"""Look up which actions the words of a text announce.

In: prose. Out: evidence per action class as a chance (0-1), with the phrases that spoke for it. Knows no negated
order (`don't push`), counts a told past (`I fixed ...`) little. Never learns, never reads beyond the given text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from tacit.reading.action_words import CUES, NEGATIONS, ORDER_LEADS, PAST_LEADS, VERBS

_TOKEN = re.compile(r"[a-z]+(?:['’][a-z]+)*|\.?[a-z]+\.md|§|[?!.;:,\n()-]|\d+")
_MARKS = frozenset("?!.;:\n(),-")
_TELLERS = frozenset({"i'll", "ill", "i'd", "i've"})
_MAX_PHRASE = 4
_IRREGULAR = {
    "wrote": "write", "written": "write", "ran": "run", "broke": "broken", "built": "build", "made": "make", "done": "done", "went": "go",
    "was": "was", "does": "does", "this": "this", "has": "has", "is": "is", "tests": "test", "fails": "fail", "failed": "fail", "failing": "fail",
    "failure": "fail", "failures": "fail", "analysis": "analyz", "docs": "doc", "found": "find", "chose": "choose", "began": "begin",
    "fixes": "fix", "fixing": "fix", "fixed": "fix",
}  # fmt: skip


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A light English stem: plural, -ing, -ed and a final -e go. Made for looking words up, not for reading."""
    word = word.replace("’", "'")
    known = _IRREGULAR.get(word)
    if known is not None:
        return known.removesuffix("e") if len(known) > 4 else known
    if len(word) <= 3 or "'" in word:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and re.search(r"[aeiouy]", rest):
            word = rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word.removesuffix("e") if len(word) > 4 else word


Weights = tuple[tuple[str, float], ...]


PhraseTable = dict[tuple[str, ...], Weights]


def load_table(table: str) -> PhraseTable:
    """Read a table of `phrase, phrase: class weight, class weight` lines; phrases are kept as stems."""
    phrases: PhraseTable = {}
    for line in table.strip().splitlines():
        heads, _, tail = line.rpartition(": ")
        pairs = [pair.split() for pair in tail.split(", ")]
        weights = tuple((name, float(value)) for name, value in pairs)
        for head in heads.split(", "):
            key = tuple(stem(token) for token in _TOKEN.findall(head))
            phrases[key] = weights
    return phrases


VERB_TABLE = load_table(VERBS)
CUE_TABLE = load_table(CUES)
_FIRST = {
    word: max(len(key) for table in (VERB_TABLE, CUE_TABLE) for key in table if key[0] == word)
    for word in {key[0] for table in (VERB_TABLE, CUE_TABLE) for key in table}
}


@dataclass(slots=True)
class Evidence:
    """Chances per action class, gathered as independent evidence: 1 - product of (1 - weight)."""

    chances: dict[str, float] = field(default_factory=dict[str, float])
    phrases: list[str] = field(default_factory=list[str])
    denied: list[str] = field(default_factory=list[str])

    def add(self, weights: Weights, factor: float, phrase: str = "") -> None:
        """Count `weights` times `factor` for their classes."""
        for name, weight in weights:
            before = self.chances.get(name, 0.0)
            self.chances[name] = 1.0 - (1.0 - before) * (1.0 - weight * factor)
        if phrase and factor >= 0.5 and len(self.phrases) < 8:
            self.phrases.append(phrase)

    def raise_to(self, name: str, chance: float) -> None:
        """Make `name` at least `chance`."""
        if chance > self.chances.get(name, 0.0):
            self.chances[name] = chance

    def ranked(self, *, least: float = 0.08, most: int = 12) -> Weights:
        """(class, chance), highest first, ties by name; chances are capped at 0.97 and rounded to three places."""
        kept = [(name, round(min(p, 0.97), 3)) for name, p in self.chances.items() if p >= least]
        return tuple(sorted(kept, key=lambda item: (-item[1], item[0]))[:most])


def read_words(prose: str, evidence: Evidence, *, scale: float = 1.0) -> None:
    """Add what the words of `prose` announce to `evidence`, every phrase once, longest phrase first."""
    words = _TOKEN.findall(prose.lower().replace("’", "'"))
    stems = [stem(word) for word in words]
    seen: dict[tuple[str, ...], float] = {}
    position = 0
    while position < len(stems):
        longest = _FIRST.get(stems[position], 0)
        step = 1
        for size in range(min(longest, _MAX_PHRASE, len(stems) - position), 0, -1):
            key = tuple(stems[position : position + size])
            verb, cue = VERB_TABLE.get(key), CUE_TABLE.get(key)
            if verb is None and cue is None:
                continue
            factor = _factor(
                words,
                position,
                is_verb=verb is not None and (size > 1 or cue is None or _orders(words, position)),
            )
            if factor <= 0.0:
                evidence.denied.append(" ".join(key))
            chosen = verb if verb is not None and (cue is None or _orders(words, position)) else cue
            if chosen is not None and factor > seen.get(key, 0.0):
                evidence.add(
                    chosen, scale * (factor - seen.get(key, 0.0)), " ".join(words[position : position + size])
                )
                seen[key] = factor
            step = size
            break
        position += step


def read_table(prose: str, table: PhraseTable, evidence: Evidence) -> None:
    """Add what the phrases of `table` found in `prose` speak for, every phrase once, longest first. Knows no orders."""
    stems = [stem(word) for word in _TOKEN.findall(prose.lower().replace("’", "'"))]
    seen: set[tuple[str, ...]] = set()
    position = 0
    while position < len(stems):
        step = 1
        for size in range(min(_MAX_PHRASE, len(stems) - position), 0, -1):
            key = tuple(stems[position : position + size])
            weights = table.get(key)
            if weights is not None:
                if key not in seen:
                    seen.add(key)
                    evidence.add(weights, 1.0, " ".join(key))
                step = size
                break
        position += step


def _orders(words: list[str], position: int) -> bool:
    """Whether an order can stand at `position`: a clause starts there, or a word that leads to an order precedes."""
    if position == 0:
        return True
    before = words[position - 1]
    return before in _MARKS or before in ORDER_LEADS


def _factor(words: list[str], position: int, *, is_verb: bool) -> float:
    start = position
    while start > 0 and position - start < 4 and words[start - 1] not in _MARKS:
        start -= 1
    lead = words[start:position]
    if _negated(lead):
        return 0.0 if is_verb else 0.35
    if any(word in _TELLERS for word in lead) or " ".join(lead[-3:]).endswith(
        ("i am going to", "let me", "i'm going to")
    ):
        return 0.2  # the person will do it, or did
    if not is_verb:
        return 1.0
    word = words[position]
    if lead and lead[-1] in PAST_LEADS and word.endswith("ed"):
        return 0.25
    if _orders(words, position):
        return 1.0
    return 0.3 if word.endswith("ed") else 0.5


def _negated(lead: list[str]) -> bool:
    for i, word in enumerate(lead):
        if word not in NEGATIONS:
            continue
        after = lead[i + 1 :]
        if word in ("don't", "dont", "not", "can't", "cannot") and after[:1] in (
            ["forget"],
            ["only"],
            ["hesitate"],
        ):
            return False
        if word in ("don't", "dont") and i > 0 and lead[i - 1] not in ORDER_LEADS:
            continue  # "the tests don't run" tells, it does not forbid
        if word == "no" and len(after) > 2:
            continue
        return True
    return False
