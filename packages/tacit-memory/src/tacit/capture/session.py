"""The result of reading a session's transcript once. In: new turns and the checkpoint. Out: drafts, notes, new state.

Pure: no I/O, no clock. The session's own notes (its digest, its open tasks) are rewritten in place as it goes on.

The user's statements in a session, and open tasks. In: the turns of a session. Out: statements with their turn.

The assistant's words become nothing, unless a preset has patterns for them (`heard`); then they are the agent's own notes. Never reads files, never calls a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from tacit.capture.digest import extend_work, named_by_user, open_tasks, touches_tasks, write_digest
from tacit.capture.fixes import Fix, find_fixes, open_after, open_before
from tacit.capture.heard import Heard, find_heard
from tacit.capture.usage import EchoDetector
from tacit.frozen import frozen
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.model.changes import Draft
from tacit.model.ids import content_hash
from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import BY_AGENT, LearnedOn, Provenance, TrustTier
from tacit.model.scope import UNIVERSAL, Scope, ScopeKind
from tacit.model.session import SessionKey
from tacit.model.trigger import Situation
from tacit.reading.explicit import Statement, find_explicit, is_taken_back_by, normalize_statement
from tacit.reading.languages import language_at_large
from tacit.reading.marks import word_count
from tacit.reading.prose import clear_sentence_cache, pasted_document, spoken_sentences
from tacit.reading.terms import find_paths
from tacit.reading.trigger import make_trigger
from tacit.safety.redacted_words import find_redacted_words
from tacit.session.projects import relative_path
from tacit.state.captured import Checkpoint, Failure, SessionWork, UnfixedFailure
from tacit.text.lazy_regex import Wording, wording

_TASK_WORDS = wording("tasks")
_ERRORS = wording("errors")


@frozen
class TurnStatement:
    """A user's statement, and the turn that it was said in."""

    statement: Statement
    turn: Turn


def find_statements(turns: Iterable[Turn]) -> tuple[TurnStatement, ...]:
    """Return the user's standing statements in order, without repeats and those taken back in the next prompt."""
    statements: dict[str, TurnStatement] = {}
    before = ""
    for turn in turns:
        if turn.role != "user":
            continue
        for content, said in tuple(statements.items()):
            if said.turn.text == before and is_taken_back_by(said.statement.span, turn.text, said_in=before):
                del statements[content]
        for statement in find_explicit(turn.text):
            statements.setdefault(statement.content.lower(), TurnStatement(statement=statement, turn=turn))
        before = turn.text
    return tuple(statements.values())


def find_named_tasks(turns: Iterable[Turn]) -> tuple[str, ...]:
    """Return the open tasks and next steps that the user named, in order, without repeats."""
    tasks: dict[str, None] = {}
    for turn in turns:
        if turn.role == "user" and not pasted_document(turn.text):
            tasks.update(dict.fromkeys(map(normalize_statement, named_by_user(turn.text).steps)))
            for sentence in spoken_sentences(turn.text):
                match = _TASK_WORDS.open.match(_TASK_WORDS.lead.sub("", sentence.text, count=1))
                if (
                    match
                    and sentence.own
                    and not sentence.text.rstrip().endswith("?")
                    and word_count(match["rest"]) >= 2
                ):
                    tasks.setdefault(normalize_statement(match["rest"]))
    return tuple(tasks)


FIX_CONFIDENCE = 0.8
HEARD_CONFIDENCE = 0.6
_MAX_TASKS = 6
_REDACTED = 64
"""Redacted texts that are cached while a session is read: each statement needs the text of its whole turn."""


@frozen
class SessionContext:
    """Where a session happens: its key, scope, project root, working folder, and the unmerged branch (None = none)."""

    session: SessionKey
    scope: Scope
    root: str = ""
    cwd: str = ""
    branch: LearnedOn | None = None

    def relative(self, path: str) -> str:
        """Return `path` relative to the project root."""
        return relative_path(path, root=self.root, cwd=self.cwd)


@frozen
class SessionLearnings:
    """Everything learned from a session's new turns, and the state to store with it.

    Attributes:
        drafts: statements and verified fixes.
        digest: text of the session's digest, "" = none.
        tasks: the agent's open tasks in one line, "" = none left; None = its task list was not touched.
        checkpoint: the state to store with them (without the notes' ids, which are known only afterwards).
        at_ms, turn: time and number of the newest turn; 0 = there is none.
        pending: failures of the place that wait for their fix from now on.
    """

    drafts: tuple[Draft, ...]
    digest: str
    tasks: str | None
    checkpoint: Checkpoint
    at_ms: int
    turn: int
    pending: tuple[UnfixedFailure, ...] = ()


