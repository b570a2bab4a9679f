"""The daemon's log: one JSON object a line, rotated, private.

In: log records of Tacit and its libraries. Out: `log/daemon.log`. Never the text of a memory or a prompt: of an
exception only its type and the places it passed, because its message may quote one. `debug` adds the messages.
"""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tacit.config.home import Home
from tacit.system.files import open_handle

_MOST_CHARS = 2_000


class JsonLines(logging.Formatter):
    """One record as one line of JSON."""

    def __init__(self, *, debug: bool = False) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        """`{"at", "level", "name", "message"}`, and `where` for an exception."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "at": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "name": record.name,
            "message": record.getMessage()[:_MOST_CHARS],
        }
        detail = getattr(record, "detail", None)
        if detail is not None and (self._debug or record.levelno < logging.WARNING):
            line["detail"] = str(detail)[:_MOST_CHARS]
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["error"] = f"{type(error).__name__}: {error}" if self._debug else type(error).__name__
            line["where"] = traceback.format_tb(error.__traceback__)[-6:]
        return json.dumps(line)


class PrivateFileHandler(RotatingFileHandler):
    """A rotating file that only its owner may read."""

    def _open(self):  # noqa: ANN202 - the standard library's own type
        return os.fdopen(
            open_handle(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            "a",
            encoding="utf-8",
        )


def start_log(home: Home, *, max_bytes: int, files: int, debug: bool = False) -> logging.Handler:
    """Send every record to the log of `home`."""
    handler = PrivateFileHandler(Path(home.log_file), maxBytes=max_bytes, backupCount=files, encoding="utf-8")
    logging.raiseExceptions = False  # a full disk must not spill records, texts and all, onto standard error
    handler.setFormatter(JsonLines(debug=debug))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    for noisy in ("uvicorn", "uvicorn.error", "mcp", "httpx", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return handler
