"""Accounts with their devices, invitations and logs. The protocol and its rules; `postgres_logs` implements it, and tests have an implementation in memory.

The server checks that the entries of a log follow one another and are signed by their device. It cannot read their content.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.errors import InvalidInput, InvalidPayload, LogForked, NotFound, NotLoggedIn, SyncError
from tacit.model.ids import encode_base32
from tacit.sync.entry import Entry, why_invalid
from tacit.sync.keys import is_signed
from tacit.sync.views import DeviceView, LoggedIn

INVITE_MS = 7 * 86_400_000
"""An invitation is valid for seven days, in milliseconds."""
UNUSED_MS = 180 * 86_400_000
"""A token expires if its device has not synced for half a year, in milliseconds."""
MAX_NAME = 60
MAX_ACCOUNT = 40
ACCOUNT = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{MAX_ACCOUNT - 1}}}")
"""The form of the name of an account."""
MAX_SEALED = 200_000
MAX_DEVICES = 50
MAX_LOGS = 4 * MAX_DEVICES
"""An account has at most this many logs. Logs of revoked devices count, and logs of devices that a restored server does not list."""
MAX_NUMBER = 2**53
"""The largest number that a device may send. Some JSON parsers cannot represent larger ones exactly."""
_DEVICE, _HASH, _PREVIOUS = (
    re.compile(r"[0-9a-f]{64}"),
    re.compile(r"[0-9a-f]{32}"),
    re.compile(r"([0-9a-f]{32})?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The sender of a request: a device of an account, or a service account, for which `device` is ""."""

    account: str
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The values with which a device logs in to an account.

    Attributes:
        code: the code of an invitation.
        key: a public name of the secret that the devices of the account share; see `AccountKey.account`.
        device: the public key of the device, as 64 hexadecimal digits.
        name: the name that the user gives the device.
        signature: the signature of the public key by the device.
    """

    code: str
    key: str
    device: str
    name: str
    signature: bytes


class Logs(Protocol):
    """Accounts and their logs. Methods that take a `who` expect a principal that `principal` returned; they raise `NotLoggedIn` if its account is gone."""

    def add_account(self, account: str, *, now_ms: int, same_person: bool = False) -> str:
        """Create an invitation for one more device of an account, and return its code. A new account is created.

        While no device has logged in, a new invitation ends those before it. The name of a removed account stays taken: what it wrote stands under it.
        It is given again only to the `same_person`. Their invitation lets a device log in with a new secret, which ends what had the old one; see `rotate`.

        Raises:
            InvalidInput: the account was removed, and nobody says that this is the same person.
        """
        ...

    def was_removed(self, account: str) -> bool:
        """Return whether an account with this name was removed."""
        ...

    def has_account(self, account: str) -> bool:
        """Return whether there is an account with this name."""
        ...

    def is_new(self, account: str) -> bool:
        """Return whether no device of the account has logged in yet. The first device decides which secret the devices share."""
        ...

    def remove_account(self, account: str) -> int:
        """Remove an account with everything that its devices sent, but for its name. Return the number of entries.

        Raises:
            NotFound: there is no such account.
        """
        ...

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """Log a device in, and return its token. The first device of an account decides which secret the devices share.

        Raises:
            NotLoggedIn: the code is unknown, was used, or has expired.
            SyncError: the device has another secret than the first device, does not prove its key, or is logged in already; or the account has
                `MAX_DEVICES` devices.
        """
        ...

    def principal(self, token: str, *, now_ms: int) -> Principal:
        """Return the principal to which a token belongs.

        Raises:
            NotLoggedIn: the token is unknown, its device was revoked, or the device has not synced for `UNUSED_MS`.
        """
        ...

    def holds(self, who: Principal) -> bool:
        """Return whether a device is still one of its account and not revoked."""
        ...

    def renew(self, who: Principal, device: str, signature: bytes, *, now_ms: int) -> LoggedIn:
        """Log a home in as another device, and return its token. The old device stays: it may be the home that this one was copied from.

        Raises:
            SyncError: the new device does not prove its key, or is logged in already; or the account has `MAX_DEVICES` devices.
        """
        ...

    def rotate(self, who: Principal, key: str, *, now_ms: int) -> None:
        """Give an account a new secret: the devices but `who` are revoked, and everything that was encrypted with the old secret is deleted.

        Account, roles and memberships stay. If the account has the secret already, nothing is changed.

        Raises:
            SyncError: `key` does not have the form of the name of a secret.
        """
        ...

    def heads(self, who: Principal) -> Mapping[str, int]:
        """Return the number of the last entry of every log of the account, by device."""
        ...

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """Return the entries of a log with numbers above `after`, in order, at most `limit`."""
        ...

    def push(self, who: Principal, entries: Sequence[Entry], *, now_ms: int) -> None:
        """Store entries of one log; either all or none are stored. A purge among them removes the bodies of the entries with the same subject.

        A device may also send the log of another device of the account. The server need not know that device: a server that was restored from a backup does
        not list devices that joined later. The signatures prove which device wrote the entries.

        Raises:
            InvalidPayload: an entry does not have the form of one.
            LogForked: the log has another entry with the same number.
            SyncError: an entry is missing before one of them, a signature is wrong, or the account would have more than `MAX_LOGS` logs.
        """
        ...

    def report(self, who: Principal, heads: Mapping[str, int], *, now_ms: int) -> None:
        """Store the number of the last entry that the device has applied, by log."""
        ...

    def devices(self, who: Principal) -> Sequence[DeviceView]:
        """Return the devices of the account, oldest first."""
        ...

    def revoke(self, who: Principal, device: str, *, now_ms: int) -> None:
        """Revoke a device: the server refuses its token from now on, and no open invitation of the account is valid any more.

        Raises:
            NotFound: the account has no such device.
        """
        ...


def new_code(account: str) -> str:
    """Return a new code for an invitation: the name of the account, and forty random bits as letters and digits."""
    return f"{account}-{encode_base32(secrets.randbits(40), 8)}"


def new_token(account: str) -> str:
    """Return a new token for a device: the name of the account, and 256 random bits."""
    return f"{account}.{secrets.token_urlsafe(32)}"


def account_of(token_or_code: str, separator: str) -> str:
    """Return the name of the account in a token (`separator` ".") or a code ("-"); "" = there is none."""
    name = token_or_code.rpartition(separator)[0]
    return name if ACCOUNT.fullmatch(name) else ""


def check_account_name(name: str, *, what: str = "an account") -> str:
    """Return `name` if it has the form of an account's name.

    Raises:
        InvalidInput: the name holds other characters than lower-case letters, digits and hyphens, or is too long. The message says that it cannot name `what`.
    """
    if not ACCOUNT.fullmatch(name):
        raise InvalidInput(
            f"{name[:60]!r} cannot name {what}.",
            hint=f"Use at most {MAX_ACCOUNT} lower-case letters, digits and hyphens.",
        )
    return name


def hash_of(secret: str) -> str:
    """Return the hash under which a token or a code is stored. These are random, so no salt is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def check_login(login: Login) -> None:
    """Refuse a login if a value has a wrong form or the device does not prove its key.

    Raises:
        SyncError: the name or the key has a wrong form, or the signature is wrong.
    """
    if not login.name.strip() or len(login.name) > MAX_NAME or not login.name.isprintable():
        raise SyncError(f"A device needs a name of at most {MAX_NAME} printable characters.")
    check_key(login.key)
    check_device(login.device, login.signature)


