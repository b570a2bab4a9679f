"""The numbers of `tacit stats` as one HTML file that needs no other. In: the API's answers. Out: a file. Names from data are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Literal

import leather  # pyright: ignore[reportMissingTypeStubs]

from tacit import __version__
from tacit.cli.answer_types import CacheShare, Series
from tacit.cli.statistics import tables
from tacit.cli.statistics.tables import Stats, impact_lines
from tacit.errors import InvalidInput

BLUE, GREY, GREEN, RED = "#1f6feb", "#8a8f98", "#2a9d4a", "#c9432b"
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --line: #d9dce1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #16181c; --line: #3a3f47; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; background: #f9f9f9; border-radius: 6px; overflow-x: auto; }
figure svg { width: 100%; min-width: 34rem; height: auto; display: block; }
"""


def write_page(target: Path, facts: Stats) -> None:
    """Write the page.

    Raises:
        InvalidInput: if the file cannot be written.
    """
    try:
        target.write_text(render(facts), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="Name a file in a folder of yours.",
        ) from error


def render(facts: Stats) -> str:
    """The whole page."""
    series = facts["series"]
    holdout = facts["holdout"]
    stored = [(name, str(count)) for name, count in facts["store"]["by_kind"].items()]
    body = [
        "<h1>Tacit</h1>",
        f"<p>Version {escape(__version__)}; from {_day(series['since_ms'])} to {_day(series['until_ms'])} (UTC).</p>",
        *_charts(series),
        f"<p>{escape(tables.feedback_text(series))}</p>",
        _table("Latency", ("surface", "recalls", "p50", "p95", "p99"), tables.latency_rows(series)),
        _table("Tokens by kind", ("kind", "tokens", "share"), tables.kind_rows(series)),
        _table("Reasons for silence", ("reason", "times"), tables.silence_rows(series, most=30)),
        _table("Prompt caches", tables.CACHE_COLUMNS, _placed(series["cache"])),
        "" if series["cache"] else f"<p>{escape(tables.NO_CACHE)}</p>",
        _table("With and without memory", tables.HOLDOUT_COLUMNS, tables.holdout_rows(holdout)),
        f"<p>{escape(tables.holdout_text(holdout) if holdout['contrasts'] else tables.NO_HOLDOUT)}</p>",
        "<h2>What injections were good for</h2>",
        *(f"<p>{escape(line)}</p>" for line in impact_lines(facts)),
        _table("Stored", ("kind", "memories"), stored),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tacit</title><style>{_STYLE}</style>'
    lines = "\n".join(line for line in body if line)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{lines}\n</body></html>\n'


def _charts(series: Series) -> list[str]:
    buckets = tables.busy(series)
    if len(buckets) < 2:
        return ["<p>Charts begin with the second day.</p>"]
    dates = [
        datetime.fromtimestamp(bucket["at_ms"] / 1000, tz=UTC).replace(tzinfo=None) for bucket in buckets
    ]

    def over_time(
        field: Literal["injections", "silences", "p50_ms", "p95_ms"],
    ) -> list[tuple[datetime, float]]:
        return [(date, float(bucket[field])) for date, bucket in zip(dates, buckets, strict=True)]

    drawn = [
        _lines(
            "Injections and silences",
            [("injections", over_time("injections"), BLUE), ("silences", over_time("silences"), GREY)],
        ),
        _lines(
            "Latency of recalls, ms", [("p50", over_time("p50_ms"), GREEN), ("p95", over_time("p95_ms"), RED)]
        ),
    ]
    judged = [
        (date, bucket["precision"])
        for date, bucket in zip(dates, buckets, strict=True)
        if bucket["precision"] is not None
    ]
    if len(judged) > 1:
        drawn.append(_lines("Precision of judged injections", [("useful", judged, BLUE)]))
    if series["kinds"]:
        chart: Any = leather.Chart("Tokens by kind")
        chart.add_bars([(float(tokens), name) for name, tokens in series["kinds"].items()], fill_color=BLUE)
        drawn.append(_figure(chart, height=80 + 34 * len(series["kinds"])))
    return drawn


def _lines(title: str, lines: Sequence[tuple[str, Sequence[tuple[datetime, float]], str]]) -> str:
    chart: Any = leather.Chart(title)
    most = max((value for _, points, _ in lines for _, value in points), default=0.0)
    chart.add_y_scale(0, most or 1.0)
    chart.add_x_axis(tick_formatter=_tick)
    for name, points, colour in lines:
        chart.add_line(list(points), name=name, stroke_color=colour)
    return _figure(chart, height=300)


def _tick(value: datetime, _number: int, _count: int) -> str:
    return value.strftime("%m-%d")


def _figure(chart: Any, *, height: int) -> str:
    svg: str = chart.to_svg(width=860, height=height)
    sized = svg.replace(f'<svg width="860" height="{height}"', f'<svg viewBox="0 0 860 {height}"', 1)
    return f"<figure>{sized}</figure>"


def _placed(shares: Sequence[CacheShare]) -> tables.Rows:
    return [(tables.PLACEMENTS.get(row[0], row[0]), *row[1:]) for row in tables.cache_rows(shares)]


def _table(title: str, columns: Sequence[str], rows: tables.Rows) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{lines}</table>"


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%d")
