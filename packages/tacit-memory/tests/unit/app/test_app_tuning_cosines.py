"""`tune` measures an embedder of the user's own: bars from the store's pairs, kept for that embedder, and the shipped one left alone."""

from __future__ import annotations

import json

import pytest

from presets.driving import workplace
from tacit.app.tuning import LEAST_COSINES
from tacit.providers.embedding import FakeEmbedder

WORDS = "parser ledger printer warehouse invoice calendar gateway backup shipment coupon".split()


def fill(lab, *, prompts, memories):
    for n in range(memories):
        lab.know(f"The {WORDS[n % 10]} of desk {n} belongs to {WORDS[n // 10 % 10]} {n}", "fact")
    agent = lab.agent()
    agent.start()
    for n in range(prompts):
        agent.prompt(f"Look into the {WORDS[n % 10]} and repair its {WORDS[(n * 3 + 1) % 10]} number {n}")


@pytest.mark.slow
def test_bars_come_from_the_stores_own_pairs_and_are_kept_for_this_embedder(tmp_path):
    with workplace(tmp_path, "refresh") as lab:
        fill(lab, prompts=42, memories=50)
        before = lab.engine.settings.recall.refresh.similarity_later
        report = lab.engine.tune(bound=0.1).cosines
        assert report.pairs == 42 * 50
        assert report.pairs >= LEAST_COSINES
        bars = {bar.setting: bar for bar in report.bars}
        assert set(bars) == {
            "recall.refresh.similarity_first", "recall.refresh.similarity_later", "recall.refresh.cosine",
        }  # fmt: skip
        later = bars["recall.refresh.similarity_later"]
        assert (later.before, before, later.share) == (0.55, 0.55, 0.13)
        assert 0.0 < bars["recall.refresh.similarity_first"].after <= later.after < 1.0
        assert not lab.engine.home.unrelated_cosines_file.exists()
        lab.engine.tune(bound=0.1, apply=True)
        kept = json.loads(lab.engine.home.unrelated_cosines_file.read_text())
        assert kept["origin"]["details"]["provider"] == "fake"
        assert lab.engine.settings.recall.refresh.similarity_later == later.after


def test_few_pairs_give_no_bars(tmp_path):
    with workplace(tmp_path, "refresh") as lab:
        fill(lab, prompts=3, memories=4)
        report = lab.engine.tune(bound=0.1, apply=True).cosines
        assert (report.pairs, report.bars) == (12, ())
        assert not lab.engine.home.unrelated_cosines_file.exists()


def test_an_embedder_whose_cosines_ship_is_not_measured(make_engine):
    report = make_engine(preset="refresh").tune(bound=0.1).cosines
    assert (report.pairs, report.bars) == (0, ())
    assert report.embedder == str(FakeEmbedder().identity)
