"""The published SDKs through the proxy, against a server that speaks their APIs: requests differ by the blocks and by nothing else."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from proxies import proxy
from scripted_model import ScriptedModel
from sdk_agent import APIS, TOOLS, TURNS, WAYS, Agent, bare, client_of, converse, memory_in, prompt, sdk
from tacit import Tacit
from tacit.ports.store import MemoryFilter

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tacit]:
    with memory_in(tmp_path_factory.mktemp("proxy")) as opened:
        yield opened


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as stub:
        yield stub


def served(memory: Tacit, model: ScriptedModel, **options: Any) -> Any:
    home = memory.engine.home.root
    return proxy(home, memory, model.url, project=home.parent, **options)


@pytest.mark.parametrize(("api", "way"), [*zip(APIS, WAYS, strict=True)])
def test_twenty_turns_differ_by_the_blocks_alone(api: str, way: str, memory: Tacit) -> None:
    with ScriptedModel() as plain_model:
        asyncio.run(converse(api, way, client_of(api, way, plain_model.url)))
        plain = [dict(request.body) for request in plain_model.requests]
    with ScriptedModel() as model, served(memory, model) as running:
        asyncio.run(converse(api, way, client_of(api, way, running.url)))
        with_it = [dict(request.body) for request in model.requests]
    assert len(plain) == len(with_it) >= TURNS
    assert [bare(body) for body in with_it] == plain
    assert [list(bare(body)) for body in with_it] == [
        list(body) for body in plain
    ]  # the order of the fields, too
    assert all("<tacit-memory" in json.dumps(body) for body in with_it)
    name = "input" if api == "responses" else "messages"
    for before, after in itertools.pairwise(with_it):
        assert after[name][: len(before[name])] == before[name]  # byte for byte what went out before
        assert after.get("system") == before.get("system")
        assert after.get("instructions") == before.get("instructions")
    assert json.dumps(with_it[-1][name]).count("<tacit-memory") > 2


def test_pictures_tools_and_errors_pass(memory: Tacit, model: ScriptedModel) -> None:
    anthropic = sdk("anthropic")
    png = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    told: dict[str, Any] = {
        "model": "m", "max_tokens": 10, "tools": TOOLS["messages"], "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "Terse.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [png, {"type": "text", "text": prompt(0), "cache_control": {"type": "ephemeral"}}]}],
    }  # fmt: skip
    with served(memory, model) as running, client_of("messages", "sync", running.url) as client:
        raw = client.messages.with_raw_response.create(**told)
        assert raw.parse().content[0].text == "answer-0"
        body = model.requests[-1].body
        assert bare(body) == told
        assert body["system"][0] == told["system"][0]
        assert "<tacit-memory" in json.dumps(body)
        assert [m.id for m in client.models.list()] == ["stub-model"]
        assert client.messages.count_tokens(model="m", messages=told["messages"]).input_tokens > 0
        assert "<tacit-memory" not in json.dumps(model.requests[-1].body)
        with pytest.raises(anthropic.InternalServerError):
            client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "STUB_HTTP 500"}]
            )


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("api", APIS)
def test_streamed_answers_are_learned_from_by_choice(api: str, memory: Tacit, *, capture: bool) -> None:
    rule = {
        "messages": "sign commits with -S",
        "chat": "squash before merging",
        "responses": "tag every release",
    }[api]
    rule = rule if capture else f"{rule} twice"
    with ScriptedModel() as model, served(memory, model, capture=capture) as running:
        agent = Agent(api, "stream", client_of(api, "stream", running.url))
        asyncio.run(agent.turn(f"From now on always {rule}. STUB_TEXT noted"))
        agent.client.close()
    memory.flush()
    held = [one.content for one in memory.engine.list_memories(MemoryFilter(), limit=200)]
    assert any(rule in content for content in held) is capture, held
