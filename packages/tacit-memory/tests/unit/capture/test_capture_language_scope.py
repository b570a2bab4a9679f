"""Where a statement holds: in a language, everywhere, or in the project where it was said."""

from __future__ import annotations

import pytest

from tacit.capture.session import SessionContext, TurnStatement, statement_draft
from tacit.hosts.transcripts import Turn
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.reading.explicit import find_explicit

SHOP = project_scope("shop-0123456789")


def scopes_of(prompt):
    """(scope, content) of every statement in a prompt."""
    place = SessionContext(session=SessionKey(host="t", session_id="1"), scope=SHOP)
    turn = Turn(index=0, number=1, role="user", text=prompt)
    drafts = [statement_draft(TurnStatement(statement=s, turn=turn), place) for s in find_explicit(prompt)]
    return [(str(draft.scope), draft.content) for draft in drafts]


@pytest.mark.parametrize(
    ("prompt", "language", "content"),
    [
        ("In Python, always use f-strings.", "python", "In Python, always use f-strings"),
        ("Always use f-strings in Python.", "python", "Always use f-strings in Python"),
        ("In all my Go projects, wrap errors with %w", "go", "In all my Go projects, wrap errors with %w"),
        ("When writing Rust, never unwrap outside of tests", "rust", "When writing Rust, never unwrap outside of tests"),
        ("In C++ never use raw new", "c++", "In C++ never use raw new"),
        ("Never use any in TypeScript", "typescript", "Never use any in TypeScript"),
    ],
)  # fmt: skip
def test_a_rule_of_a_language_holds_in_the_language(prompt, language, content):
    assert scopes_of(prompt) == [(f"language:{language}", content)]


@pytest.mark.parametrize(
    ("prompt", "content"),
    [
        ("In all my projects, answer in short sentences", "In all my projects, answer in short sentences"),
        ("Never use tabs in any of my projects", "Never use tabs in any of my projects"),
        (
            "For every project: run the linter before you commit",
            "For every project: run the linter before you commit",
        ),
        ("Regardless of the project, never force push", "Regardless of the project, never force push"),
        ("Wherever you work for me, never use emojis", "Wherever you work for me, never use emojis"),
        (
            "In every repository of mine, always write tests first",
            "In every repository of mine, always write tests first",
        ),
    ],
)
def test_a_rule_for_all_projects_holds_everywhere(prompt, content):
    assert scopes_of(prompt) == [("universal", content)]


@pytest.mark.parametrize(
    "prompt",
    [
        "In Python we use structlog, not logging",
        "Always run the migration in bash",
        "In the Python API, always return 409 on conflicts",
        "Always go for the queue first",
        "In this project, always use uv",
        "We use Go, not Rust",
    ],
)
def test_what_this_project_does_stays_the_projects(prompt):
    assert [scope for scope, _ in scopes_of(prompt)] == [str(SHOP)]


@pytest.mark.parametrize(
    "prompt",
    ["In Go, write a function that reverses a string", "Write the importer in Rust", "In Python how do I read a file?"],
)  # fmt: skip
def test_a_task_in_a_language_is_no_rule(prompt):
    assert scopes_of(prompt) == []
