"""Stating, changing and forgetting memories on the user's or an agent's word. Every change is one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from tacit.app.reasons import change_text
from tacit.app.values import OpenStore
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.prepare import (
    checked_headline,
    checked_text,
    clean_trigger,
    entities_of_memory,
    offset_at,
    refuse_long,
    secrets_in,
    trigger_words,
)
from tacit.capture.store import ended_for, replaced_on_branch, with_amended_digests
from tacit.errors import InvalidInput, RefusedByRedaction
from tacit.model.change_reason import ChangeCause, ChangeReason, join_reasons
from tacit.model.changes import FORGOTTEN, Change, Draft, Retire, Rewrite, Skip, Supersede
from tacit.model.ids import new_id
from tacit.model.memory import (
    AGENT_SOURCES,
    LearnedOn,
    Memory,
    Provenance,
    Relation,
    Sensitivity,
    TrustTier,
    Validity,
)
from tacit.model.scope import UNIVERSAL, Scope, ScopeKind, project_scope
from tacit.model.session import SessionKey
from tacit.model.trigger import MAKER_RANK, Trigger, TriggerMaker
from tacit.ports.store import ProjectRecord
from tacit.reading.marks import kind_of
from tacit.reading.memory_vectors import memory_vectors
from tacit.reading.trigger import make_trigger
from tacit.reading.when import parse_when
from tacit.safety.redact import TextRedactor
from tacit.safety.trust import sensitivity_of

IMPORTANCE_STEP = 0.05


class Edits(TypedDict, total=False):
    """The fields of a memory that an edit sets; a field that is left out or None stays as it is.

    `headline` "" = it is made from the words. `all_branches` = from now on it holds on all branches.
    """

    content: str | None
    kind: str | None
    when: str | Sequence[str] | Trigger | None
    scope: Scope | None
    importance: float | None
    pinned: bool | None
    sensitivity: Sensitivity | None
    headline: str | None
    all_branches: bool


class Memories:
    """Stores, changes and retires memories, and records feedback on them. It checks no permission: `tacit.verbs` does."""

    def __init__(self, opened: OpenStore, *, capture: CapturePipeline) -> None:
        self._parts, self._projects, self._changed = opened.parts, opened.projects, opened.changed
        self._capture = capture

    def remember(
        self,
        content: str,
        *,
        cwd: str,
        tier: TrustTier,
        source: str,
        kind: str | None = None,
        scope: Scope | None = None,
        when: str | Sequence[str] | Trigger | None = None,
        session: SessionKey | None = None,
        pinned: bool = False,
        files: Sequence[str] = (),
        sensitivity: Sensitivity | None = None,
        confirmed: bool = True,
        replaces: Sequence[Memory] = (),
        spoken_of: Collection[str] = (),
        all_branches: bool = False,
        told: ChangeReason | None = None,
        headline: str = "",
    ) -> tuple[Change, ...]:
        """Store one statement and return the changes; see `Engine.remember`.

        `confirmed` False = a statement that could do harm waits for the user's review. `told` = how an agent's note was
        judged; the changes that are returned say it. `replaces` are the memories that it is said to replace,
        `spoken_of` the ids of those that the user's quoted words speak of.
        """
        text = content.replace("\0", "").strip()
        if not text:
            raise InvalidInput("There is nothing to remember: the text is empty.", hint="Give one statement.")
        refuse_long(text)
        name = self._parts.kinds.get(kind).name if kind else kind_of(text)
        project = self._projects.of(cwd)
        own_scope = project_scope(project.id) if project else UNIVERSAL
        place = self._projects.with_id(scope, here=project) if scope else own_scope
        if own_scope.of_user and place != own_scope and place.kind is not ScopeKind.SESSION:
            raise InvalidInput(
                f"What is stored for one user cannot have the scope {place}.", hint="Leave the scope out."
            )
        if when or files:
            _refuse_secrets(self._parts.redactor.at(place), when=when, files=files)
        self._require_known(place, project)
        paths = self._projects.relative(tuple(files), project, cwd)
        maker: TriggerMaker = "user" if tier is TrustTier.USER else "agent"
        draft = Draft(
            content=text,
            kind=name,
            scope=place,
            provenance=Provenance(
                tier=tier,
                source=source,
                host=session.host if session else "",
                session_id=session.session_id if session else "",
                span=text[:500],
            ),
            at_ms=self._parts.clock.now_ms(),
            explicit=tier is TrustTier.USER,
            trigger=_trigger(when, maker)
            or make_trigger(text, kind=name, files=paths, kinds=self._parts.kinds),
            files=paths,
            pinned=pinned,
            sensitivity=sensitivity_of(sensitivity, scope=place, session=session is not None),
            confirmed=confirmed and tier is TrustTier.USER and source not in AGENT_SOURCES,
            branch=None if all_branches else self._branch_here(place, project),
            headline=headline,
        )
        live = [
            memory
            for memory in replaces
            if memory.status in ("active", "quarantined") and memory.content != text
        ]
        if live:
            changes = self._capture.store_in_place(draft, live, spoken_of=spoken_of)
        else:
            changes = self._capture.store_drafts([draft])
        refused = [c for c in changes if isinstance(c, Skip)]
        if refused and len(refused) == len(changes) and refused[0].reason.cause is ChangeCause.SECRET:
            raise RefusedByRedaction(
                f"Nothing was stored: the statement {change_text(refused[0].reason)}.",
                hint="Leave the secret out and say it again.",
            )
        if told is None:
            return changes
        return tuple(
            change if isinstance(change, Rewrite) else _with_reason(change, told) for change in changes
        )

    def _require_known(self, place: Scope, project: ProjectRecord | None) -> None:
        """Raise if the project of the scope `place` is not known; register `project`, that of the folder, if the scope belongs to it.

        Raises:
            InvalidInput: the project is not known.
        """
        if project and place.project_id == project.id:
            self._projects.register(project)
        elif place.project_id and all(p.id != place.project_id for p in self._parts.store.projects()):
            raise InvalidInput(
                f"No project {place.project_id!r} is known.",
                hint="`tacit list --all` shows the scopes; leave --scope out for the project of the folder.",
            )

    def _branch_here(self, place: Scope, project: ProjectRecord | None) -> LearnedOn | None:
        """Return the unmerged branch to bind a new statement to; None if the scope `place` does not belong to `project`."""
        if project is None or place.project_id != project.id:
            return None
        return self._projects.branches.learned_on(project)

    def edit(self, memory: Memory, *, confirms: bool = True, **edits: Unpack[Edits]) -> Memory:
        """Store a new version of `memory` under its id and return it; see `edited`. With `all_branches`, what it replaced on its branch ends."""
        changed = self.edited(memory, confirms=confirms, **edits)
        if memory.branch is None or changed.branch is not None:
            self._write([Rewrite(memory=changed)])
            return changed
        why = ChangeReason(cause=ChangeCause.HOLDS_ON_ALL)
        old = replaced_on_branch(self._parts.store, memory)
        changes, relations = ended_for(changed, old, why, changed.updated_at_ms)
        self._write([Rewrite(memory=changed, reason=why), *changes], relations=relations)
        return changed

    def edited(self, memory: Memory, *, confirms: bool = True, **edits: Unpack[Edits]) -> Memory:
        """Return a new version of `memory` with these fields, without storing it.

        `confirms` = the user edits: it becomes active, with the tier user. False = an agent does, which leaves status and tier as they are.
        The new version holds on all branches if `all_branches` is set, if its branch is gone, or if its scope is not within a project.

        Raises:
            InvalidInput: if it is retired or superseded, the text is empty or too long, or the sensitivity cannot be kept.
            RefusedByRedaction: if the text or `when` holds a secret.
        """
        _must_be_live(memory)
        content, kind, when = edits.get("content"), edits.get("kind"), edits.get("when")
        importance, pinned, headline = edits.get("importance"), edits.get("pinned"), edits.get("headline")
        named_scope = edits.get("scope")
        scope = self._projects.with_id(named_scope, here=None) if named_scope else memory.scope
        redactor = self._parts.redactor.at(scope)
        _refuse_secrets(redactor, when=when)
        named_kind = self._parts.kinds.get(kind) if kind else None
        text = memory.content
        if content is not None:
            text = _checked(content, redactor)
        trigger = memory.trigger
        if when is not None:
            trigger = _trigger(when, "user" if confirms else "agent") or trigger
        elif content is not None and MAKER_RANK[trigger.maker] == 0:
            trigger = self._capture.maker(text, kind=kind or memory.kind, files=memory.files)
        kept = memory.headline if text == memory.content else ""
        return replace(
            memory.leading() if confirms else memory,
            content=text,
            headline=kept if headline is None else checked_headline(headline, redactor),
            kind=named_kind.name if named_kind else memory.kind,
            trigger=clean_trigger(trigger, redactor),
            scope=scope,
            importance=memory.importance if importance is None else importance,
            pinned=memory.pinned if pinned is None else pinned,
            sensitivity=sensitivity_of(
                edits.get("sensitivity"),
                scope=scope,
                session=bool(memory.session),
                before=memory.sensitivity,
            ),
            provenance=replace(memory.provenance, tier=TrustTier.USER) if confirms else memory.provenance,
            status="active" if confirms and memory.status == "quarantined" else memory.status,
            entities=entities_of_memory(text, files=memory.files),
            tokens=self._parts.tokens.count(text),
            updated_at_ms=self._parts.clock.now_ms(),
            branch=_until_gone(memory) if scope.project_id and not edits.get("all_branches") else None,
        )

    def supersede(
        self, memory: Memory, content: str, *, kind: str | None, when: str | None, scope: Scope | None
    ) -> tuple[Change, ...]:
        """Replace `memory` with another statement, on the user's word, and return the change; what is None stays as in `memory`.

        Raises:
            InvalidInput: if it is retired or superseded, or the text is empty, too long or the same.
            RefusedByRedaction: if the text or `when` holds a secret.
        """
        _must_be_live(memory)
        place = scope or memory.scope
        redactor = self._parts.redactor.at(place)
        _refuse_secrets(redactor, when=when)
        text = _checked(content, redactor)
        now = self._parts.clock.now_ms()
        name = self._parts.kinds.get(kind).name if kind else memory.kind
        trigger = _trigger(when, "user")
        if trigger is None:
            own = MAKER_RANK[memory.trigger.maker] > 0
            trigger = memory.trigger if own else self._capture.maker(text, kind=name, files=memory.files)
        later = replace(
            memory,
            id=new_id("mem", now_ms=now, entropy=self._parts.clock.entropy(5)),
            content=text,
            kind=name,
            scope=place,
            trigger=clean_trigger(trigger, redactor),
            provenance=Provenance(tier=TrustTier.USER, source=memory.provenance.source, span=text[:500]),
            validity=Validity(valid_from_ms=now, offset_ms=offset_at(now, self._parts.clock)),
            status="active",
            created_at_ms=now,
            updated_at_ms=now,
            confidence=1.0,
            frequency=1,
            use_count=0,
            shown_count=0,
            evidence=(),
            entities=entities_of_memory(text, files=memory.files),
            tokens=self._parts.tokens.count(text),
            branch=_until_gone(memory),
        )
        change = Supersede(
            memory=later, old_id=memory.id, at_ms=now, reason=ChangeReason(cause=ChangeCause.REPLACED_BY_USER)
        )
        self._write([change])
        return (change,)

    def retire(self, memory: Memory, *, reason: ChangeReason = FORGOTTEN) -> Memory:
        """Stop recalling `memory` and return it as it was; its history stays until it is purged.

        Raises:
            InvalidInput: if it is retired already.
        """
        if memory.status == "retired":
            _must_be_live(memory)
        now = self._parts.clock.now_ms()
        redactor = self._parts.redactor.at(memory.scope)
        reason = reason.cleaned(lambda text: redactor.redact(text).text)
        self._write([Retire(memory_id=memory.id, at_ms=now, reason=reason)])
        return memory

    def _write(self, changes: Sequence[Change], *, relations: Sequence[Relation] = ()) -> None:
        """Store `changes` with their vectors, amend digests that quote what they end, and call `changed`."""
        amended = with_amended_digests(changes, self._parts.store)
        carried = [change.memory for change in amended if not isinstance(change, Retire | Skip)]
        embedder = self._parts.embedder
        self._parts.store.apply(
            amended,
            vectors=memory_vectors(carried, embedder=embedder) if carried else None,
            identity=embedder.identity if carried else None,
            relations=relations,
        )
        self._changed()

    def feedback(self, memory: Memory, *, useful: bool) -> None:
        """Count a use of `memory` if it was useful, else lower its importance by `IMPORTANCE_STEP`."""
        if useful:
            self._parts.store.count_usage(used=[memory.id])
            return
        # Its time stays: what was not useful must not look fresher for it.
        lowered = replace(memory, importance=max(0.0, memory.importance - IMPORTANCE_STEP))
        vectors = memory_vectors([memory], embedder=self._parts.embedder)
        self._parts.store.apply(
            [Rewrite(memory=lowered, reason=ChangeReason(cause=ChangeCause.NOT_USEFUL))],
            vectors=vectors,
            identity=self._parts.embedder.identity,
        )


def _trigger(when: str | Sequence[str] | Trigger | None, maker: TriggerMaker) -> Trigger | None:
    if when is None or isinstance(when, Trigger):
        return when
    has_words = when.strip() if isinstance(when, str) else any(item.strip() for item in when)
    return parse_when(when, maker=maker) if has_words else None


def _refuse_secrets(
    redactor: TextRedactor, *, when: str | Sequence[str] | Trigger | None, files: Sequence[str] = ()
) -> None:
    """Raise `RefusedByRedaction` if `when` or `files` holds a secret; to leave it out silently would hide that."""
    words = (
        trigger_words(when) if isinstance(when, Trigger) else (when,) if isinstance(when, str) else when or ()
    )
    for name, terms in (("when", words), ("files", files)):
        if secrets := secrets_in(terms, redactor):
            raise RefusedByRedaction(
                f"Nothing was stored: `{name}` holds a secret ({secrets}).",
                hint="Leave the secret out and say it again.",
            )


def _until_gone(memory: Memory) -> LearnedOn | None:
    """Return the branch that a memory stays bound to when the user edits it; None if its branch is gone."""
    return None if memory.branch is not None and memory.branch.gone else memory.branch


def _must_be_live(memory: Memory) -> None:
    if memory.status in ("retired", "superseded"):
        raise InvalidInput(
            f"{memory.id} is {memory.status}; it cannot be changed.",
            hint=f"`tacit show {memory.id}` shows its history; state it again with `tacit remember`.",
        )


def _with_reason(change: Change, why: ChangeReason) -> Change:
    """Return the change with `why` added to its reason, for the answer; nothing is stored."""
    return replace(change, reason=join_reasons((change.reason, why)))


def _checked(content: str, redactor: TextRedactor) -> str:
    """Return `content` as the new text of a memory; raise if it is too long, empty, no statement, or holds a secret."""
    text = content.replace("\0", "").strip()
    refuse_long(text)
    text = checked_text(text, redactor)
    if not isinstance(text, Skip):
        return text
    if text.reason.cause is ChangeCause.SECRET:
        raise RefusedByRedaction(
            f"Nothing was changed: the text {change_text(text.reason)}.",
            hint="Leave the secret out and say it again.",
        )
    raise InvalidInput(
        f"Nothing was changed: the text is {change_text(text.reason)}.", hint="Give one short statement."
    )
