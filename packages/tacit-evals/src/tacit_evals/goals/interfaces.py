"""What programs get: ids and structure in every answer of MCP, a description and an example of every operation, clients without a warning.

In: a daemon and the MCP SDK over `tacit mcp`; docs/reference/openapi.json; `scripts/generate_clients.py`. Out: counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from mcp import Client, StdioServerParameters, stdio_client

from tacit_evals.goals.goal import Goal, counted
from tacit_evals.goals.home import Place, place
from tacit_evals.goals.search import searches
from tacit_evals.plain_install import SOURCE

DOCUMENT = SOURCE / "docs" / "reference" / "openapi.json"
GENERATORS = 3
EVERY_NTH = 6
"""Of the searches, the part that each tool is asked."""
_ARGUMENT = {"inject_context": "topic", "get_context_for_task": "task_description"}
"""The argument that holds the words; elsewhere `query`, or none."""
_SHOWN_ID = re.compile(r"\bid (\w{4,})\)|\bmem_(\w+)")


def measure_mcp() -> list[Goal]:
    """Ask every tool that fetches memories, in the full set."""
    with place("mcp:\n  tools: full\n") as here:
        here.fill()
        answers = asyncio.run(_asked(here))
    return [_fetched(answers)]


async def _asked(here: Place) -> list[tuple[str, str, Any]]:
    """Tool, text and structured part of each answer."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tacit.cli.main", "mcp"],
        env=here.environment,
        cwd=str(here.work),
    )
    answers: list[tuple[str, str, Any]] = []
    async with Client(stdio_client(started)) as client:
        tools = (await client.list_tools()).tools
        fetching = [tool for tool in tools if "memories" in (tool.output_schema or {}).get("required", ())]
        for tool in fetching:
            for given in _given(tool.name, tool.input_schema["properties"]):
                # The SDK checks the structured part against the output schema and raises where it differs.
                answer = await client.call_tool(tool.name, given)
                text = "".join(part.text for part in answer.content if part.type == "text")
                answers.append((tool.name, text, None if answer.is_error else answer.structured_content))
    return answers


def _given(tool: str, known: Mapping[str, object]) -> Iterator[dict[str, str]]:
    """The arguments of each call."""
    name = _ARGUMENT.get(tool, "query" if "query" in known else "text" if "text" in known else "")
    if name not in _ARGUMENT.values() and tool != "memory_search":
        yield {}
    if name:
        yield from ({name: one.query} for one in searches()[::EVERY_NTH])


def faults_of(text: str, data: Mapping[str, Any] | None) -> list[str]:
    """What an answer lacks; empty = structured, with the id of each memory in both parts."""
    if data is None or "memories" not in data:
        return ["no structured part"]
    ids = [str(one.get("id", "")) for one in data["memories"]]
    faults = [f"{name!r} is no id" for name in ids if not name.startswith("mem_")]
    shown = [first or second for first, second in _SHOWN_ID.findall(text)]
    faults += [f"{name} is not shown in the text" for name in ids if not any(map(name.endswith, shown))]
    if len(shown) != len(ids):
        faults.append(f"the text shows {len(shown)} ids for {len(ids)} memories")
    return faults


def _fetched(answers: Sequence[tuple[str, str, Any]]) -> Goal:
    faults: list[str] = []
    wrong = 0
    memories = 0
    for tool, text, data in answers:
        found = faults_of(text, data)
        faults += [f"{tool}: {fault}" for fault in found]
        wrong += bool(found)
        memories += len(data["memories"]) if data else 0
    tools = ", ".join(f"{tool} {count}" for tool, count in Counter(one[0] for one in answers).items())
    return counted(
        "MCP fetch answers with ids and structured output",
        len(answers) - wrong if memories else 0,  # answers without memories have no ids to show
        len(answers),
        target="all",
        least=1.0,
        more=f"{memories} memories; {tools}",
        shown_by=("python -m tacit_evals.goals mcp",),
        faults=faults,
    )


def measure_operations() -> list[Goal]:
    """Count the operations of the document that have a description and an example."""
    return [operations_goal(json.loads(DOCUMENT.read_text("utf-8")))]


def operations_goal(document: Mapping[str, Any]) -> Goal:
    """How many operations have words and an example."""
    methods = ("get", "put", "post", "patch", "delete")
    operations = [
        cast("dict[str, Any]", path[method])
        for path in document["paths"].values()
        for method in methods
        if method in path
    ]
    faults = [f"{one['operationId']}: {lack}" for one in operations if (lack := _lack(one))]
    return counted(
        "operations with description and example",
        len(operations) - len(faults),
        len(operations),
        target="all",
        least=1.0,
        shown_by=("python -m tacit_evals.goals operations",),
        faults=faults,
    )


def _lack(operation: Mapping[str, Any]) -> str:
    """What an operation lacks; an answer without a body needs no example."""
    if not operation.get("description", "").strip():
        return "no description"
    answers = cast("dict[str, Any]", operation["responses"])
    contents = [content for answer in answers.values() for content in answer.get("content", {}).values()]
    if any("example" in content or "examples" in content for content in contents) or "204" in answers:
        return ""
    return "no example"


def measure_generators() -> list[Goal]:
    """Run the three generators."""
    program = SOURCE / "scripts" / "generate_clients.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    return [generators_goal(done.returncode, done.stdout, done.stderr)]


def generators_goal(code: int, said: str, failure: str) -> Goal:
    """How many generators made their clients, none of which counts if one of them warned or the program failed."""
    made = re.findall(r"^(\w+): (\S+)$", said, re.MULTILINE)
    generators = {generator for _, generator in made}
    right = len(generators) if code == 0 and "no warnings" in said else 0
    return counted(
        "generators without a warning",
        right,
        GENERATORS,
        target=f"{GENERATORS} of {GENERATORS}",
        least=1.0,
        more=", ".join(f"{generator} ({language})" for language, generator in made),
        shown_by=("python -m tacit_evals.goals generators",),
        faults=[] if right else [line for line in (said + failure).splitlines() if line.strip()][-20:],
    )
