"""Names and table rows for the numbers of `tacit stats`, for the terminal and for the HTML file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tacit.cli.answer_types import Bucket, CacheShare, Holdout, Series

Rows = list[tuple[str, ...]]

NO_CACHE = (
    "Prompt caches: no data yet. The SDK middleware measures every request. For Claude Code and OpenCode there is data once a"
    " session was learned from."
)
NO_HOLDOUT = "With and without memory: set recall.holdout, for example to 0.2, to compare with a fifth of the sessions without memory."


def stretch(at_ms: int, bucket_ms: int) -> str:
    """Name of a bucket, in UTC."""
    pattern = "%m-%d %H:00" if bucket_ms < 86_400_000 else "%Y-%m-%d"
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime(pattern)


def percent(value: float | None) -> str:
    """A share for people; a dash where there is none."""
    return "-" if value is None else f"{value:.0%}"


def busy(series: Series) -> list[Bucket]:
    """The buckets from the first one with a recall on."""
    buckets = series["buckets"]
    first = next((at for at, one in enumerate(buckets) if one["injections"] or one["silences"]), len(buckets))
    return buckets[first:]


def latency_rows(series: Series) -> Rows:
    """Surface, recalls, percentiles."""
    return [
        (
            one["surface"],
            str(one["count"]),
            f"{one['p50_ms']:.1f} ms",
            f"{one['p95_ms']:.1f} ms",
            f"{one['p99_ms']:.1f} ms",
        )
        for one in series["latency"]
    ]


def kind_rows(series: Series) -> Rows:
    """Kind, tokens, share."""
    whole = sum(series["kinds"].values()) or 1
    return [(name, str(tokens), percent(tokens / whole)) for name, tokens in series["kinds"].items()]


def silence_rows(series: Series, *, most: int = 8) -> Rows:
    """Reason, how often."""
    return [(one["reason"], str(one["count"])) for one in series["silences"][:most]]


def feedback_text(series: Series) -> str:
    """Describe the user's verdicts on injections."""
    told = series["feedback"]
    if told["precision"] is None:
        return (
            "Precision: nobody has said yet what was useful (`tacit wrong ID`, or the buttons of the page)."
        )
    judged = told["useful"] + told["wrong"]
    return f"Precision: {percent(told['precision'])} of {judged} judged injections were useful; {told['missed']} were missed."


def cache_rows(shares: Sequence[CacheShare]) -> Rows:
    """Placement or host, requests, share kept, the same without memory, what the API took from its cache."""
    rows: Rows = []
    for one in shares:
        taken = percent(one["cached_tokens"] / one["input_tokens"]) if one["input_tokens"] else "-"
        kept = ("-", "-") if one["host"] else (f"{one['share']:.1%}", f"{one['bare']:.1%}")
        rows.append((one["host"] or one["placement"], str(one["requests"]), *kept, taken))
    return rows


CACHE_COLUMNS = (
    "blocks stand in, or host",
    "requests",
    "kept of the one before",
    "without memory",
    "read from the cache",
)
PLACEMENTS = {
    "default": "system prompt, fixed; newest message",
    "system_every_call": "system prompt, renewed at every call",
    "none": "nowhere",
    "claude-code": "Claude Code",
    "opencode": "OpenCode",
}
HOLDOUT_COLUMNS = ("measure", "with memory", "without", "difference", "95 % between", "clear")


def holdout_rows(holdout: Holdout) -> Rows:
    """Measure, means, difference and its interval."""
    return [
        (
            one["measure"],
            f"{one['with_memory']:.2f}",
            f"{one['without']:.2f}",
            f"{one['difference']:+.2f}",
            f"{one['low']:+.2f} and {one['high']:+.2f}",
            "yes" if one["clear"] else "no",
        )
        for one in holdout["contrasts"]
    ]


def holdout_text(holdout: Holdout) -> str:
    """Describe the number of sessions, and the conclusion that they allow."""
    told = f"{holdout['sessions_with']} sessions with memory, {holdout['sessions_without']} without"
    if not holdout["enough"]:
        return f"{told}: too few to tell; 20 of each are needed."
    return f"{told}. Tokens are estimated from the hosts' data."
