"""At a tool call: only what names this command or path, or what a person said applies to it.

In: a query that speaks of a call. Out: its pipeline. Nothing is embedded here, because the trigger decides.

Relevance (own formula; set by hand on calls of projects that nothing is reported on):

    relevance = (what the words name (`judge_by_words`), else action) x (1 - ln(k) / ln(N)), k = candidates of at least HOLDS before, N = memories
               asked, FEW_MEMORIES at least: a command that many memories speak of is the project's subject, and no moment of one of them

    action   = worth x about x meant, x UNMET_CONDITION_FACTOR if the statement is a condition that is not wholly met,
               x FOLLOW_UP_FACTOR if it only says that the action follows another (x ALREADY_FOLLOWED_FACTOR where the very command it names is about
             to run: there is nothing left to say), x ELSEWHERE_FACTOR at other paths or languages
               after a finished edit a rule that says so, and names a certain action, has FOLLOW_UP_FACTOR x worth
    moment   = 1 where a trigger without classes is met at its command, file or tool, else action match, or unspecific match x UNSPECIFIC_ACTION_FACTOR x (0.6 + 0.4 x goal) where the call touches two things it names or the very file
    meant    = moment, where somebody said when; of our own guess NAMED_COMMAND_CERTAINTY + (1 - NAMED_COMMAND_CERTAINTY) x action match where the statement names
               the command, else moment x how often such a guess holds (SURE_*)
    worth    = by kind: what prescribes or warns counts, what only describes counts less

where action match, unspecific match, goal and about are those of `tacit.reading.match`. A look at a file gets only rules about that file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache, partial

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, UNSAID, Kind, KindRegistry
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.trigger import Situation, Trigger, TriggerMaker
from tacit.reading.match import UNSPECIFIC_ACTIONS, CallMatcher, TriggerFit
from tacit.reading.moment import Moment
from tacit.reading.moment_calls import (
    CallFacts,
    failing_commands,
    fit_of,
    read_call_facts,
    runs_again,
    warned_of,
)
from tacit.reading.moment_places import named_places, touches
from tacit.reading.moments import read_moments
from tacit.recall.pipelines import search
from tacit.recall.score import judged, with_armed
from tacit.recall.stage import MOMENT, Judgment, Kit, Outcome, Pipeline, RecallState
from tacit.text.lazy_regex import lazy_regex

STANDING_WORTH, OTHER_WORTH = 1.0, 0.5
EPISODIC_WORTH = 0.3
"""Worth of standing, other and episodic kinds that state no worth of their own."""
UNSPECIFIC_ACTION_FACTOR = 0.75
ELSEWHERE_FACTOR = 0.2
UNMET_CONDITION_FACTOR = 0.7
FOLLOW_UP_FACTOR = 0.6
ALREADY_FOLLOWED_FACTOR = 0.3
"""Factor for a rule that only says "run this after a change", if this very command is about to run: it is being followed."""
MIN_EDIT_PROBABILITY = 0.5
MIN_ACTION_MATCH = 0.66
MIN_TOPIC_MATCH_READING = 0.8
NAMED_CERTAINTY = 0.8
"""How sure a class is that our own trigger maker holds for the first, where the statement names its command: people label 0.84 of such classes
"exactly then" or "often then" (1,098 rules of 19 projects). Where it names none our guess counts nothing."""
HOLDS = 0.5
"""Relevance from which a memory counts as about the call, when rarity is measured."""
FEW_MEMORIES = 20
"""Rarity is measured as if there were at least so many memories."""
NAMED_COMMAND_CERTAINTY = 0.5
"""A class whose command the statement names holds at least so often; by how much our maker weighs it, 0.2 to 0.9, it held
"exactly then" or "often then" in 0.50, 0.68, 0.69, 0.75, 0.92, 1.00 of 70 classes (1,367 statements of 21 projects, each
read by a maker fitted on others; the project of the judged calls is not among them)."""
_CONDITIONAL = lazy_regex(r"(?:if|when|while|whenever|in case|unless)\b", re.IGNORECASE)
_AFTER = lazy_regex(
    r"\b(?:after|following|once)\s+(?:you\s+|having\s+)?(?:any|finish|finished|every|each|all|making|mak\w+|a|an|code|your|the|finishing|editing|changing|modifying|completing|edits?|changes?)\b"
    r"|\b(?:immediately|right) after\b",
    re.IGNORECASE,
)
_EDITS = frozenset({"edit", "write", "multiedit", "patch", "apply_patch", "notebookedit"})
_LOOKS = frozenset({"read", "view", "read_file", "list", "grep", "glob", "ls"})


def action(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a tool call: search by words, names and moments, judge whether each memory is about this very call, guard, pack, render."""
    return search(kit, state, judge=partial(_judge_call_of, kit), by_moment=True, armed_too=True)


