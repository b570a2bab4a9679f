"""The two ways to an engine: in this process, or in the daemon. The library asks either the same.

In: nothing. Out: a Protocol, and the way within the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from tacit.app.library.item_access import ItemAccess, LocalItems
from tacit.app.library.values import Found, Recollection, Stored
from tacit.app.reasons import change_text, silence_text
from tacit.model.changes import Retire, Skip
from tacit.model.memory import Speaker
from tacit.model.scope import Scope

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult
    from tacit.model.changes import Change
    from tacit.model.pack import PackItem

HOST = "library"


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


class EngineAccess(Protocol):
    """A way to an engine."""

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """Send one event of a conversation; None = no answer came. Never raises."""
        ...

    def remember(self, statement: Statement) -> tuple[Stored, ...]:
        """Store one statement."""
        ...

    def recall(self, text: str, *, cwd: str, budget_tokens: int | None) -> Recollection:
        """Answer a question."""
        ...

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """What to put before a prompt."""
        ...

    def forget(self, memory_id: str) -> None:
        """Stop recalling a memory."""
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
        from tacit.model.memory import Sensitivity  # noqa: PLC0415 - as late as the engine
        from tacit.model.session import SessionKey  # noqa: PLC0415 - as late as the engine

        session = SessionKey(host=HOST, session_id=statement.session) if statement.session else None
        changes = self.engine.remember(
            statement.content,
            kind=statement.kind,
            scope=Scope.parse(statement.scope) if statement.scope else None,
            when=statement.when,
            cwd=statement.cwd,
            pinned=statement.pinned,
            files=statement.files,
            session=session,
            sensitivity=Sensitivity.parse(statement.sensitivity) if statement.sensitivity else None,
            source="library",
            speaker=self._speaker,
            user_words=statement.user_words,
            replaces=statement.replaces,
        )
        return tuple(_stored(change) for change in changes)

    def recall(self, text: str, *, cwd: str, budget_tokens: int | None) -> Recollection:
        """Answer a question."""
        recalled = self.engine.recall(text, cwd=cwd, budget_tokens=budget_tokens, speaker=self._speaker)
        return Recollection(
            text=recalled.block.text,
            tokens=recalled.block.tokens,
            memories=tuple(_found(item) for item in recalled.pack.items),
            silence=silence_text(recalled.trace),
            trace_id=recalled.trace.id,
        )

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """What to put before a prompt."""
        return self.injection.inject_context(text, session_id, cwd=cwd, deadline_ms=deadline_ms)

    def forget(self, memory_id: str) -> None:
        """Stop recalling a memory."""
        self.engine.forget(memory_id, speaker=self._speaker)

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


def _stored(change: Change) -> Stored:
    name = type(change).__name__.lower()
    if isinstance(change, Skip):
        return Stored(change=name, id="", content=change.content, reason=change_text(change.reason))
    if isinstance(change, Retire):
        return Stored(change=name, id=change.memory_id, content="", reason=change_text(change.reason))
    return Stored(
        change=name, id=change.memory.id, content=change.memory.content, reason=change_text(change.reason)
    )


def _found(item: PackItem) -> Found:
    memory = item.candidate.memory
    return Found(
        id=memory.id,
        kind=memory.kind,
        text=item.text,
        relevance=item.candidate.relevance,
        scope=str(memory.scope),
        tier=memory.provenance.tier.name.lower(),
        source=memory.provenance.source,
        created_at_ms=memory.created_at_ms,
        valid_from_ms=memory.validity.valid_from_ms,
        valid_to_ms=memory.validity.valid_to_ms,
    )


def stored_from(change: Mapping[str, Any]) -> Stored:
    """A change as the API writes it."""
    memory: Mapping[str, Any] = change.get("memory") or {}
    return Stored(
        change=str(change.get("change", "")),
        id=str(memory.get("id") or change.get("memory_id") or ""),
        content=str(memory.get("content") or change.get("content") or ""),
        reason=str(change.get("reason", "")),
    )


def recollection_from(answer: Mapping[str, Any]) -> Recollection:
    """An answer as the API writes it."""
    block, trace = answer["block"], answer["trace"]
    return Recollection(
        text=block["text"],
        tokens=block["tokens"],
        memories=tuple(
            Found(
                id=memory["id"],
                kind=memory["kind"],
                text=memory["text"],
                relevance=memory["relevance"],
                scope=memory["scope"],
                tier=memory["provenance"]["tier"],
                source=memory["provenance"]["source"],
                created_at_ms=memory["created_at_ms"],
                valid_from_ms=memory["validity"]["valid_from_ms"],
                valid_to_ms=memory["validity"]["valid_to_ms"],
            )
            for memory in answer["memories"]
        ),
        silence=trace["silence"],
        trace_id=trace["id"],
    )