def extract_learnings(
    turns: Sequence[Turn],
    before: Checkpoint,
    *,
    place: SessionContext,
    captured_hashes: frozenset[str],
    redact: Callable[[str], str],
    pending: Sequence[UnfixedFailure] = (),
    injected: Sequence[str] = (),
    patterns: Wording | None = None,
) -> SessionLearnings:
    """Return what is learned from `turns`, which must be new since the checkpoint. Pure, but empties the cache of `spoken_sentences`.

    Args:
        turns: what was said since the checkpoint.
        before: the checkpoint.
        place: where the session happens.
        captured_hashes: content hashes of what was captured in real time; it is not captured again.
        redact: takes secrets out of what the checkpoint carries.
        pending: failures of the place that wait for their fix, whatever session they are of.
        injected: texts that were put into the session's context; a statement that repeats one is nobody's own.
        patterns: a preset's table of what agent and user say; None = only the user's marked statements count.
    """
    redact = lru_cache(maxsize=_REDACTED)(redact)
    echoes = EchoDetector(injected)
    heard = find_statements(turns)
    statements = [
        said
        for said in heard
        if not _gives_away(said.turn, said.statement.content, redact)
        and not echoes.repeated_by_user(said.statement.span)
    ]
    session = str(place.session)
    fixes, failures = find_fixes(turns, open_before(pending, before.failures, session))
    fixes = tuple(_redacted_fix(fix, redact) for fix in fixes)
    drafts = [
        statement_draft(statement, place)
        for statement in statements
        if content_hash(statement.statement.content) not in captured_hashes
    ]
    drafts.extend({draft.content: draft for draft in (fix_draft(fix, place) for fix in fixes)}.values())
    if patterns is not None and place.scope.project_id:
        known = EchoDetector((*injected, *(said.statement.span for said in heard)))
        drafts += [
            heard_draft(each, place)
            for each in find_heard(turns, patterns)
            if not _gives_away(each.turn, each.content, redact)
            and not (
                echoes.repeated_by_user(each.span)
                if each.turn.role == "user"
                else known.repeated_by_agent(each.span)
            )
        ]
    work = extend_work(
        before.work,
        [_with_relative_paths(turn, place) for turn in turns],
        decided=[redact(text) for text in _decided(statements)],
        left_to_do=[redact(text) for text in find_named_tasks(turns)],
        fixed=[redact(_fix_line(fix, place)) for fix in fixes],
    )
    work = _redacted_work(work, redact)
    open_failures = tuple(_redacted(failure, redact) for failure in failures)
    waiting, own_failures = open_after(pending, open_failures, session)
    clear_sentence_cache()
    return SessionLearnings(
        drafts=tuple(drafts),
        digest=write_digest(work, failures=own_failures),
        tasks=_task_note(work) if touches_tasks(turns) else None,
        checkpoint=replace(before, failures=own_failures, work=work),
        pending=waiting,
        at_ms=max((turn.at_ms for turn in turns), default=0),
        turn=max((turn.number for turn in turns), default=0),
    )


def _decided(statements: Sequence[TurnStatement]) -> list[str]:
    """Return the user's decisions in their own words, for the digest."""
    user_statements = (turn_statement.statement for turn_statement in statements)
    return [
        statement.content
        for statement in user_statements
        if statement.kind in ("decision", "correction") and not statement.doubtful
    ]


def statement_draft(
    found_statement: TurnStatement, place: SessionContext, situation: Situation | None = None
) -> Draft:
    """Return the draft of a user's statement; `situation` shapes its trigger, None = unknown."""
    statement = found_statement.statement
    return Draft(
        content=statement.content,
        kind=statement.kind,
        scope=_scope_of(statement, place),
        provenance=provenance(
            place.session, TrustTier.USER, turn=found_statement.turn.number, span=statement.span
        ),
        at_ms=found_statement.turn.at_ms,
        confidence=statement.confidence,
        explicit=True,
        doubtful=statement.doubtful,
        trigger=make_trigger(statement.content, kind=statement.kind, situation=situation),
    )


def _scope_of(statement: Statement, place: SessionContext) -> Scope:
    """Return where a statement holds: everywhere, in a programming language, or in the place where it was said.

    What a user of a program says holds for that user alone.
    """
    if place.scope.of_user:
        return place.scope
    language = language_at_large(statement.span)
    if language and BUILTIN_KINDS.of_stored(statement.kind).standing:
        return Scope(kind=ScopeKind.LANGUAGE, key=language)
    return UNIVERSAL if statement.everywhere else place.scope


def heard_draft(heard: Heard, place: SessionContext) -> Draft:
    """Return the draft of what a pattern found: an agent's own note, for the project of its session."""
    said = provenance(place.session, TrustTier.ASSISTANT, turn=heard.turn.number, span=heard.span)
    return Draft(
        content=heard.content,
        kind=heard.kind,
        scope=place.scope,
        provenance=replace(said, source=BY_AGENT),
        at_ms=heard.turn.at_ms,
        confidence=HEARD_CONFIDENCE,
        doubtful=heard.waits,
        trigger=make_trigger(heard.content, kind=heard.kind),
        files=find_paths(heard.content) if heard.kind == "file_context" else (),
    )


