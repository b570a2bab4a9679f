"""The published SDKs with memory, against a server that speaks their APIs: requests differ by the blocks and by nothing else."""

from __future__ import annotations

import asyncio
import copy
import functools
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from pydantic import BaseModel

from scripted_model import ScriptedModel
from sdk_agent import (
    APIS,
    SETTINGS,
    TURNS,
    WAYS,
    Agent,
    bare,
    client_of,
    converse,
    memory_in,
    prompt,
    sdk,
)
from tacit import Tacit
from tacit.errors import InvalidInput
from tacit.ports.store import MemoryFilter
from tacit_integrations import http_client, with_memory

pytestmark = pytest.mark.slow

SLOW = 10_000.0


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tacit]:
    with memory_in(tmp_path_factory.mktemp("middleware")) as opened:
        yield opened


@pytest.fixture(scope="module")
def loud(memory: Tacit) -> Iterator[Tacit]:
    """The same memory without a start pack: every prompt gets what is known."""
    home = memory.engine.home.root
    recall = {**SETTINGS["recall"], "budgets": {"start": 0}}
    with Tacit.open(home, cwd=home.parent, settings={**SETTINGS, "recall": recall}) as opened:
        yield opened


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as stub:
        yield stub


OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every client of a test ends with it."""
    yield
    while OPENED:
        closing = OPENED.pop().close()
        if closing is not None:
            asyncio.run(closing)


def opened_client(api: str, model: ScriptedModel, way: str = "sync") -> Any:
    """Return a client of the SDK of an API. It is closed after the test."""
    OPENED.append(client_of(api, way, model.url))
    return OPENED[-1]


def remembering(client: Any, memory: Tacit, **told: Any) -> Any:
    return with_memory(client, memory, deadline_ms=SLOW, **told)


@functools.cache
def plain_record(api: str, way: str) -> list[dict[str, Any]]:
    return recorded(api, way, None)


def recorded(api: str, way: str, memory: Tacit | None) -> list[dict[str, Any]]:
    with ScriptedModel() as model:
        client = opened_client(api, model, way)
        asyncio.run(converse(api, way, client if memory is None else remembering(client, memory)))
        return [dict(request.body) for request in model.requests]


@pytest.mark.parametrize(("api", "way"), [*zip(APIS, WAYS, strict=True)])
def test_twenty_turns_differ_by_the_blocks_alone(api: str, way: str, memory: Tacit) -> None:
    plain = plain_record(api, way)
    with_it = recorded(api, way, memory)
    assert len(plain) == len(with_it) >= TURNS
    assert [bare(body) for body in with_it] == plain
    assert sum("<tacit-memory" in json.dumps(body) for body in with_it) == len(with_it)
    name = "input" if api == "responses" else "messages"
    for before, after in itertools.pairwise(with_it):
        assert after[name][: len(before[name])] == before[name]  # byte for byte what went out before
        assert after.get("system") == before.get("system")
        assert after.get("instructions") == before.get("instructions")
    blocks = json.dumps(with_it[-1][name]).count("<tacit-memory")
    assert blocks > 2


@pytest.mark.parametrize("api", APIS)
def test_without_a_daemon_the_very_bytes_go_out(api: str, tmp_path: Path) -> None:
    plain = plain_record(api, "sync")
    with Tacit.connect(tmp_path / "none", cwd="", start=False) as dead:
        assert recorded(api, "sync", dead) == plain


def test_what_is_handed_to_a_call_stays_as_it_is(loud: Tacit, memory: Tacit, model: ScriptedModel) -> None:
    client = opened_client("messages", model)
    ours = remembering(client, loud)
    assert type(ours) is sdk("anthropic").Anthropic
    assert ours is not client
    assert client._client is not ours._client
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    given: dict[str, Any] = {
        "model": "m", "max_tokens": 10, "stop_sequences": ["x"], "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "Terse.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [png, {"type": "text", "text": prompt(0), "cache_control": {"type": "ephemeral"}}]}],
    }  # fmt: skip
    before = copy.deepcopy(given)
    ours.messages.create(**given)
    assert given == before
    body = model.requests[-1].body
    assert bare(body) == given
    assert body["messages"][0]["content"][:2] == given["messages"][0]["content"]
    assert body["messages"][0]["content"][2]["type"] == "text"
    remembering(client, memory).messages.create(**given)
    body = model.requests[-1].body
    assert bare(body) == given
    assert body["system"][0] == given["system"][0]
    assert body["system"][1]["text"].startswith("<tacit-memory")


def test_options_raw_responses_streams_and_retries_pass_through(memory: Tacit, model: ScriptedModel) -> None:
    ours = remembering(opened_client("messages", model), memory)
    told = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": prompt(0)}]}
    raw = ours.messages.with_raw_response.create(**told)
    assert raw.parse().content[0].text == "answer-0"
    assert raw.http_response.status_code == 200
    with ours.messages.with_streaming_response.create(**told) as response:
        assert json.loads(response.read())["content"][0]["text"] == "answer-0"
    kinds = [event.type for event in ours.messages.create(stream=True, **told)]
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    other = ours.with_options(timeout=3, default_headers={"X-Own": "1"})
    other.messages.create(**told)
    assert model.requests[-1].headers["x-own"] == "1"
    assert "<tacit-memory" in json.dumps(model.requests[-1].body)
    assert ours.messages.count_tokens(model="m", messages=told["messages"]).input_tokens > 0
    assert "<tacit-memory" not in json.dumps(model.requests[-1].body)
    bodies = [json.dumps(r.body["messages"]) for r in model.model_requests]
    assert len(set(bodies)) == 1  # the same prompt, the same bytes
    beta = ours.beta.messages.create(**told)
    assert beta.content[0].text == "answer-0"
    assert "<tacit-memory" in json.dumps(model.requests[-1].body)


class Answer(BaseModel):
    number: int


def test_parsed_answers_pass_through(memory: Tacit, model: ScriptedModel) -> None:
    ours = remembering(opened_client("chat", model), memory)
    said = 'Commit it. STUB_TEXT "{\\"number\\": 7}"'
    found = ours.chat.completions.parse(
        model="m", messages=[{"role": "user", "content": said}], response_format=Answer
    )
    assert found.choices[0].message.parsed == Answer(number=7)
    found = ours.responses.parse(model="m", input=said, text_format=Answer)
    assert found.output_parsed == Answer(number=7)
    assert model.requests[-1].body["input"].startswith(said)
    parsed = remembering(opened_client("messages", model), memory).messages.parse(
        model="m", max_tokens=9, messages=[{"role": "user", "content": said}], output_format=Answer
    )
    assert parsed.parsed_output == Answer(number=7)


def test_errors_are_the_apis_own(memory: Tacit, model: ScriptedModel) -> None:
    ours = remembering(opened_client("messages", model), memory)
    with pytest.raises(sdk("anthropic").InternalServerError):
        ours.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "STUB_HTTP 500"}])


def test_headers_say_whose_request_it_is_and_do_not_go_out(memory: Tacit, model: ScriptedModel) -> None:
    ours = remembering(opened_client("messages", model), memory)
    told = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": prompt(0)}]}
    ours.messages.create(extra_headers={"X-Tacit": "off"}, **told)
    assert model.requests[-1].body == told
    ours.messages.create(extra_headers={"X-Tacit-Session": "my-chat"}, **told)
    assert "<tacit-memory" in json.dumps(model.requests[-1].body)
    assert not [name for request in model.requests for name in request.headers if "tacit" in name]
    memory.flush()
    assert any(state.key.session_id == "my-chat" for state in memory.engine.sessions(limit=100))


@pytest.mark.parametrize("api", APIS)
def test_what_is_said_is_learned_from(api: str, memory: Tacit) -> None:
    rule = {
        "messages": "sign commits with -S",
        "chat": "squash before merging",
        "responses": "tag every release",
    }[api]
    with ScriptedModel() as model:
        agent = Agent(api, "stream", remembering(opened_client(api, model), memory))
        asyncio.run(agent.turn(f"From now on always {rule}. STUB_TEXT noted"))
    memory.flush()
    held = [one.content for one in memory.engine.list_memories(MemoryFilter(), limit=200)]
    assert any(rule in content for content in held), held


def test_a_framework_may_be_given_the_http_client(memory: Tacit, model: ScriptedModel) -> None:
    carrier = http_client(httpx.Client(), memory, deadline_ms=SLOW)
    assert isinstance(carrier, httpx.Client)
    ours = sdk("openai").OpenAI(api_key="secret", base_url=f"{model.url}/v1", http_client=carrier)
    OPENED.append(ours)
    found = ours.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt(1)}])
    assert found.choices[0].message.content == "answer-1"
    assert "<tacit-memory" in json.dumps(model.requests[-1].body)
    with pytest.raises(InvalidInput):
        http_client("https://example.com", memory)


def test_what_is_no_client_is_refused(memory: Tacit) -> None:
    with pytest.raises(InvalidInput):
        with_memory(object(), memory)
