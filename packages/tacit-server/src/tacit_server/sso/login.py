"""A login with a provider, from its beginning to the account. In: requests of a device and a browser, the answer of the provider. Out: an account, its memberships, a code for the device."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import NotPermitted, TacitError
from tacit.sync.views import SignInResult
from tacit_server.logs import Logs, Principal
from tacit_server.postgres.connection import Connections
from tacit_server.sso.identities import Identities
from tacit_server.sso.provider import Client, Provider
from tacit_server.sso.rules import Claims, Rules, claims_of
from tacit_server.sso.sign_ins import Begun, Returned, Shown, SignIns, no_login
from tacit_server.teams import Teams
from tacit_server.teams.granted import GrantedMemberships
from tacit_server.teams.members import DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class SsoSettings:
    """The settings of single sign-on.

    Attributes:
        client: this server as a client of the provider.
        rules: who may log in, and with which roles.
        groups_claim: the claim that lists the groups of a person.
        days: days after the last login until a membership from a group ends.
        public_url: the URL at which browsers reach this server.
    """

    client: Client
    rules: Rules
    groups_claim: str
    days: int
    public_url: str


class SingleSignOn:
    """Logs people in with a provider. Safe to share between threads and processes."""

    def __init__(
        self,
        settings: SsoSettings,
        connections: Connections,
        logs: Logs,
        teams: Teams,
        *,
        provider: Provider | None = None,
    ) -> None:
        """Log people in to the accounts of `logs` and the teams of `teams`. `provider` None = the provider of the settings."""
        self.settings = settings
        self.provider = provider or Provider(settings.client)
        self._logs = logs
        self._sign_ins = SignIns(connections, settings.client.issuer)
        self._identities = Identities(connections, logs, settings.client.issuer)
        self._memberships = GrantedMemberships(teams.members)

    def missing_teams(self) -> tuple[str, ...]:
        """Return the teams that the rules name and that do not exist."""
        return self._memberships.missing(self.settings.rules.teams())

    def begin(self, *, device: str, address: str, by: Principal | None, now_ms: int) -> Begun:
        """Begin a login for a device; see `SignIns.begin`.

        Raises:
            SyncError: the provider cannot be reached, or there are too many unfinished logins.
        """
        self.provider.metadata()
        return self._sign_ins.begin(device=device, address=address, by=by, now_ms=now_ms)

    def show(self, login: str, browser: str, *, now_ms: int) -> Shown:
        """Return what a browser shows before a person confirms the login; see `SignIns.show`."""
        return self._sign_ins.show(login, browser, now_ms=now_ms)

    def agree(self, login: str, browser: str, *, now_ms: int) -> str:
        """Note that a person confirmed the login in a browser. Return the address of the provider to which the browser is sent; see `SignIns.agree`."""
        self.provider.metadata()
        agreed = self._sign_ins.agree(login, browser, now_ms=now_ms)
        return self.provider.authorization_url(
            state=agreed.state, nonce=agreed.nonce, verifier=agreed.verifier
        )

    def complete(self, *, state: str, code: str, error: str, issuer: str, browser: str, now_ms: int) -> str:
        """Complete a login after the browser returned from the provider. Return the account.

        Args:
            state: the state in the answer of the provider; it is valid once.
            code: the authorization code; "" = the provider refused.
            error: the error code of a refusal.
            issuer: the issuer in the answer (RFC 9207); "" = the answer has none.
            browser: the secret of the browser.
            now_ms: the current time.

        Raises:
            NotLoggedIn: the state belongs to another browser, or was used before.
            NotPermitted: the person may not log in.
            SyncError: the provider cannot be reached, or its answer is not accepted.
        """
        returned = self._sign_ins.returned(state, browser, now_ms=now_ms)
        try:
            account = self._complete(returned, code=code, error=error, issuer=issuer, now_ms=now_ms)
        except TacitError as failed:
            self._sign_ins.end(returned, "refused", failed.message)
            raise
        self._sign_ins.end(returned, "done", account)
        return account

    def _complete(self, returned: Returned, *, code: str, error: str, issuer: str, now_ms: int) -> str:
        named = issuer or self.provider.metadata().authorization_response_iss_parameter_supported
        if named and issuer != self.settings.client.issuer:
            raise NotPermitted("The answer came from another provider.", hint="Begin again.")
        if not code:
            why = f" ({error})" if error.isidentifier() and len(error) <= 60 else ""
            raise NotPermitted(f"The provider did not let you in{why}.", hint="Begin again.")
        told = self.provider.identify(
            code,
            nonce=returned.nonce,
            verifier=returned.verifier,
            wanted=("preferred_username", "email", "name", self.settings.groups_claim),
        )
        claims = claims_of(told, groups_claim=self.settings.groups_claim)
        try:
            roles = self.settings.rules.roles(claims)
        except NotPermitted:
            if account := self._identities.find(claims):
                self._memberships.follow(account, {}, name=account, ends_at_ms=0, now_ms=now_ms)
            raise
        if returned.by is not None:
            account = returned.by.account
            self._refuse_revoked(returned.by)
            self._identities.link(claims, account, now_ms=now_ms)
        else:
            account = self._identities.log_in(claims, now_ms=now_ms)
        self._memberships.follow(
            account,
            roles,
            name=_shown_name(claims, account),
            ends_at_ms=self._end_after(now_ms),
            now_ms=now_ms,
        )
        return account

    def _refuse_revoked(self, who: Principal) -> None:
        if not self._logs.holds(who):
            raise NotPermitted(
                "The device that began this login was revoked, or its account was removed.",
                hint="Begin again on a device of yours: `tacit login URL --sso`.",
            )

    def finish(self, login: str, secret: str, *, now_ms: int) -> SignInResult:
        """Return the result of a login to its device. A login that is done or refused is forgotten afterwards.

        Raises:
            NotLoggedIn: there is no login with this id and secret.
            NotPermitted: the login was refused.
        """
        result = self._sign_ins.result(login, secret, now_ms=now_ms)
        match result.outcome:
            case "waiting":
                return SignInResult(done=False)
            case "refused":
                raise NotPermitted(
                    result.text, hint="`tacit login URL --sso` begins again; the browser shows more."
                )
            case "done":
                account = result.text
        if not self._logs.has_account(account):
            raise no_login()  # the account was removed in the meantime
        code = "" if result.linked else self._logs.add_account(account, now_ms=now_ms)
        return SignInResult(done=True, account=account, code=code, first=self._logs.is_new(account))

    def _end_after(self, now_ms: int) -> int:
        return now_ms + self.settings.days * DAY_MS


def _shown_name(claims: Claims, account: str) -> str:
    """Return the name that teammates see: the name of the person if it can be shown, else the account."""
    name = " ".join(claims.name.split())
    return name if is_name(name) else account
