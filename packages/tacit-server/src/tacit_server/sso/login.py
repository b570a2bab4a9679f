"""A login, from its beginning to the account. In: requests of a device, the agreement of a person. Out: an account, its memberships, a code for the device."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import NotPermitted, TacitError
from tacit.sync.views import SignInResult
from tacit_server.logs import Logs, Principal
from tacit_server.postgres.connection import Connections
from tacit_server.sso.identities import Identities
from tacit_server.sso.people import Grant, LoginProxy, Person, roles_of
from tacit_server.sso.sign_ins import SignIns, no_login
from tacit_server.teams import Teams
from tacit_server.teams.granted import GrantedMemberships
from tacit_server.teams.members import DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class SsoSettings:
    """The settings of single sign-on.

    Attributes:
        proxy: oauth2-proxy, or another proxy that authenticates people and names them in headers.
        grants: who may log in, and with which roles.
        days: days after the last login until a membership from a group ends.
        public_url: the URL at which browsers reach this server.
    """

    proxy: LoginProxy
    grants: tuple[Grant, ...]
    days: int
    public_url: str


class SingleSignOn:
    """Logs in people whom the proxy names. Safe to share between threads and processes."""

    def __init__(self, settings: SsoSettings, connections: Connections, logs: Logs, teams: Teams) -> None:
        """Log people in to the accounts of `logs` and the teams of `teams`."""
        self.settings = settings
        self._logs = logs
        self.sign_ins = SignIns(connections, settings.proxy.issuer)
        self._identities = Identities(connections, logs, settings.proxy.issuer)
        self._memberships = GrantedMemberships(teams.members)

    def missing_teams(self) -> tuple[str, ...]:
        """Return the teams in which groups give roles and that do not exist."""
        named = {grant.team for grant in self.settings.grants if grant.team}
        return self._memberships.missing(tuple(sorted(named)))

    def agree(self, login: str, person: Person, *, now_ms: int) -> str:
        """Complete a login to which a person agreed. Return the account.

        Raises:
            NotLoggedIn: the login is unknown or over, or somebody agreed to it before.
            NotPermitted: the person may not log in.
        """
        by = self.sign_ins.agree(login, now_ms=now_ms)
        try:
            account = self._complete(by, person, now_ms=now_ms)
        except TacitError as failed:
            self.sign_ins.end(login, "refused", failed.message)
            raise
        self.sign_ins.end(login, "done", account)
        return account

    def _complete(self, by: Principal | None, person: Person, *, now_ms: int) -> str:
        try:
            roles = roles_of(person, self.settings.grants)
        except NotPermitted:
            if account := self._identities.find(person):
                self._memberships.follow(account, {}, name=account, ends_at_ms=0, now_ms=now_ms)
            raise
        if by is None:
            account = self._identities.log_in(person, now_ms=now_ms)
        elif self._logs.holds(by):
            account = by.account
            self._identities.link(person, account, now_ms=now_ms)
        else:
            raise NotPermitted(
                "The device that began this login was revoked, or its account was removed.",
                hint="Begin again on a device of yours: `tacit login URL --sso`.",
            )
        name = " ".join(person.username.split())
        self._memberships.follow(
            account,
            roles,
            name=name if is_name(name) else account,
            ends_at_ms=now_ms + self.settings.days * DAY_MS,
            now_ms=now_ms,
        )
        return account

    def finish(self, login: str, secret: str, *, now_ms: int) -> SignInResult:
        """Return the result of a login to its device. A login that is done or refused is forgotten afterwards.

        Raises:
            NotLoggedIn: there is no login with this id and secret.
            NotPermitted: the login was refused.
        """
        outcome, account, linked = self.sign_ins.result(login, secret, now_ms=now_ms)
        if outcome is None:
            return SignInResult(done=False)
        if outcome == "refused":
            raise NotPermitted(account, hint="`tacit login URL --sso` begins again; the browser shows more.")
        if not self._logs.has_account(account):
            raise no_login()  # the account was removed in the meantime
        code = "" if linked else self._logs.add_account(account, now_ms=now_ms)
        return SignInResult(done=True, account=account, code=code, first=self._logs.is_new(account))
