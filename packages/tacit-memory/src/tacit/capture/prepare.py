"""A draft made ready for storing. In: a draft. Out: a redacted memory, or why nothing may be stored.

Redacts before anything else sees the words; a statement that held a secret is not stored at all. Reads no store.

The importance, 0 to 1, is found by one of three methods. `kind` takes the kind's base. `typed` is the formula of the typed seed (section
4.4), its scale of 0-2 halved: a base by type, +0.15 when stated outright, +0.1 when it concerns several files, +0.1 when stressed, at
most 1; what is said again gains when it is merged (`reconcile`). `ambient` takes the bases of the eight types behind the ambient seed.

The entities that a memory names, and its related memories. In: a statement with its files; stored memories.

Out: entities, relations. Pure. `updates` and `contradicts` come from reconciliation; here:

caused_by   of one exchange of a session: what the user said went wrong -> the error pattern that explains it
result_of   of one exchange: what the agent decided or brought about -> what the user asked for
part_of     a file's description -> that of a folder above it
related_to  shared entities, weighed by how rare they are: half of all that the memory names, at most three
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from tacit.config.settings import CaptureSettings
from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Draft, Skip
from tacit.model.ids import new_id
from tacit.model.kinds import BUILTIN_KINDS, Kind, KindRegistry
from tacit.model.memory import DAY_MS, Entity, LearnedOn, Memory, Provenance, Relation, TrustTier, Validity
from tacit.model.scope import Scope
from tacit.model.trigger import Trigger
from tacit.ports.clock import Clock
from tacit.ports.models import TokenCounter
from tacit.reading.headline import headline_of
from tacit.reading.terms import find_entities
from tacit.reading.trigger_model import LocalTriggers
from tacit.safety.danger import danger_from_others, danger_of
from tacit.safety.redact import TextRedactor
from tacit.safety.redacted_words import NOTHING_REDACTED, RedactedWords, find_redacted_words
from tacit.safety.trust import status_to_store
from tacit.text.lazy_regex import wording
from tacit.text.terminal_codes import strip_terminal_codes

_RULES = wording("rules")

MOST_RELATED = 3
LEAST_SHARED = 0.5
"""Least share of a memory's entities, weighted by rarity, that a related memory also names."""


def entities_of_memory(content: str, *, files: tuple[str, ...] = ()) -> tuple[Entity, ...]:
    """Return the entities that a statement names and one for each of its files, sorted, without repeats."""
    entities = set(find_entities(content))
    entities.update(Entity(kind="file", key=path.lower()) for path in files if path)
    return tuple(sorted(entities, key=lambda entity: (entity.kind, entity.key)))


def infer_relations(memory: Memory, others: Sequence[tuple[Memory, float]]) -> tuple[Relation, ...]:
    """Return the relations between `memory` and `others` (each with its share of common entities, 0-1), at most one a pair."""
    relations: list[Relation] = []
    shared: list[tuple[float, str]] = []
    for other, share in others:
        if other.id == memory.id:
            continue
        relation = _of_exchange(memory, other) or _of_exchange(other, memory) or _of_folder(memory, other)
        if relation is not None:
            relations.append(relation)
        elif share >= LEAST_SHARED:
            shared.append((-share, other.id))
    relations += [
        Relation(source_id=memory.id, target_id=name, type="related_to", weight=round(-share, 3))
        for share, name in sorted(shared)[:MOST_RELATED]
    ]
    return tuple(relations)


def same_exchange(memory: Memory, other: Memory) -> bool:
    """Whether both were said in the same turn of a session: after one prompt and before the next."""
    mine, theirs = memory.provenance, other.provenance
    return bool(mine.session_id) and (mine.host, mine.session_id, mine.turn) == (
        theirs.host,
        theirs.session_id,
        theirs.turn,
    )


