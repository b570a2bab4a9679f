"""Token vectors of the shipped model: left in its file, compared as the definition says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import ProviderError
from tacit.fitted import FOLDER as FITTED
from tacit.providers.embedding.minilm import FOLDER, StaticTokens, read_weights, shipped_axes
from tacit.providers.embedding.wordpiece import WordPiece, read_vocabulary

SCRIPT = Path(__file__).parents[5] / "scripts" / "build_token_axes.py"


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(read_vocabulary(FOLDER / "vocab.txt"))


@pytest.fixture(scope="module")
def tokens(tokenizer: WordPiece) -> StaticTokens:
    return StaticTokens(FOLDER, tokenizer)


def test_the_shipped_axes_are_those_of_the_shipped_model(tmp_path: Path) -> None:
    out = tmp_path / "token_axes.json"
    subprocess.run([sys.executable, str(SCRIPT), "--out", str(out)], check=True)
    assert out.read_bytes() == (FITTED / out.name).read_bytes()


def test_the_direction_has_length_one_and_is_taken_away(tokens: StaticTokens) -> None:
    direction = np.array(shipped_axes().direction)
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-6)
    vectors = tokens.vectors(np.arange(1000, 1100, dtype=np.int32))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(100), abs=1e-5)
    assert np.abs(vectors @ direction).max() < 1e-4


def test_matches_are_the_best_cosines_of_the_vectors(tokens: StaticTokens, tokenizer: WordPiece) -> None:
    asked, others = "run the linter again", ["the linters ran", "a violin", ""]
    ids = [np.array(tokenizer.encode(text, max_tokens=99)[1:-1], np.int32) for text in (asked, *others)]
    rows = [tokens.vectors(one) for one in ids]
    expected = [(one @ rows[0].T).max(axis=0).clip(0, 1) for one in rows[1:3]]
    for _ in range(2):  # the second time by remembered lengths
        found = tokens.matches(asked, others)
        assert found[:2] == pytest.approx(np.array(expected), abs=1e-3)
        assert not found[2].any()


def test_the_rows_are_those_of_the_model(tokens: StaticTokens) -> None:
    stored = read_weights(FOLDER / "model.onnx")
    assert np.array_equal(tokens._rows, stored["words_quantized"])
    assert not tokens._rows.flags.writeable


@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_a_model_that_is_none_is_named(tmp_path: Path, tokenizer: WordPiece, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ProviderError, match="model"):
        StaticTokens(tmp_path, tokenizer)
