"""Who may log in with the provider, and into which teams. In: what the operator wrote, what the provider says of a person. Out: roles by team, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tacit.errors import InvalidInput, NotPermitted
from tacit.model.shared import ROLES, TEAM, Role

EVERYBODY = "*"
"""Stands for a group that everybody is in whom the provider logs in."""
GOOGLE = "https://accounts.google.com"
"""Here a verified address may be of a domain whose owner does not know the account; the claim `hd` says that they do."""
_MAPPED = re.compile(rf"(?P<group>.+)=(?P<team>{TEAM.pattern}):(?P<role>{'|'.join(ROLES)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who is in `group` may log in, and has `role` in `team`; "" = in no team by that."""

    group: str
    team: str = ""
    role: Role = "reader"

    @classmethod
    def parse(cls, text: str) -> Grant:
        """Read `engineering=acme/core:writer`, or `engineering`.

        Raises:
            InvalidInput: if it is neither.
        """
        if "=" not in text and text.strip():
            return cls(group=text)
        found = _MAPPED.fullmatch(text)
        if found is None:
            raise InvalidInput(
                f"{text[:90]!r} maps no group.",
                hint=f"Write GROUP=TEAM:ROLE, as in engineering=acme/core:writer. Roles: {', '.join(ROLES)}.",
            )
        return cls(group=found["group"], team=found["team"], role=cast("Role", found["role"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What the provider says of a person.

    Attributes:
        issuer, subject: who they are; nothing else identifies them.
        preferred_username, name: as they are called.
        email: only if the provider has verified it.
        domain: the hosted domain (`hd`) of a Google account.
        groups: names or ids.
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
    """Whom the provider lets into this server. Whoever has none of the groups and none of the domains stays outside."""

    grants: tuple[Grant, ...] = ()
    domains: tuple[str, ...] = ()

    @classmethod
    def parse(cls, groups: Sequence[str], domains: Sequence[str]) -> Rules:
        """Read what the operator wrote.

        Raises:
            InvalidInput: for what cannot be read, or if nobody could log in.
        """
        if not groups and not domains:
            raise InvalidInput(
                "Nothing says who may log in with the provider.",
                hint="Give --oidc-group GROUP=TEAM:ROLE, or --oidc-domain; --oidc-group '*' lets everybody in whom the provider knows.",
            )
        return cls(
            grants=tuple(map(Grant.parse, groups)),
            domains=tuple(domain.strip().lower().removeprefix("@") for domain in domains),
        )

    def roles(self, claims: Claims) -> Mapping[str, Role]:
        """The role of a person in each team that their groups give them: the one with most rights.

        Raises:
            NotPermitted: if they may not log in.
        """
        granted = [grant for grant in self.grants if grant.group in (EVERYBODY, *claims.groups)]
        if not granted and not self._of_domain(claims):
            raise NotPermitted(
                "Your account at the provider is in no group that may use this server.",
                hint="Ask whoever runs the server, or manages the groups.",
            )
        roles: dict[str, Role] = {}
        for grant in sorted(granted, key=lambda one: ROLES.index(one.role)):
            if grant.team:
                roles[grant.team] = grant.role
        return roles

    def teams(self) -> tuple[str, ...]:
        """The teams that groups give, by name."""
        return tuple(sorted({grant.team for grant in self.grants if grant.team}))

    def _of_domain(self, claims: Claims) -> bool:
        if claims.domain or claims.issuer == GOOGLE:
            return claims.domain.lower() in self.domains
        return claims.email.rpartition("@")[2].lower() in self.domains


def claims_of(told: Mapping[str, object], *, groups_claim: str) -> Claims:
    """What the claims of an ID token (and of the provider's answer about the user) say of a person.

    Raises:
        NotPermitted: if the provider left the groups out because there are too many.
    """
    if groups_claim in _texts_of_keys(told.get("_claim_names")):
        raise NotPermitted(
            "The provider left your groups out, because you are in too many.",
            hint="Let the provider name only the groups that are assigned to this application.",
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
