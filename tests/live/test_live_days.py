"""For each preset, fifteen turns with the shipped model: payloads in, blocks out. Read these files as a user would."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.recorded_day import record_day, text_of
from tacit.config.preset_files import preset_names
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder

DAYS = Path(__file__).parent / "days"


def _turns(preset: str) -> Path:
    """Most presets live through the same turns; `scoped` answers when the agent asks, which needs turns of its own."""
    own = DAYS / f"turns.{preset}.yaml"
    return own if own.exists() else DAYS / "turns.yaml"


@pytest.mark.parametrize("preset", preset_names())
def test_a_day_of_fifteen_turns_gets_these_blocks(preset, tmp_path, check_golden):
    turns = _turns(preset)
    steps = record_day(
        tmp_path, host="claude-code", preset=preset,
        project=DAYS / "clinic.yaml", day=turns, embedder=make_embedder(EmbedderSettings()),
    )  # fmt: skip
    assert len(steps) == 15
    check_golden(DAYS / f"{preset}.yaml", text_of(steps, host="claude-code", preset=preset, day=turns))
