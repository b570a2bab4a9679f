"""Unfinished logins, in PostgreSQL. In: a device begins, a person agrees in a browser. Out: the result, for the device.

The id of a login is in the address that the browser opens. The result is told once, to the device that has the secret of the login. Ids and secrets are stored as
hashes, and every login for at most ten minutes.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal

from tacit.errors import NotLoggedIn, SyncError
from tacit.model.ids import encode_base32
from tacit.sync.views import SignInBegun
from tacit_server.logs import Principal, hash_of
from tacit_server.postgres.connection import Connections, TenantDatabase
from tacit_server.postgres.transaction import Transaction

LOGIN_MS = 600_000
MAX_LOGINS = 10_000
MAX_DEVICE = 60
Outcome = Literal["done", "refused"]

_DROP_OLD = "DELETE FROM sso_logins WHERE tenant = %(tenant)s AND until_ms < %(now_ms)s"
_COUNT = "SELECT count(*) FROM sso_logins WHERE tenant = %(tenant)s"
_BEGIN = """
    INSERT INTO sso_logins (tenant, login, secret, code, account, device, address, until_ms)
    VALUES (%(tenant)s, %(login)s, %(secret)s, %(code)s, %(account)s, %(device)s, %(address)s, %(until_ms)s)"""
_SHOW = """
    SELECT code, account, device, address FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND until_ms >= %(now_ms)s AND outcome = ''"""
_AGREE = """
    UPDATE sso_logins SET outcome = 'agreed'
    WHERE tenant = %(tenant)s AND login = %(login)s AND until_ms >= %(now_ms)s AND outcome = '' RETURNING account"""
_END = """
    UPDATE sso_logins SET outcome = %(outcome)s, result = %(result)s WHERE tenant = %(tenant)s AND login = %(login)s"""
_RESULT = """
    SELECT outcome, result, account FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND secret = %(secret)s AND until_ms >= %(now_ms)s"""
_TAKE = """
    DELETE FROM sso_logins
    WHERE tenant = %(tenant)s AND login = %(login)s AND secret = %(secret)s AND outcome IN ('done', 'refused') RETURNING login"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a browser shows before a person agrees. `account` = the account to link or renew; "" = the device wants to join one."""

    code: str
    account: str
    device: str
    address: str


class SignIns:
    """Stores unfinished logins. Safe to share between threads and processes."""

    def __init__(self, connections: Connections, issuer: str) -> None:
        """Store the logins of the people of `issuer` in the database of `connections`."""
        self._database = TenantDatabase(connections, provider_tenant(issuer))

    def begin(self, url: str, *, device: str, address: str, by: Principal | None, now_ms: int) -> SignInBegun:
        """Begin a login.

        Args:
            url: the URL that the browser opens, without the id of the login.
            device: the name of the device; the browser shows it.
            address: the address of the device; the browser shows it.
            by: the device, if it is logged in and its account is to be linked or renewed; None = it wants to join an account.
            now_ms: the current time.

        Raises:
            SyncError: there are too many unfinished logins.
        """
        code = encode_base32(secrets.randbits(40), 8).upper()
        login = secrets.token_urlsafe(16)
        begun = SignInBegun(
            login=login,
            secret=secrets.token_urlsafe(32),
            code=f"{code[:4]}-{code[4:]}",
            browser_url=f"{url}?login={login}",
            until_ms=now_ms + LOGIN_MS,
        )
        values = {
            "login": hash_of(login),
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

        self._database.writing(add, alone=False)
        return begun

    def show(self, login: str, *, now_ms: int) -> Shown:
        """Return what a browser shows of a login.

        Raises:
            NotLoggedIn: there is no login with this id, or somebody agreed to it already.
        """
        values = {"login": hash_of(login), "now_ms": now_ms}
        row = self._database.reading(lambda transaction: transaction.row(_SHOW, values))
        if row is None:
            raise no_login()
        return Shown(code=row[0], account=row[1].partition(".")[0], device=row[2], address=row[3])

    def agree(self, login: str, *, now_ms: int) -> Principal | None:
        """Note that a person agreed to a login, which they can do once. Return the device that began it to link its account, or None.

        Raises:
            NotLoggedIn: see `show`.
        """
        values = {"login": hash_of(login), "now_ms": now_ms}
        row = self._database.writing(lambda transaction: transaction.row(_AGREE, values), alone=False)
        if row is None:
            raise no_login()
        account, _, device = str(row[0]).rpartition(".")
        return Principal(account=account, device=device) if account else None

    def end(self, login: str, outcome: Outcome, text: str) -> None:
        """Store the result of a login until its device asks. `text` = the account, or the reason of a refusal."""
        values = {"login": hash_of(login), "outcome": outcome, "result": text[:500]}
        self._database.writing(lambda transaction: transaction.execute(_END, values), alone=False)

    def result(self, login: str, secret: str, *, now_ms: int) -> tuple[Outcome | None, str, bool]:
        """Return the outcome of a login (None = there is none yet), the account or the reason of a refusal, and whether a device of the account began it.

        A login that is done or refused is removed.

        Raises:
            NotLoggedIn: there is no login with this id and secret, or it is over.
        """
        values = {"login": hash_of(login), "secret": hash_of(secret), "now_ms": now_ms}
        row = self._database.reading(lambda transaction: transaction.row(_RESULT, values))
        if row is not None and row[0] in ("", "agreed"):
            return None, "", False
        taken = self._database.writing(lambda transaction: transaction.row(_TAKE, values), alone=False)
        if row is None or taken is None:
            raise no_login()
        return ("done" if row[0] == "done" else "refused"), row[1], bool(row[2])


def provider_tenant(issuer: str) -> str:
    """Return the name of the tenant that holds the logins and the list of identities of a provider."""
    return f"provider:{hash_of(issuer)}"


def no_login() -> NotLoggedIn:
    """Return the error for a login that is unknown or over."""
    return NotLoggedIn(
        "This login is not known, or is over.", hint="Begin again with `tacit login URL --sso`."
    )
