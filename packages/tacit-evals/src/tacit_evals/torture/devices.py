"""Devices of torture runs: the body of a login, and entries with random content. In: keys, a log. Out: a body, an entry.

The server cannot read the body of an entry, so random bytes do instead of an encrypted memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tacit.sync.entry import Entry, EntryKind, digest_of
from tacit.sync.keys import AccountKey, DeviceKey


def login_body(secret: AccountKey, key: DeviceKey, code: str) -> Mapping[str, object]:
    """Return the body with which the device of `key` logs in to the account of `secret` with the code of an invitation."""
    return {
        "code": code,
        "key": secret.account,
        "device": key.device,
        "name": "laptop",
        "signature": key.sign(key.device.encode()),
    }


def append_noise(log: list[Entry], key: DeviceKey, *, kind: EntryKind, subject: str, sealed: bytes) -> Entry:
    """Append an entry about `subject` with the body `sealed` to `log`, signed by `key`, and return it."""
    unsigned = Entry(
        device=key.device,
        number=len(log) + 1,
        previous=log[-1].id if log else "",
        kind=kind,
        subject=subject,
        digest=digest_of(sealed),
        sealed=sealed,
        signature=b"",
    )
    log.append(replace(unsigned, signature=key.sign(unsigned.id.encode())))
    return log[-1]
