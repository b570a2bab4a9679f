"""The MCP tools through the official SDK over stdio, with a real daemon and the shipped model."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import jsonschema
from mcp import Client, StdioServerParameters, stdio_client

from e2e.drivers.machine import Machine
from tacit.mcp.tools import BY_NAME, TOOLS

ASKED = "on which day do we ship?"
WORDS = "Releases of the shop go out on Thursdays now."
RULE = "Releases of the shop go out on Tuesdays."


@asynccontextmanager
async def client_of(machine: Machine) -> AsyncIterator[Client]:
    """A client of the official SDK for the machine's project."""
    environ = {**machine.environ, "CLAUDE_PROJECT_DIR": str(machine.project)}
    started = StdioServerParameters(
        command=str(machine.launcher), args=["mcp"], env=environ, cwd=machine.project
    )
    async with Client(stdio_client(started)) as client:
        yield client


async def data(client: Client, tool: str, **given: object) -> dict:
    answer = await client.call_tool(tool, given)
    assert not answer.is_error, answer.content
    jsonschema.validate(answer.structured_content, BY_NAME[tool].gives)
    return answer.structured_content


def test_a_memory_is_found_corrected_and_ended_by_its_id(live: Callable[..., Machine]) -> None:
    machine = live("recall:\n  deadline_ms: 20000")
    said = machine.remember(RULE, kind="decision")
    name = said["memory"]["id"]
    machine.prompt(WORDS, prompt_id="p1")

    async def talk() -> None:
        async with client_of(machine) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == [tool.name for tool in TOOLS if tool.lean]
            assert all(tool.title and tool.output_schema and tool.annotations for tool in listed)
            found = await data(client, "memory_search", query=ASKED)
            assert found["memories"][0]["id"] == name
            assert name in [one["id"] for one in (await data(client, "memory_context"))["memories"]]

            moved = "Releases of the shop go out on Thursdays."
            asked = await data(
                client, "memory_update", id=name, content="Releases of the shop go out on Sundays."
            )
            assert asked["changes"][0]["change"] == "add", "the agent saw otherwise: it ranks first"
            assert machine.request("GET", f"/v1/memories/{name}")["memory"]["content"] == RULE
            done = await data(client, "memory_update", id=name, content=moved, user_words=WORDS)
            assert name in done["changes"][0]["others"]
            text = json.dumps(await data(client, "memory_search", query=ASKED))
            assert "Thursdays" in text

            note = await data(client, "memory_add", content="Staging runs on heron.internal.", kind="fact")
            own = note["changes"][0]["id"]
            await data(client, "memory_update", id=own, content="Staging runs on egret.internal.")
            staging = await data(client, "memory_search", query="what host is staging on?")
            assert "egret" in json.dumps(staging)
            ended = await data(client, "memory_forget", id=own)
            machine.tacit("undo", ended["undo"])
            assert machine.request("GET", f"/v1/memories/{own}")["memory"]["status"] == "quarantined"

    anyio.run(talk)


def test_the_setting_chooses_the_tools_and_the_others_still_answer(live: Callable[..., Machine]) -> None:
    machine = live("recall:\n  deadline_ms: 20000")
    name = machine.remember(RULE, kind="decision")["memory"]["id"]

    async def names() -> set[str]:
        async with client_of(machine) as client:
            answer = await data(client, "memory_list")
            assert [one["id"] for one in answer["memories"]] == [name]
            return {tool.name for tool in (await client.list_tools()).tools}

    assert anyio.run(names) == {tool.name for tool in TOOLS if tool.lean}
    machine.tacit("config", "set", "mcp.tools", "full")
    end = time.monotonic() + 30  # the daemon looks at the file once a second
    while anyio.run(names) != {tool.name for tool in TOOLS}:
        assert time.monotonic() < end
