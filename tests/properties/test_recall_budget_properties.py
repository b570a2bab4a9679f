"""No block costs more than its budget as counted by o200k, whatever the memories say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import NOW_MS, PROJECT, memory, query
from tacit.backends.memory import InMemoryStore
from tacit.config.settings import RecallSettings
from tacit.model.changes import Add
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import ExactCounter
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Context, Tools

EXACT = ExactCounter()
WORDS = st.sampled_from(
    "Use the factory of src/billing/invoice.py before a release; never tabs. 8080 it's `make lint` ünïcode 漢字 "
    "E0432 --no-verify HTTPServer user_id https://example.org/x?y=1 … — ok. Then:".split()
)
CONTENT = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)


@pytest.fixture(scope="module")
def executor():
    with ThreadPoolExecutor(1) as pool:
        yield pool


@given(st.lists(CONTENT, max_size=25), st.integers(0, 600), st.booleans())
def test_a_start_block_never_costs_more_than_its_budget(executor, contents, budget, counted):
    store = InMemoryStore(clock=FakeClock(now_ms=NOW_MS))
    store.apply(
        [
            Add(
                memory=memory(
                    text, id=f"mem_{i:02}", scope=PROJECT, tokens=EXACT.count(text) if counted else 0
                )
            )
            for i, text in enumerate(contents)
        ]
    )
    pipeline = RecallPipeline(
        Tools(store=store, embedder=FakeEmbedder(), executor=executor),
        tokens=EXACT,
        kinds=KindRegistry(),
    )
    asked = query("", surface=Surface.START, budget_tokens=budget)
    done, _ = pipeline.run(asked, settings=RecallSettings(), context=Context(), trace_id="t")
    assert EXACT.count(done.block.text) <= budget
    assert done.block.tokens <= budget
