"""Output of the command line: tables for people, JSON for programs, errors with hints, exit codes.

Every command imports this. So rich, which takes longer to load than most commands run, is loaded when something is printed for people.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tacit.errors import (
    Conflict,
    DaemonError,
    DeadlineExceeded,
    HostError,
    InvalidInput,
    NotFound,
    NotPermitted,
    ProviderError,
    RefusedByRedaction,
    RefusedByTrust,
    StoreError,
    SyncError,
    TacitError,
)

if TYPE_CHECKING:
    from rich.console import Console

EXIT_CODES: tuple[tuple[type[TacitError], int], ...] = (
    (InvalidInput, 3),
    (Conflict, 3),
    (NotFound, 4),
    (RefusedByTrust, 5),
    (NotPermitted, 5),
    (RefusedByRedaction, 5),
    (StoreError, 6),
    (DaemonError, 7),
    (DeadlineExceeded, 7),
    (ProviderError, 8),
    (HostError, 9),
    (SyncError, 11),
    (TacitError, 1),
)
"""Error class -> exit code; the first class that matches counts. Besides these, 0 = done, 1 = unexpected error, 2 = wrong usage, 130 = interrupted."""

SOME_PROBLEM = 10
"""The exit code of a command that reported everything, but could not do some of it or found a problem; `reference` lists these commands."""


PIPE_WIDTH = 200
"""The width of tables if standard output is no terminal."""
SHORT_CELL = 24
"""Columns up to this width are never broken."""
LEAST_CELL = 28
"""The least width of a column of running text. If less is left, the text stands below its row instead."""
GAP = 2
BELOW = 4
"""The indent of text that stands below its row."""

_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def exit_code(error: TacitError) -> int:
    """Return the exit code for `error`."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def strip_control_characters(text: str) -> str:
    """Return the text with everything a terminal would obey (control characters, escape sequences, reversed reading, lone surrogates) replaced by U+FFFD."""
    return _CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)


def console(*, stderr: bool = False) -> Console:
    """Make a console for the present standard output or error. One is made for each use, because tests and pipes change the streams."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def print_error(error: TacitError, *, as_json: bool) -> None:
    """Print an error and its hint on standard error, with `as_json` as one JSON line."""
    if as_json:
        print_problem(error.code, error.message, hint=error.hint)
        return
    from rich.text import Text

    out = console(stderr=True)
    out.print(Text.assemble(("error", "red"), f" {strip_control_characters(error.message)}"))
    if error.hint:
        out.print(Text(f"      {strip_control_characters(error.hint)}"))


def print_problem(code: str, message: str, *, hint: str = "") -> None:
    """Print one error for programs: a JSON line with code, message and hint on standard error."""
    sys.stderr.write(json.dumps({"code": code, "message": message, "hint": hint}) + "\n")


def print_warning(text: str) -> None:
    """Print a warning as one line on standard error."""
    from rich.text import Text

    console(stderr=True).print(Text(f"! {strip_control_characters(text)}", style="yellow"))


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, in ASCII only, so that no text in it can control a terminal."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def print_line(text: str = "", *, style: str = "", wrap: bool = True) -> None:
    """Print plain text on standard output, with control characters replaced; `text` is never read as markup.

    On a terminal lines are broken between words, and what follows is indented as the line is. `wrap` False: for what is to be copied.
    """
    from rich.text import Text

    out = console()
    lines = strip_control_characters(text).split("\n")
    if wrap and sys.stdout.isatty():
        lines = [part for line in lines for part in _wrapped(line, out.width)]
    out.print(Text("\n".join(lines), style=style))


def _wrapped(line: str, width: int) -> list[str]:
    from rich.cells import cell_len

    indent = len(line) - len(line.lstrip(" "))
    if cell_len(line) <= width or indent >= width // 2:
        return [line]
    return [f"{' ' * indent}{part}" for part in _broken(line[indent:], width - indent)]


def _broken(text: str, width: int) -> list[str]:
    """Break a text between words into parts of at most `width` columns; a longer word stays whole."""
    from rich.cells import cell_len

    parts: list[str] = [""]
    for word in re.findall(r"\S+\s*|\s+", text):
        if parts[-1] and cell_len(parts[-1]) + cell_len(word.rstrip()) > width:
            parts.append("")
        parts[-1] += word
    return [part.rstrip() for part in parts]


def print_rows(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Print a table, or the line `empty` if there are no rows. If it is too wide, the longest cells stand below their rows."""
    body = [[strip_control_characters(cell) for cell in row] for row in rows]
    if not body:
        print_line(empty)
        return
    from rich.table import Table
    from rich.text import Text

    if title:  # a line of its own: as a part of the table it would be broken to the table's width
        print_line(title, style="italic")
    out = console()
    out.soft_wrap = False
    widths = [max(map(_cell_width, cells)) for cells in zip(columns, *body, strict=True)]
    below = _standing_below(widths, out.width)
    if below:
        _print_stacked(columns, body, widths, below, out)
        return
    table = Table(box=None, pad_edge=False)
    for index, column in enumerate(columns):
        short = index == 0 or widths[index] <= SHORT_CELL
        table.add_column(column, overflow="fold", no_wrap=short, header_style="bold")
    for row in body:
        table.add_row(*map(Text, row))
    out.print(table)


