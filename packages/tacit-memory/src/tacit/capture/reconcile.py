"""The change for a captured statement, given the stored ones. In: a prepared memory and its neighbors.

Out: one change with its reason. Of the relation of two statements only what is said in so many words is certain: they are the same,
or one ends the other (`tacit.statements`). Pure but for `rejected_changes`, which reads the store: no I/O, no clock, no randomness. Never lets a lower trust tier replace a higher
one, and never lets an older statement replace a newer one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Literal

from tacit.capture.prepare import entities_of_memory
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason, join_reasons
from tacit.model.changes import Add, Change, Contradict, Merge, Rewrite, Skip, Supersede
from tacit.model.kinds import BUILTIN_KINDS, KindRegistry
from tacit.model.memory import AGENT_SOURCES, LearnedOn, Memory, Sensitivity, TrustTier
from tacit.model.trigger import MAKER_RANK, Trigger
from tacit.ports.store import ValueChanges, ValueName, ValueStore
from tacit.safety.trust import may_rank, most_sensitive, why_not_supersede
from tacit.state.registry import REJECTED
from tacit.statements.replaces import Replacement, replaces
from tacit.statements.same import same_statement, says_with_more
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import PATH_WORD

# --- the relation of two statements

Relation = Literal["same", "conflict", "unsure", "apart"]
_SHOWN = 4
_WHY: dict[Replacement, ChangeCause] = {
    "denies": ChangeCause.DENIES,
    "replaces": ChangeCause.REPLACES,
    "gives_other_value": ChangeCause.GIVES_OTHER_VALUE,
}


@frozen
class Judgment:
    """How the new statement relates to one stored statement.

    Attributes:
        relation: `same` and `conflict` are certain by the words, or decided by the writer; `unsure` = the writer says that
            both may not hold together, which a person decides; `apart` = neither.
        why: the cause to record for a change that rests on this; None = no change does.
        detail: how the two differ, for people; may be empty.
    """

    relation: Relation
    why: ChangeCause | None = None
    detail: str = ""


Judge = Callable[[str, str, bool], Judgment]
"""(new words, stored words, whether the new ones were said as a correction) -> how the two relate."""


def judge_by_words(new: str, old: str, correction: bool) -> Judgment:
    """Return how two statements relate, as far as their words alone make it certain."""
    if same_statement(new, old):
        return Judgment(relation="same", why=ChangeCause.SAYS_SAME)
    found = replaces(new, old, correction=correction)
    if found is None:
        return Judgment(relation="apart")
    return Judgment(relation="conflict", why=_WHY[found], detail=_difference(new, old))


def _difference(new: str, old: str) -> str:
    """Return what one text says and the other does not, for people: `8080 -> 9090`, `adds Redis`, `lacks Redis`."""
    mine, theirs = _words(new), _words(old)
    come = " ".join([word for key, word in mine.items() if key not in theirs][:_SHOWN])
    gone = " ".join([word for key, word in theirs.items() if key not in mine][:_SHOWN])
    both = " ".join([word for key, word in mine.items() if key in theirs][:_SHOWN])
    if gone and come:
        difference = f"{gone} -> {come}"
    else:
        difference = f"adds {come}" if come else f"lacks {gone}" if gone else ""
    return f"{difference}; both on {both}" if difference and both else difference


def _words(text: str) -> dict[str, str]:
    found = ((word.casefold(), word) for word in PATH_WORD.findall(text))
    return {key: word for key, word in found if key not in STATEMENT_STOP_WORDS}


# --- the change

MAX_EVIDENCE = 8
MAX_FILES = 200
"""Most files that a memory collects; repetitions add no more."""
MERGE_IMPORTANCE = 0.1
"""Importance that a repeated statement gains; source: the typed seed, section 4.3 (+0.1 on the scale 0-1)."""
REPEAT_WINDOW_MS = 60_000
"""The same words by the same hand within this time count as one statement: a retry or a double keystroke."""
_HEARD = "session"
"""Provenance source of what capture finds in sessions; the files it names are incidental."""


@frozen
class Neighbor:
    """A stored memory near the new statement; `cosine` = similarity of their vectors, 0 = unknown."""

    memory: Memory
    cosine: float = 0.0


def reconcile(
    memory: Memory,
    neighbors: Sequence[Neighbor],
    *,
    judge: Judge = judge_by_words,
    kinds: KindRegistry = BUILTIN_KINDS,
    counted: Collection[str] = (),
) -> Change:
    """Return the change for the new statement `memory`, given its stored neighbors. Writes nothing.

    The first rule that applies decides: a neighbor says the same (Merge, or Skip if the same utterance is
    read again and adds nothing); `memory` ends one or more by its words (Supersede; Contradict if trust or
    time forbid that; an Add that is already over if the neighbor is newer); the writer says that two may not
    both hold (Contradict with one question, about the nearest); else Add. The nearest neighbor comes first;
    ties by id. A statement bound to an unmerged branch is not compared with those of other branches, and ends
    one that holds on all branches only at the merge; see `LearnedOn`. `counted` = ids of the memories that
    the session of `memory` has stated so far.
    """
    ordered = [
        near
        for near in sorted(neighbors, key=lambda n: (-n.cosine, n.memory.id))
        if near.memory.status in ("active", "quarantined")
        and near.memory.id != memory.id
        and _only_session_of(near.memory) == _only_session_of(memory)
        and near.memory.branch_name in ("", memory.branch_name)
    ]
    pairs = _judged(memory, ordered, judge)
    same = [
        (stored, judgment)
        for stored, judgment in pairs
        if judgment.relation == "same" and not _other_error(memory, stored)
    ]
    if same:
        stored, judgment = same[0]
        return _change_for_same(memory, stored, judgment, counted)
    conflicts = [
        (stored, judgment) for stored, judgment in pairs if _conflicts(memory, stored, judgment, kinds)
    ]
    conflicts = _certain(conflicts)
    if memory.branch is not None:
        memory, conflicts = _until_merged(memory, memory.branch, conflicts)
    return _change_for_conflicts(memory, conflicts) if conflicts else Add(memory=memory)


def _certain(conflicts: list[tuple[Memory, Judgment]]) -> list[tuple[Memory, Judgment]]:
    """Return the conflicts without those by another value where a branch has several such values: which of them ended is then unclear."""
    values = Counter(
        stored.branch_name for stored, one in conflicts if one.why is ChangeCause.GIVES_OTHER_VALUE
    )
    return [
        (stored, one)
        for stored, one in conflicts
        if one.why is not ChangeCause.GIVES_OTHER_VALUE or values[stored.branch_name] == 1
    ]


def _until_merged(
    memory: Memory, branch: LearnedOn, conflicts: Sequence[tuple[Memory, Judgment]]
) -> tuple[Memory, list[tuple[Memory, Judgment]]]:
    """Split the conflicts of a branch-bound statement into those for the merge and those to decide now.

    Returns the statement with the ids of the memories that it replaces on its branch, and the conflicts
    within the branch, which are decided now. Conflicts with memories that hold on all branches wait for the
    merge; until then both memories stay active.
    """
    replaced = [
        stored.id
        for stored, judgment in conflicts
        if stored.branch is None
        and judgment.relation == "conflict"
        and not _why_a_person_decides(memory, stored)
        and _compare_times(memory, stored) > 0
    ]
    bound = replace(branch, replaces=tuple(dict.fromkeys((*branch.replaces, *replaced))))
    within = [(stored, judgment) for stored, judgment in conflicts if stored.branch is not None]
    return replace(memory, branch=bound), within


def replace_named(
    memory: Memory,
    old_memories: Sequence[Memory],
    *,
    spoken_of: Collection[str],
    holder: Memory | None = None,
    at_ms: int = 0,
) -> tuple[Memory | Change, ...]:
    """Return the changes for `memory`, which is said to replace the stored `old_memories`.

    A returned item that is a `Memory` is still to be reconciled. Old memories of equal or lower trust end, and so do
    those in `spoken_of`. Else, what an agent's note or quotation is said to replace stays and ranks behind it. About
    the rest the user is asked; until then both stay. A statement that is bound to an unmerged branch ends memories that
    hold on all branches only when the branch is merged.

    Args:
        memory: the new statement.
        old_memories: live memories that it is said to replace, at least one.
        spoken_of: ids of the memories that the user's own words end.
        holder: the active memory that says the same already.
        at_ms: now.
    """
    ended: list[Memory] = []
    contested: list[tuple[Memory, ChangeReason]] = []
    behind: list[Change] = []
    stays = holder or memory
    for stored in old_memories:
        against = _why_not_replaced(memory, stored, spoken_of, held=holder is not None)
        if memory.branch is not None and stored.branch_name != memory.branch_name:
            if not against and stored.branch is None:
                bound = replace(memory.branch, replaces=(*memory.branch.replaces, stored.id))
                memory = replace(memory, branch=bound)
            continue
        if against and may_rank(memory, stored, against):
            reason = _settled(memory, stays, held_back_by=against)
            validity = replace(stored.validity, superseded_by=stays.id)
            behind.append(
                Rewrite(memory=replace(stored, validity=validity, updated_at_ms=at_ms), reason=reason)
            )
        elif against:
            contested.append((stored, against))
        elif holder is not None:
            behind.append(
                Rewrite(memory=stored.ended_by(holder.id, at_ms=at_ms), reason=_settled(memory, stays))
            )
        else:
            ended.append(stored)
    if holder is not None:
        if holder.ranks_behind:
            raised = replace(holder.leading(), updated_at_ms=at_ms)
            return Rewrite(memory=raised, reason=_settled(memory, holder)), *behind
        return memory, *behind
    if not ended and not contested:
        return Add(memory=memory, reason=_said_to_replace(old_memories)), *behind
    questions = tuple(_said_to_replace([stored], held_back_by=against) for stored, against in contested)
    if ended:
        return Supersede(
            memory=memory,
            old_id=ended[0].id,
            at_ms=memory.validity.valid_from_ms,
            reason=join_reasons((_said_to_replace(ended), *questions)),
            further=tuple(stored.id for stored in ended[1:]),
            contested=tuple(stored.id for stored, _ in contested),
        ), *behind
    (first, _), *more = contested
    return Contradict(
        memory=memory,
        other_id=first.id,
        reason=join_reasons(questions),
        further=tuple(stored.id for stored, _ in more),
    ), *behind


def _settled(memory: Memory, holds: Memory, *, held_back_by: ChangeReason | None = None) -> ChangeReason:
    if not memory.provenance.by_agent:
        return ChangeReason(cause=ChangeCause.REPLACED_BY, memory_ids=(holds.id,))
    terms = (memory.session,) if memory.session else ()
    return ChangeReason(cause=ChangeCause.SETTLED, memory_ids=(holds.id,), terms=terms, but=held_back_by)


def with_copies_ended(change: Change, neighbors: Sequence[Neighbor]) -> Change:
    """Return `change`; a `Supersede` then also ends the neighbors that say the same as its memory, or a part of it in the same session."""
    if not isinstance(change, Supersede):
        return change
    memory, ended = change.memory, {change.memory.id, change.old_id, *change.further}
    copies = [
        stored.id
        for stored in (neighbor.memory for neighbor in neighbors)
        if stored.id not in ended
        and stored.scope == memory.scope
        and stored.branch_name == memory.branch_name
        and (same_statement(memory.content, stored.content) or _says_with_more(memory, stored))
        and not _why_a_person_decides(memory, stored)
    ]
    return replace(change, further=(*change.further, *copies)) if copies else change


def _said_to_replace(
    old_memories: Sequence[Memory], *, held_back_by: ChangeReason | None = None
) -> ChangeReason:
    ids = tuple(stored.id for stored in old_memories)
    return ChangeReason(cause=ChangeCause.SAID_TO_REPLACE, memory_ids=ids, but=held_back_by)


def _why_not_replaced(
    memory: Memory, stored: Memory, spoken_of: Collection[str], *, held: bool
) -> ChangeReason | None:
    """Return why `memory` may not end `stored`, which it is said to replace; None = it may.

    `spoken_of` = ids of the memories that the user's own words end: trust is not weighed for these. `held` = an active memory says
    the same as `memory` already.
    """
    if memory.provenance.source in AGENT_SOURCES and stored.scope != memory.scope:
        return ChangeReason(cause=ChangeCause.HOLDS_ELSEWHERE)
    if memory.status == "quarantined" and stored.status == "active" and not held:
        return ChangeReason(cause=ChangeCause.UNCONFIRMED)
    if stored.id in spoken_of:
        return None
    if lower := why_not_supersede(memory.provenance.tier, stored.provenance.tier):
        return lower
    if memory.provenance.vouched and stored.provenance.tier >= TrustTier.TEAMMATE:
        return ChangeReason(cause=ChangeCause.NOT_SPOKEN_OF)
    return None


def _only_session_of(memory: Memory) -> str:
    """Return `host/id` of the only session in which a statement may appear; "" = its sensitivity limits it to none."""
    return memory.session if memory.sensitivity is Sensitivity.SESSION else ""


def _judged(memory: Memory, neighbors: Sequence[Neighbor], judge: Judge) -> list[tuple[Memory, Judgment]]:
    """Return (stored memory, how the new statement relates to it) for each neighbor; where the stored one was said later, it is compared as the newer one."""
    # What an agent quotes the user for is looked at as closely as a correction: it must not stand beside what they said otherwise.
    correction = memory.kind == "correction" or memory.provenance.vouched
    return [
        (
            stored,
            Judgment(relation="conflict", why=ChangeCause.REPLACES)
            if _says_with_more(memory, stored)
            else Judgment(relation="same", why=ChangeCause.SAYS_SAME)
            if _says_with_more(stored, memory)
            else judge(memory.content, stored.content, correction)
            if _compare_times(memory, stored) >= 0
            else judge(stored.content, memory.content, stored.kind == "correction"),
        )
        for stored in (neighbor.memory for neighbor in neighbors)
    ]


def _says_with_more(memory: Memory, stored: Memory) -> bool:
    """Whether `memory` is the longer version of `stored`, said in the same session."""
    mine, theirs = memory.provenance, stored.provenance
    together = mine.session_id and (mine.host, mine.session_id) == (theirs.host, theirs.session_id)
    return bool(together) and says_with_more(memory.content, stored.content)


def _change_for_same(memory: Memory, stored: Memory, judgment: Judgment, counted: Collection[str]) -> Change:
    """Return the change for a statement that says the same as `stored`: a merge that counts it once more.

    Words that were already counted only add what is missing (pin, files, trigger, better wording), else the
    change is a `Skip`.

    Of the two wordings the later one of equal or higher trust stays.
    """
    completed = _with_what_is_given(memory, stored)
    if memory.provenance.tier is TrustTier.USER:
        completed = completed.leading()  # they say it again
    if (
        _compare_times(memory, stored) >= 0
        and _may_word(memory, stored)
        and not _says_with_more(stored, memory)
    ):
        headline = memory.headline or (stored.headline if memory.content == stored.content else "")
        completed = replace(completed, content=memory.content, headline=headline)
    if _promotes(memory, stored):
        return Merge(
            memory=_promoted(memory, completed),
            reason=ChangeReason(cause=ChangeCause.CONFIRMED_BY_WORDS, memory_ids=(stored.id,)),
        )
    repeated = _why_repeated(memory, stored, counted)
    proofs = max(stored.proofs, memory.proofs) if repeated else stored.proofs + memory.proofs
    completed = replace(completed, proofs=proofs)
    if repeated and completed == stored:
        return Skip(content=memory.content, reason=repeated, memory=stored)
    completed = replace(completed, updated_at_ms=max(stored.updated_at_ms, memory.updated_at_ms))
    if repeated:
        return Merge(memory=completed, reason=repeated)
    mine, theirs = memory.provenance, stored.provenance
    evidence = stored.evidence
    further = (words for words in (mine.span, *memory.evidence) if words and words != theirs.span)
    evidence = tuple(dict.fromkeys((*evidence, *further)))[-MAX_EVIDENCE:]
    merged = replace(
        completed,
        frequency=stored.frequency + 1,
        importance=min(1.0, max(stored.importance, memory.importance) + MERGE_IMPORTANCE),
        confidence=max(stored.confidence, memory.confidence),
        sensitivity=_merged_level(memory, stored),
        evidence=evidence,
        provenance=replace(theirs, tier=max(theirs.tier, mine.tier)),
        status="active" if "active" in (stored.status, memory.status) else stored.status,
    )
    return Merge(memory=merged, reason=_conflict_reason(stored, judgment))


def _may_word(memory: Memory, stored: Memory) -> bool:
    """Whether the words of `memory` may replace those of `stored`: at least as trusted, and not waiting for review."""
    mine, theirs = memory.provenance, stored.provenance
    return mine.tier >= theirs.tier and mine.vouched <= theirs.vouched and memory.status == "active"


def _merged_level(memory: Memory, stored: Memory) -> Sensitivity:
    """Return the stricter of both sensitivities; a less trusted statement does not change that of `stored`."""
    if memory.provenance.tier < stored.provenance.tier:
        return stored.sensitivity
    return most_sensitive(stored.sensitivity, memory.sensitivity)


def _promotes(memory: Memory, stored: Memory) -> bool:
    """Whether `memory` confirms `stored`: the user says it now, or a proof accepts what waited."""
    if memory.status != "active":
        return False
    waited = stored.status == "quarantined"
    if memory.proven:
        return waited and stored.provenance.tier <= memory.provenance.tier
    return memory.provenance.tier is TrustTier.USER and (waited or stored.provenance.tier < TrustTier.USER)


def _promoted(memory: Memory, stored: Memory) -> Memory:
    """Return `memory` in the place of `stored`: the user's own words and trust, with the history of the stored one."""
    theirs = stored.provenance
    spans = (
        (*stored.evidence, theirs.span)
        if theirs.span not in ("", memory.provenance.span)
        else stored.evidence
    )
    return replace(
        memory,
        id=stored.id,
        created_at_ms=stored.created_at_ms,
        validity=replace(stored.validity, valid_to_ms=None, superseded_by=None),
        frequency=stored.frequency + 1,
        use_count=stored.use_count,
        shown_count=stored.shown_count,
        importance=max(stored.importance, memory.importance),
        sensitivity=_merged_level(stored, memory),
        evidence=spans[-MAX_EVIDENCE:],
        kind=stored.kind if stored.error_signature else memory.kind,
        error_signature=stored.error_signature,
        branch=stored.branch,
    )