def share_of_entities(memory: Memory, other: Memory) -> float:
    """Return the share (0-1) of the entities of `memory` that `other` has, too."""
    mine = set(memory.entities)
    return len(mine & set(other.entities)) / len(mine) if mine else 0.0


def _of_exchange(memory: Memory, other: Memory) -> Relation | None:
    """Return the relation of the user's words (`memory`) to the answer of agent or tool (`other`); None = none."""
    mine, theirs = memory.provenance.tier, other.provenance.tier
    if not same_exchange(memory, other) or mine is not TrustTier.USER or theirs is TrustTier.USER:
        return None
    answer = BUILTIN_KINDS.of_stored(other.kind)
    if answer.explains_errors and BUILTIN_KINDS.of_stored(memory.kind).is_symptom:
        return Relation(source_id=memory.id, target_id=other.id, type="caused_by")
    if answer.is_result:
        return Relation(source_id=other.id, target_id=memory.id, type="result_of")
    return None


def _of_folder(memory: Memory, other: Memory) -> Relation | None:
    if memory.kind != "file_context" or other.kind != "file_context":
        return None
    for part, whole in ((memory, other), (other, memory)):
        folders = [path for path in _files(whole) if not _has_ending(path)]
        if any(
            path != folder and path.startswith(f"{folder.rstrip('/')}/")
            for path in _files(part)
            for folder in folders
        ):
            return Relation(source_id=part.id, target_id=whole.id, type="part_of")
    return None


def _files(memory: Memory) -> list[str]:
    return [entity.key for entity in memory.entities if entity.kind == "file"]


def _has_ending(path: str) -> bool:
    return "." in path.rsplit("/", 1)[-1]


EXPLICIT, SEVERAL_FILES, STRESSED = 0.15, 0.1, 0.1
STRESS = ("important", "critical", "always", "never", "must", "!", "essential", "crucial")


def importance_of(draft: Draft, kind: Kind, settings: CaptureSettings) -> float:
    """Return the importance (0-1) that `draft` states, else that of its kind: by the settings, else the kind's own.

    With `capture.patterns: typed` a statement that is marked outright, names several files or is stressed gets more.
    """
    if draft.importance is not None:
        return draft.importance
    value = settings.importance.get(kind.name, kind.importance)
    if settings.patterns != "typed":
        return value
    value += EXPLICIT if draft.explicit else 0.0
    value += SEVERAL_FILES if len(draft.files) > 1 else 0.0
    value += STRESSED if any(mark in draft.content.lower() for mark in STRESS) else 0.0
    return round(min(1.0, value), 4)


MAX_CHARS = 2000
"""Most characters of a statement; anything longer is a document, not a memory."""
_MAX_SPAN = 600
_NO_ORDERS = frozenset({"digest", "todo", "error_pattern", "event", "outcome", "observation", "research"})
"""Kinds that report what happened and give no orders."""


