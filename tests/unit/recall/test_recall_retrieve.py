"""Which spaces a surface asks: lists of the settings, narrowed for prompts and replaced on demand."""

from __future__ import annotations

import pytest

from tacit.config.settings import RecallSettings
from tacit.model.pack import Surface
from tacit.recall.retrieve import spaces_at

SETTINGS = RecallSettings(
    spaces=("semantic", "lexical", "intent"),
    spaces_prompt=("intent", "late", "semantic"),
    spaces_on_demand=("late",),
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
    assert spaces_at(SETTINGS, surface) == asked


@pytest.mark.parametrize("surface", [Surface.PROMPT, Surface.ON_DEMAND])
def test_an_empty_list_asks_all(surface):
    settings = SETTINGS.model_copy(update={"spaces_prompt": (), "spaces_on_demand": ()})
    assert spaces_at(settings, surface) == settings.spaces
