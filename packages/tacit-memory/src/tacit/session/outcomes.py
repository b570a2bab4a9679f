"""The outcome of a call, for hosts whose hooks do not report it. In: a signal and its host. Out: the signal, or the failure that it was.

Reads the end of the host's transcript, which the host writes before it calls the hook. Never waits, never writes. If the transcript
cannot be read, the signal stays as it is.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacit.model.signal import Signal
from tacit.ports.host import OutcomeHost
from tacit.system.files import open_handle

READ_BYTES = (1 << 16, 1 << 20)
"""Bytes to read of the end: first the smaller number. The larger one is for a command with a long output, which is in the same line."""


def outcome_of(signal: Signal, host: OutcomeHost) -> Signal:
    """Return `signal`, or the failure that the transcript shows it to be."""
    if not signal.transcript_path or not host.needs_outcome(signal):
        return signal
    for size in READ_BYTES:
        told = host.with_outcome(signal, last_lines(Path(signal.transcript_path), size))
        if told is not None:
            return told
    return signal


def last_lines(path: Path, size: int) -> bytes:
    """Read the last whole lines of a file, at most `size` bytes; nothing if it is no regular file or cannot be read."""
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
