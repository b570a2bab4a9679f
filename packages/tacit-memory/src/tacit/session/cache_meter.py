"""The cache meter: how much of each request a prompt cache can keep, and how much it did. In: counts that hosts tell. Out: shares.

Only the middleware sees whole requests, and tells how much of each had stood at the beginning of the request before. Claude Code and
OpenCode put a request together themselves; of theirs it is known what the API said, which stands in their transcripts. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.model.signal import RequestUsage

DAY_MS = 86_400_000
_FIELDS = ("requests", "before", "kept", "before_bare", "kept_bare", "input_tokens", "cached_tokens")
Days = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Day since the epoch -> placement -> the sums of `_FIELDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheShare:
    """How much of a placement's requests a prompt cache could keep: `share` (0-1) of each request that began the next one unchanged.

    `bare` = the same share of the requests as the program wrote them: what memory costs is the difference. `cached_tokens` of
    `input_tokens` came from the provider's cache, as its API counted them; 0 of 0 = it did not say. With a `host`, the counts of
    its transcripts: there is no placement and nothing is known of the shares.
    """

    placement: str
    host: str = ""
    requests: int
    share: float
    bare: float = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0


def counted(days: Days, sent: Sequence[RequestUsage], *, at_ms: int) -> Days:
    """Return `days` with the counts `sent` added to the day of `at_ms`; sorted by day."""
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
    """Return `days` with requests of a host added, each as (milliseconds since the epoch, input tokens, of these from the cache).

    A time of 0 = `now_ms`.
    """
    for at_ms, read, cached in requests:
        usage = RequestUsage(placement=host, requests=1, input_tokens=read, cached_tokens=cached)
        days = counted(days, (usage,), at_ms=at_ms or now_ms)
    return days


def shares_of_hosts(days: Days, *, since_ms: int, until_ms: int) -> tuple[CacheShare, ...]:
    """Return one entry for each host with its sums in that time (whole days, UTC); `days` as `counted_requests` makes them."""
    cache_shares = shares(days, since_ms=since_ms, until_ms=until_ms)
    return tuple(replace(share, placement="", host=share.placement) for share in cache_shares)


def shares(days: Days, *, since_ms: int, until_ms: int) -> tuple[CacheShare, ...]:
    """Return one entry for each placement with its shares in that time (whole days, UTC)."""
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
