"""How much of each request stays as it was in the one before: what a prompt cache can keep.

In: the recorded requests of one session, in order. Out: the share of requests that keep their stable part.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacit.hosts.probe.stub_model import StubRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixReport:
    """What came again byte for byte.

    Attributes:
        kept_share: requests that begin with everything the request before them held.
        kept_bytes_share: of all bytes sent before, those that came again in the unbroken prefix.
        breaks: one line per request that broke it.
    """

    kept_share: float
    kept_bytes_share: float
    breaks: tuple[str, ...]


def compare_prefixes(requests: Sequence[StubRequest]) -> PrefixReport:
    """Compare every request with the one before it.

    All messages of the earlier request, its newest user message included, have to come again at the same place: then
    a cache that held them serves them.
    """
    kept = stable_bytes = kept_bytes = pairs = 0
    breaks: list[str] = []
    for before, after in pairwise(requests):
        stable = [_bytes(message) for message in before.messages]
        now = [_bytes(message) for message in after.messages]
        same = _common(stable, now)
        pairs += 1
        stable_bytes += sum(map(len, stable))
        kept_bytes += sum(map(len, stable[:same]))
        if same == len(stable):
            kept += 1
        else:
            breaks.append(f"request {after.number}: message {same} of {len(stable)} changed")
    return PrefixReport(
        kept_share=kept / pairs if pairs else 1.0,
        kept_bytes_share=kept_bytes / stable_bytes if stable_bytes else 1.0,
        breaks=tuple(breaks),
    )


def _common(first: Sequence[bytes], second: Sequence[bytes]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _bytes(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
