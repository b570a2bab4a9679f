"""Names of other packages in settings: accepted where an entry point has them, refused with the list of known names."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins import install_module
from tacit.config.describe import describe_settings
from tacit.config.fields import check_layer
from tacit.config.plugins import EMBEDDERS, HOSTS, JUDGES, STORES, WRITERS, PluginGroup
from tacit.config.project_rules import decide_project_value
from tacit.config.settings import RecallSettings
from tacit.errors import ProviderError

SETTINGS = {
    "store.provider": STORES,
    "embedder.provider": EMBEDDERS,
    "recall.anticipate.provider": WRITERS,
    "recall.judge.provider": JUDGES,
    "capture.extractor.provider": WRITERS,
}


def nested(key: str, value: object) -> dict[str, object]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_takes_built_in_names_and_those_of_entry_points(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    group = SETTINGS[key]
    for name in group.built_in:
        assert check_layer(nested(key, name), place=str).values == {key: name}
    ((wrong, error),) = check_layer(nested(key, "zebra"), place=str).problems
    assert wrong == key
    assert all(f"'{name}'" in error.message for name in group.built_in)
    assert group.group in error.message
    install_module(tmp_path, "zebra_package", "", {group.group: {"zebra": "zebra_package:make"}})
    monkeypatch.syspath_prepend(tmp_path)
    assert check_layer(nested(key, "zebra"), place=str).values == {key: "zebra"}


def test_a_misspelled_name_gets_the_nearest_one_as_hint():
    ((_, error),) = check_layer({"store": {"provider": "sqlit"}}, place=str).problems
    assert error.hint == "Did you mean `sqlite`?"


@pytest.mark.parametrize("name", ["claude", "opencode", "codex", "gemini"])
def test_a_command_line_at_the_prompt_is_refused_with_the_reason_and_the_way_out(name: str):
    ((key, error),) = check_layer({"recall": {"judge": {"provider": name}}}, place=str).problems
    assert key == "recall.judge.provider"
    assert "takes seconds to start" in error.message
    assert "recall.anticipate" in error.message
    assert error.hint == ""
    assert not check_layer({"recall": {"anticipate": {"provider": name}}}, place=str).problems


@pytest.mark.parametrize("section", ["anticipate", "judge"])
def test_a_model_at_recall_is_off_and_limited_by_default(section: str):
    made = getattr(RecallSettings(), section)
    assert (made.provider, made.tokens_per_day) == ("off", 300_000)
    ((_, error),) = check_layer({"recall": {section: {"endpoint": "localhost"}}}, place=str).problems
    assert "an address such as" in error.message


@pytest.mark.parametrize("key", ["recall.anticipate.provider", "recall.judge.provider"])
def test_a_project_may_switch_a_model_off_and_never_on_or_elsewhere(key: str):
    off = decide_project_value(key, current="openai", proposed="off")
    assert (off.value, off.applies, off.refused) == ("off", True, "")
    on = decide_project_value(key, current="off", proposed="openai")
    assert (on.value, on.applies) == ("off", False)
    assert on.refused
    for name in ("endpoint", "model", "api_key_env", "tokens_per_day"):
        other = key.replace("provider", name)
        assert decide_project_value(other, current="", proposed="x").refused


def test_pages_show_the_names_as_choices():
    described = describe_settings()
    for key, group in SETTINGS.items():
        assert described[key].type == "choice"
        assert described[key].choices[: len(group.built_in)] == group.built_in
        assert described[key].restart


def test_a_built_in_name_stands_once_whatever_other_packages_register(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    install_module(tmp_path, "shadow", "", {"tacit.stores": {"sqlite": "shadow:Store", "aa": "shadow:Store"}})
    monkeypatch.syspath_prepend(tmp_path)
    assert STORES.names() == ("sqlite", "aa")


@pytest.mark.parametrize("value", ["no_such_module_here:make", "broken_package:absent"])
def test_a_package_that_cannot_be_imported_is_named(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    install_module(tmp_path, "broken_package", "", {"tacit.writers": {"broken": value}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ProviderError) as raised:
        WRITERS.load("broken")
    assert value in raised.value.message
    assert "broken" in raised.value.message


def test_an_unknown_name_cannot_be_loaded():
    with pytest.raises(KeyError):
        HOSTS.load("nobody")
    assert isinstance(HOSTS, PluginGroup)
