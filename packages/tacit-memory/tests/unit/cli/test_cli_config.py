"""`tacit config`: what holds and why, changes that a running engine follows, the ambient seed's flow."""

from __future__ import annotations

import json

import pytest

from tacit.config.levels import LEVELS, measured_text, shipped_levels

pytestmark = pytest.mark.timeout(60)


def config(tacit, *arguments):
    said = tacit("config", *arguments, "--json")
    assert said.code == 0, said.err
    return said.json


def test_get_one_a_section_and_everything(tacit):
    assert tacit("config", "get", "recall.max_items").out == "8\n"
    assert "recall.budgets.start = 2000" in tacit("config", "get", "recall.budgets").out
    assert config(tacit, "get")["preset"] == "focused"
    said = tacit("config", "get", "recall.max_itms")
    assert said.code == 3
    assert "Did you mean `recall.max_items`?" in said.err
    said = tacit("config", "set", "recall.budgets", "3")
    assert said.code == 3
    assert "`recall.budgets` is a section" in said.err


def test_what_stands_in_a_file_and_does_not_hold_is_told(tacit):
    assert "Allowed: true, false." in tacit("config", "set", "recall.enabled", "maybe").err
    tacit("config", "set", "recall.max_items", "5")
    file = tacit.place.home.config_file
    file.write_text(file.read_text() + "  max_itms: 3\n")
    for words in (("get", "recall.max_items"), ("get", "--why", "recall.max_items"), ()):
        said = tacit("config", *words)
        assert said.code == 0
        assert "recall.max_itms" in said.err


def test_explain_names_the_layer_that_won_and_every_layers_value(tacit, monkeypatch):
    tacit("config", "set", "recall.max_items", "5")
    tacit("config", "set", "recall.max_items", "4", "--project")
    tacit("config", "set", "recall.max_items", "3", "--agent", "plan")
    monkeypatch.setenv("TACIT_RECALL__MAX_ITEMS", "2")
    told = config(tacit, "get", "--why", "recall.max_items", "--agent", "plan")
    assert (told["value"], told["layer"]) == (2, "environment")
    assert [(one["layer"], one["value"]) for one in told["layers"]] == [
        ("default", 8), ("preset", 8), ("user", 5), ("own_project", 4), ("agent", 3), ("environment", 2),
    ]  # fmt: skip
    assert told["about"]["maximum"] == 100
    said = tacit("config", "get", "--why", "recall.max_items", "--agent", "plan").out
    assert "->  environment  2" in said
    assert "call" in said
    warned = tacit("config", "set", "recall.max_items", "6").out
    assert "overrides it" in warned


def test_explain_shows_the_levels_with_what_was_measured_at_them(tacit):
    levels = shipped_levels()
    told = config(tacit, "get", "--why", "recall.level")
    assert [(one["name"], one["threshold"]) for one in told["levels"]] == [
        (name, level.threshold) for name, level in levels.items()
    ]
    tacit("config", "set", "recall.level", "eager")
    told = config(tacit, "get", "--why", "recall.thresholds.prompt")
    assert (told["value"], told["layer"]) == (levels.eager.threshold, "level")
    said = tacit("config", "get", "--why", "recall.thresholds.prompt").out
    assert f"level eager: {measured_text(levels.eager)}" in " ".join(said.split())
    assert [line.split()[0] for line in said.splitlines()[-3:]] == list(LEVELS)
    tacit("config", "set", "preset", "typed")
    assert config(tacit, "get", "--why", "recall.level")["levels"] == []
    assert "the preset typed does not use levels" in tacit("config", "set", "recall.level", "quiet").out
    assert "levels" not in config(tacit, "get", "--why", "recall.max_items")


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["recall.max_items", "5000"], "≤ 100"),
        (["recall.max_items", "many"], "integer"),
        (["recall.enabled", "perhaps"], "boolean"),
        (["recall.level", "balancd"], "`balanced`"),
        (["recal.max_item", "5"], "`recall.max_items`"),
        (["recall.ambient.pinned_kinds", "tood"], "todo"),
        (["preset", "focussed"], "focused"),
        (["daemon.http_port", "3", "--agent", "plan"], "cannot be set for one agent"),
        (["preset", "typed", "--project-file"], "a project's file may not set it"),
        (["recall.max_items", "5", "--user", "--project"], "exclude each other"),
    ],
)
def test_wrong_names_and_values_are_refused_with_what_would_do(tacit, words, needle):
    said = tacit("config", "set", *words)
    assert said.code == 3
    assert needle in said.err
    assert not tacit.place.home.config_file.exists()


def test_values_of_every_shape(tacit):
    config(tacit, "set", "recall.ambient.pinned_kinds", "todo", "goal")
    config(tacit, "set", "capture.kinds", "fact,decision")
    config(tacit, "set", "recall.enabled", "false")
    config(tacit, "set", "recall.history_blocks", "null")
    config(tacit, "set", "recall.tell_memory_add", "off")
    config(tacit, "set", "recall.typed.similarity", "{fact: 0.3}")
    found = {one["key"]: one["value"] for one in config(tacit)}
    assert found == {
        "recall.ambient.pinned_kinds": ["todo", "goal"], "recall.enabled": False, "capture.kinds": ["fact", "decision"],
        "recall.tell_memory_add": "off", "recall.typed.similarity": {"fact": 0.3},
    }  # fmt: skip
    taken = config(tacit, "reset", "recall.enabled")
    assert (taken["reset"], taken["value"], taken["layer"]) == (True, True, "default")
    assert config(tacit, "reset", "--all")["reset"]
    assert config(tacit) == []
    assert not config(tacit, "reset", "--all")["reset"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recall.ambient.pinned_kinds", "todo"),
        ("memory_injection.pinned_types", "todo"),
        ("recall.pinned_limit", "5"),
    ],
)
def test_what_pins_nothing_yet_says_what_must_be_on(tacit, key, value):
    note = (
        "It pins nothing until recall.ambient.enabled is on: `tacit config set recall.ambient.enabled true`."
    )
    assert note in " ".join(tacit("config", "set", key, value).out.split())
    assert config(tacit, "set", key, value)["notes"] == [note]
    tacit("config", "set", "recall.ambient.enabled", "true")
    assert config(tacit, "set", key, value)["notes"] == []


def test_the_schema_for_editors(tacit):
    schema = json.loads(tacit("config", "get", "--schema").out)
    assert schema["properties"]["recall"]


def test_how_is_learned_follows_the_file_too(tacit):
    tacit("remember", "Always run make lint.")
    engine = tacit.daemon.engine
    config(tacit, "set", "capture.auto_accept", "0.9")
    config(tacit, "set", "capture.near_cosine", "0.99")
    config(tacit, "set", "capture.enabled", "false")
    engine._parts.settings.look_again()  # a second later
    capture = engine._writing().capture
    assert (capture._preparer.settings.auto_accept, capture._reconciler._near, capture._settings.enabled) == (
        0.9,
        0.99,
        False,
    )
    config(tacit, "reset", "--all")
    engine._parts.settings.look_again()
    assert engine._writing().capture._settings.enabled
