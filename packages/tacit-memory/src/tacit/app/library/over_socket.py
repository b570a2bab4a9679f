"""The way to an engine in the daemon: requests on its Unix socket.

In: events and questions. Out: what the daemon answers. An event that gets no answer in time costs nothing but the block:
after it nothing is asked for a moment, and a daemon that is not there is started, at most every half minute. Questions
that a program asks outright raise what went wrong. Standard library only: a program that uses it loads no model.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlencode

from tacit.app.library.conversions import recall_from, recollection_from, record_from, stored_from
from tacit.app.library.engine_access import (
    EDITED_TEXT,
    HOST,
    MOST_CHANGED,
    Question,
    Revision,
    Selection,
    Statement,
    forgotten,
)
from tacit.app.library.item_access import DaemonItems, ItemAccess
from tacit.app.library.values import MemoryPage, MemoryRecord, RecallRecord, Recollection, Stored
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, StoreReadOnly, error_of

if TYPE_CHECKING:
    from tacit.app.queries.injection import InjectionFailed, InjectionResult

REST_S, REST_LONG_S = 0.3, 3.0
"""Nothing is asked for so long after an event without an answer; the second, when it was not the first in a row."""
TIMEOUT_S = 30.0
MARGIN_MS = 30.0
GRACE_S = 0.25
"""What an answer that was made in time may take longer, beyond a question's own deadline."""


