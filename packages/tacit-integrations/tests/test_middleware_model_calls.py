"""The model calls of frameworks without a framework: lists of messages, and LiteLLM's module in front of a function of its shape."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit import Tacit
from tacit.library.message_formats import ROLE_CONTENT, MessageFacts
from tacit.ports.store import MemoryFilter
from tacit_integrations.litellm import with_memory
from tacit_integrations.model_calls import ModelCalls, as_fields

RULE = "Run make lint before every commit."
SETTINGS = {
    "embedder": {"provider": "fake"},
    "recall": {"deadline_ms": 10_000, "thresholds": {"prompt": 0.0, "action": 0.0, "failure": 0.0}},
}
SAID = [{"role": "user", "content": "Please commit the changes in the billing module."}]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Tacit]:
    with Tacit.open(tmp_path / "home", cwd=tmp_path, settings=SETTINGS) as opened:
        opened.remember(RULE, when="commit")
        yield opened


def calls_of(memory: Tacit, **told: Any) -> ModelCalls:
    return ModelCalls(memory, deadline_ms=10_000.0, **told)


def test_a_call_gets_what_is_known_and_the_list_stays(memory: Tacit) -> None:
    calls, before = calls_of(memory), copy.deepcopy(SAID)
    prepared = calls.prepare(SAID, ROLE_CONTENT)
    assert RULE in prepared.system
    assert before == SAID
    again = calls.prepare([*SAID, {"role": "assistant", "content": "Done."}], ROLE_CONTENT)
    assert again.system == prepared.system
    assert again.sent is not None
    assert again.sent.known is not None


def test_messages_that_nobody_can_read_go_out_as_they_are(
    memory: Tacit, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd:
        @property
        def role(self) -> str:
            raise ValueError("no role")

    odd = [Odd()]
    assert calls_of(memory).prepare(odd, ROLE_CONTENT).messages == odd
    assert "goes out without memory" in caplog.text
    assert calls_of(memory).prepare([], ROLE_CONTENT).messages == []

    def unreadable() -> MessageFacts:
        raise KeyError("content")

    calls = calls_of(memory)
    calls.answered(calls.prepare(SAID, ROLE_CONTENT).sent, unreadable)
    assert "not learned from" in caplog.text


def test_the_program_names_the_conversation(memory: Tacit) -> None:
    current = ["one"]
    calls = calls_of(memory, session=lambda: current[0])
    calls.prepare(SAID, ROLE_CONTENT, session="of the framework")
    current[0] = ""
    calls.prepare(SAID, ROLE_CONTENT, session="of the framework")
    memory.flush()
    assert {s.key.session_id for s in memory.engine.sessions()} == {"one", "of the framework"}


@pytest.mark.parametrize("capture", [False, True])
def test_learning_is_by_choice(memory: Tacit, capture: bool) -> None:
    said = [{"role": "user", "content": "From now on, always write dates as 2026-11-26."}]
    calls = calls_of(memory, capture=capture)
    prepared = calls.prepare(said, ROLE_CONTENT)
    calls.answered(prepared.sent, lambda: MessageFacts(role="assistant", text="Noted."))
    memory.flush()
    memory.engine.flush()
    kept = [m.content for m in memory.engine.list_memories(MemoryFilter(statuses=None))]
    assert any("2026-11-26" in content for content in kept) == capture
    assert [s.key.session_id for s in memory.engine.sessions()]  # its record is kept for recall either way


def test_a_fork_of_a_conversation_learns_no_more_than_it(memory: Tacit) -> None:
    session = memory.session("a", capture=False, deadline_ms=10_000.0)
    session.prepare(SAID)
    fork = session.fork("b")
    fork.prepare(
        [
            *SAID,
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "From now on, always use tabs."},
        ]
    )
    memory.flush()
    memory.engine.flush()
    assert len(memory.engine.list_memories(MemoryFilter(statuses=None))) == 1


def answer(text: str, calls: Any = None) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text, "tool_calls": calls}}], "usage": {"prompt_tokens": 7}}


def test_a_function_of_litellm_is_called_as_before(memory: Tacit) -> None:
    seen: list[dict[str, Any]] = []

    def completion(model: str, messages: list[Any], **told: Any) -> Any:
        seen.append({"model": model, "messages": messages, **told})
        chunk = {"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}
        return iter([chunk]) if told.get("stream") else answer("Done.")

    ours = with_memory(completion, memory, deadline_ms=10_000.0)
    ours("m", SAID, temperature=0, metadata={"tacit_session": "chat-7"})
    assert list(ours(model="m", messages=SAID, stream=True, metadata={"tacit_session": "chat-7"}))
    for call in seen:
        system, user = call["messages"]
        assert RULE in system["content"]
        assert user == SAID[0]
    assert seen[0]["messages"] == seen[1]["messages"]
    assert seen[0]["temperature"] == 0

    async def acompletion(model: str, messages: list[Any], **told: Any) -> Any:
        seen.append({"messages": messages})
        return answer("Done.")

    asyncio.run(with_memory(acompletion, memory, deadline_ms=10_000.0)("m", SAID))
    assert RULE in seen[-1]["messages"][0]["content"]

    def failing(model: str, messages: list[Any]) -> Any:
        raise ConnectionError("the model's own")

    with pytest.raises(ConnectionError):
        with_memory(failing, memory)("m", SAID)


def test_a_mapping_is_its_own_fields() -> None:
    assert as_fields({"a": 1}) == {"a": 1}
