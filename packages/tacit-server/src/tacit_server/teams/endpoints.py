"""The HTTP interface of teams. In: requests of devices and service accounts. Out: JSON, or a problem.

Only the token identifies the caller. Answers hold the words of shared memories, which are data, and nothing about teams that the caller is not in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.errors import NotFound
from tacit.model.shared import Decision, SharedStatement
from tacit_server.logs import MAX_NUMBER, Principal, account_of, hash_of
from tacit_server.news import News
from tacit_server.postgres.connection import TenantUnseen
from tacit_server.postgres_logs import account_tenant
from tacit_server.service import Handler, Service, as_json, read_body, read_limit, read_number
from tacit_server.teams import Teams
from tacit_server.teams.access import team_tenant

TEAM_PREFIX = "/team/v1"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamBody:
    """The body of a request about a team or an organization."""

    team: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptBody:
    """The body of a request to accept the invitation of an organization, by its code."""

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutMemberBody:
    """The body of a request to add or change a member. `role` "" = as it is, for a new member writer; `name` "" = the name that the organization knows, else the account."""

    team: str
    principal: str
    role: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMemberBody:
    """The body of a request to remove a member from a team."""

    team: str
    principal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutProjectBody:
    """The body of a request to share the memories of a project, named by its canonical remote, with a team."""

    team: str
    remote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutServiceBody:
    """The body of a request to create a service account or give it a new token, which is valid for `days`."""

    organization: str
    name: str
    role: str = "reader"
    days: int = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class AskToShareBody:
    """The body of a request that asks a team to share a statement."""

    team: str
    statement: SharedStatement
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideBody:
    """The body of a decision on a share request; see `Requests.decide`."""

    team: str
    id: str
    decision: Decision
    content: str = ""
    replaces: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnshareBody:
    """The body of a request to stop sharing a memory; `purge` = remove it for good."""

    team: str
    id: str
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBody:
    """The body of a search of shared memories; see `Requests.search`."""

    query: str
    teams: tuple[str, ...] = ()
    remote: str = ""
    limit: int = 10


class TeamEndpoints:
    """The HTTP endpoints of teams in one application."""

    def __init__(self, teams: Teams, service: Service, *, now_ms: Callable[[], int]) -> None:
        """Answer requests about `teams`."""
        self._members = teams.members
        self._requests = teams.requests
        self._service = service
        self._now_ms = now_ms

    def paths(self) -> tuple[tuple[str, str, Handler], ...]:
        """Return the method, the path below `TEAM_PREFIX` and the handler of each endpoint."""
        return (
            ("GET", "/teams", self._get(lambda who, _: {"teams": self._members.teams(who)})),
            ("POST", "/teams", self._post(TeamBody, self._add_team)),
            ("POST", "/accept", self._post(AcceptBody, self._accept)),
            ("GET", "/members", self._get(self._list_members)),
            ("POST", "/members", self._post(PutMemberBody, self._put_member)),
            ("POST", "/members/remove", self._post(RemoveMemberBody, self._remove_member)),
            ("POST", "/projects", self._post(PutProjectBody, self._put_project)),
            ("POST", "/projects/remove", self._post(PutProjectBody, self._remove_project)),
            ("POST", "/service-accounts", self._post(PutServiceBody, self._put_service)),
            ("GET", "/audit", self._get(self._audit)),
            ("GET", "/requests", self._get(self._list_requests)),
            ("POST", "/requests", self._post(AskToShareBody, self._ask)),
            ("POST", "/requests/decide", self._post(DecideBody, self._decide)),
            ("POST", "/unshare", self._post(UnshareBody, self._unshare)),
            ("GET", "/changes", self._get(self._changes)),
            ("GET", "/mine", self._get(lambda who, _: self._requests.owned(who))),
            ("POST", "/search", self._post(SearchBody, self._search)),
        )

    def _get(self, work: Callable[[Principal, Request], object]) -> Handler:
        """Return a handler that answers with the result of `work` for the caller and the request."""

        async def answer(request: Request) -> Response:
            who = await self._service.principal(request)
            return as_json(await run_in_threadpool(_done, work, who, request))

        return answer

    def _post(self, kind: type[_T], work: Callable[[Principal, _T], object]) -> Handler:
        """Return a handler that answers with the result of `work` for the caller and the body, a `kind`. The body is read after the token was checked."""

        async def answer(request: Request) -> Response:
            who = await self._service.principal(request)
            asked: _T = await read_body(request, kind)
            done = await run_in_threadpool(_done, work, who, asked)
            return as_json({} if done is None else done)

        return answer

    def _add_team(self, who: Principal, asked: TeamBody) -> None:
        self._members.add_team(who, asked.team, now_ms=self._now_ms())

    def _accept(self, who: Principal, asked: AcceptBody) -> None:
        self._members.accept(who, asked.code, now_ms=self._now_ms())

    def _list_members(self, who: Principal, request: Request) -> object:
        return {"members": self._members.members(who, request.query_params.get("team", ""))}

    def _put_member(self, who: Principal, asked: PutMemberBody) -> object:
        return self._members.put_member(
            who, asked.team, asked.principal, name=asked.name, role=asked.role, now_ms=self._now_ms()
        )

    def _remove_member(self, who: Principal, asked: RemoveMemberBody) -> None:
        self._members.remove_member(who, asked.team, asked.principal, now_ms=self._now_ms())

    def _put_project(self, who: Principal, asked: PutProjectBody) -> object:
        return self._members.put_project(who, asked.team, asked.remote, now_ms=self._now_ms())

    def _remove_project(self, who: Principal, asked: PutProjectBody) -> None:
        self._members.remove_project(who, asked.team, asked.remote, now_ms=self._now_ms())

    def _put_service(self, who: Principal, asked: PutServiceBody) -> object:
        return self._members.put_service(
            who, asked.organization, asked.name, role=asked.role, days=asked.days, now_ms=self._now_ms()
        )

    def _audit(self, who: Principal, request: Request) -> object:
        before = int(read_number(request, "before", MAX_NUMBER))
        team = request.query_params.get("team", "")
        return {"entries": self._members.audit(who, team, before=before, limit=read_limit(request, 100))}

    def _list_requests(self, who: Principal, request: Request) -> object:
        every = request.query_params.get("every", "") == "true"
        return {"requests": self._requests.list(who, request.query_params.get("team", ""), every=every)}

    def _ask(self, who: Principal, asked: AskToShareBody) -> object:
        return self._requests.ask(who, asked.team, asked.statement, mark=asked.mark, now_ms=self._now_ms())

    def _decide(self, who: Principal, asked: DecideBody) -> object:
        return self._requests.decide(
            who,
            asked.team,
            asked.id,
            asked.decision,
            content=asked.content,
            replaces=asked.replaces,
            comment=asked.comment,
            now_ms=self._now_ms(),
        )

    def _unshare(self, who: Principal, asked: UnshareBody) -> object:
        return self._requests.unshare(who, asked.team, asked.id, purge=asked.purge, now_ms=self._now_ms())

    def _changes(self, who: Principal, request: Request) -> object:
        team, after = request.query_params.get("team", ""), request.query_params.get("after", "")
        return self._requests.changes(who, team, after=after, limit=read_limit(request))

    def _search(self, who: Principal, asked: SearchBody) -> object:
        return {
            "found": self._requests.search(
                who, asked.query, teams=asked.teams, remote=asked.remote, limit=asked.limit
            )
        }


def _done(work: Callable[[Principal, _T], object], who: Principal, asked: _T) -> object:
    """Return the result of `work`. Turn the error for a team that the caller may no longer see into NotFound.

    Raises:
        NotFound: also if the caller was removed from the team in the meantime.
    """
    try:
        return work(who, asked)
    except TenantUnseen as error:
        raise NotFound("You are not in this team any more.", hint="`tacit team` lists yours.") from error


class Watched:
    """Tells who a waiting device is, which tenants it watches, and what changed there.

    What was read of a tenant is kept until a notification says that the tenant changed, and only while this process listens for notifications.
    """

    def __init__(self, teams: Teams, news: News) -> None:
        """Read the changes of `teams`, and drop what was read as `news` tells."""
        self._members = teams.members
        self._find = teams.members.access.connections.find
        self._news = news
        self._read: dict[int, dict[str, Any]] = {}
        """What was read of each tenant, by a name for it."""
        self._drops = 0
        self._lock = Lock()
        news.heard = self._drop

    def device(self, token: str, read: Callable[[str], Principal]) -> Principal:
        """Return the device that `read` finds for a token. Only for requests that wait for changes: any other is checked anew each time.

        A device that is revoked, and one of an account that is removed or has a new secret, is refused when the notification arrives. One that did not sync
        for half a year may go on to wait.

        Raises:
            NotLoggedIn: the token does not belong to a device.
        """
        account = self._account(account_of(token, "."))
        return self._kept(account, f"token {hash_of(token)}", lambda: read(token))

    def look(self, who: Principal) -> tuple[tuple[int, ...], int]:
        """Return the tenants whose changes concern a principal, and a number that changes when a memory of their teams changes, or when they join or leave a team."""
        account = self._account(who.account)
        teams = self._kept(account, "teams", lambda: self._listed(who))
        changes = [
            self._kept(tenant, "changes", lambda team=team: self._change(team))
            for team, tenant in teams.items()
        ]
        return (account, *teams.values()), len(teams) + sum(changes)

    def heads(
        self, who: Principal, read: Callable[[Principal], Mapping[str, int]], *, waits: bool
    ) -> Mapping[str, int]:
        """Return what `read` reads: the heads of the logs of the principal's account.

        A device that waits is told of a push by a notification, so that it may get what was read before; any other one gets what is stored now.
        """
        return self._kept(self._account(who.account), "heads", lambda: read(who)) if waits else read(who)

    def _account(self, account: str) -> int:
        """Return the number of the tenant of an account; 0 = there is none."""
        return self._find(account_tenant(account)) or 0

    def _listed(self, who: Principal) -> Mapping[str, int]:
        return {team: self._find(team_tenant(team)) or 0 for team in self._members.listed(who)}

    def _change(self, team: str) -> int:
        try:
            return self._members.changes(team)
        except NotFound:
            return 0

    def _kept(self, tenant: int, name: str, find: Callable[[], _T]) -> _T:
        """Return what is kept of a tenant under a name, or what `find` finds, which is then kept."""
        with self._lock:
            known = self._read.get(tenant, {})
            if name in known:
                return cast("_T", known[name])
            drops = self._drops
        found = find()
        with self._lock:
            # Not if something changed in the meantime: it may have been read before the change.
            if tenant and self._news.listening and drops == self._drops:
                self._read.setdefault(tenant, {})[name] = found
        return found

    def _drop(self, tenant: int | None) -> None:
        """Forget what was read of `tenant`; None = of all tenants."""
        with self._lock:
            self._drops += 1
            if tenant is None:
                self._read.clear()
            else:
                self._read.pop(tenant, None)
