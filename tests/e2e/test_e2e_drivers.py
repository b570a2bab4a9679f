"""The drivers and the stub model prove themselves with a hook and a plugin that know nothing of Tacit."""

from __future__ import annotations

import pytest

from e2e.drivers.prefix import compare_prefixes
from tacit.hosts.probe.stub_model import StubRequest

pytestmark = pytest.mark.e2e


def test_prefix_comparison_sees_every_change():
    def request(number, *texts):
        messages = [{"role": "user", "content": text} for text in texts]
        return StubRequest(
            number=number,
            at_ms=0,
            method="POST",
            path="/v1/messages",
            headers={},
            body={"messages": messages},
        )

    kept = compare_prefixes([request(1, "a"), request(2, "a", "b"), request(3, "a", "b", "c")])
    assert (kept.kept_share, kept.kept_bytes_share, kept.breaks) == (1.0, 1.0, ())
    broken = compare_prefixes(
        [request(1, "a", "b"), request(2, "a", "changed", "c"), request(3, "a", "changed", "c", "d")]
    )
    assert broken.kept_share == 0.5
    assert 0.5 < broken.kept_bytes_share < 1.0
    assert broken.breaks == ("request 2: message 1 of 2 changed",)
