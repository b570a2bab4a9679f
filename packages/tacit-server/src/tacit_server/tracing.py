"""OpenTelemetry spans around requests, if its packages are installed and set up. In: method and route. Out: a span without bodies or tokens."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from tacit import __version__

_Done = Callable[[int], None]


@contextmanager
def request_span(method: str, route: str) -> Generator[_Done]:
    """Open a span for one request. Yields a function to call with the HTTP status of the answer.

    `opentelemetry-instrument` sets the SDK up, as for any program.
    """
    tracer = _tracer()
    if tracer is None:
        yield _no_span
        return
    attributes = {"http.request.method": method, "http.route": route}
    with tracer.start_as_current_span(f"{method} {route}", attributes=attributes) as span:
        yield lambda status: span.set_attribute("http.response.status_code", status)


def _no_span(_status: int) -> None:
    """Ignore the status: no span is open."""


def _tracer() -> Any:
    """Return the tracer of the OpenTelemetry SDK; None = it is not installed."""
    if find_spec("opentelemetry") is None:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - not a dependency of Tacit

    return trace.get_tracer("tacit_server", __version__)
