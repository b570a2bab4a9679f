"""Notes on how a recall went, as values. `tacit.app.reasons` puts them into words."""

from __future__ import annotations

from enum import StrEnum

from tacit.frozen import frozen


class NoteCause(StrEnum):
    """What a stage or the reading of a signal noted. What the fields of `Note` hold is said beside each cause."""

    SURFACE = "surface"
    """`detail`: the surface."""
    PROPOSAL_READ = "proposal_read"
    SHORT_PROMPT_ENRICHED = "short_prompt_enriched"
    NOTHING_ASKED = "nothing_asked"
    SPACE_ASKED = "space_asked"
    """`detail`: the space; `count`: its hits; `took_ms`: its time."""
    KINDS_ASKED = "kinds_asked"
    """`detail`: the kinds that the spaces were asked for."""
    LISTED = "listed"
    """`detail`: the list; `count`: memories taken from it; `of`: memories in it, where more are than were taken."""
    ORDERED_BY_NEED = "ordered_by_need"
    WHOLE_STORE = "whole_store"
    """A start pack holds all memories; `count`: how many."""
    INDEXED = "indexed"
    """`count`: lines of the index; `of`: memories that it is made of."""
    SHORTENED = "shortened"
    """`detail`: id of the memory; `count`: its tokens now; `of`: its tokens before."""
    NO_PERSON = "no_person"
    REFUSED = "refused"
    NOTHING_PROPOSED = "nothing_proposed"
    SMALL_TALK = "small_talk"
    NO_ACTION = "no_action"
    NO_CLEAR_WORDS = "no_clear_words"
    ACCEPTS_PROPOSAL = "accepts_proposal"
    ERROR_PASTED = "error_pasted"
    SAYS = "says"
    """`detail`: words that announce an action."""
    DENIES = "denies"
    """`detail`: words that rule an action out."""
    CALL = "call"
    """`detail`: the tool."""
    COMMAND = "command"
    """`detail`: the command."""
    ARMED = "armed"
    """A model in the pause named memories; `count`: those that still hold; `of`: those it named; `detail`: the model."""
    JUDGED = "judged"
    """A model at the prompt decided; `count`: memories that it named; `of`: memories on its list; `took_ms`; `detail`: the model."""
    JUDGE_LATE = "judge_late"
    """It did not answer in time; `took_ms`: how long the prompt waited. As below, the gate decided."""
    JUDGE_FAILED = "judge_failed"
    """`detail`: why, as a `FailureReason`."""
    JUDGE_PAUSED = "judge_paused"
    """It is not asked for a while after a failure."""
    JUDGE_OVER_BUDGET = "judge_over_budget"
    """The tokens of the day do not suffice."""
    JUDGE_NO_LIST = "judge_no_list"
    """There is no memory that it may choose from."""
    JUDGE_BUSY = "judge_busy"
    """It still answers another prompt."""
    JUDGE_NO_TIME = "judge_no_time"
    """The host does not wait long enough."""
    NOT_READ = "not_read"
    """The embedder does not read the language of the query; `detail`: the language."""
    MEMORIES_NOT_READ = "memories_not_read"
    """It does not read the language of some memories; `detail`: the language; `count`: memories of the list."""


@frozen
class Note:
    """One fact about how a recall went, as a value.

    Attributes:
        cause: of a closed set.
        detail, count, of: see the cause.
        took_ms: milliseconds.
    """

    cause: NoteCause
    detail: str = ""
    count: int = 0
    of: int | None = None
    took_ms: float = 0.0
