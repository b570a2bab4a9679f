"""What a host tells only in its transcript: that it compacted, and that a call failed."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from pathlib import Path
from stat import S_ISREG
from threading import Lock

from tacit.model.signal import SessionEnded, SessionStarted, Signal
from tacit.ports.host import OutcomeHost, TranscriptHost
from tacit.system.files import open_handle

# Compactions that a host reports only in its transcript. In: a signal and the host. Out: a session start after a compaction, or None.
#
# Reads the lines that were added to a transcript since the last signal of its session. Never reads lines that are older than the first
# signal of the session, except to compare names. Never fails: a transcript that cannot be read counts as one without a compaction.

MAX_FILES = 256
MAX_BYTES = 32 << 20
"""Most bytes that are read at once. Of a longer part, the last ones are read."""


class Compactions:
    """Finds compactions in transcripts; keeps how far each one was read. Safe to use from several threads."""

    def __init__(self) -> None:
        self._offsets: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()

    def before(self, signal: Signal, host: TranscriptHost) -> SessionStarted | None:
        """Read what was added to the transcript since the last signal of this session; return a session start of the source "compact" if the host compacted meanwhile, else None.

        A compaction before the end of a session counts at the first other signal after it, when the session is resumed.
        """
        path = signal.transcript_path
        if not path:
            return None
        with self._lock:
            if isinstance(signal, SessionStarted | SessionEnded) and path in self._offsets:
                return None
            if not self._new_compaction(path, host):
                return None
        return SessionStarted(
            session=signal.session,
            key=f"compact:{signal.key}",
            at_ms=signal.at_ms,
            cwd=signal.cwd,
            agent=signal.agent,
            transcript_path=path,
            source="compact",
        )

    def _new_compaction(self, path: str, host: TranscriptHost) -> bool:
        """Whether a line added since the last call names a compaction that no earlier line names. Reads the file, moves the position."""
        known = self._offsets.get(path)
        try:
            if not S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - the hook path
                return False  # reading anything else could wait
            with open(path, "rb") as file:  # noqa: PTH123 - as above
                size = file.seek(0, 2)
                start = size if known is None else max(known if known <= size else 0, size - MAX_BYTES)
                file.seek(start)
                data = file.read(size - start)
                rows = data[: data.rfind(b"\n") + 1]
                names = {name.encode() for row in rows.splitlines() if (name := host.compaction_in(row))}
                file.seek(0)
                earlier = file.read(start) if names else b""
        except OSError:
            return False
        self._offsets[path] = start + len(rows)
        self._offsets.move_to_end(path)
        while len(self._offsets) > MAX_FILES:
            self._offsets.popitem(last=False)
        return any(name not in earlier for name in names)


# The outcome of a call, for hosts whose hooks do not report it. In: a signal and its host. Out: the signal, or the failure that it was.
#
# Reads the end of the host's transcript, which the host writes before it calls the hook. Never waits, never writes. If the transcript
# cannot be read, the signal stays as it is.

READ_BYTES = (1 << 16, 1 << 20)
"""Bytes to read of the end: first the smaller number. The larger one is for a command with a long output, which is in the same line."""


def outcome_of(signal: Signal, host: OutcomeHost) -> Signal:
    """Return `signal`; if the host tells outcomes only in its transcript and the end of that file shows that the call failed, return a `ToolFailed` in its place. Reads the file."""
    if not signal.transcript_path or not host.needs_outcome(signal):
        return signal
    for size in READ_BYTES:
        told = host.with_outcome(signal, last_lines(Path(signal.transcript_path), size))
        if told is not None:
            return told
    return signal


def last_lines(path: Path, size: int) -> bytes:
    """Return the last whole lines of a file, at most `size` bytes; b"" if it is no regular file or cannot be read."""
    try:
        handle = open_handle(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return b""
        start = max(0, facts.st_size - size)
        os.lseek(handle, start, os.SEEK_SET)
        text = os.read(handle, size)
    except OSError:
        return b""
    finally:
        os.close(handle)
    return text if start == 0 else text.partition(b"\n")[2]
