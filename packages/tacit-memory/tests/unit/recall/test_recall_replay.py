from __future__ import annotations

import samples
from tacit.model.trace import (
    Drop,
    DropCause,
    DropReason,
    SilenceCause,
    SilenceReason,
    StageRecord,
    Trace,
    TracedCandidate,
)
from tacit.recall.finished import chosen_ids, in_shadow, replay


def trace(*, injected: tuple[str, ...] = ("a",), silent: SilenceCause | None = None) -> Trace:
    rows = (("a", 0.6), ("b", 0.4), ("c", 0.35), ("d", 0.3))
    below = {
        name: DropReason(cause=DropCause.BELOW_THRESHOLD, value=value, bound=0.5) for name, value in rows
    }
    drops = (
        Drop(memory_id="b", why=below["b"]),
        Drop(memory_id="c", why=DropReason(cause=DropCause.NOT_VALID)),
        Drop(memory_id="d", why=below["d"]),
    )
    candidates = tuple(
        TracedCandidate(memory_id=name, kind="fact", content=name, scores=(), fused=0.0, relevance=value)
        for name, value in rows
    )
    stages = (
        StageRecord(stage="guard", took_ms=0.0, drops=drops),
        StageRecord(stage="budget", took_ms=0.0, kept=("a",)),
    )
    why = SilenceReason(cause=silent) if silent else None
    return samples.trace(stages=stages, candidates=candidates, injected=injected, why=why, threshold=0.5)


def test_a_lower_threshold_lets_in_what_it_alone_kept_out() -> None:
    again = replay(trace(), threshold=0.3, most=8)
    assert again.after == ("a", "b", "d")  # c is no longer valid, whatever the threshold
    assert again.added == again.unsure == ("b", "d")
    assert replay(trace(), threshold=0.3, most=2).after == ("a", "b")


def test_a_higher_threshold_takes_away() -> None:
    again = replay(trace(), threshold=0.7, most=8)
    assert (again.after, again.gone, again.added) == ((), ("a",), ())


def test_in_shadow_mode_it_says_what_would_have_been() -> None:
    shadowed = trace(injected=(), silent=SilenceCause.SHADOW)
    assert in_shadow(shadowed)
    assert chosen_ids(shadowed) == ("a",)
    assert replay(shadowed, threshold=0.5, most=8).before == ("a",)
    assert chosen_ids(trace(injected=(), silent=SilenceCause.NOT_RELEVANT)) == ()
