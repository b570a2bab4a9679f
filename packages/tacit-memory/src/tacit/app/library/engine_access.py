"""The two ways to an engine: in this process, or in the daemon. The library asks either the same.

In: nothing. Out: a Protocol, and the way within the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, get_args

from tacit.app.library.conversions import found_of, recall_of, record_of, stored_of
from tacit.app.library.item_access import ItemAccess, LocalItems
from tacit.app.library.values import MemoryPage, MemoryRecord, RecallRecord, Recollection, Stored
from tacit.errors import InvalidInput
from tacit.model.memory import MemoryStatus, Sensitivity, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.safety.authority import require

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult

HOST = "library"
EDITED_TEXT, FORGOTTEN_TEXT = "edited", "forgotten"
MOST_CHANGED = 500
"""Most versions of one change that are looked at before it is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement to store; see `Tacit.remember`."""

    content: str
    kind: str | None = None
    scope: str | None = None
    when: str | Sequence[str] | None = None
    cwd: str = ""
    pinned: bool = False
    files: tuple[str, ...] = ()
    session: str = ""
    sensitivity: str = ""
    user_words: str = ""
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the memory; see `Tacit.recall`."""

    text: str
    cwd: str = ""
    budget_tokens: int | None = None
    agent: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories to list; see `Tacit.list`."""

    text: str = ""
    kinds: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    limit: int = 50
    offset: int = 0
    cwd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What to change of a memory, None = nothing; see `Tacit.edit`."""

    content: str | None = None
    kind: str | None = None
    when: str | None = None
    scope: str | None = None
    importance: float | None = None
    pinned: bool | None = None
    sensitivity: str | None = None
    cwd: str = ""


