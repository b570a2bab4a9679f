"""Which account belongs to which person at the provider, in PostgreSQL. In: an issuer and a subject. Out: an account.

Only the pair of issuer and subject identifies a person: names and addresses change, and people can choose them. The tenant of an account holds a link to
the person, and a list in the tenant of the provider maps each person to an account. Both must agree. So if an account is removed and created again for
somebody else, the person from before does not get into it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from tacit.errors import NotPermitted, SyncError
from tacit_server.logs import MAX_ACCOUNT, Logs
from tacit_server.postgres.connection import Connections, TenantDatabase, TenantUnseen
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_logs import account_tenant
from tacit_server.sso.people import Person
from tacit_server.sso.sign_ins import provider_tenant
from tacit_server.teams.access import SERVER

TRIES = 1000
"""At most this many names are tried for a new account: ana, ana-2, ana-3."""

_LISTED = "SELECT account FROM sso_identities WHERE tenant = %(tenant)s AND identity = %(identity)s"
_LIST = """
    INSERT INTO sso_identities (tenant, identity, account) VALUES (%(tenant)s, %(identity)s, %(account)s)
    ON CONFLICT (tenant, identity) DO UPDATE SET account = EXCLUDED.account
    WHERE sso_identities.account = %(listed)s RETURNING account"""
_LINKED = "SELECT identity FROM sso_links WHERE tenant = %(tenant)s"
_LINK = """
    INSERT INTO sso_links (tenant, identity, issuer, logged_in_at_ms)
    VALUES (%(tenant)s, %(identity)s, %(issuer)s, %(now_ms)s)
    ON CONFLICT (tenant) DO UPDATE SET
        identity = EXCLUDED.identity, issuer = EXCLUDED.issuer, logged_in_at_ms = EXCLUDED.logged_in_at_ms
    WHERE sso_links.identity = EXCLUDED.identity OR sso_links.issuer <> EXCLUDED.issuer RETURNING identity"""


class Identities:
    """Maps people at a provider to accounts. Safe to share between threads and processes."""

    def __init__(self, connections: Connections, logs: Logs, issuer: str) -> None:
        """Map the people of the provider `issuer` to the accounts of `logs`, in the database of `connections`."""
        self._connections = connections
        self._logs = logs
        self._list = TenantDatabase(connections, provider_tenant(issuer))

    def find(self, person: Person) -> str:
        """Return the account of a person; "" = they have none."""
        return self._look(person)[0]

    def log_in(self, person: Person, *, now_ms: int) -> str:
        """Return the account of a person. If they have none, create one with a name that is free.

        Raises:
            SyncError: the account could not be created.
        """
        for _ in range(3):
            account, listed = self._look(person)
            if account:
                self._link(account, person, now_ms=now_ms)
                return account
            made = self._new_account(person)
            self._link(made, person, now_ms=now_ms)
            if self._claim(person, made, instead_of=listed):
                return made
            self._logs.remove_account(made)  # the same person logged in on another device at the same moment
        raise SyncError("The account could not be created.", hint="Log in again.")

    def link(self, person: Person, account: str, *, now_ms: int) -> None:
        """Link an account to a person, or note that they logged in again. The caller must have checked the device and the person.

        Raises:
            NotPermitted: the account belongs to another person, or the person has another account.
            SyncError: the account could not be linked.
        """
        other, listed = self._look(person)
        if other and other != account:
            raise NotPermitted(
                f"You have the account {other} already, and this device is logged in as {account}.",
                hint=f"`tacit logout`, then `tacit login URL --sso` lets this device into {other}.",
            )
        if not self._link(account, person, now_ms=now_ms):
            raise NotPermitted(
                f"The account {account} belongs to somebody else at the provider.",
                hint="Log in there as yourself, or `tacit logout` on this device first.",
            )
        if not self._claim(person, account, instead_of=listed) and self.find(person) != account:
            raise SyncError("The account could not be linked.", hint="Try again.")

    # --- helpers

    def _look(self, person: Person) -> tuple[str, str]:
        """Return the account of a person and the account that the list names. The first is "" if the link of that account names somebody else."""
        identity = identity_of(person)
        row = self._list.reading(lambda transaction: transaction.row(_LISTED, {"identity": identity}))
        listed = str(row[0]) if row is not None else ""
        return (listed if listed and self._linked(listed) == identity else ""), listed

    def _claim(self, person: Person, account: str, *, instead_of: str) -> bool:
        """List `account` as the person's account, if the list still names `instead_of`; return whether it was changed."""
        values = {"identity": identity_of(person), "account": account, "listed": instead_of}
        row = self._list.writing(lambda transaction: transaction.row(_LIST, values), alone=False)
        return row is not None

    def _linked(self, account: str) -> str:
        try:
            database = TenantDatabase(self._connections, account_tenant(account), principal=SERVER)
            row = database.reading(lambda transaction: transaction.row(_LINKED))
        except TenantUnseen:
            return ""
        return str(row[0]) if row is not None else ""

    def _link(self, account: str, person: Person, *, now_ms: int) -> bool:
        values = {"identity": identity_of(person), "issuer": person.issuer, "now_ms": now_ms}

        def write(transaction: Transaction) -> bool:
            return transaction.row(_LINK, values) is not None

        database = TenantDatabase(self._connections, account_tenant(account), principal=SERVER)
        return database.writing(write, alone=False)

    def _new_account(self, person: Person) -> str:
        """Create an account with a free name and return the name. The database decides whether a name is free, without a check before."""
        name = proposed_name(person)
        for number in range(1, TRIES):
            tail = f"-{number}" if number > 1 else ""
            account = f"{name[: MAX_ACCOUNT - len(tail)].rstrip('-')}{tail}"
            if self._connections.add_tenant(account_tenant(account)):
                return account
        raise SyncError(f"No name is free for an account like {name}.", hint="Choose another one there.")


def identity_of(person: Person) -> str:
    """Return the stored form of a person: a hash of issuer and subject. The length of the issuer keeps two pairs from giving the same text."""
    return hashlib.sha256(f"{len(person.issuer)}\n{person.issuer}\n{person.subject}".encode()).hexdigest()


def proposed_name(person: Person) -> str:
    """Return a name for the account of a person, from their preferred user name, else from their verified address."""
    for text in (person.username, person.email):
        plain = unicodedata.normalize("NFKD", text.partition("@")[0]).encode("ascii", "ignore").decode()
        name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:MAX_ACCOUNT].strip("-")
        if name:
            return name
    return f"person-{identity_of(person)[:8]}"
