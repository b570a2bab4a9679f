"""Fifteen turns of `scoped` with the shipped model, the answers of its tool among them. Read `day.yaml` as a user would."""

from __future__ import annotations

from pathlib import Path

from golden.recorded_day import record_day, text_of
from live.test_live_days import DAYS
from presets.acceptance import acceptance
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder

HERE = Path(__file__).parent
TURNS = HERE / "turns.yaml"


@acceptance("scoped", "MODE-1", "MODE-2", "FORMAT")
def test_a_day_of_start_packs_and_answers_reads_so(tmp_path, check_golden):
    steps = record_day(
        tmp_path, host="claude-code", preset="scoped",
        project=DAYS / "clinic.yaml", day=TURNS, embedder=make_embedder(EmbedderSettings()),
    )  # fmt: skip
    assert len(steps) == 15
    check_golden(HERE / "day.yaml", text_of(steps, host="claude-code", preset="scoped", day=TURNS))
