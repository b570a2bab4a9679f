"""Organizations and teams on the server: who belongs to them, what they share, and who did what.

`members` keeps people, roles, projects and service accounts; `statements` reads what somebody wants to share; `requests` lets reviewers decide and hands
shared memories out;
`endpoints` is the HTTP interface. Every transaction is done for a principal, and the database shows a team to its members alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.backends.postgres.connection import Connections
from tacit.capture.prepare import Preparer
from tacit.config.settings import EmbedderSettings, PrivacySettings
from tacit.model.kinds import BUILTIN_KINDS
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit.providers.tokens import ExactCounter
from tacit.safety.redact import Redactor
from tacit.server.logs import Logs
from tacit.server.teams.members import Members
from tacit.server.teams.requests import Requests
from tacit.server.teams.statements import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The teams of a server."""

    members: Members
    requests: Requests


def open_teams(
    connections: Connections, logs: Logs, *, clock: Clock | None = None, embedder: Embedder | None = None
) -> Teams:
    """The teams in the database of `connections`, whose people are the accounts of `logs`.

    Args:
        connections: to the database.
        logs: the accounts.
        clock: other than the system's.
        embedder: other than the shipped model, which is loaded at the first text.
    """
    time = clock or SystemClock()
    members = Members(connections, logs, now_ms=time.now_ms)
    preparer = Preparer(
        redactor=Redactor(PrivacySettings()), kinds=BUILTIN_KINDS, tokens=ExactCounter(), clock=time
    )
    reading = Reading(
        preparer=preparer, embedder=embedder or make_embedder(EmbedderSettings(), clock=time), clock=time
    )
    return Teams(members=members, requests=Requests(members, reading))
