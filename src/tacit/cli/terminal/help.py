"""The command list of `tacit --help`: in groups, each command with its whole first sentence.

In: the commands and the group that each was registered in. Out: plain text. Loads no rich, which would cost 700 ms.
"""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperGroup


class GroupedCommands(TyperGroup):
    """Lists its commands under the panels that they were registered with, in the order of registration."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is None or command.hidden:
                continue
            panel = getattr(command, "rich_help_panel", None)
            title = panel if isinstance(panel, str) else "Commands"
            panels.setdefault(title, []).append((name, _first_paragraph(command.help or "")))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _first_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
