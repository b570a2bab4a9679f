"""The shipped model: its files, its vectors, and the same model in numpy."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import ProviderError
from tacit.providers.embedding.minilm import FOLDER, IDENTITY, MAX_TOKENS, MiniLM, read_weights

MANIFEST = json.loads((FOLDER / "manifest.json").read_text("utf-8"))

RELATED = [
    ("Run the linter after every change.", "Lint the code whenever you edit something."),
    ("The staging database listens on port 5433.", "Which port does Postgres use in staging?"),
    ("Never commit directly to main.", "Always open a pull request instead of pushing to the main branch."),
    ("Prefer composition over inheritance.", "Avoid deep class hierarchies."),
]

# First numbers of "This is an example sentence" and "Each sentence is converted" as the model's authors publish them.
PUBLISHED = {
    "This is an example sentence": (6.76569268e-02, 6.34959638e-02, 4.87131424e-02),
    "Each sentence is converted": (8.64385515e-02, 1.02762639e-01, 5.39456727e-03),
}


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM(runtime="onnxruntime")


@pytest.fixture(scope="module")
def in_numpy() -> MiniLM:
    return MiniLM(runtime="numpy")


def test_the_files_are_those_of_the_manifest() -> None:
    for name, key in (("model.onnx", "model_sha256"), ("vocab.txt", "vocab_sha256")):
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == MANIFEST[key]
    assert "Apache License" in (FOLDER / "NOTICE").read_text("utf-8")


def test_the_identity_is_that_of_the_manifest() -> None:
    assert IDENTITY.name == f"{MANIFEST['name']}@{MANIFEST['version']}"
    assert IDENTITY.dimensions == MANIFEST["dimensions"]
    assert MANIFEST["max_tokens"] == MAX_TOKENS


def test_related_texts_lie_closer_than_unrelated_ones(minilm: MiniLM) -> None:
    left = minilm.embed([pair[0] for pair in RELATED])
    right = minilm.embed([pair[1] for pair in RELATED])
    similarity = left @ right.T
    assert (similarity.argmax(axis=1) == np.arange(len(RELATED))).all()


@pytest.mark.parametrize("text", PUBLISHED)
def test_vectors_are_near_the_published_ones(minilm: MiniLM, text: str) -> None:
    assert minilm.embed([text])[0][:3] == pytest.approx(PUBLISHED[text], abs=0.015)


def test_numpy_agrees_with_onnxruntime(minilm: MiniLM, in_numpy: MiniLM) -> None:
    sentences = [text for pair in RELATED for text in pair] + ["word " * 300]
    assert (minilm.embed(sentences) * in_numpy.embed(sentences)).sum(axis=1).min() >= 0.98
    scraps = [
        "",
        "x",
        "Übergröße 日本語 🎉",
    ]  # with few tokens, the 8 bits of onnxruntime's activations tell more
    assert (minilm.embed(scraps) * in_numpy.embed(scraps)).sum(axis=1).min() >= 0.97


def test_words_beyond_the_limit_do_not_count(minilm: MiniLM) -> None:
    text = "word " * 254
    assert np.array_equal(minilm.embed([text])[0], minilm.embed([text + "and something else entirely"])[0])


def test_nothing_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    embedder = MiniLM(folder=tmp_path)
    assert embedder.identity == IDENTITY
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.parametrize("runtime", ["auto", "onnxruntime", "numpy"])
def test_a_missing_model_is_named(tmp_path: Path, runtime: str) -> None:
    shutil.copy(FOLDER / "vocab.txt", tmp_path)
    with pytest.raises(ProviderError, match=r"model\.onnx"):
        MiniLM(folder=tmp_path, runtime=runtime).embed(["x"])


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="vocabulary"):
        MiniLM(folder=tmp_path).warm()


@pytest.mark.parametrize("runtime", ["onnxruntime", "numpy"])
@pytest.mark.parametrize(
    "content", [b"", b"no model at all", (FOLDER / "model.onnx").read_bytes()[:1_000_000]]
)
def test_a_damaged_model_is_an_error_of_ours(tmp_path: Path, runtime: str, content: bytes) -> None:
    shutil.copy(FOLDER / "vocab.txt", tmp_path)
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ProviderError):
        MiniLM(folder=tmp_path, runtime=runtime).embed(["x"])


def test_a_failed_load_is_tried_again(tmp_path: Path) -> None:
    embedder = MiniLM(folder=tmp_path)
    with pytest.raises(ProviderError):
        embedder.embed(["x"])
    for name in ("model.onnx", "vocab.txt", "manifest.json"):
        shutil.copy(FOLDER / name, tmp_path)
    assert embedder.embed(["x"]).shape == (1, 384)


@pytest.mark.parametrize("runtime", ["onnxruntime", "numpy"])
@pytest.mark.parametrize("name", ["model.onnx", "vocab.txt"])
def test_a_file_that_is_not_the_released_one_is_refused(tmp_path: Path, runtime: str, name: str) -> None:
    for each in ("model.onnx", "vocab.txt", "manifest.json"):
        shutil.copy(FOLDER / each, tmp_path)
    content = bytearray((FOLDER / name).read_bytes())
    content[-100] ^= 1  # a weight, or a letter of a word: it loads as well as before
    (tmp_path / name).write_bytes(content)
    embedder = MiniLM(folder=tmp_path, runtime=runtime)
    embedder.warm()
    for _ in range(2):
        with pytest.raises(ProviderError, match="not the file that Tacit was released with") as caught:
            embedder.embed(["x"])
        assert name in caught.value.message
        assert "Reinstall Tacit" in caught.value.hint
    shutil.copy(FOLDER / name, tmp_path)
    assert embedder.embed(["x"]).shape == (1, 384)


def test_weights_are_read_without_onnx() -> None:
    weights = read_weights(FOLDER / "model.onnx")
    assert weights["words_quantized"].shape == (30522, 384)
    assert weights["layer5.down.weight_quantized"].dtype == np.int8
    assert weights["layer5.down.weight_scale"].shape == (384,)


def test_without_onnxruntime_the_model_runs_in_numpy() -> None:
    program = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from tacit.providers.embedding.minilm import MiniLM\n"
        "print(MiniLM().embed(['hello']).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 384)\n"
    assert "numpy" in done.stderr


@pytest.mark.slow
def test_onnxruntime_reports_nothing_to_its_makers(tmp_path: Path):
    """Its packages send what was loaded, and keep a device id in the user's folder, unless it is forbidden before the import."""
    environ = {
        name: value for name, value in os.environ.items() if name not in {"CI", "ORT_DISABLE_TELEMETRY"}
    }
    program = (
        "from tacit.providers.embedding.minilm import MiniLM; MiniLM(runtime='onnxruntime').embed(['a'])"
    )

    subprocess.run([sys.executable, "-c", program], env=environ | {"HOME": str(tmp_path)}, check=True)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_file_of_axes_gives_the_same_vectors(tmp_path: Path, minilm: MiniLM) -> None:
    for name in ("model.onnx", "vocab.txt", "manifest.json"):
        shutil.copy(FOLDER / name, tmp_path)
    texts = [text for pair in RELATED for text in pair]
    assert np.array_equal(MiniLM(folder=tmp_path, runtime="onnxruntime").embed(texts), minilm.embed(texts))


_MEMORY_OF_A_MODEL = """
import ctypes
from pathlib import Path
import numpy as np, onnxruntime
from tacit.providers.embedding.minilm import MiniLM

def kb():
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))

before = kb()
embedder = MiniLM(runtime="onnxruntime")
embedder.embed(["Run the linter after every change."])
embedder.token_matches("linter", ["Run the linter"])
print(kb() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not tell")
def test_the_token_table_is_mapped_and_not_copied() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY_OF_A_MODEL], capture_output=True, text=True, check=True
    )
    model_kb = (FOLDER / "model.onnx").stat().st_size // 1024
    assert int(done.stdout) < model_kb  # half of the model is the table; all of it takes more than its size
