"""What a daemon loads before somebody waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.ports.models import Vectors
from tacit.providers.embedding import FakeEmbedder


class Recording(FakeEmbedder):
    """Says whether its tokens were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        self.compared += 1
        return super().token_matches(text, others)


def test_no_prompt_is_the_first_to_embed_or_to_compare_tokens(make_engine) -> None:
    embedder = Recording()
    engine = make_engine(embedder)
    assert (embedder.texts, embedder.compared) == (0, 0)
    engine.warm()
    assert embedder.texts > 0
    assert embedder.compared > 0
