"""Spans of OpenTelemetry around requests, where its packages are installed and set up; nothing otherwise. Holds routes and statuses, no bodies."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from tacit import __version__

_Done = Callable[[int], None]


@contextmanager
def request_span(method: str, route: str) -> Generator[_Done]:
    """A span for one request; call what it gives with the status of the answer. Set the SDK up with `opentelemetry-instrument`, as for any program."""
    tracer = _tracer()
    if tracer is None:
        yield _no_span
        return
    attributes = {"http.request.method": method, "http.route": route}
    with tracer.start_as_current_span(f"{method} {route}", attributes=attributes) as span:
        yield lambda status: span.set_attribute("http.response.status_code", status)


def _no_span(_status: int) -> None:
    """Nothing is traced."""


def _tracer() -> Any:
    """The tracer of whoever set OpenTelemetry up; None where it is not installed."""
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - no dependency of ours

    return trace.get_tracer("tacit.server", __version__)
