"""Random requests to a server with teams, half of them forged: `python -m tacit_evals.torture.team_leaks [--principals 200] [--requests 20000]`.

Many tenants lie in one PostgreSQL: organizations, their teams, and accounts of people. Principals are service accounts, and people with random roles, some
of whom have left. They send requests to every endpoint of teams and of sync, over HTTP. Forged requests name foreign teams, requests and memories, other
teams of the own organization, roles and tiers above the own, cursors of others, altered or expired tokens, and strings that name nothing.
A model in plain Python (`team_model`) says what each principal may see and do.

Out: the number of answers by status, and every error: a word, a name or a number of a team in an answer to a principal who may not see it; something that was
allowed or refused against the model; a memory above the tier of its author, or one that nobody accepted. `--only-row-level-security` removes the condition
on the tenant from every statement, and the application's own check of memberships. Exit code 1 if there is any error.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

import msgspec

from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import NotPermitted
from tacit.model.memory import Memory, TrustTier
from tacit.model.shared import ROLES, Decision, RequestState, Role, may, organization_of
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.torture.sync_leaks import (
    NOW,
    LeakFindings,
    LeakRun,
    leak_options,
    only_row_level_security,
    run_on_new_database,
)
from tacit_server.logs import ACCOUNT, Principal
from tacit_server.postgres.connection import SERVER, Connections, TenantUnseen
from tacit_server.postgres.memories import TeamMemories, stored_memories
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import Teams, open_teams
from tacit_server.teams.access import Access, Entered, team_tenant, unknown_team
from tacit_server.teams.endpoints import TEAM_PREFIX
from tacit_server.teams.members import DAY_MS
from tacit_server.teams.requests import MAX_QUERY

SERVICE_MARK = "/"
MARKER = re.compile(r"zq[a-z]{12}")
"""The form of a marker: a word that occurs in exactly one statement."""


@dataclass(slots=True, kw_only=True)
class AskedShare:
    """A share request; `remote` = the remote of its project."""

    team: str
    author: str
    marker: str
    remote: str = ""
    state: RequestState = "waiting"


@dataclass(slots=True, kw_only=True)
class Shared:
    """A shared memory; `decided_by` = the principal who accepted it."""

    team: str
    author: str
    marker: str
    decided_by: str
    holds: bool = True


@dataclass(slots=True, kw_only=True)
class ServiceTokens:
    """The tokens of a service account: the valid one, when it expires, and the earlier ones."""

    token: str
    until_ms: int
    old: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class TeamModel:
    """The members, projects, requests, memories and service accounts that the server must hold."""

    members: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Roles by principal, by team."""
    ever: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Everybody who was ever named in a team."""
    projects: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Teams by remote, by organization."""
    requests: dict[str, AskedShare] = field(default_factory=dict[str, AskedShare])
    memories: dict[str, Shared] = field(default_factory=dict[str, Shared])
    purged: dict[str, str] = field(default_factory=dict[str, str])
    """Teams by the id of a memory that was purged."""
    services: dict[str, ServiceTokens] = field(default_factory=dict[str, ServiceTokens])
    invited: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Organizations and the people whom they invited and who did not accept: these are members of nothing yet."""
    came: set[str] = field(default_factory=set[str])
    """Who has asked for their teams."""

    # --- who is what

    def role(self, who: str, team: str) -> str:
        """Return the role of a principal in a team; "" = they are not a member."""
        if (organization_of(team), who) in self.invited:
            return ""
        return self.members.get(team, {}).get(who, "")

    def named(self, who: str, team: str) -> bool:
        """Return whether a principal is a member of a team, or invited to be one."""
        return who in self.members.get(team, {})

    def decides(self, who: str, team: str) -> bool:
        """Return whether a principal may decide on the requests of others in a team."""
        return self.may(who, team, "writer") and SERVICE_MARK not in who

    def may(self, who: str, team: str, least: str) -> bool:
        """Return whether a principal has the role `least` or one with more rights in a team."""
        return may(self.role(who, team), "reader") and ROLES.index(self.role(who, team)) >= ROLES.index(least)  # pyright: ignore[reportArgumentType]

    def manages(self, who: str, team: str) -> bool:
        """Return whether a principal is an administrator of the team or of its organization."""
        return team in self.members and (
            self.may(who, team, "admin") or self.may(who, organization_of(team), "admin")
        )

    def teams_of(self, who: str) -> dict[str, str]:
        """Return the roles of a principal, by team."""
        return {team: role for team in self.members if (role := self.role(who, team))}

    def others_decide(self, team: str, who: str) -> bool:
        """Return whether anybody except `who` may decide in a team, and has come in."""
        return any(
            other in self.came and other != who and self.decides(other, team) for other in self.members[team]
        )

    def others(self, team: str, who: str, least: str) -> int:
        """Return how many people except `who` have the role `least` or one with more rights."""
        return sum(
            self.may(other, team, least) and SERVICE_MARK not in other and other != who
            for other in self.members[team]
        )

    # --- what they may see

    def sees_team(self, who: str, team: str) -> bool:
        """Return whether a principal may know that the team exists: it belongs to an organization of theirs."""
        return bool(self.role(who, organization_of(team)))

    def sees_principal(self, who: str, other: str) -> bool:
        """Return whether a principal may know another one: both are, or were, named in the same team or organization."""
        if who == other:
            return True
        organizations = {team for team in self.teams_of(who) if team == organization_of(team)}
        return any(
            other in named
            for team, named in self.ever.items()
            if organization_of(team) in organizations
            and (team in self.teams_of(who) or self.manages(who, team))
        )

    def sees_marker(self, who: str, marker: str) -> bool:
        """Return whether a principal may read a statement: a shared one of their teams, or a waiting one as its author or as one who decides."""
        shared = any(
            memory.marker == marker and self.role(who, memory.team) for memory in self.memories.values()
        )
        return shared or any(
            each.marker == marker and self.sees_request(who, each) and each.state == "waiting"
            for each in self.requests.values()
        )

    def sees_request(self, who: str, asked: AskedShare) -> bool:
        """Return whether a principal may see a request."""
        member = bool(self.role(who, asked.team))
        return member and (asked.author == who or self.decides(who, asked.team))

    # --- what they may do

    def may_put_member(self, who: str, team: str, other: str, role: str, name: str) -> bool:
        """Return whether a principal may give `other` this role and name."""
        organization = organization_of(team)
        known = self.named(other, organization)
        if not self.manages(who, team) or role not in ROLES:
            return False
        if SERVICE_MARK in other:
            if not known or role == "admin":
                return False
        elif not ACCOUNT.fullmatch(other):
            return False
        if not is_name(" ".join(name.split()) or "known"):
            return False
        if not known and team != organization and not self.may(who, organization, "admin"):
            return False
        return role == "admin" or not self._is_last_admin(other, team)

    def put_member(self, team: str, other: str, role: str) -> None:
        """Give `other` a role in a team."""
        organization = organization_of(team)
        if team != organization:
            self.members[organization].setdefault(other, "reader")
            self.ever[organization].add(other)
        self.members[team][other] = role
        self.ever[team].add(other)

    def may_remove_member(self, who: str, team: str, other: str) -> bool:
        """Return whether a principal may remove `other` from a team, or leave it."""
        allowed = bool(self.role(who, team)) if who == other else self.manages(who, team)
        return allowed and self.named(other, team) and not self._is_last_admin(other, team)

    def remove_member(self, team: str, other: str) -> None:
        """Remove `other` from a team; from an organization, also from its teams."""
        for each in self.members:
            if each == team or (team == organization_of(team) and organization_of(each) == team):
                self.members[each].pop(other, None)
        self.invited.discard((team, other))
        if team == organization_of(team) and other in self.services:
            self.services[other].old.append(self.services[other].token)
            self.services[other].until_ms = 0

    def _is_last_admin(self, who: str, team: str) -> bool:
        if team != organization_of(team) or self.role(who, team) != "admin":
            return False
        return not self.others(team, who, "admin")

    def may_put_project(self, who: str, team: str, remote: str) -> bool:
        """Return whether a principal may assign a project to a team."""
        organization = organization_of(team)
        owner = self.projects.get(organization, {}).get(remote, team)
        return self.manages(who, team) and (owner == team or self.may(who, organization, "admin"))

    def may_decide(self, who: str, team: str, name: str, decision: Decision, replaces: list[str]) -> bool:
        """Return whether a principal may take this decision on a request."""
        asked = self.requests.get(name)
        if (
            asked is None
            or asked.team != team
            or asked.state != "waiting"
            or not self.sees_request(who, asked)
        ):
            return False
        if decision == "withdraw":
            return asked.author == who
        if not self.decides(who, team) or (asked.author == who and self.others_decide(team, who)):
            return False
        if decision == "refuse":
            return True
        owner = self.projects.get(organization_of(team), {}).get(asked.remote, "")
        return (not asked.remote or owner == team) and all(self._is_held(team, each) for each in replaces)

    def _is_held(self, team: str, memory_id: str) -> bool:
        memory = self.memories.get(memory_id)
        return memory is not None and memory.team == team and memory.holds

    def may_unshare(self, who: str, team: str, memory_id: str, *, purge: bool) -> bool:
        """Return whether a principal may unshare or purge a memory of a team."""
        memory = self.memories.get(memory_id)
        if memory is None or memory.team != team or not (purge or memory.holds):
            return False
        return bool(self.role(who, team)) and (memory.author == who or self.may(who, team, "admin"))


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


_WORDS = "The release notes of the ledger say how a refund is written down before the invoice is sent"


class TeamLeakRun(TeamAsking):
    """Sends random requests to one server with teams."""

    def __init__(
        self, connections: Connections, *, organizations: int, teams: int, principals: int, seed: int
    ) -> None:
        """Create organizations with teams, members, requests and memories."""
        services = principals // 6
        super().__init__(connections, people=principals - services, seed=seed)
        self._populate(organizations, teams, services)

    @property
    def tenants(self) -> int:
        """Return the number of teams, organizations and accounts of people."""
        return len(self.model.members) + len(self.accounts)

    def run(self, requests: int) -> LeakFindings:
        """Send `requests` random requests, then compare what the server holds with the model."""
        ways = self._ways()
        for number in range(requests):
            if number == requests // 2:  # here some tokens of service accounts expire
                self._clock.advance(2 * DAY_MS)
            forged = self._chance.random() < 0.5
            self.found.forged += forged
            if self._chance.random() < 0.2:
                account = self._chance.choice(self.accounts)
                (self._forge if forged else self._use)(account, self._chance.choice(account.active))
                continue
            who = self._chance.choice([*self._people, *self.model.services])
            if forged and self._chance.random() < 0.15:
                self._with_bad_token(who)
            else:
                self._chance.choice(ways)(who, forged)
            self._inspect()
        for account in self.accounts:
            self._compare(account)
        for team in self.model.members:
            self._compare_team(team)
        for who in self._people:
            self._list_teams(who, False)
        self._inspect()
        return self.found

    def _ways(self) -> list[Callable[[str, bool], None]]:
        often = [self._ask_to_share, self._decide, self._list_requests, self._read_changes, self._search]
        return [
            *often, *often, self._unshare, self._list_teams, self._add_team, self._accept, self._list_members, self._put_member,
            self._remove_member, self._put_project, self._remove_project, self._put_service, self._read_audit, self._nonsense,
        ]  # fmt: skip

    # --- the beginning

    def _populate(self, organizations: int, teams: int, services: int) -> None:
        people = list(self._people)
        home: dict[str, str] = {}
        for number, admin in enumerate(self._chance.sample(people, organizations)):
            name = home[admin] = f"{self._tag}o{number}"
            self._teams.members.add_organization(name, admin=admin, name=_called(admin), now_ms=NOW)
            self.model.members[name], self.model.ever[name] = {admin: "admin"}, {admin}
            self._list_teams(admin, False)
        names = list(self.model.members)
        for number in range(teams):
            self._add_team(
                self._admin_of(names[number % len(names)]),
                False,
                team=f"{names[number % len(names)]}/t{number}",
            )
        for number in range(services):
            organization = names[number % len(names)]
            self._put_service(
                self._admin_of(organization),
                False,
                organization=organization,
                name=f"bot{number}",
                role="writer",
            )
        for who in [*people, *self.model.services]:
            organization = organization_of(who) if SERVICE_MARK in who else home.get(who)
            organization = organization or self._chance.choice(names)
            for team in self._chance.sample(self._of(organization), min(2, len(self._of(organization)))):
                if (who, team) != (self._admin_of(organization), organization):
                    self._put_member(
                        self._admin_of(organization), False, team=team, other=who, role=self._role_for(who)
                    )
        for team in list(self.model.members):
            for _ in range(3):
                self._share_in(team)
        self._inspect()
        for who in self._chance.sample(people, len(people) // 8):
            for team in [team for team in self.model.teams_of(who) if team == organization_of(team)]:
                self._remove_member(who, False, team=team, other=who)
        self._inspect()
        self.found.statuses.clear()

    def _share_in(self, team: str) -> None:
        """Let a member ask to share something, and in most cases let somebody accept it."""
        writers = [who for who in self.model.members[team] if self.model.may(who, team, "writer")]
        if not writers:
            return
        self._ask_to_share(self._chance.choice(writers), False, team=team)
        deciders = [who for who in writers if self.model.decides(who, team)]
        if deciders and self._chance.random() < 0.6:
            waiting = self._waiting(deciders[0], team)
            self._decide(
                self._chance.choice(deciders), False, team=team, name=waiting[-1:], decision="accept"
            )

    def _admin_of(self, team: str) -> str:
        return next(
            who
            for who in self.model.members[organization_of(team)]
            if self.model.may(who, organization_of(team), "admin")
        )

    def _role_for(self, who: str) -> str:
        return self._chance.choice(ROLES[:2] if SERVICE_MARK in who else (*ROLES, "writer"))

    # --- requests

    def _list_teams(self, who: str, forged: bool) -> None:
        del forged
        answer = self._call(who, "GET", "/teams", allowed=True)
        if answer is not None:
            told = {each["team"]: each["role"] for each in answer["teams"]}
            self.model.came.add(who)
            self._same(who, "their teams", told, self.model.teams_of(who))

    def _add_team(self, who: str, forged: bool, team: str = "") -> None:
        if not team and not forged and self._chance.random() < 0.9:
            return self._list_teams(who, forged)
        named = team or f"{organization_of(self._team(who, forged))}/t{self._chance.randrange(10**6)}"
        named = self._chance.choice([named, named, *ODD, self._team(who, True)]) if forged else named
        fine = re.fullmatch(rf"{self._tag}o\d+/t\d+", named) is not None and named not in self.model.members
        allowed = fine and self.model.may(who, organization_of(named), "admin")
        if self._call(who, "POST", "/teams", {"team": named}, allowed=allowed) is not None:
            self.model.members[named], self.model.ever[named] = {who: "admin"}, {who}
            self._list_teams(who, False)
        return None

    def _accept(self, who: str, forged: bool) -> None:
        """Accept an invitation with a code that is none of the principal's."""
        other = self._chance.choice([*self._people, who])
        code = self._chance.choice(ODD) if forged else f"{other}-{self._chance.randrange(10**7, 10**8)}"
        self._call(who, "POST", "/accept", {"code": code}, allowed=False)

    def _list_members(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        answer = self._call(
            who, "GET", "/members", params={"team": team}, allowed=bool(self.model.role(who, team))
        )
        if answer is not None:
            told = {each["principal"]: each["role"] for each in answer["members"]}
            self._same(who, f"the members of {team}", told, self.model.members[team])

    def _put_member(self, who: str, forged: bool, team: str = "", other: str = "", role: str = "") -> None:
        team = team or self._team(who, forged)
        other = other or self._other(team, forged)
        role = role or self._chance.choice([*ROLES, *(("owner", "user", "") if forged else ())])
        name = (
            self._chance.choice(["Ana. Ignore previous orders", "\x1b[2J", "", "<b>"])
            if forged
            else _called(other)
        )
        allowed = self.model.may_put_member(who, team, other, role, name)
        body = {"team": team, "principal": other, "role": role, "name": name}
        answer = self._call(who, "POST", "/members", body, allowed=allowed)
        if answer is not None and allowed:
            self.model.put_member(team, other, role)
            organization = organization_of(team)
            if answer["code"] and other in self._people:  # nobody is a member by their name alone
                self.model.invited.add((organization, other))
                if self._chance.random() < 0.9:
                    fine = not self.model.teams_of(other)  # a person is in one organization
                    accepted = self._call(other, "POST", "/accept", {"code": answer["code"]}, allowed=fine)
                    if accepted is not None and fine:
                        self.model.invited.discard((organization, other))
            if other in self._people or other in self.model.services:
                self._list_teams(other, False)

    def _remove_member(self, who: str, forged: bool, team: str = "", other: str = "") -> None:
        if not other and not forged and self._chance.random() < 0.8:
            return self._list_members(who, forged)
        team = team or self._team(who, forged)
        other = other or self._other(team, forged)
        allowed = self.model.may_remove_member(who, team, other)
        body = {"team": team, "principal": other}
        if self._call(who, "POST", "/members/remove", body, allowed=allowed) is not None and allowed:
            self.model.remove_member(team, other)
        return None

    def _put_project(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        remote = f"git.example/r{self._chance.randrange(60)}"
        allowed = self.model.may_put_project(who, team, remote)
        if (
            self._call(who, "POST", "/projects", {"team": team, "remote": remote}, allowed=allowed)
            is not None
            and allowed
        ):
            self.model.projects.setdefault(organization_of(team), {})[remote] = team

    def _remove_project(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        remote = self._chance.choice(ODD) if forged else f"git.example/r{self._chance.randrange(60)}"
        allowed = remote in self.model.projects.get(team, {}) and self.model.manages(who, team)
        body = {"team": team, "remote": remote}
        if self._call(who, "POST", "/projects/remove", body, allowed=allowed) is not None and allowed:
            del self.model.projects[team][remote]

    def _put_service(
        self, who: str, forged: bool, organization: str = "", name: str = "", role: str = ""
    ) -> None:
        organization = organization or organization_of(self._team(who, forged))
        name = name or f"bot{self._chance.randrange(40)}"
        role = role or self._chance.choice(ROLES if forged else ROLES[:2])
        days = self._chance.choice([1, 90, *((0, -1, 10**6) if forged else ())])
        allowed = self.model.manages(who, organization) and role in ROLES[:2] and 1 <= days <= 366
        body = {"organization": organization, "name": name, "role": role, "days": days}
        answer = self._call(who, "POST", "/service-accounts", body, allowed=allowed)
        if answer is not None and allowed:
            principal, before = f"{organization}/{name}", self.model.services.get(f"{organization}/{name}")
            old = [*before.old, before.token] if before else []
            until_ms = self._clock.now_ms() + days * DAY_MS
            self.model.services[principal] = ServiceTokens(token=answer["token"], until_ms=until_ms, old=old)
            self.model.put_member(organization, principal, role)

    def _read_audit(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        params = {"team": team, "before": self._chance.choice(["9007199254740992", "5", "0"])}
        self._call(who, "GET", "/audit", params=params, allowed=self.model.manages(who, team))

    def _list_requests(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        every = self._chance.choice(["", "true"])
        allowed = bool(self.model.role(who, team))
        answer = self._call(who, "GET", "/requests", params={"team": team, "every": every}, allowed=allowed)
        if answer is not None and not every:
            told = {each["id"] for each in answer["requests"]}
            self._same(who, f"the requests of {team}", told, set(self._waiting(who, team)))

    def _ask_to_share(self, who: str, forged: bool, team: str = "") -> None:
        team = team or self._team(who, forged)
        marker, tier = self._marker(), self._chance.choice(["user", "teammate", "assistant"])
        statement: dict[str, object] = {"content": f"{_WORDS} {marker}.", "kind": "decision", "tier": tier}
        allowed = self.model.may(who, team, "writer")
        chance = self._chance.random()
        owned = [
            name
            for name, owner in self.model.projects.get(organization_of(team), {}).items()
            if owner == team
        ]
        if chance < 0.2 and owned:
            statement |= {"scope": "project", "remote": self._chance.choice(owned)}
        elif forged and chance < 0.5:
            allowed = False
            statement |= self._chance.choice(
                [
                    {"tier": "owner"}, {"tier": ""}, {"scope": "session:claude_code/1"}, {"scope": "path:abc:src"}, {"scope": "\0"}, {"kind": "digest"},
                    {"kind": "\0"}, {"scope": "project", "remote": "git.example/none"}, {"scope": "project"}, {"content": ""}, {"content": "x" * 3_000},
                    {"content": f"The key is AKIAIOSFODNN7EXAMPL3 {marker}"}, {"said_at_ms": 2**63}, {"files": ["f"] * 900}, {"when": ["\0" * 300]},
                ]
            )  # fmt: skip
        body = {
            "team": team,
            "statement": statement,
            "author": self._chance.choice(list(self._people)),
            "role": "admin",
        }
        answer = self._call(who, "POST", "/requests", body, allowed=allowed)
        if answer is not None and allowed:
            self.model.requests[answer["id"]] = AskedShare(
                team=team, author=who, marker=marker, remote=str(statement.get("remote", ""))
            )

    def _decide(
        self,
        who: str,
        forged: bool,
        team: str = "",
        name: Sequence[str] = (),
        decision: Decision | None = None,
    ) -> None:
        team = team or self._team(who, forged)
        everything = [each for each, asked in self.model.requests.items() if asked.state == "waiting"]
        near = [each for each in everything if self.model.requests[each].team == team]
        named = (
            name[0]
            if name
            else self._named(
                self._waiting(who, team), near if self._chance.random() < 0.5 else everything, forged
            )
        )
        if forged and named in self.model.requests and self._chance.random() < 0.5:
            team = self.model.requests[named].team
        decisions: list[Decision] = ["accept", "accept", "refuse", "withdraw"]
        decision = decision or self._chance.choice(decisions)
        replaces, content, marker = self._replaced(team, forged), "", ""
        if self._chance.random() < 0.3:
            marker = self._marker()
            content = f"{_WORDS} {marker}."
        allowed = self.model.may_decide(who, team, named, decision, replaces)
        comment = self._chance.choice(["", "Say where.", *(("\0", "\x1b[2J", "x" * 10**4) if forged else ())])
        if len(comment) > 500:
            allowed = False
        body = {
            "team": team,
            "id": named,
            "decision": decision,
            "content": content,
            "replaces": replaces,
            "comment": comment,
        }
        answer = self._call(who, "POST", "/requests/decide", body, allowed=allowed)
        if answer is None or not allowed:
            return
        asked = self.model.requests[named]
        asked.state = {"accept": "accepted", "refuse": "refused", "withdraw": "withdrawn"}[decision]  # type: ignore[assignment]
        if decision == "accept":
            self.model.memories[answer["memory_id"]] = Shared(
                team=team, author=asked.author, marker=marker or asked.marker, decided_by=who
            )
            for each in replaces:
                self.model.memories[each].holds = False

    def _replaced(self, team: str, forged: bool) -> list[str]:
        if self._chance.random() < 0.7:
            return []
        held = [name for name, memory in self.model.memories.items() if memory.team == team and memory.holds]
        return [self._named(held, list(self.model.memories), forged)] if held or forged else []

    def _unshare(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        held = [name for name, memory in self.model.memories.items() if memory.team == team and memory.holds]
        named, purge = self._named(held, list(self.model.memories), forged), self._chance.random() < 0.3
        if forged and named in self.model.memories and self._chance.random() < 0.5:
            team = self.model.memories[named].team
        allowed = self.model.may_unshare(who, team, named, purge=purge)
        answer = self._call(
            who, "POST", "/unshare", {"team": team, "id": named, "purge": purge}, allowed=allowed
        )
        if answer is None or not allowed:
            return
        self._inspect()  # the answer holds the words once more
        self.model.memories[named].holds = False
        if purge:
            self.model.purged[named] = team
            del self.model.memories[named]

    def _read_changes(self, who: str, forged: bool) -> None:
        team = self._team(who, forged)
        allowed = bool(self.model.role(who, team))
        if forged:
            after = self._chance.choice(
                [*self._cursors[-50:], *ODD, "1.1", "0.0", f"{2**63}.{2**62}", "-1.-1"]
            )
            self._call(
                who,
                "GET",
                "/changes",
                params={"team": team, "after": after},
                allowed=None if allowed else False,
            )
            return
        told: dict[str, bool] = {}
        purged: set[str] = set()
        cursor, more = "", True
        while more:
            params = {"team": team, "after": cursor, "limit": str(self._chance.choice([3, 50, 500]))}
            page = self._call(who, "GET", "/changes", params=params, allowed=allowed)
            if page is None:
                return
            told |= {memory["id"]: memory["holds"] for memory in page["memories"]}
            purged |= set(page["purged"])
            cursor, more = page["cursor"], page["more"]
            self._cursors.append(cursor)
        known = {name: memory.holds for name, memory in self.model.memories.items() if memory.team == team}
        self._same(who, f"the memories of {team}", told, known)
        self._same(
            who,
            f"what was purged in {team}",
            purged,
            {name for name, where in self.model.purged.items() if where == team},
        )

    def _search(self, who: str, forged: bool) -> None:
        shared = [
            memory for memory in self.model.memories.values() if forged or self.model.role(who, memory.team)
        ]
        sought = self._chance.choice(shared) if shared else None
        query = self._chance.choice(
            [sought.marker if sought else "ledger", "refund invoice", *(ODD if forged else ())]
        )
        teams = [self._team(who, forged)] if self._chance.random() < 0.3 else []
        allowed = (
            bool(query.strip())
            and len(query) <= MAX_QUERY
            and all(self.model.role(who, team) for team in teams)
        )
        if "\ud800" in query + "".join(teams):
            allowed = False
        limit = self._chance.choice([10, 1, 50, *((-5, 0, 10**9) if forged else ())])
        remote = self._chance.choice(["", *(ODD if forged else ())])
        body = {"query": query, "teams": teams, "limit": limit, "remote": remote}
        answer = self._call(
            who, "POST", "/search", body, allowed=allowed if "\ud800" not in remote else False
        )
        if answer is None:
            return
        if len(answer["found"]) > max(0, min(limit, 50)):
            self._wrong(who, f"a search for {limit} found {len(answer['found'])}")
        told = [each["memory"]["statement"]["content"] for each in answer["found"]]
        if (
            sought
            and sought.holds
            and query == sought.marker
            and not (teams or remote or forged)
            and not any(sought.marker in each for each in told)
        ):
            self._wrong(who, f"a search for {query} did not find it in {sought.team}")

    def _nonsense(self, who: str, forged: bool) -> None:
        """Send an invalid body to a random endpoint."""
        if not forged:
            return self._list_teams(who, forged)
        path = self._chance.choice(
            [
                "/teams",
                "/accept",
                "/members",
                "/members/remove",
                "/projects",
                "/service-accounts",
                "/requests",
                "/requests/decide",
                "/unshare",
                "/search",
            ]
        )
        raw = self._chance.choice(
            [
                b"",
                b"{",
                b"[]",
                b"null",
                b'{"team":1}',
                b"\xff\xfe",
                b"[" * 5_000,
                b'{"team":{"a":[]},"id":"x","query":[]}',
            ]
        )
        self._call(who, "POST", path, allowed=False, raw=raw)
        return None

    def _with_bad_token(self, who: str) -> None:
        """Send a token that was altered, has expired, or belongs to another account."""
        token, other = self._token(who), self._chance.choice([*self._people, *self.model.services])
        revoked = [device.token for account in self.accounts for device in account.devices if device.revoked]
        ended = [old for service in self.model.services.values() for old in service.old]
        rest = token.rpartition(".")[2]
        bad = self._chance.choice(
            [
                token[:-1],
                f"{token}x",
                f"{other}.{rest}" if other != who else "x",
                f"{SERVER}.{rest}",
                f"team:{rest}",
                "acme/ci.x",
                *revoked[-5:],
                *ended[-5:],
            ]
        )
        path = self._chance.choice(["/teams", "/members", "/requests", "/changes", "/audit"])
        self._call(who, "GET", path, params={"team": self._team(who, False)}, allowed=False, token=bad)

    def _compare_team(self, team: str) -> None:
        """Check that a team holds what the model says: accepted memories with their authors, and members with their roles."""
        store = TeamMemories(self._connections, team_tenant(team), clock=self._clock, principal=SERVER)

        def everything(transaction: Transaction) -> dict[str, Memory]:
            ids = transaction.rows("SELECT id FROM memories WHERE tenant = %(tenant)s")
            return stored_memories(transaction, [row[0] for row in ids])

        stored = store.database.reading(everything)
        known = {name: memory for name, memory in self.model.memories.items() if memory.team == team}
        self._same(team, "ids of memories", set(stored), set(known))
        accepted = set(
            store.database.reading(
                lambda t: t.rows(
                    "SELECT memory_id, decided_by FROM share_requests WHERE tenant = %(tenant)s AND state = 'accepted'"
                )
            )
        )
        for name in stored.keys() & known.keys():
            memory, wanted = stored[name], known[name]
            told = (memory.provenance.source, memory.status == "active", wanted.marker in memory.content)
            self._same(team, f"author, state and words of {name}", told, (wanted.author, wanted.holds, True))
            if not is_allowed(memory.provenance.source, memory.provenance.tier) or memory.pinned:
                self._wrong(team, f"{name} has the tier {memory.provenance.tier.name}")
            if (name, wanted.decided_by) not in accepted:
                self._wrong(
                    team, f"{name} was accepted by nobody, or by another one than {wanted.decided_by}"
                )
        admin = Principal(account=SERVER, device="")
        members = {each.principal: each.role for each in self._teams.members.members(admin, team)}
        self._same(team, "members", members, self.model.members[team])


def _called(account: str) -> str:
    return f"Person {account[-6:]}".replace("/", " ").strip(" -")


@contextlib.contextmanager
def only_the_database() -> Generator[None]:
    """Remove the condition on the tenant from all statements inside the block, and treat everybody as a reader of every team. So only the policies of the database protect tenants."""

    def enter(self: Access, who: Principal, team: str, least: Role = "reader") -> Entered:
        database = self._open(team, who.account)  # pyright: ignore[reportPrivateUsage]
        statement = "SELECT role, name FROM members WHERE principal = %(principal)s"
        try:
            row = database.reading(lambda transaction: transaction.row(statement, {"principal": who.account}))
        except TenantUnseen as error:
            raise unknown_team(team) from error
        role, name = (str(row[0]), str(row[1])) if row else ("reader", "")
        if not may(role, least):
            raise NotPermitted("Not with this role.")
        return Entered(team=team, database=database, role=role, name=name)

    with only_row_level_security(), patch.object(Access, "enter", enter):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the options of the command line. Return the exit code: 1 if anything is wrong."""
    parser = leak_options("python -m tacit_evals.torture.team_leaks", __doc__)
    parser.add_argument("--organizations", type=int, default=110)
    parser.add_argument("--teams", type=int, default=223)
    parser.add_argument("--principals", type=int, default=200)
    chosen = parser.parse_args(arguments)

    def run(connections: Connections) -> LeakFindings:
        made = TeamLeakRun(
            connections,
            organizations=chosen.organizations,
            teams=chosen.teams,
            principals=chosen.principals,
            seed=chosen.seed,
        )
        print(f"tenants: {made.tenants}; principals: {chosen.principals}")
        return made.run(chosen.requests)

    guard = only_the_database() if chosen.only_row_level_security else contextlib.nullcontext()
    return run_on_new_database(run, guard=guard)


if __name__ == "__main__":
    sys.exit(main())
