"""Settings from their layers: who wins, what is refused and how it is said, what fails closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.fields import build, check_layer, default_values, settings_by_key
from tacit.config.home import Home
from tacit.config.layers import read_settings
from tacit.config.levels import shipped_levels
from tacit.config.preset_files import preset_file, preset_names
from tacit.config.settings import Settings, kind_registry
from tacit.errors import InvalidSetting, UnknownKind, UnknownSetting

KEY = "recall.budgets.start"


def write_project(root: Path, text: str) -> Path:
    (root / ".tacit").mkdir(parents=True, exist_ok=True)
    (root / ".tacit" / "config.yaml").write_text(text, "utf-8")
    return root


def read(home: Home, project: Path | None = None, **more):
    return read_settings(home, project, **{"environ": {}, **more})


def at_the_default_level():
    """The defaults, with the prompt threshold of the level `balanced`."""
    return build({**default_values(), "recall.thresholds.prompt": shipped_levels().balanced.threshold})


def test_nothing_written_means_the_defaults(home):
    report = read(home)
    assert report.settings == at_the_default_level()
    assert report.warnings == ()


def test_each_layer_beats_the_one_below_and_explains_itself(home, tmp_path):
    home.config_file.write_text(
        "recall:\n  budgets:\n    start: 1900\nagents:\n  build:\n    recall: {budgets: {start: 1700}}\n"
    )
    root = write_project(tmp_path / "p", "recall:\n  budgets: {start: 1800}\n")
    report = read(
        home, root, agent="build", environ={"TACIT_RECALL__BUDGETS__START": "1600"},
        overrides={"recall": {"budgets": {"start": 1500}}},
    )  # fmt: skip
    origins = report.explain(KEY)
    assert [(o.layer, o.value) for o in origins] == [
        ("default", 2000), ("preset", 2000), ("user", 1900), ("project", 1800), ("agent", 1700),
        ("environment", 1600), ("call", 1500),
    ]  # fmt: skip
    assert report.settings.recall.budgets.start == 1500
    assert origins[2].place == f"{home.config_file}:3"
    assert origins[5].place == "environment variable TACIT_RECALL__BUDGETS__START"


def test_another_agent_does_not_get_the_section(home):
    home.config_file.write_text("agents: {build: {recall: {enabled: false}}}")
    assert read(home, agent="plan").settings.recall.enabled
    assert not read(home, agent="build").settings.recall.enabled


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ("recal:\n  enabled: false\n", "recal", "recall"),
        ("recall:\n  budgets:\n    strat: 5\n", "recall.budgets.strat", "recall.budgets.start"),
        ("budgets:\n  start: 5\n", "budgets", "recall.budgets"),
        ("max_items: 5\n", "max_items", "recall.max_items"),
        ("presett: refresh\n", "presett", "preset"),
    ],
)
def test_an_unknown_key_names_file_key_and_nearest_name(home, text, key, near):
    home.config_file.write_text(text)
    error = read_settings(home, environ={}).warnings[0].error
    assert isinstance(error, UnknownSetting)
    assert f"{home.config_file}:" in error.message
    assert f"`{key}`" in error.message
    assert near in error.hint


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("recall:\n  max_items: many\n", [":2", "`recall.max_items`", "'many'", "integer"]),
        ("recall:\n  max_items: true\n", ["`recall.max_items`", "True", "integer"]),
        ("recall:\n  max_items: '5'\n", ["`recall.max_items`", "'5'", "integer"]),
        ("recall:\n  max_items: 999\n", ["`recall.max_items`", "999", "less than or equal to 100"]),
        ("recall:\n  thresholds: {prompt: .nan}\n", ["`recall.thresholds.prompt`", "nan"]),
        ("recall: 5\n", ["`recall`", "5", "mapping"]),
        ("recall:\n  level: magic\n", ["`recall.level`", "'magic'", "'quiet'"]),
        ("recall:\n  spaces: [semantic, smell]\n", ["recall.spaces", "smell", "'semantic'"]),
        ("recall:\n  spaces: semantic\n", ["recall.spaces", "'semantic'"]),
        ("preset: turbo\n", ["'turbo'", "focused", "refresh"]),
        ("privacy:\n  deny: ['(']\n", ["privacy.deny", "'('", "regular expression"]),
        ("kinds:\n  ritual: {label: Ritual}\n", ["kinds.ritual", "prefix"]),
        ("kinds:\n  ritual: {label: R, prefix: rit}\n", ["kinds.ritual.prefix", "'rit'"]),
        (
            "kinds:\n  ritual: {label: R, prefix: RIT, standing: true, episodic: true}\n",
            ["kinds.ritual", "both"],
        ),
        ("kinds:\n  ritual: {label: R, prefix: RIT, half_live: 3}\n", ["half_live", "half_life_days"]),
        ("kinds:\n  Ritual!: {label: R, prefix: RIT}\n", ["Ritual!", "lower-case"]),
        ("kinds:\n  ritual: 3\n", ["kinds.ritual", "mapping"]),
        ("recall:\n  ambient: {pinned_kinds: [preferense]}\n", ["preferense", "preference"]),
        ("recall:\n  judge: {price: '2'}\n", ["`recall.judge.price`", "'2'", "0.25/2"]),
        ("agents: 3\n", ["`agents`", "mapping"]),
        ("agents: {build: 3}\n", ["`agents.build`", "mapping"]),
        ("agents: {build: {daemon: {http_port: 2}}}\n", ["`daemon`", "one agent"]),
        ("statusline: null\n", ["`statusline`", "None", "boolean"]),
    ],
)
def test_a_wrong_value_names_place_value_and_what_is_expected(home, text, parts):
    home.config_file.write_text(text)
    warning = read_settings(home, environ={}).warnings[0]
    assert isinstance(warning.error, InvalidSetting | UnknownSetting | UnknownKind)
    for part in parts:
        assert part in str(warning), str(warning)
    report = read(home)
    assert report.warnings
    assert not report.sound


def test_wrong_keys_are_left_out_and_the_rest_holds(home):
    home.config_file.write_text("recall:\n  max_items: many\n  shadow: true\nstatusline: true\n")
    report = read(home)
    assert report.settings.recall.max_items == Settings().recall.max_items
    assert report.settings.recall.shadow
    assert report.settings.statusline
    assert [w.key for w in report.warnings] == ["recall.max_items"]
    assert not report.settings.privacy.incognito


@pytest.mark.parametrize(
    "text",
    ["privacy: {incognitoo: true}", "privacy: {incognito: maybe}", "privcy: {incognito: true}", "capture: {enable: false}",
     "recall: [", "privacy: on"],
)  # fmt: skip
def test_nothing_is_stored_while_privacy_cannot_be_read(home, tmp_path, text):
    home.config_file.write_text(text)
    assert read(home).settings.privacy.incognito
    home.config_file.unlink()
    assert read(home, write_project(tmp_path / "p", text)).settings.privacy.incognito
    assert not read(home).settings.privacy.incognito


@pytest.mark.parametrize(
    "text",
    [
        "embedder: {provider: openai, endpoint: 'http://127.0.0.1:1/'}",
        "embedder: {api_key_env: HOME}",
        "daemon: {http_port: 4444}",
        "privacy: {redact: false}",
        "privacy: {allow: [secret]}",
        "privacy: {emails: keep}",
        "project: {link: [other]}",
        "kinds: {ritual: {label: R, prefix: RIT}}",
        "preset: refresh",
        "recall: {ambient: {pinned_kinds: [event]}}",
        "agents: {build: {recall: {enabled: true}}}",
        "statusline: true",
    ],
)
def test_a_projects_file_never_widens(home, tmp_path, text):
    root = write_project(tmp_path / "p", text)
    report = read(home, root)
    assert report.settings == at_the_default_level()
    assert report.warnings[0].layer == "project"
    assert str(root) in str(report.warnings[0])
    assert "never widen" in report.warnings[0].error.hint
    assert not report.wrong_keys


def test_a_projects_file_cannot_undo_what_the_user_tightened(home, tmp_path):
    home.config_file.write_text(
        "recall: {enabled: false, budgets: {prompt: 100}}\nprivacy: {incognito: true}\ncapture: {enabled: false}\n"
        "project: {share_preferences: false}\n"
    )
    mine = read(home).settings
    root = write_project(
        tmp_path / "p",
        "recall: {enabled: true, budgets: {prompt: 500}}\nprivacy: {incognito: false}\ncapture: {enabled: true}\n"
        "project: {share_preferences: true}\n",
    )
    report = read(home, root)
    assert report.settings == mine
    assert len(report.warnings) == 5


def test_a_projects_file_restricts(home, tmp_path):
    root = write_project(
        tmp_path / "p",
        "recall: {shadow: true, budgets: {prompt: 100, start: 9000}, thresholds: {prompt: 0.9}, spaces: [lexical]}\n"
        "capture: {enabled: false}\nprivacy: {incognito: true, deny: ['ACME-\\d+']}\nretention: {trace_days: 1}\n"
        "project: {share_preferences: false}\n",
    )
    report = read(home, root)
    got = report.settings
    assert got.recall.shadow
    assert (got.recall.budgets.prompt, got.recall.budgets.start) == (100, 2000)
    assert got.recall.thresholds.prompt == 0.9
    assert got.recall.spaces == ("lexical",)
    assert (got.capture.enabled, got.privacy.incognito, got.retention.trace_days) == (False, True, 1)
    assert got.privacy.deny == (r"ACME-\d+",)
    assert not got.project.share_preferences
    assert [(w.key, w.note) for w in report.warnings] == [("recall.budgets.start", True)]


def test_the_users_own_file_is_no_projects_file(tmp_path):
    home = Home(tmp_path / ".tacit")
    home.ensure()
    home.config_file.write_text("daemon: {http_port: 2}\nrecall: {budgets: {start: 3000}}\n")
    report = read(home, tmp_path)
    assert report.warnings == ()
    assert (report.settings.daemon.http_port, report.settings.recall.budgets.start) == (2, 3000)


def test_the_environment_reads_texts(home):
    environ = {
        "TACIT_HOME": "/nowhere", "TACIT_HOOK_LOG": "x", "TACIT_OTHER": "y", "PATH": "/bin",
        "TACIT_RECALL__SPACES": "semantic, lexical", "TACIT_STATUSLINE": "true", "TACIT_RETENTION__TRACE_DAYS": "0.5",
        "TACIT_PRIVACY__DENY": "", "TACIT_EMBEDDER__MODEL": "5", "TACIT_PRESET": "refresh",
        "TACIT_KINDS__RITUAL__LABEL": "Ritual", "TACIT_KINDS__RITUAL__PREFIX": "RIT",
    }  # fmt: skip
    report = read(home, environ=environ)
    assert report.warnings == ()
    got = report.settings
    assert got.recall.spaces == ("semantic", "lexical")
    assert got.statusline
    assert got.retention.trace_days == 0.5
    assert got.privacy.deny == ()
    assert got.embedder.model == "5"
    assert got.preset == "refresh"
    assert got.recall.budgets.start == 2600
    assert got.kinds["ritual"].label == "Ritual"


@pytest.mark.parametrize(
    "name", ["TACIT_RECAL__ENABLED", "TACIT_RECALL__ENABLD", "TACIT_RECALL__BUDGETS__START__X"]
)
def test_a_misspelt_variable_is_named(home, name):
    report = read(home, environ={name: "1"})
    assert name in str(report.warnings[0])
    assert report.settings == at_the_default_level()
    assert isinstance(report.warnings[0].error, UnknownSetting | InvalidSetting)


def test_a_callers_wrong_values_always_raise(home):
    with pytest.raises(InvalidSetting, match=r"recall\.max_items"):
        read(home, overrides={"recall": {"max_items": 0}})
    with pytest.raises(UnknownSetting, match="nope"):
        read(home, overrides={"nope": 1})
    with pytest.raises(InvalidSetting, match="no preset"):
        read(home, overrides={"preset": "nope"})


def test_the_process_environment_is_the_default(home, monkeypatch):
    monkeypatch.setenv("TACIT_RECALL__MAX_ITEMS", "3")
    assert read_settings(home).settings.recall.max_items == 3


def test_explain_of_a_key_that_does_not_exist_names_the_nearest(home):
    with pytest.raises(UnknownSetting) as caught:
        read(home).explain("recall.budget.start")
    assert "recall.budgets.start" in caught.value.hint


@pytest.mark.parametrize("key", ["recall.nothere", "privacy.zebra", "capture.q"])
def test_a_key_that_is_like_none_is_not_said_to_mean_one_of_its_section(home, key):
    with pytest.raises(UnknownSetting) as caught:
        read(home).explain(key)
    section = key.partition(".")[0]
    assert caught.value.hint == f"`tacit config get {section}` lists what is in it."


def test_kinds_are_added_and_changed(home):
    home.config_file.write_text(
        "kinds:\n  ritual: {label: Ritual, prefix: RIT, importance: 0.7, standing: true}\n"
        "  decision: {importance: 0.95}\nrecall:\n  ambient: {pinned_kinds: [ritual]}\n"
    )
    report = read(home)
    assert report.warnings == ()
    registry = kind_registry(report.settings)
    assert registry.get("ritual").standing
    assert registry.get("decision").importance == 0.95
    assert registry.get("decision").label == "Decision"
    assert report.settings.recall.ambient.pinned_kinds == ("ritual",)
    assert [kind.name for kind in kind_registry(Settings())] == [kind.name for kind in registry][:-1]


def test_every_default_survives_a_round_trip_through_a_file():
    assert build(default_values()) == Settings()
    assert check_layer(Settings().model_dump(mode="json"), place=str).problems == ()
    assert set(settings_by_key()) == set(default_values())


def test_presets_are_complete_and_valid(home):
    assert {"ambient", "focused", "refresh", "typed"} <= set(preset_names())
    for name in preset_names():
        checked = check_layer(preset_file(name).values, place=str)
        assert checked.problems == ()
        assert all(
            key.startswith(("recall.", "capture.", "mcp.tools", "project.others")) for key in checked.values
        )
        assert read(home, overrides={"preset": name}).settings.preset == name
    with pytest.raises(InvalidSetting, match="ambient, focused"):
        preset_file("turbo")
