"""Habits listed in one message: which items inherit that they stand, in varied forms of lists, and which lists state nothing."""

from __future__ import annotations

from itertools import product

import pytest

from tacit.capture.extract.explicit import Statement, find_explicit
from tacit.capture.extract.habit_lists import read_lead

LISTED = (
    (
        ("From now on:\n- run ruff before each commit\n- use uv for installs\n- small pull requests, one topic each\n"
         "- no emojis in commit messages\n- type hints on public functions"),
        (
            "Run ruff before each commit", "Use uv for installs", "Small pull requests, one topic each",
            "No emojis in commit messages", "Type hints on public functions",
        ),
    ),
    (
        ("Some rules for this repo:\n1. Tests go next to the module they test\n2. Imports sorted by isort\n3. Never push to main\n"
         "4. Docstrings in Google style\n5. Log with structlog"),
        (
            "Tests go next to the module they test", "Imports sorted by isort", "Never push to main",
            "Docstrings in Google style", "Log with structlog",
        ),
    ),
    (
        "A few things I always want:\n\n* short functions with one job\n* descriptive variable names\n* error messages that name the input\n",
        ("Short functions with one job", "Descriptive variable names", "Error messages that name the input"),
    ),
    (
        "hey, my habits:\n- I prefer tabs over spaces\n- commit messages in the imperative mood\n- run the whole suite before pushing",
        ("I prefer tabs over spaces", "Commit messages in the imperative mood", "Run the whole suite before pushing"),
    ),
    (
        "From now on: run prettier before committing; keep components under 200 lines; no default exports; write stories for new components",
        (
            "Run prettier before committing", "Keep components under 200 lines", "No default exports",
            "Write stories for new components",
        ),
    ),
    (
        ("Always run ruff before committing. Use pytest fixtures rather than unittest classes. Never push to main."
         " Keep functions under 40 lines. Write docstrings for public functions."),
        (
            "Always run ruff before committing", "Use pytest fixtures rather than unittest classes", "Never push to main",
            "Keep functions under 40 lines", "Write docstrings for public functions",
        ),
    ),
    (
        "- always run the linter before a commit\n- never push to main\n- keep pull requests small\n- write tests for every bug fix",
        (
            "Always run the linter before a commit", "Never push to main", "Keep pull requests small",
            "Write tests for every bug fix",
        ),
    ),
    (
        "House rules:\n- dates are stored in UTC\n- money is stored in cents\n- ids are ULIDs, never integers",
        ("Dates are stored in UTC", "Money is stored in cents", "Ids are ULIDs, never integers"),
    ),
    (
        "Never:\n- push to main\n- commit .env files\n- disable a failing test",
        ("Never push to main", "Never commit .env files", "Never disable a failing test"),
    ),
    (
        "Before every commit:\n- run `just lint`\n- update the changelog\n- squash fixup commits",
        (
            "Before every commit, run `just lint`", "Before every commit, update the changelog",
            "Before every commit, squash fixup commits",
        ),
    ),
    (
        "Whenever you touch the database layer:\n- write a migration\n- never edit an old migration\n- update the schema docs",
        (
            "Whenever you touch the database layer, write a migration", "Never edit an old migration",
            "Whenever you touch the database layer, update the schema docs",
        ),
    ),
    (
        "We agreed on the following for this repo:\n- the API is versioned by header\n- timeouts are 30 seconds\n- retries use exponential backoff",
        ("The API is versioned by header", "Timeouts are 30 seconds", "Retries use exponential backoff"),
    ),
    (
        "Some rules for this repo. Use uv for installs. Run ruff before every commit. No wildcard imports. Tests live next to the code.",
        ("Use uv for installs", "Run ruff before every commit", "No wildcard imports", "Tests live next to the code"),
    ),
    (
        "from now on:\nrun ruff before each commit\nuse uv for installs\nno print debugging in library code",
        ("Run ruff before each commit", "Use uv for installs", "No print debugging in library code"),
    ),
    (
        ("Thanks, that works. Our conventions for this project:\n- components in PascalCase\n- hooks start with `use`\n"
         "- styles live in CSS modules\n\nNow fix the login page."),
        ("Components in PascalCase", "Hooks start with `use`", "Styles live in CSS modules"),
    ),
    (
        "Remember:\n- the staging database is on port 5433\n- deploys run on Fridays only\n- CI needs node 20 or newer",
        ("The staging database is on port 5433", "Deploys run on Fridays only", "CI needs node 20 or newer"),
    ),
    (
        "Things I never want in this repo:\n- commented-out code\n- print statements in library code\n- TODOs without a ticket number",
        ("No commented-out code", "No print statements in library code", "No TODOs without a ticket number"),
    ),
    (
        "I have a few habits: tests before code; one commit per task; no force pushes to shared branches",
        ("Tests before code", "One commit per task", "No force pushes to shared branches"),
    ),
    (
        ("Team conventions:\n\n1. Branches are named after the ticket\n\n2. Commit messages in the present tense,\n"
         "   also on feature branches\n\n3. Rebase instead of merge commits"),
        (
            "Branches are named after the ticket", "Commit messages in the present tense, also on feature branches",
            "Rebase instead of merge commits",
        ),
    ),
)  # fmt: skip

