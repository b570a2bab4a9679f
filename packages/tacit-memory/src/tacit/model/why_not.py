"""Why a memory is not given: the stage that left it out, the numbers, and what would let it through."""

from __future__ import annotations

from enum import StrEnum

from tacit.frozen import frozen
from tacit.model.evidence import Parts
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.trace import DropReason, SilenceReason


@frozen
class Absence:
    """The stage of a recall that left a memory out, and why. Either `why` or `silence` is set.

    Attributes:
        stage: name of the stage, as in a trace.
        why: why it left out this memory; None = the whole signal got nothing.
        silence: why the whole signal got nothing; None = others could be given.
    """

    stage: str
    why: DropReason | None = None
    silence: SilenceReason | None = None


@frozen
class SpaceRank:
    """The rank and score of one memory in one space.

    Attributes:
        space: its name; `error` and `moment` are the rankings by an exact error and by the moment that a rule names.
        rank: place in its ranking, from 1; None = it does not find the memory, or ranks nothing.
        of: memories that it ranks.
        proposes: how many of the first it proposes; 0 = it only measures.
        score: as it ranks, or else as it measures; None = it says nothing of the memory.
    """

    space: str
    rank: int | None = None
    of: int = 0
    proposes: int = 0
    score: float | None = None


@frozen
class RecallNumbers:
    """What a recall measured of one memory, and the limits that it was held to; None = it was not measured.

    Attributes:
        spaces: what each space says.
        place: place in the order of all candidates, from 1.
        shortlist: how many of the first are judged.
        relevance: as judged, 0-1.
        parts: what adds up to it; () = rules decided.
        threshold: least relevance of the surface.
        tokens: of its line.
        tokens_left: of the budget, when its turn came.
        budget_tokens: of the whole block.
    """

    spaces: tuple[SpaceRank, ...] = ()
    place: int | None = None
    shortlist: int = 0
    relevance: float | None = None
    parts: Parts = ()
    threshold: float = 0.0
    tokens: int | None = None
    tokens_left: int | None = None
    budget_tokens: int = 0


class RemedyKind(StrEnum):
    """What a step changes. What `value` of `RemedyStep` holds is said beside each."""

    ACCEPT = "accept"
    """The memory is confirmed in review."""
    CONFIRM = "confirm"
    """The memory is edited by the user, who thereby vouches for it."""
    SCOPE = "scope"
    """`value`: the new scope."""
    SENSITIVITY = "sensitivity"
    """`value`: the new level."""
    ALL_BRANCHES = "all_branches"
    WHEN = "when"
    """`value`: the new words for when it applies."""
    PIN = "pin"
    NEW_SESSION = "new_session"
    """The context no longer holds the memory."""
    UNMUTE = "unmute"
    OPT_IN = "opt_in"
    """The prompt without the token in `value`."""


@frozen
class RemedyStep:
    """One change of a remedy. What `value` holds is said beside each `RemedyKind`."""

    kind: RemedyKind
    value: str = ""


@frozen
class Remedy:
    """Changes that together let the memory through: the recall was run again with them, and the memory was given.

    Attributes:
        steps: the changes.
        others: how many of the last recalls of this surface it would have come with, too.
        of: how many of them were run again; 0 = none, because the changes leave the memory as it is.
    """

    steps: tuple[RemedyStep, ...]
    others: int = 0
    of: int = 0

    @property
    def safe(self) -> bool:
        """Whether the remedy may be offered: of the other recalls that were run again, at most one in ten would have given the memory too (two are always allowed)."""
        return self.others <= max(2, self.of // 10)


@frozen
class WhyNot:
    """Why one recall does or does not give one memory, and what would change that.

    Attributes:
        memory: the memory.
        surface, preset: of the recall.
        given: whether the recall gives the memory.
        absence: the first stage that leaves it out; None where it is given.
        numbers: what was measured.
        remedies: what would let it through, the one that lets through least besides first; each was tried.
        unsafe: of those that were left out, because they let it through too often, the one that does so least; None = there is none.
        untried: whether no change of the memory itself was tried, because its scope holds too many memories to copy.
        recorded: of a recorded recall, what its record says of the memory: that it was given, or the absence; None = not in the record.
        recorded_given: whether the recorded recall gave it; None = no recorded recall was asked about.
    """

    memory: Memory
    surface: Surface
    preset: str
    given: bool
    absence: Absence | None = None
    numbers: RecallNumbers = RecallNumbers()
    remedies: tuple[Remedy, ...] = ()
    unsafe: Remedy | None = None
    untried: bool = False
    recorded: Absence | None = None
    recorded_given: bool | None = None
