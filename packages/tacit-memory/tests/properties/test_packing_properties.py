"""Shares, orders and layouts: whatever they are, no pack costs more than its budget, and nothing comes twice."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samples import NOW_MS, PROJECT, candidate, memory, query
from tacit.backends.sqlite import SqliteStore
from tacit.config.settings import RecallSettings
from tacit.model.changes import Add
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import ExactCounter
from tacit.recall.budget import ORDERS, Allowance, pack
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Context, Tools

EXACT = ExactCounter()
KINDS = ("preference", "decision", "error_pattern", "todo")
SLOTS = (*KINDS, "project", "high", "medium", "low")
ITEMS = st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 1), st.integers(1, 60)), max_size=20)
WORDS = st.sampled_from(
    "Use the factory of src/billing/invoice.py before a release; never tabs. 8080 it's `make lint` ünïcode 漢字 "
    "E0432 --no-verify HTTPServer user_id https://example.org/x?y=1 … — ok. Then:".split()
)
CONTENT = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
STORED = st.lists(st.tuples(st.sampled_from(KINDS), CONTENT), max_size=25)
SHARES = st.dictionaries(st.sampled_from(SLOTS), st.floats(0, 1), max_size=5)


@given(
    ITEMS,
    SHARES,
    st.tuples(st.integers(0, 300), st.integers(0, 12)),
    st.sampled_from(sorted(ORDERS)),
)
def test_a_pack_keeps_budget_and_number(items, shares, limits, order):
    tokens, most = limits
    candidates = [
        candidate(" ".join(["word"] * size), relevance=value, id=f"mem_{i:02}", kind=kind)
        for i, (kind, value, size) in enumerate(items)
    ]
    allowance = Allowance(tokens=tokens, frame_tokens=5, max_items=most, order=order, shares=shares)
    done = pack(
        candidates, surface=Surface.PROMPT, allowance=allowance, cost=lambda _, text: len(text.split()) + 1
    )
    ids = [item.candidate.memory.id for item in done.kept.items]
    assert len(ids) == len(set(ids)) <= most
    assert done.kept.tokens <= max(0, tokens - 5)
    assert set(ids) | {drop.memory_id for drop in done.drops} == {c.memory.id for c in candidates}


def test_shares_are_kept_for_their_slots_and_handed_on():
    # 100 tokens, 60 of them for decisions; ten rules of 10 tokens score higher than three decisions of 10
    candidates = [
        candidate(" ".join(["rule"] * 9), relevance=0.9, id=f"r{n}", kind="preference") for n in range(10)
    ]
    candidates += [
        candidate(" ".join(["way"] * 9), relevance=0.3, id=f"d{n}", kind="decision") for n in range(3)
    ]

    def packed(**given):
        allowance = Allowance(tokens=100, frame_tokens=0, max_items=50, order="value", **given)
        done = pack(
            candidates, surface=Surface.START, allowance=allowance, cost=lambda _, text: len(text.split()) + 1
        )
        return [item.candidate.memory.id[0] for item in done.kept.items]

    assert packed() == ["r"] * 10
    assert packed(shares={"decision": 0.6}) == ["r"] * 7 + ["d"] * 3  # 30 of the 60 are handed on


@pytest.mark.parametrize("preset", ["focused", "typed", "ambient"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(STORED, st.integers(0, 600), st.booleans())
def test_every_layout_keeps_the_budget_as_counted(preset, stored, budget, counted):
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    for i, (kind, text) in enumerate(stored):
        tokens = EXACT.count(text) if counted else 0
        store.apply([Add(memory=memory(text, id=f"mem_{i:02}", scope=PROJECT, kind=kind, tokens=tokens))])
    pipeline = RecallPipeline(Tools(store=store, embedder=FakeEmbedder()), tokens=EXACT, kinds=KindRegistry())
    asked = query("", surface=Surface.START, budget_tokens=budget)
    done, _ = pipeline.run(
        asked, preset=preset_of(preset), settings=RecallSettings(), context=Context(), trace_id="t"
    )
    assert EXACT.count(done.block.text) <= budget
    assert done.block.tokens <= budget
