"""The cache meter: how much of each request a prompt cache can keep, and how much it did. In: counts that hosts tell. Out: shares.

Only the middleware sees whole requests, and tells how much of each had stood at the beginning of the request before. Claude Code and
OpenCode put a request together themselves; of theirs it is known what the API said, which stands in their transcripts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tacit.frozen import frozen
from tacit.model.signal import RequestUsage

DAY_MS = 86_400_000
_FIELDS = ("requests", "before", "kept", "before_bare", "kept_bare", "input_tokens", "cached_tokens")
Days = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Day since the epoch -> placement -> the sums of `_FIELDS`."""


@frozen
class CacheShare:
    """How much of its requests a prompt cache could keep, for one placement of our blocks or one host.

    Attributes:
        placement: where the blocks stood (see `RequestUsage`); "" if the counts are those of a host.
        host: the host whose transcripts were counted, else "". Then `share` and `bare` are 0: nothing is known of them.
        requests: how many were counted.
        share: of the bytes of all requests, the part (0-1) with which the next request began unchanged.
        bare: the same without our blocks; the difference is what memory costs.
        input_tokens, cached_tokens: input tokens, and those of them that came from the provider's cache, as its API counted them; 0 of 0 = it did not say.
    """

    placement: str
    host: str = ""
    requests: int
    share: float
    bare: float = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0


def counted(days: Days, sent: Sequence[RequestUsage], *, at_ms: int) -> Days:
    """Return a copy of `days` with the counts `sent` added to the day of `at_ms` (UTC); sorted by day."""
    day = str(at_ms // DAY_MS)
    today = dict(days.get(day, {}))
    for usage in sent:
        row = today.get(usage.placement, (0,) * len(_FIELDS))
        added = (
            usage.requests,
            usage.before,
            usage.kept,
            usage.before_bare,
            usage.kept_bare,
            usage.input_tokens,
            usage.cached_tokens,
        )
        today[usage.placement] = tuple(old + new for old, new in zip(row, added, strict=True))
    return dict(sorted({**days, day: today}.items(), key=lambda pair: int(pair[0])))


def counted_requests(days: Days, host: str, requests: Iterable[tuple[int, int, int]], *, now_ms: int) -> Days:
    """Return a copy of `days` with requests of a host added.

    `requests` = for each (when it was sent in milliseconds since the epoch, 0 = `now_ms`; input tokens; how many of these came from the cache).
    """
    for at_ms, read, cached in requests:
        usage = RequestUsage(placement=host, requests=1, input_tokens=read, cached_tokens=cached)
        days = counted(days, (usage,), at_ms=at_ms or now_ms)
    return days


def shares_of_hosts(days: Days, *, since_ms: int, until_ms: int) -> tuple[CacheShare, ...]:
    """Return one entry for each host in `days` (as `counted_requests` makes them), over the whole UTC days from `since_ms` to before `until_ms`."""
    cache_shares = shares(days, since_ms=since_ms, until_ms=until_ms)
    return tuple(replace(share, placement="", host=share.placement) for share in cache_shares)


def shares(days: Days, *, since_ms: int, until_ms: int) -> tuple[CacheShare, ...]:
    """Return one entry for each placement in `days`, sorted by name, over the whole UTC days from `since_ms` to before `until_ms`."""
    sums: dict[str, tuple[int, ...]] = {}
    for day, placements in days.items():
        if since_ms // DAY_MS <= int(day) <= (until_ms - 1) // DAY_MS:
            for name, row in placements.items():
                sums[name] = tuple(
                    a + b for a, b in zip(sums.get(name, (0,) * len(_FIELDS)), row, strict=True)
                )
    return tuple(_share(name, row) for name, row in sorted(sums.items()))


def _share(name: str, row: Sequence[int]) -> CacheShare:
    requests, before, unchanged, before_bare, kept_bare, input_tokens, cached = row
    return CacheShare(
        placement=name,
        requests=requests,
        share=round(unchanged / before, 4) if before else 0.0,
        bare=round(kept_bare / before_bare, 4) if before_bare else 0.0,
        input_tokens=input_tokens,
        cached_tokens=cached,
    )
