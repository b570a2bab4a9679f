"""The environment of the commands: the home, the daemon, the user's home folder. One value, so tests can replace it.

In: nothing, or what a caller puts there. Out: `current_context()`. Never starts or opens anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tacit.config.environment import search_path
from tacit.frozen import frozen
from tacit.hosts.registry import in_agent_shell

if TYPE_CHECKING:
    from tacit.config.home import Home


class Daemon(Protocol):
    """The client of a daemon, with the part of `tacit.client.daemon_client.DaemonClient` that commands use."""

    def request(
        self, method: str, path: str, json_body: object = None, *, timeout_s: float = 30.0
    ) -> tuple[int, Any]:
        """Send a request to a running daemon; return (HTTP status, answer). A problem in the reply is raised as the error it was."""
        ...

    def ensure_running(self, timeout_s: float = 10.0) -> None:
        """Start a daemon if none answers, and wait until it does.

        Raises:
            DaemonUnavailable: if it could not be started in time.
        """
        ...

    def stop(self, timeout_s: float = 15.0) -> bool:
        """Stop the daemon and wait for its end; False = none ran."""
        ...

    def status(self) -> Mapping[str, Any]:
        """Return the answer of `GET /health`, with `running`, `hook_failures` and `spooled`. Starts no daemon."""
        ...


def _getchar() -> str:
    """Wait for one key and return it; "" = the terminal's input has ended.

    Switching to single keys discards what waits, so that no key is taken for an answer to a question not yet seen. It
    would discard the end of the input, too, and wait for ever.
    """
    import select

    import click

    handle = sys.stdin.fileno()
    while select.select([handle], [], [], 0)[0]:
        if not os.read(handle, 4096):
            return ""
    return click.getchar()


@frozen
class CommandContext:
    """What a command works with: the home, the daemon, the terminal and who speaks. Tests replace it.

    Attributes:
        home: Tacit's data.
        user_home: the user's own folder, where hosts keep their settings.
        search_path: PATH, for finding hosts.
        connect: makes a client for the daemon of a home.
        interactive: whether somebody can answer a question.
        at_terminal: whether a person sits at standard input and output, in a shell that no agent opened.
        token: the personal token a script was given, or "".
        read_key: waits for one key on the terminal, without Enter.
    """

    home: Home
    user_home: Path
    search_path: str
    connect: Callable[[Home], Daemon]
    interactive: bool
    at_terminal: bool = False
    token: str = ""
    read_key: Callable[[], str] = _getchar

    def require_user(self, what: str) -> None:
        """Raise an error unless the user speaks; `what` = what only the user may do.

        Raises:
            RefusedByTrust: naming `what` only the user may do, and how.
        """
        from tacit.safety.authority import require

        require(authorized=self.user_speaks, what=what)

    @property
    def user_speaks(self) -> bool:
        """Whether this command counts as the user's own: it runs at a terminal, or with a valid personal token."""
        from tacit.safety.authority import Authority

        return Authority(self.home).admits_token(self.token) if self.token else self.at_terminal


_given: ContextVar[CommandContext | None] = ContextVar("tacit_surroundings", default=None)


def use_context(command_context: CommandContext | None) -> None:
    """Make `current_context` return this value from now on; None = the real environment."""
    _given.set(command_context)


def current_context() -> CommandContext:
    """Return what the running command works with: the value of `use_context`, else the real environment."""
    return _given.get() or _real()


def _real() -> CommandContext:
    from tacit.client.daemon_client import DaemonClient
    from tacit.config.home import Home, personal_token

    token = personal_token()
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not in_agent_shell()

    def connect(home: Home) -> Daemon:
        if not at_terminal:
            return DaemonClient(home, token=token)
        from tacit.safety.authority import Authority

        return DaemonClient(home, token=token, terminal_key=Authority(home).terminal_key)

    return CommandContext(
        home=Home.find(),
        user_home=Path.home(),
        search_path=search_path(),
        connect=connect,
        interactive=sys.stdin.isatty() and sys.stderr.isatty(),
        at_terminal=at_terminal,
        token=token,
    )
