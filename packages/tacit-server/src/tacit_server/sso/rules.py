"""Who may log in with the provider, and with which roles. In: options of the operator, claims of a person. Out: roles by team, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tacit.errors import InvalidInput, NotPermitted
from tacit.model.shared import ROLES, TEAM, Role

EVERYBODY = "*"
"""A group with everybody whom the provider logs in."""
GOOGLE = "https://accounts.google.com"
"""The issuer of Google. An account there may have a verified address of a domain that does not manage the account; only the claim `hd` proves that it does."""
_MAPPED = re.compile(rf"(?P<group>.+)=(?P<team>{TEAM.pattern}):(?P<role>{'|'.join(ROLES)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """People in `group` may log in, and have `role` in `team`; `team` "" = the group gives no role."""

    group: str
    team: str = ""
    role: Role = "reader"

    @classmethod
    def parse(cls, text: str) -> Grant:
        """Read a text such as `engineering=acme/core:writer` or `engineering`.

        Raises:
            InvalidInput: the text has neither form.
        """
        if "=" not in text and text.strip():
            return cls(group=text)
        found = _MAPPED.fullmatch(text)
        if found is None:
            raise InvalidInput(
                f"{text[:90]!r} does not map a group to a role.",
                hint=f"Write GROUP=TEAM:ROLE, such as engineering=acme/core:writer. Roles: {', '.join(ROLES)}.",
            )
        return cls(group=found["group"], team=found["team"], role=cast("Role", found["role"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The claims of a person, as the provider states them.

    Attributes:
        issuer, subject: identify the person; nothing else does.
        preferred_username, name: what the person is called.
        email: their address, if the provider has verified it; else "".
        domain: the hosted domain (`hd`) of a Google account.
        groups: names or ids of their groups.
    """

    issuer: str
    subject: str
    preferred_username: str = ""
    name: str = ""
    email: str = ""
    domain: str = ""
    groups: frozenset[str] = field(default_factory=frozenset[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may log in to this server: people in one of the groups, or with an address of one of the domains. Everybody else is refused."""

    grants: tuple[Grant, ...] = ()
    domains: tuple[str, ...] = ()

    @classmethod
    def parse(cls, groups: Sequence[str], domains: Sequence[str]) -> Rules:
        """Read the options of the operator: groups (see `Grant.parse`) and domains.

        Raises:
            InvalidInput: an option cannot be read, or there is none, so that nobody could log in.
        """
        if not groups and not domains:
            raise InvalidInput(
                "No option says who may log in with the provider.",
                hint="Give --oidc-group GROUP=TEAM:ROLE or --oidc-domain. --oidc-group '*' lets everybody log in whom the provider knows.",
            )
        return cls(
            grants=tuple(map(Grant.parse, groups)),
            domains=tuple(domain.strip().lower().removeprefix("@") for domain in domains),
        )

    def roles(self, claims: Claims) -> Mapping[str, Role]:
        """Return the role of a person in each team that their groups give them. Of several roles in a team, the one with the most rights counts.

        Raises:
            NotPermitted: the person may not log in.
        """
        granted = [grant for grant in self.grants if grant.group in (EVERYBODY, *claims.groups)]
        if not granted and not self._of_domain(claims):
            raise NotPermitted(
                "Your account at the provider is in no group that may use this server.",
                hint="Ask the person who runs the server or manages the groups.",
            )
        roles: dict[str, Role] = {}
        for grant in sorted(granted, key=lambda one: ROLES.index(one.role)):
            if grant.team:
                roles[grant.team] = grant.role
        return roles

    def teams(self) -> tuple[str, ...]:
        """Return the teams in which groups give roles, sorted by name."""
        return tuple(sorted({grant.team for grant in self.grants if grant.team}))

    def _of_domain(self, claims: Claims) -> bool:
        if (
            claims.issuer == GOOGLE
        ):  # elsewhere `hd` is a claim like any other, which people may be able to set
            return claims.domain.lower() in self.domains
        name, _, domain = claims.email.partition("@")  # one @: of two, nobody knows which one counts
        return bool(name) and domain.lower() in self.domains


def claims_of(told: Mapping[str, object], *, groups_claim: str) -> Claims:
    """Return the claims of a person from an ID token and the user-info answer.

    Raises:
        NotPermitted: the provider left the groups out because there are too many.
    """
    if groups_claim in _texts_of_keys(told.get("_claim_names")):
        raise NotPermitted(
            "The provider left your groups out, because you are in too many.",
            hint="Configure the provider to send only the groups that are assigned to this application.",
        )
    verified = told.get("email_verified") is True
    return Claims(
        issuer=_text(told.get("iss")),
        subject=_text(told.get("sub")),
        preferred_username=_text(told.get("preferred_username")),
        name=_text(told.get("name")),
        email=_text(told.get("email")) if verified else "",
        domain=_text(told.get("hd")),
        groups=frozenset(_texts(told.get(groups_claim))),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> Collection[str]:
    if isinstance(value, str):
        return (value,)
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, str)]


def _texts_of_keys(value: object) -> Collection[str]:
    return set(cast("dict[str, object]", value)) if isinstance(value, dict) else ()
