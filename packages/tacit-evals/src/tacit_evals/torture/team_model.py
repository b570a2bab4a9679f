"""The rights of principals in teams, in plain Python. A leak run compares the server with it. In: what was done. Out: what is allowed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tacit.capture.bootstrap.team_files import is_name
from tacit.model.shared import ROLES, Decision, RequestState, may, organization_of
from tacit_server.logs import ACCOUNT

SERVICE_MARK = "/"
MARKER = re.compile(r"zq[a-z]{12}")
"""The form of a marker: a word that occurs in exactly one statement."""


@dataclass(slots=True, kw_only=True)
class Asked:
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
class Service:
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
    requests: dict[str, Asked] = field(default_factory=dict[str, Asked])
    memories: dict[str, Shared] = field(default_factory=dict[str, Shared])
    purged: dict[str, str] = field(default_factory=dict[str, str])
    """Teams by the id of a memory that was purged."""
    services: dict[str, Service] = field(default_factory=dict[str, Service])

    # --- who is what

    def role(self, who: str, team: str) -> str:
        """Return the role of a principal in a team; "" = they are not a member."""
        return self.members.get(team, {}).get(who, "")

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
        return {team: roles[who] for team, roles in self.members.items() if who in roles}

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
        """Return whether a principal may read a statement: a shared one of their teams, or a waiting one as its author or as a reviewer."""
        shared = any(
            memory.marker == marker and self.role(who, memory.team) for memory in self.memories.values()
        )
        return shared or any(
            each.marker == marker and self.sees_request(who, each) and each.state == "waiting"
            for each in self.requests.values()
        )

    def sees_request(self, who: str, asked: Asked) -> bool:
        """Return whether a principal may see a request."""
        member = bool(self.role(who, asked.team))
        return member and (asked.author == who or self.may(who, asked.team, "reviewer"))

    # --- what they may do

    def may_put_member(self, who: str, team: str, other: str, role: str, name: str) -> bool:
        """Return whether a principal may give `other` this role and name."""
        organization = organization_of(team)
        known = bool(self.role(other, organization))
        if not self.manages(who, team) or role not in ROLES:
            return False
        if SERVICE_MARK in other:
            if not known or may(role, "reviewer"):
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
        return allowed and bool(self.role(other, team)) and not self._is_last_admin(other, team)

    def remove_member(self, team: str, other: str) -> None:
        """Remove `other` from a team; from an organization, also from its teams."""
        for each in self.members:
            if each == team or (team == organization_of(team) and organization_of(each) == team):
                self.members[each].pop(other, None)
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
        if not self.may(who, team, "reviewer"):
            return False
        if asked.author == who and self.others(team, who, "reviewer"):
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
        return bool(self.role(who, team)) and (memory.author == who or self.may(who, team, "reviewer"))
