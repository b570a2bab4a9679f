"""The query that a signal becomes."""

from __future__ import annotations

from dataclasses import field

from tacit.frozen import frozen
from tacit.model.memory import Entity, Memory
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter
from tacit.model.signal import ToolCall
from tacit.model.trace import DropCause, DropReason
from tacit.model.trigger import Situation


@frozen
class BranchView:
    """The git branches at hand (`names`), and the ids of memories that memories of these branches replace there (`replaced`).

    Of the memories bound to branches, only those of `names` may appear unasked; memories in `replaced` may not.
    """

    names: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()


NO_BRANCH = BranchView()
"""No branch at hand: no memory that is bound to a branch appears unasked."""


@frozen
class Query:
    """The query of a recall: everything that the spaces need to find candidates.

    Attributes:
        surface: which surface asks.
        text: the words to compare with (prompt, command, error, task), possibly enriched for short follow-ups.
        raw_text: the words as they came.
        situation: what is about to happen.
        scope: what may be seen; required, enforced in the query of every space.
        entities: what the words and recent files name.
        files: paths at hand, relative to the project root.
        kinds: names of the kinds that are searched; None = any.
        most: most memories that are given; None = as many as fit.
        error_signature: normalized signature of a failure, or empty.
        at_ms: the moment it is asked for; nothing later may be read.
        budget_tokens: most that may be handed over.
        own_budget: that budget is the surface's own, less what else the block says; no caller named it.
        session: `host/id` the query belongs to, or empty where no session is known.
        by_user: the user asks by hand, and no agent reads the answer by itself.
        about_past: it asks for what held once, so what has ended may answer it.
        task: parent task type of the most probable action, or empty.
        tool: host-neutral name of the tool that is called, or empty.
        call: the tool call that is asked for, or None.
        turn: of the session, from 1; 0 = on demand.
        branches: the branches whose memories may appear unasked; None = all branches.
        moments: keys under which the rules are found that name this moment in their own words.
        finished: the tool call is done; what follows it is asked for as well.
        goal: reading of the prompt that led to this tool call, or None.
        matching: fitted numbers of the intent score other than those that ship, for evaluation; None = what ships.
        suffix_tokens: tokens that each line of the answer costs beside what its layout writes.
    """

    surface: Surface
    text: str
    raw_text: str
    situation: Situation
    scope: ScopeFilter
    at_ms: int
    budget_tokens: int
    own_budget: bool = False
    entities: tuple[Entity, ...] = ()
    files: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    most: int | None = None
    error_signature: str = ""
    session: str = ""
    by_user: bool = False
    about_past: bool = False
    task: str = ""
    tool: str = ""
    call: ToolCall | None = None
    turn: int = 0
    moments: tuple[Entity, ...] = ()
    branches: BranchView | None = NO_BRANCH
    finished: bool = False
    goal: Situation | None = None
    suffix_tokens: int = 0
    matching: object | None = field(default=None, repr=False, compare=False)

    def why_elsewhere(self, memory: Memory) -> DropReason | None:
        """Return why `memory` must not appear on the branch at hand; None = it may. On demand, the memories of every branch may."""
        if self.branches is None or self.surface is Surface.ON_DEMAND:
            return None
        if memory.branch is not None and memory.branch.name not in self.branches.names:
            return DropReason(cause=DropCause.OTHER_BRANCH, detail=memory.branch.name)
        if memory.branch is None and memory.id in self.branches.replaced:
            return DropReason(cause=DropCause.REPLACED_ON_BRANCH)
        return None
