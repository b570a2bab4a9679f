"""Writers whose server is busy, broken, slow or wrong; and what leaves for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tacit.config.settings import PrivacySettings, WriterSettings
from tacit.errors import ProviderError
from tacit.ports.writer import Writer, WriterRequest
from tacit.providers.writing import key_variable, make_writer
from tacit.safety.redact import Redactor
from writer_server import (
    ANTHROPIC,
    OPENAI,
    SCHEMA,
    Reply,
    WriterServer,
    anthropic_answer,
    openai_answer,
    writer_server,
)


def asking(text: str) -> WriterRequest:
    return WriterRequest(system="Note what is marked.", user=text, most_output_tokens=500, schema=SCHEMA)


OWN = {"openai": openai_answer, "anthropic": anthropic_answer}
ASKED = asking("Worth knowing: tests come first.")
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@pytest.fixture
def server() -> Iterator[WriterServer]:
    with writer_server() as running:
        yield running


@pytest.fixture
def made(server: WriterServer) -> Iterator[Callable[..., Writer]]:
    """Makes a writer of a provider for the server."""
    opened: list[Writer] = []

    def make(provider: str, *, timeout_ms: int = 30_000, key: str = "k-secret") -> Writer:
        endpoint = f"{server.address}/v1" if provider == "openai" else server.address
        settings = WriterSettings(provider=provider, endpoint=endpoint, model="own", timeout_ms=timeout_ms)
        redactor = Redactor(PrivacySettings())
        writer = make_writer(
            settings, api_key=key, redact=lambda text: redactor.redact(text).text, environ={}
        )
        assert writer is not None
        opened.append(writer)
        return writer

    yield make
    for writer in opened:
        writer.close()


def answer(provider: str, found: object) -> Reply:
    shaped = openai_answer(found) if provider == "openai" else anthropic_answer(found)
    return Reply(body=json.dumps(shaped))


@BOTH
def test_the_real_api_would_take_the_request(
    server: WriterServer, made: Callable[..., Writer], provider: str
) -> None:
    answer = made(provider).write(ASKED)
    assert json.loads(answer.text) == {"learnings": ["tests come first."]}
    assert (answer.tokens_in, answer.tokens_out, answer.model) == (100, 20, "own")
    (path, headers, body) = server.requests[0]
    assert path == (OPENAI if provider == "openai" else ANTHROPIC)
    assert "k-secret" in headers.get("authorization", "") + headers.get("x-api-key", "")
    assert "k-secret" not in json.dumps(body)
    assert body["model"] == "own"


@BOTH
def test_no_secret_leaves(server: WriterServer, made: Callable[..., Writer], provider: str) -> None:
    key = "sk-ant-api03-" + "Zq3vT8nLw5Xb2Rk7" * 5 + "-AAAAAAAA"
    made(provider).write(asking(f"The key is {key}, write to jo.miller@corp-mail.com."))
    assert "Zq3vT8nLw5Xb2Rk7" not in server.sent
    assert "jo.miller" not in server.sent
    assert "[redacted:" in server.sent


def test_the_part_that_stays_the_same_is_marked_for_the_cache_where_the_api_wants_that(
    server: WriterServer, made: Callable[..., Writer]
) -> None:
    stable, rest = "Memories:\n1. ports are free\n", "Worth knowing: tests come first."
    request = replace(asking(stable + rest), stable_chars=len(stable))
    for provider in ("openai", "anthropic"):
        server.replies.append(Reply(body=json.dumps(OWN[provider]({"learnings": []}))))
        made(provider).write(request)
    assert server.requests[0][2]["messages"][1]["content"] == stable + rest
    first, second = server.requests[1][2]["messages"][0]["content"]
    assert first == {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}
    assert second == {"type": "text", "text": rest}


def test_redaction_keeps_the_two_parts_apart(server: WriterServer, made: Callable[..., Writer]) -> None:
    stable = "The token is ghp_" + "a1B2c3D4e5F6" * 3 + ".\n"
    server.replies.append(Reply(body=json.dumps(anthropic_answer({"learnings": []}))))
    made("anthropic").write(replace(asking(stable + "Go."), stable_chars=len(stable)))
    first, second = server.requests[0][2]["messages"][0]["content"]
    assert "ghp_" not in first["text"]
    assert first["text"].startswith("The token is ")
    assert second["text"] == "Go."


@BOTH
@pytest.mark.parametrize("drip", [False, True], ids=["silent", "byte by byte"])
def test_a_slow_server_is_not_waited_for(
    server: WriterServer, made: Callable[..., Writer], provider: str, drip: bool
) -> None:
    server.replies = [Reply(body="x" * 400, wait_s=0.0 if drip else 5.0, drip=drip)]
    with pytest.raises(ProviderError, match="did not answer") as caught:
        made(provider, timeout_ms=300).write(ASKED)
    assert caught.value.reason == "timed out"


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
    server: WriterServer,
    made: Callable[..., Writer],
    provider: str,
    shaped: dict[str, object],
    why: str,
) -> None:
    server.replies = [Reply(body=json.dumps(shaped))]
    with pytest.raises(ProviderError, match=why):
        made(provider).write(ASKED)
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize("found", ["not json", [], "[]", {}, {"other": 3}, None])
def test_a_wrong_answer_is_an_error_of_ours(
    server: WriterServer, made: Callable[..., Writer], provider: str, found: object
) -> None:
    server.replies = [answer(provider, found)]
    with pytest.raises(ProviderError) as caught:
        made(provider).write(ASKED)
    assert caught.value.reason == "garbage"


@BOTH
@pytest.mark.parametrize(
    "body", ["not json", "[]", "{}", '{"choices": []}', '{"choices": [7], "content": 7}']
)
def test_so_is_a_reply_of_another_shape(
    server: WriterServer, made: Callable[..., Writer], provider: str, body: str
) -> None:
    server.replies = [Reply(body=body)]
    with pytest.raises(ProviderError) as caught:
        made(provider).write(ASKED)
    assert caught.value.reason == "garbage"


@BOTH
def test_a_missing_key_is_refused_once(
    server: WriterServer, made: Callable[..., Writer], provider: str
) -> None:
    with pytest.raises(ProviderError, match="status 400"):
        made(provider, key="").write(ASKED)
    assert len(server.requests) == 1


@BOTH
def test_a_wrong_key_and_an_absent_server_are_told_apart(
    server: WriterServer, made: Callable[..., Writer], provider: str
) -> None:
    server.replies = [Reply(status=401)]
    with pytest.raises(ProviderError) as caught:
        made(provider).write(ASKED)
    assert caught.value.reason == "not logged in"
    settings = WriterSettings(provider=provider, endpoint="http://127.0.0.1:9/v1", timeout_ms=300)
    absent = make_writer(settings, redact=str, environ={})
    assert absent is not None
    with pytest.raises(ProviderError) as caught:
        absent.write(ASKED)
    assert caught.value.reason == "missing"


def test_off_is_off_and_keys_have_their_usual_names() -> None:
    assert make_writer(WriterSettings(), redact=str, environ={}) is None
    assert key_variable(WriterSettings()) == ""
    assert key_variable(WriterSettings(provider="openai")) == "OPENAI_API_KEY"
    assert key_variable(WriterSettings(provider="anthropic", api_key_env="MINE")) == "MINE"
