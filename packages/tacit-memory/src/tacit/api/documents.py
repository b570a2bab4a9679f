"""Answers that describe the service itself: its OpenAPI document and its metrics. In: the process's numbers. Out: documents."""

from __future__ import annotations

from tacit.api.answering import Answer, Parameters, Service
from tacit.api.answers import Document
from tacit.api.requests import NoBody

HELP: dict[str, str] = {
    "requests": "Requests answered by this process.",
    "hooks": "Host events answered.",
    "injections": "Host events that got text.",
    "silences": "Host events that got nothing.",
    "busy": "Requests turned away because too many waited.",
    "late": "Host events whose deadline passed.",
    "refused": "Host events that could not be understood.",
    "errors": "Failures that were logged.",
    "spooled": "Host events taken from the spool.",
}
GAUGES: dict[str, str] = {
    "uptime_s": "Seconds since this process started.",
    "rss_bytes": "Memory that this process holds.",
    "queue": "Jobs that run or wait.",
}
STORE: dict[str, str] = {
    "memories_active": "Memories that can be recalled.",
    "memories_total": "Memories stored, superseded and retired ones too.",
    "projects": "Projects known.",
    "sessions": "Session records.",
    "exposures": "Memories handed over.",
    "traces": "Traces kept.",
    "handovers_pending": "Transcripts that wait to be read.",
    "vectors_missing": "Memories without a vector of this embedder.",
    "size_bytes": "Size of the store's file.",
}


def get_openapi(engine: Service, at: Parameters, request: NoBody) -> Answer[Document]:  # noqa: ARG001
    """Get this API as an OpenAPI 3.1 document.

    Generated clients and `/ui/api` are made from it.
    """
    return Answer(Document(**at.document()))


def get_metrics(engine: Service, at: Parameters, request: NoBody) -> Answer[None]:  # noqa: ARG001
    """Get numbers for Prometheus, in its text format 0.0.4.

    Counters of the process begin with `tacit_`, sizes of the store with `tacit_store_`.
    """
    counters = at.counters()
    store = engine.visibility(at.speaker).stats(engine.admin.stored())
    lines: list[str] = []
    for name, about in HELP.items():
        _metric(lines, f"tacit_{name}_total", "counter", about, counters.get(name, 0))
    for name, about in GAUGES.items():
        if name in counters:
            _metric(lines, f"tacit_{name}", "gauge", about, counters[name])
    for name, about in STORE.items():
        _metric(lines, f"tacit_store_{name}", "gauge", about, getattr(store, name))
    return Answer(None, text="\n".join((*lines, "")), media_type="text/plain; version=0.0.4; charset=utf-8")


def _metric(lines: list[str], name: str, kind: str, about: str, value: float) -> None:
    lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", f"{name} {value:.10g}"]
