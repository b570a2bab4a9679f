"""Unfinished logins, in PostgreSQL. In: a device begins, a browser confirms, the provider answers. Out: the result, for the device.

The id of a login is in the address that the browser opens. The result is told once, to the device that has the secret of the login. A login belongs to
the browser in which a person confirmed it, and no other browser can complete it. So an address of the provider that somebody passes on has no effect.
Ids, secrets, states and browsers are stored as hashes, and every login for at most ten minutes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from tacit.errors import NotLoggedIn, SyncError
from tacit.model.ids import encode_base32
from tacit_server.logs import Principal, account_of, hash_of
from tacit_server.postgres.connection import Connections, Database
from tacit_server.postgres.transaction import Transaction

LOGIN_MS = 600_000
MAX_LOGINS = 10_000
MAX_DEVICE = 60
Outcome = Literal["waiting", "done", "refused"]
_T = TypeVar("_T")

_DROP_OLD = "DELETE FROM sso_logins WHERE tenant = %(tenant)s AND until_ms < %(now_ms)s"
_COUNT = "SELECT count(*) FROM sso_logins WHERE tenant = %(tenant)s"
_BEGIN = """
    INSERT INTO sso_logins (tenant, login, secret, code, account, device, address, until_ms)
    VALUES (%(tenant)s, %(login)s, %(secret)s, %(code)s, %(account)s, %(device)s, %(address)s, %(until_ms)s)"""
_SHOW = """
    SELECT code, account, device, address FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND until_ms >= %(now_ms)s AND outcome = ''
    AND browser IN ('', %(browser)s)"""
_AGREE = """
    UPDATE sso_logins SET browser = %(browser)s, state = %(state)s, nonce = %(nonce)s, verifier = %(verifier)s
    WHERE tenant = %(tenant)s AND login = %(login)s AND until_ms >= %(now_ms)s AND outcome = ''
    AND browser IN ('', %(browser)s) RETURNING login"""
_FIND_STATE = """
    SELECT login, nonce, verifier, account FROM sso_logins
    WHERE tenant = %(tenant)s AND state = %(state)s AND state <> '' AND browser = %(browser)s
    AND until_ms >= %(now_ms)s AND outcome = '' FOR UPDATE"""
_USE_STATE = "UPDATE sso_logins SET state = '', verifier = '' WHERE tenant = %(tenant)s AND login = %(login)s"
_END = """
    UPDATE sso_logins SET outcome = %(outcome)s, result = %(result)s, state = '', nonce = '', verifier = ''
    WHERE tenant = %(tenant)s AND login = %(login)s"""
_RESULT = """
    SELECT outcome, result, account FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND secret = %(secret)s AND until_ms >= %(now_ms)s"""
_TAKE = """
    DELETE FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND secret = %(secret)s AND outcome <> '' RETURNING login"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A login that a device began: what the device needs to continue it and to ask for the result.

    Attributes:
        login: the id of the login, for the browser.
        secret: the secret with which the device asks for the result.
        code: the code that device and browser show, for the person to compare.
        until_ms: when the login expires.
    """

    login: str
    secret: str
    code: str
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a browser shows before a person confirms a login. `account` = the account to link or renew; "" = the device wants to join one."""

    code: str
    account: str
    device: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """The one-time values of a login that was confirmed, for the provider."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A login whose browser returned from the provider. `login` = the stored hash of its id; `by` = the device that began it to link its account, or None."""

    login: str
    nonce: str
    verifier: str
    by: Principal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a login. `text` = the account, or the reason of a refusal. `linked` = a device of the account began the login."""

    outcome: Outcome
    text: str = ""
    linked: bool = False


class SignIns:
    """Stores unfinished logins. Safe to share between threads and processes."""

    def __init__(self, connections: Connections, issuer: str) -> None:
        """Store the logins with the provider `issuer` in the database of `connections`."""
        self._database = Database(connections, provider_tenant(issuer))

    def begin(self, *, device: str, address: str, by: Principal | None, now_ms: int) -> Begun:
        """Begin a login.

        Args:
            device: the name of the device; the browser shows it.
            address: the address of the device; the browser shows it.
            by: the device, if it is logged in and its account is to be linked or renewed; None = it wants to join an account.
            now_ms: the current time.

        Raises:
            SyncError: there are too many unfinished logins.
        """
        code = encode_base32(secrets.randbits(40), 8).upper()
        begun = Begun(
            login=secrets.token_urlsafe(16),
            secret=secrets.token_urlsafe(32),
            code=f"{code[:4]}-{code[4:]}",
            until_ms=now_ms + LOGIN_MS,
        )
        values: dict[str, object] = {
            "login": hash_of(begun.login),
            "secret": hash_of(begun.secret),
            "code": begun.code,
            "account": f"{by.account}.{by.device}" if by is not None else "",
            "device": device,
            "address": address,
            "until_ms": begun.until_ms,
        }

        def add(transaction: Transaction) -> None:
            transaction.execute(_DROP_OLD, {"now_ms": now_ms})
            if transaction.number(_COUNT) >= MAX_LOGINS:
                raise SyncError("Too many logins are under way.", hint="Try again in some minutes.")
            transaction.execute(_BEGIN, values)

        self._write(add)
        return begun

    def show(self, login: str, browser: str, *, now_ms: int) -> Shown:
        """Return what a browser shows of a login.

        Raises:
            NotLoggedIn: there is no login with this id, it is over, or it belongs to another browser.
        """
        values = {"login": hash_of(login), "browser": hash_of(browser), "now_ms": now_ms}
        row = self._database.reading(lambda transaction: transaction.row(_SHOW, values))
        if row is None:
            raise no_login()
        return Shown(code=row[0], account=account_of(row[1], "."), device=row[2], address=row[3])

    def agree(self, login: str, browser: str, *, now_ms: int) -> Agreed:
        """Note that a person confirmed a login in a browser, to which the login then belongs. Return the values for the provider.

        Raises:
            NotLoggedIn: see `show`.
        """
        agreed = Agreed(
            state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48)
        )  # fmt: skip
        values = {
            "login": hash_of(login),
            "browser": hash_of(browser),
            "state": hash_of(agreed.state),
            "nonce": agreed.nonce,
            "verifier": agreed.verifier,
            "now_ms": now_ms,
        }
        if self._write(lambda transaction: transaction.row(_AGREE, values)) is None:
            raise no_login()
        return agreed

    def returned(self, state: str, browser: str, *, now_ms: int) -> Returned:
        """Return the login of a browser that returned from the provider with `state`. A state is valid once.

        Raises:
            NotLoggedIn: the state is unknown, was used before, or belongs to another browser.
        """
        values = {"state": hash_of(state), "browser": hash_of(browser), "now_ms": now_ms}

        def use(transaction: Transaction) -> Returned:
            row = transaction.row(_FIND_STATE, values)
            if row is None:
                raise no_login()
            transaction.execute(_USE_STATE, {"login": row[0]})
            account, _, device = str(row[3]).rpartition(".")
            by = Principal(account=account, device=device) if account else None
            return Returned(login=row[0], nonce=row[1], verifier=row[2], by=by)

        return self._write(use)

    def end(self, returned: Returned, outcome: Literal["done", "refused"], text: str) -> None:
        """Store the result of a login until its device asks. `text` = the account, or the reason of a refusal."""
        values = {"login": returned.login, "outcome": outcome, "result": text[:500]}
        self._write(lambda transaction: transaction.execute(_END, values))

    def result(self, login: str, secret: str, *, now_ms: int) -> Result:
        """Return the result of a login. A login that is done or refused is removed.

        Raises:
            NotLoggedIn: there is no login with this id and secret, or it is over.
        """
        values = {"login": hash_of(login), "secret": hash_of(secret), "now_ms": now_ms}
        row = self._database.reading(lambda transaction: transaction.row(_RESULT, values))
        if row is None:
            raise no_login()
        if not row[0]:
            return Result(outcome="waiting")
        if self._write(lambda transaction: transaction.row(_TAKE, values)) is None:
            raise no_login()
        return Result(outcome="done" if row[0] == "done" else "refused", text=row[1], linked=bool(row[2]))

    def _write(self, work: Callable[[Transaction], _T]) -> _T:
        return self._database.writing(work, alone=False)


def provider_tenant(issuer: str) -> str:
    """Return the name of the tenant that holds the logins and the list of identities of a provider."""
    return f"provider:{hash_of(issuer)}"


def no_login() -> NotLoggedIn:
    """Return the error for a login that is unknown, over, or belongs to another browser."""
    return NotLoggedIn(
        "This login is not known, is over, or was begun in another browser.",
        hint="Begin again with `tacit login URL --sso`.",
    )
