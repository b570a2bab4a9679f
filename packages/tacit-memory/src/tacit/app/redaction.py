"""Redaction by the settings that hold now, where the text belongs; and whole records cleaned before they are stored.

In: settings as they change, session records, traces. Out: the same without secrets and personal data. Identifiers,
folders and the exact bytes handed over stay: they name things, and those bytes were made of redacted words. On doubt (a
pattern that must not be run) nothing of a text is let through.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

from tacit.config.reload import SettingsWatcher
from tacit.config.settings import PrivacySettings, Settings
from tacit.errors import InvalidSetting
from tacit.model.scope import Scope
from tacit.model.session import PendingFailure, SessionState
from tacit.model.trace import AskedWith, StageRecord, Trace, TracedCandidate
from tacit.model.trigger import Situation
from tacit.safety.escape import Clean
from tacit.safety.redact import Finding, Redaction, Redactor, TextRedactor
from tacit.safety.redacted_words import NOTHING_REDACTED, RedactedWords, find_redacted_words, is_opaque
from tacit.session.transitions import ERROR_CHARS, MESSAGE_END_CHARS, PROMPT_CHARS, WRITTEN_CHARS

_LOG = logging.getLogger(__name__)

KEPT_TEXTS = 4096
KEPT_SHORT = 1024
LONGEST_KEPT = 2_000
SHORT_TEXT = 120
MOST_SETTINGS = 32
TRACED_CHARS = 240
READ_CHARS = 4_000
STEP_CHARS = 120
_LAST_WORD = re.compile(r"\S{8,}\Z")
_FIRST_WORD = re.compile(r"\A\S{8,}")


class BlankingRedactor:
    """A redactor that puts a mark in place of every text and never raises; used where the privacy settings cannot be applied."""

    __slots__ = ()

    def redact(self, text: str) -> Redaction:
        """Return the mark `[redacted:denied]` in place of the text; "" stays ""."""
        return (
            Redaction(text="[redacted:denied]", findings=(Finding(kind="denied", count=1),))
            if text
            else Redaction(text="")
        )

    def at(self, scope: Scope) -> BlankingRedactor:  # noqa: ARG002 - closed everywhere
        """Return this redactor: it does the same everywhere."""
        return self


class CachingRedactor:
    """A redactor that keeps its results for short texts: the same file names and terms come with many statements."""

    def __init__(self, inner: Redactor) -> None:
        self._inner = inner
        self._short = lru_cache(maxsize=KEPT_SHORT)(inner.redact)

    def redact(self, text: str) -> Redaction:
        """Redact `text` as the inner redactor does."""
        return self._short(text) if len(text) <= SHORT_TEXT else self._inner.redact(text)

    def at(self, scope: Scope) -> CachingRedactor:  # noqa: ARG002 - its settings are the same everywhere
        """Return this redactor: its settings are the same everywhere."""
        return self


class Redactors:
    """Makes and keeps one redactor for each value of the privacy settings. Safe to use from several threads."""

    def __init__(self, *, settings: SettingsWatcher, root_of: Callable[[str], Path | None]) -> None:
        """Follow `settings`; `root_of` gives the folder of a project id, None = unknown."""
        self._settings = settings
        self._root_of = root_of
        self._lock = Lock()
        self._made: dict[PrivacySettings, tuple[TextRedactor, Clean]] = {}

    def redact(self, text: str) -> Redaction:
        """Replace every secret in `text`, as the user's own settings say now."""
        return self.under(self._settings.current().privacy).redact(text)

    def at(self, scope: Scope) -> TextRedactor:
        """Return the redactor of the project that `scope` belongs to, else that of the user."""
        return self.under(self._settings.current(self.root_at(scope)).privacy)

    def root_at(self, scope: Scope) -> Path | None:
        """Return the folder of the project that `scope` belongs to; None = it belongs to none, or to one that is not known."""
        return self._root_of(scope.project_id) if scope.project_id else None

    def under(self, privacy: PrivacySettings) -> TextRedactor:
        """Return the redactor with the rules of `privacy`; it keeps what it redacted."""
        return self._of(privacy)[0]

    def cleaner(self, settings: Settings) -> Clean:
        """Return a function that cleans one text under `settings` and keeps what it cleaned."""
        return self._of(settings.privacy)[1]

    def of_session(self, state: SessionState) -> Clean:
        """Return the function that cleans texts by the settings of the session's project and agent."""
        return self.cleaner(self._settings.current(state.project_root or None, agent=state.agent))

    def _of(self, privacy: PrivacySettings) -> tuple[TextRedactor, Clean]:
        with self._lock:
            entry = self._made.get(privacy)
            if entry is None:
                entry = _make(privacy)
                if len(self._made) >= MOST_SETTINGS:
                    self._made.clear()
                self._made[privacy] = entry
            return entry


