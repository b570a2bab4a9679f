"""Extractors whose server is busy, broken, slow or wrong; and what leaves for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from extraction_server import (
    ANTHROPIC,
    OPENAI,
    ExtractionServer,
    Reply,
    anthropic_answer,
    extraction_server,
    openai_answer,
)
from tacit.config.settings import ExtractorSettings, PrivacySettings
from tacit.errors import ProviderError
from tacit.ports.extraction import Extractor, Utterance
from tacit.providers.extraction import key_variable, make_extractor, questions
from tacit.providers.extraction.openai import OPENAI as OPENAI_DIALECT
from tacit.providers.extraction.remote import RemoteExtractor
from tacit.providers.json_client import JsonClient
from tacit.safety.redact import Redactor

ASKED = (Utterance(number=1, role="user", text="Note well: tests come first."),)
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@pytest.fixture
def server() -> Iterator[ExtractionServer]:
    with extraction_server() as running:
        yield running


@pytest.fixture
def made(server: ExtractionServer) -> Iterator[Callable[..., Extractor]]:
    """Makes an extractor of a provider for the server."""
    opened: list[Extractor] = []

    def make(provider: str, *, timeout_ms: int = 30_000, key: str = "k-secret") -> Extractor:
        endpoint = f"{server.address}/v1" if provider == "openai" else server.address
        settings = ExtractorSettings(provider=provider, endpoint=endpoint, model="own", timeout_ms=timeout_ms)
        redactor = Redactor(PrivacySettings())
        extractor = make_extractor(settings, api_key=key, redact=lambda text: redactor.redact(text).text)
        assert extractor is not None
        opened.append(extractor)
        return extractor

    yield make
    for extractor in opened:
        extractor.close()


def answer(provider: str, found: object) -> Reply:
    shaped = openai_answer(found) if provider == "openai" else anthropic_answer(found)
    return Reply(body=json.dumps(shaped))


@BOTH
def test_the_real_api_would_take_the_request(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str
) -> None:
    found = made(provider).extract(ASKED, kinds=("preference",))
    assert [one.content for one in found.found] == ["tests come first"]
    assert found.tokens == 120
    (path, headers, body) = server.requests[0]
    assert path == (OPENAI if provider == "openai" else ANTHROPIC)
    assert "k-secret" in headers.get("authorization", "") + headers.get("x-api-key", "")
    assert "k-secret" not in json.dumps(body)
    assert body["model"] == "own"


@BOTH
def test_no_secret_leaves(server: ExtractionServer, made: Callable[..., Extractor], provider: str) -> None:
    key = "sk-ant-api03-" + "Zq3vT8nLw5Xb2Rk7" * 5 + "-AAAAAAAA"
    told = Utterance(number=1, role="user", text=f"The key is {key}, write to jo.miller@corp-mail.com.")
    made(provider).extract([told], kinds=("fact",))
    assert "Zq3vT8nLw5Xb2Rk7" not in server.sent
    assert "jo.miller" not in server.sent
    assert "[redacted:" in server.sent


@BOTH
def test_a_busy_server_is_asked_again(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str
) -> None:
    server.replies = [
        Reply(status=429, headers={"Retry-After": "0"}), Reply(status=500), Reply(status=529, headers={"Retry-After": "0"}),
    ]  # fmt: skip
    assert len(made(provider).extract(ASKED, kinds=("fact",)).found) == 1
    assert len(server.requests) == 4


def test_the_servers_own_pause_is_kept_within_the_deadline(server: ExtractionServer) -> None:
    pauses: list[float] = []
    client = JsonClient(f"{server.address}/v1", key="k", timeout_ms=30_000, sleep=pauses.append)
    extractor = RemoteExtractor(OPENAI_DIALECT, model="own", most_output_tokens=100, client=client)
    server.replies = [
        Reply(status=429, headers={"Retry-After": "1"}),
        Reply(status=429, headers={"Retry-After": "60"}),
    ]
    with pytest.raises(ProviderError, match="status 429"):
        extractor.extract(ASKED, kinds=("fact",))
    assert pauses == [1.0]
    client.close()


@BOTH
@pytest.mark.parametrize("drip", [False, True], ids=["silent", "byte by byte"])
def test_a_slow_server_is_not_waited_for(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str, drip: bool
) -> None:
    server.replies = [Reply(body="x" * 400, wait_s=0.0 if drip else 5.0, drip=drip)]
    with pytest.raises(ProviderError, match="did not answer"):
        made(provider, timeout_ms=300).extract(ASKED, kinds=("fact",))


@pytest.mark.parametrize(
    ("provider", "shaped", "why"),
    [
        ("openai", openai_answer({}, refusal="I can't help with that."), "refused"),
        ("openai", openai_answer("", finish="content_filter"), "refused"),
        ("openai", openai_answer('{"learnings": [{"con', finish="length"), "cut off"),
        ("anthropic", anthropic_answer({}, stop="refusal"), "refused"),
        ("anthropic", anthropic_answer({"learnings": []}, stop="max_tokens"), "cut off"),
    ],
)
def test_a_refusal_and_a_cut_are_errors_of_ours(
    server: ExtractionServer,
    made: Callable[..., Extractor],
    provider: str,
    shaped: dict[str, object],
    why: str,
) -> None:
    server.replies = [Reply(body=json.dumps(shaped))]
    with pytest.raises(ProviderError, match=why):
        made(provider).extract(ASKED, kinds=("fact",))
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize("found", ["not json", [], "[]", {}, {"learnings": 3}, {"learnings": "none"}, None])
def test_a_wrong_answer_is_an_error_of_ours(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str, found: object
) -> None:
    server.replies = [answer(provider, found)]
    with pytest.raises(ProviderError):
        made(provider).extract(ASKED, kinds=("fact",))


@BOTH
@pytest.mark.parametrize(
    "body", ["not json", "[]", "{}", '{"choices": []}', '{"choices": [7], "content": 7}']
)
def test_so_is_a_reply_of_another_shape(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str, body: str
) -> None:
    server.replies = [Reply(body=body)]
    with pytest.raises(ProviderError):
        made(provider).extract(ASKED, kinds=("fact",))


@BOTH
def test_a_missing_key_is_refused_once(
    server: ExtractionServer, made: Callable[..., Extractor], provider: str
) -> None:
    with pytest.raises(ProviderError, match="status 400"):
        made(provider, key="").extract(ASKED, kinds=("fact",))
    assert len(server.requests) == 1


def test_an_entry_of_another_shape_is_left_out() -> None:
    right = {
        "content": "Tests come first",
        "kind": "fact",
        "message": 1,
        "quote": "tests come first",
        "confidence": 2,
    }
    wrong = [
        7, {}, {**right, "kind": "poem"}, {**right, "message": True}, {**right, "message": "1"}, {**right, "content": " "},
        {**right, "quote": ""}, {**right, "quote": 7},
    ]  # fmt: skip
    (found,) = questions.read_answer({"learnings": [*wrong, right]}, kinds=("fact",))
    assert (found.content, found.confidence) == ("Tests come first", 0.5)
    most = questions.read_answer({"learnings": [right] * 99}, kinds=("fact",))
    assert len(most) == questions.MOST_ENTRIES


def test_off_is_off_and_keys_have_their_usual_names() -> None:
    assert make_extractor(ExtractorSettings(), redact=str) is None
    assert key_variable(ExtractorSettings()) == ""
    assert key_variable(ExtractorSettings(provider="openai")) == "OPENAI_API_KEY"
    assert key_variable(ExtractorSettings(provider="anthropic", api_key_env="MINE")) == "MINE"
