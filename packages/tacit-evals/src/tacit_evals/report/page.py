"""A scorecard as one HTML file that needs no other: tables, plots, settings. Names from data are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from tacit_evals.report.plots import plots_of
from tacit_evals.report.scorecard import Line, Listing, Part, Scorecard, commit
from tacit_evals.report.tables import MET, cell

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
.texts td { text-align: left; vertical-align: top; min-width: 6rem; white-space: normal; }
small { color: #666; } figure { display: inline-block; margin: 1rem; } svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #fff; } }
"""


def render_page(card: Scorecard) -> str:
    """The whole page."""
    parts = (*card.parts, card.total)
    title = escape(f"{card.suite}: {card.dataset}")
    body = [
        f"<h1>{title}</h1>",
        f"<p>Commit {escape(commit() or 'unknown')}.</p>",
        "<h2>Figures</h2>",
        _figures(parts),
    ]
    if worst := card.worst():
        named = (f"{name} {cell(value)} ({project})" for name, (project, value) in worst.items())
        body.append(f"<p>Worst project: {escape('; '.join(named))}</p>")
    body += [f"<p><small>{escape(note)}</small></p>" for note in card.notes]
    body += ["<h2>What was promised</h2>", _promises(card.lines)] if card.lines else []
    body += ["<h2>Beside simpler methods</h2>", *(_baselines(part) for part in parts if part.baselines)]
    body += [
        f"<figure><figcaption>{escape(name)}</figcaption>{svg}</figure>"
        for name, svg in plots_of(card).items()
    ]
    body += [_listing(listing) for listing in card.listings]
    body += ["<h2>Settings</h2><table>"]
    body += [f"<tr><td>{escape(str(k))}</td><td>{escape(str(v))}</td></tr>" for k, v in card.settings.items()]
    body += ["</table>"]
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _promises(lines: Sequence[Line]) -> str:
    rows = ["<tr><th></th><th>figure</th><th>95 %</th><th>wanted</th><th>met</th></tr>"]
    for line in lines:
        between = "" if line.interval is None else f"{cell(line.interval[0])} - {cell(line.interval[1])}"
        cells = (line.name, cell(line.value), between, line.wanted, MET[line.met])
        rows.append("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in cells) + "</tr>")
    return "<table>" + "\n".join(rows) + "</table>"


def _listing(listing: Listing) -> str:
    """Counts by cause, then rows; texts of the data wrap."""

    def row(cells: Sequence[str], tag: str = "td") -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    counts = [row((cause, str(number))) for cause, number in listing.counts.items()]
    rows = [row(listing.columns, "th"), *(row(cells) for cells in listing.rows)]
    return (
        f"<h2>{escape(listing.title)}</h2><table>{''.join(counts)}</table>"
        f"<p>{len(listing.rows)} of {sum(listing.counts.values())}, of every cause in turn:</p>"
        f'<table class="texts">{"".join(rows)}</table>'
    )


def write_page(card: Scorecard, path: Path) -> None:
    """Write the page."""
    path.write_text(render_page(card), "utf-8")


def _figures(parts: tuple[Part, ...]) -> str:
    names = list(dict.fromkeys(name for part in parts for name in part.metrics))
    rows = ["<tr><th></th>" + "".join(f"<th>{escape(part.name)}</th>" for part in parts) + "</tr>"]
    rows += [
        f"<tr><td>{escape(name)}</td>"
        + "".join(f"<td>{_with_range(part, name)}</td>" for part in parts)
        + "</tr>"
        for name in names
    ]
    return "<table>" + "\n".join(rows) + "</table>"


def _with_range(part: Part, name: str) -> str:
    if name not in part.metrics:
        return ""
    value = cell(part.metrics[name])
    if name not in part.intervals:
        return value
    low, high = part.intervals[name]
    return f"{value} <small>{cell(low)} - {cell(high)}</small>"


def _baselines(part: Part) -> str:
    columns = list(dict.fromkeys(name for own in part.baselines.values() for name in own))
    rows = ["<tr><th></th>" + "".join(f"<th>{escape(name)}</th>" for name in columns) + "<th>p</th></tr>"]
    mine = "".join(f"<td><b>{cell(part.metrics.get(name))}</b></td>" for name in columns)
    rows.append(f"<tr><td><b>Tacit</b></td>{mine}<td></td></tr>")
    for name, own in part.baselines.items():
        cells = "".join(f"<td>{cell(own[c]) if c in own else ''}</td>" for c in columns)
        p_value = "".join(f"{value:.3f}" for value in part.p_values.get(name, {}).values())
        rows.append(f"<tr><td>{escape(name)}</td>{cells}<td>{p_value}</td></tr>")
    return f"<h3>{escape(part.name)}</h3><table>" + "\n".join(rows) + "</table>"