@frozen
class Preparer:
    """Turns drafts into memories ready to store: redacts, checks, and sets importance, trigger and status."""

    redactor: TextRedactor
    kinds: KindRegistry
    tokens: TokenCounter
    clock: Clock
    maker: LocalTriggers = field(default_factory=LocalTriggers)
    settings: CaptureSettings = field(default_factory=CaptureSettings)

    def prepare(self, draft: Draft) -> Memory | Skip:
        """Return the redacted memory for `draft`, or a `Skip` that says why it may not be stored. Stores nothing.

        Raises:
            UnknownKind: if the draft's kind is not registered.
        """
        kind = self.kinds.get(draft.kind)
        draft = replace(draft, content=strip_terminal_codes(draft.content))
        redactor = self.redactor.at(draft.scope)
        content = checked_text(draft.content, redactor)
        if isinstance(content, Skip):
            return content
        tier = draft.provenance.tier
        status = status_to_store(
            tier, kind, confirmed=draft.explicit, read_off=draft.read_off, own_note=draft.provenance.own_note
        )
        if isinstance(status, ChangeReason):
            return Skip(content=content, reason=status)
        now = self.clock.now_ms()
        said_ms = (draft.at_ms or now) if draft.dated else 0
        files = clean_terms(draft.files, redactor)
        redacted_words = find_redacted_words(draft.content, content)
        trigger = self.maker.weighed(
            clean_trigger(draft.trigger, redactor, redacted_words=redacted_words), content, kind=kind.name
        )
        return Memory(
            id=new_id("mem", now_ms=now, entropy=self.clock.entropy(5)),
            kind=kind.name,
            content=content,
            scope=draft.scope,
            provenance=_provenance(draft.provenance, redactor),
            validity=Validity(valid_from_ms=said_ms, offset_ms=offset_at(said_ms, self.clock)),
            created_at_ms=now,
            updated_at_ms=now,
            importance=importance_of(draft, kind, self.settings),
            confidence=draft.confidence,
            trigger=trigger,
            status="quarantined" if self._doubted(draft) or _must_wait(draft, content) else status,
            sensitivity=draft.sensitivity,
            entities=entities_of_memory(content, files=files),
            files=files,
            error_signature=redactor.redact(draft.error_signature).text,
            evidence=tuple(redactor.redact(words).text[:_MAX_SPAN] for words in draft.evidence),
            tokens=self.tokens.count(content),
            pinned=draft.pinned,
            proofs=0 if draft.proofs and danger_of(content) else draft.proofs,
            branch=self._branch_of(draft, content),
            headline=checked_headline(draft.headline, redactor),
        )

    def _doubted(self, draft: Draft) -> bool:
        # A user who accepts a proposal does not accept each of its sentences.
        stated = draft.explicit and draft.provenance.tier is not TrustTier.ASSISTANT
        return not stated and draft.confidence < self.settings.auto_accept

    def _branch_of(self, draft: Draft, content: str) -> LearnedOn | None:
        """Return `draft.branch`, to bind the statement to it, if `content` names it; else None, and also outside a project and with the setting `branches` off."""
        if draft.branch is None or not (self.settings.branches and draft.scope.project_id):
            return None
        return draft.branch if names_branch(content, draft.branch.name) else None

    def redact(self, text: str, scope: Scope) -> str:
        """Return `text` without secrets and personal data, by the settings of `scope`."""
        return self.redactor.at(scope).redact(text).text


def checked_headline(headline: str, redactor: TextRedactor) -> str:
    """Return a headline ready to store: redacted, one line, cut; "" = it is to be made from the content."""
    text = redactor.redact(strip_terminal_codes(headline)).text
    return headline_of(text) if text.strip() else ""


def names_branch(content: str, name: str) -> bool:
    """Whether a statement says in so many words that it holds on the branch `name`, which is checked out.

    It says "on this branch", "on feat/queue we ..." or "on the queue branch". A name that is one plain word counts only beside the
    word "branch": "we charge a fee on payments" does not speak of the branch `payments`.
    """
    if _RULES.this_branch.search(content):
        return True
    quoted = rf"[`'\"]?{re.escape(name)}[`'\"]?(?![\w/-]|\.\w)"
    beside = rf"\b(?:branch|zweig|branche|rama|ramo) {quoted}|(?<![\w/.-])[`'\"]?{quoted} (?:git |feature )?branch\b"
    alone = rf"|\b(?:on|in|auf|sur|en|em|su) {quoted}" if re.search(r"[/_\d-]", name) else ""
    return bool(re.search(beside + alone, content, re.IGNORECASE))


def offset_at(at_ms: int, clock: Clock) -> int:
    """Return the offset of the user's time zone from UTC at a moment, in milliseconds.

    0 for midnight in UTC: that is a date without a time of day, as files and commits give it, and no clock moves it to another day.
    """
    return clock.local_offset_ms(at_ms) if at_ms % DAY_MS else 0


