"""A trace tells the truth about time: it begins when the signal arrives, and every stage has its share."""

from __future__ import annotations

import random

import pytest

from tacit.model.pack import Surface
from tacit.providers.embedding import FakeEmbedder

EMBEDDING_MS = 7.0


class SlowEmbedder(FakeEmbedder):
    """Takes its time on the clock of the engine."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.calls = clock, 0

    def embed(self, texts):
        self.calls += 1
        self.clock.advance(EMBEDDING_MS)
        return super().embed(texts)


@pytest.fixture
def embedder(clock):
    return SlowEmbedder(clock)


@pytest.fixture
def engine(make_engine, embedder):
    return make_engine(
        embedder, recall={"budgets": {"start": 300}}
    )  # so that most rows of a start pack do not fit


@pytest.fixture
def hook(engine, place):
    def send(event, **fields):
        payload = {"session_id": "s1", "cwd": str(place), "hook_event_name": event, **fields}
        engine.hook("claude-code", payload, deadline_ms=60_000)

    return send


def remember_rules(engine, count):
    """Store `count` rules that have no word in common, so that none ends another."""
    chance = random.Random(7)
    for _ in range(count):
        words = ["".join(chance.choices("bcdfghklmnprstvw" + "aeiou" * 4, k=9)) for _ in range(5)]
        engine.remember(f"Never {' '.join(words)}.", kind="guideline")


def newest(engine, surface):
    return next(trace for trace in engine.why(limit=20) if trace.surface is surface)


def test_the_times_of_the_stages_add_up_to_the_whole(engine, hook):
    engine.remember("Run `make lint` before every commit.", cwd="", when="commit")
    hook("SessionStart", source="startup")
    hook("UserPromptSubmit", prompt="please commit the parser now")
    for surface in (Surface.START, Surface.PROMPT):
        trace = newest(engine, surface)
        assert [record.stage for record in trace.stages][:3] == ["signal", "query", "retrieve"]
        assert sum(record.took_ms for record in trace.stages) == pytest.approx(trace.took_ms, abs=0.02)


def test_reading_what_is_coming_counts_as_the_query_stage(engine, hook, clock):
    """Every embedding moves the clock; all of them lie between arrival and answer, so all of them are in the trace."""
    engine.remember("Run `make lint` before every commit.", cwd="", when="commit")
    hook("SessionStart", source="startup")
    began_ms = clock.monotonic_ms()
    hook("UserPromptSubmit", prompt="please commit the parser now")
    passed_ms = clock.monotonic_ms() - began_ms
    assert passed_ms >= EMBEDDING_MS
    assert newest(engine, Surface.PROMPT).took_ms == pytest.approx(passed_ms)


def test_a_silent_prompt_has_its_time_too(engine, hook, clock):
    hook("SessionStart", source="startup")
    hook("UserPromptSubmit", prompt="thanks")
    trace = newest(engine, Surface.PROMPT)
    assert trace.silent
    assert sum(record.took_ms for record in trace.stages) == pytest.approx(trace.took_ms, abs=0.02)


def test_every_row_of_a_start_pack_has_words_and_a_score(engine, hook):
    remember_rules(engine, 60)
    hook("SessionStart", source="startup")
    trace = newest(engine, Surface.START)
    named = {drop.memory_id for record in trace.stages for drop in record.drops} | set(trace.injected)
    rows = {one.memory_id: one for one in trace.candidates}
    assert len(named) > 40
    assert named <= rows.keys()
    assert all(rows[name].content.startswith("Never ") for name in named)
    assert all(rows[name].relevance > 0 for name in named)
    one = engine.admin.recalls.trace(trace.id)
    assert all(row.content for row in one.candidates)


def test_a_row_of_a_forgotten_memory_keeps_its_numbers(engine, hook):
    remember_rules(engine, 40)
    hook("SessionStart", source="startup")
    last = newest(engine, Surface.START).candidates[-1]
    engine.memories.retire(engine.show(last.memory_id))
    again = next(one for one in newest(engine, Surface.START).candidates if one.memory_id == last.memory_id)
    assert again.relevance == last.relevance
