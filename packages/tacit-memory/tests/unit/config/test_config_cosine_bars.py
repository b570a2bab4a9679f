"""A preset's cosine bars for the embedder in use: the layer, the files that may speak, and who wins."""

from __future__ import annotations

import pytest

from tacit.config.cosine_bars import NAME, SHARES, CosineBar, bars_from, details_of, stated_shares
from tacit.config.fields import default_values
from tacit.config.layers import read_settings
from tacit.config.preset_files import preset_names
from tacit.config.settings import EmbedderSettings
from tacit.fitted import Artifact, FitOrigin, encode_artifact

KEY = "recall.refresh.similarity_later"


def measured(home, **embedder):
    """Write what `tune` would write for an embedder: half of the shares at 0.6, the rest at 0.8."""
    settings = EmbedderSettings(**embedder)
    values = tuple(CosineBar(share=share, cosine=0.6 if share >= 0.03 else 0.8) for share in SHARES)
    origin = FitOrigin(what="x", made_by="tune", embedder="mine@1/3", details=details_of(settings))
    artifact = Artifact(name=NAME, origin=origin, values=values)
    home.unrelated_cosines_file.write_bytes(encode_artifact(artifact))


def read(home, **overrides):
    return read_settings(home, overrides={"preset": "refresh", **overrides}, environ={})


def test_bars_of_a_hundred_pairs():
    """Hand-computed: of 0.00 to 0.99 one pair in a hundred reaches 0.99, five reach 0.95, twenty reach 0.80; no half pair."""
    bars = {bar.share: bar.cosine for bar in bars_from([n / 100 for n in range(100)])}
    assert (bars[0.01], bars[0.05], bars[0.2]) == (0.99, 0.95, 0.8)
    assert 0.005 not in bars


def test_the_shipped_embedder_has_its_own_bars_below_the_designs_numbers(home):
    report = read(home)
    default, embedder = report.explain(KEY)
    assert (default.layer, default.value, embedder.layer) == ("default", 0.55, "embedder")
    assert report.settings.recall.refresh.similarity_later == embedder.value < 0.45
    assert "3% of unrelated pairs reach it" in embedder.place
    assert report.settings.recall.refresh.similarity_first < report.settings.recall.refresh.similarity_later


def test_an_embedder_that_nobody_measured_keeps_the_designs_numbers(home):
    report = read(home, embedder={"provider": "ollama", "model": "nomic-embed-text"})
    assert report.settings.recall.refresh.similarity_later == 0.55
    assert [one.layer for one in report.explain(KEY)] == ["default"]


def test_what_was_measured_in_the_home_speaks_of_that_embedder_alone(home):
    measured(home, provider="ollama", model="nomic-embed-text")
    mine = read(home, embedder={"provider": "ollama", "model": "nomic-embed-text"})
    assert mine.settings.recall.refresh.similarity_later == 0.6
    other = read(home, embedder={"provider": "ollama", "model": "another"})
    assert other.settings.recall.refresh.similarity_later == 0.55
    assert read(home).settings.recall.refresh.similarity_later < 0.45


def test_a_mapping_gets_a_bar_for_each_of_its_names(home):
    measured(home, provider="ollama", model="m")
    given = {"preset": "typed", "embedder": {"provider": "ollama", "model": "m"}}
    floors = read_settings(home, overrides=given, environ={}).settings.recall.typed
    assert (floors.similarity["preference"], floors.similarity["outcome"], floors.certain) == (0.6, 0.8, 0.8)


@pytest.mark.parametrize(("calibrated", "decision"), [(None, 0.40), ("false", 0.40), ("true", 0.409)])
def test_typed_has_the_designs_numbers_with_the_shipped_model_unless_the_user_wants_measured_ones(
    home, calibrated, decision
):
    more = f"recall: {{typed: {{calibrated: {calibrated}}}}}\n" if calibrated else ""
    home.config_file.write_text(f"preset: typed\n{more}")
    floors = read_settings(home, environ={}).settings.recall.typed
    assert floors.similarity["decision"] == pytest.approx(decision, abs=0.0005)


def test_the_users_own_number_wins(home):
    home.config_file.write_text("preset: refresh\nrecall:\n  refresh: {similarity_later: 0.7}\n")
    settings = read_settings(home, environ={}).settings
    assert settings.recall.refresh.similarity_later == 0.7


def test_a_damaged_measurement_is_noted_and_changes_nothing(home):
    home.unrelated_cosines_file.write_text("{")
    report = read(home)
    assert report.settings.recall.refresh.similarity_later == 0.55
    assert report.sound
    assert [NAME in str(one) for one in report.warnings] == [True]


@pytest.mark.parametrize("preset", preset_names())
def test_every_stated_share_is_one_that_is_measured_and_stands_beside_a_number(preset):
    for key, share in stated_shares(preset).items():
        design = default_values()[key]
        if isinstance(share, float):
            assert share in SHARES
            assert isinstance(design, float)
        else:
            assert set(share) == set(design), f"{preset}: {key}"
            assert set(share.values()) <= set(SHARES)
