"""The report of an unexpected error. In: the error. Out: a file with stack frames and no text of a memory, and one line.

Never writes the error's message: it may quote a memory, a prompt or a path of someone's.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
import traceback
from pathlib import Path

from tacit import __version__
from tacit.errors import TacitError


def report_crash(error: BaseException, *, as_json: bool) -> int:
    """Keep the frames, say where, return the exit code."""
    from tacit.cli.context import current_context
    from tacit.cli.terminal.output import print_error

    kept: Path | None = None
    with contextlib.suppress(OSError, TacitError):
        kept = write_report(error, current_context().home.log_file.parent)
    where = f"The report is {kept}; it holds no text of a memory." if kept else "No report could be written."
    print_error(
        TacitError(f"Tacit failed with {type(error).__name__}.", hint=f"{where} Please file it as a bug."),
        as_json=as_json,
    )
    return 1


def write_report(error: BaseException, folder: Path) -> Path:
    """Write the frames of `error` and of what caused it into `folder`; return the file.

    Raises:
        OSError: if it cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"crash-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}.txt"
    lines = [f"tacit {__version__}, Python {platform.python_version()}, {platform.system()}\n"]
    cause: BaseException | None = error
    while cause is not None:
        lines.append(f"{type(cause).__name__}\n")
        lines += traceback.format_tb(cause.__traceback__)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(lines)
    return path
