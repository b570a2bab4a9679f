"""The numbers of `tacit stats` in the terminal. In: the API's answers. Out: lines and tables, with bars of block characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from tacit.cli.answer_types import CacheShare, Holdout, Series, Statistics, StoreUse
from tacit.cli.statistics import wording
from tacit.cli.terminal.output import print_line, print_rows

BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
MOST_LINES = 31
STATUS_WORDS = {"quarantined": "waiting for you (`tacit review`)"}
"""What a status means for the user, where its name does not say it."""


class OverTime(TypedDict):
    """The charts, of two answers."""

    series: Series
    holdout: Holdout


class Stats(StoreUse, OverTime):
    """Everything that `tacit stats` shows, of three answers."""


def stored(store: Statistics) -> None:
    """Memories by kind."""
    if not store["by_status"]:
        print_line("Nothing is stored.")
        return
    print_rows(
        "",
        ("kind", "memories"),
        [(name, str(n)) for name, n in store["by_kind"].items()],
        empty="No memory is active.",
    )
    told = ", ".join(f"{n} {STATUS_WORDS.get(name, name)}" for name, n in store["by_status"].items())
    print_line(
        f"{told}; {store['stated']} that you stated, {store['used']} used, {store['restated']} stated again."
    )


def over_time(series: Series) -> None:
    """Injections and silences, a bar each."""
    buckets = wording.busy(series)[-MOST_LINES:]
    most = max((max(one["injections"], one["silences"]) for one in buckets), default=0)
    rows = [
        (
            wording.stretch(one["at_ms"], series["bucket_ms"]),
            _number_and_bar(one["injections"], most),
            _number_and_bar(one["silences"], most),
            str(sum(one["tokens"].values())),
            f"{one['p50_ms']:.1f} ms",
            wording.percent(one["precision"]),
        )
        for one in buckets
    ]
    print_line()
    columns = ("when (UTC)", "injections", "silences", "tokens", "p50", "precision")
    print_rows("Over time", columns, rows, empty="No recall in this period.")
    print_line(wording.feedback_text(series))
    if not series["complete"] and buckets:
        print_line(f"There are no records from before {rows[0][0]} (retention.traces, retention.trace_days).")


def latency(series: Series) -> None:
    """Percentiles by surface."""
    rows = wording.latency_rows(series)
    if rows:
        print_line()
        print_rows("Latency", ("surface", "recalls", "p50", "p95", "p99"), rows, empty="")


def kinds_and_silences(series: Series) -> None:
    """Tokens by kind; why nothing was said."""
    kinds = wording.kind_rows(series)
    if kinds:
        most = max(int(tokens) for _, tokens, _ in kinds)
        drawn = [(name, _number_and_bar(int(tokens), most), share) for name, tokens, share in kinds]
        print_line()
        print_rows("Tokens by kind", ("kind", "tokens", "share"), drawn, empty="")
    silences = wording.silence_rows(series)
    if silences:
        print_line()
        print_rows("Reasons for silence", ("reason", "times"), silences, empty="")


def cache(shares: Sequence[CacheShare]) -> None:
    """Print the reuse of prompt caches."""
    print_line()
    rows = [(wording.PLACEMENTS.get(row[0], row[0]), *row[1:]) for row in wording.cache_rows(shares)]
    print_rows("Prompt caches", wording.CACHE_COLUMNS, rows, empty=wording.NO_CACHE)


def holdout(found: Holdout) -> None:
    """Sessions with memory and without."""
    print_line()
    if not found["share"] and not found["sessions_without"]:
        print_line(wording.NO_HOLDOUT)
        return
    rows = wording.holdout_rows(found)
    if rows:
        print_rows("With and without memory", wording.HOLDOUT_COLUMNS, rows, empty="")
    print_line(wording.holdout_text(found))


def impact(answer: StoreUse) -> None:
    """Print the use of injected memories."""
    print_line()
    for line in impact_lines(answer):
        print_line(line)


def impact_lines(answer: StoreUse) -> list[str]:
    """Describe the use of injected memories in sentences."""
    found = answer["impact"]
    if not found["shown"]:
        return ["No memory has been injected yet in a session that was learned from."]
    lines = [
        f"Injected {found['shown']} times in {found['sessions']} sessions; used {found['used']} times ({answer['rate']:.0%})."
    ]
    if answer["baseline"] is not None:
        lines.append(
            f"Of {found['control_shown']} that were not handed over {answer['baseline']:.0%} look used all the same."
        )
    lines += [
        f"In {found['before']} cases the conversation already held their content.",
        f"Tokens: {found['tokens_used']} of {found['tokens']} in what was used.",
    ]
    for title, counts in (("by what", found["by_cue"]), ("injected at", found["by_surface"])):
        if counts:
            lines.append(f"  {title}: {', '.join(f'{name} {n}' for name, n in sorted(counts.items()))}")
    return lines


def _number_and_bar(value: int, most: int) -> str:
    return f"{value:>5} {bar(value, most)}".rstrip()


def bar(value: int, most: int, *, width: int = BAR) -> str:
    """`value` of `most` as blocks, to an eighth of a character; the largest is `width` long."""
    eighths = round(value * width * 8 / most) if most else 0
    if value and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
