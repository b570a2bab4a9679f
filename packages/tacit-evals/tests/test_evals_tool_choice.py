"""The choice of a tool: the scoring of recorded answers, and that they were recorded for the tools that are shipped."""

from __future__ import annotations

import json

from tacit.mcp.tools import BY_NAME, tools_of
from tacit_evals.tool_choice import (
    ANSWERS,
    DATA,
    TARGET,
    Choice,
    Right,
    ToolCase,
    faults_of,
    load_cases,
    main,
    requests_of,
    score,
    shipped_tools,
)


def case(number: int, *right: Right) -> ToolCase:
    return ToolCase(id=f"c{number}", before="", request="Fix it.", intent="A correction.", right=right)


NONE = Right(tool=None, arguments={})
UPDATE = case(1, Right(tool="memory_update", arguments={"id": ["k3v9"], "when": ["commit", "^before"]}))


def chosen(tool: str | None, **arguments: object) -> Choice:
    return Choice(tool=tool, arguments=arguments)


def test_a_choice_is_right_with_the_tool_and_every_argument_that_matters():
    assert faults_of(UPDATE, chosen("memory_update", id="K3V9x", when=["before a commit"])) == []
    assert faults_of(UPDATE, chosen("memory_add")) == ["called memory_add instead of memory_update"]
    assert faults_of(UPDATE, chosen(None)) == ["called no tool instead of memory_update"]
    (fault,) = faults_of(UPDATE, chosen("memory_update", id="k3v9", when="a commit"))
    assert "without '^before'" in fault
    assert len(faults_of(UPDATE, chosen("memory_update"))) == 3
    assert faults_of(case(2, NONE), chosen(None)) == []
    assert faults_of(case(2, NONE), chosen("memory_search", query="hi"))


def test_where_two_calls_are_right_either_is():
    search = Right(tool="memory_search", arguments={"query": ["tabs"]})
    either = case(1, search, NONE)
    assert (
        faults_of(either, chosen("memory_search", query="tabs or spaces"))
        == faults_of(either, chosen(None))
        == []
    )
    assert faults_of(either, chosen("memory_forget", id="k3v9")) == [
        "called memory_forget instead of memory_search"
    ]


def test_the_cases_name_tools_and_arguments_that_exist():
    cases = load_cases()
    assert len(cases) == len({case.id for case in cases}) == 63
    lean = {tool.name for tool in tools_of("lean")}
    assert {right.tool for case in cases for right in case.right} == {*lean, None}
    for each in cases:
        for right in each.right:
            known = BY_NAME[right.tool].schema["properties"] if right.tool else {}
            assert set(right.arguments) <= set(known), each.id


def test_the_requests_are_those_of_the_shipped_tools_without_labels():
    assert (DATA / "tools.json").read_text("utf-8") == shipped_tools(), (
        "run: python -m tacit_evals.tool_choice --write-requests"
    )
    requests = (DATA / "requests.jsonl").read_text("utf-8")
    assert requests == requests_of(load_cases())
    assert {key for line in requests.splitlines() for key in json.loads(line)} == {"id", "messages"}


def test_the_recorded_answers_reach_the_target(capsys):
    recorded = json.loads(ANSWERS.read_text("utf-8"))
    assert recorded["made_by"]
    assert main([]) == 0, capsys.readouterr().out
    assert score(load_cases(), recorded, shipped_tools()).right >= TARGET
