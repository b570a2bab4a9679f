"""Commands that other packages bring: a `typer.Typer` with one command, as an entry point of the group `tacit.commands`.

In: the name of a command. Out: the command; without its package one that says what to install. `--help` lists them without loading them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from tacit.errors import NotFound

COMMAND_GROUP = "tacit.commands"
COMMANDS: dict[str, tuple[str, str]] = {
    "proxy": (
        "tacit-integrations",
        "Run a proxy that gives a memory to programs that speak the OpenAI or Anthropic API.",
    ),
    "eval": (
        "tacit-evals",
        "Measure the quality of the memory on judged data; see docs/benchmarks.md.",
    ),
}
"""The commands that other packages bring: name -> (package, first paragraph of its help)."""


def missing(name: str) -> Callable[[], None]:
    """Return a command that stands in for `name` until its package is loaded. If the package is missing, running it raises NotFound that says what to install."""
    package, about = COMMANDS[name]

    def command() -> None:
        raise NotFound(
            f"`tacit {name}` needs the package {package}, which is not installed here.",
            hint=f"In a clone of Tacit: `uv tool install --reinstall ./packages/tacit-memory --with ./packages/{package}`.",
        )

    command.__doc__ = f"{about}\n\nNeeds the package {package}, which is not installed here."
    return command


def load(name: str) -> Any:
    """Load and return the command `name` of another package; None = that is not installed."""
    from importlib.metadata import entry_points

    for point in entry_points(group=COMMAND_GROUP, name=name):
        command: Any = typer.main.get_command(point.load())
        command.name = name
        return command
    return None
