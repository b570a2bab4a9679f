"""`tacit status --stats`: what is stored, what injections were good for, and how they went over time.

In: the daemon's numbers; nothing is counted here. Out: tables, with bars of block characters, or JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.cli.connection import ask
from tacit.cli.terminal.output import print_json, print_line, print_rows

Rows = list[tuple[str, ...]]

NO_CACHE = (
    "Prompt caches: no data yet. The SDK middleware measures every request. For Claude Code and OpenCode there is data once a"
    " session was learned from."
)
NO_HOLDOUT = "With and without memory: set recall.holdout, for example to 0.2, to compare with a fifth of the sessions without memory."


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


BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
MOST_LINES = 31
STATUS_WORDS = {"quarantined": "waiting for you (`tacit review`)"}
"""What a status means for the user, if its name does not say it."""


def stored(store: dict[str, Any]) -> None:
    """Print how many memories there are, by kind and by status."""
    if not store["by_status"]:
        print_line("Nothing is stored.")
        return
    print_rows(
        "",
        ("kind", "memories"),
        [(name, str(n)) for name, n in store["by_kind"].items()],
        empty="No memory is active.",
    )
    counts_text = ", ".join(f"{n} {STATUS_WORDS.get(name, name)}" for name, n in store["by_status"].items())
    print_line(
        f"{counts_text}; {store['stated']} that you stated, {store['used']} used, {store['restated']} stated again."
    )


def over_time(series: dict[str, Any]) -> None:
    """Print over time what prompts, calls and failures got, with the tokens and the latency of all surfaces; a row with bars for each hour or day."""
    buckets = busy(series)[-MOST_LINES:]
    most = max((max(bucket["injections"], bucket["silences"]) for bucket in buckets), default=0)
    rows = [
        (
            stretch(bucket["at_ms"], series["bucket_ms"]),
            _number_and_bar(bucket["injections"], most),
            _number_and_bar(bucket["silences"], most),
            str(sum(bucket["tokens"].values())),
            f"{bucket['p50_ms']:.1f} ms",
            percent(bucket["precision"]),
        )
        for bucket in buckets
    ]
    print_line()
    columns = ("when (UTC)", "given", "silences", "tokens, start too", "p50", "precision")
    print_rows("Over time", columns, rows, empty="No session asked the memory in this period.")
    print_line(feedback_text(series))
    if not series["complete"] and buckets:
        print_line(
            f"There are no records from before {rows[0][0]} (retention.trace_days, at most 2,000 records)."
        )


def latency(series: dict[str, Any]) -> None:
    """Print percentiles of the recall time by surface; nothing if there are none."""
    rows = latency_rows(series)
    if rows:
        print_line()
        print_rows("Latency", ("surface", "recalls", "p50", "p95", "p99"), rows, empty="")


def kinds_and_silences(series: dict[str, Any]) -> None:
    """Print the injected tokens by kind, and the reasons for silence."""
    kinds = kind_rows(series)
    if kinds:
        most = max(int(tokens) for _, tokens, _ in kinds)
        drawn = [(name, _number_and_bar(int(tokens), most), share) for name, tokens, share in kinds]
        print_line()
        print_rows("Tokens by kind", ("kind", "tokens", "share"), drawn, empty="")
    silences = silence_rows(series)
    if silences:
        print_line()
        print_rows("Reasons for silence", ("reason", "times"), silences, empty="")


def cache(shares: Sequence[dict[str, Any]]) -> None:
    """Print how much of their requests prompt caches could reuse, with memory and without."""
    print_line()
    rows = [(PLACEMENTS.get(row[0], row[0]), *row[1:]) for row in cache_rows(shares)]
    print_rows("Prompt caches", CACHE_COLUMNS, rows, empty=NO_CACHE)


def holdout(report: dict[str, Any]) -> None:
    """Print the comparison of sessions with memory and without, or how to get one."""
    print_line()
    if not report["share"] and not report["sessions_without"]:
        print_line(NO_HOLDOUT)
        return
    rows = holdout_rows(report)
    if rows:
        print_rows("With and without memory", HOLDOUT_COLUMNS, rows, empty="")
    print_line(holdout_text(report))


def impact(answer: dict[str, Any]) -> None:
    """Print how often injected memories were used."""
    print_line()
    for line in impact_lines(answer):
        print_line(line)


def impact_lines(answer: dict[str, Any]) -> list[str]:
    """Return the sentences that say how often injected memories were used."""
    totals = answer["impact"]
    if not totals["shown"]:
        return ["No memory has been injected yet in a session that was learned from."]
    lines = [
        f"Injected {totals['shown']} times in {totals['sessions']} sessions; used {totals['used']} times ({answer['rate']:.0%})."
    ]
    if answer["baseline"] is not None:
        lines.append(
            f"Of {totals['control_shown']} that were not injected {answer['baseline']:.0%} look used all the same."
        )
    lines += [
        f"In {totals['before']} cases the conversation already held their content.",
        f"Tokens: {totals['tokens_used']} of {totals['tokens']} in what was used.",
    ]
    for title, counts in (("by what", totals["by_cue"]), ("injected at", totals["by_surface"])):
        if counts:
            lines.append(f"  {title}: {', '.join(f'{name} {n}' for name, n in sorted(counts.items()))}")
    return lines


def _number_and_bar(value: int, most: int) -> str:
    return f"{value:>5} {bar(value, most)}".rstrip()


def bar(value: int, most: int, *, width: int = BAR) -> str:
    """Return a bar of block characters for `value`, exact to an eighth of a character; `most` gives a bar of `width` characters. A value above 0 shows at least an eighth."""
    eighths = round(value * width * 8 / most) if most else 0
    if value and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def stretch(at_ms: int, bucket_ms: int) -> str:
    """Return the label of a time bucket in UTC: day and hour, or the date if it is a day or longer."""
    pattern = "%m-%d %H:00" if bucket_ms < 86_400_000 else "%Y-%m-%d"
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime(pattern)


def percent(value: float | None) -> str:
    """Return a share as a percentage; `-` = there is none."""
    return "-" if value is None else f"{value:.0%}"


def busy(series: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the buckets from the first with any recall on."""
    buckets = series["buckets"]
    first = next(
        (at for at, bucket in enumerate(buckets) if bucket["injections"] or bucket["silences"]), len(buckets)
    )
    return buckets[first:]


