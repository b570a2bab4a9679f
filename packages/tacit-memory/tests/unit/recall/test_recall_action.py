"""Relevance at a tool call, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from samples import candidate, query
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Entity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.signal import ToolCall
from tacit.model.trigger import Trigger
from tacit.reading.situation import read_call
from tacit.recall.pipelines.action import action_relevance, is_follow_up_rule, judge_action, judge_by_words
from tacit.recall.stage import MOMENT

KINDS = KindRegistry()
COMMIT = Trigger(actions=(("commit", 1.0),), objects=("commit message", "task id"), maker="agent")


def calling(command: str = "", *, tool: str = "bash", path: str = "") -> Query:
    call = ToolCall(tool=tool, command=command, paths=(path,) if path else ())
    return query(command or path, surface=Surface.ACTION, situation=read_call(call), tool=tool, call=call)


def relevance(asked: Query, *args: object, **fields: object) -> float:
    found = candidate(*args, **fields)  # type: ignore[arg-type]
    return action_relevance(asked, found, KINDS.get(found.memory.kind))[0]


def test_a_rule_for_exactly_this_action() -> None:
    # worth 1.0 x about 1 / 1.5 x action 0.97
    value = relevance(calling("git commit -m x"), "Messages end with the task id.", trigger=COMMIT)
    assert value == pytest.approx(0.97 / 1.5, abs=1e-4)
    assert relevance(calling("git push"), "Messages end with the task id.", trigger=COMMIT) == 0.0
    assert relevance(calling("git log --oneline"), "Messages end with the task id.", trigger=COMMIT) == 0.0


def test_a_condition_that_is_not_met_counts_less() -> None:
    value = relevance(calling("git commit -m x"), "If a task is open, end with its id.", trigger=COMMIT)
    assert value == pytest.approx(0.97 / 1.5 * 0.7, abs=1e-4)


def test_a_rule_that_is_being_followed_has_little_left_to_say() -> None:
    rule = "After every change run `ruff check`."
    lint = Trigger(actions=(("run_lint_build", 1.0),), commands=("ruff check",), maker="agent")
    obeyed = relevance(calling("ruff check src"), rule, trigger=lint)
    assert obeyed == pytest.approx(0.97 * 0.3)
    assert relevance(calling("ruff check src"), "Lint with `ruff check`.", trigger=lint) == pytest.approx(
        0.97
    )


def test_writing_a_file_is_taken_for_making_a_new_one() -> None:
    header = Trigger(actions=(("new_file", 1.0),), maker="agent")
    # worth 1.0 x about 1.0 x the chance 0.8 that the file is new
    assert relevance(calling(tool="write", path="src/a.py"), trigger=header) == pytest.approx(0.8)
    assert relevance(calling(tool="edit", path="src/a.py"), trigger=header) == 0.0


def test_what_tells_of_the_past_counts_less_and_what_may_be_a_rule_counts_as_one() -> None:
    asked = calling("git commit -m x")
    free = Trigger(actions=(("commit", 1.0),), maker="agent")
    assert relevance(asked, kind="decision", trigger=free) == pytest.approx(0.97)
    assert relevance(asked, kind="fact", trigger=free) == pytest.approx(0.97)
    assert relevance(asked, kind="outcome", trigger=free) == pytest.approx(0.3 * 0.97)


def test_our_own_guess_needs_the_command_in_the_words() -> None:
    guess = Trigger(actions=(("run_tests", 1.0),))
    command = (Entity(kind="command", key="go test"),)
    asked = calling("go test ./...")
    assert relevance(asked, trigger=guess, entities=command) == pytest.approx(0.5 + 0.5 * 0.97)
    weak = Trigger(actions=(("run_tests", 0.4),))
    assert relevance(asked, trigger=weak, entities=command) == pytest.approx(0.5 + 0.5 * 0.4 * 0.97, abs=1e-4)
    assert relevance(asked, trigger=guess) == 0.0


def test_an_edit_of_code_needs_two_things_or_the_very_file() -> None:
    one = Trigger(actions=(("edit_code", 1.0),), objects=("droid",), maker="agent")
    two = Trigger(actions=(("edit_code", 1.0),), objects=("droid", "parser"), maker="agent")
    file = Trigger(actions=(("edit_code", 1.0),), objects=("pkg/droid/parser.go",), maker="agent")
    asked = calling(tool="edit", path="pkg/droid/parser.go")
    assert relevance(asked, trigger=one) == 0.0
    # no prompt is known: 0.97 x 0.75 x 0.6
    assert relevance(asked, trigger=two) == pytest.approx(0.97 * 0.75 * 0.6)
    assert relevance(asked, trigger=file) == pytest.approx(0.97 * 0.75 * 0.6)


def test_a_trigger_of_places_alone_is_met_there() -> None:
    command = Trigger(commands=("git push",), maker="user")
    file = Trigger(paths=("migrations/**",), maker="user")
    tool = Trigger(tools=("write",), maker="user")
    assert relevance(calling("git push origin main"), trigger=command) == 1.0
    assert relevance(calling("git pull"), trigger=command) == 0.0
    assert relevance(calling(tool="edit", path="migrations/003.sql"), trigger=file) == 1.0
    assert relevance(calling(tool="edit", path="src/a.py"), trigger=file) == 0.0
    assert relevance(calling(tool="write", path="src/a.py"), trigger=tool) == 1.0
    assert relevance(calling(tool="edit", path="src/a.py"), trigger=tool) == 0.0


def test_generic_rules_are_not_for_every_call() -> None:
    always = Trigger(always=True, breadth=3.0, maker="user")
    assert relevance(calling("git commit -m x"), trigger=always) == 0.0
    anything = Trigger(actions=(("edit_code", 1.0),), breadth=3.0, maker="user")
    assert relevance(calling(tool="edit", path="src/a.py"), trigger=anything) == 0.0


def test_a_look_gets_only_rules_about_that_file() -> None:
    file = Trigger(actions=(("write_docs", 1.0),), objects=("changelog.md",), maker="agent")
    docs = Trigger(actions=(("write_docs", 1.0),), objects=("docs",), maker="agent")
    asked = calling(tool="read", path="CHANGELOG.md")
    assert relevance(asked, trigger=file) == 1.0
    assert relevance(asked, trigger=docs) == 0.0
    assert relevance(asked, kind="fact", trigger=file) == 0.0


def test_other_places_count_a_fifth() -> None:
    here = Trigger(actions=(("change_test", 1.0),), languages=("go",), maker="agent")
    assert relevance(calling(tool="edit", path="pkg/a_test.go"), trigger=here) == pytest.approx(0.97)
    there = relevance(calling(tool="edit", path="web/a.test.ts"), trigger=here)
    assert there == pytest.approx(0.97 * 0.2)


def test_a_command_that_many_memories_speak_of_is_the_projects_subject() -> None:
    """Of 400 memories 20 name the command: 1 - ln 20 / ln 400 = 0.5. In a store of a few, 2 of them count as 2 of 20."""
    rules = [
        candidate(f"Rule {n} of pushing.", trigger=Trigger(commands=("git push",), maker="user"))
        for n in range(20)
    ]
    asked = calling("git push origin main")
    judged = judge_action(asked, rules, kinds=KINDS, among=400)
    assert [value for value, _ in judged] == [pytest.approx(0.5, abs=1e-4)] * 20
    two = judge_action(asked, rules[:2], kinds=KINDS, among=2)
    assert two[0][0] == pytest.approx(1 - math.log(2) / math.log(20), abs=1e-4)
    assert judge_action(asked, rules[:1], kinds=KINDS, among=400)[0][0] == 1.0


@pytest.mark.parametrize(
    ("statement", "after"),
    [
        ("Run the linter after every change.", True),
        ("Once you finish editing, format the file.", True),
        ("Push immediately after committing.", True),
        ("Use `bun test` and never `npm test`.", False),
        ("The afternoon build is slow.", False),
    ],
)
def test_rules_about_what_follows(statement: str, after: bool) -> None:
    assert is_follow_up_rule(statement) is after


def test_after_an_edit_comes_what_follows_it() -> None:
    lint = Trigger(actions=(("run_lint_build", 1.0), ("edit_code", 0.67)), breadth=3.0, maker="agent")
    rule = "Run the linter after every change."
    before = calling(tool="edit", path="src/a.py")
    after = replace(before, finished=True)
    assert relevance(before, rule, trigger=lint) == 0.0
    assert relevance(after, rule, trigger=lint) == 0.6
    assert relevance(after, "Use the strict linter.", trigger=lint) == 0.0
    assert relevance(after, rule, kind="fact", trigger=lint) == 0.0
    docs = replace(calling(tool="edit", path="docs/guide.md"), finished=True)
    assert relevance(docs, rule, trigger=lint) == 0.0
    go = replace(lint, languages=("go",))
    assert relevance(after, rule, trigger=go) == 0.0
    looked = replace(calling(tool="read", path="src/a.py"), finished=True)
    assert relevance(looked, rule, trigger=lint) == 0.0


FAILED = "`git push origin main` failed with: protected branch hook declined."


@pytest.mark.parametrize(
    ("command", "fields", "judged"),
    [
        ("git push origin main", {}, (1.0, (MOMENT,))),
        ("git push origin topic", {}, (0.0, ())),
        ("git push origin topic", {"trigger": Trigger(commands=("git push",), maker="user")}, None),
        # What an edit repaired fails no more: the score of before stands.
        ("git push origin main", {"error_signature": "git push | declined", "files": ("hooks/pre-push",)}, None),
        ("git push origin main", {"kind": "fact"}, None),
    ],
)  # fmt: skip
def test_a_known_failure_is_certain_before_its_command_runs_again(
    command: str, fields: dict[str, object], judged: tuple[float, tuple[str, ...]] | None
) -> None:
    found = candidate(FAILED, **{"kind": "error_pattern", **fields})  # type: ignore[arg-type]
    assert judge_by_words(calling(command), found, KINDS.get(found.memory.kind)) == judged


def test_a_known_failure_is_no_news_after_its_command_ran() -> None:
    found = candidate(FAILED, kind="error_pattern")
    done = replace(calling("git push origin main"), finished=True)
    assert judge_by_words(done, found, KINDS.get("error_pattern")) == (0.0, ())
