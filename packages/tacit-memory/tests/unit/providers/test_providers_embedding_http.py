"""Model servers that are busy, broken or wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from model_server import ModelServer, Reply, model_server
from tacit.errors import ProviderError
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.embedding.http import OLLAMA, OPENAI, RemoteEmbedder, sendable
from tacit.providers.json_client import JsonClient, bearer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(server: ModelServer, pauses: list[float]) -> Iterator[JsonClient]:
    made = JsonClient(server.address, headers=bearer("k-secret"), timeout_ms=30_000, sleep=pauses.append)
    yield made
    made.close()


@pytest.fixture
def openai(client: JsonClient) -> RemoteEmbedder:
    return RemoteEmbedder(OPENAI, model="own", dimensions=16, client=client)


def test_a_busy_server_is_asked_again(
    server: ModelServer, openai: RemoteEmbedder, pauses: list[float]
) -> None:
    server.replies = [Reply(status=429), Reply(status=503), Reply(status=500)]
    assert np.array_equal(openai.embed(["a b"]), FakeEmbedder(dimensions=16).embed(["a b"]))
    assert pauses == [0.25, 0.5, 1.0]
    assert len(server.requests) == 4


def test_the_servers_own_pause_is_kept(
    server: ModelServer, openai: RemoteEmbedder, pauses: list[float]
) -> None:
    server.replies = [
        Reply(status=429, headers={"Retry-After": "1"}),
        Reply(status=429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    ]
    openai.embed(["a"])
    assert pauses == [1.0, 0.5]


def test_a_pause_beyond_the_timeout_is_not_waited_for(
    server: ModelServer, openai: RemoteEmbedder, pauses: list[float]
) -> None:
    server.replies = [Reply(status=429, headers={"Retry-After": "60"})]
    with pytest.raises(ProviderError, match="status 429") as caught:
        openai.embed(["a"])
    assert caught.value.reason == "refused"
    assert pauses == []


def test_it_gives_up(server: ModelServer, openai: RemoteEmbedder) -> None:
    server.replies = [Reply(status=status) for status in (502, 504, 529, 502, 502)]
    with pytest.raises(ProviderError, match="4 tries"):
        openai.embed(["a"])
    assert len(server.requests) == 4


def test_nobody_listens() -> None:
    with model_server() as server:
        address = server.address
    client = JsonClient(address, timeout_ms=500)
    with pytest.raises(ProviderError, match="did not answer"):
        RemoteEmbedder(OLLAMA, model="own", dimensions=16, client=client).embed(["a"])
    client.close()


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_a_refusal_is_final_and_keeps_the_key(
    server: ModelServer, openai: RemoteEmbedder, status: int
) -> None:
    server.replies = [Reply(status=status, body="you may not", headers={"Location": "/elsewhere"})]
    said = "refused the key: status 401" if status == 401 else "you may not"
    with pytest.raises(ProviderError, match=said) as caught:
        openai.embed(["a"])
    assert "k-secret" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "[]",
        "{}",
        '{"data": 3}',
        '{"data": []}',
        '{"data": [{"embedding": [1, 2]}]}',
        '{"data": [{"embedding": "text"}]}',
        '{"data": [{"index": 1, "embedding": [1, 2]}]}',
        json.dumps({"data": [{"embedding": [0] * 16}]}),
        json.dumps({"data": [{"embedding": [1] * 15 + [float("nan")]}]}),
        json.dumps({"data": [{"embedding": [1] * 16}, {"embedding": [1] * 16}]}),
        json.dumps({"data": [{"index": 0, "embedding": [1] * 15 + [None]}]}),
    ],
)
def test_a_wrong_answer_is_an_error_of_ours(server: ModelServer, openai: RemoteEmbedder, body: str) -> None:
    server.replies = [Reply(body=body)]
    with pytest.raises(ProviderError):
        openai.embed(["a"])


@pytest.mark.parametrize(
    "body", ["{}", '{"embeddings": [[1, 2]]}', '{"embeddings": "x"}', '{"embeddings": null}']
)
def test_a_wrong_answer_of_ollama_too(server: ModelServer, client: JsonClient, body: str) -> None:
    server.replies = [Reply(body=body)]
    with pytest.raises(ProviderError):
        RemoteEmbedder(OLLAMA, model="own", dimensions=16, client=client).embed(["a"])


def test_texts_go_in_batches_and_each_once(server: ModelServer, openai: RemoteEmbedder) -> None:
    texts = [f"text {index % 150}" for index in range(300)]
    assert np.array_equal(openai.embed(texts), FakeEmbedder(dimensions=16).embed(texts))
    assert [len(body["input"]) for _, _, body in server.requests] == [64, 64, 22]


@pytest.mark.parametrize(("dimensions", "asked"), [(1536, None), (16, 16)])
def test_a_shorter_vector_is_asked_of_models_that_have_one(
    server: ModelServer, client: JsonClient, dimensions: int, asked: int | None
) -> None:
    server.dimensions = dimensions
    server.replies = [Reply(body=json.dumps({"data": [{"embedding": [1] * dimensions}]}))]
    RemoteEmbedder(OPENAI, model="text-embedding-3-small", dimensions=dimensions, client=client).embed(["a"])
    assert server.requests[0][2].get("dimensions") == asked


@pytest.mark.parametrize(
    ("text", "sent"), [("a\0b", "a b"), ("\ud800", "?"), ("", "."), (" \n", "."), ("abcdefgh", "abcdef")]
)
def test_what_is_sent_is_valid(text: str, sent: str) -> None:
    assert sendable(text, most_chars=6) == sent
