"""`tacit status --stats`: what is stored, what injections were good for, and how they went over time.

In: the daemon's numbers; nothing is counted here. Out: tables, with bars of block characters, or JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.cli.connection import ask
from tacit.cli.terminal.output import print_json, print_line, print_rows

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
MOST_REASONS = 8
STATUS_WORDS = {"quarantined": "waiting for you (`tacit review`)"}
"""What a status means for the user, if its name does not say it."""


def show_stats(days: int, *, as_json: bool) -> None:
    """Print what is stored and used, and how injections went in the last `days`, as tables or JSON."""
    facts = ask("GET", "/v1/stats", {"bucket": "hour" if days <= 2 else "day", "days": days})
    if as_json:
        print_json(facts)
        return
    _print_stored(facts["use"]["store"])
    _print_over_time(facts["series"])
    _print_latency(facts["series"])
    _print_kinds_and_silences(facts["series"])
    _print_cache(facts["series"]["cache"])
    _print_holdout(facts["holdout"])
    _print_use(facts["use"])


def _print_stored(store: dict[str, Any]) -> None:
    if not store["by_status"]:
        print_line("Nothing is stored.")
        return
    rows = [(name, str(count)) for name, count in store["by_kind"].items()]
    print_rows("", ("kind", "memories"), rows, empty="No memory is active.")
    counts = ", ".join(f"{n} {STATUS_WORDS.get(name, name)}" for name, n in store["by_status"].items())
    print_line(
        f"{counts}; {store['stated']} that you stated, {store['used']} used, {store['restated']} stated again."
    )


def _print_over_time(series: dict[str, Any]) -> None:
    """Print what prompts, calls and failures got, with the tokens and the latency of all surfaces: a row with bars for each hour or day, from the first with a recall on."""
    buckets: list[dict[str, Any]] = series["buckets"]
    asked = [at for at, bucket in enumerate(buckets) if bucket["injections"] or bucket["silences"]]
    buckets = buckets[asked[0] :][-MOST_LINES:] if asked else []
    most = max((max(bucket["injections"], bucket["silences"]) for bucket in buckets), default=0)
    rows = [
        (
            _bucket_label(bucket["at_ms"], series["bucket_ms"]),
            _number_and_bar(bucket["injections"], most),
            _number_and_bar(bucket["silences"], most),
            str(sum(bucket["tokens"].values())),
            f"{bucket['p50_ms']:.1f} ms",
            _percent(bucket["precision"]),
        )
        for bucket in buckets
    ]
    print_line()
    columns = ("when (UTC)", "given", "silences", "tokens, start too", "p50", "precision")
    print_rows("Over time", columns, rows, empty="No session asked the memory in this period.")
    print_line(_feedback_text(series["feedback"]))
    if not series["complete"] and buckets:
        print_line(
            f"There are no records from before {rows[0][0]} (retention.trace_days; of very many the oldest go earlier)."
        )


def _print_latency(series: dict[str, Any]) -> None:
    times = ("p50_ms", "p95_ms", "p99_ms")
    rows = [
        (row["surface"], str(row["count"]), *(f"{row[time]:.1f} ms" for time in times))
        for row in series["latency"]
    ]
    if rows:
        print_line()
        print_rows("Latency", ("surface", "recalls", "p50", "p95", "p99"), rows, empty="")


def _print_kinds_and_silences(series: dict[str, Any]) -> None:
    kinds: dict[str, int] = series["kinds"]
    if kinds:
        whole, most = sum(kinds.values()) or 1, max(kinds.values())
        rows = [
            (name, _number_and_bar(tokens, most), _percent(tokens / whole)) for name, tokens in kinds.items()
        ]
        print_line()
        print_rows("Tokens by kind", ("kind", "tokens", "share"), rows, empty="")
    if series["silences"]:
        reasons = [(row["reason"], str(row["count"])) for row in series["silences"][:MOST_REASONS]]
        print_line()
        print_rows("Reasons for silence", ("reason", "times"), reasons, empty="")


def _print_cache(shares: Sequence[dict[str, Any]]) -> None:
    """Print how much of their requests prompt caches could reuse, with memory and without."""
    rows: list[tuple[str, ...]] = []
    for share in shares:
        name: str = share["host"] or share["placement"]
        taken = _percent(share["cached_tokens"] / share["input_tokens"]) if share["input_tokens"] else "-"
        reused = ("-", "-") if share["host"] else (f"{share['share']:.1%}", f"{share['bare']:.1%}")
        rows.append((PLACEMENTS.get(name, name), str(share["requests"]), *reused, taken))
    print_line()
    print_rows("Prompt caches", CACHE_COLUMNS, rows, empty=NO_CACHE)


def _print_holdout(holdout: dict[str, Any]) -> None:
    """Print the comparison of sessions with memory and without, or how to get one."""
    print_line()
    if not holdout["share"] and not holdout["sessions_without"]:
        print_line(NO_HOLDOUT)
        return
    rows = [
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
    if rows:
        print_rows("With and without memory", HOLDOUT_COLUMNS, rows, empty="")
    sessions = f"{holdout['sessions_with']} sessions with memory, {holdout['sessions_without']} without"
    if holdout["enough"]:
        print_line(f"{sessions}. Tokens are estimated from the hosts' data.")
    else:
        print_line(f"{sessions}: too few to tell; 20 of each are needed.")


def _print_use(answer: dict[str, Any]) -> None:
    """Print how often injected memories were used."""
    totals = answer["impact"]
    print_line()
    if not totals["shown"]:
        print_line("No memory has been injected yet in a session that was learned from.")
        return
    print_line(
        f"Injected {totals['shown']} times in {totals['sessions']} sessions; used {totals['used']} times ({answer['rate']:.0%})."
    )
    if answer["baseline"] is not None:
        print_line(
            f"Of {totals['control_shown']} that were not injected {answer['baseline']:.0%} look used all the same."
        )
    print_line(f"In {totals['before']} cases the conversation already held their content.")
    print_line(f"Tokens: {totals['tokens_used']} of {totals['tokens']} in what was used.")
    for title, counts in (("by what", totals["by_cue"]), ("injected at", totals["by_surface"])):
        if counts:
            print_line(f"  {title}: {', '.join(f'{name} {n}' for name, n in sorted(counts.items()))}")


def _number_and_bar(value: int, most: int) -> str:
    return f"{value:>5} {bar(value, most)}".rstrip()


def bar(value: int, most: int, *, width: int = BAR) -> str:
    """Return a bar of block characters for `value`, exact to an eighth of a character; `most` gives a bar of `width` characters. A value above 0 shows at least an eighth."""
    eighths = round(value * width * 8 / most) if most else 0
    if value and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _bucket_label(at_ms: int, bucket_ms: int) -> str:
    """Return the label of a time bucket in UTC: day and hour, or the date if it is a day or longer."""
    pattern = "%m-%d %H:00" if bucket_ms < 86_400_000 else "%Y-%m-%d"
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime(pattern)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _feedback_text(feedback: dict[str, Any]) -> str:
    """Return a sentence about the user's verdicts on injections."""
    if feedback["precision"] is None:
        return "Precision: nobody has said yet what was useful (`tacit edit ID --wrong`, or the buttons of the page)."
    judged = feedback["useful"] + feedback["wrong"]
    return f"Precision: {_percent(feedback['precision'])} of {judged} judged injections were useful; {feedback['missed']} were missed."