def _make(privacy: PrivacySettings) -> tuple[TextRedactor, Clean]:
    try:
        redactor: TextRedactor = CachingRedactor(Redactor(privacy))
    except InvalidSetting as error:
        _LOG.error("nothing can be stored or handed over", extra={"detail": str(error)})
        redactor = BlankingRedactor()

    @lru_cache(maxsize=KEPT_TEXTS)
    def kept(text: str) -> str:
        return redactor.redact(text).text

    def clean(text: str) -> str:
        return kept(text) if len(text) <= LONGEST_KEPT else redactor.redact(text).text

    return redactor, clean


def outgoing(settings: Settings, redactor: Redactors) -> Clean:
    """Return the function that cleans what is sent to a language model: it removes secrets even if `privacy.redact` is off."""
    privacy = settings.privacy.model_copy(update={"redact": True})
    return redactor.cleaner(settings.model_copy(update={"privacy": privacy}))


def clean_session(state: SessionState, clean: Clean) -> SessionState:
    """Return the session's record as it may be stored, with every text cleaned."""
    situation = state.last_message_situation
    redacted_words = redacted_words_of(raw_texts_of(state), clean)
    return replace(
        state,
        last_message_end=clean(_cut_start(state.last_message_end, MESSAGE_END_CHARS)),
        last_message_situation=clean_situation(situation, clean, redacted_words=redacted_words)
        if situation
        else None,
        recent_tools=tuple(clean(_cut_end(step, STEP_CHARS)) for step in state.recent_tools),
        recent_files=_all(state.recent_files, clean),
        hinted=_all(state.hinted, clean),
        recent_prompts=tuple(clean(_cut_end(prompt, PROMPT_CHARS)) for prompt in state.recent_prompts),
        first_prompt=clean(_cut_end(state.first_prompt, PROMPT_CHARS)),
        pending_failures=tuple(_clean_failure(failure, clean) for failure in state.pending_failures),
    )


def raw_texts_of(state: SessionState) -> tuple[str, ...]:
    """Return the raw texts of a live record, from which situations and signatures were read."""
    failures = (text for failure in state.pending_failures for text in (failure.command, failure.error))
    return (
        state.last_message_end,
        *state.recent_prompts,
        state.first_prompt,
        *state.recent_tools,
        *state.recent_files,
        *failures,
    )


def redacted_words_of(texts: Iterable[str], clean: Clean) -> RedactedWords:
    """Return the words that redaction removes from `texts`."""
    redacted_words = NOTHING_REDACTED
    for text in dict.fromkeys(texts):
        if text:
            redacted_words |= find_redacted_words(text, clean(text))
    return redacted_words


