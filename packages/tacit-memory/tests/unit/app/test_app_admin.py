"""Numbers for charts by hand, what stays of verdicts, who hears of new traces, and how a session looks turn by turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

import samples
from tacit.app.admin.admin import Verdicts
from tacit.app.admin.recalls import Recalls
from tacit.app.admin.series import (
    DAY_MS,
    HOUR_MS,
    MOST_BUCKETS,
    Charts,
    Fact,
    Use,
    percentile,
    series_of,
    tokens_by_kind,
)
from tacit.app.sessions import TraceFeed
from tacit.app.visibility import Visibility
from tacit.app.wiring import open_engine
from tacit.backends.sqlite import SqliteStore
from tacit.config.home import Home
from tacit.config.overrides import SettingsTarget, set_values
from tacit.config.settings import MOST_TRACES, RetentionSettings
from tacit.errors import InvalidInput, NotFound
from tacit.model.memory import Speaker
from tacit.model.pack import Surface
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace, TracedCandidate
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.state.counted import SessionUsage, Verdict
from tacit.state.registry import USAGE, VERDICTS

KEY = SessionKey(host="h", session_id="s")
MOST_MS = 2**53
NO_USE = Use(shown=0, used=0, rate=None, baseline=None)


def candidate(name: str, kind: str, content: str, relevance: float = 0.5) -> TracedCandidate:
    return TracedCandidate(
        memory_id=name, kind=kind, content=content, scores=(), fused=0.1, relevance=relevance
    )


def trace(name: str = "trc_1", *, at_ms: int = 1000, **more) -> Trace:
    sizes = (("a", "fact", 10), ("b", "rule", 20), ("c", "fact", 30))
    values = {"tokens": 100, "threshold": 0.3, "injected": ("a", "b"), "took_ms": 2.0, **more}
    candidates = tuple(candidate(one, kind, "x" * size) for one, kind, size in sizes)
    return samples.trace(name, at_ms=at_ms, **{"candidates": candidates, **values})


def test_percentiles_are_nearest_rank():
    """Of 1..10: position ceil(0.5 * 10) = 5, ceil(0.95 * 10) = 10; of 1..3: ceil(0.5 * 3) = 2."""
    assert percentile([float(n) for n in range(1, 11)], 0.5) == 5
    assert percentile([float(n) for n in range(1, 11)], 0.95) == 10
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2
    assert percentile([7.0], 0.99) == 7
    assert percentile([], 0.5) == 0


def test_tokens_go_to_kinds_by_the_length_of_words_and_none_is_lost():
    """100 tokens, fact 10 of 30 characters, rule 20: 33 and 66; the one that is left goes to the longer."""
    assert tokens_by_kind(trace()) == {"fact": 33, "rule": 67}
    assert tokens_by_kind(trace(injected=())) == {}
    assert tokens_by_kind(trace(tokens=0)) == {}
    assert sum(tokens_by_kind(trace(injected=("a", "b", "c"), tokens=7)).values()) == 7


def test_buckets_by_hand():
    facts = [
        Fact(at_ms=0, surface="prompt", took_ms=1.0, injected=2, silence="", tokens={"fact": 5}),
        Fact(at_ms=HOUR_MS - 1, surface="prompt", took_ms=3.0, injected=0, silence="nothing"),
        Fact(
            at_ms=2 * HOUR_MS,
            surface="start",
            took_ms=9.0,
            injected=1,
            silence="",
            tokens={"rule": 2, "fact": 1},
        ),
        Fact(at_ms=3 * HOUR_MS, surface="start", took_ms=9.0, injected=1, silence=""),  # after the end
    ]
    said = [
        Verdict(trace_id="x", memory_id=str(n), useful=n < 3, injected=n != 0, surface="prompt", relevance=0.5,
                threshold=0.3, trace_at_ms=5, at_ms=99)
        for n in range(4)
    ]  # fmt: skip
    found = series_of(
        facts, said, since_ms=10, until_ms=3 * HOUR_MS, bucket_ms=HOUR_MS, used=NO_USE, complete=True
    )
    assert [one.at_ms for one in found.buckets] == [0, HOUR_MS, 2 * HOUR_MS]
    first, empty, last = found.buckets
    assert (first.injections, first.silences, first.memories, first.p50_ms, first.p95_ms) == (
        1,
        1,
        2,
        1.0,
        3.0,
    )
    assert (first.useful, first.wrong, first.precision) == (2, 1, round(2 / 3, 4))
    assert (empty.injections, empty.silences, empty.precision, empty.p50_ms) == (0, 0, None, 0.0)
    assert last.tokens == {"fact": 1, "rule": 2}
    assert (found.recalls, dict(found.kinds)) == (3, {"fact": 6, "rule": 2})
    assert [(one.surface, one.count, one.p99_ms) for one in found.latency] == [
        ("prompt", 2, 3.0),
        ("start", 1, 9.0),
    ]
    assert [(one.reason, one.count) for one in found.silences] == [("nothing", 1)]
    assert (last.injections, last.silences) == (0, 0)  # a start pack is counted with its surface alone
    assert [
        (one.surface, one.recalls, one.injections, one.memories, one.tokens) for one in found.surfaces
    ] == [
        ("prompt", 2, 1, 2, 5),
        ("start", 1, 1, 1, 3),
    ]
    assert (found.feedback.missed, found.feedback.precision) == (1, round(2 / 3, 4))


def test_a_long_time_is_cut_to_its_end():
    found = series_of(
        [], [], since_ms=0, until_ms=10_000 * DAY_MS, bucket_ms=DAY_MS, used=NO_USE, complete=False
    )
    assert len(found.buckets) == MOST_BUCKETS
    assert found.buckets[-1].at_ms == 9_999 * DAY_MS
    assert (
        series_of([], [], since_ms=5, until_ms=0, bucket_ms=DAY_MS, used=NO_USE, complete=False).buckets == ()
    )


def test_charts_read_new_traces_alone_and_know_what_is_gone():
    class Counting(SqliteStore):
        asked = read = 0

        def find_traces(self, where, *, limit):
            found = super().find_traces(where, limit=limit)
            self.asked += 1
            self.read += len(found)
            return found

    store = Counting.temporary(clock=FakeClock(now_ms=0))
    store.save_session(SessionState(key=KEY), traces=[trace(f"trc_{n:04}", at_ms=n) for n in range(-30, 200)])
    charts = Charts(store, retention=RetentionSettings)
    when = {"since_ms": 0, "until_ms": DAY_MS, "bucket_ms": DAY_MS}
    assert charts.series(**when).recalls == 200
    assert store.read < 230, "what lies before the time that is asked for is not read"
    whole, store.asked = store.asked, 0
    store.save_session(SessionState(key=KEY), traces=[trace("trc_new", at_ms=500)])
    assert charts.series(**when).recalls == 201
    assert store.asked < whole
    assert charts.series(**when).complete
    assert charts.series(since_ms=-DAY_MS, until_ms=DAY_MS, bucket_ms=DAY_MS).recalls == 231
    store.save_session(
        SessionState(key=KEY), traces=[trace(f"trc_more{n:04}", at_ms=n) for n in range(MOST_TRACES)]
    )
    assert not charts.series(since_ms=-DAY_MS, until_ms=DAY_MS, bucket_ms=DAY_MS).complete


def test_the_last_verdict_holds_and_so_many_are_kept():
    store = SqliteStore.temporary(clock=FakeClock(now_ms=0))
    verdicts = Verdicts(store)
    said, new = verdicts.record(trace(), (), useful=True, at_ms=5)
    assert [one.memory_id for one in said] == ["a", "b"]
    assert new == said
    said, new = verdicts.record(trace(), ("b", "c", "b"), useful=True, at_ms=6)
    assert [(one.memory_id, one.injected) for one in said] == [("b", True), ("c", False)]
    assert [one.memory_id for one in new] == ["c"]
    verdicts.record(trace(), ("a",), useful=False, at_ms=7)
    assert {one.memory_id: one.useful for one in verdicts.of("trc_1")} == {"a": False, "b": True, "c": True}
    assert verdicts.of("trc_2") == ()
    many = tuple(replace(verdicts.all()[0], trace_id=f"trc_{n}") for n in range(VERDICTS.most))
    VERDICTS.write(store, many)
    verdicts.record(trace("trc_last"), ("a",), useful=True, at_ms=8)
    kept = VERDICTS.read(store)
    assert (len(kept), kept[-1].trace_id, kept[0].trace_id) == (VERDICTS.most, "trc_last", "trc_1")


@pytest.mark.parametrize(("names", "injected"), [(("nobody",), ("a",)), ((), ())])
def test_a_verdict_names_what_had_a_part(names, injected):
    verdicts = Verdicts(SqliteStore.temporary(clock=FakeClock(now_ms=0)))
    with pytest.raises(InvalidInput):
        verdicts.record(trace(injected=injected), names, useful=True, at_ms=1)
    assert verdicts.all() == ()


def test_who_listens_hears_and_who_left_does_not():
    feed, heard = TraceFeed(), []
    leave = feed.subscribe(heard.append)
    feed.publish([trace("trc_1"), trace("trc_2")])
    leave()
    leave()
    feed.publish([trace("trc_3")])
    assert [one.id for one in heard] == ["trc_1", "trc_2"]


def test_a_session_turn_by_turn_over_a_compaction():
    def exposed(name: str, *, turn: int, epoch: int, at_ms: int) -> Exposure:
        return Exposure(
            memory_id=name, content_hash="h", epoch=epoch, turn=turn, surface=Surface.PROMPT, tokens=4, at_ms=at_ms
        )  # fmt: skip

    store = SqliteStore.temporary(clock=FakeClock(now_ms=0))
    ledger = (
        exposed("a", turn=1, epoch=0, at_ms=10),
        exposed("b", turn=1, epoch=1, at_ms=30),
        replace(exposed("rule", turn=1, epoch=0, at_ms=5), surface=Surface.HOST),
    )
    traces = [trace("trc_1", at_ms=9), trace("trc_2", at_ms=29, epoch=1), trace("trc_0", at_ms=8)]
    store.save_session(SessionState(key=KEY, ledger=ledger, turn=1, epoch=1), traces=traces)
    USAGE.write(store, SessionUsage(used=("a",), counted=("a", "b")), SessionKey(host="h", session_id="s"))
    settled = []
    users = Visibility(store, speaker=Speaker.USER)
    view = Recalls(store, settle=lambda: settled.append(1)).session(KEY, visibility=users)
    assert settled
    assert (view.session.exposures, view.session.tokens) == (2, 8)  # what the host loaded is not ours
    assert [(one.epoch, one.turn, [r.id for r in one.recalls]) for one in view.turns] == [
        (0, 1, ["trc_0", "trc_1"]),
        (1, 1, ["trc_2"]),
    ]
    assert [(e.memory_id, e.used) for one in view.turns for e in one.exposures if e.surface == "prompt"] == [
        ("a", True),
        ("b", False),
    ]
    with pytest.raises(NotFound):
        Recalls(store, settle=lambda: None).session(
            SessionKey(host="h", session_id="nobody"), visibility=users
        )


def test_charts_are_marked_with_settings_that_changed_whoever_changed_them(tmp_path):
    engine = open_engine(tmp_path, embedder=FakeEmbedder())
    try:
        assert engine.admin.marks.between(0, MOST_MS) == ()
        set_values(Home(tmp_path), SettingsTarget(), {"recall.level": "eager"})  # as `tacit config set` does
        engine._parts.settings.look_again()
        (mark,) = engine.admin.marks.between(0, MOST_MS)
        assert (mark.what, "recall.level" in mark.about) == ("settings", True)
        assert engine.admin.marks.between(0, MOST_MS) == (mark,)
        assert engine.admin.marks.between(mark.at_ms + 1, MOST_MS) == ()
    finally:
        engine.close()
