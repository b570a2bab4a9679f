"""Log lines for failures of the memory. In: errors. Out: lines of the program's log.

That no daemon runs is said once, with what to do: every further request would say the same. Never raises.
"""

from __future__ import annotations

import logging
from threading import Lock

from tacit.config.home import Home
from tacit.errors import DaemonUnavailable

_LOG = logging.getLogger(__name__)


def no_answer(error: Exception) -> None:
    """The memory failed."""
    _LOG.warning("the memory gave no answer: %s: %s", type(error).__name__, error)


class DaemonFailureLog:
    """Hears of failures on the way to a daemon. Safe to use from several threads."""

    def __init__(self, home: Home, *, starts: bool) -> None:
        """For the daemon of `home`; `starts` = one that is not there is started by itself."""
        self._home = home
        self._starts = starts
        self._lock = Lock()
        self._said = False

    def __call__(self, error: Exception) -> None:
        """Say that no daemon runs, once, and every other failure as it comes."""
        cause = error.__cause__ if isinstance(error, DaemonUnavailable) else error
        if not isinstance(cause, FileNotFoundError | ConnectionRefusedError):
            no_answer(error)
            return
        with self._lock:
            said, self._said = self._said, True
        if said:
            _LOG.debug("no Tacit daemon runs yet")
            return
        following = (
            "One is being started, and later requests find it; if not, `tacit doctor` says why."
            if self._starts
            else "`tacit serve --background` starts one; `Tacit.connect()` does so by itself, `Tacit.open()` needs none."
        )
        _LOG.warning(
            "no Tacit daemon runs (nothing answers on %s): requests go out without memory. %s (Said once.)",
            self._home.socket,
            following,
        )