def clean_trace(trace: Trace, clean: Clean, *, raw_texts: Iterable[str] = (), project_id: str = "") -> Trace:
    """Return the trace as it may be stored, for the project `project_id`; `raw_texts` = further texts that its situation was read from.

    What was read from a text (objects, paths, reasons) may be a piece of a secret that nobody knows by its look: it goes
    where redaction took that piece out of the text itself.
    """
    redacted_words = redacted_words_of((trace.text, *raw_texts), clean)
    text = clean(_cut_end(trace.text, READ_CHARS))
    return replace(
        trace,
        text=text[:TRACED_CHARS],
        project_id=project_id or trace.project_id,
        asked=_clean_asked(trace.asked, clean) if trace.asked else None,
        situation=clean_situation(trace.situation, clean, redacted_words=redacted_words),
        stages=tuple(_clean_stage(stage, clean, redacted_words) for stage in trace.stages),
        candidates=tuple(_clean_candidate(candidate, clean) for candidate in trace.candidates),
        why=replace(trace.why, detail=clean(trace.why.detail)) if trace.why else None,
        block="\n".join(clean(line) for line in trace.block.split("\n")),
    )


def _clean_candidate(candidate: TracedCandidate, clean: Clean) -> TracedCandidate:
    if not candidate.content and not candidate.reasons:
        return candidate
    content = clean(_cut_end(candidate.content, TRACED_CHARS))
    return replace(candidate, content=content, reasons=_all(candidate.reasons, clean))


def _clean_asked(inputs: AskedWith, clean: Clean) -> AskedWith:
    return replace(
        inputs,
        text=clean(_cut_end(inputs.text, READ_CHARS)),
        previous=clean(_cut_start(inputs.previous, MESSAGE_END_CHARS)),
        prompts=tuple(clean(_cut_end(prompt, PROMPT_CHARS)) for prompt in inputs.prompts),
        tools=tuple(clean(_cut_end(tool, STEP_CHARS)) for tool in inputs.tools),
        files=_all(inputs.files, clean),
        command=clean(inputs.command),
        paths=_all(inputs.paths, clean),
        written=clean(_cut_end(inputs.written, WRITTEN_CHARS)),
        error=clean(_cut_start(inputs.error, ERROR_CHARS)),
    )


def clean_situation(
    situation: Situation, clean: Clean, *, redacted_words: RedactedWords = NOTHING_REDACTED
) -> Situation:
    """Return the situation with its objects, paths, commands and notes redacted.

    `redacted_words` = words that redaction took out of the text that the situation was read from: they are removed here
    as well. Terms that look random are dropped.
    """

    def kept(terms: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(clean(term) for term in redacted_words.clean(terms) if not is_opaque(term))

    return replace(
        situation,
        objects=kept(situation.objects),
        paths=kept(situation.paths),
        commands=kept(situation.commands),
        notes=tuple(
            replace(note, detail=clean(redacted_words.without(note.detail)))
            for note in situation.notes
            if not is_opaque(note.detail)
        ),
    )


def _clean_stage(stage: StageRecord, clean: Clean, redacted_words: RedactedWords) -> StageRecord:
    losses = tuple(replace(loss, detail=clean(redacted_words.without(loss.detail))) for loss in stage.losses)
    facts = tuple(replace(fact, detail=clean(redacted_words.without(fact.detail))) for fact in stage.facts)
    return replace(stage, losses=losses, facts=facts)


def _clean_failure(failure: PendingFailure, clean: Clean) -> PendingFailure:
    redacted_words = redacted_words_of((failure.command, failure.error), clean)
    return replace(
        failure,
        command=clean(failure.command),
        signature=clean(redacted_words.without(failure.signature)),
        error=clean(_cut_start(failure.error, MESSAGE_END_CHARS)),
        edited_files=_all(failure.edited_files, clean),
    )


def _all(texts: tuple[str, ...], clean: Clean) -> tuple[str, ...]:
    return tuple(clean(text) for text in texts)


def _cut_end(text: str, limit: int) -> str:
    """Replace the last word of a text of `limit` characters or more by "...": it may be half a secret, which nobody recognizes."""
    return _LAST_WORD.sub("...", text) if len(text) >= limit else text


def _cut_start(text: str, limit: int) -> str:
    return _FIRST_WORD.sub("...", text) if len(text) >= limit else text
