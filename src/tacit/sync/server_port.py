"""The server that keeps the logs of an account, as a device sees it. Implemented over HTTP (`http_server`), and in memory for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tacit.sync.entry import Entry
from tacit.sync.views import DeviceView, LoggedIn


class SyncServer(Protocol):
    """Every call may raise `SyncError` where the server cannot be reached or refuses."""

    def heads(self) -> Mapping[str, int]:
        """The number of the last entry of every device."""
        ...

    def entries(self, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """Entries of a device behind the number `after`, in order; fewer than `limit` at the end."""
        ...

    def push(self, entries: Sequence[Entry]) -> None:
        """Store entries of one log, in order; known ones count nothing.

        Raises:
            LogForked: another entry has one of their numbers; those before it are stored.
        """
        ...

    def report(self, heads: Mapping[str, int]) -> None:
        """Say what this device has taken over, of every log."""
        ...

    def renew(self, device: str, signature: bytes) -> LoggedIn:
        """Go on as another device; `signature` is of the device's name, by its key."""
        ...

    def devices(self) -> Sequence[DeviceView]:
        """The devices of the account."""
        ...

    def revoke(self, device: str) -> None:
        """Revoke a device: the server refuses its token from now on."""
        ...

    def invite(self) -> str:
        """A code with which one more device may log in, once and soon."""
        ...
