"""Whether a trigger governs exactly one tool call."""

from __future__ import annotations

import pytest

from tacit.model.signal import ToolCall
from tacit.model.trigger import Trigger
from tacit.reading.match import CallMatcher, is_known_command, is_path
from tacit.reading.situation import read_call, read_situation


def bash(command: str) -> CallMatcher:
    return CallMatcher(read_call(ToolCall(tool="bash", command=command)))


def edit(path: str, *, goal: str = "") -> CallMatcher:
    governing = read_situation(goal) if goal else None
    return CallMatcher(read_call(ToolCall(tool="edit", paths=(path,))), governing)


def given(*actions: str, objects: tuple[str, ...] = (), **more: tuple[str, ...]) -> Trigger:
    return Trigger(actions=tuple((name, 1.0) for name in actions), objects=objects, maker="agent", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("cd app && git commit -m 'fix: x'", "commit"),
        ("go test ./pkg/...", "run_tests"),
        ("golangci-lint run", "run_lint_build"),
        ("npm install left-pad", "add_dependency"),
        ("gh pr create --fill", "open_or_update_pr"),
    ],
)
def test_a_command_is_a_action(command: str, action: str) -> None:
    assert action in bash(command).certain_actions


@pytest.mark.parametrize("command", ["ls -la src", "cat README.md | head", "grep -rn foo src", "echo hi"])
def test_looking_is_no_action(command: str) -> None:
    assert bash(command).certain_actions == ()


def test_an_edit_of_code_is_no_action_but_of_a_test_is() -> None:
    assert edit("src/app/store.py").certain_actions == ()
    assert "change_test" in edit("tests/test_store.py").certain_actions


def test_words_that_repeat_the_action_restrict_nothing() -> None:
    fit = bash("git commit -m x").fit(given("commit", objects=("commit message",)))
    assert fit.about == 1.0
    assert fit.action_match == pytest.approx(0.97)


def test_about_is_the_share_of_what_is_touched() -> None:
    # The action is named (1 met of 1), `task reference` is not met and counts one half: 1 / 1.5.
    fit = bash("git commit -m x").fit(given("commit", objects=("commit message", "task reference")))
    assert fit.about == pytest.approx(0.6667)
    # No word names the action: `coverage` is met, `fixtures` is not: 1 / 2.
    fit = bash("pytest --coverage").fit(given("run_tests", objects=("coverage", "fixtures")))
    assert (fit.about, fit.hits) == (0.5, 1)


def test_one_of_several_commands_is_enough() -> None:
    trigger = given("run_lint_build", objects=("go build", "golangci-lint"))
    assert bash("golangci-lint run ./...").fit(trigger).named
    assert not bash("npm run build").fit(trigger).named


def test_linting_is_not_building() -> None:
    trigger = given("run_lint_build", objects=("lint",))
    assert bash("golangci-lint run").fit(trigger).about == 1.0
    assert bash("go build ./...").fit(trigger).about == 0.0


def test_a_command_in_the_words_of_the_memory_counts_for_its_own_action_only() -> None:
    trigger = given("run_lint_build")
    assert bash("go build -o app").fit(trigger, commands=("go build",)).about == 1.0
    assert bash("golangci-lint run").fit(trigger, commands=("go build",)).about == 0.0
    assert bash("golangci-lint run").fit(trigger, commands=("git commit",)).about == 1.0


def test_the_very_file_and_a_folder_above_it() -> None:
    exact = edit("pkg/droid/parser.go").fit(given("edit_code", objects=("pkg/droid/parser.go",)))
    above = edit("pkg/droid/parser.go").fit(given("edit_code", objects=("pkg/droid",)))
    other = edit("pkg/claude/parser.go").fit(given("edit_code", objects=("pkg/droid",)))
    assert (exact.file, exact.about) == (True, 1.0)
    assert (above.file, above.about) == (False, 1.0)
    assert other.about == 0.0


def test_patterns_of_a_guess_are_no_proof() -> None:
    sure = Trigger(actions=(("edit_code", 1.0),), paths=("src/**/*.py",), maker="agent")
    guess = Trigger(actions=(("edit_code", 1.0),), paths=("src/**/*.py",), maker="local")
    assert edit("src/a/b.py").fit(sure).file
    assert not edit("src/a/b.py").fit(guess).file
    assert edit("web/b.ts").fit(sure).elsewhere


def test_another_language_is_elsewhere() -> None:
    trigger = Trigger(actions=(("edit_code", 1.0),), languages=("go",), maker="agent")
    assert edit("web/page.ts").fit(trigger).elsewhere
    assert not edit("pkg/a.go").fit(trigger).elsewhere


def test_the_governing_prompt_counts_one_half() -> None:
    trigger = given("edit_code", objects=("watcher",))
    assert edit("pkg/a.go").fit(trigger).about == 0.0
    told = edit("pkg/a.go", goal="Fix the watcher so that it stops polling").fit(trigger)
    assert told.about == 0.5
    assert told.goal > 0.5


def test_commands_and_paths_among_objects() -> None:
    assert is_known_command("go build")
    assert is_known_command("golangci-lint")
    assert not is_known_command("commit message")
    assert not is_known_command("tests/conftest.py")
    assert is_path("main.go")
    assert is_path("src/domain")
    assert not is_path("go test")
