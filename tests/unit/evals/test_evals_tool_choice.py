"""The choice of a tool: the scoring of recorded answers, and that they were recorded for the tools that are shipped."""

from __future__ import annotations

import json

from tacit.mcp.tools import BY_NAME, tools_of
from tacit_evals.tool_choice.scoring import (
    ANSWERS,
    DATA,
    TARGET,
    Case,
    Choice,
    digest_of,
    faults_of,
    load_cases,
    main,
    requests_of,
    score,
    shipped_tools,
)

UPDATE = Case(
    id="c1",
    request="Fix it.",
    tool="memory_update",
    arguments={"id": ["k3v9"], "when": ["commit", "^before"]},
)


def test_a_choice_is_right_with_the_tool_and_every_argument_that_matters():
    assert (
        faults_of(
            UPDATE, Choice(tool="memory_update", arguments={"id": "K3V9x", "when": ["before a commit"]})
        )
        == []
    )
    assert faults_of(UPDATE, Choice(tool="memory_add", arguments={})) == [
        "called memory_add instead of memory_update"
    ]
    assert faults_of(UPDATE, Choice(tool=None, arguments={})) == ["called no tool instead of memory_update"]
    (fault,) = faults_of(UPDATE, Choice(tool="memory_update", arguments={"id": "k3v9", "when": "a commit"}))
    assert "without '^before'" in fault
    assert len(faults_of(UPDATE, Choice(tool="memory_update", arguments={}))) == 3
    none = Case(id="c2", request="Hi.", tool=None, arguments={})
    assert faults_of(none, Choice(tool=None, arguments={})) == []
    assert faults_of(none, Choice(tool="memory_search", arguments={"query": "hi"}))


def test_the_score_counts_missing_answers_and_stale_tools():
    recorded = {"tools": digest_of("a"), "answers": {"c1": {"tool": None}}}
    result = score([UPDATE, Case(id="c2", request="Hi.", tool=None, arguments={})], recorded, "b")
    assert (result.right, result.total, result.stale) == (0, 2, True)
    assert result.faults["c2"] == ["no answer"]
    assert result.by_tool == {"memory_update": (0, 1), "none": (0, 1)}


def test_the_cases_name_tools_and_arguments_that_exist():
    cases = load_cases()
    assert len(cases) == len({case.id for case in cases}) == 60
    lean = {tool.name for tool in tools_of("lean")}
    assert {case.tool for case in cases} == {*lean, None}
    for case in cases:
        known = BY_NAME[case.tool].schema["properties"] if case.tool else {}
        assert set(case.arguments) <= set(known), case.id


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
