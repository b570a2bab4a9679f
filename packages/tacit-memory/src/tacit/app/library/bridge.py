"""The library for a program with an event loop: every call runs on a thread. No logic of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tacit.app.library.message_formats import ROLE_CONTENT, MessageFormat
from tacit.app.library.session import Prepared, Session
from tacit.app.library.values import MemoryPage, MemoryRecord, RecallRecord, Recollection, Stored

if TYPE_CHECKING:
    from tacit.app.library.tacit import Tacit
    from tacit.app.queries.injection import InjectionResult

M = TypeVar("M")


class AsyncTacit:
    """`Tacit` with `await`; see there."""

    def __init__(self, memory: Tacit) -> None:
        """Ask `memory`."""
        self._memory = memory

    async def remember(
        self,
        content: str,
        *,
        kind: str | None = None,
        scope: str | None = None,
        when: str | Sequence[str] | None = None,
        files: Sequence[str] = (),
        pinned: bool = False,
        cwd: str | os.PathLike[str] | None = None,
        session: str = "",
        sensitivity: str = "",
        user_words: str = "",
        replaces: Sequence[str] = (),
    ) -> tuple[Stored, ...]:
        """See `Tacit.remember`."""
        return await asyncio.to_thread(
            self._memory.remember,
            content,
            kind=kind,
            scope=scope,
            when=when,
            files=files,
            pinned=pinned,
            cwd=cwd,
            session=session,
            sensitivity=sensitivity,
            user_words=user_words,
            replaces=replaces,
        )

    async def recall(
        self,
        text: str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        budget_tokens: int | None = None,
        agent: str = "",
        session: str = "",
    ) -> Recollection:
        """See `Tacit.recall`."""
        return await asyncio.to_thread(
            self._memory.recall, text, cwd=cwd, budget_tokens=budget_tokens, agent=agent, session=session
        )

    async def context_for(
        self,
        prompt: str,
        *,
        session: str = "",
        cwd: str | os.PathLike[str] | None = None,
        deadline_ms: float | None = None,
    ) -> InjectionResult:
        """See `Tacit.context_for`."""
        return await asyncio.to_thread(
            self._memory.context_for, prompt, session=session, cwd=cwd, deadline_ms=deadline_ms
        )

    async def prepare(
        self, session: Session, messages: Sequence[M], *, shape: MessageFormat = ROLE_CONTENT
    ) -> Prepared[M]:
        """See `Session.prepare`."""
        return await asyncio.to_thread(session.prepare, messages, shape=shape)

    async def list(
        self,
        *,
        text: str = "",
        kinds: Sequence[str] = (),
        scopes: Sequence[str] = (),
        statuses: Sequence[str] = ("active",),
        limit: int = 50,
        offset: int = 0,
        cwd: str | os.PathLike[str] | None = None,
    ) -> MemoryPage:
        """See `Tacit.list`."""
        return await asyncio.to_thread(
            self._memory.list,
            text=text,
            kinds=kinds,
            scopes=scopes,
            statuses=statuses,
            limit=limit,
            offset=offset,
            cwd=cwd,
        )

    async def get(self, memory_id: str) -> MemoryRecord:
        """See `Tacit.get`."""
        return await asyncio.to_thread(self._memory.get, memory_id)

    async def edit(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        kind: str | None = None,
        when: str | None = None,
        scope: str | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        sensitivity: str | None = None,
    ) -> Stored:
        """See `Tacit.edit`."""
        return await asyncio.to_thread(
            self._memory.edit,
            memory_id,
            content=content,
            kind=kind,
            when=when,
            scope=scope,
            importance=importance,
            pinned=pinned,
            sensitivity=sensitivity,
        )

    async def forget(self, memory_id: str, *, reason: str = "") -> Stored:
        """See `Tacit.forget`."""
        return await asyncio.to_thread(self._memory.forget, memory_id, reason=reason)

    async def undo(self, change_id: str) -> tuple[Stored, ...]:
        """See `Tacit.undo`."""
        return await asyncio.to_thread(self._memory.undo, change_id)

    async def history(self, memory_id: str) -> tuple[MemoryRecord, ...]:
        """See `Tacit.history`."""
        return await asyncio.to_thread(self._memory.history, memory_id)

    async def why(self, *, session: str = "", surface: str = "", limit: int = 10) -> tuple[RecallRecord, ...]:
        """See `Tacit.why`."""
        return await asyncio.to_thread(self._memory.why, session=session, surface=surface, limit=limit)

    async def export(self, form: str = "jsonl", *, cwd: str | os.PathLike[str] | None = "") -> str:
        """See `Tacit.export`."""
        return await asyncio.to_thread(self._memory.export, form, cwd=cwd)

    async def feedback(self, memory_id: str, *, useful: bool) -> None:
        """See `Tacit.feedback`."""
        await asyncio.to_thread(self._memory.feedback, memory_id, useful=useful)

    async def flush(self) -> None:
        """See `Tacit.flush`."""
        await asyncio.to_thread(self._memory.flush)

    async def close(self) -> None:
        """See `Tacit.close`."""
        await asyncio.to_thread(self._memory.close)
