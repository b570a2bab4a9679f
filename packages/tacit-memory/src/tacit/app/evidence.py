"""What adds up to a memory's relevance, in points, and a recall in one sentence. In: traces and the parts of their candidates. Out: points, text. Pure.

Before a prompt the gate judges, and its log odds are a sum (`recall.score.PARTS`), as are those of a subagent's task (`recall.pipelines.subagent.evidence_of`). Points are that sum on a scale for people: 0 = a memory that
nothing speaks for or against, 100 = what is needed. Elsewhere rules decide, and nothing is summed: the reasons of a memory say what counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tacit.frozen import frozen
from tacit.model.evidence import Parts
from tacit.model.trace import DropCause, Trace, TracedCandidate
from tacit.recall.stage import START_SURFACES

USUAL = "usual"
"""The part that every memory starts from."""
NEEDED = 100
OTHER = "other"
"""The name of what changed the relevance after the gate: the age of the memory, its uses, a model in the pause."""
_ALONE = "alone"
_WORDS: dict[str, tuple[str, str, str]] = {
    "cosine": ("meaning", "it is near in meaning", "its meaning is far"),
    "character": ("similar letters", "it is spelled alike", "it is spelled differently"),
    "rare": ("rare words in common", "it shares a rare word with the prompt", "it shares no rare word with the prompt"),
    "covered": ("words in common", "it holds many of the prompt's words", "it holds few of the prompt's words"),
    "nearness": ("near to this project", "the prompt is near to what is known of this project", "the prompt is far from what is known of this project"),
    "intent": ("for what comes now", "it is for what comes now", "it is for something else"),
    "semantic": ("meaning", "it is near in meaning", "its meaning is far"),
    "lexical": ("words in common", "it shares words with the task", "it shares no words with the task"),
    "code": ("code in common", "it names code of the task", "it names no code of the task"),
    "entity": ("names in common", "it shares a name with the task", "it shares no name with the task"),
    "breadth": ("for many tasks", "it is for many tasks", "it is for few tasks"),
    "importance": ("importance", "it is important", "it is unimportant"),
    "given": ("said when it applies", "somebody said when it applies", "nobody said when it applies"),
    _ALONE: ("better than the others", "it is better than the others", "others come nearer"),
    "many": ("many memories", "", "among so many memories more is needed"),
    OTHER: ("age and use", "it was used before", "it is old or was seldom used"),
}  # fmt: skip
"""By part: its name for people, and what is said where it speaks for a memory, and where it speaks against it."""
_AGAINST = {
    "cosine": "far in meaning",
    "character": "spelled differently",
    "rare": "no rare word in common",
    "covered": "few words in common",
    "nearness": "far from this project",
    _ALONE: "worse than the others",
}
"""By part: its name for people where it speaks against a memory, if it has another one there."""
_LEAST_TOLD = 12
"""Points from which a part is told in a sentence."""
_MOST_TOLD = 2


@frozen
class EvidencePart:
    """One part of a memory's relevance.

    Attributes:
        name, text: the part, and its name for people.
        points: what it adds; they add up to 100 or more if the memory is relevant enough; 0 = nothing speaks for or against it.
    """

    name: str
    text: str
    points: int


@frozen
class ShownCandidate(TracedCandidate):
    """A candidate of a recall, as it is shown, with its `evidence` in points; () = rules decided, or it was far from the best."""

    evidence: tuple[EvidencePart, ...]


def evidence_of(parts: Parts, relevance: float, threshold: float) -> tuple[EvidencePart, ...]:
    """Return what adds up to `relevance`, in points; () if nothing was summed. `threshold` = the least relevance that is needed."""
    usual = dict(parts).get(USUAL)
    if usual is None or not 0.0 < threshold < 1.0 or _log_odds(threshold) <= usual:
        return ()
    changed = [(name, value) for name, value in parts if name != USUAL]
    other = _log_odds(relevance) - sum(value for _, value in parts)
    if abs(relevance - 1.0 / (1.0 + math.exp(other - _log_odds(relevance)))) > 0.001:
        changed.append((OTHER, other))
    point = (_log_odds(threshold) - usual) / NEEDED
    shown: list[EvidencePart] = []
    total = reached = 0.0
    for name, value in changed:
        total += value / point
        whole = math.floor(total + 1e-6)  # of the sum so far: rounded one by one they would not add up
        points, reached = int(whole - reached), whole
        if name in _WORDS and (name not in ("many", OTHER) or points):
            text = _AGAINST.get(name, _WORDS[name][0]) if points < 0 else _WORDS[name][0]
            shown.append(EvidencePart(name=name, text=text, points=points))
    return tuple(shown)


def _log_odds(probability: float) -> float:
    clamped = min(max(probability, 1e-4), 1.0 - 1e-4)
    return math.log(clamped / (1.0 - clamped))


def sum_of(evidence: Iterable[EvidencePart]) -> int:
    """Return how many points a memory reached."""
    return sum(part.points for part in evidence)


def terms_text(evidence: Iterable[EvidencePart]) -> str:
    """Return what adds up to the points in one line, the greatest first: "meaning +41, better than the others +33"; "" = nothing was summed."""
    told = sorted(evidence, key=lambda part: -part.points)
    return ", ".join(f"{part.text} {part.points:+d}" for part in told if part.points)


def common_text(evidence: Iterable[EvidencePart]) -> str:
    """Return in words what speaks most for a memory and what most against it: "it is near in meaning, but others come nearer"; "" = nothing was summed."""
    ordered = sorted(evidence, key=lambda part: -part.points)
    good = [part.name for part in ordered if part.points >= _LEAST_TOLD][:_MOST_TOLD]
    bad = [part.name for part in reversed(ordered) if part.points <= -_LEAST_TOLD][:_MOST_TOLD]
    plus = " and ".join(_WORDS[name][1] for name in good)
    minus = ", and ".join(_WORDS[name][2] for name in bad)
    return ", but ".join(told for told in (plus, minus) if told)


def reached_text(relevance: float, threshold: float, evidence: Iterable[EvidencePart] = ()) -> str:
    """Return how far a memory came, in points if there are any: "reached 12 points, and 100 are needed", or "reached 0.61, and 0.26 is needed"."""
    parts = tuple(evidence)
    if parts:
        return f"reached {sum_of(parts)} points, and {NEEDED} are needed"
    places = 2 if f"{relevance:.2f}" != f"{threshold:.2f}" or relevance == threshold else 4
    return f"reached {relevance:.{places}f}, and {threshold:.{places}f} is needed"


def trace_sentence(trace: Trace, silence: str) -> str:
    """Return the recall in one sentence: what came of it, by which numbers, and what speaks for and against the best memory.

    `silence` = why nothing was injected, in words.
    """
    looked = _plural(looked_at(trace), "memory", "memories")
    if trace.injected and trace.surface in START_SURFACES:
        return f"Given: {_plural(len(trace.injected), 'memory', 'memories')}, {trace.tokens} of {trace.budget_tokens} tokens."
    told = [one for one in trace.candidates if not trace.injected or one.memory_id in trace.injected]
    best = max(told, key=lambda candidate: candidate.relevance, default=None)
    if trace.injected:
        given = f"Given: {len(trace.injected)} of {looked} looked at"
        if best is None or best.relevance < trace.threshold or not trace.threshold:  # 0 = it was named
            return f"{given}."
        which = "it" if len(trace.injected) == 1 else "the best"
        evidence = evidence_of(best.parts, best.relevance, trace.threshold)
        return f"{given}; {which} {reached_text(best.relevance, trace.threshold, evidence)}."
    gated = any(drop.why.cause is DropCause.BELOW_THRESHOLD for stage in trace.stages for drop in stage.drops)
    if best is None or not gated or best.relevance >= trace.threshold:
        return f"Silent: {silence or 'nothing was given'}."
    evidence = evidence_of(best.parts, best.relevance, trace.threshold)
    common = common_text(evidence)
    reached = reached_text(best.relevance, trace.threshold, evidence)
    best_of = f"the best of {looked}" if looked_at(trace) > 1 else "the only memory looked at"
    return f"Silent: {best_of} {reached}{f'; {common}' if common else ''}."


def looked_at(trace: Trace) -> int:
    """Return how many memories the recall judged or handed over."""
    scored = {
        name
        for stage in trace.stages
        if stage.stage == "score"
        for name in (*stage.kept, *(drop.memory_id for drop in stage.drops))
    }
    return len(scored | set(trace.injected))


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
