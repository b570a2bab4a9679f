"""A login with the provider, from its beginning to the account. In: a device, a browser, the provider's answer. Out: an account, its teams, a code for the device."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.backends.postgres.connection import Connections
from tacit.capture.bootstrap.team_files import is_name
from tacit.errors import NotPermitted, TacitError
from tacit.server.logs import Logs
from tacit.server.sso.identities import Identities
from tacit.server.sso.provider import Client, Provider
from tacit.server.sso.rules import Claims, Rules, claims_of
from tacit.server.sso.sign_ins import Begun, Returned, Shown, SignIns, no_login
from tacit.server.teams import Teams
from tacit.server.teams.granted import GrantedMemberships
from tacit.server.teams.members import DAY_MS
from tacit.sync.views import SignInResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SsoSettings:
    """How people log in with a provider.

    Attributes:
        client: this server, as the provider knows it.
        rules: who may log in, and into which teams.
        groups_claim: the claim that names a person's groups.
        days: so long a membership that a group gave lasts without another login.
        public_url: of this server, as browsers reach it.
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
        """Let people into the accounts of `logs` and the teams of `teams`; `provider` other than the one of the settings."""
        self.settings = settings
        self.provider = provider or Provider(settings.client)
        self._logs = logs
        self._sign_ins = SignIns(connections, settings.client.issuer)
        self._identities = Identities(connections, logs, settings.client.issuer)
        self._memberships = GrantedMemberships(teams.members)

    def missing_teams(self) -> tuple[str, ...]:
        """Teams that groups give and that are not there."""
        return self._memberships.missing(self.settings.rules.teams())

    def begin(self, *, device: str, address: str, account: str, now_ms: int) -> Begun:
        """A device begins; `account` = its own where it is logged in. A provider that was never reached is told at once."""
        self.provider.metadata()
        return self._sign_ins.begin(device=device, address=address, account=account, now_ms=now_ms)

    def show(self, login: str, browser: str, *, now_ms: int) -> Shown:
        """What a browser shows before somebody agrees; see `SignIns.show`."""
        return self._sign_ins.show(login, browser, now_ms=now_ms)

    def agree(self, login: str, browser: str, *, now_ms: int) -> str:
        """Somebody agreed; returns the provider's address for their browser."""
        self.provider.metadata()
        agreed = self._sign_ins.agree(login, browser, now_ms=now_ms)
        return self.provider.authorization_url(
            state=agreed.state, nonce=agreed.nonce, verifier=agreed.verifier
        )

    def complete(self, *, state: str, code: str, error: str, issuer: str, browser: str, now_ms: int) -> str:
        """A browser came back from the provider; returns the account.

        Args:
            state: of the login, which counts once.
            code: for the provider; "" = it refused.
            error: why it refused.
            issuer: as the answer names it (RFC 9207); "" = it does not.
            browser: that came back.
            now_ms: the time.

        Raises:
            NotLoggedIn: if the state is not this browser's, or counted already.
            NotPermitted: if the person may not log in.
            SyncError: if the provider's answer is not accepted.
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
        if returned.account:
            account = returned.account
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

    def finish(self, login: str, secret: str, *, now_ms: int) -> SignInResult:
        """What became of a login, for its device; an end is told once.

        Raises:
            NotLoggedIn: if there is none of this id and secret.
            NotPermitted: if it was refused.
        """
        result = self._sign_ins.result(login, secret, now_ms=now_ms)
        match result.outcome:
            case "waiting":
                return SignInResult(done=False)
            case "refused":
                raise NotPermitted(
                    result.text, hint="`tacit login URL --sso` begins again; the browser says more."
                )
            case "done":
                account = result.text
        if not self._logs.has_account(account):
            raise no_login()  # removed meanwhile
        code = "" if result.linked else self._logs.add_account(account, now_ms=now_ms)
        return SignInResult(done=True, account=account, code=code, first=self._logs.is_new(account))

    def _end_after(self, now_ms: int) -> int:
        return now_ms + self.settings.days * DAY_MS


def _shown_name(claims: Claims, account: str) -> str:
    """The name that teammates see: the person's, if it can be shown."""
    name = " ".join(claims.name.split())
    return name if is_name(name) else account
