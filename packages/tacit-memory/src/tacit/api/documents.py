"""Answers that describe the service itself: its OpenAPI document and its status. In: the process's numbers. Out: documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tacit.api.answering import Answer, Parameters, Service
from tacit.verbs.answers import AgentState, Check, Document, StatusView, status_view
from tacit.verbs.requests import NoBody

if TYPE_CHECKING:
    from tacit.hosts.install import HostStatus


def get_openapi(engine: Service, at: Parameters, request: NoBody) -> Answer[Document]:  # noqa: ARG001
    """Get this API as an OpenAPI 3.1 document.

    Generated clients and `/ui/api` are made from it.
    """
    return Answer(Document(**at.document()))


def get_status(engine: Service, at: Parameters, request: NoBody) -> Answer[StatusView]:  # noqa: ARG001
    """Get the state of the engine, the results of health checks, and numbers of the process.

    It has the version, the settings that matter, the number of memories, the state of the embedder and the
    language model, counts of silences, and warnings with advice. `ok` is false if one check failed; each check
    has a `hint` that says what to do.
    """
    status = engine.status(speaker=at.speaker)
    agents = _agents(engine, at)
    checks = [
        _check(
            "agents",
            at.installed is None or any(_is_connected(agent, engine.clock.now_ms()) for agent in agents),
            "No agent is connected and none was heard of lately, so nothing is noted and nothing given.",
            "`tacit install` connects yours.",
        ),
        _check(
            "store", not engine.damaged, "Damage was met in the store.", "`tacit doctor` says what to do."
        ),
        _check("warnings", not status.warnings, " ".join(status.warnings), ""),
        _check(
            "recall",
            status.recall_enabled,
            "recall.enabled is off.",
            "`tacit config set recall.enabled true`",
        ),
        _check(
            "shadow",
            not status.shadow,
            "Shadow mode: nothing is handed over.",
            "`tacit config set recall.shadow false`",
        ),
        _check(
            "capture",
            not status.store.handovers_pending,
            f"Transcripts that wait to be read: {status.store.handovers_pending}.",
            "They are read in the background.",
        ),
    ]
    return Answer(status_view(status, agents=agents, checks=checks, counters=at.counters()))


LATELY_MS = 30 * 24 * 3_600_000
"""An agent that was heard of in this time counts as connected, however its events come."""


def _agents(engine: Service, at: Parameters) -> list[AgentState]:
    """List the agents whose files name Tacit or which were heard of, then those that are there and could be connected."""
    heard = engine.admin.recalls.heard()
    installed: Mapping[str, HostStatus] = at.installed() if at.installed is not None else {}
    rows = [
        AgentState(
            host=host,
            state=installed[host].state if host in installed else "unknown",
            heard_ms=heard.get(host, 0),
            problems=_problems(installed[host]) if host in installed else [],
        )
        for host in dict.fromkeys((*heard, *installed))
    ]
    return sorted(rows, key=lambda row: (row.state == "absent", -row.heard_ms, row.host))


def _problems(found: HostStatus) -> list[str]:
    return [problem for problem in (*found.problems, found.waiting) if problem]


def _is_connected(agent: AgentState, now_ms: int) -> bool:
    return agent.state == "installed" or agent.heard_ms > now_ms - LATELY_MS


def _check(name: str, ok: bool, detail: str, hint: str) -> Check:
    return Check(name=name, ok=ok, detail="" if ok else detail, hint="" if ok else hint)
