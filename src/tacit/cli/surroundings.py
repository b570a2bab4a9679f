"""What the commands work with: the home, the daemon, the user's own folder. One value, so that tests can give another.

In: nothing, or what a caller puts there. Out: `current()`. Never starts or opens anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacit.config.home import Home


class Daemon(Protocol):
    """The part of `tacit.daemon.client.DaemonClient` that commands use."""

    def request(
        self, method: str, path: str, json_body: object = None, *, timeout_s: float = 30.0
    ) -> tuple[int, Any]:
        """Ask a running daemon; problems come as the error they were."""
        ...

    def ensure_running(self, timeout_s: float = 10.0) -> None:
        """Start one when none answers.

        Raises:
            DaemonUnavailable: if it could not be started in time.
        """
        ...

    def stop(self, timeout_s: float = 15.0) -> bool:
        """Ask it to leave and wait; False when none ran."""
        ...

    def status(self) -> Mapping[str, Any]:
        """What `GET /health` says, `running`, `hook_failures` and `spooled`. Starts nothing."""
        ...


def _getchar() -> str:
    import click

    return click.getchar()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where the commands work.

    Attributes:
        home: Tacit's data.
        user_home: the user's own folder, where hosts keep their settings.
        search_path: PATH, for finding hosts.
        connect: makes a client for the daemon of a home.
        interactive: whether somebody can answer a question.
        read_key: waits for one key on the terminal, without Enter.
    """

    home: Home
    user_home: Path
    search_path: str
    connect: Callable[[Home], Daemon]
    interactive: bool
    read_key: Callable[[], str] = _getchar


_given: ContextVar[Surroundings | None] = ContextVar("tacit_surroundings", default=None)


def use(surroundings: Surroundings | None) -> None:
    """Work with `surroundings` from now on; None = the real ones."""
    _given.set(surroundings)


def current() -> Surroundings:
    """What the running command works with."""
    return _given.get() or _real()


def _real() -> Surroundings:
    import sys

    from tacit.config.environment import search_path
    from tacit.daemon.client import DaemonClient

    return Surroundings(
        home=Home.find(),
        user_home=Path.home(),
        search_path=search_path(),
        connect=DaemonClient,
        interactive=sys.stdin.isatty() and sys.stderr.isatty(),
    )
