"""The situation reader on the cases the product stands on."""

from __future__ import annotations

import pytest

from tacit.model.note import Note, NoteCause
from tacit.model.signal import ToolCall
from tacit.model.trigger import ACTIONS
from tacit.reading.situation import read_call, read_situation

PROPOSAL = "The watcher is missing a debounce.\n\nWant me to implement it in pkg/watcher.go?"
OPTIONS = "Three ways:\n\n1. Add a retry to the client\n2. Rename the module\n3. Write unit tests for the parser\n\nWhich one?"


@pytest.mark.parametrize(
    "reply",
    ["yup", "yes", "Yes please", "ok", "sure", "go ahead", "proceed", "do it", "sounds good", "y", "ja", "oui", "да", "LGTM", "yes!", "please do it", "ok, go ahead."],
)  # fmt: skip
def test_yes_to_a_proposal_is_the_proposal(reply: str) -> None:
    situation = read_situation(reply, previous_end=PROPOSAL)
    assert situation.accepted
    assert not situation.nothing_coming
    assert situation.probability("implement_feature") >= 0.5
    assert situation.probability("edit_code") >= 0.5
    assert "pkg/watcher.go" in situation.paths
    assert "go" in situation.languages


@pytest.mark.parametrize("reply", ["yes", "yup", "ok", "1", "sure", "do it", "thanks", "great"])
def test_yes_with_nothing_proposed_announces_nothing(reply: str) -> None:
    situation = read_situation(reply)
    assert situation.nothing_coming
    assert situation.actions == ()


@pytest.mark.parametrize("reply", ["yes", "yup", "ok", "great", "nice"])
def test_yes_after_a_mere_report_announces_nothing(reply: str) -> None:
    assert read_situation(reply, previous_end="All tests pass. The file was written.").nothing_coming


@pytest.mark.parametrize("reply", ["continue", "proceed", "go ahead", "keep going"])
def test_going_on_needs_no_question(reply: str) -> None:
    situation = read_situation(reply, previous_end="Step 2 is in place: the parser handles dates.")
    assert not situation.nothing_coming
    assert situation.probability("edit_code") > 0.3


@pytest.mark.parametrize(
    ("reply", "present", "absent"),
    [
        ("1", "error_handling", "rename_move"),
        ("option 2", "rename_move", "write_test"),
        ("#3", "write_test", "rename_move"),
        ("the second one", "rename_move", "write_test"),
        ("Apply #1 and #3", "write_test", "rename_move"),
        ("go with 2", "rename_move", "write_test"),
        ("let's do 3", "write_test", "rename_move"),
    ],
)
def test_picks_read_only_the_picked_items(reply: str, present: str, absent: str) -> None:
    situation = read_situation(reply, previous_end=OPTIONS)
    assert situation.accepted
    assert situation.probability(present) > situation.probability(absent)
    assert situation.probability(present) >= 0.35


def test_lettered_options() -> None:
    end = "A) Delete the legacy module\nB) Write documentation for it\n\nWhich do you prefer?"
    situation = read_situation("option b", previous_end=end)
    assert situation.probability("write_docs") > situation.probability("delete_code")


@pytest.mark.parametrize("reply", ["no", "nope", "no thanks", "don't", "not now", "cancel", "stop"])
def test_refusals_announce_nothing(reply: str) -> None:
    assert read_situation(reply, previous_end="Want me to push the branch?").nothing_coming


def test_a_refusal_with_an_order_is_the_order() -> None:
    situation = read_situation("no, rename it instead", previous_end="Want me to push the branch?")
    assert situation.probability("rename_move") > 0.5
    assert situation.probability("push") < 0.2


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hello!",
        "thanks",
        "thank you so much",
        "good morning",
        "",
        "   ",
        "[Request interrupted by user]",
        "danke",
        "it works!",
        "x" * 20_000,  # a pattern that tries every split of a word never ends
    ],
)
def test_small_talk_announces_nothing(text: str) -> None:
    assert read_situation(text).nothing_coming


def test_thanks_never_accepts() -> None:
    assert read_situation("thank you", previous_end=PROPOSAL).nothing_coming


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("fix the login bug", "fix_bug"),
        ("fix the login bug", "edit_code"),
        ("add a --json flag to the list command", "edit_code"),
        ("implement the export feature", "implement_feature"),
        ("refactor the session store", "refactor"),
        ("rename getUser to findUser everywhere", "rename_move"),
        ("write unit tests for the parser", "write_test"),
        ("run the tests", "run_tests"),
        ("run the linter", "run_lint_build"),
        ("commit", "commit"),
        ("commit and push", "push"),
        ("push it", "push"),
        ("open a pull request", "open_or_update_pr"),
        ("create a PR for this", "open_or_update_pr"),
        ("cut a release", "release"),
        ("update the README", "write_docs"),
        ("explain how the cache works", "explain_code"),
        ("why does the build hang?", "debug_investigate"),
        ("how does the cache work?", "answer_question"),
        ("plan the migration", "plan_or_spec"),
        ("remove the legacy client", "delete_code"),
        ("rebase on main", "merge_rebase"),
        ("review my changes", "review_code"),
        ("address comment 3", "address_review"),
        ("install lodash", "add_dependency"),
        ("optimize the query, it is slow", "performance"),
        ("take a look at the GH workflows", "ci_pipeline"),
        ("create a new task for it", "create_task"),
    ],
)
def test_orders_announce_their_action(text: str, action: str) -> None:
    assert read_situation(text).probability(action) >= 0.4


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("don't commit yet", "commit"),
        ("Do not push anything", "push"),
        ("fix it without adding tests, never commit", "commit"),
        ("stop writing docs and fix the parser", "write_docs"),
    ],
)
def test_a_denied_action_is_not_announced(text: str, action: str) -> None:
    assert read_situation(text).probability(action) < 0.4


