"""The fit of the named levels: bounds, figures and the file by hand; the whole of it on made-up projects."""

from __future__ import annotations

import pytest

from tacit.config.levels import LEVELS, Levels
from tacit.fitted import decode_artifact, encode_artifact
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data.judged import Judgment
from tacit_evals.fit.gate import ALPHA, FOREIGN, TOKENS
from tacit_evals.fit.levels import (
    BOUNDS,
    MeasuredLevel,
    fit_levels,
    level_row,
    levels_artifact,
    measured_level,
    report,
)
from tacit_evals.metrics.counts import ItemResult, count
from tacit_evals.suites.running import shipped_settings

THRESHOLDS = {"quiet": 0.4, "balanced": 0.3, "eager": 0.2}


def handed(item, needed, pack, *, tokens=0):
    judgment = Judgment(needed=dict.fromkeys(needed, 1), nothing=not needed)
    return ItemResult(
        item=item, session="s", judgment=judgment, start=frozenset("s"), pack=tuple(pack), tokens=tokens
    )


def measured(project, level, **figures):
    given = {"precision": 0.5, "coverage": 0.1, "wrongful": 0.1, "tokens": 10.0, **figures}
    return MeasuredLevel(project=project, level=level, threshold=0.3, **given)


def test_balanced_has_the_bounds_of_the_gate_and_every_level_more_room_than_the_one_before():
    quiet, balanced, eager = (BOUNDS[name] for name in LEVELS)
    assert (balanced.alpha, balanced.foreign, balanced.tokens) == (ALPHA, FOREIGN, TOKENS)
    for less, more in ((quiet, balanced), (balanced, eager)):
        assert less.alpha < more.alpha
        assert less.foreign < more.foreign
        assert less.tokens < more.tokens


def test_the_figures_of_a_level_by_hand():
    """Four prompts, three needed memories, `s` of them in the start pack. The packs hold three, one of them needed; of the two
    prompts that deserve nothing one got something; 60 tokens in all."""
    items = [
        handed("a", "sx", "xy", tokens=40),
        handed("b", "z", ""),
        handed("c", "", "y", tokens=20),
        handed("d", "", ""),
    ]
    found = measured_level("p", "quiet", 0.4, count(items, learned=frozenset()))
    assert found.precision == pytest.approx(1 / 3)
    assert found.coverage == pytest.approx(1 / 3)
    assert (found.wrongful, found.tokens) == (0.5, 15.0)
    silent = measured_level("p", "quiet", 0.4, count([items[1], items[3]], learned=frozenset()))
    assert silent.precision is None


def test_a_level_has_the_mean_of_the_projects_and_no_precision_of_a_silent_one():
    rows = [measured(project, name) for name in LEVELS for project in ("p", "q")]
    rows += [measured("r", "quiet", precision=None, coverage=0.4, wrongful=0.0, tokens=1.0)]
    artifact = levels_artifact(THRESHOLDS, rows, embedder=FakeEmbedder(), date="2026-01-01")
    quiet = artifact.values.quiet
    assert (quiet.threshold, quiet.precision, quiet.coverage, quiet.wrongful, quiet.tokens) == (
        0.4, 0.5, 0.2, 0.0667, 7.0,
    )  # fmt: skip
    assert artifact.origin.projects == ("p", "q", "r")
    assert artifact.origin.details["quiet: alpha"] == 0.05
    assert decode_artifact(encode_artifact(artifact), Levels, name="levels") == artifact
    lines = list(report(artifact.values, rows))
    assert lines[2] == level_row("`quiet`", quiet) == "| `quiet` | 0.4000 | 0.500 | 0.200 | 0.067 | 7.0 |"
    assert lines[5] == "| r | 0.3000 | - | 0.400 | 0.000 | 1.0 |"


@pytest.mark.slow
def test_levels_are_fitted_and_measured_on_every_project_left_out(labels, capsys):
    artifact, rows = fit_levels(
        [labels], embedder=FakeEmbedder(), settings=shipped_settings(), date="2026-01-01"
    )
    assert {(one.project, one.level) for one in rows} == {
        (project, name) for project in ("alpha", "beta", "gamma") for name in LEVELS
    }
    levels = artifact.values
    assert levels.quiet.threshold >= levels.balanced.threshold >= levels.eager.threshold
    assert "fitting without gamma" in capsys.readouterr().out
