"""What a daemon loads before somebody waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.app.wiring import open_engine
from tacit.ports.models import Vectors
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder


class Recording(FakeEmbedder):
    """Says whether its tokens were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        self.compared += 1
        return super().token_matches(text, others)


def test_no_prompt_is_the_first_to_embed_or_to_compare_tokens(tmp_path: Path) -> None:
    embedder = Recording()
    engine = open_engine(tmp_path / "home", clock=FakeClock(now_ms=1_800_000_000_000), embedder=embedder)
    try:
        assert (embedder.texts, embedder.compared) == (0, 0)
        engine.warm()
        assert embedder.texts > 0
        assert embedder.compared > 0
    finally:
        engine.close()