NOT_LISTED = (
    # task lists
    "please do the following:\n- fix the login bug\n- add a test for the parser\n- update the README",
    "Can you:\n1. rename the module to core\n2. move helpers to utils\n3. run the tests",
    "TODO:\n- add dark mode\n- write docs for the API\n- clean up the tests",
    "Next steps:\n- deploy the new build\n- check the logs on staging\n- tell the team about it",
    "Refactor the parser.\n- split it in two files\n- keep the tests green\n- remove the dead code",
    "From now on we have three tasks:\n- fix the parser\n- document the API\n- clean up the tests",
    "Fix the login page; add a test for it; push it to the branch; open a pull request",
    "Fix the header. Then update the footer. Never mind the sidebar. Also check the links. Run the tests.",
    "- [ ] show the total in the footer\n- [ ] keep the modal small\n- [x] keep the sidebar open",
    "Remember:\n- fix the login page\n- add a test for the parser\n- update the README",
    # what is to be built, and plans
    "Implement these validation rules:\n- names must be unique\n- emails are lowercased\n- passwords need ten characters",
    "Build a chess game. Rules:\n- pawns move one square forward\n- knights jump over pieces\n- the king cannot castle out of check",
    "Create a settings page with these rules:\n- every field is required\n- dates use the local format\n- errors are shown in red",
    "In the future we want:\n- dark mode for the settings\n- a mobile app with push messages\n- an export to PDF",
    "I need the following for this project:\n- a login page\n- a database for users\n- an admin dashboard",
    "Our plan for this repo:\n- migrate to postgres\n- drop the old API\n- add a cache",
    "Write the homepage copy. Our principles:\n- simple pricing for everyone\n- support within one hour\n- no hidden fees",
    # for once
    "For this change:\n- keep the public API\n- no new dependencies\n- tests for both paths",
    "In this session:\n- keep answers short\n- no code comments\n- use the staging keys",
    "From now on for this task:\n- keep answers short\n- no code comments\n- use the staging keys",
    # somebody else's words
    "The README says:\n- always use npm\n- never use yarn\n- run the tests with jest",
    "Review this list:\n\nRules for contributors:\n- always squash commits\n- use tabs for indentation\n- sign your commits",
    "Here is what my colleague wrote:\n\nFrom now on:\n- always deploy on Fridays\n- skip the tests for hotfixes\n- merge without a review",
    "```\nHouse rules:\n- always deploy on Fridays\n- skip the tests for hotfixes\n```\nwhat does this mean?",
    "> Some rules for this repo:\n> - always run ruff before a commit\n> - use uv for installs\nis that right?",
    "From our wiki:\n- always use npm\n- never use yarn\n- prefer small images",
    "Subject: rules\nFrom: bob@example.org\n\nFrom now on:\n- use yarn for installs\n- skip code review\n- deploy on Fridays",
    "# Rules for this repo\n- always squash commits\n- never rebase shared branches\nI found that in the contributing guide, does it make sense?",
    "Translate to German:\n\nHouse rules:\n- take off your shoes\n- never smoke in the rooms\n- keep the kitchen clean",
    # questions, guesses, reports, scraps
    "What do you think of this list?\n\nFrom now on:\n- no default exports\n- tests with every change\n- tabs for indentation",
    "From now on:\n- should we use ruff for linting?\n- maybe drop flake8 from CI?\n- what about black?",
    "From now on:\n- fix this one\n- do that instead\n- it goes there",
    "What I did today:\n- fixed the parser tests\n- added a fixture for dates\n- removed the old client",
    "I see three problems:\n- the cache is never cleared\n- the tests always run twice\n- imports are slow on Windows",
    "Steps to reproduce:\n1. open the settings page\n2. click the save button twice\n3. see the error dialog",
)  # fmt: skip