def fix_draft(fix: Fix, place: SessionContext) -> Draft:
    """Return the draft of a proven fix: what failed with which error, its cause if known, and what helped."""
    failure, correction = fix.failure, fix.correction
    files = () if correction else tuple(place.relative(path) for path in failure.edited)
    essence = fix.essence.rstrip(".")
    error_phrase = f" with: {essence}" if essence else ""
    cause = correction.cause if correction else failure.cause
    sentences = [f"`{correction.wrong if correction else failure.command}` failed{error_phrase}."]
    if cause:
        sentences.append(f"Cause: {_ERRORS.leads_to_cause.sub('', cause, count=1)}.")
    sentences.append(_remedy(fix, files))
    if fix.commit and files:
        sentences.append(f"Commit {fix.commit.split()[0]}.")
    content = " ".join(sentences)
    return Draft(
        content=content,
        kind="error_pattern",
        scope=place.scope,
        provenance=provenance(place.session, TrustTier.TOOL, turn=fix.turn, span=essence),
        at_ms=fix.at_ms,
        confidence=FIX_CONFIDENCE,
        importance=fix_importance(failure.times),
        trigger=make_trigger(content, kind="error_pattern", files=files),
        files=files,
        error_signature=failure.signature,
        proofs=1,
    )


def fix_importance(times: int) -> float | None:
    """Return the importance of a fix for what failed `times` times: 0.6 for two, 0.1 more each, at most 0.9.

    None = once: the kind's own importance.
    """
    return None if times < 2 else round(min(0.9, 0.5 + 0.1 * (times - 1)), 2)


def provenance(session: SessionKey, tier: TrustTier, *, turn: int, span: str) -> Provenance:
    """Return the provenance of words from a session's transcript."""
    return Provenance(
        tier=tier, source="session", host=session.host, session_id=session.session_id, turn=turn, span=span
    )


def _remedy(fix: Fix, files: Sequence[str]) -> str:
    if fix.correction:
        return f"`{fix.correction.right}` works."
    steps = [f"running `{command}`" for command in fix.failure.prepared]
    if files:
        steps.append(f"editing {', '.join(files)}")
    return f"Fixed by {' and '.join(steps)}."


def _fix_line(fix: Fix, place: SessionContext) -> str:
    return f"`{fix.failure.command}`: {_remedy(fix, [place.relative(path) for path in fix.failure.edited])}"


def _redacted(failure: Failure, redact: Callable[[str], str]) -> Failure:
    command, error = redact(failure.command), redact(failure.error)
    lost = find_redacted_words(f"{failure.command}\n{failure.error}", f"{command}\n{error}")
    return replace(
        failure,
        command=command,
        error=error,
        cause=redact(failure.cause),
        signature=redact(lost.without(failure.signature)),
    )


def _redacted_work(work: SessionWork, redact: Callable[[str], str]) -> SessionWork:
    return replace(
        work,
        commits=tuple(map(redact, work.commits)),
        tasks=tuple((number, redact(text), status) for number, text, status in work.tasks),
        passed=tuple(map(redact, work.passed)),
        steps=tuple(map(redact, work.steps)),
        blocked=tuple(map(redact, work.blocked)),
        stuck=tuple(map(redact, work.stuck)),
    )


def _redacted_fix(fix: Fix, redact: Callable[[str], str]) -> Fix:
    failure, wrong = _redacted(fix.failure, redact), fix.correction
    if wrong is None:
        return replace(fix, failure=failure)
    lost = find_redacted_words(wrong.whole, redact(wrong.whole))
    fields = {
        name: lost.without(redact(getattr(wrong, name))) for name in ("wrong", "right", "cause", "whole")
    }
    return replace(fix, failure=failure, correction=replace(wrong, **fields))


def _gives_away(turn: Turn, content: str, redact: Callable[[str], str]) -> bool:
    """Whether a statement holds a piece of a secret that redaction recognizes only in the whole turn."""
    return find_redacted_words(turn.text, redact(turn.text)).held_by(redact(content))


def _with_relative_paths(turn: Turn, place: SessionContext) -> Turn:
    if not any(use.paths for use in turn.tools):
        return turn
    return replace(turn, tools=tuple(_with_relative(use, place) for use in turn.tools))


def _with_relative(use: ToolUse, place: SessionContext) -> ToolUse:
    return replace(use, paths=tuple(map(place.relative, use.paths))) if use.paths else use


def _task_note(work: SessionWork) -> str:
    shown = "; ".join(open_tasks(work.tasks)[:_MAX_TASKS])
    return f"Open tasks of the agent: {shown}" if shown else ""