class DaemonEngine:
    """The way to the daemon of one home. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        *,
        start: bool,
        on_failure: Callable[[Exception], None],
        timeout_s: float = TIMEOUT_S,
        token: str = "",
    ) -> None:
        """Ask the daemon of `home`, and start it where there is none if `start`.

        `on_failure` hears of silence; a question without a deadline of its own waits for `timeout_s` seconds.
        """
        self._client = DaemonClient(
            home,
            token=token,
            hint="`tacit doctor` says why; `Tacit.open()` works without one.",
            on_start_failure=on_failure,
        )
        self._start = start
        self._on_failure = on_failure
        self._timeout_s = timeout_s
        self._rest_until = 0.0
        self._misses = 0

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Mapping[str, object] | None:
        """Send one event of a conversation; None = no answer came. Never raises."""
        if time.monotonic() < self._rest_until:
            return None
        headers = {"X-Tacit-Deadline-Ms": str(max(50, round(deadline_ms - MARGIN_MS)))}
        try:
            status, data = self._client.send(
                "POST", f"/hook/{HOST}", payload, timeout_s=deadline_ms / 1000, headers=headers
            )
            value: object = json.loads(data) if data else None
        except (OSError, http.client.HTTPException, ValueError, DaemonUnavailable, StoreReadOnly) as error:
            self._misses += 1
            self._rest_until = time.monotonic() + (REST_LONG_S if self._misses > 1 else REST_S)
            self._on_failure(error)
            if self._start and not isinstance(error, TimeoutError):
                self._client.start_in_background()
            return None
        self._misses = 0
        if status >= 400:
            self._on_failure(error_of(value, status))
            return None
        return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

    def remember(self, statement: Statement) -> tuple[Stored, ...]:
        """Store one statement."""
        body: dict[str, object] = {
            "content": statement.content,
            "kind": statement.kind,
            "scope": statement.scope,
            "when": statement.when,
            "cwd": statement.cwd,
            "pinned": statement.pinned,
            "files": list(statement.files),
            "source": HOST,
            "user_words": statement.user_words,
            "replaces": list(statement.replaces),
        }
        if statement.sensitivity:
            body["sensitivity"] = statement.sensitivity
        if statement.session:
            body["session"] = {"host": HOST, "session_id": statement.session}
        return _changes(self._ask("POST", "/v1/remember", body))

    def recall(self, question: Question) -> Recollection:
        """Answer a question."""
        body: dict[str, object] = {
            "text": question.text,
            "cwd": question.cwd,
            "budget_tokens": question.budget_tokens,
            "agent": question.agent,
        }
        if question.session:
            body["session"] = {"host": HOST, "session_id": question.session}
        return recollection_from(self._ask("POST", "/v1/recall", body))

    def inject(
        self, text: str, *, session_id: str, cwd: str, deadline_ms: float | None
    ) -> InjectionResult | InjectionFailed:
        """Return the text to put before a prompt. Without a daemon it is empty, and `InjectionFailed` says why; the prompt is sent anyway."""
        from tacit.app.queries.injection import (  # noqa: PLC0415 - settings types come with it
            InjectionFailed,
            InjectionResult,
        )

        body = {"text": text, "session_id": session_id, "cwd": cwd, "deadline_ms": deadline_ms}
        within_s = self._timeout_s if deadline_ms is None else deadline_ms / 1000 + GRACE_S
        try:
            status, value = self._client.request_any(
                "POST", "/v1/inject", body, timeout_s=within_s, start=self._start
            )
        except (DaemonUnavailable, StoreReadOnly) as error:
            self._on_failure(error)
            reason = "timeout" if isinstance(error.__cause__, TimeoutError) else "store"
            return InjectionFailed(reason=reason, message=str(error), result=InjectionResult())
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if "result" not in fields:
            raise error_of(fields, status)
        result, failure = _result_from(fields["result"]), fields.get("failure")
        if not failure:
            return result
        return InjectionFailed(reason=failure["reason"], message=failure["message"], result=result)

    def list_memories(self, wanted: Selection) -> MemoryPage:
        """List memories."""
        asked: list[tuple[str, object]] = [("limit", wanted.limit), ("offset", wanted.offset)]
        asked += [("kind", kind) for kind in wanted.kinds]
        asked += [("scope", scope) for scope in wanted.scopes]
        asked += [("status", status) for status in wanted.statuses]
        asked += [
            (name, value) for name, value in (("text", wanted.text.strip()), ("cwd", wanted.cwd)) if value
        ]
        page = self._ask("GET", f"/v1/memories?{urlencode(asked)}", None)
        return MemoryPage(memories=tuple(map(record_from, page["memories"])), total=page["total"])

    def get(self, memory_id: str) -> MemoryRecord:
        """One memory."""
        return record_from(self._ask("GET", _memory(memory_id), None)["memory"])

    def edit(self, memory_id: str, revision: Revision) -> Stored:
        """Change a memory."""
        parts = asdict(revision)
        body = {
            name: value for name, value in parts.items() if value is not None and (name != "cwd" or value)
        }
        answer = self._ask("PATCH", _memory(memory_id), body)
        memory = record_from(answer["memory"])
        return Stored(
            change="edit",
            id=memory.id,
            content=memory.content,
            reason=EDITED_TEXT,
            change_id=answer["change_id"] or "",
        )

    def forget(self, memory_id: str, reason: str) -> Stored:
        """Stop recalling a memory."""
        path = f"{_memory(memory_id)}?{urlencode({'reason': reason})}" if reason else _memory(memory_id)
        answer = self._ask("DELETE", path, None)
        return forgotten(answer["memory"]["id"], reason, answer["change_id"] or "")

    def undo(self, change_id: str) -> tuple[Stored, ...]:
        """Take a change back."""
        return _changes(self._ask("POST", "/v1/undo", {"id": change_id}))

    def changed(self, change_id: str) -> tuple[MemoryRecord, ...]:
        """The memories that a change wrote."""
        query = urlencode({"change": change_id, "limit": MOST_CHANGED})
        entries = self._ask("GET", f"/v1/changes?{query}", None)["changes"]
        return tuple(record_from(entry["memory"]) for entry in entries)

    def history(self, memory_id: str) -> tuple[MemoryRecord, ...]:
        """All versions of a memory, oldest first."""
        versions = self._ask("GET", f"{_memory(memory_id)}/history", None)["versions"]
        return tuple(map(record_from, versions))

    def why(self, *, session: str, surface: str, limit: int) -> tuple[RecallRecord, ...]:
        """The newest recalls."""
        asked = {"limit": str(limit), "session": f"{HOST}/{session}" if session else "", "surface": surface}
        query = urlencode({name: value for name, value in asked.items() if value})
        return tuple(map(recall_from, self._ask("GET", f"/v1/traces?{query}", None)["traces"]))

    def export(self, form: str, cwd: str) -> str:
        """Memories as text."""
        query = urlencode({"format": form, **({"cwd": cwd} if cwd else {})})
        return self._client.request_text(
            "GET", f"/v1/export?{query}", timeout_s=self._timeout_s, start=self._start
        )

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Say whether an injected memory was useful."""
        self._ask("POST", f"{_memory(memory_id)}/feedback", {"useful": useful})

    @property
    def items(self) -> ItemAccess:
        """Return the access to the items of programs."""
        return DaemonItems(self._ask)

    def flush(self) -> None:
        """Do nothing: the daemon learns after its answers."""

    def close(self) -> None:
        """Do nothing: no connection is held open."""

    def _ask(self, method: str, path: str, body: object) -> Any:
        return self._client.request(method, path, body, timeout_s=self._timeout_s, start=self._start)[1]


def _memory(memory_id: str) -> str:
    return f"/v1/memories/{quote(memory_id, safe='')}"


def _changes(answer: Mapping[str, Any]) -> tuple[Stored, ...]:
    return tuple(stored_from(change, answer.get("change_id")) for change in answer["changes"])


def _result_from(value: object) -> InjectionResult:
    from tacit.app.queries.injection import InjectionResult  # noqa: PLC0415 - as above
    from tacit.model.sections import DivergenceAlert  # noqa: PLC0415

    fields = dict(cast("dict[str, Any]", value))
    fields["divergence_alerts"] = tuple(DivergenceAlert(**alert) for alert in fields["divergence_alerts"])
    for name in ("temporal_badges", "memories_included"):
        fields[name] = tuple(fields[name])
    return InjectionResult(**fields)
