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
from typing import TYPE_CHECKING, Any, cast

from tacit.client.daemon_client import DaemonClient
from tacit.client.http_request import path_and_body
from tacit.config.home import Home
from tacit.errors import DaemonUnavailable, StoreReadOnly, error_of
from tacit.library.engine_access import HOST

if TYPE_CHECKING:
    from tacit.app.queries.injection import InjectionFailed, InjectionResult

REST_S, REST_LONG_S = 0.3, 3.0
"""Seconds in which no event is sent after one without an answer: after the first one in a row, and after further ones."""
TIMEOUT_S = 30.0
MARGIN_MS = 30.0
GRACE_S = 0.25
"""Seconds that the answer may take longer than the deadline of the question, for the way back."""


class DaemonEngine:
    """Access to the daemon of one home. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        *,
        start: bool,
        on_failure: Callable[[Exception], None],
        timeout_s: float = TIMEOUT_S,
        token: str = "",
    ) -> None:
        """Access the daemon of `home`. `start` = start it if none runs.

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
        """Send one event of a conversation to the daemon; None = no answer. After an event without an answer, return None at once for a while; with `start`, a missing daemon is started in the background."""
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

    def ask(self, method: str, path: str, values: Mapping[str, object] | None = None) -> Any:
        """See `EngineAccess`."""
        path, body = path_and_body(method, path, values or {})
        return self._client.request(method, path, body, timeout_s=self._timeout_s, start=self._start)[1]

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
                "POST", "/v1/injections", body, timeout_s=within_s, start=self._start
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

    def flush(self) -> None:
        """Do nothing: the daemon learns after its answers."""

    def close(self) -> None:
        """Do nothing: no connection is held open."""


def _result_from(value: object) -> InjectionResult:
    from tacit.app.queries.injection import InjectionResult  # noqa: PLC0415 - as above
    from tacit.model.pack import DivergenceAlert  # noqa: PLC0415

    fields = dict(cast("dict[str, Any]", value))
    fields["divergence_alerts"] = tuple(DivergenceAlert(**alert) for alert in fields["divergence_alerts"])
    for name in ("temporal_badges", "memories_included"):
        fields[name] = tuple(fields[name])
    return InjectionResult(**fields)
