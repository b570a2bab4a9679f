"""`tacit status --stats`: what is stored, what injections were good for, and how they went over time.

In: arguments. Out: tables and plots, JSON, or one HTML file that needs no other. The daemon counts; nothing is counted here.
"""

from __future__ import annotations

import time
from typing import Any

DAY_MS = 86_400_000


def show_stats(days: int, *, as_json: bool) -> None:
    """Print what is stored and used, and how injections went in the last `days`, as tables or JSON."""
    from tacit.cli.connection import ask
    from tacit.cli.terminal.output import print_json

    until = time.time_ns() // 1_000_000 + 1
    since = until - days * DAY_MS
    query: dict[str, object] = {
        "bucket": "hour" if days <= 2 else "day",
        "since_ms": since,
        "until_ms": until,
        # Few sessions end in a month: the comparison looks back as far as three.
        "holdout_since_ms": min(since, until - 90 * DAY_MS),
    }
    facts = ask("GET", "/v1/stats", query)
    if as_json:
        print_json(facts)
    else:
        _tables(facts)


def _tables(facts: dict[str, Any]) -> None:
    from tacit.cli.statistics import tables

    tables.stored(facts["use"]["store"])
    tables.over_time(facts["series"])
    tables.latency(facts["series"])
    tables.kinds_and_silences(facts["series"])
    tables.cache(facts["series"]["cache"])
    tables.holdout(facts["holdout"])
    tables.impact(facts["use"])
