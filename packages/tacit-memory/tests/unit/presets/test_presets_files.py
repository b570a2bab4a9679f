"""The shipped presets: what they say, that every value is explained, that the default is the default."""

from __future__ import annotations

from importlib.resources import files

import pytest

from tacit.config.fields import build, check_layer, default_values, settings_by_key
from tacit.config.preset_files import preset_file, preset_names
from tacit.config.settings import Settings
from tacit.model.pack import Surface
from tacit.presets import preset_of


def flat(name):
    return check_layer(preset_file(name).values, place=str).values


def test_the_default_preset_is_the_shipped_defaults():
    assert build({**default_values(), **flat("focused")}) == Settings()


def test_the_default_preset_names_every_recall_value_a_preset_decides():
    left_out = {"enabled", "shadow", "holdout", "deadline_ms"}
    # Settings of one preset alone, and models of the user.
    formulas = ("typed", "ambient", "scoped", "refresh", "multispace", "reranker", "anticipate", "judge")
    left_out |= {
        key.removeprefix("recall.")
        for key in settings_by_key()
        if key.startswith(tuple(f"recall.{f}." for f in formulas))
    }
    left_out.add("thresholds.prompt")  # the level has it
    decided = {key for key in settings_by_key() if key.startswith("recall.")} - {
        f"recall.{k}" for k in left_out
    }
    assert set(flat("focused")) == decided


def test_refresh_is_its_design():
    recall = build({**default_values(), **flat("refresh")}).recall
    assert (recall.refresh.similarity_first, recall.refresh.similarity_later) == (0.45, 0.55)
    assert recall.refresh.top == 3
    assert preset_of("refresh").every_call
    assert recall.budgets.start + recall.budgets.prompt == 3000
    assert (recall.budgets.action, recall.budgets.failure) == (0, 0)


@pytest.mark.parametrize("name", preset_names())
def test_every_value_has_a_comment(name):
    lines = files("tacit").joinpath("presets", name, "settings.yaml").read_text("utf-8").splitlines()
    explained = 0
    for line in lines:
        text = line.strip()
        if text.startswith("#"):
            explained = 2  # a comment may stand above a pair of values
        elif text and not text.endswith(":"):
            assert "#" in text or explained > 0, f"{name}: no comment for {text!r}"
            explained -= 1


@pytest.mark.parametrize("name", preset_names())
def test_every_surface_has_a_pipeline(name):
    preset = preset_of(name)
    assert preset.name == name
    assert set(preset.pipelines) == set(Surface) - {Surface.HOST}
