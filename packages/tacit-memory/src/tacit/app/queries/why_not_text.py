"""The answer to why a memory is not given, in sentences, and the commands that do what a remedy says. In: a `WhyNot`. Out: text."""

from __future__ import annotations

import shlex

from tacit.app.reasons import reason_text, silence_reason_text
from tacit.model.pack import Surface
from tacit.model.scope import ScopeKind
from tacit.model.trace import DropCause, SilenceCause
from tacit.model.why_not import Absence, Remedy, RemedyKind, RemedyStep, SpaceRank, WhyNot

_ASKED = {
    Surface.START: "at the start of a session",
    Surface.PROMPT: "before this prompt",
    Surface.ACTION: "around this tool call",
    Surface.FAILURE: "after this failure",
    Surface.COMPACTION: "after a compaction",
    Surface.SUBAGENT: "to this subagent",
    Surface.ON_DEMAND: "in answer to this question",
}
VERY_LOW = 0.05
"""A threshold below it lets in memories that have nothing to do with what is asked."""
_SEEN_BY: dict[ScopeKind, str] = {
    ScopeKind.UNIVERSAL: "Here the settings show memories of the project alone (project.share_preferences).",
    ScopeKind.LANGUAGE: "It is visible where that language is at hand.",
    ScopeKind.PROJECT: "It is visible to work in that project.",
    ScopeKind.PATH: "It is visible to work on files below that folder.",
    ScopeKind.AGENT: "It is visible to that agent.",
    ScopeKind.SESSION: "It is visible to that session.",
}
_EXPLAINED: dict[DropCause, str] = {
    DropCause.NOTHING_COMING: "The agent will do nothing after this prompt, so nothing is looked for.",
    DropCause.NOT_VALID: "It does not hold now: its time is over or has not come.",
    DropCause.QUARANTINED: "It waits for you in the review queue. Until you accept it, it is given on demand only.",
    DropCause.OWN_DIGEST: "It tells of this very session, whose context holds all of that.",
    DropCause.TOO_OLD: "It tells of something that happened too long ago. It is given on demand only.",
    DropCause.CODE_GONE: "The files that it speaks of are gone. It is given on demand only.",
    DropCause.REPLACED_ON_BRANCH: "Another memory replaces it on this branch.",
    DropCause.OLDER_DIGEST: "A start pack holds the newest digest alone, and there is a newer one.",
    DropCause.NOT_IN_POOL: "So many memories of its scope are more important or broader that it is not considered at a start.",
    DropCause.UNCHANGED: "The session goes on and has it already.",
    DropCause.REPEATED: "It stands in the list already.",
}


def sentences(answer: WhyNot) -> tuple[str, ...]:
    """What happened to the memory, with the numbers that decided, in short sentences."""
    when = _ASKED[answer.surface]
    told = [_recorded_sentence(answer)] if answer.recorded_given is not None else []
    absence = answer.absence
    if absence is None:
        return (*told, f"It is given {when}{_standing(answer)}.")
    told.append(f"It is not given {when}: {_cause(absence)} (stage {absence.stage}).")
    told += _details(absence, answer)
    if not answer.remedies:
        told.append(_without_remedy(absence, answer))
    return tuple(sentence for sentence in told if sentence)


def _recorded_sentence(answer: WhyNot) -> str:
    if answer.recorded_given:
        return "The recorded recall gave it. What follows is the same recall now."
    if answer.recorded is not None:
        return f"In the recorded recall: {_cause(answer.recorded)} (stage {answer.recorded.stage})."
    return "In the recorded recall it was no candidate. What follows is the same recall now."


def _cause(absence: Absence) -> str:
    if absence.why is not None:
        return reason_text(absence.why)
    return silence_reason_text(absence.silence) if absence.silence is not None else "it was left out"


def _standing(answer: WhyNot) -> str:
    numbers = answer.numbers
    if numbers.relevance is None or answer.surface is Surface.START:
        return ""
    return f", with relevance {numbers.relevance:.4g} (at least {numbers.threshold:.4g} is needed)"