def _why_repeated(memory: Memory, stored: Memory, counted: Collection[str]) -> ChangeReason | None:
    """Return why these words do not count as a further statement: read again, or said twice; None = they count."""
    mine, theirs = memory.provenance, stored.provenance
    spans = {theirs.span, *stored.evidence}
    if mine.session_id:
        # Its origin says who stated a memory first; which sessions stated it since, their own records say.
        counted_already = stored.id in counted
        if mine.span in spans and (counted_already or mine.session_id == theirs.session_id):
            return ChangeReason(cause=ChangeCause.CAPTURED_ALREADY, memory_ids=(stored.id,))
        same = counted_already or (mine.host, mine.session_id) == (theirs.host, theirs.session_id)
        return ChangeReason(cause=ChangeCause.SAID_BEFORE, memory_ids=(stored.id,)) if same else None
    # A person who says it once more means it; a file and an agent say the same words again whenever they are asked.
    by_hand = mine.tier is TrustTier.USER and not mine.host
    later = memory.updated_at_ms - stored.updated_at_ms >= REPEAT_WINDOW_MS
    same = mine.source == theirs.source and mine.span == theirs.span
    if not same or (by_hand and later):
        return None
    return ChangeReason(cause=ChangeCause.STORED_ALREADY, memory_ids=(stored.id,))


