"""The measurement of reach: what counts as reached, fetched for nothing, and recorded for another block."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from samples import memory_named
from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.pack import Block, Index, IndexLine, Pack, PackItem, Surface
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.stage import Delivered
from tacit_evals.data import ItemJudgment, PoolRow, Project, RealPrompt
from tacit_evals.pool import DAY_MS, Pool
from tacit_evals.reach import ANSWERS, Reached, figures, key_of, merged, recorded, within


def moment(*, needed=(), held=(), fetched=(), marginal=(), found=()) -> Reached:
    return Reached(
        needed=dict.fromkeys(needed, 2),
        marginal=frozenset(marginal),
        held=frozenset(held),
        listed=frozenset("abcdef"),
        fetched=frozenset(fetched),
        gate=frozenset(),
        search=frozenset(),
        found=frozenset(found),
        searched=bool(found),
        tokens=10 * len(fetched),
    )


def test_what_is_held_or_fetched_is_reached_and_marginal_fetches_count_neither_way() -> None:
    found = figures(
        [
            moment(needed="ab", held="a", fetched="bc"),
            moment(needed="d", fetched="m", marginal="m"),
            moment(),
            moment(fetched="e"),
        ]
    )
    assert found["reach"] == pytest.approx(2 / 3)
    assert found["start"] == pytest.approx(1 / 3)
    assert found["precision"] == pytest.approx(1 / 3)
    assert found["idle"] == pytest.approx(1 / 2)
    assert found["tokens"] == pytest.approx(10)


def given(words: str, headline: str) -> Delivered:
    whole = Candidate(memory=memory_named("mem_1", words))
    line = IndexLine(candidate=Candidate(memory=memory_named("mem_2", headline)), short_id="em_2")
    pack = Pack(
        surface=Surface.START,
        items=(PackItem(candidate=whole, text=words, tokens=1),),
        index=Index(lines=(line,)),
    )
    return Delivered(pack=pack, block=Block(surface=Surface.START))


def test_an_answer_is_recorded_for_the_block_and_the_moment_that_it_was_given_for() -> None:
    key = key_of(["Tabs."], ["Ports."], "a moment")
    assert key == key_of(["Tabs."], ["Ports."], "a moment")
    others = (
        ("Spaces.", "Ports.", "a moment"),
        ("Tabs.", "Names.", "a moment"),
        ("Tabs.", "Ports.", "another"),
    )
    assert key not in {key_of([words], [headline], text) for words, headline, text in others}


def test_a_needed_headline_that_the_reader_did_not_see_counts_by_the_share_that_it_fetched() -> None:
    seen = moment(needed="ab", fetched="a")
    unseen = replace(moment(needed="c", held="d"), unseen=frozenset("c"))
    assert figures([seen, unseen])["reach"] == pytest.approx((1 + 0.5) / 3)
    assert figures([seen, unseen])["unseen"] == pytest.approx(1 / 3)


def test_the_recorded_answers_are_short_ids_by_key() -> None:
    assert json.loads(ANSWERS.read_text("utf-8"))["made_by"]
    answers = recorded(ANSWERS)
    assert len(answers) > 100
    assert all(len(key) == 20 and all(answer.fetch) for key, answer in answers.items())


def test_what_the_readers_own_search_found_is_reached_and_not_counted_as_fetched() -> None:
    found = figures([moment(needed="ab", held="a", found="bc"), moment(needed="d")])
    assert (found["reach"], found["found"]) == pytest.approx((2 / 3, 1 / 3))
    assert (found["precision"], found["searched"]) == (0, 1 / 2)


def project(name: str, *contents: str) -> Project:
    rows = tuple(
        PoolRow(id=f"m{number}", kind="fact", content=text, created_ms=DAY_MS, source="session:1")
        for number, text in enumerate(contents)
    )
    judgment = ItemJudgment(needed={"m0": 2}, marginal=frozenset({"m1"}))
    asked = RealPrompt(
        id="p", session="s", turn=1, at_ms=2 * DAY_MS, text="Go", previous="", files=(), judgment=judgment
    )
    return Project(name=name, folder=Path(name), memories=rows, prompts=(asked,))


def test_a_merged_store_holds_the_other_pools_as_memories_seen_everywhere_and_asks_for_its_own() -> None:
    shop, blog = project("shop", "Ports.", "Names."), project("blog", "Feeds.")
    made = merged(shop, [blog, shop])
    own = {row.id: row.content for row in made.memories if not row.everywhere}
    assert sorted(row.content for row in made.memories if row.everywhere) == ["Feeds."]
    assert sorted(own.values()) == ["Names.", "Ports."]
    assert [own[name] for name in made.prompts[0].judgment.needed] == ["Ports."]
    assert [own[name] for name in made.prompts[0].judgment.marginal] == ["Names."]
    assert len({row.id for row in made.memories}) == 3


@pytest.mark.parametrize(("index", "cap_chars"), [(700, 0), (6000, 2000)])
def test_the_start_block_of_a_merged_store_lists_the_projects_own_and_counts_every_other_memory(
    index: int, cap_chars: int
) -> None:
    shop = project("shop", *(f"Shelf {number} holds jars." for number in range(30)))
    subjects = ("recipe", "photo", "letter", "poll", "podcast")
    drafts = (f"Never publish {subjects[number % 5]} {number} on a Sunday." for number in range(400))
    blog = project("blog", *drafts)
    pool = Pool(merged(shop, [blog, shop]), embedder=FakeEmbedder(), settings=RecallSettings())
    try:
        budgets = pool.settings.budgets.model_copy(update={"start": 100, "index": index})
        pack = pool.start_block(budgets=budgets, at_ms=2 * DAY_MS, cap_chars=cap_chars).pack
    finally:
        pool.close()
    shown = {*pack.held, *(line.candidate.memory.id for line in pack.index.lines)}
    assert {row.id for row in pool.project.memories if not row.everywhere} <= shown
    assert len(shown) + sum(count for _, count in pack.index.left) == 430


def test_with_a_smaller_index_nobody_fetches_what_it_does_not_list() -> None:
    small = within([moment(needed=("mem_1", "mem_2"), fetched=("mem_2", "mem_3"))], given("Tabs.", "Ports."))
    assert (small[0].held, small[0].fetched) == ({"mem_1"}, {"mem_2"})
