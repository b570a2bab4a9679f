"""The named levels: who chooses, which threshold follows, what is said of it, and which files speak."""

from __future__ import annotations

import os
from dataclasses import astuple

import pytest

from tacit.config.cosine_bars import details_of
from tacit.config.layers import read_settings
from tacit.config.levels import (
    LEVELS,
    NAME,
    THRESHOLD,
    Level,
    Levels,
    levels_in_use,
    measured_text,
    shipped_levels,
    uses_levels,
)
from tacit.config.preset_files import preset_names
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput
from tacit.fitted import Artifact, FitOrigin, decode_artifact, encode_artifact, write_artifact

SHIPPED = shipped_levels()
TUNED = Levels(
    quiet=Level(threshold=0.9, wrongful=0.04, tokens=3.2),
    balanced=Level(threshold=0.8, wrongful=0.1, tokens=8.0),
    eager=Level(threshold=0.7, wrongful=0.2, tokens=21.0),
)
CHOICES = {"user": "quiet", "own_project": "eager", "agent": "quiet", "environment": "eager", "call": "quiet"}


def tuned(home, levels=TUNED, **embedder):
    """Write what `tacit config tune --apply` would write for an embedder."""
    details = details_of(EmbedderSettings(**embedder))
    origin = FitOrigin(what="levels", made_by="tacit config tune", details=details)
    write_artifact(home.levels_file, Artifact(name=NAME, origin=origin, values=levels))


def project_in(tmp_path, text=""):
    root = tmp_path / "p"
    (root / ".tacit").mkdir(parents=True, exist_ok=True)
    if text:
        (root / ".tacit" / "config.yaml").write_text(text, "utf-8")
    return root


def read(home, project=None, **more):
    return read_settings(home, project, **{"environ": {}, **more})


def threshold(report):
    return report.settings.recall.thresholds.prompt


def test_what_ships_is_ordered_and_whole():
    assert SHIPPED.quiet.threshold > SHIPPED.balanced.threshold > SHIPPED.eager.threshold
    for figure in ("coverage", "wrongful", "tokens"):
        told = [getattr(level, figure) for _, level in SHIPPED.items()]
        assert told == sorted(told) if None not in told else set(told) == {None}
    assert tuple(name for name, _ in SHIPPED.items()) == LEVELS == ("quiet", "balanced", "eager")


@pytest.mark.parametrize("name", LEVELS)
def test_a_level_sets_the_threshold_and_explains_itself(home, name):
    home.config_file.write_text(f"recall: {{level: {name}}}")
    report = read(home)
    level = SHIPPED.of(name)
    assert threshold(report) == level.threshold
    last = report.explain(THRESHOLD)[-1]
    assert (last.layer, last.value) == ("level", level.threshold)
    assert last.place == f"level {name}: {measured_text(level)}"
    assert report.warnings == ()


def test_what_was_measured_in_words():
    level = Level(threshold=0.24, precision=0.342, coverage=0.06, wrongful=0.118, tokens=14.6)
    assert (
        measured_text(level) == "precision .34, 15 tokens a prompt, 12 % of the prompts that deserve nothing"
    )
    assert measured_text(Level(threshold=0.2, wrongful=0.05)) == "5 % of the prompts that deserve nothing"
    assert measured_text(Level(threshold=0.2)) == "not measured"


@pytest.mark.parametrize("top", CHOICES)
def test_the_highest_layer_that_chooses_decides(home, tmp_path, top):
    """The layers up to `top` choose in turn quiet and eager; the threshold is that of the last one."""
    root = project_in(tmp_path)
    chosen = dict(list(CHOICES.items())[: list(CHOICES).index(top) + 1])
    text = f"recall: {{level: {chosen['user']}}}\n"
    if "own_project" in chosen:
        text += f"projects: {{{root}: {{recall: {{level: {chosen['own_project']}}}}}}}\n"
    if "agent" in chosen:
        text += f"agents: {{build: {{recall: {{level: {chosen['agent']}}}}}}}\n"
    home.config_file.write_text(text)
    report = read(
        home,
        root,
        agent="build",
        environ={"TACIT_RECALL__LEVEL": "eager"} if "environment" in chosen else {},
        overrides={"recall": {"level": "quiet"}} if "call" in chosen else None,
    )
    assert report.explain("recall.level")[-1].layer == top
    assert report.settings.recall.level == CHOICES[top]
    assert threshold(report) == SHIPPED.of(CHOICES[top]).threshold
    assert report.warnings == ()


@pytest.mark.parametrize("layer", ["user", "agent", "environment", "call"])
def test_a_threshold_that_somebody_set_wins_and_a_chosen_level_is_noted(home, layer):
    texts = {
        "user": "recall: {thresholds: {prompt: 0.7}}",
        "agent": "agents: {build: {recall: {thresholds: {prompt: 0.7}}}}",
    }
    home.config_file.write_text(texts.get(layer, ""))
    more = {
        "agent": "build",
        "environ": {"TACIT_RECALL__THRESHOLDS__PROMPT": "0.7"} if layer == "environment" else {},
    }
    stated = {"thresholds": {"prompt": 0.7}} if layer == "call" else {}
    report = read(home, overrides={"recall": stated}, **more)
    assert (threshold(report), report.explain(THRESHOLD)[-1].layer) == (0.7, layer)
    assert report.warnings == ()
    chosen = read(home, overrides={"recall": {**stated, "level": "eager"}}, **more)
    assert threshold(chosen) == 0.7
    assert [(one.key, one.note) for one in chosen.warnings] == [("recall.level", True)]
    assert "`recall.thresholds.prompt` is set, and wins" in str(chosen.warnings[0])


