"""Accounts with their devices, invitations and logs in PostgreSQL; see `logs`. In: requests of devices. Out: devices, entries. Each account is a tenant.

Every write locks the tenant's row, so that the writes of an account happen one after the other and no log can fork unnoticed. Every statement names the tenant,
and row-level security checks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from tacit.sync.entry import Entry, EntryKind
from tacit.sync.views import DeviceView, LoggedIn
from tacit_server.logs import (
    INVITE_MS,
    MAX_DEVICES,
    UNUSED_MS,
    Login,
    Principal,
    account_of,
    check_device,
    check_entries,
    check_form,
    check_key,
    check_login,
    distinct_name,
    hash_of,
    known_device,
    new_code,
    new_token,
    not_logged_in,
    other_secret,
    removed_account,
    too_many_devices,
    unknown_account,
    unknown_device,
    wrong_code,
)
from tacit_server.postgres.connection import Connections, TenantDatabase
from tacit_server.postgres.transaction import Transaction

_T = TypeVar("_T")

_KEY = "SELECT key FROM accounts WHERE tenant = %(tenant)s"
_SET_KEY = """
    INSERT INTO accounts (tenant, key) VALUES (%(tenant)s, %(key)s)
    ON CONFLICT (tenant) DO UPDATE SET key = EXCLUDED.key"""
_REMOVED = "removed"
"""Replaces the key of an account that was removed; no key has this form."""
_REOPEN = "DELETE FROM accounts WHERE tenant = %(tenant)s AND key = %(removed)s"
_HOLDS = (
    "SELECT device FROM devices WHERE tenant = %(tenant)s AND device = %(device)s AND revoked_at_ms IS NULL"
)
_ADD_INVITE = """
    INSERT INTO invites (tenant, code, until_ms, anew) VALUES (%(tenant)s, %(code)s, %(until_ms)s, %(anew)s)"""
_DROP_OLD_INVITES = "DELETE FROM invites WHERE tenant = %(tenant)s AND until_ms < %(now_ms)s"
_USE_INVITE = """
    DELETE FROM invites WHERE tenant = %(tenant)s AND code = %(code)s AND until_ms >= %(now_ms)s RETURNING anew"""
_COUNT_DEVICES = "SELECT count(*) FROM devices WHERE tenant = %(tenant)s AND revoked_at_ms IS NULL"
_ADD_DEVICE = """
    INSERT INTO devices (tenant, device, name, token, created_at_ms, seen_at_ms)
    VALUES (%(tenant)s, %(device)s, %(name)s, %(token)s, %(now_ms)s, %(now_ms)s)
    ON CONFLICT (tenant, device) DO NOTHING RETURNING device"""
_WHO = """
    SELECT device FROM devices WHERE tenant = %(tenant)s AND token = %(token)s AND revoked_at_ms IS NULL
    AND seen_at_ms >= %(used_since_ms)s"""
_NAMES = "SELECT name FROM devices WHERE tenant = %(tenant)s AND revoked_at_ms IS NULL"
_NAME = "SELECT name FROM devices WHERE tenant = %(tenant)s AND device = %(device)s"
_HEADS = "SELECT device, last FROM logs WHERE tenant = %(tenant)s"
_ENTRIES = """
    SELECT device, number, previous, kind, subject, digest, sealed, signature FROM entries
    WHERE tenant = %(tenant)s AND device = %(device)s AND number > %(after)s ORDER BY number LIMIT %(limit)s"""
_IDS = """
    SELECT number, id FROM entries
    WHERE tenant = %(tenant)s AND device = %(device)s AND number BETWEEN %(first)s AND %(last)s"""
_DEVICES = """
    SELECT device, name, created_at_ms, seen_at_ms, revoked_at_ms, taken_over FROM devices
    WHERE tenant = %(tenant)s ORDER BY created_at_ms, device"""
_ADD_ENTRIES = """
    INSERT INTO entries (tenant, device, number, id, previous, kind, subject, digest, sealed, signature, received_at_ms)
    SELECT %(tenant)s, %(device)s, number, id, previous, kind, subject, digest, sealed, signature, %(now_ms)s
    FROM unnest(%(numbers)s::bigint[], %(ids)s::text[], %(previous)s::text[], %(kinds)s::text[], %(subjects)s::text[],
        %(digests)s::text[], %(sealed)s::bytea[], %(signatures)s::bytea[])
        AS new (number, id, previous, kind, subject, digest, sealed, signature)"""
_SET_LAST = """
    INSERT INTO logs (tenant, device, last) VALUES (%(tenant)s, %(device)s, %(last)s)
    ON CONFLICT (tenant, device) DO UPDATE SET last = EXCLUDED.last"""
_REMOVE_BODIES = """
    UPDATE entries SET sealed = ''::bytea
    WHERE tenant = %(tenant)s AND kind = 'state' AND sealed <> ''::bytea AND subject IN (
        SELECT subject FROM entries WHERE tenant = %(tenant)s AND kind = 'purge' AND subject = ANY(%(subjects)s))"""
_REPORT = """
    UPDATE devices SET taken_over = %(heads)s::text[], seen_at_ms = %(now_ms)s
    WHERE tenant = %(tenant)s AND device = %(device)s"""
_REVOKE = """
    UPDATE devices SET revoked_at_ms = %(now_ms)s
    WHERE tenant = %(tenant)s AND device = %(device)s AND revoked_at_ms IS NULL"""

_DROP_INVITES = "DELETE FROM invites WHERE tenant = %(tenant)s"
_DROP_ENTRIES, _DROP_LOGS = (
    f"DELETE FROM {table} WHERE tenant = %(tenant)s" for table in ("entries", "logs")
)
_REVOKE_OTHERS = """
    UPDATE devices SET revoked_at_ms = %(now_ms)s, taken_over = '{}'
    WHERE tenant = %(tenant)s AND device <> %(device)s AND revoked_at_ms IS NULL"""

_COUNT_ENTRIES = "SELECT count(*) FROM entries WHERE tenant = %(tenant)s"
_REMOVE_ACCOUNT = (
    _DROP_ENTRIES,
    _DROP_LOGS,
    "DELETE FROM devices WHERE tenant = %(tenant)s",
    _DROP_INVITES,
    "DELETE FROM sso_links WHERE tenant = %(tenant)s",
    "DELETE FROM memberships WHERE tenant = %(tenant)s",
)
"""Statements that delete everything of an account but its name: the tenant stays, so that nobody else gets the name."""


class PostgresLogs:
    """Implements `Logs` in PostgreSQL. Safe to share between threads; any number of processes may use the same database."""

    def __init__(self, connections: Connections) -> None:
        """Use the database of `connections`."""
        self._connections = connections
        self._accounts: dict[str, TenantDatabase] = {}

    def add_account(self, account: str, *, now_ms: int, same_person: bool = False) -> str:
        """See `Logs`."""
        code = new_code(account)

        def add(transaction: Transaction) -> None:
            if same_person:
                transaction.execute(_REOPEN, {"removed": _REMOVED})
            elif _is_removed(transaction):
                raise removed_account(account)
            outdated = _DROP_OLD_INVITES if transaction.row(_KEY) else _DROP_INVITES
            transaction.execute(outdated, {"now_ms": now_ms})
            values = {"code": hash_of(code), "until_ms": now_ms + INVITE_MS, "anew": same_person}
            transaction.execute(_ADD_INVITE, values)

        self._made(account).writing(add, alone=True)
        return code

    def has_account(self, account: str) -> bool:
        """See `Logs`."""
        database = self._known(account)
        return database is not None and not database.reading(_is_removed)

    def was_removed(self, account: str) -> bool:
        """See `Logs`."""
        database = self._known(account)
        return database is not None and database.reading(_is_removed)

    def is_new(self, account: str) -> bool:
        """See `Logs`."""
        database = self._known(account)
        return database is None or database.reading(lambda transaction: transaction.row(_KEY)) is None

    def remove_account(self, account: str) -> int:
        """See `Logs`."""
        database = self._known(account)
        if database is None:
            raise unknown_account(account)

        def remove(transaction: Transaction) -> int:
            if _is_removed(transaction):
                raise unknown_account(account)
            count = transaction.number(_COUNT_ENTRIES)
            for statement in _REMOVE_ACCOUNT:
                transaction.execute(statement)
            transaction.execute(_SET_KEY, {"key": _REMOVED})
            transaction.tell()
            return count

        return database.writing(remove, alone=True)

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """See `Logs`."""
        check_login(login)
        name = account_of(login.code, "-")
        database = self._known(name)
        if database is None:
            raise wrong_code()

        def let_in(transaction: Transaction) -> LoggedIn:
            invite = transaction.row(_USE_INVITE, {"code": hash_of(login.code), "now_ms": now_ms})
            if invite is None:
                raise wrong_code()
            row = transaction.row(_KEY)
            if row is not None and row[0] != login.key:
                if not invite[0]:
                    raise other_secret()
                _end_old_secret(transaction, stays="", now_ms=now_ms)
            transaction.execute(_SET_KEY, {"key": login.key})
            return _add_device(transaction, name, login.device, login.name, now_ms)

        return database.writing(let_in, alone=True)

    def principal(self, token: str, *, now_ms: int) -> Principal:
        """See `Logs`."""
        values = {"token": hash_of(token), "used_since_ms": now_ms - UNUSED_MS}
        name = account_of(token, ".")
        database = self._known(name)
        row = (
            database.reading(lambda transaction: transaction.row(_WHO, values))
            if database is not None
            else None
        )
        if row is None:
            raise not_logged_in()
        return Principal(account=name, device=str(row[0]))

    def holds(self, who: Principal) -> bool:
        """See `Logs`."""
        database = self._known(who.account)
        values = {"device": who.device}
        return database is not None and database.reading(lambda t: t.row(_HOLDS, values)) is not None

    def renew(self, who: Principal, device: str, signature: bytes, *, now_ms: int) -> LoggedIn:
        """See `Logs`."""
        check_device(device, signature)

        def go_on(transaction: Transaction) -> LoggedIn:
            row = transaction.row(_NAME, {"device": who.device})
            name = str(row[0]) if row else "device"
            return _add_device(transaction, who.account, device, name, now_ms)

        return self._writing(who, go_on)

    def rotate(self, who: Principal, key: str, *, now_ms: int) -> None:
        """See `Logs`."""
        check_key(key)

        def begin_anew(transaction: Transaction) -> None:
            if transaction.row(_HOLDS, {"device": who.device}) is None:
                raise not_logged_in()
            row = transaction.row(_KEY)
            if row is None or row[0] != key:
                _end_old_secret(transaction, stays=who.device, now_ms=now_ms)
                transaction.execute(_SET_KEY, {"key": key})

        self._writing(who, begin_anew)

    def heads(self, who: Principal) -> Mapping[str, int]:
        """See `Logs`."""
        return self._reading(who, _heads)

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See `Logs`."""
        values = {"device": device, "after": after, "limit": limit}
        rows = self._reading(who, lambda transaction: transaction.rows(_ENTRIES, values))
        return tuple(
            Entry(
                device=row[0],
                number=row[1],
                previous=row[2],
                kind=cast(EntryKind, row[3]),
                subject=row[4],
                digest=row[5],
                sealed=bytes(row[6]),
                signature=bytes(row[7]),
            )
            for row in rows
        )

    def push(self, who: Principal, entries: Sequence[Entry], *, now_ms: int) -> None:
        """See `Logs`."""
        if not entries:
            return
        check_form(entries)
        device = entries[0].device
        numbers = [entry.number for entry in entries]

        def store(transaction: Transaction) -> None:
            known = transaction.rows(
                _IDS, {"device": device, "first": min(numbers) - 1, "last": max(numbers)}
            )
            stored = {int(row[0]): str(row[1]) for row in known}
            new = check_entries(entries, stored, _heads(transaction))
            if not new:
                return
            transaction.execute(
                _ADD_ENTRIES,
                {
                    "device": device,
                    "now_ms": now_ms,
                    "numbers": [entry.number for entry in new],
                    "ids": [entry.id for entry in new],
                    "previous": [entry.previous for entry in new],
                    "kinds": [entry.kind for entry in new],
                    "subjects": [entry.subject for entry in new],
                    "digests": [entry.digest for entry in new],
                    "sealed": [entry.sealed for entry in new],
                    "signatures": [entry.signature for entry in new],
                },
            )
            transaction.execute(_SET_LAST, {"device": device, "last": new[-1].number})
            transaction.tell()
            transaction.execute(_REMOVE_BODIES, {"subjects": sorted({entry.subject for entry in new})})

        self._writing(who, store)

    def report(self, who: Principal, heads: Mapping[str, int], *, now_ms: int) -> None:
        """See `Logs`."""
        told = [f"{device}:{number}" for device, number in sorted(heads.items())]
        values = {"heads": told, "now_ms": now_ms, "device": who.device}
        self._writing(who, lambda transaction: transaction.execute(_REPORT, values))

    def devices(self, who: Principal) -> Sequence[DeviceView]:
        """See `Logs`."""

        def look(transaction: Transaction) -> tuple[DeviceView, ...]:
            heads = _heads(transaction)
            return tuple(
                DeviceView(
                    device=device,
                    name=name,
                    created_at_ms=created,
                    seen_at_ms=seen,
                    revoked_at_ms=revoked,
                    entries=heads.get(device, 0),
                    behind=_behind(heads, taken_over),
                )
                for device, name, created, seen, revoked, taken_over in transaction.rows(_DEVICES)
            )

        return self._reading(who, look)

    def revoke(self, who: Principal, device: str, *, now_ms: int) -> None:
        """See `Logs`."""

        def refuse(transaction: Transaction) -> None:
            if transaction.row(_NAME, {"device": device}) is None:
                raise unknown_device(device)
            transaction.execute(_REVOKE, {"device": device, "now_ms": now_ms})
            transaction.execute(_DROP_INVITES)  # nobody knows which of them the device made
            transaction.tell()

        self._writing(who, refuse)

    # --- tenants

    def _reading(self, who: Principal, work: Callable[[Transaction], _T]) -> _T:
        return self._of(who).reading(work)

    def _writing(self, who: Principal, work: Callable[[Transaction], _T]) -> _T:
        return self._of(who).writing(work, alone=True)

    def _of(self, who: Principal) -> TenantDatabase:
        database = self._known(who.account)
        if database is None:
            raise not_logged_in()
        return database

    def _known(self, account: str) -> TenantDatabase | None:
        """Return the database of an account; None = there is no such account. Does not create one."""
        if account not in self._accounts and self._connections.find(account_tenant(account)) is not None:
            return self._made(account)
        return self._accounts.get(account)

    def _made(self, account: str) -> TenantDatabase:
        if account not in self._accounts:
            self._accounts[account] = TenantDatabase(self._connections, account_tenant(account))
        return self._accounts[account]


