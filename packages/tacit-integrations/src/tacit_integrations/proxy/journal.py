"""The journal of the proxy: the session of each conversation, for the next process. In and out: entries.

It is a file of JSON lines in the home, readable only by its owner. It holds digests of messages and ids of sessions, never text, headers
or keys. The daemon stores the blocks of the sessions. Without the journal, conversations that continue get a new start pack.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from tacit.system.files import open_handle, write_whole
from tacit_integrations.conversations import MAX_PLACES, JournalEntry

_LOG = logging.getLogger(__name__)
LOCK_S = 2.0


class FileJournal:
    """A `Journal` in a file. Several processes may write to the same file."""

    def __init__(self, path: Path) -> None:
        """Keep entries in `path`. Its folder is created with the first entry."""
        self._path = path
        self._failed = False
        self._written = 0

    def read(self) -> Iterable[JournalEntry]:
        """Return the newest entries, at most `MAX_PLACES`, oldest first. A file with more than twice as many is shortened."""
        return [entry for line in self._newest() if (entry := _entry(line)) is not None]

    def _newest(self) -> list[bytes]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        newest = lines[-MAX_PLACES:]
        if len(lines) > 2 * MAX_PLACES:
            self._shorten(newest)
        return newest

    def note(self, entry: JournalEntry) -> None:
        """Add an entry. Never raises."""
        line = json.dumps(
            {
                "session": entry.session,
                "places": [place.hex() for place in entry.places],
                "head": entry.head.hex(),
                "missed": list(entry.missed),
                "start_with": entry.start_with,
            },
            separators=(",", ":"),
        )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = open_handle(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(handle, f"{line}\n".encode("utf-8", "surrogatepass"))
            finally:
                os.close(handle)
        except OSError as error:
            if not self._failed:
                _LOG.warning("conversations are not found again after a restart: %s: %s", self._path, error)
            self._failed = True
        self._written += 1
        if self._written % MAX_PLACES == 0:
            self._newest()

    def _shorten(self, lines: list[bytes]) -> None:
        with contextlib.suppress(OSError, Timeout), FileLock(f"{self._path}.lock", timeout=LOCK_S):
            write_whole(self._path, b"".join(line + b"\n" for line in lines))


def _entry(line: bytes) -> JournalEntry | None:
    """Return the entry in a line; None if the line is incomplete or damaged."""
    try:
        value: object = json.loads(line)
        if not isinstance(value, Mapping):
            return None
        fields = cast("Mapping[str, Any]", value)
        return JournalEntry(
            session=str(fields["session"]),
            places=tuple(bytes.fromhex(place) for place in fields["places"]),
            head=bytes.fromhex(fields["head"]),
            missed=tuple(map(str, fields["missed"])),
            start_with=str(fields["start_with"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