def _with_what_is_given(memory: Memory, stored: Memory) -> Memory:
    """Return `stored` with pin, files and trigger of `memory`, as far as that is trusted as much."""
    if memory.provenance.tier < stored.provenance.tier:
        return replace(stored, trigger=memory.trigger if stored.trigger.empty else stored.trigger)
    files = stored.files
    if memory.provenance.source != _HEARD:
        files = tuple(dict.fromkeys((*files, *memory.files)))[: max(MAX_FILES, len(files))]
    return replace(
        stored,
        pinned=stored.pinned or memory.pinned,
        trigger=_better(memory.trigger, stored.trigger),
        files=files,
        entities=stored.entities
        if files == stored.files
        else entities_of_memory(stored.content, files=files),
    )


def _better(mine: Trigger, theirs: Trigger) -> Trigger:
    """Return the trigger of the higher-ranked maker; of two made from words, the stored one unless it is empty."""
    if MAKER_RANK[mine.maker] < MAKER_RANK[theirs.maker]:
        return theirs
    return mine if MAKER_RANK[mine.maker] > 0 or theirs.empty else theirs


def _other_error(memory: Memory, stored: Memory) -> bool:
    """Whether `memory` is about an error that `stored` does not name: each error keeps its own fix.

    Merged into a statement without an error, the fix would no longer be found by its error.
    """
    mine, theirs = memory.error_signature, stored.error_signature
    return bool(mine) and mine != theirs


