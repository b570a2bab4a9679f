"""What the server keeps of accounts: devices, invitations, logs. One protocol, kept in memory here and in PostgreSQL (`postgres_logs`).

The server checks that entries follow one another and are signed by their device. It cannot read them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol

from tacit.errors import InvalidInput, InvalidPayload, LogForked, NotFound, NotLoggedIn, SyncError
from tacit.model.ids import encode_base32
from tacit.sync.entry import Entry, why_invalid
from tacit.sync.keys import is_signed
from tacit.sync.views import DeviceView, LoggedIn

INVITE_MS = 3_600_000
"""An invitation holds for an hour."""
UNUSED_MS = 180 * 86_400_000
"""A token that was not used for half a year lets nobody in any more."""
MAX_NAME = 60
MAX_ACCOUNT = 40
ACCOUNT = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{MAX_ACCOUNT - 1}}}")
"""The name of an account."""
MAX_SEALED = 200_000
MAX_DEVICES = 50
MAX_LOGS = 4 * MAX_DEVICES
"""Logs of one account: those of devices of today, of revoked ones, and of ones that a restored server no longer lists."""
MAX_NUMBER = 2**53
"""No number that a device names is larger: it would not be one in every reader of JSON."""
_DEVICE, _HASH, _PREVIOUS = (
    re.compile(r"[0-9a-f]{64}"),
    re.compile(r"[0-9a-f]{32}"),
    re.compile(r"([0-9a-f]{32})?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks: a device of an account."""

    account: str
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A device that wants to join an account.

    Attributes:
        code: of an invitation.
        key: name of the account's secret, see `AccountKey.account`.
        device: the public key of the device, as 64 hexadecimal digits.
        name: as its user calls it.
        signature: of its public key, by the key.
    """

    code: str
    key: str
    device: str
    name: str
    signature: bytes


class Logs(Protocol):
    """Every method raises `NotFound` for an account that is not there, and `SyncError` for what is not acceptable."""

    def add_account(self, account: str, *, now_ms: int) -> str:
        """Make an account, or let one more device into it; returns the code of an invitation."""
        ...

    def has_account(self, account: str) -> bool:
        """Return whether there is an account with this name."""
        ...

    def is_new(self, account: str) -> bool:
        """Return whether no device of the account has logged in yet. The first device decides which secret the devices share."""
        ...

    def remove_account(self, account: str) -> int:
        """Remove an account with all that its devices sent; returns how many entries that were.

        Raises:
            NotFound: if there is none of that name.
        """
        ...

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """Let a device in. The first one decides which secret the account's devices share.

        Raises:
            NotLoggedIn: for a code that is unknown, used or too old.
            SyncError: if the device has another secret than the account's first one.
        """
        ...

    def principal(self, token: str, *, now_ms: int) -> Principal:
        """Who has this token.

        Raises:
            NotLoggedIn: if nobody has, the device was revoked, or it has not synced for `UNUSED_MS`.
        """
        ...

    def renew(self, who: Principal, device: str, signature: bytes, *, now_ms: int) -> LoggedIn:
        """Let a home go on as another device. The old one stays: it may be the home that this one was copied from."""
        ...

    def heads(self, who: Principal) -> Mapping[str, int]:
        """The number of the last entry of every log of the account."""
        ...

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """Entries of a log behind `after`, in order."""
        ...

    def push(self, who: Principal, entries: Sequence[Entry], *, now_ms: int) -> None:
        """Store entries of one log, all or none; a purge removes the bodies of its subject.

        The log may be another device's: a member relays it. That device need not be listed, because a server that was restored from a backup
        lists none of those that joined since. Its signature says whose the entries are.

        Raises:
            InvalidPayload: one has not the form of an entry.
            LogForked: another entry has one of their numbers.
            SyncError: one does not follow or is not signed, or the account would have more than `MAX_LOGS` logs.
        """
        ...

    def report(self, who: Principal, heads: Mapping[str, int], *, now_ms: int) -> None:
        """Note what a device has taken over."""
        ...

    def devices(self, who: Principal) -> Sequence[DeviceView]:
        """The devices of the account, oldest first."""
        ...

    def revoke(self, who: Principal, device: str, *, now_ms: int) -> None:
        """Revoke a device: the server refuses its token from now on."""
        ...


def new_code(account: str) -> str:
    """The code of an invitation: the account's name and forty random bits in letters."""
    return f"{account}-{encode_base32(secrets.randbits(40), 8)}"


def new_token(account: str) -> str:
    """The token of a device: the account's name and 256 random bits."""
    return f"{account}.{secrets.token_urlsafe(32)}"


