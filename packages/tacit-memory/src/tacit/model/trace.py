"""Every stage's keeps and drops with reasons. `why`, the page, evaluation and tests read this same object."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from tacit.frozen import frozen
from tacit.model.evidence import Parts
from tacit.model.note import Note
from tacit.model.pack import Surface
from tacit.model.trigger import Situation

STAGES: tuple[str, ...] = (
    "signal", "query", "retrieve", "fuse", "score", "guard", "dedupe", "budget", "render", "deliver",
)  # fmt: skip


class SilenceCause(StrEnum):
    """Why a recall handed nothing over, as statistics count it. See `SilenceReason` for the fields beside it."""

    OFF = "off"
    OFF_IN_PRESET = "off_in_preset"
    """`detail`: the surface."""
    SHADOW = "shadow"
    MUTED = "muted"
    OPTED_OUT = "opted_out"
    """`detail`: the token in the prompt."""
    COMPARISON = "comparison"
    NOT_ASKED = "not_asked"
    """`not_asked`: what kind of signal asks for nothing."""
    CONTEXT_FULL = "context_full"
    """`bound`: most memories that a session may hold."""
    NOTHING_COMING = "nothing_coming"
    NOTHING_FOUND = "nothing_found"
    NOT_RELEVANT = "not_relevant"
    IN_CONTEXT = "in_context"
    NO_ROOM = "no_room"
    LATE = "late"
    """`detail`: `not_taken` = the answer was made, but its host no longer waited for it."""
    FAILED = "failed"
    """`detail`: name of the exception's class."""


class Decider(StrEnum):
    """Who judged relevance in a recall."""

    LOCAL = "local"
    """The gate, by local evidence alone."""
    ARMED = "armed"
    """The gate, with what a model named in the pause."""
    JUDGE = "judge"
    """A model, at the prompt."""


class NotAsked(StrEnum):
    """Why a signal asks for no memories: its sort, or what it lacks."""

    BEFORE_COMPACTION = "before_compaction"
    MESSAGE_END = "message_end"
    SESSION_END = "session_end"
    MACHINE_PROMPT = "machine_prompt"
    EMPTY_PROMPT = "empty_prompt"
    SHORT_PROMPT = "short_prompt"
    """`bound`: least characters."""
    NO_TARGET = "no_target"
    """A tool call that names no file or command; `detail`: the tool."""
    SEARCHING = "searching"


@frozen
class SilenceReason:
    """Why a recall handed nothing over, as a value. `tacit.app.reasons` puts it into words.

    Attributes:
        cause: of a closed set.
        not_asked: the kind of signal, where the cause is `NOT_ASKED`.
        bound: the limit that was reached.
        detail: see the cause.
    """

    cause: SilenceCause
    not_asked: NotAsked | None = None
    bound: float | None = None
    detail: str = ""


class DropCause(StrEnum):
    """Why a memory was not handed over. What the fields of `DropReason` hold is said beside each cause."""

    NOTHING_COMING = "nothing_coming"
    """The whole signal: no action is coming."""
    NOT_VALID = "not_valid"
    ENDED = "ended"
    """`detail`: superseded or retired."""
    QUARANTINED = "quarantined"
    UNTRUSTED = "untrusted"
    """`detail`: the trust tier and the surface."""
    SENSITIVE = "sensitive"
    """`detail`: the sensitivity."""
    OTHER_BRANCH = "other_branch"
    """It is bound to an unmerged branch, and the work is on another branch; `detail`: the branch of the memory."""
    REPLACED_ON_BRANCH = "replaced_on_branch"
    """A memory of the present branch replaces it there."""
    OWN_DIGEST = "own_digest"
    """The digest of the session that asks."""
    TOO_OLD = "too_old"
    CODE_GONE = "code_gone"
    BELOW_THRESHOLD = "below_threshold"
    """`value`: relevance; `bound`: the threshold."""
    BELOW_IMPORTANCE = "below_importance"
    BELOW_SIMILARITY = "below_similarity"
    """`detail`: the kind that the floor is for, or ""."""
    FAR_BELOW_BEST = "far_below_best"
    """Of an answer; `value`: its score; `bound`: the share of the best one's that it needs."""
    NO_HIT = "no_hit"
    """No space found it."""
    OUT_OF_SCOPE = "out_of_scope"
    """Not visible where the recall was asked; `detail`: its scope. This and the next four are told by `why-not` alone."""
    NOT_FOUND = "not_found"
    """No space proposed it."""
    SHORT_LIST = "short_list"
    """`value`: its place among all that was found; `bound`: how many of the first are judged."""
    NOT_IN_POOL = "not_in_pool"
    """A start pack is chosen from other memories of its scope."""
    OLDER_DIGEST = "older_digest"
    """A start pack holds the newest digest alone."""
    KIND_OFF = "kind_off"
    """Memories of this kind are not handed over unasked; `detail`: the kind."""
    KIND_NOT_FOR_TASK = "kind_not_for_task"
    """`detail`: the kind and the sort of task."""
    KIND_NOT_ASKED = "kind_not_asked"
    """`detail`: the kinds that were asked for, or the kind that was ruled out."""
    SECOND_STAGE = "second_stage"
    """`detail`: the model; `value`: its score; `bound`: its threshold."""
    REPEATED = "repeated"
    """It stands in the list already."""
    IN_CONTEXT = "in_context"
    """`detail`: where the session's context holds it, or ""."""
    COPY = "copy"
    """`detail`: id of the memory that says the same."""
    UNCHANGED = "unchanged"
    """A session that goes on has it as it is."""
    TOO_MANY = "too_many"
    """`bound`: most memories."""
    INDEXED = "indexed"
    """Its headline stands in the index; `detail`: the short id."""
    NO_ROOM = "no_room"
    """`bound`: tokens that were left; `detail`: whose tokens, or "" = those of the block."""
    HOST_CAP = "host_cap"
    """`bound`: most characters that the host takes."""


