"""Whether a model picks the right MCP tool and arguments for everyday requests, by its recorded answers, and whether these were given for the shipped tools."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from tacit.mcp.server import INSTRUCTIONS, listed_tools
from tacit.mcp.tools import BY_NAME, tools_of

FOLDER = Path(__file__).parents[1]
CASES: list[dict[str, Any]] = json.loads((FOLDER / "tool_choice/cases.json").read_text("utf-8"))["cases"]
RECORDED = json.loads((FOLDER / "answers/tool_choice/answers.json").read_text("utf-8"))
TARGET = 58


def digest_of_the_shipped_tools() -> str:
    """What names the tools that answers were recorded for: instructions and `tools/list` as a client gets them."""
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed_tools("lean")]
    told = {"instructions": INSTRUCTIONS, "tools": tools}
    text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def faults_of(right_calls: list[dict[str, Any]], answer: dict[str, Any]) -> list[str]:
    """What is wrong with an answer, compared with the nearest call that is right; [] = it is right."""
    return min((_faults_beside(right, answer) for right in right_calls), key=len)


def _faults_beside(right: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    if answer["tool"] != right["tool"]:
        return [f"called {answer['tool']} instead of {right['tool']}"]
    given = {name: _plain(answer.get("arguments", {}).get(name)) for name in right["arguments"]}
    return [
        f"`{name}` is {given[name]!r} without {pattern!r}"
        for name, patterns in right["arguments"].items()
        for pattern in patterns
        if not re.search(pattern, given[name], re.IGNORECASE)
    ]


def _plain(value: object) -> str:
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return ", ".join(map(str, listed))


def test_the_answers_were_recorded_for_the_shipped_tools():
    assert RECORDED["made_by"]
    assert RECORDED["tools"] == digest_of_the_shipped_tools(), "the tools changed: record the answers again"


def test_the_recorded_answers_are_right():
    faults = {case["id"]: faults_of(case["right"], RECORDED["answers"][case["id"]]) for case in CASES}
    wrong = {name: told for name, told in faults.items() if told}
    assert len(CASES) - len(wrong) >= TARGET, wrong


def test_a_wrong_tool_and_a_missing_argument_are_faults():
    right = [{"tool": "memory_update", "arguments": {"id": ["k3v9"], "when": ["commit", "^before"]}}]

    def faults(tool: str | None, **arguments: object) -> list[str]:
        return faults_of(right, {"tool": tool, "arguments": arguments})

    assert faults("memory_update", id="K3V9x", when=["before a commit"]) == []
    assert faults("memory_add") == ["called memory_add instead of memory_update"]
    assert faults(None) == ["called None instead of memory_update"]
    assert len(faults("memory_update", id="k3v9", when="a commit")) == 1
    assert len(faults("memory_update")) == 3
    assert faults_of([*right, {"tool": None, "arguments": {}}], {"tool": None}) == []


def test_the_cases_name_tools_and_arguments_that_exist():
    assert len({case["id"] for case in CASES}) == len(CASES) == 63
    calls = [right for case in CASES for right in case["right"]]
    assert {right["tool"] for right in calls} == {*(tool.name for tool in tools_of("lean")), None}
    for right in calls:
        known = BY_NAME[right["tool"]].schema["properties"] if right["tool"] else {}
        assert set(right["arguments"]) <= set(known), right
