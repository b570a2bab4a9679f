"""What every second-stage model must do, whatever it reads with."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.ports.models import Reranker
from tacit.providers.reranking import FakeReranker
from tacit.providers.reranking.cross_encoder import CrossEncoder

MODELS = Path(__file__).parents[1] / "unit/providers"
TEXTS = [
    "",
    " \n",
    "tea and rain",
    "a lone \ud800 surrogate",
    "a NUL \0",
    "日本語 🎉",
    "word " * 2000,
    "x" * 100_000,
]


def _folder(path: Path, model: str) -> Path:
    path.mkdir()
    shutil.copy(MODELS / model, path / "model.onnx")
    (path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ntea\nrain\n")
    return path


@pytest.fixture(params=["fake", "cross_encoder"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Reranker:
    match request.param:
        case "cross_encoder":
            return CrossEncoder(_folder(tmp_path / "tiny", "pair_level.onnx"))
        case _:
            return FakeReranker()


def test_has_a_name(model: Reranker) -> None:
    assert model.name


def test_any_pair_of_texts_gets_the_same_score_again(model: Reranker) -> None:
    for text in TEXTS:
        for other in TEXTS:
            score = model.score(text, other)
            assert 0.0 <= score <= 1.0
            assert model.score(text, other) == score


def test_threads_get_the_same_scores(model: Reranker) -> None:
    pairs = [("tea", "rain"), ("rain", "tea rain"), ("tea rain", "tea")] * 4
    alone = [model.score(*pair) for pair in pairs]
    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(lambda pair: model.score(*pair), pairs)) == alone


def test_is_ready_in_a_while_without_making_anybody_wait(model: Reranker) -> None:
    for _ in range(3000):
        if model.ready:
            break
        time.sleep(0.01)
    assert model.ready
