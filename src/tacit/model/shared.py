"""What devices and the server say to one another about teams: members, requests to share, shared memories. Values only; loads no cryptography.

An organization is the team of all its members, `acme`; further teams of it are `acme/core`. What is shared with a team is readable by its members
and by the server, unlike the logs of a person's own devices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Role = Literal["reader", "writer", "reviewer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "reviewer", "admin")
"""From the least rights to the most: to receive; to ask to share; to decide on requests; to manage members and projects."""
RequestState = Literal["waiting", "accepted", "refused", "withdrawn"]
Decision = Literal["accept", "refuse", "withdraw"]


_PART = r"[a-z0-9][a-z0-9-]{0,39}"
TEAM = re.compile(rf"{_PART}(/{_PART})?")
"""`acme` or `acme/core`."""
MAX_WHEN, MAX_FILES, MAX_TERM, MAX_REMOTE = 20, 20, 200, 300
MAX_CONTENT = 10_000
"""What is longer is refused before anything reads it."""


def may(role: str, least: Role) -> bool:
    """Whether a member with `role` may do what needs the role `least`. Each role may do all that the roles before it may do."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(least)


def organization_of(team: str) -> str:
    """The organization that a team belongs to; an organization is a team itself."""
    return team.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStatement:
    """A statement as it is shared.

    Attributes:
        content: the words.
        kind: a built-in kind.
        scope: `universal`, `language:...`, or `project` for the project of `remote`.
        remote: canonical name of the repository; "" = no project.
        when: when it applies, in the words of `tacit remember --when`; empty = as the words say.
        files: files that it is about, relative to the project root.
        tier: who vouches for it on its author's device, in lower case. The server never believes more than the author's token allows.
        said_at_ms: since when it holds.
    """

    content: str
    kind: str
    scope: str = "universal"
    remote: str = ""
    when: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tier: str = "user"
    said_at_ms: int = 0


def too_long(statement: SharedStatement) -> str:
    """Why a statement is too long for anything to read it; "" = it is not."""
    for name, value, most in (
        ("content", statement.content, MAX_CONTENT),
        ("kind", statement.kind, MAX_TERM),
        ("scope", statement.scope, MAX_TERM),
        ("remote", statement.remote, MAX_REMOTE),
        ("tier", statement.tier, MAX_TERM),
    ):
        if len(value) > most:
            return f"`{name}` is too long: it holds at most {most} characters."
    for name, values, most in (("when", statement.when, MAX_WHEN), ("files", statement.files, MAX_FILES)):
        if len(values) > most or any(len(value) > MAX_TERM for value in values):
            return f"`{name}` holds at most {most} texts of at most {MAX_TERM} characters."
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamProject:
    """A project whose memories may be shared, and the team that they are shared with."""

    remote: str
    team: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMembership:
    """A team as one of its members sees it.

    Attributes:
        team: `acme`, or `acme/core`.
        role: of the member.
        name: by which teammates see the member.
        joined: the member agreed to take what the organization shares.
        change: rises with every change of the team's memories.
        waiting: requests that this member may decide.
        projects: those of the organization, for its own team; none for the others.
        until_ms: when the membership ends unless the member logs in with the provider again; 0 = it does not end by itself.
    """

    team: str
    role: Role
    name: str
    joined: bool
    change: int = 0
    waiting: int = 0
    projects: tuple[TeamProject, ...] = ()
    until_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """A member of a team. `until_ms` = when the token of a service account ends, or a membership that a group of the provider gave; 0 = never."""

    principal: str
    name: str
    role: Role
    added_by: str = ""
    added_at_ms: int = 0
    joined: bool = False
    until_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedMember:
    """A member was added. `code` = how their first device logs in, where the server did not know them; `token` = of a service account, shown once."""

    member: MemberView
    code: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMemory:
    """A shared memory that speaks of the same matter; `cosine` from -1 to 1."""

    id: str
    content: str
    author: str
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRequest:
    """A statement that somebody asks to share.

    Attributes:
        id: `req_...`.
        team: whom with.
        author: the principal who asks.
        name: by which teammates see the author.
        created_at_ms: when it was asked.
        state: what became of it.
        statement: the words; None once it was decided.
        warning: why a reviewer should look twice, or empty.
        own: the caller is the author.
        decidable: the caller may accept or refuse it.
        near: shared memories that speak of the same matter.
        decided_by, comment: who decided, and why.
        memory_id: the shared memory that it became, or empty.
    """

    id: str
    team: str
    author: str
    name: str
    created_at_ms: int
    state: RequestState
    statement: SharedStatement | None = None
    warning: str = ""
    own: bool = False
    decidable: bool = False
    near: tuple[NearMemory, ...] = ()
    decided_by: str = ""
    comment: str = ""
    memory_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """A memory as the server shares it.

    Attributes:
        id: its id, on the server and on every device.
        statement: the words.
        name: by which teammates see its author.
        author: the principal.
        holds: False = it was unshared, or another one replaced it.
        replaced_by: id of that one, or empty.
    """

    id: str
    statement: SharedStatement
    name: str
    author: str
    holds: bool = True
    replaced_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamChanges:
    """What was written since a cursor.

    Attributes:
        memories: the newest state of each memory that was written.
        purged: ids of memories of which nothing may be kept.
        cursor: where to go on.
        more: there is more behind it.
        anew: this is the beginning: what the team shares and no page names from here to the end is not shared any more.
    """

    memories: tuple[SharedMemory, ...] = ()
    purged: tuple[str, ...] = ()
    cursor: str = ""
    more: bool = False
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMemory:
    """A memory that a team shares; of a search with its score, a higher one is better."""

    memory: SharedMemory
    team: str
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Who did what, and when. Holds no words of memories."""

    number: int
    at_ms: int
    principal: str
    device: str
    action: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """Everything that a principal has on the server beside the encrypted logs of their devices.

    Attributes:
        teams: what they are a member of.
        memories: what they are the author of and a team shares, or shared.
        requests: what they asked to share.
    """

    teams: tuple[TeamMembership, ...] = ()
    memories: tuple[TeamMemory, ...] = ()
    requests: tuple[ShareRequest, ...] = ()
