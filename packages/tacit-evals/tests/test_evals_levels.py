"""The fit of the named levels: bounds, figures and the file by hand; the whole of it on made-up projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import memory_named
from tacit.config.levels import LEVELS, Levels, shipped_levels
from tacit.fitted import decode_artifact, encode_artifact
from tacit.model.evidence import Candidate
from tacit.model.scope import project_scope
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.fit.fitted import fit_with_lists
from tacit_evals.fit.gate import FRAME_TOKENS, LINE_TOKENS, Predicted, PromptCandidates
from tacit_evals.fit.levels import (
    MeasuredLevel,
    beside_fusion,
    fit_levels,
    level_row,
    levels_artifact,
    measured_level,
    report,
)
from tacit_evals.pool import shipped_settings

THRESHOLDS = {"quiet": 0.4, "balanced": 0.3, "eager": 0.2}


def predicted(item, needed, chances):
    asked = PromptCandidates(
        store="p",
        prompt_of="p",
        item=item,
        query=None,
        candidates=tuple(
            Candidate(memory=memory_named(name, name, scope=project_scope("p"), at_ms=0, tokens=12))
            for name in chances
        ),
        needed=dict.fromkeys(needed, 1),
        marginal=frozenset("m"),
        start=frozenset(),
        generic=frozenset(),
        nothing=not needed,
    )
    return Predicted(asked=asked, logits=chances)


def measured(project, level, **figures):
    given = {"precision": 0.5, "coverage": 0.1, "wrongful": 0.1, "tokens": 10.0, **figures}
    return MeasuredLevel(project=project, level=level, threshold=0.3, **given)


def test_the_figures_of_a_level_by_hand():
    """Three needed memories, one of them handed over, beside one that is not and one that is marginal; of two prompts that deserve
    nothing one got something. A line of 12 tokens costs 20, a block 14: 14 + 60 and 14 + 20 over four prompts."""
    assert (FRAME_TOKENS, LINE_TOKENS) == (14, 8)
    rows = [
        predicted("a", "sx", {"x": 0.9, "y": 0.5, "m": 0.5, "s": 0.1}),
        predicted("b", "z", {"z": 0.3}),
        predicted("c", "", {"y": 0.4}),
        predicted("d", "", {}),
    ]
    found = measured_level("p", "quiet", 0.4, rows)
    assert found.precision == pytest.approx(1 / 3)
    assert found.coverage == pytest.approx(1 / 3)
    assert (found.wrongful, found.tokens) == (0.5, (74 + 34) / 4)
    assert measured_level("p", "quiet", 0.4, [rows[1], rows[3]]).precision is None


def test_a_level_has_the_mean_of_the_projects_and_no_precision_of_a_silent_one():
    rows = [measured(project, name) for name in LEVELS for project in ("p", "q")]
    rows += [measured("r", "quiet", precision=None, coverage=0.4, wrongful=0.0, tokens=1.0)]
    artifact = levels_artifact(THRESHOLDS, rows, embedder="fake", date="2026-01-01")
    quiet = artifact.values.quiet
    assert (quiet.threshold, quiet.precision, quiet.coverage, quiet.wrongful, quiet.tokens) == (
        0.4, 0.5, 0.2, 0.0667, 7.0,
    )  # fmt: skip
    assert artifact.origin.projects == ("p", "q", "r")
    assert artifact.origin.details["balanced: worth"] == 3.0
    assert decode_artifact(encode_artifact(artifact), Levels, name="levels") == artifact
    lines = list(report(artifact.values, rows))
    assert lines[2] == level_row("`quiet`", quiet) == "| `quiet` | 0.4000 | 0.500 | 0.200 | 0.067 | 7.0 |"
    assert lines[5] == "| r | 0.3000 | - | 0.400 | 0.000 | 1.0 |"


@pytest.mark.slow
def test_levels_are_measured_on_every_project_left_out(labels):
    lists = fit_with_lists(
        [labels], exclude_projects=(), embedder=FakeEmbedder(), settings=shipped_settings()
    ).lists
    artifact, rows = fit_levels(lists, embedder="fake")
    assert {(one.project, one.level) for one in rows} == {
        (project, name) for project in ("alpha", "beta", "gamma") for name in LEVELS
    }
    assert len(list(beside_fusion(lists))) == 2 + len({one.project for one in rows})
    levels = artifact.values
    assert levels.quiet.threshold >= levels.balanced.threshold >= levels.eager.threshold


def test_the_guide_says_what_the_file_says():
    """The rows of docs/guide/quality.md are those that `tacit_evals.fit.levels` prints."""
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "quality.md").read_text("utf-8")
    for name, level in shipped_levels().items():
        assert level_row(f"`{name}`", level) in guide
