from __future__ import annotations

from dataclasses import replace

from tacit.model.pack import Surface
from tacit.model.situation import Situation
from tacit.model.trace import Drop, DropCause, DropReason, SilenceCause, StageRecord, Trace, TracedCandidate
from tacit.recall.replay import in_shadow, replay, would_have


def trace(*, injected: tuple[str, ...] = ("a",), silence: str = "") -> Trace:
    rows = (("a", 0.6), ("b", 0.4), ("c", 0.35), ("d", 0.3))
    return Trace(
        id="trc_1",
        session="plain/s",
        turn=1,
        epoch=0,
        surface=Surface.PROMPT,
        at_ms=0,
        preset="focused",
        text="commit",
        situation=Situation(),
        stages=(
            StageRecord(
                stage="guard",
                took_ms=0.0,
                drops=(
                    Drop(
                        memory_id="b", why=DropReason(cause=DropCause.BELOW_THRESHOLD, value=0.4, bound=0.5)
                    ),
                    Drop(memory_id="c", why=DropReason(cause=DropCause.NOT_VALID)),
                    Drop(
                        memory_id="d", why=DropReason(cause=DropCause.BELOW_THRESHOLD, value=0.3, bound=0.5)
                    ),
                ),
            ),
            StageRecord(stage="budget", took_ms=0.0, kept=("a",)),
        ),
        candidates=tuple(
            TracedCandidate(memory_id=name, kind="fact", content=name, scores=(), fused=0.0, relevance=value)
            for name, value in rows
        ),
        injected=injected,
        silence=silence,
        threshold=0.5,
    )


def test_a_lower_threshold_lets_in_what_it_alone_kept_out() -> None:
    again = replay(trace(), threshold=0.3, most=8)
    assert again.after == ("a", "b", "d")  # c is no longer valid, whatever the threshold
    assert again.added == again.unsure == ("b", "d")
    assert replay(trace(), threshold=0.3, most=2).after == ("a", "b")


def test_a_higher_threshold_takes_away() -> None:
    again = replay(trace(), threshold=0.7, most=8)
    assert (again.after, again.gone, again.added) == ((), ("a",), ())


def test_in_shadow_mode_it_says_what_would_have_been() -> None:
    shadowed = replace(trace(injected=()), cause=SilenceCause.SHADOW)
    assert in_shadow(shadowed)
    assert would_have(shadowed) == ("a",)
    assert replay(shadowed, threshold=0.5, most=8).before == ("a",)
    assert would_have(trace(injected=(), silence="no candidate passed the gate")) == ()