@frozen
class DropReason:
    """Why a memory was dropped, as a value. `tacit.app.reasons` puts it into words.

    Attributes:
        cause: of a closed set.
        value: what was measured; None = nothing was.
        bound: what it was held against.
        detail: see the cause.
    """

    cause: DropCause
    value: float | None = None
    bound: float | None = None
    detail: str = ""


@frozen
class Drop:
    """A memory that a stage of a recall dropped, with the reason.

    Attributes:
        memory_id: the memory; "" = the whole signal.
        why: the reason.
    """

    memory_id: str
    why: DropReason


@frozen
class Loss:
    """A space or model that gave a stage nothing or only a part, because it was late or failed.

    Attributes:
        source: a space or a second-stage model.
        cause: it was too late, or it failed.
        detail: how far it came, or the text of its error.
    """

    source: str
    cause: Literal["late", "failed"]
    detail: str = ""


@frozen
class StageRecord:
    """What one stage of a recall kept, dropped and noted, and how long it took.

    Attributes:
        stage: its name.
        took_ms: milliseconds.
        kept: ids of memories.
        drops: memories that it let go.
        losses: what it had to do without.
        facts: what it noted.
    """

    stage: str
    took_ms: float
    kept: tuple[str, ...] = ()
    drops: tuple[Drop, ...] = ()
    losses: tuple[Loss, ...] = ()
    facts: tuple[Note, ...] = ()


@frozen
class TracedCandidate:
    """A candidate as the trace keeps it, with a redacted, shortened `content`.

    Of those far from the best only the numbers are kept: `content` is empty, and read from the store when a trace is shown.
    `parts` = what adds up to what the gate judged; () = it did not judge the memory, or the memory was far from the best.
    """

    memory_id: str
    kind: str
    content: str
    scores: tuple[tuple[str, float], ...]
    fused: float
    relevance: float
    reasons: tuple[str, ...] = ()
    parts: Parts = ()


@frozen
class AskedWith:
    """The input of a recall besides its surface: enough to ask the same again.

    Attributes:
        text: the words of the prompt or task.
        previous: end of the agent's message before, which a short answer may accept.
        prompts: the prompts before, newest last.
        tools, files: recent steps and files of the session.
        tool, command, paths, written: of the tool call that is about to run or ran.
        finished: the call has run.
        error: what the call failed with.
        turn: of the session, from 1; 0 = none.
    """

    text: str = ""
    previous: str = ""
    prompts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tool: str = ""
    command: str = ""
    paths: tuple[str, ...] = ()
    written: str = ""
    finished: bool = False
    error: str = ""
    turn: int = 0


@frozen
class Trace:
    """The record of a recall from signal to delivery.

    A field with words of people or files is cleaned before it is stored (`app/redaction.py`), and left out for a program that must not see
    the memory that they are about (`app/visibility.py`).

    Attributes:
        id: `trc_...`.
        session: `host/id`, or empty.
        turn, epoch: in the session's own counting.
        surface: the surface asked for.
        at_ms: when.
        preset: the preset used.
        text: the redacted, shortened words asked with.
        situation: what was read.
        stages: in order, up to where it stopped.
        candidates: all of them, best first.
        injected: memory ids in the block, in order; empty = silence.
        threshold: the gate's threshold on relevance for this surface.
        block: the exact text handed over.
        tokens: size of the block.
        budget_tokens: most it might have had.
        took_ms: from the arrival of the signal to the finished block; the sum of the stages.
        project_id: where it was asked; empty = in no project.
        asked: what it was asked with, redacted; None = nothing but `text`.
        why: why nothing was injected; None = something was.
        decider: who judged relevance; None = nothing was judged.
    """

    id: str
    session: str
    turn: int
    epoch: int
    surface: Surface
    at_ms: int
    preset: str
    text: str
    situation: Situation
    stages: tuple[StageRecord, ...]
    candidates: tuple[TracedCandidate, ...] = ()
    injected: tuple[str, ...] = ()
    threshold: float = 0.0
    block: str = ""
    tokens: int = 0
    budget_tokens: int = 0
    took_ms: float = 0.0
    project_id: str = ""
    asked: AskedWith | None = None
    why: SilenceReason | None = None
    decider: Decider | None = None

    @property
    def candidate_ids(self) -> frozenset[str]:
        """Ids of all candidates."""
        return frozenset(candidate.memory_id for candidate in self.candidates)

    @property
    def silent(self) -> bool:
        """Whether nothing was injected."""
        return self.why is not None

    @property
    def cause(self) -> SilenceCause | None:
        """The cause of `why`; None = something was injected."""
        return self.why.cause if self.why else None
