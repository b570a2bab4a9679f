"""Words that announce actions, and words of a memory that say when it applies: the tables, and how they are looked up.

In: prose. Out: evidence per action class as a chance (0-1), with the phrases that spoke for it. A negated order
(`don't push`) counts nothing, a told past (`I fixed ...`) little. Never learns, never reads beyond the given text.

The tables stand in `text/wordings/actions.toml`, some phrases a line: `phrase, phrase: class weight, class weight`. Phrases have one to four words and are matched by
word stem. Weights are chances (0-1) that the action follows when the phrase stands there; a *verb* counts in full where an order can
stand, and by half elsewhere; a *cue* counts anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from tacit.text.lazy_regex import wording
from tacit.text.stemming import light_stem
from tacit.text.tokens import PHRASE_TOKEN

_QUESTION_OPENERS_TEXT = """
what what's whats why how where when which who whose is are was were does do did has have had can could
would should will isn't aren't doesn't don't didn't am any shall won't wouldn't couldn't shouldn't
"""
QUESTION_OPENERS = frozenset(_QUESTION_OPENERS_TEXT.split())

REQUEST_OPENERS = frozenset(["can", "could", "would", "will", "please", "pls", "kindly", "let's", "lets"])

_ORDER_LEADS_TEXT = """
please pls and then to lets let's also now just you ok okay so we should must can could would i'll me
need needs first but i or go help us want instead either yes yeah sure kindly next finally ahead do will
might may gonna shall again actually simply maybe perhaps alright great
"""
ORDER_LEADS = frozenset(_ORDER_LEADS_TEXT.split())

_NEGATIONS_TEXT = """
don't dont never not without no avoid stop skip shouldn't mustn't cannot can't nor
"""
NEGATIONS = frozenset(_NEGATIONS_TEXT.split())

_PAST_LEADS_TEXT = """
i i've we we've you've was were been has have had already just it's he she they
"""
PAST_LEADS = frozenset(_PAST_LEADS_TEXT.split())


# --- look-up

_MARKS = frozenset("?!.;:\n(),-")
_TELLERS = frozenset({"i'll", "ill", "i'd", "i've"})
_MAX_PHRASE = 4

Weights = tuple[tuple[str, float], ...]


PhraseTable = dict[tuple[str, ...], Weights]


@cache
def action_phrases(table: str) -> PhraseTable:
    """Return a table (`verbs`, `cues` or `trigger_cues`): phrase as stems -> weights of action classes."""
    phrases: PhraseTable = {}
    for line in wording("actions").lines(table):
        heads, _, tail = line.rpartition(": ")
        pairs = [pair.split() for pair in tail.split(", ")]
        weights = tuple((name, float(value)) for name, value in pairs)
        for head in heads.split(", "):
            key = tuple(light_stem(token) for token in PHRASE_TOKEN.findall(head))
            phrases[key] = weights
    return phrases


@cache
def _first_words() -> frozenset[str]:
    """Return the first words of all phrases in `verbs` and `cues`."""
    return frozenset(key[0] for key in (*action_phrases("verbs"), *action_phrases("cues")))


@dataclass(slots=True)
class ActionEvidence:
    """The evidence for action classes that was found in words; mutable.

    Attributes:
        chances: by class, combined as independent evidence: 1 - product of (1 - weight).
        phrases: the first eight phrases that spoke for a class, for the trace.
        denied: phrases that a negation ruled out.
    """

    chances: dict[str, float] = field(default_factory=dict[str, float])
    phrases: list[str] = field(default_factory=list[str])
    denied: list[str] = field(default_factory=list[str])

    def add(self, weights: Weights, factor: float, phrase: Sequence[str] = ()) -> None:
        """Add `weights` times `factor` to the chances of their classes; `phrase` = the words that gave them."""
        chances = self.chances
        for name, weight in weights:
            chances[name] = 1.0 - (1.0 - chances.get(name, 0.0)) * (1.0 - weight * factor)
        if phrase and factor >= 0.5 and len(self.phrases) < 8:
            self.phrases.append(" ".join(phrase))

    def raise_to(self, name: str, chance: float) -> None:
        """Raise the chance of `name` to at least `chance`."""
        if chance > self.chances.get(name, 0.0):
            self.chances[name] = chance

    def ranked(self, *, least: float = 0.08, most: int = 12) -> Weights:
        """Return (class, chance) pairs, highest first, ties by name: the `most` likeliest with at least the chance `least`, each capped at 0.97."""
        likely = [(name, round(min(p, 0.97), 3)) for name, p in self.chances.items() if p >= least]
        return tuple(sorted(likely, key=lambda item: (-item[1], item[0]))[:most])


def read_words(prose: str, evidence: ActionEvidence, *, scale: float = 1.0) -> None:
    """Add the evidence in the words of `prose` to `evidence`: each phrase once, longest first."""
    words = PHRASE_TOKEN.findall(prose.lower().replace("’", "'"))
    stems = list(map(light_stem, words))
    verbs, cues, first_words = action_phrases("verbs"), action_phrases("cues"), _first_words()
    factors: dict[tuple[str, ...], float] = {}
    after = 0
    for position, word in enumerate(stems):
        if position < after or word not in first_words:
            continue
        key = _longest(stems, position, verbs, cues)
        if not key:
            continue
        size = len(key)
        after = position + size
        verb, cue = verbs.get(key), cues.get(key)
        orders = verb is not None and _orders(words, position)
        factor = _factor(words, position, is_verb=verb is not None and (size > 1 or cue is None or orders))
        if factor <= 0.0:
            evidence.denied.append(" ".join(stems[position:after]))
        chosen = verb if verb is not None and (cue is None or orders) else cue
        before = factors.get(key, 0.0)
        if chosen is not None and factor > before:
            evidence.add(chosen, scale * (factor - before), words[position:after])
            factors[key] = factor


def _longest(stems: list[str], position: int, *tables: PhraseTable) -> tuple[str, ...]:
    """Return the longest phrase of `tables` that starts at `position`; empty = none."""
    for size in range(min(_MAX_PHRASE, len(stems) - position), 0, -1):
        key = tuple(stems[position : position + size])
        if any(key in table for table in tables):
            return key
    return ()


def read_table(prose: str, table: PhraseTable, evidence: ActionEvidence) -> None:
    """Add the evidence of `table`'s phrases in `prose`: each once, longest first, without regard to orders."""
    stems = [light_stem(word) for word in PHRASE_TOKEN.findall(prose.lower().replace("’", "'"))]
    seen_keys: set[tuple[str, ...]] = set()
    position = 0
    while position < len(stems):
        key = _longest(stems, position, table)
        if key and key not in seen_keys:
            seen_keys.add(key)
            evidence.add(table[key], 1.0, key)
        position += len(key) or 1


def _orders(words: list[str], position: int) -> bool:
    """Whether an order can begin at `position`: at the start of a clause, or after a word that leads to one."""
    if position == 0:
        return True
    before = words[position - 1]
    return before in _MARKS or before in ORDER_LEADS


def _factor(words: list[str], position: int, *, is_verb: bool) -> float:
    start = position
    least = max(0, position - 4)
    while start > least and words[start - 1] not in _MARKS:
        start -= 1
    lead = words[start:position]
    if _negated(lead):
        return 0.0 if is_verb else 0.35
    if lead and (
        not _TELLERS.isdisjoint(lead)
        or (
            lead[-1] in ("to", "me")
            and " ".join(lead[-3:]).endswith(("i am going to", "let me", "i'm going to"))
        )
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
    if NEGATIONS.isdisjoint(lead):
        return False
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