def latency_rows(series: dict[str, Any]) -> Rows:
    """Return table rows of texts, from `latency` of the statistics.

    A row is (surface, recalls, p50, p95, p99 in ms).
    """
    return [
        (
            row["surface"],
            str(row["count"]),
            f"{row['p50_ms']:.1f} ms",
            f"{row['p95_ms']:.1f} ms",
            f"{row['p99_ms']:.1f} ms",
        )
        for row in series["latency"]
    ]


def kind_rows(series: dict[str, Any]) -> Rows:
    """Return rows of (kind, tokens, share of all tokens)."""
    whole = sum(series["kinds"].values()) or 1
    return [(name, str(tokens), percent(tokens / whole)) for name, tokens in series["kinds"].items()]


def silence_rows(series: dict[str, Any], *, most: int = 8) -> Rows:
    """Return rows of (reason for silence, how often), at most `most`."""
    return [(row["reason"], str(row["count"])) for row in series["silences"][:most]]


def feedback_text(series: dict[str, Any]) -> str:
    """Return a sentence about the user's verdicts on injections."""
    feedback = series["feedback"]
    if feedback["precision"] is None:
        return "Precision: nobody has said yet what was useful (`tacit edit ID --wrong`, or the buttons of the page)."
    judged = feedback["useful"] + feedback["wrong"]
    return f"Precision: {percent(feedback['precision'])} of {judged} judged injections were useful; {feedback['missed']} were missed."


def cache_rows(shares: Sequence[dict[str, Any]]) -> Rows:
    """Return rows of (placement or host, requests, share kept, share kept without memory, share read from the API's cache)."""
    rows: Rows = []
    for share in shares:
        taken = percent(share["cached_tokens"] / share["input_tokens"]) if share["input_tokens"] else "-"
        reused = ("-", "-") if share["host"] else (f"{share['share']:.1%}", f"{share['bare']:.1%}")
        rows.append((share["host"] or share["placement"], str(share["requests"]), *reused, taken))
    return rows


def holdout_rows(holdout: dict[str, Any]) -> Rows:
    """Return rows of (measure, mean with memory, mean without, difference, its interval, whether it is clear)."""
    return [
        (
            contrast["measure"],
            f"{contrast['with_memory']:.2f}",
            f"{contrast['without']:.2f}",
            f"{contrast['difference']:+.2f}",
            f"{contrast['low']:+.2f} and {contrast['high']:+.2f}",
            "yes" if contrast["clear"] else "no",
        )
        for contrast in holdout["contrasts"]
    ]


def holdout_text(holdout: dict[str, Any]) -> str:
    """Return a sentence with the number of sessions, and whether they are enough to compare."""
    summary = f"{holdout['sessions_with']} sessions with memory, {holdout['sessions_without']} without"
    if not holdout["enough"]:
        return f"{summary}: too few to tell; 20 of each are needed."
    return f"{summary}. Tokens are estimated from the hosts' data."


def show_stats(days: int, *, as_json: bool) -> None:
    """Print what is stored and used, and how injections went in the last `days`, as tables or JSON."""
    facts = ask("GET", "/v1/stats", {"bucket": "hour" if days <= 2 else "day", "days": days})
    if as_json:
        print_json(facts)
    else:
        _tables(facts)


def _tables(facts: dict[str, Any]) -> None:
    stored(facts["use"]["store"])
    over_time(facts["series"])
    latency(facts["series"])
    kinds_and_silences(facts["series"])
    cache(facts["series"]["cache"])
    holdout(facts["holdout"])
    impact(facts["use"])
