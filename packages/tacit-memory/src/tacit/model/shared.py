"""The values that devices and the server exchange about teams: members, requests to share, shared memories. Loads no cryptography.

An organization such as `acme` is itself the team of all its members; its other teams are named `acme/core`. The members of a team and the server can
read what is shared with it, unlike the logs of a person's own devices.
"""

from __future__ import annotations

import re
from typing import Literal

from tacit.frozen import frozen

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
"""The roles from the least rights to the most: a reader receives memories, a writer asks to share and decides on the requests of others, an admin also manages members and projects."""
RequestState = Literal["waiting", "accepted", "refused", "withdrawn"]
Decision = Literal["accept", "refuse", "withdraw"]


_PART = r"[a-z0-9][a-z0-9-]{0,39}"
TEAM = re.compile(rf"{_PART}(/{_PART})?")
"""`acme` or `acme/core`."""
MAX_WHEN, MAX_FILES, MAX_TERM, MAX_REMOTE = 20, 20, 200, 300
MARK_CHARS = 9
"""Characters at the beginning of the ids of a request and its shared memory by which the author's devices know them, see `AccountKey.mark`."""
MAX_CONTENT = 10_000
"""Most characters of a statement. A longer one is refused before its words are examined."""


def may(role: str, least: Role) -> bool:
    """Whether a member with `role` has at least the rights of the role `least`."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(least)


def organization_of(team: str) -> str:
    """Return the organization of a team: `acme` for both `acme/core` and `acme`."""
    return team.partition("/")[0]


@frozen
class SharedStatement:
    """A statement as it is shared.

    Attributes:
        content: the words.
        kind: a built-in kind.
        scope: `universal`, `language:...`, or `project` for the project of `remote`.
        remote: canonical name of the repository; "" = no project.
        when: when it applies, in the words of `tacit remember --when`; empty = this is read from the content.
        files: the files that it is about, relative to the project root.
        tier: its trust tier on the author's device, in lower case. The server lowers it to what the author's token allows.
        said_at_ms: since when it holds, in milliseconds since the epoch.
    """

    content: str
    kind: str
    scope: str = "universal"
    remote: str = ""
    when: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tier: str = "user"
    said_at_ms: int = 0


def why_too_long(statement: SharedStatement) -> str:
    """Return the sentence with which a statement is refused because one of its fields is too long; "" = all are short enough."""
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


@frozen
class TeamProject:
    """A project, by the canonical name `remote` of its git repository, and the `team` that its memories may be shared with."""

    remote: str
    team: str


@frozen
class TeamMembership:
    """A team as one of its members sees it.

    Attributes:
        team: `acme`, or `acme/core`.
        role: the member's role in the team.
        name: the member's name, as teammates see it.
        change: a number that rises with every change of the team's memories.
        waiting: how many requests wait that this member may decide.
        projects: the projects of the organization if `team` is the organization itself; else empty.
        until_ms: when the membership ends unless the member logs in with the provider again; 0 = never.
    """

    team: str
    role: Role
    name: str
    change: int = 0
    waiting: int = 0
    projects: tuple[TeamProject, ...] = ()
    until_ms: int = 0


@frozen
class MemberView:
    """A member of a team.

    `joined` says whether a device of theirs has come in. `until_ms` is the time when the token of a service account expires, or when a membership ends that the member has through a group of the provider;
    0 = never.
    """

    principal: str
    name: str
    role: Role
    added_by: str = ""
    added_at_ms: int = 0
    joined: bool = False
    until_ms: int = 0


@frozen
class AddedMember:
    """A member who was added or changed.

    `code` is what the administrator gives to a person who did not come yet, else "": a new account logs in with it, an account that exists accepts with it. `token` is the token of a service account, which is shown only once, else "".
    """

    member: MemberView
    code: str = ""
    token: str = ""


@frozen
class NearMemory:
    """A shared memory with a similar meaning; `cosine` is the similarity, from -1 to 1."""

    id: str
    content: str
    author: str
    cosine: float


@frozen
class ShareRequest:
    """A request to share a statement.

    Attributes:
        id: `req_...`.
        team: the team to share it with.
        author: the principal who made the request.
        name: the author's name, as teammates see it.
        created_at_ms: when the request was made.
        state: whether it waits, or how it was decided.
        statement: the statement; None once the request was decided.
        warning: why to look closely before accepting, or empty.
        own: whether the caller is the author.
        decidable: whether the caller may accept or refuse it.
        near: shared memories with a similar meaning.
        decided_by: the principal who decided, or empty.
        comment: the reason that they gave, or empty.
        memory_id: id of the shared memory that was made of it, or empty.
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


@frozen
class SharedMemory:
    """A memory that a team shares, as the server sends it.

    Attributes:
        id: its id, which is the same on the server and on every device.
        statement: the statement.
        name: the author's name, as teammates see it.
        author: the principal who asked to share it.
        holds: whether the team still shares it; False = it was unshared or replaced.
        replaced_by: id of the memory that replaced it, or empty.
    """

    id: str
    statement: SharedStatement
    name: str
    author: str
    holds: bool = True
    replaced_by: str = ""

    @property
    def mark(self) -> str:
        """The mark of the request that it was made of, see `AccountKey.mark`; any characters if its author's device gave none."""
        return self.id.removeprefix("mem_")[:MARK_CHARS]


@frozen
class TeamChanges:
    """One page of the changes of a team's memories since a cursor.

    Attributes:
        memories: the newest state of each memory that changed.
        purged: ids of memories that must be removed completely.
        cursor: the position to ask from next.
        more: whether another page follows.
        anew: whether the pages begin with this one and list everything that the team shares. A memory that is on none of them is no longer shared.
    """

    memories: tuple[SharedMemory, ...] = ()
    purged: tuple[str, ...] = ()
    cursor: str = ""
    more: bool = False
    anew: bool = False


@frozen
class TeamMemory:
    """A shared memory with its team. In search results `score` is set; higher is better."""

    memory: SharedMemory
    team: str
    score: float = 0.0


@frozen
class AuditEntry:
    """An entry of the audit log: who did what, and when. It never holds the words of a memory."""

    number: int
    at_ms: int
    principal: str
    device: str
    action: str
    subject: str


@frozen
class Owned:
    """Everything that the server holds about a principal, except the encrypted logs of their devices.

    Attributes:
        teams: the teams that they are a member of.
        memories: the memories of theirs that a team shares or once shared.
        requests: their requests to share.
    """

    teams: tuple[TeamMembership, ...] = ()
    memories: tuple[TeamMemory, ...] = ()
    requests: tuple[ShareRequest, ...] = ()
