"""What the library logs of failures on the way to the memory. In: exceptions. Out: lines in the log. Never raises."""

from __future__ import annotations

import logging
from threading import Lock

from tacit.config.home import Home
from tacit.errors import DaemonUnavailable

_LOG = logging.getLogger("tacit.app.library.tacit")


def no_answer(error: Exception) -> None:
    """Log a failure of the memory."""
    _LOG.warning("the memory gave no answer: %s: %s", type(error).__name__, error)


class DaemonFailureLog:
    """Logs failures on the way to a daemon. Safe to use from several threads; never raises.

    That no daemon runs is logged once, with what to do: every further request would repeat it.
    """

    def __init__(self, home: Home, *, starts: bool) -> None:
        """Log for the daemon of `home`; `starts` = a missing daemon is started automatically."""
        self._home = home
        self._starts = starts
        self._lock = Lock()
        self._said = False

    def __call__(self, error: Exception) -> None:
        """Log once that no daemon runs, and every other failure as it comes."""
        cause = error.__cause__ if isinstance(error, DaemonUnavailable) else error
        if not isinstance(cause, FileNotFoundError | ConnectionRefusedError):
            no_answer(error)
            return
        with self._lock:
            logged, self._said = self._said, True
        if logged:
            _LOG.debug("no Tacit daemon runs yet")
            return
        following = (
            "One is being started, and later requests find it; if not, `tacit doctor` says why."
            if self._starts
            else "`tacit serve --background` starts one; `Tacit.connect()` does so by itself, `Tacit.open()` needs none."
        )
        _LOG.warning(
            "no Tacit daemon runs (nothing answers on %s): requests go out without memory. %s (Said once.)",
            self._home.transport().file,
            following,
        )