def _cell_width(cell: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, cell.split("\n")))


def _standing_below(widths: Sequence[int], width: int) -> tuple[int, ...]:
    """Return the indexes of the columns to print below their rows; () = the table fits, or its long cells can be broken."""
    room = width - GAP * (len(widths) - 1)
    if sum(widths) <= room:
        return ()
    long = [at for at, natural in enumerate(widths) if at > 0 and natural > SHORT_CELL]
    short = sum(widths) - sum(widths[at] for at in long)
    if long and room - short >= LEAST_CELL * len(long):
        return ()
    below = set(long)
    for at in range(len(widths) - 1, 0, -1):  # from the right, until the row fits
        beside = [widths[other] for other in range(len(widths)) if other not in below]
        if sum(beside) + GAP * (len(beside) - 1) <= width:
            break
        below.add(at)
    return tuple(sorted(below))


def _print_stacked(
    columns: Sequence[str],
    body: Sequence[Sequence[str]],
    widths: Sequence[int],
    below: Sequence[int],
    out: Console,
) -> None:
    """Print the short cells of each row in a line, and its long ones below; if there are several long ones, each with its column's name."""
    from rich.cells import cell_len
    from rich.text import Text

    beside = [at for at in range(len(columns)) if at not in below]
    last = beside[-1]

    def line_of(cells: Sequence[str]) -> str:
        return (" " * GAP).join(
            cells[at] if at == last else f"{cells[at]}{' ' * (widths[at] - cell_len(cells[at]))}"
            for at in beside
        )

    out.print(Text(line_of(columns), style="bold"), no_wrap=True, overflow="ignore", crop=False)
    for row in body:
        out.print(Text(line_of(row)), no_wrap=True, overflow="ignore", crop=False)
        for at in below:
            if row[at]:
                name = f"{columns[at]}: " if len(below) > 1 else ""
                parts = [
                    part
                    for line in f"{name}{row[at]}".split("\n")
                    for part in _broken(line, out.width - BELOW)
                ]
                for part in parts:
                    out.print(Text(f"{' ' * BELOW}{part}"), no_wrap=True, overflow="ignore", crop=False)


def format_moment(at_ms: int) -> str:
    """Return date and time in the local zone, to the second."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def shorten_line(text: str, limit: int = 90) -> str:
    """Return the text as one line of at most `limit` characters, cut with an ellipsis."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return for each id its shortest ending that is unique among `ids`, all of one length; commands accept such endings."""
    from tacit.model.ids import SHORT_ID

    distinct = set(ids)
    longest = max((len(name) for name in distinct), default=0)
    lengths = range(SHORT_ID, longest)
    length = next((n for n in lengths if len({name[-n:] for name in distinct}) == len(distinct)), longest)
    return {name: name[-length:] for name in distinct}


def format_size(count: int) -> str:
    """Return a number of bytes for people, such as `1.2 MB`."""
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"


def format_count(count: int, singular: str = "memory", plural: str = "memories") -> str:
    """Return a count with its noun, such as `1 memory` or `2 memories`."""
    return f"{count} {singular if count == 1 else plural}"


def waiting_line(count: int, command: str = "tacit review") -> str:
    """Return a text that says how many statements wait for the user, and which command shows them."""
    return f"{count} {'waits' if count == 1 else 'wait'} for you: `{command}`"
