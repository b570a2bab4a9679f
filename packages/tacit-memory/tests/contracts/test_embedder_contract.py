"""What every embedder must do, whatever makes its vectors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model_server import model_server
from tacit.ports.models import Embedder
from tacit.providers.embedding import CachedEmbedder, FakeEmbedder
from tacit.providers.embedding.http import OLLAMA, OPENAI, RemoteEmbedder
from tacit.providers.embedding.minilm import FOLDER, MiniLM
from tacit.providers.embedding.onnx_dir import OnnxFolder
from tacit.providers.json_client import JsonClient

TEXTS = [
    "Run the linter after every change.",
    "Use pnpm, never npm.",
    "",
    " \n\t ",
    "a lone \ud800 surrogate \udfff",
    "a NUL \0 and \x07\x1b control characters",
    "日本語 और हिन्दी 🎉",
    "word " * 2000,
    "x" * 100_000,
    "Use pnpm, never npm.",
]


def _onnx_folder(path: Path) -> OnnxFolder:
    folder = path / "some-model"
    folder.mkdir()
    shutil.copy(FOLDER / "model.onnx", folder)
    shutil.copy(FOLDER / "vocab.txt", folder)
    (folder / "config.json").write_text('{"hidden_size": 384}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    return OnnxFolder(folder)


def _openai(stack: ExitStack) -> RemoteEmbedder:
    server = stack.enter_context(model_server(dimensions=16))
    client = JsonClient(server.address, timeout_ms=30_000)
    stack.callback(client.close)
    return RemoteEmbedder(OPENAI, model="some-model", dimensions=16, client=client)


def _ollama(stack: ExitStack) -> RemoteEmbedder:
    server = stack.enter_context(model_server(dimensions=16))
    client = JsonClient(server.address, timeout_ms=30_000)
    stack.callback(client.close)
    return RemoteEmbedder(OLLAMA, model="some-model", dimensions=16, client=client)


MAKERS: dict[str, Callable[[ExitStack, Path], Embedder]] = {
    "fake": lambda stack, path: FakeEmbedder(),
    "fake-2d": lambda stack, path: FakeEmbedder(dimensions=2),
    "minilm": lambda stack, path: MiniLM(runtime="onnxruntime"),
    "minilm-numpy": lambda stack, path: MiniLM(runtime="numpy"),
    "cached": lambda stack, path: CachedEmbedder(FakeEmbedder(), entries=3, ttl_s=60),
    "onnx-folder": lambda stack, path: _onnx_folder(path),
    "openai": lambda stack, path: _openai(stack),
    "ollama": lambda stack, path: _ollama(stack),
}


@pytest.fixture(scope="module", params=MAKERS)
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    with ExitStack() as stack:
        yield MAKERS[request.param](stack, tmp_path_factory.mktemp("embedder"))


def test_shape_type_and_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.identity.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_nothing_in_nothing_out(embedder: Embedder) -> None:
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.identity.dimensions)
    assert vectors.dtype == np.float32


def test_equal_texts_give_equal_rows(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert np.array_equal(vectors[1], vectors[9])
    assert np.array_equal(embedder.embed(TEXTS), vectors)


def test_a_row_depends_on_its_text_alone(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS[:5])
    alone = [embedder.embed([text])[0] for text in reversed(TEXTS[:5])]
    assert np.allclose(together, alone[::-1], atol=1e-6)


def test_order_is_kept(embedder: Embedder) -> None:
    texts = [
        f"statement number {index} about {word}" for index, word in enumerate(["tea", "git", "rain", "port"])
    ]
    assert np.allclose(embedder.embed(texts)[::-1], embedder.embed(texts[::-1]), atol=1e-6)


def test_a_returned_array_belongs_to_the_caller(embedder: Embedder) -> None:
    before = embedder.embed(TEXTS[:1]).copy()
    embedder.embed(TEXTS[:1])[:] = 7.0
    assert np.array_equal(embedder.embed(TEXTS[:1]), before)


def test_identity_is_stable_and_names_a_version(embedder: Embedder) -> None:
    assert embedder.identity == embedder.identity
    assert embedder.identity.name
    assert embedder.identity.dimensions > 0


def test_threads_share_one_embedder(embedder: Embedder) -> None:
    texts = [f"{word} {index}" for index in range(2) for word in ("lint", "deploy", "rollback")]
    expected = embedder.embed(texts)

    def ask(shift: int) -> bool:
        order = [*range(shift, len(texts)), *range(shift)]
        return np.allclose(embedder.embed([texts[i] for i in order]), expected[order], atol=1e-6)

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert all(pool.map(ask, range(4)))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=3))
def test_any_text_has_a_vector(embedder: Embedder, texts: list[str]) -> None:
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), embedder.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("model", [FakeEmbedder(), MiniLM()], ids=["fake", "minilm"])
class TestTokenMatches:
    """What an embedder that knows tokens promises (`TokenEmbedder`)."""

    def test_equal_tokens_match_fully_and_others_less(self, model: FakeEmbedder | MiniLM) -> None:
        best = model.token_matches("linter", ["run the linter", "violin lessons"])
        assert best.shape[0] == 2
        assert best.dtype == np.float32
        assert best[0].min() == pytest.approx(1.0, abs=1e-5)
        assert best[1].min() < 0.9

    def test_an_empty_text_matches_nothing(self, model: FakeEmbedder | MiniLM) -> None:
        assert model.token_matches("", ["linter"]).shape == (1, 0)
        assert not model.token_matches("linter", [""]).any()
        assert model.token_matches("linter", []).shape[0] == 0
