"""The logs of the sync server in memory: an implementation of `Logs` for tests that need no database."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from tacit.sync.entry import Entry
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


@dataclass(slots=True, kw_only=True)
class _Device:
    view: DeviceView
    token: str
    taken_over: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class _Account:
    key: str = ""
    devices: dict[str, _Device] = field(default_factory=dict[str, _Device])
    logs: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])
    invites: dict[str, tuple[int, bool]] = field(default_factory=dict[str, tuple[int, bool]])

    def end_old_secret(self, *, stays: str, now_ms: int) -> None:
        """Delete what the devices sent, and revoke all of them but `stays`."""
        self.logs.clear()
        self.invites.clear()
        for name, device in self.devices.items():
            if name != stays and device.view.revoked_at_ms is None:
                device.view = replace(device.view, revoked_at_ms=now_ms)


class InMemoryLogs:
    """Implements `Logs` in memory. Safe to share between threads."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._removed: set[str] = set()
        self._lock = Lock()

    def add_account(self, account: str, *, now_ms: int, same_person: bool = False) -> str:
        """See `Logs`."""
        with self._lock:
            if account in self._removed and not same_person:
                raise removed_account(account)
            self._removed.discard(account)
            code = new_code(account)
            known = self._accounts.setdefault(account, _Account())
            if not known.key:
                known.invites.clear()
            known.invites[hash_of(code)] = (now_ms + INVITE_MS, same_person)
            return code

    def was_removed(self, account: str) -> bool:
        """See `Logs`."""
        with self._lock:
            return account in self._removed

    def has_account(self, account: str) -> bool:
        """See `Logs`."""
        with self._lock:
            return account in self._accounts

    def is_new(self, account: str) -> bool:
        """See `Logs`."""
        with self._lock:
            return account not in self._accounts or not self._accounts[account].key

    def remove_account(self, account: str) -> int:
        """See `Logs`."""
        with self._lock:
            removed = self._accounts.pop(account, None)
            if removed is None:
                raise unknown_account(account)
            self._removed.add(account)
        return sum(map(len, removed.logs.values()))

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """See `Logs`."""
        check_login(login)
        with self._lock:
            name = account_of(login.code, "-")
            account = self._accounts.get(name)
            until, anew = account.invites.get(hash_of(login.code), (0, False)) if account else (0, False)
            if account is None or until < now_ms:
                raise wrong_code()
            if account.key and account.key != login.key:
                if not anew:
                    raise other_secret()
                account.end_old_secret(stays="", now_ms=now_ms)
                account.invites[hash_of(login.code)] = (until, anew)
            del account.invites[hash_of(login.code)]
            account.key = login.key
            return self._let_in(name, account, login.device, login.name, now_ms)

    def _of(self, who: Principal) -> _Account:
        if who.account not in self._accounts:
            raise not_logged_in()
        return self._accounts[who.account]

    def _let_in(self, name: str, account: _Account, device: str, called: str, now_ms: int) -> LoggedIn:
        if sum(known.view.revoked_at_ms is None for known in account.devices.values()) >= MAX_DEVICES:
            raise too_many_devices()
        if device in account.devices:
            raise known_device()
        token = new_token(name)
        called = distinct_name(
            called,
            {each.view.name for each in account.devices.values() if each.view.revoked_at_ms is None},
        )
        view = DeviceView(device=device, name=called, created_at_ms=now_ms, seen_at_ms=now_ms)
        account.devices[device] = _Device(view=view, token=hash_of(token))
        return LoggedIn(account=name, token=token, name=called)

    def principal(self, token: str, *, now_ms: int) -> Principal:
        """See `Logs`."""
        with self._lock:
            name = account_of(token, ".")
            account = self._accounts.get(name)
            digest = hash_of(token)
            for device in account.devices.values() if account else ():
                used = device.view.seen_at_ms >= now_ms - UNUSED_MS
                if used and device.view.revoked_at_ms is None and hmac.compare_digest(device.token, digest):
                    return Principal(account=name, device=device.view.device)
        raise not_logged_in()

    def holds(self, who: Principal) -> bool:
        """See `Logs`."""
        with self._lock:
            account = self._accounts.get(who.account)
            device = account.devices.get(who.device) if account else None
            return device is not None and device.view.revoked_at_ms is None

    def renew(self, who: Principal, device: str, signature: bytes, *, now_ms: int) -> LoggedIn:
        """See `Logs`."""
        check_device(device, signature)
        with self._lock:
            account = self._of(who)
            old = account.devices[who.device]
            return self._let_in(who.account, account, device, old.view.name, now_ms)

    def rotate(self, who: Principal, key: str, *, now_ms: int) -> None:
        """See `Logs`."""
        check_key(key)
        if not self.holds(who):
            raise not_logged_in()
        with self._lock:
            account = self._of(who)
            if account.key != key:
                account.end_old_secret(stays=who.device, now_ms=now_ms)
                account.key = key

    def heads(self, who: Principal) -> Mapping[str, int]:
        """See `Logs`."""
        with self._lock:
            return {device: len(log) for device, log in self._of(who).logs.items() if log}

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See `Logs`."""
        with self._lock:
            return tuple(self._of(who).logs.get(device, [])[after : after + limit])

    def push(self, who: Principal, entries: Sequence[Entry], *, now_ms: int) -> None:
        """See `Logs`."""
        del now_ms
        if not entries:
            return
        check_form(entries)
        with self._lock:
            account = self._of(who)
            device = entries[0].device
            stored = {entry.number: entry.id for entry in account.logs.get(device, ())}
            if new := check_entries(entries, stored, account.logs):
                account.logs.setdefault(device, []).extend(new)
            purged = {
                entry.subject for own in account.logs.values() for entry in own if entry.kind == "purge"
            }
            for own in account.logs.values():
                own[:] = [
                    replace(entry, sealed=b"") if entry.subject in purged and entry.kind == "state" else entry
                    for entry in own
                ]

    def report(self, who: Principal, heads: Mapping[str, int], *, now_ms: int) -> None:
        """See `Logs`."""
        with self._lock:
            device = self._of(who).devices[who.device]
            device.taken_over = dict(heads)
            device.view = replace(device.view, seen_at_ms=now_ms)

    def devices(self, who: Principal) -> Sequence[DeviceView]:
        """See `Logs`."""
        with self._lock:
            account = self._of(who)
            lengths = {device: len(log) for device, log in account.logs.items()}
            return tuple(
                replace(
                    device.view,
                    entries=lengths.get(device.view.device, 0),
                    behind=sum(
                        max(0, count - device.taken_over.get(name, 0)) for name, count in lengths.items()
                    ),
                )
                for device in sorted(account.devices.values(), key=lambda one: one.view.created_at_ms)
            )

    def revoke(self, who: Principal, device: str, *, now_ms: int) -> None:
        """See `Logs`."""
        with self._lock:
            account = self._of(who)
            if device not in account.devices:
                raise unknown_device(device)
            known = account.devices[device]
            known.view = replace(known.view, revoked_at_ms=now_ms)
            account.invites.clear()
