"""Spaces switched on and off one at a time, and the page that says what each brings."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.spaces import SPACES
from tacit_evals.ablation import ablate, table, variants
from tacit_evals.report.plots import risk_plot
from tacit_evals.suites.running import shipped_settings, without_spaces


def test_a_space_is_off_before_prompts_and_on_demand():
    settings, preset = without_spaces(shipped_settings(), ["lexical", "late"])
    assert {"lexical", "late"}.isdisjoint({*settings.spaces, *preset.spaces_on_demand})
    assert "semantic" in preset.spaces_on_demand
    with pytest.raises(InvalidInput, match="'graph'"):
        without_spaces(shipped_settings(), ["graph"])


def test_every_space_is_left_out_or_put_in():
    names = [one.name for one in variants(shipped_settings())]
    assert names[0] == "as shipped"
    for space in SPACES:
        assert f"without {space}" in names or f"with {space}" in names
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_the_page_has_a_line_for_every_set(data):
    outcomes = ablate(data, embedder=FakeEmbedder(), settings=shipped_settings(), say=lambda _line: None)
    page = table(outcomes)
    assert all(f"| {one.variant.name} |" in page for one in outcomes)
    assert outcomes[0].recall is None
    assert risk_plot(outcomes[0].card).startswith("<svg")
