"""Answers on demand: the budget decides how many memories they hold, what has ended comes for the past alone, dates are shown."""

from __future__ import annotations

import random

import pytest

from samples import NOW_MS
from tacit.app.queries import store_copies
from tacit.app.wiring import open_engine
from tacit.config.preset_files import preset_names
from tacit.library.tacit import Tacit
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

DAY_MS = 86_400_000
QUESTION = "orders import"
SYLLABLES = "ka re mi to su lan der ex pro ti vo ne qua li ar bo cen".split()


@pytest.fixture
def clock():
    return FakeClock(now_ms=NOW_MS)


@pytest.fixture
def make_engine(tmp_path, clock):
    engines = []

    def make(preset="focused"):
        engine = open_engine(
            tmp_path / preset, overrides={"preset": preset}, clock=clock, embedder=FakeEmbedder()
        )
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()


def fill(engine, count):
    """Memories about the import of orders, in words of their own."""
    chance = random.Random(1)
    for _ in range(count):
        words = ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(9)]
        engine.remember(f"Orders import: {' '.join(words)}.", kind="fact")


def sizes(engine, budgets):
    found = []
    for budget in budgets:
        recalled = engine.recall(QUESTION, budget_tokens=budget)
        assert recalled.block.tokens <= budget
        found.append(len(recalled.block.memory_ids))
    return found


def test_an_answer_grows_with_its_budget(make_engine):
    engine = make_engine()
    fill(engine, 140)
    small, middle, large = sizes(engine, (1_000, 2_000, 5_000))
    assert 8 < small < middle < large
    assert large > 3 * middle / 2


@pytest.mark.parametrize(
    "preset", [name for name in preset_names() if name not in ("scoped", "focused", "multispace")]
)
def test_no_number_bounds_an_answer_of_the_other_presets(make_engine, preset):
    engine = make_engine(preset)
    fill(engine, 30)
    small, large = sizes(engine, (300, 4_000))
    assert small < large


def test_the_library_takes_a_budget_and_gives_dates(tmp_path):
    with Tacit.open(tmp_path, settings={"embedder": {"provider": "fake"}}, cwd="") as memory:
        fill(memory.engine, 60)
        small = memory.recall(QUESTION, budget_tokens=300)
        large = memory.recall(QUESTION, budget_tokens=3_000)
    assert len(small.memories) < len(large.memories)
    assert all(found.valid_from_ms > 0 and found.valid_to_ms is None for found in large.memories)


# --- what has ended


def replace_provider(engine, clock):
    """A decision that another one replaces nine days later; it was 2025-10-09 when the first was made."""
    (old,) = engine.remember("Text messages are sent through Twilio.", kind="decision")
    clock.advance(9 * DAY_MS)
    engine.remember("Text messages are sent through Vonage.", kind="decision", replaces=(old.memory.id,))
    return old.memory.id


PAST = "Through what were text messages sent before?"
NOW = "Through what are text messages sent?"


def test_an_ended_statement_comes_for_the_past_alone_with_its_dates(make_engine, clock):
    engine = make_engine()
    old = replace_provider(engine, clock)
    present, past = engine.recall(NOW).block, engine.recall(PAST).block
    assert "Vonage" in present.text
    assert "Twilio" not in present.text
    assert old in past.memory_ids
    (line,) = [line for line in past.text.splitlines() if "Twilio" in line]
    assert line.endswith("(user, 2025-10-09, held until 2025-10-18)")
    (line,) = [line for line in past.text.splitlines() if "Vonage" in line]
    assert line.endswith("(2025-10-18)")


def test_what_replaced_it_leads_to_it(make_engine, clock):
    """The question names the new one; the old one shares no word with it."""
    engine = make_engine()
    fill(engine, 20)
    (old,) = engine.remember("Deploys run through Jenkins.", kind="decision")
    clock.advance(DAY_MS)
    engine.remember("Argo brings releases to the cluster.", kind="decision", replaces=(old.memory.id,))
    assert old.memory.id in engine.recall("What did we use before Argo?").block.memory_ids
    assert old.memory.id not in engine.recall("What do we use Argo for?").block.memory_ids


def test_an_answer_as_of_the_past_copies_the_memories_with_most_words_of_the_question(
    make_engine, clock, monkeypatch
):
    monkeypatch.setattr(store_copies, "MOST_COPIED", 3)
    engine = make_engine()
    (old,) = engine.remember("Text messages are sent through Twilio.", kind="decision")
    clock.advance(DAY_MS)
    fill(engine, 20)
    clock.advance(DAY_MS)
    assert old.memory.id in engine.recall(NOW, as_of_ms=clock.now_ms()).block.memory_ids


def test_what_somebody_forgot_is_not_the_past(make_engine):
    engine = make_engine()
    (one,) = engine.remember("Text messages are sent through Twilio.", kind="decision")
    engine.memories.retire(one.memory)
    assert engine.recall(PAST).block.empty


def test_no_other_surface_shows_what_has_ended(make_engine, clock):
    engine = make_engine()
    replace_provider(engine, clock)
    from tacit.model.pack import Surface

    for surface in (Surface.PROMPT, Surface.SUBAGENT):
        assert "Twilio" not in engine.recall(PAST, surface=surface).block.text


def test_a_standing_rule_has_its_date_in_an_answer(make_engine):
    engine = make_engine()
    engine.remember("Always run the linter before a commit.", kind="guideline")
    assert "(2025-10-09)" in engine.recall("What about the linter before a commit?").block.text
    assert "2025" not in engine.context("").text
