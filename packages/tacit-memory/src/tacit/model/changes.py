"""Drafts, which capture produces, and changes, which reconciliation decides."""

from __future__ import annotations

from dataclasses import field

from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.kinds import SESSION_NOTES
from tacit.model.memory import LearnedOn, Memory, Provenance, Sensitivity
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.model.trigger import Trigger


@frozen
class Draft:
    """A captured statement before reconciliation. `importance` None = the kind's base importance.

    `confirmed` = the user put exactly this on record, at a terminal or on the page; what is heard in prompts is not.
    `doubtful` = the words may belong to a text that the user only handed over, so that it waits for them.
    `read_off` = it was read off a README, a manifest or the commits of the project: kept for answers on demand, without a question.
    `line` = number of its first line in the file it comes from, 0 elsewhere.
    `evidence` = further verbatim words it rests on.
    `proofs` as of a memory: how often a fix was seen to work.
    `headline` = what an index shows of it, in its writer's words; "" = made from the content.
    `branch` = the unmerged branch that it was said on, or None. Only a memory whose words name that branch is bound to it.
    `at_ms` 0 = now; with `dated` False nobody knows when it was said, and it holds since ever as far as anyone knows.
    """

    content: str
    kind: str
    scope: Scope
    provenance: Provenance
    at_ms: int
    importance: float | None = None
    confidence: float = 1.0
    explicit: bool = False
    trigger: Trigger = field(default_factory=Trigger)
    sensitivity: Sensitivity = Sensitivity.PROJECT
    files: tuple[str, ...] = ()
    error_signature: str = ""
    pinned: bool = False
    dated: bool = True
    confirmed: bool = False
    doubtful: bool = False
    read_off: bool = False
    line: int = 0
    proofs: int = 0
    evidence: tuple[str, ...] = ()
    branch: LearnedOn | None = None
    headline: str = ""


NEW, DUPLICATE, NEWER, CONTRADICTS, EDITED, FORGOTTEN = (
    ChangeReason(cause=cause)
    for cause in (
        ChangeCause.NEW,
        ChangeCause.DUPLICATE,
        ChangeCause.NEWER,
        ChangeCause.CONTRADICTS,
        ChangeCause.EDITED,
        ChangeCause.FORGOTTEN,
    )
)


@frozen
class Add:
    """The decision to store `memory` as a new memory."""

    memory: Memory
    reason: ChangeReason = NEW


@frozen
class Merge:
    """The decision for a draft that says the same as a stored memory: write `memory`, the stored one with raised frequency and added evidence."""

    memory: Memory
    reason: ChangeReason = DUPLICATE


@frozen
class Supersede:
    """The decision to store `memory` in place of the memory `old_id`, which stops holding at `at_ms`.

    `further` are other memories that it replaces with it, `contested` those that it contradicts and may not end.
    """

    memory: Memory
    old_id: str
    at_ms: int
    reason: ChangeReason = NEWER
    further: tuple[str, ...] = ()
    contested: tuple[str, ...] = ()


@frozen
class Contradict:
    """The decision to store `memory` and to mark it for review as a possible contradiction of `other_id` and of each id in `further`."""

    memory: Memory
    other_id: str
    reason: ChangeReason = CONTRADICTS
    further: tuple[str, ...] = ()


@frozen
class Rewrite:
    """The decision to write `memory` as a new version of the stored memory with the same id, changed by the user or by a comparison."""

    memory: Memory
    reason: ChangeReason = EDITED


@frozen
class Retire:
    """The decision to end the memory `memory_id` at `at_ms`: it is no longer recalled, but stays in the history."""

    memory_id: str
    at_ms: int
    reason: ChangeReason = FORGOTTEN


@frozen
class Skip:
    """The decision not to store a draft, with the reason. `memory` = the memory that already says it; None = none does."""

    content: str
    reason: ChangeReason
    memory: Memory | None = None

    @property
    def memory_id(self) -> str:
        """The id of the memory that already says it; "" = none does."""
        return self.memory.id if self.memory is not None else ""


Change = Add | Merge | Supersede | Contradict | Rewrite | Retire | Skip


@frozen
class Removal:
    """What to remove for good: memories, sessions, project records and named values, with everything that is stored about them.

    Attributes:
        memories: ids; with their versions, relations, vectors, and what says that they were handed over.
        sessions: with their records, traces, exposures and transcripts, and with those of all that came of them.
        projects: ids of project records; with their sessions, and the traces of what was asked there.
        values: names of named values.
        notes: kinds of other memories that quote statements: of these alone the texts are cleaned.
    """

    memories: tuple[str, ...] = ()
    sessions: tuple[SessionKey, ...] = ()
    projects: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    notes: tuple[str, ...] = SESSION_NOTES
