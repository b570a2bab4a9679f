"""The help pages of commands: an example on each, and words instead of types, so that a page fits 80 columns. Loads no rich, which would cost 700 ms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand

from tacit.errors import InvalidInput

EXAMPLES = {
    "install": "tacit install claude-code --dry-run",
    "init": "cd your-project && tacit init",
    "status": "tacit status --stats --days 7",
    "ui": "tacit ui",
    "remember": 'tacit remember "Run make lint before every commit." --when commit',
    "recall": 'tacit recall "which database did we choose?"',
    "list": "tacit list lint --kind decision",
    "show": "tacit show 3f8a2c1",
    "edit": 'tacit edit 3f8a2c1 --content "The API listens on 8443."',
    "forget": "tacit forget 3f8a2c1",
    "undo": "tacit undo --session claude-code/03a739fe",
    "review": "tacit review accept 3f8a2c1",
    "why": "tacit why --stages -n 1",
    "why-not": 'tacit why-not 3f8a2c1 "commit this"',
    "sessions": "tacit sessions --last --learned",
    "import": "tacit import transcripts --host codex",
    "export": "tacit export --format markdown -o memories.md",
    "share": "tacit share 3f8a2c1 --git",
    "login": "tacit login https://tacit.example.com --first",
    "team": "tacit team",
    "team join": "tacit team join",
    "team leave": "tacit team leave acme/core",
    "team members": "tacit team members acme/core --add bo",
    "team requests": "tacit team requests --accept 3f9a2c1",
    "config": "tacit config set recall.level quiet --project",
    "demo": "tacit demo --keep",
    "doctor": "tacit doctor claude-code",
    "uninstall": "tacit uninstall --dry-run",
    "purge": 'tacit purge --matching "project heron" --dry-run',
    "backup": "tacit backup ~/tacit-2026-11-28.db",
    "restore": "tacit restore ~/tacit-2026-11-28.db",
    "stop": "tacit stop",
    "mcp": "tacit mcp",
    "token": "tacit token create nightly-job",
    "logout": "tacit logout",
    "devices": "tacit devices invite",
    "get": "tacit get 3f8a2c1 9d02b7e",
}
"""One command line for each command, as the end of its help page shows it. A test parses every one of them."""
_WORDS = (
    (re.compile(r" <(?:list\[)?str\]?>"), " TEXT"),
    (re.compile(r" <(?:int|float)(?: range)?>"), " N"),
    (re.compile(r" <(?:list\[)?(?:path|file|directory)\]?>"), " PATH"),
)
"""What stands for the type of a value, by the pattern of the type."""
FIRST_COLUMN = 24
_FIELD = re.compile(r"`(\w+)`")


def example_of(name: str) -> str:
    """Return the line with the example of the command `name`, such as `team join`; "" = it has none."""
    return f"Example: {EXAMPLES[name]}" if name in EXAMPLES else ""


class PlainCommand(TyperCommand):
    """A command whose help page has an example, and names values in words. What it refuses is told by the options that were typed."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a refusal names its options, not the fields of a request that they fill."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(error, InvalidInput):
                options = {p.name: p.opts[-1] for p in self.params if p.param_type_name == "option"}
                error.message = name_options(error.message, options)
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what the command takes: arguments first, then options."""
        write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example."""
        if example := example_of(str(ctx.command_path).partition(" ")[2]):
            formatter.write_paragraph()
            formatter.write(f"{example}\n")


def name_options(message: str, options: Mapping[str, str]) -> str:
    """Return `message` with the typed options (by their names in Python) in place of the fields of a request that they fill.

    An option fills the field of its own name, or of its name with a unit or an "s" behind it: `--budget` is `budget_tokens`. `--recent` is a limit.
    """

    def typed(field: re.Match[str]) -> str:
        name = field[1]
        fills = (name, name.removesuffix("s"), *(one for one in options if name.startswith(f"{one}_")))
        found = next((one for one in fills if one in options), "recent" if name == "limit" else "")
        return f"`{options[found]}`" if found in options else field[0]

    return _FIELD.sub(typed, message)


def write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    """Write what a command takes, in two sections: arguments and options."""
    for title, sort in (("Arguments", "argument"), ("Options", "option")):
        records = (p.get_help_record(ctx) for p in command.get_params(ctx) if p.param_type_name == sort)
        rows = [(_in_words(left, is_option=sort == "option"), told) for left, told in filter(None, records)]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows, col_max=FIRST_COLUMN)


def _in_words(left: str, *, is_option: bool) -> str:
    for pattern, word in _WORDS:
        left = pattern.sub(word if is_option else "", left)
    return left