def account_of(token_or_code: str, separator: str) -> str:
    """The account's name in a token or a code."""
    name = token_or_code.rpartition(separator)[0]
    return name if ACCOUNT.fullmatch(name) else ""


def check_account_name(name: str, *, what: str = "an account") -> None:
    """Refuse a name that does not have the form of an account's name.

    Raises:
        InvalidInput: if it holds anything but lower-case letters, digits and hyphens, or is too long; `what` says in the message what it should name.
    """
    if not ACCOUNT.fullmatch(name):
        raise InvalidInput(
            f"{name[:60]!r} cannot name {what}.",
            hint=f"Use at most {MAX_ACCOUNT} lower-case letters, digits and hyphens.",
        )


def hash_of(secret: str) -> str:
    """What is stored of a token or a code. They are random, so no salt is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_login(login: Login) -> None:
    """Refuse a login whose device does not prove its key.

    Raises:
        SyncError: then, or for a name that is too long.
    """
    if not login.name.strip() or len(login.name) > MAX_NAME or not login.name.isprintable():
        raise SyncError(f"A device needs a name of at most {MAX_NAME} printable characters.")
    if not re.fullmatch(r"[0-9a-f]{1,64}", login.key):
        raise SyncError("The name of the account's secret has not the form of one.")
    check_device(login.device, login.signature)


def check_device(device: str, signature: bytes) -> None:
    """Refuse a device that does not prove its key.

    Raises:
        SyncError: then.
    """
    if not (is_device(device) and is_signed(device, device.encode(), signature)):
        raise SyncError("The device does not prove that it has the key it names.")


def is_device(text: str) -> bool:
    """Whether a text has the form of a device's key."""
    return _DEVICE.fullmatch(text) is not None


def check_form(entries: Sequence[Entry]) -> None:
    """Refuse what has not the form of an entry, before anything is asked about it.

    Raises:
        InvalidPayload: naming the field.
    """
    for entry in entries:
        fields = {
            "device": is_device(entry.device),
            "number": 1 <= entry.number <= MAX_NUMBER,
            "previous": _PREVIOUS.fullmatch(entry.previous),
            "subject": _HASH.fullmatch(entry.subject),
            "digest": _HASH.fullmatch(entry.digest),
        }
        if wrong := [name for name, right in fields.items() if not right]:
            raise InvalidPayload(f"The `{wrong[0]}` of an entry has not the form of one.")


def check_entries(
    entries: Sequence[Entry], stored: Mapping[int, str], logs: Collection[str]
) -> tuple[Entry, ...]:
    """Those of `entries`, all of one log, that are new.

    Args:
        entries: what came in.
        stored: ids of the stored entries of that log by number, from the one before the first that came in.
        logs: devices whose logs the account has.

    Raises:
        LogForked, SyncError: see `Logs.push`.
    """
    if entries[0].device not in logs and len(logs) >= MAX_LOGS:
        raise SyncError(f"An account has at most {MAX_LOGS} logs.")
    known = dict(stored)
    new: list[Entry] = []
    for entry in entries:
        if entry.device != entries[0].device:
            raise SyncError("An entry belongs to another log than the one before it.")
        if len(entry.sealed) > MAX_SEALED:
            raise SyncError(f"An entry is larger than {MAX_SEALED} bytes.")
        there = known.get(entry.number)
        if there is not None:
            if not hmac.compare_digest(there, entry.id):
                raise _forked(entry)
            continue
        before = known.get(entry.number - 1, "") if entry.number > 1 else ""
        if entry.number > 1 and not before:
            raise SyncError(f"Entry {entry.number} came before entry {entry.number - 1}.")
        if entry.previous != before:
            raise _forked(entry)
        if why := why_invalid(entry, previous=before):
            raise SyncError(f"Entry {entry.number} is not accepted: {why}.")
        known[entry.number] = entry.id
        new.append(entry)
    return tuple(new)


