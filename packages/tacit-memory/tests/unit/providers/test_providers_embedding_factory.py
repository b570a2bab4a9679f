"""`make_embedder`: the right provider, nothing loaded, errors that name the setting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from model_server import model_server
from tacit.config.settings import EmbedderSettings
from tacit.errors import ProviderError
from tacit.providers.embedding import CachedEmbedder, FakeEmbedder, make_embedder


@pytest.mark.parametrize(
    ("settings", "identity"),
    [
        (EmbedderSettings(), "all-minilm-l6-v2-int8@1/384"),
        (EmbedderSettings(provider="fake"), "fake-hashed-words@1/384"),
        (EmbedderSettings(provider="openai"), "openai:text-embedding-3-small/1536"),
        (EmbedderSettings(provider="openai", model="own", dimensions=99), "openai:own/99"),
        (EmbedderSettings(provider="ollama"), "ollama:nomic-embed-text/768"),
        (EmbedderSettings(provider="ollama", model="all-minilm:33m"), "ollama:all-minilm:33m/384"),
    ],
)
def test_the_identity_is_known_at_once(settings: EmbedderSettings, identity: str) -> None:
    assert str(make_embedder(settings).identity) == identity


def test_without_cache_entries_there_is_no_cache() -> None:
    assert isinstance(make_embedder(EmbedderSettings(provider="fake"), cache_entries=0), FakeEmbedder)
    assert isinstance(make_embedder(EmbedderSettings(provider="fake")), CachedEmbedder)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_an_unknown_vector_length_must_be_set(provider: str) -> None:
    with pytest.raises(ProviderError, match=r"embedder\.dimensions"):
        make_embedder(EmbedderSettings(provider=provider, model="nobody-knows-it"))


@pytest.mark.parametrize("endpoint", ["localhost:11434", "file:///etc/passwd", "http://", "not a url"])
def test_a_wrong_endpoint_is_refused_at_once(endpoint: str) -> None:
    with pytest.raises(ProviderError, match=r"embedder\.endpoint"):
        make_embedder(EmbedderSettings(provider="ollama", endpoint=endpoint))


def test_a_folder_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"model\.onnx"):
        make_embedder(EmbedderSettings(provider="onnx", model=str(tmp_path)))


def test_the_key_and_the_redactor_reach_the_server() -> None:
    settings = EmbedderSettings(provider="openai", model="own", dimensions=16)
    with model_server() as server:
        settings = settings.model_copy(update={"endpoint": f"{server.address}/v1/"})
        embedder = make_embedder(
            settings,
            api_key="k-123",
            redact=lambda text: text.replace("hunter2", "[secret]"),
            cache_entries=0,
        )
        vectors = embedder.embed(["the password is hunter2"])
        embedder.close()  # type: ignore[attr-defined]
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["authorization"] == "Bearer k-123"
    assert body["input"] == ["the password is [secret]"]
    assert np.array_equal(vectors, FakeEmbedder(dimensions=16).embed(["the password is [secret]"]))


def test_importing_and_making_loads_no_model_library() -> None:
    program = (
        "import sys\n"
        "from tacit.config.settings import EmbedderSettings\n"
        "from tacit.providers.embedding import make_embedder\n"
        "from tacit.providers.tokens import ExactCounter\n"
        "for provider in ('minilm', 'openai', 'ollama', 'fake'):\n"
        "    make_embedder(EmbedderSettings(provider=provider)).identity\n"
        "ExactCounter().count('a text')\n"
        "print([m for m in ('onnxruntime', 'httpx', 'tiktoken', 'tokenizers') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
