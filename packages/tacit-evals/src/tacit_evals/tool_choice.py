"""Whether a model picks the right MCP tool and arguments for everyday requests, by its recorded answers: `python -m tacit_evals.tool_choice`."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from tacit.mcp.server import INSTRUCTIONS, listed_tools

DATA = Path(__file__).parents[2] / "tool_choice"
ANSWERS = Path(__file__).parents[2] / "answers" / "tool_choice" / "answers.json"
TARGET = 58
"""Right answers of 63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A first call that is right for a request; `tool` None = none is needed.

    `arguments`: for each argument that matters, regular expressions that must all be found in its value.
    """

    tool: str | None
    arguments: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCase:
    """A request after the turns `before` ("user: ..." and "assistant: ..."), what its author wanted, and the calls that are right, the best one first."""

    id: str
    before: str
    request: str
    intent: str
    right: tuple[Right, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The call that a model answered with; `tool` None = it called none."""

    tool: str | None
    arguments: Mapping[str, Any]


def load_cases(path: Path = DATA / "cases.json") -> tuple[ToolCase, ...]:
    """The cases of a file."""
    return tuple(
        ToolCase(**{**case, "right": tuple(Right(**right) for right in case["right"])})
        for case in json.loads(path.read_text("utf-8"))["cases"]
    )


def shipped_tools() -> str:
    """Instructions and tools as JSON, as a client gets them."""
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed_tools("lean")]
    return (
        json.dumps(
            {"instructions": INSTRUCTIONS, "tools": tools}, indent=1, ensure_ascii=False, sort_keys=True
        )
        + "\n"
    )


def requests_of(cases: Sequence[ToolCase]) -> str:
    """What the model is asked, one case a line, without the right call."""
    start = _turn("system", (DATA / "start.txt").read_text("utf-8").strip())
    lines = (
        {"id": case.id, "messages": [start, *_turns(case.before), _turn("user", case.request)]}
        for case in cases
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _turns(before: str) -> list[dict[str, str]]:
    parts = re.split(r"^(user|assistant): ", before, flags=re.MULTILINE)[1:]
    return [_turn(role, text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def digest_of(tools: str) -> str:
    """What names the tools that answers were recorded for."""
    return hashlib.sha256(tools.encode("utf-8")).hexdigest()[:16]


def faults_of(case: ToolCase, choice: Choice) -> list[str]:
    """What is wrong with a choice, compared with the nearest call that is right; [] = it is right."""
    return min((_faults_beside(right, choice) for right in case.right), key=len)


def _faults_beside(right: Right, choice: Choice) -> list[str]:
    if choice.tool != right.tool:
        return [f"called {choice.tool or 'no tool'} instead of {right.tool or 'none'}"]
    faults: list[str] = []
    for name, patterns in right.arguments.items():
        value = choice.arguments.get(name)
        listed = cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]
        text = ", ".join(str(part) for part in listed)
        faults += [
            f"`{name}` is {text!r} without {pattern!r}"
            for pattern in patterns
            if not re.search(pattern, text, re.IGNORECASE)
        ]
    return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Right answers of all, by what was expected, and the faults of the others."""

    right: int
    total: int
    by_tool: Mapping[str, tuple[int, int]]
    faults: Mapping[str, Sequence[str]]
    stale: bool


def score(cases: Sequence[ToolCase], recorded: Mapping[str, Any], tools: str) -> Score:
    """Compare recorded answers with the cases; a case without an answer is wrong."""
    faults: dict[str, list[str]] = {}
    by_tool: dict[str, tuple[int, int]] = {}
    for case in cases:
        answer = recorded["answers"].get(case.id)
        choice = Choice(tool=answer["tool"], arguments=answer.get("arguments", {})) if answer else None
        wrong = ["no answer"] if choice is None else faults_of(case, choice)
        if wrong:
            faults[case.id] = wrong
        best = case.right[0].tool or "none"
        right, total = by_tool.get(best, (0, 0))
        by_tool[best] = (right + (not wrong), total + 1)
    return Score(
        right=len(cases) - len(faults),
        total=len(cases),
        by_tool=by_tool,
        faults=faults,
        stale=recorded["tools"] != digest_of(tools),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the recorded answers, or write the requests."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.tool_choice", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--write-requests", action="store_true", help="renew what the model is given")
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="the recorded answers")
    parser.add_argument("--json", type=Path, help="also write the score to a file")
    options = parser.parse_args(arguments)
    cases, tools = load_cases(), shipped_tools()
    if options.write_requests:
        (DATA / "tools.json").write_text(tools, "utf-8")
        (DATA / "requests.jsonl").write_text(requests_of(cases), "utf-8")
        sys.stdout.write(f"{len(cases)} requests for the tools {digest_of(tools)}\n")
        return 0
    result = score(cases, json.loads(options.answers.read_text("utf-8")), tools)
    for name, (right, total) in result.by_tool.items():
        sys.stdout.write(f"{name:16} {right:2} of {total}\n")
    for name, wrong in result.faults.items():
        sys.stdout.write(f"{name}: {'; '.join(wrong)}\n")
    sys.stdout.write(f"right: {result.right} of {result.total} (target {TARGET})\n")
    if result.stale:
        sys.stdout.write("The answers were recorded for other tools: record them again.\n")
    if options.json:
        options.json.write_text(json.dumps(asdict(result), indent=1), "utf-8")
    return int(result.right < TARGET or result.stale)


if __name__ == "__main__":
    main()