def _forked(entry: Entry) -> LogForked:
    return LogForked(
        f"The log of the device {entry.device[:12]} goes on otherwise from the number {entry.number}.",
        hint="A home was copied or restored; its device gets a new name at its next sync.",
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
    invites: dict[str, int] = field(default_factory=dict[str, int])


class InMemoryLogs:
    """See `Logs`. For tests: nothing outlives the process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._lock = Lock()

    def add_account(self, account: str, *, now_ms: int) -> str:
        """See the protocol."""
        with self._lock:
            code = new_code(account)
            self._accounts.setdefault(account, _Account()).invites[hash_of(code)] = now_ms + INVITE_MS
            return code

    def has_account(self, account: str) -> bool:
        """See the protocol."""
        with self._lock:
            return account in self._accounts

    def is_new(self, account: str) -> bool:
        """See the protocol."""
        with self._lock:
            return account not in self._accounts or not self._accounts[account].key

    def remove_account(self, account: str) -> int:
        """See the protocol."""
        with self._lock:
            removed = self._accounts.pop(account, None)
        if removed is None:
            raise unknown_account(account)
        return sum(map(len, removed.logs.values()))

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """See the protocol."""
        check_login(login)
        with self._lock:
            name = account_of(login.code, "-")
            account = self._accounts.get(name)
            until = account.invites.get(hash_of(login.code), 0) if account else 0
            if account is None or until < now_ms:
                raise wrong_code()
            if account.key and account.key != login.key:
                raise other_secret()
            del account.invites[hash_of(login.code)]
            account.key = login.key
            return self._let_in(name, account, login.device, login.name, now_ms)

    def _let_in(self, name: str, account: _Account, device: str, called: str, now_ms: int) -> LoggedIn:
        if len(account.devices) >= MAX_DEVICES:
            raise SyncError(f"An account has at most {MAX_DEVICES} devices.", hint="Revoke some.")
        token = new_token(name)
        view = DeviceView(device=device, name=called, created_at_ms=now_ms, seen_at_ms=now_ms)
        account.devices[device] = _Device(view=view, token=hash_of(token))
        return LoggedIn(account=name, token=token)

    def principal(self, token: str, *, now_ms: int) -> Principal:
        """See the protocol."""
        with self._lock:
            name = account_of(token, ".")
            account = self._accounts.get(name)
            digest = hash_of(token)
            for device in account.devices.values() if account else ():
                used = device.view.seen_at_ms >= now_ms - UNUSED_MS
                if used and device.view.revoked_at_ms is None and hmac.compare_digest(device.token, digest):
                    return Principal(account=name, device=device.view.device)
        raise not_logged_in()

    def renew(self, who: Principal, device: str, signature: bytes, *, now_ms: int) -> LoggedIn:
        """See the protocol."""
        check_device(device, signature)
        with self._lock:
            account = self._accounts[who.account]
            old = account.devices[who.device]
            return self._let_in(who.account, account, device, old.view.name, now_ms)

    def heads(self, who: Principal) -> Mapping[str, int]:
        """See the protocol."""
        with self._lock:
            return {device: len(log) for device, log in self._accounts[who.account].logs.items() if log}

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See the protocol."""
        with self._lock:
            return tuple(self._accounts[who.account].logs.get(device, [])[after : after + limit])

    def push(self, who: Principal, entries: Sequence[Entry], *, now_ms: int) -> None:
        """See the protocol."""
        del now_ms
        if not entries:
            return
        check_form(entries)
        with self._lock:
            account = self._accounts[who.account]
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
        """See the protocol."""
        with self._lock:
            device = self._accounts[who.account].devices[who.device]
            device.taken_over = dict(heads)
            device.view = replace(device.view, seen_at_ms=now_ms)

    def devices(self, who: Principal) -> Sequence[DeviceView]:
        """See the protocol."""
        with self._lock:
            account = self._accounts[who.account]
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
        """See the protocol."""
        with self._lock:
            account = self._accounts[who.account]
            if device not in account.devices:
                raise unknown_device(device)
            known = account.devices[device]
            known.view = replace(known.view, revoked_at_ms=now_ms)


def wrong_code() -> NotLoggedIn:
    """The error for a code that lets nobody in."""
    return NotLoggedIn(
        "This code is not known, was used, or is too old.",
        hint="A code is good for an hour. `tacit devices invite` on a device of yours makes another one; for your first device, ask the person who runs the server.",
    )


def not_logged_in() -> NotLoggedIn:
    """The error for a token that nobody has."""
    return NotLoggedIn(
        "The server does not know this device, or it was revoked, or it did not sync for half a year.",
        hint="To connect it again, run `tacit logout` here, then `tacit login URL` with a new invitation.",
    )


def other_secret() -> SyncError:
    """The error for a device with another secret than the account's."""
    return SyncError(
        "The devices of this account share another recovery phrase.",
        hint="Give the phrase that was shown at the first login.",
    )


def unknown_account(account: str) -> NotFound:
    """The error for an account that is not there."""
    return NotFound(f"There is no account {account!r}.")


def unknown_device(device: str) -> NotFound:
    """The error for a device that the account does not have."""
    return NotFound(f"The account has no device {device[:12]!r}.", hint="`tacit devices` lists them.")
