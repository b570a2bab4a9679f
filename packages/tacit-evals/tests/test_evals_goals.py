"""The goals: what is wrong is counted as wrong, the data fit together, the named tests exist."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tacit.api.requests import Recall
from tacit_evals.goals import interfaces, review, search, shown, traces, undo
from tacit_evals.goals.__main__ import main
from tacit_evals.goals.goal import Goal, counted, print_goals
from tacit_evals.goals.home import statements

ROOT = Path(__file__).parents[3]
BEFORE = {"mem_a": {"content": "A.", "status": "active"}, "mem_b": {"content": "B.", "status": "active"}}
TOUCHED = undo.Touched(by_act=frozenset({"mem_a"}), by_undo=frozenset({"mem_a"}))
TRACE = {
    "session": "plain/s1", "surface": "prompt", "text": "yup", "injected": ["mem_a"], "silence": "",
    "asked": {"text": "yup", "previous": "Commit?"},
    "candidates": [{"memory_id": "mem_a", "content": "A."}, {"memory_id": "mem_b", "content": "B."}],
    "stages": [{"stage": "dedupe", "drops": [{"memory_id": "mem_b", "reason": "the context holds it"}]}],
}  # fmt: skip


def test_an_undo_counts_only_if_it_leaves_everything_as_it_was():
    assert undo.faults_of(BEFORE, BEFORE, TOUCHED, ["mem_x"]) == []
    made = {**BEFORE, "mem_c": {"content": "C.", "status": "retired"}}
    assert undo.faults_of(BEFORE, made, TOUCHED, []) == []
    changed = {**BEFORE, "mem_b": {"content": "B.", "status": "retired"}}
    assert undo.faults_of(BEFORE, changed, TOUCHED, []) == ["mem_b is not as before: status"]
    assert len(undo.faults_of(BEFORE, {"mem_a": BEFORE["mem_a"]}, TOUCHED, [])) == 1
    left = {**BEFORE, "mem_c": {"content": "C.", "status": "active"}}
    assert undo.faults_of(BEFORE, left, TOUCHED, []) == ["mem_c, made by the act, is active"]


def test_an_undo_of_another_change_is_wrong_even_if_the_users_memories_are_as_before():
    theirs = undo.Touched(by_act=TOUCHED.by_act, by_undo=frozenset({"mem_x"}))
    assert undo.faults_of(BEFORE, BEFORE, theirs, ["mem_x"])[0] == "mem_x of somebody else was touched"
    refused = undo.Touched(by_act=TOUCHED.by_act, by_undo=frozenset())
    assert undo.faults_of(BEFORE, BEFORE, refused, []) == ["the act touched 1 memories, its undo 0"]


def test_the_searches_name_memories_and_are_of_three_sorts_in_two_halves():
    memories = statements()
    ids = {one.id for one in memories}
    assert len(ids) == len({one.content for one in memories}) == len(memories) >= 300
    every = search.searches()
    assert {one.memory for one in every} <= ids
    sorts = Counter(one.way for one in every)
    assert sorts.total() >= 100
    assert sorts.keys() == {"order", "typo", "question"}
    assert min(sorts.values()) >= 30
    assert abs(Counter(one.half for one in every)["open"] - len(every) / 2) < 3
    contents = {one.id: one.content.lower() for one in memories}
    assert not [one.query for one in every if one.query.lower() in contents[one.memory]]


def test_a_search_counts_if_its_memory_is_among_the_first_ten_of_the_worst_way():
    found = [f"mem_{number}" for number in range(12)]
    assert [search.rank_of(name, found) for name in ("mem_0", "mem_9", "mem_10", "mem_z")] == [
        1,
        10,
        None,
        None,
    ]
    one = search.Search(way="typo", query="comit", memory="lindy/1", half="open")
    hits = [search.Outcome(search=one, by="page", rank=1)] * 20
    by_mcp = [replace(hit, by="MCP") for hit in hits]
    assert search.goal_of([*hits, *by_mcp]).reached
    missed = search.goal_of([*hits, *by_mcp[2:], *[replace(by_mcp[0], rank=None)] * 2])
    assert not missed.reached
    assert missed.figure.startswith("18 of 20; the worst way is MCP")
    assert len(missed.faults) == 2
    hidden = replace(by_mcp[0], search=replace(one, half="test"), rank=None)
    assert "comit" not in " ".join(search.goal_of([*hits, hidden]).faults)


def test_the_playground_is_asked_what_the_trace_was_asked_and_a_different_pack_is_told():
    question = traces.question_of(TRACE, "/work")
    asked = Recall.model_validate(question)
    assert (asked.text, asked.previous, asked.held) == ("yup", "Commit?", ("mem_b",))
    assert traces.differences(TRACE, TRACE) == []
    assert traces.differences(TRACE, {"injected": ["mem_b"]}) == ["lacks mem_a", "adds mem_b"]
    assert traces.differences({"injected": ["a", "b"]}, {"injected": ["b", "a"]}) == ["another order"]


def test_a_row_of_a_trace_needs_words_and_a_reason():
    assert traces.incomplete_rows(TRACE) == (2, [])
    without = {
        **TRACE,
        "stages": [],
        "candidates": [{"memory_id": "mem_a", "content": " "}, TRACE["candidates"][1]],
    }
    assert traces.incomplete_rows(without) == (2, ["mem_a has no words", "mem_b has no reason"])
    bare = {**TRACE, "candidates": []}
    assert traces.incomplete_rows(bare)[1] == ["mem_a has no words", "mem_b has no words"]


@pytest.mark.parametrize(
    "wrong",
    [{"head": "200 statements"}, {"badge": "200"}, {"waiting": 1}, {"stored": (899, 1)}, {"took_s": 121.0}],
)
def test_a_wrong_count_or_decision_or_too_long_misses_the_goal(wrong):
    right = review.Decided(
        badge="900", head="900 statements", took_s=9.0, clicks=9, keys=9, waiting=0, wanted=(600, 300), stored=(600, 300)
    )  # fmt: skip
    assert review.goal_of(right).reached
    assert not review.goal_of(replace(right, **wrong)).reached


def test_an_answer_of_mcp_needs_structure_and_the_same_ids_in_both_parts():
    text = "- [Fact] The port is 9090. (id m8cpax)\n- [Rule] Lint first. (id xfsxty)"
    both = {
        "text": text,
        "memories": [{"id": "mem_1m8cpax", "kind": "fact"}, {"id": "mem_1xfsxty", "kind": "guideline"}],
    }
    assert interfaces.faults_of(text, both) == []
    assert interfaces.faults_of("nothing", {"text": "nothing", "memories": []}) == []
    assert interfaces.faults_of(text, None) == ["no structured part"]
    assert interfaces.faults_of(text, {"text": text, "memories": both["memories"][:1]})
    assert interfaces.faults_of("The port is 9090.", {"memories": both["memories"][:1]})


def test_operations_need_a_description_and_an_example():
    shown_at = {"200": {"content": {"application/json": {"example": {}}}}}
    good = {"operationId": "a", "description": "Words.", "responses": shown_at}
    paths = {
        "/a": {"get": good},
        "/b": {"get": {**good, "description": " "}, "delete": {**good, "responses": {"200": {}}}},
    }
    goal = interfaces.operations_goal({"paths": paths})
    assert (goal.figure, goal.reached, len(goal.faults)) == ("1 of 3", False, 2)


def test_a_warning_of_a_generator_misses_the_goal():
    said = "python: openapi-python-client\ntypescript: openapi-typescript\njava: openapi-generator\ngo: openapi-generator\n"
    assert interfaces.generators_goal(0, f"{said}no warnings\n", "").reached
    assert not interfaces.generators_goal(1, f"{said}java: [WARN] no\n1 warnings\n", "").reached
    assert not interfaces.generators_goal(0, "python: openapi-python-client\nno warnings\n", "").reached


def test_a_skipped_or_missing_test_shows_nothing():
    goal = shown.Shown(
        name="jobs", target="2 of 2", tests={"export": ("t.py::a", "t.py::b"), "import": ("t.py::c",)}
    )
    ended = dict.fromkeys(("t.py::a", "t.py::b", "t.py::c"), "passed")
    assert shown.goal_of(goal, ended).reached
    for wrong in ("skipped", "failed"):
        told = shown.goal_of(goal, {**ended, "t.py::b": wrong})
        assert (told.figure, told.reached) == ("1 of 2; import", False)
        assert told.faults == (f"export: t.py::b {wrong}",)
    assert not shown.goal_of(goal, {"t.py::a": "passed"}).reached


def test_the_named_tests_exist():
    for goal in shown.GOALS:
        for test in (test for tests in goal.tests.values() for test in tests):
            file, _, name = test.partition("::")
            assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text("utf-8"), test


def test_the_table_shows_failures_and_the_program_knows_its_measurements(capsys, tmp_path):
    out = StringIO()
    none = counted("undo", 0, 0, target="all", least=1.0, shown_by=["goals undo"])
    assert not none.reached, "what was not measured is not reached"
    rows = [
        Goal(
            name="jobs",
            figure="5 of 6",
            target="6 of 6",
            reached=False,
            shown_by=("t.py::a[b]",),
            faults=("t.py::a[b] failed",),
        )
    ]
    print_goals([none, *rows], console=Console(file=out, width=120))
    assert "missed" in out.getvalue()
    assert "Failures: jobs: t.py::a[b] failed" in out.getvalue()
    with pytest.raises(SystemExit):
        main(["undone"])
    assert "no measurement 'undone'" in capsys.readouterr().err
    assert main(["operations", "--json", str(tmp_path / "goals.json")]) == 0
    (row,) = json.loads((tmp_path / "goals.json").read_text())
    assert row["reached"]