def _details(absence: Absence, answer: WhyNot) -> list[str]:
    """What the numbers say about the stage at which it was lost."""
    numbers, why = answer.numbers, absence.why
    if why is None:
        asks_nothing = absence.silence is not None and absence.silence.cause is SilenceCause.NOTHING_COMING
        return (
            ["If the prompt accepts what the agent proposed, give the end of the agent's message, too."]
            if asks_nothing
            else []
        )
    told = [_EXPLAINED[why.cause]] if why.cause in _EXPLAINED else []
    match why.cause:
        case DropCause.OUT_OF_SCOPE:
            told.append(_SEEN_BY[answer.memory.scope.kind])
        case DropCause.NOT_FOUND:
            told += [_rank_sentence(rank) for rank in numbers.spaces if rank.proposes]
        case DropCause.SHORT_LIST:
            told.append(f"The settings let {numbers.shortlist} candidates be judged.")
        case DropCause.BELOW_THRESHOLD:
            told += [_rank_sentence(rank) for rank in numbers.spaces if rank.rank is not None]
        case DropCause.NO_ROOM:
            left = numbers.tokens_left if numbers.tokens_left is not None else 0
            if numbers.tokens is not None:
                told.append(
                    f"The block may have {numbers.budget_tokens} tokens: its line needs {numbers.tokens}, {left} were left."
                )
        case DropCause.COPY:
            told.append(f"{why.detail} says the same, and one of the two is enough.")
        case DropCause.ENDED:
            successor = answer.memory.validity.superseded_by
            told.append(f"{successor} took its place." if successor else "It has ended.")
        case _:
            pass
    return told


def _rank_sentence(rank: SpaceRank) -> str:
    if rank.rank is None:
        return f"The space {rank.space} does not find it."
    score = f", score {rank.score:.3f}" if rank.score is not None else ""
    return f"The space {rank.space} ranks it {rank.rank} of {rank.of}{score}; it proposes the first {rank.proposes}."


def _without_remedy(absence: Absence, answer: WhyNot) -> str:
    if answer.untried:
        return "Its scope holds too many memories to try changes of it."
    helped_by_itself = absence.why is not None and absence.why.cause in (DropCause.COPY, DropCause.UNCHANGED)
    return "" if helped_by_itself else "No single setting and no change of the memory lets it through here."


def step_text(step: RemedyStep) -> str:
    """What a step changes, as an order without a period."""
    match step.kind:
        case RemedyKind.SETTING if step.target == "recall.level":
            return f"use the level {step.value}"
        case RemedyKind.SETTING:
            low = ".thresholds." in step.target and isinstance(step.value, float) and step.value < VERY_LOW
            return f"set {step.target} to {_written(step.value)}" + (
                " (so low that almost everything comes)" if low else ""
            )
        case RemedyKind.ACCEPT:
            return "accept it in review"
        case RemedyKind.CONFIRM:
            return "confirm it by an edit, so that it counts as yours"
        case RemedyKind.SCOPE:
            return f"give it the scope {step.value}"
        case RemedyKind.SENSITIVITY:
            return f"give it the sensitivity {step.value}"
        case RemedyKind.ALL_BRANCHES:
            return "let it hold on all branches"
        case RemedyKind.WHEN:
            return f"say when it applies: {step.value}"
        case RemedyKind.PIN:
            return "pin it"
        case RemedyKind.NEW_SESSION:
            return "ask in a new session, or after a compaction"
        case RemedyKind.UNMUTE:
            return "unmute the session"
        case RemedyKind.OPT_IN:
            return f"leave {step.value} out of the prompt"


def step_command(step: RemedyStep, memory_id: str) -> str:
    """The command that does what a step says; "" = there is none."""
    edit = f"tacit edit {memory_id}"
    match step.kind:
        case RemedyKind.SETTING:
            return f"tacit config set {step.target} {shlex.quote(_written(step.value))}"
        case RemedyKind.ACCEPT:
            return f"tacit review accept {memory_id}"
        case RemedyKind.SCOPE:
            return f"{edit} --scope {step.value}"
        case RemedyKind.SENSITIVITY:
            return f"{edit} --sensitivity {step.value}"
        case RemedyKind.ALL_BRANCHES:
            return f"{edit} --all-branches"
        case RemedyKind.WHEN:
            return f"{edit} --when {shlex.quote(str(step.value))}"
        case RemedyKind.PIN:
            return f"{edit} --pin"
        case RemedyKind.UNMUTE:
            return "tacit unmute"
        case RemedyKind.CONFIRM | RemedyKind.NEW_SESSION | RemedyKind.OPT_IN:
            return ""


def remedy_text(remedy: Remedy) -> str:
    """The steps of a remedy in one sentence."""
    text = ", and ".join(step_text(step) for step in remedy.steps)
    return f"{text[:1].upper()}{text[1:]}."


def _written(value: str | float | bool | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
