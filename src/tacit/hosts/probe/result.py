"""The result of a probe. In: a finished run and the requests that the stub model recorded. Out: values with advice.

Never runs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.hosts.probe.process import Finished
from tacit.hosts.probe.stub_model import StubModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Whether injected text reached the model request of a real host.

    Attributes:
        ok: the nonce was in a request of the agent.
        where: JSON paths of the nonce in that request, empty when it was not there.
        took_ms: the whole run of the host.
        advice: one or two sentences that say what was seen and what to do; empty when `ok`.
        requests: how many model requests the host made.
        output_end: the end of what the host printed, for the report of a failure.
    """

    ok: bool
    where: tuple[str, ...]
    took_ms: float
    advice: str = ""
    requests: int = 0
    output_end: str = ""


def judge(finished: Finished, stub: StubModel, *, nonce: str, host: str) -> ProbeResult:
    """Turn one finished run of a host into a result with advice."""
    requests = stub.agent_requests
    where = next((tuple(found) for r in requests if (found := r.find(re.escape(nonce)))), ())
    end = (finished.out + finished.err)[-2000:]
    if where:
        return ProbeResult(ok=True, where=where, took_ms=finished.took_ms, requests=len(requests))
    if finished.code is None:
        advice = f"{host} did not end in time. Run it once by hand to see what it waits for."
    elif not requests:
        advice = (
            f"{host} ended with code {finished.code} without asking the model. "
            "Read its output below; the client itself does not start."
        )
    else:
        advice = (
            f"{host} asked the model, but without the memory. The hooks did not run or found nothing: "
            "see `tacit logs` and `tacit status`, and whether the host's settings disable hooks or plugins."
        )
    return ProbeResult(
        ok=False, where=(), took_ms=finished.took_ms, advice=advice, requests=len(requests), output_end=end
    )


def not_run(advice: str) -> ProbeResult:
    """The result of a probe that could not start: something is not installed."""
    return ProbeResult(ok=False, where=(), took_ms=0.0, advice=advice)