def test_a_question_is_no_order() -> None:
    asked = read_situation("did you commit the change?")
    ordered = read_situation("commit the change")
    assert asked.probability("commit") < ordered.probability("commit")
    assert asked.probability("answer_question") >= 0.5


def test_a_polite_question_is_an_order() -> None:
    assert read_situation("can you fix the crash in the parser?").probability("fix_bug") >= 0.6


def test_what_the_person_did_is_not_coming() -> None:
    assert read_situation("I'll do the testing").probability("run_tests") < 0.3


def test_a_pasted_error_is_a_fault_to_look_into() -> None:
    text = "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nKeyError: 'name'"
    situation = read_situation(text)
    assert situation.probability("fix_bug") >= 0.5
    assert situation.probability("debug_investigate") >= 0.5
    assert Note(cause=NoteCause.ERROR_PASTED) in situation.notes


def test_implied_actions_are_less_likely() -> None:
    situation = read_situation("implement the export feature")
    assert 0 < situation.probability("write_test") < situation.probability("implement_feature")


def test_files_give_languages_and_classes() -> None:
    situation = read_situation(
        "update docs/guide.md and src/app/config.yaml", recent_files=["src/app/main.py"]
    )
    assert situation.probability("write_docs") >= 0.4
    assert "python" in situation.languages
    assert situation.paths[:2] == ("docs/guide.md", "src/app/config.yaml")
    assert "guide.md" in situation.objects


def test_objects_leave_stopwords_out() -> None:
    objects = read_situation("please make the droidcli watcher faster").objects
    assert "droidcli" in objects
    assert "watcher" in objects
    assert not {"the", "please", "make"} & set(objects)


def test_only_known_classes_with_chances_in_range() -> None:
    situation = read_situation("fix, test, commit, push, release and document everything in main.go")
    assert all(name in ACTIONS and 0.0 < chance <= 1.0 for name, chance in situation.actions)
    assert list(situation.actions) == sorted(situation.actions, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize(
    ("call", "action"),
    [
        (ToolCall(tool="bash", command="cd app && GIT_AUTHOR_NAME=x git -c a=b commit -m 'x'"), "commit"),
        (ToolCall(tool="bash", command="uv run pytest -q tests"), "run_tests"),
        (ToolCall(tool="bash", command="go test ./..."), "run_tests"),
        (ToolCall(tool="bash", command="npm install left-pad"), "add_dependency"),
        (ToolCall(tool="bash", command="golangci-lint run"), "run_lint_build"),
        (ToolCall(tool="bash", command="git push origin main"), "push"),
        (ToolCall(tool="bash", command="gh pr create --fill"), "open_or_update_pr"),
        (ToolCall(tool="edit", paths=("pkg/store_test.go",)), "change_test"),
        (ToolCall(tool="write", paths=("tests/test_x.py",)), "write_test"),
        (ToolCall(tool="write", paths=("src/new.py",)), "new_file"),
        (ToolCall(tool="edit", paths=(".github/workflows/ci.yml",)), "ci_pipeline"),
        (ToolCall(tool="edit", paths=("Dockerfile",)), "ci_pipeline"),
        (ToolCall(tool="edit", paths=("src/app.ts",)), "edit_code"),
        (ToolCall(tool="edit", paths=("README.md",)), "write_docs"),
        (ToolCall(tool="edit", paths=("CLAUDE.md",)), "edit_rules"),
        (ToolCall(tool="edit", paths=("db/migrations/001.sql",)), "data_storage"),
    ],
)
def test_a_call_is_certain(call: ToolCall, action: str) -> None:
    assert read_call(call).probability(action) >= 0.5


def test_a_read_is_weaker_than_an_edit() -> None:
    read = read_call(ToolCall(tool="read", paths=("src/app.ts",)))
    edit = read_call(ToolCall(tool="edit", paths=("src/app.ts",)))
    assert 0 < read.probability("edit_code") < edit.probability("edit_code")


def test_a_call_lists_every_command_of_the_line() -> None:
    situation = read_call(ToolCall(tool="bash", command="ruff check . && pytest | tee log; git push"))
    assert situation.commands == ("ruff check", "pytest", "tee", "git push")


def test_a_huge_prompt_is_cut_not_read() -> None:
    filler = "lorem ipsum `x` /a/b.c dolor. " * 90_000
    text = f"fix the parser. {filler}{{}}{filler} and then commit"
    situation = read_situation(text.format(""))
    assert read_situation(text.format("Write a new test. " * 100)) == situation
    assert situation.probability("fix_bug") > 0.4
    assert situation.probability("commit") > 0.4
