"""An entry of a change log: what is signed, what is encrypted, and how both are checked. In: changes. Out: bytes. Pure but for chance.

Each device appends to a log of its own. An entry names its number, the entry before it and its subject (the memory, as a keyed hash), and holds
an encrypted body. The signed id covers a digest of the body, so that a purge can remove the body and the log can still be checked.

A body says the new state of one memory, with the entries that its device had seen of it (`parents`), or that it was purged. A body
of a form that this version does not know stops the replica: to guess would lose what it says. A body that nobody can read is passed over.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Any, Literal

import msgspec

from tacit.errors import SyncError, UnreadableEntry
from tacit.frozen import frozen
from tacit.model.memory import Memory, Relation
from tacit.sync.keys import AccountKey, DeviceKey, is_signed

FORMAT = 1
SIGNATURE_BYTES = 64
_DEVICE, _HASH = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
EntryKind = Literal["state", "purge"]


@frozen
class Entry:
    """A signed entry of a device's log with its encrypted body, as it is stored and sent.

    Attributes:
        device: whose log; the public key of the device in hexadecimal digits.
        number: place in that log, from 1.
        previous: id of the entry before it; "" for the first.
        kind: what the server must know of the body: a purge removes the bodies of its subject.
        subject: the memory, as a keyed hash.
        digest: hash of the sealed body.
        sealed: the encrypted body; empty = it was purged.
        signature: of the id, by the device.
    """

    device: str
    number: int
    previous: str
    kind: EntryKind
    subject: str
    digest: str
    sealed: bytes
    signature: bytes

    @property
    def id(self) -> str:
        """The entry's id, a hash of everything that its device signs: 32 hexadecimal digits."""
        return entry_id(self)


@frozen
class StateBody:
    """The body of an entry that says the new state of a memory after a change on the device.

    Attributes:
        memory: as it is now; its counts of use belong to a device and are 0.
        relations: those that begin at it.
        parents: ids of the entries whose states this one replaces.
        at_ms: when the device wrote it, by its own clock.
    """

    memory: Memory
    relations: tuple[Relation, ...] = ()
    parents: tuple[str, ...] = ()
    at_ms: int = 0


@frozen
class PurgeBody:
    """The record that a memory was removed for good, on all devices."""

    memory_id: str
    at_ms: int = 0


Body = StateBody | PurgeBody


@frozen
class _Envelope:
    format: int
    kind: str
    body: Any = None


def entry_id(entry: Entry) -> str:
    """Return the id of an entry: a hash of everything that its device signs, 32 hexadecimal digits."""
    signed = "\n".join(
        (
            str(FORMAT),
            entry.device,
            str(entry.number),
            entry.previous,
            entry.kind,
            entry.subject,
            entry.digest,
        )
    )
    return hashlib.blake2b(signed.encode(), digest_size=16).hexdigest()


def append_entry(body: Body, *, number: int, previous: str, device: DeviceKey, account: AccountKey) -> Entry:
    """Return the next entry of a device's log: `body` encrypted with the account's key, signed by the device. Stores nothing.

    `number` is its place in the log, from 1; `previous` the id of the entry before it, "" for the first.
    """
    name = device.device
    if isinstance(body, StateBody):
        kind: EntryKind = "state"
        subject = account.subject(body.memory.id)
    else:
        kind = "purge"
        subject = account.subject(body.memory_id)
    envelope = _Envelope(format=FORMAT, kind=kind, body=body)
    sealed = account.seal(msgspec.json.encode(envelope), about=_about(name, number, subject))
    unsigned = Entry(
        device=name,
        number=number,
        previous=previous,
        kind=kind,
        subject=subject,
        digest=digest_of(sealed),
        sealed=sealed,
        signature=b"",
    )
    return replace(unsigned, signature=device.sign(unsigned.id.encode()))


def digest_of(sealed: bytes) -> str:
    """Return the hash of an encrypted body, 32 hexadecimal digits."""
    return hashlib.blake2b(sealed, digest_size=16).hexdigest()


def why_invalid(entry: Entry, *, previous: str) -> str:
    """Check form, order, body and signature of an entry that follows the one whose id is `previous`; return why it is invalid, "" = it is valid."""
    if not (
        _DEVICE.fullmatch(entry.device) and _HASH.fullmatch(entry.subject) and _HASH.fullmatch(entry.digest)
    ):
        return "its device, subject or digest has not the form of one"
    if entry.number < 1 or len(entry.signature) != SIGNATURE_BYTES:
        return "its number or its signature has not the form of one"
    if entry.previous != previous:
        return "it does not follow the entry before it"
    if entry.sealed and digest_of(entry.sealed) != entry.digest:
        return "its body was changed"
    if not is_signed(entry.device, entry.id.encode(), entry.signature):
        return "its signature is wrong"
    return ""


def open_entry(entry: Entry, account: AccountKey) -> Body | None:
    """Decrypt and return the body of an entry; None = it was purged.

    Raises:
        SyncError: if it says something that this version does not know.
        UnreadableEntry: if it cannot be decrypted, or its kind or subject inside differs from that outside.
    """
    if not entry.sealed:
        return None
    raw = account.open(entry.sealed, about=_about(entry.device, entry.number, entry.subject))
    try:
        envelope = msgspec.json.decode(raw, type=_Envelope)
    except msgspec.MsgspecError as error:
        raise UnreadableEntry(_where(entry, "holds no body")) from error
    bodies: dict[str, Any] = {"state": StateBody, "purge": PurgeBody}
    if envelope.format != FORMAT or envelope.kind not in bodies:
        raise SyncError(
            f"Another device wrote an entry that this version does not know ({envelope.kind}, format {envelope.format}).",
            hint="Update Tacit on this device; until then it takes nothing over, and nothing is lost.",
        )
    try:
        body: Body = msgspec.convert(envelope.body, type=bodies[envelope.kind])
    except msgspec.MsgspecError as error:
        raise UnreadableEntry(_where(entry, "holds no body")) from error
    about = body.memory.id if isinstance(body, StateBody) else body.memory_id
    if envelope.kind != entry.kind or account.subject(about) != entry.subject:
        raise UnreadableEntry(
            _where(entry, "says something else inside than outside"),
            hint="Revoke that device: `tacit devices revoke`.",
        )
    return body


def _where(entry: Entry, what: str) -> str:
    return f"Entry {entry.number} of the device {entry.device[:12]} {what}."


def _about(device: str, number: int, subject: str) -> bytes:
    return f"{device}\n{number}\n{subject}".encode()
