"""Organizations and teams on the server: their members, what they share, and the audit log.

`members` stores people, roles, projects and service accounts. `statements` reads what somebody wants to share. `requests` stores share requests and
decisions, and hands out shared memories. `endpoints` is the HTTP interface. `access` opens a team for a principal, and `granted` keeps the memberships
that groups of an OpenID Connect provider give. Every transaction names its principal, and begins only for a member.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.capture.prepare import Preparer
from tacit.config.settings import EmbedderSettings, PrivacySettings
from tacit.model.kinds import BUILTIN_KINDS
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit.providers.tokens import ExactCounter
from tacit.safety.redact import Redactor
from tacit_server.logs import Logs
from tacit_server.postgres.connection import Connections
from tacit_server.teams.members import Members
from tacit_server.teams.requests import Requests
from tacit_server.teams.statements import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The teams of a server."""

    members: Members
    requests: Requests


def open_teams(
    connections: Connections, logs: Logs, *, clock: Clock | None = None, embedder: Embedder | None = None
) -> Teams:
    """Return the teams that lie in the database of `connections`.

    Args:
        connections: connections to the database.
        logs: the accounts of people.
        clock: None = the clock of the system.
        embedder: None = the shipped model, which is loaded when it is first used.
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