def account_tenant(account: str) -> str:
    """Return the name of the tenant of an account."""
    return f"account:{account}"


def _is_removed(transaction: Transaction) -> bool:
    row = transaction.row(_KEY)
    return row is not None and row[0] == _REMOVED


def _end_old_secret(transaction: Transaction, *, stays: str, now_ms: int) -> None:
    """Delete what was encrypted with the secret of the account, and revoke its devices but `stays` and its invitations."""
    for statement in (_DROP_ENTRIES, _DROP_LOGS, _DROP_INVITES):
        transaction.execute(statement)
    transaction.execute(_REVOKE_OTHERS, {"device": stays, "now_ms": now_ms})
    transaction.tell()


def _heads(transaction: Transaction) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in transaction.rows(_HEADS)}


def _behind(heads: Mapping[str, int], taken_over: Sequence[str]) -> int:
    taken = {name: int(number) for name, _, number in (each.partition(":") for each in taken_over)}
    return sum(max(0, last - taken.get(device, 0)) for device, last in heads.items())


def _add_device(transaction: Transaction, account: str, device: str, name: str, now_ms: int) -> LoggedIn:
    if transaction.number(_COUNT_DEVICES) >= MAX_DEVICES:
        raise too_many_devices()
    token = new_token(account)
    name = distinct_name(name, {str(row[0]) for row in transaction.rows(_NAMES)})
    values = {"device": device, "name": name, "token": hash_of(token), "now_ms": now_ms}
    if transaction.row(_ADD_DEVICE, values) is None:
        raise known_device()
    return LoggedIn(account=account, token=token, name=name)