def _conflicts(memory: Memory, stored: Memory, judgment: Judgment, kinds: KindRegistry) -> bool:
    """Whether a judged pair conflicts: same scope, stored one active, not two errors, kinds that can conflict.

    An "unsure" judgment does not count against what was only read off a file.
    """
    if (
        judgment.relation not in ("conflict", "unsure")
        or stored.scope != memory.scope
        or stored.status != "active"
        or _other_error(memory, stored)
    ):
        return False
    lower = stored.provenance.tier is TrustTier.IMPORT and memory.provenance.tier > TrustTier.IMPORT
    if judgment.relation == "unsure" and lower:
        return False  # it was read off a file, for answers on demand: nobody is asked about it
    natures = (kinds.of_stored(memory.kind), kinds.of_stored(stored.kind))
    if judgment.why is ChangeCause.GIVES_OTHER_VALUE:
        return not any(kind.separate or kind.episodic for kind in natures)
    return True


def _conflict_reason(
    stored: Memory, judgment: Judgment, *, held_back_by: ChangeReason | None = None
) -> ChangeReason:
    """Return the reason for a change caused by a conflict with `stored`.

    `held_back_by` = a second reason, why the change did not go further; None = it did.
    """
    cause = judgment.why or ChangeCause.CONTRADICTS
    return ChangeReason(cause=cause, memory_ids=(stored.id,), detail=judgment.detail, but=held_back_by)


