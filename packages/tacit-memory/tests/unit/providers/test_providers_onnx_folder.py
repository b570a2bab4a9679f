"""Model folders: layouts, pooling computed by hand, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import ProviderError
from tacit.providers.embedding.onnx_dir import OnnxFolder

MODEL = Path(__file__).with_name("token_level.onnx")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "rain", "git", "##hub")
TABLE = np.random.default_rng(1).normal(size=(32, 4)).astype(np.float32)  # as scripts/build_test_model.py


def folder(path: Path, *, pooling: str = "mean_tokens", where: str = "model.onnx") -> Path:
    made = path / "tiny"
    (made / where).parent.mkdir(parents=True)
    shutil.copy(MODEL, made / where)
    (made / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (made / "1_Pooling").mkdir()
    (made / "1_Pooling/config.json").write_text(
        json.dumps({"word_embedding_dimension": 4, f"pooling_mode_{pooling}": True})
    )
    return made


@pytest.mark.parametrize("where", ["model.onnx", "onnx/model.onnx"])
@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean_tokens", TABLE[[2, 4, 6, 7, 3]].mean(axis=0)),
        ("cls_token", TABLE[2]),
        ("max_tokens", TABLE[[2, 4, 6, 7, 3]].max(axis=0)),
    ],
)
def test_pooling_follows_the_folder(tmp_path: Path, where: str, pooling: str, expected: np.ndarray) -> None:
    vector = OnnxFolder(folder(tmp_path, pooling=pooling, where=where)).embed(["Tea GitHub"])[0]
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


def test_the_identity_follows_the_weights(tmp_path: Path) -> None:
    made = folder(tmp_path)
    before = OnnxFolder(made).identity
    assert before == OnnxFolder(made).identity
    assert before.name.startswith("onnx:tiny@")
    data = bytearray((made / "model.onnx").read_bytes())
    data[len(data) // 2] ^= 1
    (made / "model.onnx").write_bytes(bytes(data))
    assert OnnxFolder(made).identity != before


def test_the_identity_follows_the_pooling(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "1"), folder(tmp_path / "2", pooling="cls_token")
    assert OnnxFolder(one).identity != OnnxFolder(two).identity


def test_a_length_limit_is_kept(tmp_path: Path) -> None:
    made = folder(tmp_path, pooling="max_tokens")
    (made / "sentence_bert_config.json").write_text('{"max_seq_length": 3}')
    embedder = OnnxFolder(made)
    assert np.array_equal(embedder.embed(["tea"]), embedder.embed(["tea rain git rain"]))


@pytest.mark.parametrize("pooling", ["mean_sqrt_len_tokens", "lasttoken"])
def test_an_unknown_pooling_is_refused(tmp_path: Path, pooling: str) -> None:
    with pytest.raises(ProviderError, match=pooling):
        OnnxFolder(folder(tmp_path, pooling=pooling))


def test_a_layer_outside_the_model_is_refused(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]')
    with pytest.raises(ProviderError, match="Dense"):
        OnnxFolder(made)


def test_a_folder_must_say_how_long_its_vectors_are(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "1_Pooling/config.json").unlink()
    with pytest.raises(ProviderError, match="hidden_size"):
        OnnxFolder(made)


def test_a_wrong_length_is_found_out(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "1_Pooling/config.json").write_text('{"word_embedding_dimension": 5}')
    with pytest.raises(ProviderError, match="shape"):
        OnnxFolder(made).embed(["tea"])


def test_a_cased_vocabulary_needs_the_library(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(ProviderError, match=r"tacit-memory\[onnx-dir\]` from your clone"):
        OnnxFolder(made).embed(["tea"])


@pytest.mark.parametrize("name", ["1_Pooling/config.json", "modules.json", "sentence_bert_config.json"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    made = folder(tmp_path)
    (made / name).write_text("{")
    with pytest.raises(ProviderError, match="json"):
        OnnxFolder(made)
