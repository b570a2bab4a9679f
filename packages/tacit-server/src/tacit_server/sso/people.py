"""Who uses a browser, and with which roles. In: the headers of the proxy, options of the operator. Out: a person, their roles by team, or a refusal.

Only the proxy may say who somebody is. The server believes a request that comes from the network of the proxy and holds its secret. Everybody else's headers
about a person count for nothing.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import cast

from starlette.requests import Request

from tacit.errors import InvalidInput, NotPermitted
from tacit.model.shared import ROLES, TEAM, Role
from tacit_server.service import comes_from

EVERYBODY = "*"
"""A group with everybody whom the proxy lets through."""
LEAST_SECRET = 16
MAX_SUBJECT, MAX_TEXT = 255, 4096
_MAPPED = re.compile(rf"(?P<group>.+)=(?P<team>{TEAM.pattern}):(?P<role>{'|'.join(ROLES)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person, as the proxy names them.

    Attributes:
        issuer, subject: identify the person; nothing else does.
        username, email: what the person is called.
        groups: names or ids of their groups.
    """

    issuer: str
    subject: str
    username: str = ""
    email: str = ""
    groups: frozenset[str] = field(default_factory=frozenset[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginProxy:
    """The proxy that logs people in.

    Attributes:
        networks: where its requests come from.
        secret: the password that it sends with each of them.
        issuer: a name for the provider behind it. People of another provider are other people.
    """

    networks: tuple[IPv4Network | IPv6Network, ...]
    secret: str
    issuer: str = "sso"

    def person(self, request: Request) -> Person:
        """Return the person whose browser sent a request.

        Raises:
            NotPermitted: the request did not come through the proxy, or the proxy names nobody.
        """
        headers = request.headers
        subject = headers.get("x-forwarded-user", "")
        sent = headers.get("authorization", "").encode()
        meant = b"Basic " + b64encode(f"{subject}:{self.secret}".encode())
        once = all(len(headers.getlist(name)) == 1 for name in ("x-forwarded-user", "authorization"))
        if not (comes_from(request, self.networks) and once and hmac.compare_digest(sent, meant)):
            raise NotPermitted(
                "This page was not reached through the proxy that logs people in.",
                hint="Open the address that `tacit login URL --sso` prints. If you did, tell the person who runs the server.",
            )
        if not (0 < len(subject) <= MAX_SUBJECT and subject.isprintable()):
            raise NotPermitted("The proxy names nobody.", hint="Tell the person who runs the server.")
        groups = headers.get("x-forwarded-groups", "").split(",")
        return Person(
            issuer=self.issuer,
            subject=subject,
            username=headers.get("x-forwarded-preferred-username", "")[:MAX_TEXT],
            email=headers.get("x-forwarded-email", "")[:MAX_TEXT],
            groups=frozenset(filter(None, map(str.strip, groups))),
        )


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


def roles_of(person: Person, grants: Sequence[Grant]) -> Mapping[str, Role]:
    """Return the role of a person in each team that their groups give them. Of several roles in a team, the one with the most rights counts.

    Raises:
        NotPermitted: the person is in no group that may log in.
    """
    granted = [grant for grant in grants if grant.group in (EVERYBODY, *person.groups)]
    if not granted:
        raise NotPermitted(
            "Your account at the provider is in no group that may use this server.",
            hint="Ask the person who runs the server or manages the groups.",
        )
    ranked = sorted(granted, key=lambda one: ROLES.index(one.role))
    return {grant.team: grant.role for grant in ranked if grant.team}
