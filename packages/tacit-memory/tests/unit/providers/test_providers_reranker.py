"""The second-stage model in a folder: scores computed by hand from the tables of tiny models, and what is refused."""

from __future__ import annotations

import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import ProviderError
from tacit.providers.reranker import CrossEncoder

HERE = Path(__file__).parent
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "rain", "git", "##hub")
TABLE = np.random.default_rng(1).normal(size=(32, 4)).astype(np.float32)  # as scripts/build_test_model.py
CLS, SEP, TEA, RAIN, GIT = 2, 3, 4, 5, 6


def folder(path: Path, model: str) -> Path:
    made = path / "tiny"
    made.mkdir(parents=True)
    shutil.copy(HERE / model, made / "model.onnx")
    (made / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return made


def test_a_pair_is_read_as_one_sequence(tmp_path: Path) -> None:
    """logit = rain + git + [SEP] of the second text - ([CLS] + tea + [SEP]) of the first, column 0 of the table."""
    column = TABLE[:, 0].astype(float)
    logit = column[[RAIN, GIT, SEP]].sum() - column[[CLS, TEA, SEP]].sum()
    found = CrossEncoder(folder(tmp_path, "pair_level.onnx")).score("tea", "rain git")
    assert found == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-5)


def test_long_texts_are_cut_and_keep_their_end_marks(tmp_path: Path) -> None:
    model = CrossEncoder(folder(tmp_path, "pair_level.onnx"))
    assert 0.0 <= model.score("tea " * 5000, "rain " * 5000) <= 1.0
    assert model.score("tea " * 5000, "rain") == model.score("tea " * 500, "rain")


def test_a_model_that_does_not_judge_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="numbers for a pair"):
        CrossEncoder(folder(tmp_path, "token_level.onnx")).score("tea", "rain")


def test_a_folder_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"holds no model\.onnx"):
        CrossEncoder(tmp_path)


def test_a_broken_model_is_told_to_whoever_asks_next(tmp_path: Path) -> None:
    made = folder(tmp_path, "pair_level.onnx")
    (made / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ProviderError):
        CrossEncoder(made).score("tea", "rain")


def test_threads_get_the_same_scores_whatever_characters_a_text_holds(tmp_path: Path) -> None:
    model = CrossEncoder(folder(tmp_path, "pair_level.onnx"))
    texts = [
        "",
        " \n",
        "tea and rain",
        "a lone \ud800 surrogate",
        "a NUL \0",
        "\u65e5\u672c\u8a9e",
        "x" * 100_000,
    ]
    pairs = [(text, other) for text in texts for other in texts]
    alone = [model.score(*pair) for pair in pairs]
    assert all(0.0 <= score <= 1.0 for score in alone)
    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(lambda pair: model.score(*pair), pairs)) == alone


def test_it_is_loaded_without_making_anybody_wait(tmp_path: Path) -> None:
    model = CrossEncoder(folder(tmp_path, "pair_level.onnx"))
    for _ in range(3000):
        if model.ready:
            break
        time.sleep(0.01)
    assert model.ready
