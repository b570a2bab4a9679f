"""What names a tool call in its own words. Part of stage 5. Pure.

In: a query of a call and a candidate. Out: of a rule relevance 1 at the call that the words name, and, for what they forbid, already at
the call that mostly comes right before; 0 at every other call. Of a known failure relevance 1 before
the very command that it opens with runs again, 0 at every other command. None where the words name no moment.
What names the very file, folder or command of a call, and no moment, has NAMED_RELEVANCE there.
"""

from __future__ import annotations

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, UNSAID, Kind
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.reading.moments.calls import CallFacts, fit_of, read_call_facts
from tacit.reading.moments.failures import failing_commands, runs_again, warned_of
from tacit.reading.moments.moment import Moment
from tacit.reading.moments.places import named_places, touches
from tacit.reading.moments.rules import read_moments
from tacit.recall.stage import MOMENT, Judgment

NAMED_RELEVANCE = 0.8
"""Of a memory that names the very file, folder or command: below a rule that says when it applies."""


def judge_moment(query: Query, candidate: Candidate, kind: Kind) -> Judgment | None:
    """Relevance by the moments that the memory's words name; None where they decide nothing."""
    memory = candidate.memory
    if kind.explains_errors:
        return _judge_failure(query, memory)
    if kind.episodic or memory.trigger.always or query.call is None:
        return None
    facts = read_call_facts(query.call)
    judged = _judge_call(facts, memory, _moments_of(memory, kind))
    if (judged is None or not judged[0]) and _named_in(memory, facts, finished=query.finished):
        return NAMED_RELEVANCE, ("names the file or command",)
    return judged


def _named_in(memory: Memory, facts: CallFacts, *, finished: bool) -> str:
    """The file, glob, folder or command of a call that the words of a memory name; "" = none. Said after the call, it comes too late."""
    if finished or memory.kind == DIGEST or (memory.trigger.paths and memory.trigger.maker != "local"):
        return ""
    places = named_places(memory.content)
    touched = (*facts.changed, *facts.removed)
    read = facts.read if places.orders else ()
    for patterns, paths in ((places.files, (*touched, *read)), (places.folders, touched)):
        for pattern in patterns:
            if any(touches(pattern, path) for path in paths):
                return pattern
    return next((name for command in facts.commands if (name := warned_of(memory.content, command))), "")


def _moments_of(memory: Memory, kind: Kind) -> list[Moment]:
    """The moments that count: how something is done is an order only where the statement is a rule, or may be one."""
    is_rule = (kind.standing or kind.name == UNSAID) and not kind.is_result
    return [moment for moment in read_moments(memory.content) if is_rule or not moment.way]


def _judge_call(facts: CallFacts, memory: Memory, moments: list[Moment]) -> Judgment | None:
    if any(fit_of(moment, facts) != "no" for moment in moments):
        return 1.0, (MOMENT,)
    return (0.0, ()) if moments and memory.trigger.maker == "local" else None


def _judge_failure(query: Query, memory: Memory) -> Judgment | None:
    """Relevance of a known failure at a command line by the command that it opens with; None where it opens with none.

    What an edit of files repaired fails no more, so that its score decides.
    """
    failing = failing_commands(memory.content)
    call = query.call
    if not failing or call is None or not call.command or (memory.error_signature and memory.files):
        return None
    if not query.finished and runs_again(failing, call.command):
        return 1.0, (MOMENT,)
    return (0.0, ()) if memory.trigger.maker == "local" else None
