"""A small agent on the published SDKs of the three APIs, and requests without what was added to them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tacit import Tacit

BLOCK = re.compile(r"(?:\n\n)?<tacit-memory\b.*?</tacit-memory>", re.DOTALL)
TURNS = 20
APIS = ("messages", "chat", "responses")
WAYS = ("sync", "stream", "async")
TOOLS: dict[str, list[dict[str, Any]]] = {
    "messages": [{"name": "read_file", "description": "Read.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}],
    "chat": [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}],
    "responses": [{"type": "function", "name": "read_file", "strict": False, "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}],
}  # fmt: skip


SETTINGS: dict[str, Any] = {
    "embedder": {"provider": "fake"},
    "recall": {
        "deadline_ms": 10_000,
        "reinject_after": 3,
        "thresholds": {"prompt": 0.0, "action": 0.0, "failure": 0.0},
    },
}


def memory_in(folder: Path) -> Tacit:
    """Open a memory in `folder` with a statement for each kind of prompt that the agent sends."""
    opened = Tacit.open(folder / "home", cwd=folder, settings=SETTINGS)
    opened.remember("Run make lint before every commit.", when="commit")
    opened.remember("We chose PostgreSQL over MySQL because of its JSON support.")
    opened.remember("src/billing.py holds the prices in cents.", when="path:src/billing.py")
    return opened


def sdk(name: str) -> Any:
    """Import an SDK. A test imports it when it first needs it, because the import takes seconds and every run collects this file."""
    return pytest.importorskip(name)


def client_of(api: str, way: str, url: str) -> Any:
    """Return a client of the SDK of an API, without memory."""
    told = {"api_key": "secret", "max_retries": 0}
    if api == "messages":
        anthropic = sdk("anthropic")
        return (anthropic.AsyncAnthropic if way == "async" else anthropic.Anthropic)(base_url=url, **told)
    openai = sdk("openai")
    return (openai.AsyncOpenAI if way == "async" else openai.OpenAI)(base_url=f"{url}/v1", **told)


def bare(value: Any) -> Any:
    """Return a request without the blocks that were added to it."""
    if isinstance(value, str):
        return BLOCK.sub("", value)
    if isinstance(value, dict):
        found = {name: bare(one) for name, one in value.items()}
        return {
            n: v
            for n, v in found.items()
            if not (n in ("system", "instructions") and v in ("", []) and value[n] != v)
        }
    if isinstance(value, list):
        kept = [(one, bare(one)) for one in value]
        return [new for old, new in kept if new == old or not emptied(new)]
    return value


def emptied(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("text") == "" or value.get("content") in ("", []))


def prompt(turn: int) -> str:
    asked = ("Please commit the changes in the billing module", "Which database do we use", "Thanks, go on")[
        turn % 3
    ]
    call = 'STUB_TOOL {"name": "read_file", "input": {"path": "src/billing.py"}} ' if turn % 5 == 4 else ""
    return f"{asked}, part {turn}. {call}STUB_TEXT answer-{turn}"


class Agent:
    """A small agent on one API: it keeps its own list, runs tools, and goes on until the model ends its turn."""

    def __init__(self, api: str, way: str, client: Any) -> None:
        self.api, self.way, self.client = api, way, client
        self.list: list[Any] = [{"role": "developer", "content": "You are terse."}] if api == "chat" else []

    async def turn(self, text: Any) -> None:
        self.list.append({"role": "user", "content": text})
        while True:
            before = copy.deepcopy(self.list)
            done = await getattr(self, f"_{self.api}")()
            assert self.list[: len(before)] == before
            if done:
                return

    async def _messages(self) -> bool:
        told = {"model": "m", "max_tokens": 100, "tools": TOOLS["messages"], "messages": self.list,
                "system": [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}]}  # fmt: skip
        if self.way == "stream":
            with self.client.messages.stream(**told) as stream:
                reply = stream.get_final_message()
        elif self.way == "async":
            async with self.client.messages.stream(**told) as stream:
                reply = await stream.get_final_message()
        else:
            reply = self.client.messages.create(**told)
        self.list.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": "PRICE = 100"} for call in calls
        ]
        if results:
            self.list.append({"role": "user", "content": results})
        return not calls

    async def _chat(self) -> bool:
        told = {"model": "m", "tools": TOOLS["chat"], "messages": self.list}
        if self.way == "stream":
            with self.client.chat.completions.stream(**told) as stream:
                reply = stream.get_final_completion()
        elif self.way == "async":
            reply = await self.client.chat.completions.create(**told)
        else:
            reply = self.client.chat.completions.create(**told)
        message = reply.choices[0].message
        self.list.append(message.model_dump(mode="json", exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls or ():
            self.list.append({"role": "tool", "tool_call_id": call.id, "content": "Error: no such file"})
        return not message.tool_calls

    async def _responses(self) -> bool:
        told = {
            "model": "m",
            "tools": TOOLS["responses"],
            "input": self.list,
            "instructions": "You are terse.",
        }
        if self.way == "stream":
            with self.client.responses.stream(**told) as stream:
                reply = stream.get_final_response()
        elif self.way == "async":
            reply = await self.client.responses.create(**told)
        else:
            reply = self.client.responses.create(**told)
        self.list += [
            item.model_dump(mode="json", exclude_none=True, exclude={"parsed_arguments"})
            for item in reply.output
        ]
        calls = [item for item in reply.output if item.type == "function_call"]
        self.list += [
            {"type": "function_call_output", "call_id": c.call_id, "output": "PRICE = 100"} for c in calls
        ]
        return not calls


async def converse(api: str, way: str, client: Any) -> None:
    agent = Agent(api, way, client)
    for turn in range(TURNS):
        await agent.turn(
            prompt(turn)
            if turn % 2
            else [{"type": "input_text" if api == "responses" else "text", "text": prompt(turn)}]
        )
    closing = client.close()
    if closing is not None:
        await closing
