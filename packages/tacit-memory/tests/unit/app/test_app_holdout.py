"""Sessions with memory and without it, and what prompt caches can keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import Tacit
from tacit.app.stats import ENOUGH, failed_before, holdout_of, merged
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import RequestUsage
from tacit.model.trace import SilenceCause
from tacit.session.cache_meter import (
    counted,
    counted_requests,
    shares,
    shares_of_hosts,
)
from tacit.session.transitions import held_out, holdout_position
from tacit.state.counted import SessionCounts
from tacit.state.registry import CACHE_DAYS, HOLDOUT_ERRORS, HOLDOUT_SESSIONS

DAY = 86_400_000
SHARE = 0.5


def name_held(without: bool) -> str:
    return next(
        name
        for name in (f"s{number}" for number in range(100))
        if (holdout_position(SessionKey(host="library", session_id=name)) < SHARE) is without
    )


def state(name: str, *, parent: str = "") -> SessionState:
    of = SessionKey(host="h", session_id=parent) if parent else None
    return SessionState(key=SessionKey(host="h", session_id=name), parent=of)


def test_a_session_is_held_out_by_its_name_alone() -> None:
    names = [f"s{number}" for number in range(2000)]
    held = [name for name in names if held_out(state(name), 0.2)]
    assert 340 < len(held) < 460  # 400 expected, 3 standard deviations are 54
    assert [name for name in names if held_out(state(name), 0.2)] == held
    assert set(held) <= {name for name in names if held_out(state(name), 0.4)}
    assert not any(held_out(state(name), 0.0) for name in names)
    for name in held[:20]:
        assert held_out(state(f"{name}#agent-1"), 0.2)  # a subagent of the host's session
        assert held_out(state("another", parent=name), 0.2)


def test_a_contrast_by_hand() -> None:
    having = [SessionCounts(without=False, at_ms=1, turns=4, repeated=1, tokens=100) for _ in range(ENOUGH)]
    lacking = [SessionCounts(without=True, at_ms=1, turns=6, repeated=3, tokens=100) for _ in range(ENOUGH)]
    found = holdout_of([*having, *lacking], share=0.3)
    assert (found.sessions_with, found.sessions_without, found.enough) == (20, 20, True)
    by_name = {one.measure: one for one in found.contrasts}
    repeated = by_name["repeated failures a session"]
    # Every resample of equal values has the same mean: the interval is the difference itself.
    assert (repeated.with_memory, repeated.without, repeated.difference) == (1.0, 3.0, -2.0)
    assert (repeated.low, repeated.high, repeated.clear) == (-2.0, -2.0, True)
    assert by_name["turns a session"].difference == -2.0
    assert not by_name["tokens a session"].clear


def test_few_sessions_conclude_nothing() -> None:
    found = holdout_of(
        [SessionCounts(without=False, at_ms=1, turns=1), SessionCounts(without=True, at_ms=1, turns=9)],
        share=0.5,
    )
    assert not found.enough
    assert not any(one.clear for one in found.contrasts)
    assert holdout_of([SessionCounts(without=False, at_ms=1, turns=1)], share=0.5).contrasts == ()


def test_an_interval_holds_the_difference_and_is_the_same_each_time() -> None:
    having = [SessionCounts(without=False, at_ms=1, turns=n % 7) for n in range(60)]
    lacking = [SessionCounts(without=True, at_ms=1, turns=n % 5) for n in range(40)]
    first = holdout_of([*having, *lacking], share=0.4)
    assert first == holdout_of([*having, *lacking], share=0.4)
    (turns,) = [one for one in first.contrasts if one.measure == "turns a session"]
    assert turns.low < turns.difference < turns.high


def test_an_error_is_repeated_in_another_session_or_turn() -> None:
    again, seen = failed_before("E1", session="a", turn=1, seen={})
    assert not again
    assert failed_before("E1", session="a", turn=1, seen=seen) == (False, seen)  # the same attempt
    assert failed_before("E1", session="a", turn=2, seen=seen)[0]
    assert failed_before("E1", session="b", turn=1, seen=seen)[0]
    assert not failed_before("E2", session="b", turn=1, seen=seen)[0]
    assert HOLDOUT_ERRORS.parse(HOLDOUT_ERRORS.text(seen)) == seen


def test_records_come_back_as_they_were_kept() -> None:
    many = {
        f"s{n}": SessionCounts(without=n % 2 == 0, at_ms=n, turns=n, tokens=5)
        for n in range(HOLDOUT_SESSIONS.most + 5)
    }
    kept = HOLDOUT_SESSIONS.parse(HOLDOUT_SESSIONS.text(merged({}, many)))
    assert kept == {name: one for name, one in many.items() if one.at_ms >= 5}
    for broken in (None, "", "[", "7", '{"a": 3, "b": ["x"]}'):
        assert HOLDOUT_SESSIONS.parse(broken) is None
        assert CACHE_DAYS.parse(broken) is None


def test_the_cache_meter_by_hand() -> None:
    first = RequestUsage(
        placement="default", requests=2, before=1000, kept=900, before_bare=800, kept_bare=800
    )
    second = RequestUsage(
        placement="default", requests=1, before=500, kept=450, input_tokens=100, cached_tokens=60
    )
    days = counted({}, [first], at_ms=3 * DAY)
    days = CACHE_DAYS.parse(CACHE_DAYS.text(counted(days, [second], at_ms=4 * DAY)))
    (both,) = shares(days, since_ms=0, until_ms=5 * DAY)
    assert (both.requests, both.share, both.bare) == (3, 0.9, 1.0)  # 1350 of 1500, 800 of 800
    assert (both.input_tokens, both.cached_tokens) == (100, 60)
    (one,) = shares(days, since_ms=4 * DAY, until_ms=5 * DAY)
    assert (one.requests, one.share) == (1, 0.9)
    assert shares(days, since_ms=5 * DAY, until_ms=6 * DAY) == ()


def test_the_requests_of_a_host_by_hand() -> None:
    told = [(3 * DAY, 100, 0), (3 * DAY + 5, 150, 90), (0, 50, 50)]  # the last does not say when
    days = CACHE_DAYS.parse(CACHE_DAYS.text(counted_requests({}, "opencode", told, now_ms=4 * DAY)))
    (one,) = shares_of_hosts(days, since_ms=3 * DAY, until_ms=4 * DAY)
    assert (one.host, one.placement, one.requests, one.input_tokens, one.cached_tokens) == (
        "opencode",
        "",
        2,
        250,
        90,
    )
    (both,) = shares_of_hosts(days, since_ms=0, until_ms=5 * DAY)
    assert (both.requests, both.input_tokens, both.cached_tokens, both.share) == (3, 300, 140, 0.0)


@pytest.mark.slow
def test_a_held_out_session_gets_nothing_and_both_are_counted(tmp_path: Path) -> None:
    settings = {
        "embedder": {"provider": "fake"},
        "recall": {"deadline_ms": 10_000, "holdout": SHARE, "thresholds": {"prompt": 0.0}},
    }
    with Tacit.open(tmp_path / "home", cwd=tmp_path, settings=settings) as memory:
        memory.remember("Run make lint before every commit.", when="commit")
        for without in (False, True):
            session = memory.session(name_held(without), deadline_ms=10_000)
            talk: list[dict[str, object]] = [{"role": "user", "content": "Please commit the billing module."}]
            ready = session.prepare(talk)
            assert bool(ready.system) is not without
            call = {
                "id": "c1",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command": "make lint"}'},
            }
            talk += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": "c1", "content": "Error: ruff is not installed"}]  # fmt: skip
            session.prepare(talk)
            session.finish("It failed.", messages=talk)
        memory.flush()
        now = 1 << 62
        found = memory.engine.holdout.holdout(since_ms=0, until_ms=now, share=SHARE)
        assert (found.sessions_with, found.sessions_without, found.enough) == (1, 1, False)
        by_name = {one.measure: one for one in found.contrasts}
        assert by_name["turns a session"].with_memory == by_name["turns a session"].without == 1.0
        assert by_name["failures a session"].with_memory == 1.0
        repeated = by_name["repeated failures a session"]
        assert (repeated.with_memory, repeated.without) == (
            0.0,
            1.0,
        )  # the second session met the error of the first
        causes = [one.cause for one in memory.engine.why(limit=20)]
        assert SilenceCause.COMPARISON in causes


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_the_share_has_bounds(share: float) -> None:
    from tacit.config.settings import RecallSettings

    assert RecallSettings(holdout=share).holdout == share
    with pytest.raises(ValueError, match="holdout"):
        RecallSettings(holdout=1.0)