def check_key(key: str) -> None:
    """Refuse a text that does not have the form of the public name of an account's secret.

    Raises:
        SyncError: it has another form.
    """
    if not re.fullmatch(r"[0-9a-f]{1,64}", key):
        raise SyncError("`key` does not have the form of the name of an account's secret.")


def distinct_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, with a number if another device of the account has it already."""
    numbered = (f"{name[: MAX_NAME - 4]} {number}" for number in range(2, MAX_DEVICES + len(taken) + 3))
    return next(each for each in (name, *numbered) if each not in taken)


def check_device(device: str, signature: bytes) -> None:
    """Refuse a device if its signature does not prove that it has the private key.

    Raises:
        SyncError: the key does not have the form of one, or the signature is wrong.
    """
    if not (is_device(device) and is_signed(device, device.encode(), signature)):
        raise SyncError("The device does not prove that it has the key that it names.")


def is_device(text: str) -> bool:
    """Return whether a text has the form of a device's public key."""
    return _DEVICE.fullmatch(text) is not None


def check_form(entries: Sequence[Entry]) -> None:
    """Refuse entries with a wrong form. This needs no database.

    Raises:
        InvalidPayload: a field has a wrong form; the message names the field.
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
            raise InvalidPayload(f"The `{wrong[0]}` of an entry has a wrong form.")


def check_entries(
    entries: Sequence[Entry], stored: Mapping[int, str], logs: Collection[str]
) -> tuple[Entry, ...]:
    """Check entries of one log, and return the new ones.

    Args:
        entries: the entries that were sent.
        stored: the ids of the stored entries of that log by number, beginning with the entry before the first that was sent.
        logs: the devices whose logs the account has.

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
        f"The log of the device {entry.device[:12]} has another entry {entry.number}, or another one before it.",
        hint="A home was copied or restored; its device gets a new name at its next sync.",
    )


def wrong_code() -> NotLoggedIn:
    """Return the error for a code that is unknown, was used, or has expired."""
    return NotLoggedIn(
        "This code is unknown, was used, or has expired.",
        hint="A code works once, within seven days. `tacit devices invite` on one of your devices prints a new one. For your first device, ask an administrator of your organization, or the operator of the server.",
    )


def not_logged_in() -> NotLoggedIn:
    """Return the error for a token that is unknown, revoked or expired."""
    return NotLoggedIn(
        "The server does not know this device, or it was revoked, or it did not sync for half a year.",
        hint="To connect it again, run `tacit logout` here, then `tacit login URL` with a new invitation.",
    )


def other_secret() -> SyncError:
    """Return the error for a device whose secret is not that of the account."""
    return SyncError(
        "The devices of this account have another recovery phrase.",
        hint="Enter the phrase that was shown at the first login. If you lost it with all of your devices, ask the operator of the server for an invitation with a new phrase.",
    )


def too_many_devices() -> SyncError:
    """Return the error for a login to an account that already has `MAX_DEVICES` devices."""
    return SyncError(f"An account has at most {MAX_DEVICES} devices.", hint="Revoke some.")


def known_device() -> SyncError:
    """Return the error for a login with the key of a device that already belongs to the account."""
    return SyncError("A device with this key is logged in already.")


def removed_account(account: str) -> InvalidInput:
    """Return the error for the name of an account that was removed."""
    return InvalidInput(
        f"The account {account} was removed, and its name stays taken: what it wrote still stands under it.",
        hint=f"Choose another name. If this is the same person, the operator of the server runs `tacit-server invite {account} --same-person`.",
    )


def unknown_account(account: str) -> NotFound:
    """Return the error for an account that does not exist."""
    return NotFound(f"There is no account {account!r}.")


def unknown_device(device: str) -> NotFound:
    """Return the error for a device that does not belong to the account."""
    return NotFound(f"The account has no device {device[:12]!r}.", hint="`tacit devices` lists them.")