def _judge_call_of(kit: Kit, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: each candidate with its relevance at the call, combined with what a model named in the pause."""
    judgments = judge_action(state.query, state.found or (), kinds=state.kinds, among=state.memories_asked)
    return judged(state, with_armed(state, judgments, kit.armed))


@lru_cache(maxsize=16)
def call_matcher_for(situation: Situation, goal: Situation | None) -> CallMatcher:
    """Return the matcher that compares triggers with a tool call; cached, because a recall asks for it once for each memory.

    `goal` = what the prompt that led to the call asks for; None = unknown.
    """
    return CallMatcher(situation, goal)


def action_worth_of(kind: Kind) -> float:
    """Return how much a memory of `kind` is worth at the moment of acting, 0-1."""
    if kind.action_worth is not None:
        return kind.action_worth
    return STANDING_WORTH if kind.standing else EPISODIC_WORTH if kind.episodic else OTHER_WORTH


def judge_action(
    query: Query, candidates: Sequence[Candidate], *, kinds: KindRegistry, among: int
) -> list[Judgment]:
    """Return for each candidate, in the order given, its relevance (0-1) at the tool call of `query`, and the reasons.

    `among` = number of memories in scope; the more candidates are about the call, the lower all relevances.
    """
    judgments: list[Judgment] = []
    for candidate in candidates:
        kind = kinds.of_stored(candidate.memory.kind)
        judgments.append(judge_by_words(query, candidate, kind) or action_relevance(query, candidate, kind))
    holders = sum(relevance >= HOLDS for relevance, _ in judgments)
    rarity = 1.0 - math.log(max(holders, 1)) / math.log(max(among, len(candidates), FEW_MEMORIES))
    return [(round(relevance * rarity, 4), reasons) for relevance, reasons in judgments]


def action_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return the relevance of `candidate` at the tool call of `query` by its trigger, and the reasons; 0 = it does not apply."""
    memory = candidate.memory
    if query.finished and (after := follow_up_relevance(query, candidate, kind)):
        return after, ("follows an edit",)
    commands = tuple(entity.key for entity in memory.entities if entity.kind == "command")
    fit = call_matcher_for(query.situation, query.goal).fit(
        memory.trigger, files=memory.files, commands=commands, said=memory.content
    )
    looks = query.tool in _LOOKS
    moment = _action_match(fit, looks=looks) if kind.standing or not looks else 0.0
    if memory.trigger.places_only and not looks and _meets_places(query, memory.trigger, fit):
        moment = 1.0
    if not moment:
        return 0.0, ()
    value = action_worth_of(kind) * fit.about * _trigger_certainty(memory.trigger.maker, fit, moment)
    if fit.about < 1.0 and _CONDITIONAL.match(memory.content):
        value *= UNMET_CONDITION_FACTOR
    if is_follow_up_rule(memory.content) and fit.action_match:
        value *= ALREADY_FOLLOWED_FACTOR if fit.named else FOLLOW_UP_FACTOR
    if fit.elsewhere:
        value *= ELSEWHERE_FACTOR
    return min(value, 1.0), fit.reasons


def _trigger_certainty(maker: TriggerMaker, fit: TriggerFit, moment: float) -> float:
    """Return how likely it is that the trigger means this moment: `moment` itself, or less for a trigger that was only guessed.

    Where the statement names the very command, the maker's weight adds to what the words prove already; to multiply both
    would doubt the same thing twice.
    """
    if maker != "local":
        return moment
    if fit.named and fit.action_match:
        return NAMED_COMMAND_CERTAINTY + (1.0 - NAMED_COMMAND_CERTAINTY) * fit.action_match
    return moment * NAMED_CERTAINTY if fit.named or fit.file else 0.0


def is_follow_up_rule(statement: str) -> bool:
    """Whether a rule speaks of what is to be done after a change ("lint after every change"), not of how it is done."""
    return bool(_AFTER.search(statement))


def follow_up_relevance(query: Query, candidate: Candidate, kind: Kind) -> float:
    """Return the relevance, after a finished edit, of a rule about what to do after edits; 0 = no such rule, no action, or other files."""
    trigger = candidate.memory.trigger
    if not kind.standing or query.tool not in _EDITS or not is_follow_up_rule(candidate.memory.content):
        return 0.0
    if query.situation.probability("edit_code") < MIN_EDIT_PROBABILITY:
        return 0.0
    greatest = max(
        (weight for name, weight in trigger.actions if name not in UNSPECIFIC_ACTIONS), default=0.0
    )
    fit = call_matcher_for(query.situation, query.goal).fit(trigger)
    if greatest < MIN_ACTION_MATCH or fit.elsewhere:
        return 0.0
    return FOLLOW_UP_FACTOR * action_worth_of(kind)


def _meets_places(query: Query, trigger: Trigger, fit: TriggerFit) -> bool:
    """Whether the call meets a trigger that names places but no action: its command runs, its file is edited or, if the trigger names neither, its tool is called."""
    by_tool = query.tool in trigger.tools and not (trigger.paths or trigger.commands)
    return fit.named or (fit.file and query.tool in _EDITS) or by_tool


def _action_match(fit: TriggerFit, *, looks: bool) -> float:
    if looks:
        return float(fit.file and fit.about >= MIN_TOPIC_MATCH_READING)
    diffuse = 0.0
    if fit.file or fit.hits >= 2:
        diffuse = fit.unspecific_match * UNSPECIFIC_ACTION_FACTOR * (0.6 + 0.4 * fit.goal)
    return max(fit.action_match, diffuse)


# --- the moment that words name

NAMED_RELEVANCE = 0.8
"""Relevance of a memory that names the very file, folder or command, but not when it applies."""


def judge_by_words(query: Query, candidate: Candidate, kind: Kind) -> Judgment | None:
    """Return (relevance, reasons) of a memory for the tool call of `query`, judged by when its own words say it applies, or by the file or command that they name.

    None = its words decide nothing here; judge it by its trigger.

    A rule has relevance 1 at the call that the words name, and, for what they forbid, already at the call that mostly comes right
    before; 0 at every other call. A known failure has relevance 1 before the very command that it opens with runs again, 0 at every
    other command. What names the very file, folder or command of a call, and no moment, has `NAMED_RELEVANCE` there.
    """
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
    """Return the file, glob, folder or command of the call that the memory's words name; "" = none.

    Also "" for a finished call, a digest, and a memory whose trigger has paths that somebody gave.
    """
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
    """Return the moments that the memory's words name; those of how something is done only if it is, or may be, a rule."""
    is_rule = (kind.standing or kind.name == UNSAID) and not kind.is_result
    return [moment for moment in read_moments(memory.content) if is_rule or not moment.way]


def _judge_call(facts: CallFacts, memory: Memory, moments: list[Moment]) -> Judgment | None:
    if any(fit_of(moment, facts) != "no" for moment in moments):
        return 1.0, (MOMENT,)
    return (0.0, ()) if moments and memory.trigger.maker == "local" else None


def _judge_failure(query: Query, memory: Memory) -> Judgment | None:
    """Return the relevance of a known failure at a command line: 1 before its failing command runs again; None = does not apply.

    It does not apply if the memory names no failing command, or if an edit of files repaired it.
    """
    failing = failing_commands(memory.content)
    call = query.call
    if not failing or call is None or not call.command or (memory.error_signature and memory.files):
        return None
    if not query.finished and runs_again(failing, call.command):
        return 1.0, (MOMENT,)
    return (0.0, ()) if memory.trigger.maker == "local" else None
