"""HTML of the library's values for notebooks. In: headings and rows. Out: a table in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = "text-align:left;vertical-align:top"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    """A table; `caption` stands above it."""
    head = "".join(_cell("th", heading) for heading in headings)
    body = "".join(f"<tr>{''.join(_cell('td', value) for value in row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f'<{tag} style="{_STYLE}">{escape(text)}</{tag}>'
