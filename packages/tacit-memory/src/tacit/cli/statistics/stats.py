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

    facts = {**ask("GET", "/v1/stats", {}), **_over_time(days)}
    if as_json:
        print_json(facts)
    else:
        _tables(facts)


def _over_time(days: int) -> dict[str, Any]:
    from tacit.cli.connection import ask

    until = time.time_ns() // 1_000_000 + 1
    bucket = "hour" if days <= 2 else "day"
    period = {"since_ms": until - days * DAY_MS, "until_ms": until}
    series = ask("GET", "/v1/stats/timeline", {**period, "bucket": bucket})["series"]
    # Few sessions end in a month: the comparison looks back as far as three.
    since = min(period["since_ms"], until - 90 * DAY_MS)
    holdout = ask("GET", "/v1/stats/holdout", {"since_ms": since, "until_ms": until})["holdout"]
    return {"series": series, "holdout": holdout}


def _tables(facts: dict[str, Any]) -> None:
    from tacit.cli.statistics import tables

    tables.stored(facts["store"])
    tables.over_time(facts["series"])
    tables.latency(facts["series"])
    tables.kinds_and_silences(facts["series"])
    tables.cache(facts["series"]["cache"])
    tables.holdout(facts["holdout"])
    tables.impact(facts)
