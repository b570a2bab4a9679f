"""What names its moment in its own words: certain at that moment, not weighed. Part of stage 5. Pure.

In: a query and a candidate. Out: of a rule relevance 1 at the call that the words name, and, for what they forbid, already at the
prompt that orders it and at the call that mostly comes right before; 0 at every other call. Of a known failure relevance 1 before
the very command that it opens with runs again, 0 at every other command. None where the words name no moment.
"""

from __future__ import annotations

from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.reading.moments.calls import CallFacts, acts_of_keys, fit_of, is_asked, read_call_facts
from tacit.reading.moments.failures import failing_commands, runs_again
from tacit.reading.moments.moment import Moment
from tacit.reading.moments.rules import read_moments
from tacit.recall.stage import MOMENT, Judgment


def judge_moment(query: Query, candidate: Candidate, kind: Kind) -> Judgment | None:
    """Relevance by the moments that the memory's words name; None where they decide nothing."""
    memory = candidate.memory
    if query.surface is Surface.SUBAGENT and kind.standing and memory.trigger.always and memory.pinned:
        return 1.0, ("always, and pinned",)
    if kind.explains_errors:
        return _judge_failure(query, memory)
    if kind.episodic or memory.trigger.always:
        return None
    if query.surface in (Surface.PROMPT, Surface.SUBAGENT):
        acts = acts_of_keys(query.moments)
        # Most prompts order no act: then the words need not be parsed.
        act_ordered = bool(acts) and any(is_asked(moment, acts) for moment in _moments_of(memory, kind))
        return (1.0, (MOMENT,)) if act_ordered else None
    if query.surface is Surface.ACTION and query.call is not None:
        return _judge_call(read_call_facts(query.call), memory, _moments_of(memory, kind))
    return None


def _moments_of(memory: Memory, kind: Kind) -> list[Moment]:
    """The moments that count: how something is done is an order only where the statement is a rule."""
    is_rule = kind.standing and not kind.is_result
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
    call = query.call if query.surface is Surface.ACTION else None
    if not failing or call is None or not call.command or (memory.error_signature and memory.files):
        return None
    if not query.finished and runs_again(failing, call.command):
        return 1.0, (MOMENT,)
    return (0.0, ()) if memory.trigger.maker == "local" else None
