"""Models of other packages: made by the factory that an entry point leads to, and given redacted texts only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins import install_module
from tacit.config.settings import EmbedderSettings, WriterSettings
from tacit.ports.writer import WriterRequest
from tacit.providers.embedding import CachedEmbedder, make_embedder, waits_for_server
from tacit.providers.writing import key_variable, make_writer

CODE = """
from tacit.ports.writer import WriterAnswer
from tacit.providers.embedding import FakeEmbedder

seen = []

class Embedder(FakeEmbedder):
    def embed(self, texts):
        seen.extend(texts)
        return super().embed(texts)

class Writer:
    name = "acme:large"

    def write(self, request):
        seen.extend((request.system, request.user))
        return WriterAnswer(text="done", model="large")

    def cancel(self): ...
    def close(self): ...

def make_embedder(settings, *, api_key):
    seen.append((settings.model, api_key))
    return Embedder()

def make_writer(settings, *, api_key, environ):
    seen.append((settings.model, api_key, dict(environ)))
    return Writer()
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What the factories and the models of the installed package were given."""
    points = {f"tacit.{kind}s": {"acme": f"acme_models:make_{kind}"} for kind in ("embedder", "writer")}
    install_module(tmp_path, "acme_models", CODE, points)
    monkeypatch.syspath_prepend(tmp_path)
    import acme_models  # pyright: ignore[reportMissingImports]

    yield acme_models.seen
    del sys.modules["acme_models"]


def hide(text: str) -> str:
    return text.replace("hunter2", "[redacted]")


def test_an_embedder_gets_its_settings_the_key_and_redacted_texts(seen: list[object]):
    settings = EmbedderSettings(provider="acme", model="big")
    embedder = make_embedder(settings, api_key="k", redact=hide)
    assert isinstance(embedder, CachedEmbedder)
    assert embedder.embed(["the password is hunter2"]).shape == (1, embedder.identity.dimensions)
    assert seen == [("big", "k"), "the password is [redacted]"]
    assert waits_for_server(settings)
    assert not waits_for_server(EmbedderSettings())


def test_a_writer_gets_the_key_that_the_settings_name_and_redacted_requests(seen: list[object]):
    settings = WriterSettings(provider="acme", model="large", api_key_env="ACME_KEY")
    assert key_variable(settings) == "ACME_KEY"
    writer = make_writer(settings, api_key="k", redact=hide, environ={"LANG": "C"})
    assert writer is not None
    assert writer.name == "acme:large"
    answer = writer.write(WriterRequest(system="Be brief.", user="hunter2", most_output_tokens=5))
    assert answer.text == "done"
    assert seen == [("large", "k", {"LANG": "C"}), "Be brief.", "[redacted]"]
