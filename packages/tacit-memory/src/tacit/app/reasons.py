"""Reasons in words: of drops, silences, changes, and notes on how a recall went. In: reasons and losses as values. Out: text for people. The only place that words them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from tacit.app.evidence import ShownCandidate, evidence_of, trace_sentence
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.evidence import PINNED
from tacit.model.note import Note, NoteCause
from tacit.model.trace import (
    Decider,
    Drop,
    DropCause,
    DropReason,
    Loss,
    NotAsked,
    SilenceCause,
    SilenceReason,
    StageRecord,
    Trace,
)
from tacit.model.trigger import Situation
from tacit.state.captured import StatementOutcome
from tacit.state.counted import RequestRecord


@frozen
class ShownDrop(Drop):
    """Why a stage let a memory go, as it is shown: `reason` = `why` in words."""

    reason: str


@frozen
class ShownStage(StageRecord):
    """The record of a stage, as it is shown: `notes` = its facts and losses in words."""

    drops: tuple[ShownDrop, ...] = ()
    notes: tuple[str, ...]


@frozen
class ShownSituation(Situation):
    """What the agent is about to do, as it is shown: `why` = the reasons of the reading in words."""

    why: tuple[str, ...]


@frozen
class ShownTrace(Trace):
    """The record of a recall, as it is shown: `sentence` = all of it in one sentence, `silence` = why nothing was injected; empty where something was."""

    situation: ShownSituation
    stages: tuple[ShownStage, ...]
    candidates: tuple[ShownCandidate, ...] = ()
    sentence: str
    silence: str


@frozen
class ShownRequest(RequestRecord):
    """A request to a model, as it is shown: `dropped` = `causes` in words."""

    dropped: tuple[str, ...]


_TEXTS: dict[DropCause, Callable[[DropReason], str]] = {
    DropCause.NOTHING_COMING: lambda _: "no action is coming",
    DropCause.NOT_VALID: lambda _: "no longer valid",
    DropCause.ENDED: lambda why: why.detail,
    DropCause.QUARANTINED: lambda _: "it waits for you to confirm it",
    DropCause.UNTRUSTED: lambda _: "you neither said nor confirmed it, so it does not come by itself here",
    DropCause.SENSITIVE: lambda why: f"it is marked {why.detail} and must not appear here",
    DropCause.OTHER_BRANCH: lambda why: f"learned on the branch {why.detail}, which is not merged",
    DropCause.REPLACED_ON_BRANCH: lambda _: "replaced on this branch",
    DropCause.OWN_DIGEST: lambda _: "it is the digest of this very session",
    DropCause.TOO_OLD: lambda _: "too old for its kind",
    DropCause.CODE_GONE: lambda _: "the code that it speaks of is gone",
    DropCause.BELOW_THRESHOLD: lambda why: f"relevance {_compared(why)}",
    DropCause.BELOW_IMPORTANCE: lambda why: f"importance {_compared(why)}",
    DropCause.BELOW_SIMILARITY: lambda why: (
        f"similarity {_compared(why)}" + (f" for kind {why.detail}" if why.detail else "")
    ),
    DropCause.FAR_BELOW_BEST: lambda why: f"far below the best answer: score {_compared(why)}",
    DropCause.NO_HIT: lambda _: "it has neither meaning nor words nor names in common",
    DropCause.OUT_OF_SCOPE: lambda why: f"its scope {why.detail} is not visible here",
    DropCause.NOT_FOUND: lambda _: "other memories are nearer by every measure",
    DropCause.SHORT_LIST: lambda why: (
        f"{(why.value or 1) - 1:.0f} others come nearer, and only the nearest {why.bound or 0:.0f} are judged"
    ),
    DropCause.NOT_IN_POOL: lambda _: "others of its scope are needed more at the start",
    DropCause.OLDER_DIGEST: lambda _: "a newer digest takes its place",
    DropCause.KIND_OFF: lambda why: f"kind {why.detail} is not injected unasked",
    DropCause.KIND_NOT_FOR_TASK: lambda why: f"not a kind for this sort of task ({why.detail})",
    DropCause.KIND_NOT_ASKED: lambda why: f"another kind was asked for: {why.detail}",
    DropCause.SECOND_STAGE: lambda why: f"{why.detail} says {_compared(why)}",
    DropCause.REPEATED: lambda _: "twice in the list",
    DropCause.IN_CONTEXT: lambda why: "already in context" + (f" ({why.detail})" if why.detail else ""),
    DropCause.COPY: lambda why: f"says what {why.detail} says",
    DropCause.UNCHANGED: lambda _: "unchanged since the session got it",
    DropCause.TOO_MANY: lambda why: f"more than {why.bound or 0:.0f} memories",
    DropCause.INDEXED: lambda why: f"its headline stands in the index, as {why.detail}",
    DropCause.NO_ROOM: lambda why: (
        f"does not fit its {why.detail} tokens"
        if why.detail
        else f"does not fit the {why.bound or 0:.0f} tokens left"
    ),
    DropCause.HOST_CAP: lambda why: f"over the host's cap of {why.bound or 0:.0f} characters",
}

_NOT_ASKED_TEXTS: dict[NotAsked, Callable[[SilenceReason], str]] = {
    NotAsked.BEFORE_COMPACTION: lambda _: "nothing is injected before a compaction; the pack follows it",
    NotAsked.MESSAGE_END: lambda _: "nothing is injected when a message ends",
    NotAsked.SESSION_END: lambda _: "nothing is injected when a session ends",
    NotAsked.MACHINE_PROMPT: lambda _: "machine-made prompt",
    NotAsked.EMPTY_PROMPT: lambda _: "empty prompt",
    NotAsked.SHORT_PROMPT: lambda why: f"the prompt is shorter than {why.bound or 0:.0f} characters",
    NotAsked.NO_TARGET: lambda why: f"tool call {why.detail!r} names no file or command",
    NotAsked.SEARCHING: lambda _: "searching is no action that a rule governs",
}
_SILENCE_TEXTS: dict[SilenceCause, Callable[[SilenceReason], str]] = {
    SilenceCause.OFF_IN_PRESET: lambda why: f"off in this preset (recall.budgets.{why.detail} is 0)",
    SilenceCause.OPTED_OUT: lambda why: f"the prompt carries the opt-out token {why.detail}",
    SilenceCause.NOT_ASKED: lambda why: (
        _NOT_ASKED_TEXTS[why.not_asked](why) if why.not_asked else "nothing was asked"
    ),
    SilenceCause.CONTEXT_FULL: lambda why: (
        f"prompts were given more than {why.bound or 0:.0f} memories already"
    ),
    SilenceCause.LATE: lambda why: (
        "late: the host did not wait for the answer"
        if why.detail
        else "the session was busy beyond the deadline"
    ),
    SilenceCause.FAILED: lambda why: f"recall failed: {why.detail}",
}

_CAUSE_TEXTS: dict[str, str] = {
    SilenceCause.OFF: "recall is off in the settings",
    SilenceCause.OFF_IN_PRESET: "off in this preset",
    SilenceCause.SHADOW: "shadow mode: what would come is recorded, not given",
    SilenceCause.MUTED: "the session is muted",
    SilenceCause.OPTED_OUT: "the prompt opted out",
    SilenceCause.COMPARISON: "the session is held out, to see what memory is worth",
    SilenceCause.NOT_ASKED: "nothing to look up: an empty, very short or machine-made prompt",
    SilenceCause.CONTEXT_FULL: "prompts were given as many memories as the settings allow",
    SilenceCause.NOTHING_COMING: "the prompt asks for no work, such as thanks or a greeting",
    SilenceCause.NOTHING_FOUND: "no memory was found for it",
    SilenceCause.NOT_RELEVANT: "no memory was relevant enough",
    SilenceCause.IN_CONTEXT: "the session already holds what is relevant",
    SilenceCause.NO_ROOM: "nothing relevant fits the budget",
    SilenceCause.LATE: "the answer came after the deadline",
    SilenceCause.FAILED: "recall failed; `tacit status --log` says why",
}
"""Words for a cause alone: for counts of many recalls, and for one recall where `_SILENCE_TEXTS` says no more."""


def cause_text(cause: str) -> str:
    """Return a cause of silence in words; a cause of a later version is returned as it is."""
    return _CAUSE_TEXTS.get(cause, cause)


def silence_text(trace: Trace) -> str:
    """Return why nothing was injected, in words; "" if something was."""
    return silence_reason_text(trace.why) if trace.why is not None else ""


def silence_reason_text(why: SilenceReason) -> str:
    """Return in words why a signal got nothing."""
    made = _SILENCE_TEXTS.get(why.cause)
    return made(why) if made else cause_text(why.cause)


def _about(words: str) -> Callable[[ChangeReason], str]:
    """Return a function that words a reason as `words` with the ids of the other memories, and the detail."""
    return lambda why: _with_detail(f"{words} {', '.join(why.memory_ids)}", why.detail)


def _with_detail(words: str, detail: str) -> str:
    return f"{words}: {detail}" if detail else words


def _first(terms: tuple[str, ...]) -> str:
    return terms[0] if terms else ""


_CHANGE_TEXTS: dict[ChangeCause, Callable[[ChangeReason], str]] = {
    ChangeCause.STORED_WORDS: lambda why: why.detail,
    ChangeCause.HIDDEN: lambda _: "compared with what is stored",
    ChangeCause.NEW: lambda _: "new",
    ChangeCause.DUPLICATE: lambda _: "duplicate",
    ChangeCause.NEWER: lambda _: "newer",
    ChangeCause.CONTRADICTS: _about("contradicts"),
    ChangeCause.EDITED: lambda _: "edited",
    ChangeCause.FORGOTTEN: lambda why: why.detail or "forgotten",
    ChangeCause.FORGOTTEN_BY_AGENT: lambda why: (
        f"an agent: {why.detail}" if why.detail else "forgotten by an agent"
    ),
    ChangeCause.REPLACED_BY_USER: lambda _: "replaced by you",
    ChangeCause.NOT_USEFUL: lambda _: "feedback: not useful",
    ChangeCause.DELETED_FROM_EXPORT: lambda _: "deleted from an edited export",
    ChangeCause.UNDONE: lambda why: _with_detail("undone", "; ".join(map(change_text, why.further))),
    ChangeCause.ACCEPTED: lambda _: "accepted in review",
    ChangeCause.REJECTED: lambda _: "rejected in review",
    ChangeCause.KEPT: lambda _: "kept in review",
    ChangeCause.OTHER_ACCEPTED: lambda why: f"{_first(why.memory_ids)} was accepted in review",
    ChangeCause.MERGED_BY_REVIEW: lambda why: f"{_first(why.memory_ids)} says the same, by review",
    ChangeCause.MERGED_INTO: lambda why: f"merged into {_first(why.memory_ids)} in review",
    ChangeCause.FADED: lambda _: "faded",
    ChangeCause.OVER_LIMIT: lambda _: "over the limit of its scope",
    ChangeCause.CONSOLIDATED: lambda why: f"took over {_first(why.terms)} that said the same",
    ChangeCause.SAYS_SAME: _about("says the same as"),
    ChangeCause.DENIES: _about("denies what is said in"),
    ChangeCause.REPLACES: _about("replaces what is said in"),
    ChangeCause.GIVES_OTHER_VALUE: _about("gives another value than"),
    ChangeCause.MAY_BE_OPPOSITE: _about("may say the opposite of"),
    ChangeCause.MAY_REPLACE_WORDS: _about("may replace what is said in"),
    ChangeCause.MAY_GIVE_OTHER_VALUE: _about("may give another value than"),
    ChangeCause.MAY_CORRECT: _about("may correct"),
    ChangeCause.MAY_REPLACE: _about("may replace"),
    ChangeCause.MAY_CONTRADICT: _about("may contradict"),
    ChangeCause.REPLACES_WAITING: lambda why: _with_detail("replaces what waited", why.detail),
    ChangeCause.TOOK_OVER: lambda why: _with_detail(f"{_first(why.memory_ids)} says the same", why.detail),
    ChangeCause.REPLACED_BY: lambda why: _with_detail(
        _first(why.memory_ids), "; ".join(map(change_text, why.further))
    ),
    ChangeCause.SAID_TO_REPLACE: _about("said to replace"),
    ChangeCause.SETTLED: lambda why: (
        f"the agent saw that {_first(why.memory_ids)} holds"
        + (f", which ranks first; this one stays, because {change_text(why.but)}" if why.but else "")
    ),
    ChangeCause.CONFIRMED_BY_WORDS: lambda why: f"confirmed by the user's words: {_first(why.memory_ids)}",
    ChangeCause.OTHER_KIND: lambda why: f"says the same; a {', not a '.join(why.terms)}",
    ChangeCause.KEEPS_ITS_WORDS: lambda why: (
        f"says the same as {_first(why.memory_ids)}, which stays as it is"
    ),
    ChangeCause.CAPTURED_ALREADY: _about("captured already as"),
    ChangeCause.SAID_BEFORE: lambda why: f"said before in this session: {_first(why.memory_ids)}",
    ChangeCause.STORED_ALREADY: _about("stored already as"),
    ChangeCause.OLDER: lambda why: f"older; {_first(why.memory_ids)} holds now",
    ChangeCause.LOWER_TIER: lambda why: " never supersedes ".join(why.terms),
    ChangeCause.UNCONFIRMED: lambda _: "nobody confirmed it",
    ChangeCause.NOT_SPOKEN_OF: lambda _: "the user's words do not speak of that",
    ChangeCause.HOLDS_ELSEWHERE: lambda _: "that holds elsewhere, too",
    ChangeCause.NEITHER_NEWER: lambda _: "neither is known to be newer",
    ChangeCause.BRANCH_MERGED: lambda why: f"the branch {_first(why.terms)} was merged",
    ChangeCause.BRANCH_GONE: lambda why: (
        f"the branch {_first(why.terms)} is gone, and it is not known whether it was merged"
    ),
    ChangeCause.BRANCH_BACK: lambda why: f"the branch {_first(why.terms)} exists again",
    ChangeCause.BRANCH_RENAMED: lambda why: f"the branch {' was renamed to '.join(why.terms)}",
    ChangeCause.HOLDS_ON_ALL: lambda _: "you let it hold on all branches",
    ChangeCause.READ_OFF: lambda why: f"read off {_first(why.terms)}",
    ChangeCause.CONFIRMED_IN_FILE: lambda why: f"confirmed in {_first(why.terms)}",
    ChangeCause.CHANGED_IN_FILE: lambda why: f"changed in {_first(why.terms)}",
    ChangeCause.CHANGED_BY_OTHERS: lambda why: f"somebody else changed it in {_first(why.terms)}",
    ChangeCause.REMOVED_FROM_FILE: lambda why: f"removed from {_first(why.terms)}",
    ChangeCause.FILE_REMOVED: lambda why: f"{_first(why.terms)} was removed",
    ChangeCause.SHARED: lambda why: f"shared by {_first(why.terms)}",
    ChangeCause.CHANGED_BY_TEAM: lambda why: f"changed by {_first(why.terms)}",
    ChangeCause.UNSHARED: lambda why: f"{_first(why.terms)} no longer shares it",
    ChangeCause.TEAM_LEFT: lambda why: f"this home is no longer in {_first(why.terms)}",
    ChangeCause.QUOTED: lambda why: _QUOTED_TEXTS.get(
        _first(why.terms) if why.terms else "", "the user said it"
    ),
    ChangeCause.OWN_NOTE: lambda why: (
        f"it names what the user never typed: {', '.join(why.terms)}" if why.terms else "the agent's own note"
    ),
    ChangeCause.SESSION_NOTE: lambda _: "session note",
    ChangeCause.SESSION_WENT_ON: lambda _: "the session went on",
    ChangeCause.NOTHING_LEFT: lambda _: "nothing left",
    ChangeCause.SYNCED: lambda _: "taken over from another device",
    ChangeCause.QUOTES_ENDED: lambda _: "what it quotes holds no more or is restricted",
    ChangeCause.EMPTY: lambda _: "empty",
    ChangeCause.SECRET: lambda why: f"holds a secret ({', '.join(why.terms)})",
    ChangeCause.TOO_LONG: lambda why: f"longer than {_first(why.terms)} characters",
    ChangeCause.TOOL_KIND: lambda why: f"tool output may not become a {_first(why.terms)}",
    ChangeCause.UNWANTED_KIND: lambda _: "a kind that is not learned unasked",
    ChangeCause.REJECTED_BEFORE: lambda why: _with_detail("rejected before", why.detail),
    ChangeCause.NO_SUCH_MESSAGE: lambda _: "names no message that was sent",
    ChangeCause.NOT_QUOTED: lambda _: "quotes what the message does not say",
    ChangeCause.WRONG_LENGTH: lambda _: "too short or too long",
    ChangeCause.NAMES_UNNAMED: lambda _: "names what nobody named",
    ChangeCause.SAYS_UNSAID: lambda _: "says what nobody said",
    ChangeCause.REPEATS_GIVEN: lambda _: "repeats what the session was given, or what the user refused",
    ChangeCause.ENOUGH_WAITING: lambda _: "others of this session wait for you already",
    ChangeCause.BAD_HANDOVER: lambda why: why.detail or "the session came without its messages",
    ChangeCause.HEADLESS_RUN: lambda _: "a headless run of a writer",
    ChangeCause.CAPTURE_OFF: lambda _: "capture at session end is switched off",
    ChangeCause.UNREADABLE_TRANSCRIPT: lambda why: _with_detail("transcript not readable", why.detail),
    ChangeCause.UNREADABLE_FILE: lambda why: why.detail or "the file cannot be read",
}
_QUOTED_TEXTS = {
    "short": "user_words has fewer than three words; quote at least three",
    "not_typed": "the user did not type these words in this session; quote them as they were typed",
    "pasted": "these words stand in text that the user pasted or quoted; quote what they wrote themselves",
    "asks": "these words ask; quote what the user settled",
    "doubts": "these words doubt or suppose; ask the user whether it holds, and quote the answer",
    "reports": "these words say what somebody else says; ask the user whether it holds, and quote the answer",
    "elsewhere": "these words are about another project; ask the user whether it holds here, and quote the answer",
    "mocked": "these words do not seem to be meant; ask the user, and quote the answer",
    "taken_back": "the user took these words back; quote what they said in their place",
    "points_back": "these words point to something said before; quote the sentence that says what is meant",
    "for_once": "these words are for this one time; keep only what the user says will last",
    "review": "it waits for the user: capture.notes is review, and they confirm it with `tacit review`",
    "wording": "the user's own sentence was stored: your wording says more, less or something else",
}
_HOLDERS = (ChangeCause.UNDONE, ChangeCause.REPLACED_BY)
"""Causes whose words already contain those of `further`; for other causes `change_text` appends them."""


def change_text(why: ChangeReason) -> str:
    """Return in words why something was changed or left out."""
    text = _CHANGE_TEXTS[why.cause](why)
    if why.but is not None:
        text = f"{text}, but {change_text(why.but)}"
    beside = () if why.cause in _HOLDERS else why.further
    return "; ".join((text, *map(change_text, beside)))


def outcome_text(outcome: StatementOutcome) -> str:
    """Return in words why a statement of a session was not stored; "" if it was."""
    return change_text(outcome.why) if outcome.why is not None else ""


def request_in_words(request: RequestRecord) -> ShownRequest:
    """Return a request to a model as it is shown, with the words for why statements of its answer were dropped."""
    words = (change_text(ChangeReason(cause=cause)) for cause in request.causes)
    return ShownRequest(**_fields(request), dropped=tuple(words))


def reason_text(why: DropReason) -> str:
    """Return in words why a stage dropped a memory."""
    return _TEXTS[why.cause](why)


def loss_text(loss: Loss) -> str:
    """Return in words what a stage had to do without."""
    if loss.cause == "late":
        return f"{loss.source} missed the deadline" + (f": {loss.detail}" if loss.detail else "")
    return f"{loss.source} failed: {loss.detail}"


_NOTE_TEXTS: dict[NoteCause, Callable[[Note], str]] = {
    NoteCause.SURFACE: lambda note: note.detail,
    NoteCause.PROPOSAL_READ: lambda _: "read with the accepted proposal",
    NoteCause.SHORT_PROMPT_ENRICHED: lambda _: "short prompt enriched from the turn before",
    NoteCause.NOTHING_ASKED: lambda _: "nothing is asked: no action is coming",
    NoteCause.SPACE_ASKED: lambda note: f"{note.detail}: {note.count} in {note.took_ms:.1f} ms",
    NoteCause.KINDS_ASKED: lambda note: f"asks for the kind {note.detail}",
    NoteCause.LISTED: lambda note: (
        f"{note.detail}: {note.count}" + (f" of {note.of}" if note.of is not None else "")
    ),
    NoteCause.ORDERED_BY_NEED: lambda _: "ordered by expected need",
    NoteCause.INDEXED: lambda note: f"{note.count} of {note.of} further memories stand in the index",
    NoteCause.WHOLE_STORE: lambda note: f"a small store, given whole: {note.count} memories",
    NoteCause.SHORTENED: lambda note: f"Truncated memory {note.detail} from {note.of} to {note.count} tokens",
    NoteCause.NO_PERSON: lambda _: "no words of a person",
    NoteCause.REFUSED: lambda _: "refused",
    NoteCause.NOTHING_PROPOSED: lambda _: "a yes with nothing proposed",
    NoteCause.SMALL_TALK: lambda _: "small talk",
    NoteCause.NO_ACTION: lambda _: "nothing that announces an action",
    NoteCause.NO_CLEAR_WORDS: lambda _: "no clear words",
    NoteCause.ACCEPTS_PROPOSAL: lambda _: "accepts what was proposed",
    NoteCause.ERROR_PASTED: lambda _: "an error was pasted",
    NoteCause.SAYS: lambda note: f"says {note.detail}",
    NoteCause.DENIES: lambda note: f"denies {note.detail}",
    NoteCause.CALL: lambda note: f"call: {note.detail}",
    NoteCause.COMMAND: lambda note: f"command: {note.detail}",
    NoteCause.ARMED: lambda note: f"armed by {note.detail}: {note.count} of {note.of}",
    NoteCause.JUDGED: lambda note: (
        f"decided by {note.detail}: named {note.count} of {note.of} in {note.took_ms:.0f} ms"
    ),
    NoteCause.JUDGE_LATE: lambda note: (
        f"decided by the gate: {note.detail} did not answer within {note.took_ms:.0f} ms"
    ),
    NoteCause.JUDGE_FAILED: lambda note: f"decided by the gate: the model failed ({note.detail or 'error'})",
    NoteCause.JUDGE_PAUSED: lambda _: (
        "decided by the gate: the model is not asked for a while after a failure"
    ),
    NoteCause.JUDGE_OVER_BUDGET: lambda _: "decided by the gate: the model's tokens of today do not suffice",
    NoteCause.JUDGE_NO_LIST: lambda _: "decided by the gate: no memory may be sent to the model",
    NoteCause.JUDGE_BUSY: lambda _: "decided by the gate: the model still answers another prompt",
    NoteCause.JUDGE_NO_TIME: lambda _: "decided by the gate: the host does not wait for the model",
    NoteCause.NOT_READ: lambda note: (
        f"the embedding model does not read {note.detail} (the shipped one reads English): only shared words count"
    ),
    NoteCause.MEMORIES_NOT_READ: lambda note: (
        f"the embedding model does not read {note.detail}: {note.count} memories are compared by shared words only"
    ),
}
_DECIDER_TEXTS: dict[Decider, str] = {
    Decider.LOCAL: "the gate",
    Decider.ARMED: "the gate, with what a model named in the pause",
    Decider.JUDGE: "a model, at the prompt",
}


def decider_text(decider: Decider) -> str:
    """Return in words who judged relevance."""
    return _DECIDER_TEXTS[decider]


def note_text(note: Note) -> str:
    """Return a note of a recall in words."""
    return _NOTE_TEXTS[note.cause](note)


def in_words(trace: Trace) -> ShownTrace:
    """Return `trace` as it is shown: every reason in words, and its losses among the notes."""
    stages = [_stage_in_words(stage) for stage in trace.stages]
    silence = silence_text(trace)
    if trace.why is not None and stages:  # the stage where the recall ended says why it did
        stages[-1] = replace(stages[-1], notes=(*stages[-1].notes, silence))
    situation = ShownSituation(**_fields(trace.situation), why=tuple(map(note_text, trace.situation.notes)))
    candidates = tuple(
        ShownCandidate(
            **_fields(candidate),
            evidence=evidence_of(candidate.parts, candidate.relevance, trace.threshold),
        )
        for candidate in trace.candidates
    )
    return ShownTrace(
        **_fields(trace, but=("stages", "situation", "candidates")),
        stages=tuple(stages),
        situation=situation,
        candidates=candidates,
        sentence=trace_sentence(trace, silence),
        silence=silence,
    )


def summary_text(trace: Trace) -> str:
    """Return how many memories a recall injected, how many of these because they are pinned, and the lines of its index; "" = none."""
    total = len(trace.injected)
    listed = sum(
        note.count for stage in trace.stages for note in stage.facts if note.cause is NoteCause.INDEXED
    )
    index = f"an index of {listed} headlines" if listed and not trace.silent else ""
    if not total:
        return index
    pinned = sum(
        PINNED in candidate.reasons for candidate in trace.candidates if candidate.memory_id in trace.injected
    )
    memories = "1 memory" if total == 1 else f"{total} memories"
    memories = f"{pinned} pinned + {total - pinned} contextual = {memories}" if pinned else memories
    return f"{memories}, {index}" if index else memories


def log_text(trace: Trace) -> str:
    """Return one line on a recall for the log: what was injected or why nothing was, how many were left out as known, time and session.

    It holds counts and causes alone, no word of a memory or a prompt.
    """
    drops = [drop.why.cause for stage in trace.stages for drop in stage.drops]
    known = sum(cause in (DropCause.IN_CONTEXT, DropCause.COPY, DropCause.REPEATED) for cause in drops)
    summary = summary_text(trace)
    if summary:
        told = f"{summary}, {trace.tokens} tokens"
    else:
        told = f"nothing, {_CAUSE_TEXTS[trace.why.cause]}" if trace.why is not None else "nothing"
    return f"{told}, {known} left out as known, {trace.took_ms:.0f} ms, session {trace.session}"


def _stage_in_words(stage: StageRecord) -> ShownStage:
    drops = tuple(ShownDrop(**_fields(drop), reason=reason_text(drop.why)) for drop in stage.drops)
    notes = (*map(note_text, stage.facts), *map(loss_text, stage.losses))
    return ShownStage(**_fields(stage, but=("drops",)), drops=drops, notes=notes)


def _fields(value: Any, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.name not in but}


def _compared(why: DropReason) -> str:
    value, bound = why.value or 0.0, why.bound or 0.0
    places = 2 if f"{value:.2f}" != f"{bound:.2f}" else 4
    return f"{value:.{places}f} below {bound:.{places}f}"
