"""How a call ended, where the host's hook does not tell. In: a signal and its host. Out: the signal, or the failure that it was.

Reads the end of the host's transcript, which the host wrote before it called the hook. Never waits, never writes; a transcript that
cannot be read changes nothing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacit.model.signal import Signal
from tacit.ports.host import Host, OutcomeHost
from tacit.system.files import open_handle

READ_BYTES = (1 << 16, 1 << 20)
"""How much of the end is read: mostly the first suffices, but the line of a command holds its output."""


class Outcomes:
    """Looks up how calls ended. Safe to call from several threads."""

    def __init__(self) -> None:
        self._readers: dict[str, OutcomeHost | None] = {}

    def told(self, host: Host, signal: Signal) -> Signal:
        """`signal`, or the failure that the transcript shows it to be."""
        if host.name not in self._readers:  # the check takes longer than most hooks have to say
            self._readers[host.name] = host if isinstance(host, OutcomeHost) else None
        reader = self._readers[host.name]
        if reader is None or not signal.transcript_path or not reader.needs_outcome(signal):
            return signal
        for size in READ_BYTES:
            told = reader.with_outcome(signal, _end_of(Path(signal.transcript_path), size))
            if told is not None:
                return told
        return signal


def _end_of(path: Path, size: int) -> bytes:
    """The last whole lines of a file, `size` bytes at most; nothing where it cannot be read at once."""
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
