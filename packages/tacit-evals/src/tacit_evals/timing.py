"""Numbers of a benchmark: percentiles, ratios, rows of a table. In: measured times. Out: values, a printed table, JSON.

Never measures anything itself.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured value beside its target.

    Attributes:
        name: what was measured.
        value: the measured value in `unit`.
        unit: `ms`, `s`, `MB`, `x` (a ratio).
        target: most that is allowed, in the same unit; None = printed for information only.
        note: how it came about, in a few words.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Literal["ok", "over", ""]:
        """Whether the value keeps its target; "" without one."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "over"


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0-1) of the sorted values do not exceed, by nearest rank; 0.0 for no values."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[min(len(ranked), max(1, math.ceil(share * len(ranked)))) - 1]


def median(values: Sequence[float]) -> float:
    """The median; 0.0 for no values."""
    return statistics.median(values) if values else 0.0


def ratio(part: float, whole: float) -> float:
    """`part / whole`, infinite when `whole` is 0."""
    return part / whole if whole else math.inf


def paired_ratio(parts: Sequence[float], wholes: Sequence[float]) -> float:
    """Median of the ratios of values measured side by side: it forgives a machine that is busy for a while."""
    return median([ratio(part, whole) for part, whole in zip(parts, wholes, strict=True)])


def print_rows(rows: Iterable[Row], *, title: str, console: Console | None = None) -> None:
    """Print `rows` as one table."""
    table = Table(title=title)
    for heading in ("measured", "value", "target", "", "note"):
        table.add_column(heading, justify="right" if heading in ("value", "target") else "left")
    for row in rows:
        target = "" if row.target is None else f"<= {row.target:g} {row.unit}"
        style = {"ok": "green", "over": "red", "": ""}[row.verdict]
        table.add_row(row.name, f"{row.value:,.2f} {row.unit}", target, row.verdict, row.note, style=style)
    (console or Console()).print(table)


def write_json(path: Path | None, rows: Sequence[Row], **more: object) -> None:
    """Write rows and whatever else is given to `path`; nothing without one."""
    if path is None:
        return
    listed = [{**asdict(row), "verdict": row.verdict} for row in rows]
    path.write_text(json.dumps({"rows": listed, **more}, indent=1) + "\n", "utf-8")