class EngineAccess(Protocol):
    """A way to an engine."""

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """Send one event of a conversation; None = no answer came. Never raises."""
        ...

    def remember(self, statement: Statement) -> tuple[Stored, ...]:
        """Store one statement."""
        ...

    def recall(self, question: Question) -> Recollection:
        """Answer a question."""
        ...

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """What to put before a prompt."""
        ...

    def list_memories(self, wanted: Selection) -> MemoryPage:
        """List memories."""
        ...

    def get(self, memory_id: str) -> MemoryRecord:
        """One memory."""
        ...

    def edit(self, memory_id: str, revision: Revision) -> Stored:
        """Change a memory."""
        ...

    def forget(self, memory_id: str, reason: str) -> Stored:
        """Stop recalling a memory."""
        ...

    def undo(self, change_id: str) -> tuple[Stored, ...]:
        """Take a change back."""
        ...

    def changed(self, change_id: str) -> tuple[MemoryRecord, ...]:
        """The memories that a change wrote."""
        ...

    def history(self, memory_id: str) -> tuple[MemoryRecord, ...]:
        """All versions of a memory, oldest first."""
        ...

    def why(self, *, session: str, surface: str, limit: int) -> tuple[RecallRecord, ...]:
        """The newest recalls."""
        ...

    def export(self, form: str, cwd: str) -> str:
        """Memories as text."""
        ...

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Say whether an injected memory was useful."""
        ...

    @property
    def items(self) -> ItemAccess:
        """Return the access to the items of programs."""
        ...

    def flush(self) -> None:
        """Wait until what was said is learned."""
        ...

    def close(self) -> None:
        """Let the way go."""
        ...


class LocalEngine:
    """The way to an engine of this process."""

    def __init__(
        self,
        engine: Engine,
        *,
        injection: Injection,
        on_failure: Callable[[Exception], None],
        speaker: Speaker = Speaker.AGENT,
    ) -> None:
        """Use `engine` with the authority of `speaker`; `on_failure` is called when an event cannot be handled."""
        self.engine = engine
        self._speaker = speaker
        self.injection = injection
        self._on_failure = on_failure

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """Send one event of a conversation; None = no answer came. Never raises."""
        try:
            text = self.engine.hook(HOST, payload, deadline_ms=deadline_ms)
        except Exception as error:  # noqa: BLE001 - the way's boundary: a broken store costs the blocks, not the request
            self._on_failure(error)
            return None
        return cast("Mapping[str, object]", json.loads(text)) if text else {}

    def remember(self, statement: Statement) -> tuple[Stored, ...]:
        """Store one statement."""
        with self.engine.noting_changes() as written:
            changes = self.engine.remember(
                statement.content,
                kind=statement.kind,
                scope=self.engine.scope_called(statement.scope, statement.cwd) if statement.scope else None,
                when=statement.when,
                cwd=statement.cwd,
                pinned=statement.pinned,
                files=statement.files,
                session=_key(statement.session),
                sensitivity=Sensitivity.parse(statement.sensitivity) if statement.sensitivity else None,
                source="library",
                speaker=self._speaker,
                user_words=statement.user_words,
                replaces=statement.replaces,
            )
        return tuple(stored_of(change, written[-1] if written else "") for change in changes)

    def recall(self, question: Question) -> Recollection:
        """Answer a question."""
        from tacit.app.reasons import silence_text  # noqa: PLC0415 - a program on the socket does not load it

        recalled = self.engine.recall(
            question.text,
            cwd=question.cwd,
            budget_tokens=question.budget_tokens,
            agent=question.agent,
            session=_key(question.session),
            speaker=self._speaker,
        )
        return Recollection(
            text=recalled.block.text,
            tokens=recalled.block.tokens,
            memories=tuple(found_of(item) for item in recalled.pack.items),
            silence=silence_text(recalled.trace),
            trace_id=recalled.trace.id,
        )

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """What to put before a prompt."""
        return self.injection.inject_context(text, session_id, cwd=cwd, deadline_ms=deadline_ms)

    def list_memories(self, wanted: Selection) -> MemoryPage:
        """List memories."""
        from tacit.ports.store import MemoryFilter  # noqa: PLC0415 - a program on the socket does not load it

        engine, visible = self.engine, self.engine.visibility(self._speaker)
        statuses = None if "all" in wanted.statuses else cast("tuple[MemoryStatus, ...]", wanted.statuses)
        if unknown := set(statuses or ()) - set(get_args(MemoryStatus)):
            known = ", ".join((*get_args(MemoryStatus), "all"))
            raise InvalidInput(f"There is no status {min(unknown)!r}.", hint=f"Known: {known}.")
        where = MemoryFilter(kinds=wanted.kinds or None, statuses=statuses, sensitivities=visible.levels)
        scope = engine.visible(wanted.cwd) if wanted.cwd else None
        if wanted.scopes:
            scope = engine.admin.scopes([Scope.parse(text) for text in wanted.scopes], within=scope)
        first, last = wanted.offset, wanted.offset + wanted.limit
        if wanted.text.strip():
            within = scope if scope is not None else engine.admin.scopes(())
            hits = engine.admin.search.find(wanted.text, where, scope=within)
            memories = [hit.memory for hit in hits[first:last]]
            return MemoryPage(memories=tuple(map(record_of, memories)), total=len(hits))
        listed = engine.list_memories(where, scope=scope, limit=wanted.limit, offset=first)
        return MemoryPage(
            memories=tuple(map(record_of, listed)), total=engine.admin.count(where, scope=scope)
        )

    def get(self, memory_id: str) -> MemoryRecord:
        """One memory."""
        return record_of(self.engine.show(memory_id, speaker=self._speaker))

    def edit(self, memory_id: str, revision: Revision) -> Stored:
        """Change a memory."""
        require(authorized=self._speaker is Speaker.USER, what="change memories")
        with self.engine.noting_changes() as written:
            changed = self.engine.edit(
                memory_id,
                content=revision.content,
                kind=revision.kind,
                when=revision.when,
                scope=self.engine.scope_called(revision.scope, revision.cwd) if revision.scope else None,
                importance=revision.importance,
                pinned=revision.pinned,
                sensitivity=Sensitivity.parse(revision.sensitivity) if revision.sensitivity else None,
            )
        return Stored(
            change="edit",
            id=changed.id,
            content=changed.content,
            reason=EDITED_TEXT,
            change_id=written[-1] if written else "",
        )

    def forget(self, memory_id: str, reason: str) -> Stored:
        """Stop recalling a memory."""
        with self.engine.noting_changes() as written:
            memory = self.engine.forget(memory_id, reason=reason, speaker=self._speaker)
        return forgotten(memory.id, reason, written[-1] if written else "")

    def undo(self, change_id: str) -> tuple[Stored, ...]:
        """Take a change back."""
        require(authorized=self._speaker is Speaker.USER, what="take changes back")
        with self.engine.noting_changes() as written:
            changes = self.engine.review.undo(change_id)
        return tuple(stored_of(change, written[-1] if written else "") for change in changes)

    def changed(self, change_id: str) -> tuple[MemoryRecord, ...]:
        """The memories that a change wrote."""
        versions = self.engine.review.changes(change_id=change_id, limit=MOST_CHANGED)
        visible = self.engine.visibility(self._speaker).changes(versions)
        return tuple(record_of(version.memory) for version in visible)

    def history(self, memory_id: str) -> tuple[MemoryRecord, ...]:
        """All versions of a memory, oldest first."""
        return tuple(map(record_of, self.engine.history(memory_id, speaker=self._speaker)))

    def why(self, *, session: str, surface: str, limit: int) -> tuple[RecallRecord, ...]:
        """The newest recalls."""
        traces = self.engine.why(
            session=f"{HOST}/{session}" if session else None,
            surface=Surface(surface) if surface else None,
            limit=limit,
            speaker=self._speaker,
        )
        return tuple(map(recall_of, traces))

    def export(self, form: str, cwd: str) -> str:
        """Memories as text."""
        scope = self.engine.visible(cwd) if cwd else None
        if form == "markdown":
            return self.engine.transfer.export_markdown(scope=scope, speaker=self._speaker)
        return b"".join(self.engine.transfer.export(scope=scope, speaker=self._speaker)).decode("utf-8")

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Say whether an injected memory was useful."""
        self.engine.feedback(memory_id, useful=useful)

    @property
    def items(self) -> ItemAccess:
        """Return the access to the items of programs."""
        return LocalItems(self.engine, self._speaker)

    def flush(self) -> None:
        """Wait until what was said is learned."""
        self.engine.flush()

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


def _key(session: str) -> SessionKey | None:
    return SessionKey(host=HOST, session_id=session) if session else None


def forgotten(memory_id: str, reason: str, change_id: str) -> Stored:
    """The result of forgetting a memory."""
    return Stored(
        change="retire", id=memory_id, content="", reason=reason or FORGOTTEN_TEXT, change_id=change_id
    )


def open_in_process(
    home: Path | None,
    settings: Mapping[str, object] | None,
    on_failure: Callable[[Exception], None],
    *,
    token: str | None = None,
) -> LocalEngine:
    """Open the engine over `home`; see `tacit.app.wiring.open_engine` and `Tacit.open`."""
    from tacit.app.wiring import open_engine, open_injection  # noqa: PLC0415 - the model's libraries come with it
    from tacit.config.home import personal_token  # noqa: PLC0415 - as late as the engine
    from tacit.safety.authority import Authority, own_home  # noqa: PLC0415

    engine = open_engine(home, overrides=settings)
    user_token = personal_token() if token is None else token
    users = own_home(home) or Authority(engine.home).admits_token(user_token)
    return LocalEngine(
        engine,
        injection=open_injection(engine),
        on_failure=on_failure,
        speaker=Speaker.USER if users else Speaker.AGENT,
    )