def _must_wait(draft: Draft, content: str) -> bool:
    """Whether a statement must wait for the user's review: it is doubtful, or would have agents do harm."""
    if draft.doubtful:
        return True
    if draft.confirmed or draft.provenance.tier < TrustTier.TEAMMATE:
        return False
    if draft.provenance.tier is TrustTier.TEAMMATE:  # who writes a file of the team chooses its kind, too
        return bool(danger_from_others(content))
    return draft.kind not in _NO_ORDERS and bool(danger_of(content))


def refuse_long(text: str) -> None:
    """Raise an error if `text` is too long for a memory.

    Raises:
        InvalidInput: if `text` has more than `MAX_CHARS` characters.
    """
    if len(text) > MAX_CHARS:
        raise InvalidInput(
            f"Nothing was stored: the text has {len(text):,} characters; a memory holds one statement of at most {MAX_CHARS:,}.",
            hint="Shorten it, or store several statements.",
        )


def checked_text(text: str, redactor: TextRedactor) -> str | Skip:
    """Return the redacted statement, or a `Skip` if it is empty, held a secret, or is too long."""
    cleaned = redactor.redact(text)
    content = cleaned.text.strip()
    if not content:
        return Skip(content="", reason=ChangeReason(cause=ChangeCause.EMPTY))
    if cleaned.has_secret:
        kinds = tuple(finding.kind for finding in cleaned.findings if finding.secret)
        return Skip(content=content, reason=ChangeReason(cause=ChangeCause.SECRET, terms=kinds))
    if len(content) > MAX_CHARS:
        return Skip(
            content=content[:80] + "...",
            reason=ChangeReason(cause=ChangeCause.TOO_LONG, terms=(str(MAX_CHARS),)),
        )
    return content


def clean_terms(terms: tuple[str, ...], redactor: TextRedactor) -> tuple[str, ...]:
    """Return the terms with marks in the place of personal data; a term that holds a secret is left out."""
    redactions = [redactor.redact(term) for term in terms]
    return tuple(done.text for done in redactions if not done.has_secret)


def secrets_in(terms: Iterable[str], redactor: TextRedactor) -> str:
    """Return the kinds of secrets found in `terms`, separated by commas; "" = none.

    For terms that somebody stated, which are then refused as a whole.
    """
    kinds = [finding.kind for term in terms for finding in redactor.redact(term).findings if finding.secret]
    return ", ".join(dict.fromkeys(kinds))


def trigger_words(trigger: Trigger) -> tuple[str, ...]:
    """Return all words and patterns of a trigger that a person may have written."""
    return (
        *(name for name, _ in trigger.actions), *trigger.objects, *trigger.paths, *trigger.languages,
        *trigger.commands, *trigger.tools, *trigger.topics, *trigger.phrases,
    )  # fmt: skip


def clean_trigger(
    trigger: Trigger, redactor: TextRedactor, *, redacted_words: RedactedWords = NOTHING_REDACTED
) -> Trigger:
    """Return the trigger without terms that hold a secret, or a piece of what redaction took out (`redacted_words`)."""
    return replace(
        trigger,
        actions=tuple(pair for pair in trigger.actions if not redactor.redact(pair[0]).has_secret),
        objects=clean_terms(redacted_words.clean(trigger.objects), redactor),
        paths=clean_terms(redacted_words.clean(trigger.paths), redactor),
        languages=clean_terms(trigger.languages, redactor),
        commands=clean_terms(redacted_words.clean(trigger.commands), redactor),
        tools=clean_terms(trigger.tools, redactor),
        topics=clean_terms(redacted_words.clean(trigger.topics), redactor),
        phrases=clean_terms(redacted_words.clean(trigger.phrases), redactor),
    )


def _provenance(original: Provenance, redactor: TextRedactor) -> Provenance:
    source, span = redactor.redact(original.source).text, redactor.redact(original.span).text[:_MAX_SPAN]
    return replace(original, source=source, span=span)
