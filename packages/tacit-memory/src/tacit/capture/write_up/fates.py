"""The writer's decisions about near memories, as judgments for reconciliation. In: a statement's fates. Out: a judge, or a skip.

A fate never acts on a memory that is trusted more than the statement: it becomes a question for review. Reconciliation sees to
that for what would end a memory; what would merge into such a memory, or into one that waits, is left out as known. What the user
said is ended only by a statement that speaks of it; else it is a question, too. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.capture.reconcile import Judgment, judge_by_words
from tacit.capture.write_up.request import MemoryFate
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Merge, Skip
from tacit.model.memory import Memory, TrustTier
from tacit.reading.digest_lines import stems
from tacit.safety.trust import may_supersede
from tacit.statements.same import same_statement

SHARED_STEMS, SHARED_PART = 2, 1 / 3
"""Least word stems, or least part of a memory's stems, that a statement shares with a memory it speaks of."""
_UNRELATED = Judgment(relation="apart")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDecision:
    """A writer's decision on a memory that was sent along."""

    memory: Memory
    fate: MemoryFate


def known_already(
    memory: Memory, ruled: Sequence[MemoryDecision], *, standing: Collection[str]
) -> Skip | Merge | None:
    """Decide on a statement that repeats a memory whose words it may not change, or has its words; None = it repeats none, or is merged.

    What was heard in the same session without a model has the kind that the form of a sentence suggests: the writer knows better, but
    makes nothing that ages of a rule. `standing` = names of the kinds of rules.
    """
    for decision in ruled:
        if decision.fate.fate != "merge":
            continue
        stored = decision.memory
        trusted = may_supersede(memory.provenance.tier, stored.provenance.tier)
        same = trusted and memory.status != "quarantined" and same_statement(memory.content, stored.content)
        if not trusted or memory.status == "quarantined" or same:
            ages = stored.kind in standing and memory.kind not in standing
            if memory.kind != stored.kind and not ages and _heard_alike(memory, stored):
                return Merge(
                    memory=replace(stored, kind=memory.kind),
                    reason=ChangeReason(cause=ChangeCause.OTHER_KIND, terms=(memory.kind, stored.kind)),
                )
            if same:
                continue
            return Skip(
                content=memory.content,
                reason=ChangeReason(cause=ChangeCause.KEEPS_ITS_WORDS, memory_ids=(stored.id,)),
                memory_id=stored.id,
            )
    return None


def _heard_alike(memory: Memory, stored: Memory) -> bool:
    mine, theirs = memory.provenance, stored.provenance
    same = (mine.host, mine.session_id, mine.source) == (theirs.host, theirs.session_id, theirs.source)
    heard = same and bool(mine.session_id) and not theirs.extractor and not stored.error_signature
    return heard and stored.status == "active" and may_touch(memory.content, stored)


class FateJudge:
    """Judges one statement beside stored ones as the writer did, and by their words those that the writer was not sent."""

    def __init__(self, content: str, ruled: Sequence[MemoryDecision]) -> None:
        self._content = content
        self._judgments: Mapping[str, Judgment] = {
            decision.memory.content: _judgment(decision.fate, touches=may_touch(content, decision.memory))
            for decision in ruled
        }

    def __call__(self, new: str, old: str, correction: bool) -> Judgment:
        """See `Judge`."""
        judged = self._judgments.get(old if new == self._content else new)
        return judged or judge_by_words(new, old, correction)


def may_touch(content: str, memory: Memory) -> bool:
    """Whether a fate may change the memory: one of the user's only where the statement speaks of the same thing."""
    if memory.provenance.tier is not TrustTier.USER:
        return True
    memory_stems = stems(memory.content)
    shared = len(memory_stems & stems(content))
    return shared >= SHARED_STEMS or shared >= SHARED_PART * len(memory_stems)


def _judgment(fate: MemoryFate, *, touches: bool) -> Judgment:
    match fate.fate:
        case "merge" if not touches:
            return _UNRELATED
        case "supersede" if not touches:
            return Judgment(relation="unsure", why=ChangeCause.MAY_REPLACE, detail=fate.reason)
        case "merge":
            return Judgment(relation="same", why=ChangeCause.SAYS_SAME, detail=fate.reason)
        case "supersede":
            return Judgment(relation="conflict", why=ChangeCause.REPLACES, detail=fate.reason)
        case "contradict":
            return Judgment(relation="unsure", why=ChangeCause.MAY_CONTRADICT, detail=fate.reason)
        case "keep":
            return _UNRELATED