def _change_for_conflicts(memory: Memory, conflicts: Sequence[tuple[Memory, Judgment]]) -> Change:
    """Return the change for `memory`, which contradicts stored statements: Supersede, Contradict or Add."""
    ended: list[tuple[str, ChangeReason]] = []
    contested: list[tuple[str, ChangeReason]] = []
    ask = False
    for stored, judgment in conflicts:
        against = _why_a_person_decides(memory, stored)
        reason_of = _conflict_reason(stored, judgment, held_back_by=against)
        if judgment.relation == "unsure":
            if ask:
                continue  # one question is enough
            ask = True
            contested.append((stored.id, replace(reason_of, detail="")))
            continue
        if not against and _compare_times(memory, stored) < 0:
            past = replace(
                memory.validity, valid_to_ms=stored.validity.valid_from_ms, superseded_by=stored.id
            )
            over = replace(memory, validity=past, status="superseded")
            return Add(memory=over, reason=ChangeReason(cause=ChangeCause.OLDER, memory_ids=(stored.id,)))
        if against:
            contested.append((stored.id, reason_of))
        else:
            ended.append((stored.id, reason_of))
    if ended:
        (old_id, reason), *more = ended
        return Supersede(
            memory=memory,
            old_id=old_id,
            at_ms=memory.validity.valid_from_ms,
            reason=join_reasons((reason, *(why for _, why in (*more, *contested)))),
            further=tuple(name for name, _ in more),
            contested=tuple(name for name, _ in contested),
        )
    if contested:
        (other_id, reason), *more = contested
        return Contradict(
            memory=memory,
            other_id=other_id,
            reason=join_reasons((reason, *(why for _, why in more))),
            further=tuple(name for name, _ in more),
        )
    return Add(memory=memory)


