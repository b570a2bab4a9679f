"""Reading rows of data files. In: a file. Out: rows that know where they stand, so that a problem can be named.

Text of a row is data. A malformed row is an error that names the file, the line, the field and what to do.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput


def problem(path: Path, line: int, what: str, hint: str) -> InvalidInput:
    """The error for one line of a data file."""
    return InvalidInput(f"{path}, line {line}: {what}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One JSON object of a file, with its place."""

    path: Path
    line: int
    values: dict[str, Any]

    def bad(self, what: str, hint: str = "See the format in docs/guide/benchmarks.md.") -> InvalidInput:
        """The error that names this row."""
        return problem(self.path, self.line, what, hint)

    def text(self, name: str) -> str:
        """A required text; numbers are taken as text.

        Raises:
            InvalidInput: if it is missing or something else.
        """
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.bad(
                f"field {name!r} is {'missing' if value is None else f'{value!r}'}.",
                "It must be a text; correct the row or leave it out.",
            )
        return value

    def maybe(self, name: str) -> str:
        """An optional text, "" when it is absent or null."""
        return "" if self.values.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; () when it is absent or null."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(f"field {name!r} is {value!r}.", "It must be a list of texts.")
        return tuple(value)

    def grades(self, name: str) -> dict[str, int]:
        """A mapping from word to grade 1-3, e.g. action classes."""
        value = self.values.get(name)
        if not isinstance(value, dict) or not all(
            isinstance(grade, int) and 1 <= grade <= 3 for grade in value.values()
        ):
            raise self.bad(f"field {name!r} is {value!r}.", "It must map words to grades 1, 2 or 3.")
        return {str(word): int(grade) for word, grade in value.items()}

    def number(self, name: str) -> float:
        """A required number."""
        value = self.values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.bad(f"field {name!r} is {value!r}.", "It must be a number.")
        return float(value)

    def day_ms(self, name: str) -> int:
        """An ISO date or time as milliseconds since the epoch, in UTC where no zone is given."""
        value = self.text(name)
        try:
            at = datetime.fromisoformat(value)
        except ValueError as error:
            raise self.bad(
                f"field {name!r} is {value!r}.", "It must be a date such as 2026-11-21."
            ) from error
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def read_text(path: Path) -> str:
    """A whole file.

    Raises:
        InvalidInput: if it is missing or no UTF-8.
    """
    try:
        return (
            gzip.decompress(path.read_bytes()).decode("utf-8")
            if path.suffix == ".gz"
            else path.read_text("utf-8")
        )
    except FileNotFoundError as error:
        raise InvalidInput(
            f"{path} is missing.", hint="The folder needs it; see docs/guide/benchmarks.md."
        ) from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}.", hint="It must be a readable file in UTF-8."
        ) from error


def read_rows(path: Path) -> Iterator[Row]:
    """Objects of a JSON Lines file; blank lines are skipped.

    Raises:
        InvalidInput: naming file and line of what is no JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except json.JSONDecodeError as error:
            raise problem(
                path, number, f"no JSON ({error.msg}).", "Every line must be one JSON object."
            ) from error
        if not isinstance(values, dict):
            raise problem(path, number, "no JSON object.", "Every line must be one JSON object.")
        yield Row(path=path, line=number, values=values)


def read_table(path: Path, *, columns: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines of a tab-separated file with their numbers.

    Raises:
        InvalidInput: naming a line with another number of columns.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        cells = tuple(cell.strip() for cell in line.rstrip("\r").split("\t"))
        if len(cells) != columns:
            raise problem(
                path, number, f"{len(cells)} columns, not {columns}.", "Columns are separated by one tab."
            )
        yield number, cells
