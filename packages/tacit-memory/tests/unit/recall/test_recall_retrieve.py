"""Which spaces a surface asks: lists of the settings, narrowed for prompts and replaced on demand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import NOW_MS, PROJECT, memory, query, recall_state
from tacit.backends.sqlite import SqliteStore
from tacit.config.settings import RecallSettings
from tacit.model.changes import Add
from tacit.model.pack import Surface
from tacit.model.trigger import Situation, Trigger
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.retrieve import ask
from tacit.recall.stage import Tools

SPACES = ("semantic", "lexical", "intent")
PRESET = replace(
    preset_of("focused"), spaces_prompt=("intent", "late", "semantic"), spaces_on_demand=("late",)
)


@pytest.mark.parametrize(
    ("surface", "asked"),
    [
        (Surface.PROMPT, ("semantic", "intent")),
        (Surface.ON_DEMAND, ("late",)),
        (Surface.FAILURE, ("semantic", "lexical", "intent")),
        (Surface.SUBAGENT, ("semantic", "lexical", "intent")),
    ],
)
def test_every_surface_asks_its_own_list(surface, asked):
    assert PRESET.spaces_at(surface, SPACES) == asked


def test_an_empty_list_asks_all_before_a_prompt():
    assert replace(PRESET, spaces_prompt=()).spaces_at(Surface.PROMPT, SPACES) == SPACES


def test_only_spaces_whose_hits_are_all_they_know_propose_more_of_a_wide_search():
    """Three memories fit; `intent` measures what is listed itself, so two proposals of it do."""
    store, embedder = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS)), FakeEmbedder()
    for name in "abc":
        one = memory(
            f"deploy {name}", id=name, scope=PROJECT, trigger=Trigger(actions=(("deploy_release", 1.0),))
        )
        store.apply([Add(memory=one)], vectors=embedder.embed([one.content]), identity=embedder.identity)
    asked = query(
        "deploy", surface=Surface.ON_DEMAND, situation=Situation(actions=(("deploy_release", 1.0),))
    )
    state = replace(
        recall_state(asked, RecallSettings(candidates_per_space=2)),
        spaces=("semantic", "lexical", "intent"),
        vector=embedder.embed(["deploy"])[0],
    )
    found = ask(Tools(store=store, embedder=embedder), state, wide=9).kept.rankings
    assert {ranking.space: len(ranking.hits) for ranking in found} == {
        "semantic": 3,
        "lexical": 3,
        "intent": 2,
    }


@pytest.mark.parametrize("error", ["", "no vector came in time"])
def test_words_propose_where_no_vector_came_in_time(error):
    store, embedder = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS)), FakeEmbedder()
    one = memory("Commit messages begin with a verb.", id="a", scope=PROJECT)
    store.apply([Add(memory=one)], vectors=embedder.embed([one.content]), identity=embedder.identity)
    asked = query("how do commit messages begin", surface=Surface.PROMPT)
    state = replace(recall_state(asked, RecallSettings()), spaces=("semantic",), embedding_error=error)
    rankings = ask(Tools(store=store, embedder=embedder), state).kept.rankings
    assert [ranking.space for ranking in rankings if ranking.hits] == (["lexical"] if error else [])