LEADS = (
    "From now on", "Going forward", "please, from now on", "Our rules", "A few rules for this repo", "My preferences",
    "Team conventions", "Habits of mine", "Things I always want", "In this repo, always",
)  # fmt: skip
ITEMS = (
    "keep handlers small", "no wildcard imports", "tests live next to the code", "log with structlog",
    "error messages that name the input",
)  # fmt: skip


def stated(text: str) -> list[Statement]:
    return [one for one in find_explicit(text) if not one.doubtful]


@pytest.mark.parametrize(("text", "contents"), LISTED, ids=[text[:24] for text, _ in LISTED])
def test_each_listed_habit_is_a_statement(text: str, contents: tuple[str, ...]) -> None:
    assert [one.content for one in stated(text)] == list(contents)


@pytest.mark.parametrize("text", NOT_LISTED, ids=[text[:24] for text in NOT_LISTED])
def test_no_other_list_states_anything(text: str) -> None:
    assert [one.content for one in stated(text)] == []


@pytest.mark.parametrize(("lead", "mark"), [*product(LEADS, ("- ", "* ", "1. ", "2) ", "\u2022 "))])
def test_five_habits_are_five_statements_under_each_lead_and_mark(lead: str, mark: str) -> None:
    found = stated(f"{lead}:\n" + "\n".join(mark + item for item in ITEMS))
    assert len(found) == len(ITEMS), [one.content for one in found]


@pytest.mark.parametrize("lead", LEADS)
def test_five_habits_are_five_statements_in_a_row(lead: str) -> None:
    for mark in (". ", "; "):
        rest = mark.join(item[0].upper() + item[1:] if mark == ". " else item for item in ITEMS)
        found = stated(f"{lead}: {rest}.")
        assert len(found) == len(ITEMS), [one.content for one in found]


def test_a_row_of_habits_ends_with_the_work_of_the_day() -> None:
    found = stated(
        "From now on: use uv for installs. No wildcard imports. Fix the login page. Keep the header blue."
    )
    assert [one.content for one in found] == ["Use uv for installs", "No wildcard imports"]


def test_items_take_the_kind_and_the_reach_of_their_lead() -> None:
    decided = stated(
        "We decided the following for this project:\n- dates are stored in UTC\n- never use floats for money"
    )
    assert [one.kind for one in decided] == ["decision", "anti_pattern"]
    everywhere = stated(
        "My preferences in all my projects:\n- early returns over nested ifs\n- tabs for indentation"
    )
    assert [(one.everywhere, one.kind) for one in everywhere] == [(True, "preference")] * 2
    assert not any(one.everywhere for one in decided)


def test_a_lead_in_holds_no_words_of_the_matter() -> None:
    assert read_lead("From now on, please follow these rules:")
    assert read_lead("Implement these rules from now on:") is None
    assert read_lead("Rules:") is None
    assert read_lead("The game always follows these rules:") is None