def _why_a_person_decides(memory: Memory, stored: Memory) -> ChangeReason | None:
    """Return why the pair needs a person's decision (trust, review, or unclear order); None = it does not."""
    if lower := why_not_supersede(memory.provenance.tier, stored.provenance.tier):
        return lower
    if memory.status == "quarantined":
        return ChangeReason(cause=ChangeCause.UNCONFIRMED)
    return ChangeReason(cause=ChangeCause.NEITHER_NEWER) if _compare_times(memory, stored) == 0 else None


def _compare_times(memory: Memory, stored: Memory) -> int:
    """Return 1 if `memory` was said later than `stored`, -1 if earlier, 0 if that is unknown.

    An undated statement counts as said before it was stored.
    """
    since, until = memory.validity.valid_from_ms, stored.validity.valid_from_ms
    if since and until and since != until:
        return 1 if since > until else -1
    if since and not until:
        return int(since > stored.created_at_ms)
    mine, theirs = memory.provenance, stored.provenance
    later = (mine.host, mine.session_id) == (theirs.host, theirs.session_id) and mine.turn > theirs.turn
    return int(bool(since and until and later))


# --- rejected statements


def rejected_changes(store: ValueStore, *, add: Sequence[Memory], drop: Sequence[Memory]) -> ValueChanges:
    """Return the named values that add `add` to the statements that the user rejected, and remove `drop`; {} = no change. Writes nothing.

    Capture turns away what repeats a rejected statement of its scope, unless the user states it explicitly.
    """
    values: dict[ValueName, str | None] = {}
    for scope in dict.fromkeys(memory.scope for memory in (*add, *drop)):
        texts = REJECTED.read(store, scope)
        added = (memory.content for memory in add if memory.scope == scope)
        out = {memory.content for memory in (*add, *drop) if memory.scope == scope}
        remaining = (*(text for text in texts if text not in out), *added)
        if remaining != texts:
            values |= REJECTED.change(remaining, scope)
    return values


def repeated_in(rejected: Sequence[str], content: str) -> str:
    """Return the statement in `rejected` that `content` repeats, ignoring case; "" = none."""
    words = content.casefold()
    return next((text for text in rejected if same_statement(text.casefold(), words)), "")