def test_only_presets_that_score_the_situation_use_levels(home):
    assert [name for name in preset_names() if uses_levels(name)] == ["focused"]
    plain = read(home, overrides={"preset": "typed"})
    assert plain.warnings == ()
    assert "level" not in [one.layer for one in plain.explain(THRESHOLD)]
    chosen = read(home, overrides={"preset": "typed", "recall": {"level": "eager"}})
    assert threshold(chosen) == threshold(plain) == 0.4
    assert [(one.key, one.note) for one in chosen.warnings] == [("recall.level", True)]
    assert "the preset typed does not use levels" in str(chosen.warnings[0])


@pytest.mark.parametrize(
    ("users", "projects", "holds"),
    [
        ("balanced", "quiet", "quiet"),
        ("eager", "balanced", "balanced"),
        ("balanced", "balanced", "balanced"),
        ("balanced", "eager", "balanced"),
        ("quiet", "eager", "quiet"),
    ],
)
def test_a_projects_file_only_makes_it_quieter(home, tmp_path, users, projects, holds):
    home.config_file.write_text(f"recall: {{level: {users}}}")
    report = read(home, project_in(tmp_path, f"recall: {{level: {projects}}}"))
    assert report.settings.recall.level == holds
    assert threshold(report) == SHIPPED.of(holds).threshold
    louder = LEVELS.index(projects) > LEVELS.index(users)
    assert [(one.layer, one.key, one.note) for one in report.warnings] == (
        [("project", "recall.level", True)] if louder else []
    )


@pytest.mark.parametrize("users", ["recall: {thresholds: {prompt: 0.2}}", "preset: typed"])
def test_a_projects_level_that_changes_nothing_is_noted(home, tmp_path, users):
    home.config_file.write_text(users)
    report = read(home, project_in(tmp_path, "recall: {level: quiet}"))
    assert threshold(report) == threshold(read(home))
    assert [(one.layer, one.key, one.note) for one in report.warnings] == [("project", "recall.level", True)]


def test_a_projects_file_may_raise_the_threshold_above_the_level(home, tmp_path):
    raised = read(home, project_in(tmp_path, "recall: {thresholds: {prompt: 0.9}}"))
    assert (threshold(raised), raised.explain(THRESHOLD)[-1].layer) == (0.9, "project")
    lowered = read(home, project_in(tmp_path, "recall: {thresholds: {prompt: 0.01}}"))
    assert threshold(lowered) == SHIPPED.balanced.threshold


def test_the_levels_of_the_home_hold_for_the_embedder_that_they_were_tuned_with(home):
    tuned(home)
    report = read(home)
    assert threshold(report) == 0.8
    assert report.explain(THRESHOLD)[-1].place == (
        "level balanced, tuned to this store: 8 tokens a prompt, 10 % of the prompts that deserve nothing"
    )
    other = read(home, overrides={"embedder": {"provider": "ollama", "model": "m"}})
    assert threshold(other) == SHIPPED.balanced.threshold
    tuned(home, provider="ollama", model="m")
    assert threshold(read(home)) == SHIPPED.balanced.threshold
    assert levels_in_use(EmbedderSettings(provider="ollama", model="m"), home).tuned


def test_a_damaged_file_of_the_home_is_noted_and_the_shipped_levels_hold(home):
    home.levels_file.write_text("{")
    report = read(home)
    assert threshold(report) == SHIPPED.balanced.threshold
    assert report.sound
    assert [str(home.levels_file) in str(one) for one in report.warnings] == [True]


def test_a_louder_level_with_a_higher_threshold_is_damage():
    data = encode_artifact(Artifact(name=NAME, origin=FitOrigin(what="levels"), values=TUNED))
    with pytest.raises(InvalidInput, match="a quieter level with a lower threshold"):
        decode_artifact(data.replace(b"0.9", b"0.1"), Levels, name=NAME)
    with pytest.raises(InvalidInput, match=r"a threshold between 0 and 1, not 1\.9"):
        decode_artifact(data.replace(b"0.9", b"1.9"), Levels, name=NAME)
    assert [astuple(level)[0] for _, level in TUNED.items()] == [0.9, 0.8, 0.7]


def test_a_running_program_follows_the_levels_of_the_home(home):
    seconds = iter(range(0, 100, 10))
    watcher = SettingsWatcher(home, environ={}, monotonic_s=lambda: float(next(seconds)))
    assert watcher.current().recall.thresholds.prompt == SHIPPED.balanced.threshold
    tuned(home)
    assert watcher.current().recall.thresholds.prompt == 0.8
    assert os.stat(home.levels_file).st_mode & 0o777 == 0o600  # noqa: PTH116


def test_what_a_level_sets_is_no_difference_of_its_own(home):
    assert read(home).changed() == ()
    assert read(home, overrides={"recall": {"level": "eager"}}).changed() == ("recall.level",)
    stated = read(home, overrides={"recall": {"thresholds": {"prompt": 0.7}}})
    assert stated.changed() == ("recall.thresholds.prompt",)
