"""One exchange of a device with the server: what is new here goes there, what is new there comes here. In: replica, server. Out: a report.

Idempotent at every step: an exchange that was cut off anywhere is done by the next one. A log that two homes write to is refused by the server;
then this device takes a new name, and its own entries that the server does not have are written once more under it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tacit.errors import LogForked, SyncError
from tacit.sync.entry import Entry
from tacit.sync.keys import DeviceKey
from tacit.sync.replica import Replica
from tacit.sync.replicating import CURSOR, Replicating
from tacit.sync.views import Exchanged, LoggedIn

# --- the server


class SyncServer(Protocol):
    """The server that keeps the logs of an account, as a device sees it. Implemented over HTTP (`http_server`), and in memory for tests.

    Every call may raise `SyncError` where the server cannot be reached or refuses.
    """

    def heads(self) -> Mapping[str, int]:
        """Return device -> number of the last entry of its log on the server."""
        ...

    def entries(self, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` entries of a device with numbers above `after`, in order; empty = there are no more."""
        ...

    def push(self, entries: Sequence[Entry]) -> None:
        """Store entries of one log on the server, in order; those that it has already are ignored.

        Raises:
            LogForked: another entry has one of their numbers; those before it are stored.
        """
        ...

    def report(self, heads: Mapping[str, int]) -> None:
        """Tell the server the number of the last entry that this device has, for every log (device -> number)."""
        ...

    def renew(self, device: str, signature: bytes) -> LoggedIn:
        """Log this home in as another device, named by its new public key `device`, and return the login. The old device stays.

        Called after the home's own log was forked. `signature` = the new key's signature of `device`.
        """
        ...


# --- the exchange

PAGE = 200
"""Entries of one request."""


class LogExchange:
    """The exchange of log entries between this device and the server. Used by one thread at a time."""

    def __init__(
        self,
        *,
        replica: Replica,
        server: SyncServer,
        key: DeviceKey,
        replicating: Callable[[DeviceKey], Replicating],
        keep: Callable[[DeviceKey, LoggedIn], None],
    ) -> None:
        """Exchange with `server`.

        Args:
            replica: the logs known here.
            server: the server, as this device.
            key: of this device.
            replicating: joins store and replica, for a key.
            keep: stores the key and the token of a new name, durably.
        """
        self._replica = replica
        self._server = server
        self._key = key
        self._make = replicating
        self._replicating = replicating(key)
        self._keep = keep

    def run(self) -> Exchanged:
        """Exchange once: record local changes, receive entries, apply them to the store, send what the server lacks. Return what was done. Blocks.

        Raises:
            SyncError: the server cannot be reached or refuses, or an entry cannot be read; what was done until then stays.
        """
        try:
            there = self._server.heads()
        except SyncError:
            if not self._is_new():  # what is new here is in the log when the server is back
                self._replicating.record()
            raise
        # A home that was set back: the server knows more of this device than it does itself.
        behind = there.get(self._key.device, 0) > self._replica.heads().get(self._key.device, 0)
        if behind:
            self._start_anew()
        try:
            done = self._once(there)
        except LogForked:
            if behind:
                raise
            self._start_anew()
            done = replace(self._once(self._server.heads()), renewed=True)
        heads = self._replica.heads()
        self._replica.note_sent(heads)
        self._server.report(heads)
        return replace(done, renewed=done.renewed or behind)

    def _once(self, there: Mapping[str, int]) -> Exchanged:
        received = 0
        if self._is_new():  # what this device knew in an earlier membership is no news of it
            received = self._receive(there)
            self._replicating.read_entries()
        recorded = self._replicating.record()
        received += self._receive(there)
        carried = self._replicating.carry()
        return Exchanged(
            recorded=recorded + carried.recorded,
            received=received,
            sent=self._send(there),
            applied=carried.applied,
            purged=carried.purged,
            left=carried.left,
        )

    def _is_new(self) -> bool:
        """Whether nothing was recorded yet in this membership."""
        return self._replica.fact(CURSOR) is None

    def _receive(self, there: Mapping[str, int]) -> int:
        received = 0
        here = self._replica.heads()
        for device in sorted(there):
            after = here.get(device, 0)
            while after < there[device]:
                page = self._server.entries(device, after=after, limit=PAGE)
                if not page:
                    break
                received += self._replica.add(page)
                after = page[-1].number
        return received

    def _send(self, there: Mapping[str, int]) -> int:
        sent = 0
        for device, last in self._replica.heads().items():
            after = there.get(device, 0)
            while after < last:
                page = self._replica.entries(device, after=after, limit=PAGE)
                self._server.push(page)
                sent += len(page)
                after = page[-1].number
        return sent

    def _start_anew(self) -> None:
        """Recover from a forked log: drop the own entries that the server lacks, take over those that it has, and continue under a new device name."""
        device = self._key.device
        after = 0
        theirs: list[Entry] = []
        while page := self._server.entries(device, after=after, limit=PAGE):
            theirs += page
            after = page[-1].number
        same = 0
        ours = self._replica.entries(device, after=0, limit=1_000_000)
        for entry, known in zip(theirs, ours, strict=False):
            if entry.id != known.id:
                break
            same = entry.number
        self._replica.drop_after(device, same)
        self._replica.add(theirs[same:])
        key = DeviceKey.new()
        logged_in = self._server.renew(key.device, key.sign(key.device.encode()))
        self._keep(key, logged_in)
        self._key = key
        self._replicating = self._make(key)
