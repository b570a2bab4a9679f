"""How a leak run sends requests to a server with teams and checks the answers. In: a request, and whether the model allows it. Out: errors."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from tacit.model.memory import TrustTier
from tacit.model.shared import organization_of
from tacit.providers.clock import FakeClock
from tacit.providers.embedding.fake import FakeEmbedder
from tacit_evals.torture.sync_leaks import NOW, LeakRun
from tacit_evals.torture.team_model import MARKER, SERVICE_MARK, TeamModel
from tacit_server.postgres.connection import SERVER, Connections
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import Teams, open_teams
from tacit_server.teams.endpoints import TEAM_PREFIX

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
ODD = (
    "", " ", "\0", "a\0b", "..", "../../etc", SERVER, f"team:{SERVER}", "'; DROP TABLE members; --", "%", "_%", "/", "a/b/c", "None", "0", "-1",
    "1.1", "9" * 30, "1e308", "\ud800", "\u202eacme", "\U0001f4a5", "\uff0f", "x" * 5_000, "req_", "mem_", "user", "a\nb", "*", "{}",
)  # fmt: skip
"""Strings that name nothing."""


class TeamAsking(LeakRun):
    """Sends requests to one server with teams."""

    def __init__(self, connections: Connections, *, people: int, seed: int) -> None:
        """Create people with two devices each, and no teams yet."""
        self._connections = connections
        self._clock = FakeClock(now_ms=NOW, seed=seed)
        logs = PostgresLogs(connections)
        self._teams: Teams = open_teams(connections, logs, clock=self._clock, embedder=FakeEmbedder())
        super().__init__(logs, accounts=people, seed=seed, teams=self._teams, now_ms=self._clock.now_ms)
        self.model = TeamModel()
        self._tag = f"l{seed}x"
        self._names = re.compile(rf"{self._tag}o\d+(?:/t\d+)?(?![\w/-])")
        self._principals = re.compile(rf"leak-{seed}-\d+|{self._tag}o\d+/bot\d+")
        self._people = {account.name: account for account in self.accounts}
        self._calls: list[tuple[str, str, str, str]] = []
        """Calls that were not checked yet: principal, path, what was sent, answer."""
        self._cursors: list[str] = []

    # --- what is named in requests

    def _of(self, organization: str) -> list[str]:
        return [team for team in self.model.members if organization_of(team) == organization]

    def _waiting(self, who: str, team: str) -> list[str]:
        return [
            name
            for name, asked in self.model.requests.items()
            if asked.team == team and asked.state == "waiting" and self.model.sees_request(who, asked)
        ]

    def _marker(self) -> str:
        return "zq" + "".join(self._chance.choice(_LETTERS) for _ in range(12))

    def _team(self, who: str, forged: bool) -> str:
        """Return one of the principal's teams. Forged: another team, often of the same organization, or a string that is not a team."""
        own = list(self.model.teams_of(who))
        if not forged and own:
            return self._chance.choice(own)
        chance = self._chance.random()
        if chance < 0.4 and own:
            return self._chance.choice(self._of(organization_of(self._chance.choice(own))))
        team = self._chance.choice(list(self.model.members))
        if chance < 0.8:
            return team
        return self._chance.choice(
            [
                *ODD,
                team.upper(),
                f"{team} ",
                f"{team}\0",
                team.replace("/", "\uff0f"),
                f"{team}/..",
                f"team:{team}",
                f"{organization_of(team)}/bot0",
            ]
        )

    def _other(self, team: str, forged: bool) -> str:
        """Return a principal: a member of the team, or anybody."""
        known = list(self.model.members.get(team, ()))
        if known and not (forged and self._chance.random() < 0.6):
            return self._chance.choice(known)
        anybody = [*self._people, *self.model.services]
        return self._chance.choice([*anybody, *ODD]) if forged else self._chance.choice(anybody)

    def _named(self, known: Sequence[str], everything: Sequence[str], forged: bool) -> str:
        """Return an id of `known`. Forged: any id of `everything`, or a string that is not an id."""
        if forged or not known:
            return self._chance.choice([*everything, *ODD]) if everything else self._chance.choice(ODD)
        return self._chance.choice(known)

    # --- asking

    def _token(self, who: str) -> str:
        account = self._people.get(who)
        return self._chance.choice(account.active).token if account else self.model.services[who].token

    def _call(
        self,
        who: str,
        method: str,
        path: str,
        body: object = None,
        *,
        allowed: bool | None,
        params: dict[str, str] | None = None,
        raw: bytes | None = None,
        token: str = "",
    ) -> Any:
        """Send a request and return the answer; None = it was refused. `allowed` = what the model says; None = both are right."""
        service = self.model.services.get(who)
        if service is not None and service.until_ms <= self._clock.now_ms():
            allowed = False
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if allowed and content is not None and (b"\\ud800" in content or b"\\u0000" in content):
            allowed = False
        query = f"?{urlencode(params, errors='surrogatepass')}" if params else ""
        asked_as = token or self._token(who)
        reply = self._send(who, asked_as, method, f"{TEAM_PREFIX}{path}{query}", content=content)
        answered = reply.status_code < 400
        sent = (content or b"").decode("utf-8", "replace") + str(params or "") + asked_as.rpartition(".")[0]
        if allowed is not None and answered is not allowed:
            what = "was answered" if answered else f"was refused with {reply.status_code}: {reply.text[:150]}"
            self._wrong(who, f"{method} {path} {what}: {sent[:300]!a}")
        self._calls.append((who, path, sent, reply.text))
        return msgspec.json.decode(reply.content) if answered else None

    def _wrong(self, who: str, what: str) -> None:
        self.found.wrong.append(f"{who}: {what}")

    def _same(self, who: str, what: str, told: object, known: object) -> None:
        if told != known:
            self._wrong(who, f"{what}: told {told!r:.300}, known {known!r:.300}")

    # --- looking

    def _inspect(self) -> None:
        """Check that no new answer holds something that its principal may not see. Names that the principal sent do not count."""
        for who, path, sent, text in self._calls:
            for marker in set(MARKER.findall(text)):
                echoed = marker in sent and not text.startswith('{"found"')
                if not self.model.sees_marker(who, marker) and not echoed:
                    self._wrong(who, f"{path}: words that they may not see: {marker}")
            said = set(self._names.findall(sent.replace("/bot", " ")))
            for team in set(self._names.findall(text)) - said - set(map(organization_of, said)):
                if not self.model.sees_team(who, team):
                    self._wrong(who, f"{path}: a team that they may not see: {team}")
            for other in set(self._principals.findall(text)) - set(self._principals.findall(sent)):
                if not self.model.sees_principal(who, other):
                    self._wrong(who, f"{path}: a principal that they may not see: {other}")
            if text.startswith("{"):
                self._look_at_values(who, path, msgspec.json.decode(text))
        self._calls.clear()

    def _look_at_values(self, who: str, path: str, value: Any) -> None:
        """Check that memories and requests in an answer have the right author, and a tier that the author may give."""
        if isinstance(value, list):
            for each in value:  # pyright: ignore[reportUnknownVariableType]
                self._look_at_values(who, path, each)
        if not isinstance(value, dict):
            return
        author, statement = value.get("author"), value.get("statement")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(author, str) and isinstance(statement, dict):
            known = self.model.memories.get(value["id"]) or self.model.requests.get(value["id"])
            if known is None or known.author != author:
                self._wrong(who, f"{path}: {value['id']} is said to be of {author}")
            if not is_allowed(author, TrustTier[statement["tier"].upper()]):
                self._wrong(who, f"{path}: {value['id']} of {author} has the tier {statement['tier']}")
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            self._look_at_values(who, path, each)


def is_allowed(author: str, tier: TrustTier) -> bool:
    """Return whether a memory of this author may have this tier."""
    most = TrustTier.ASSISTANT if SERVICE_MARK in author else TrustTier.TEAMMATE
    return tier is not TrustTier.USER and not most < tier
