"""The same statement means equal text: nothing that carries meaning is folded away."""

import pytest

from tacit.statements.same import same_statement


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Use pnpm.", "use pnpm"),
        ("Use  pnpm\nhere", "Use pnpm here!"),
        ("caf\u00e9 first", "cafe\u0301 first"),
        ("Run `make lint`.", "Run `make lint`"),
        ("\u4f7f\u7528 pnpm\u3002", "\u4f7f\u7528 pnpm"),
    ],
)
def test_form_blanks_end_and_first_letter_do_not_count(left: str, right: str) -> None:
    assert same_statement(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("kept at 20 degrees", "kept at -20 degrees"),
        ("Retry if > 80", "Retry if < 80"),
        ("Delete /tmp", "Delete tmp"),
        ("Push with --force", "Push with force"),
        ("Run pytest .", "Run pytest"),
        ("Go to foo/..", "Go to foo/"),
        ("Level is DEBUG", "Level is debug"),
        ("CI is slow", "cI is slow"),
        ("Is it on?", "Is it on"),
        ("done \u2705", "done \u274c"),
        ("up to 10 MB", "up to 10 Mb"),
        ("Matches release/*", "Matches release/**"),
        ("If tests fail, stop and tell the team", "Stop and tell the team if tests fail"),
        ("In the cart, test the order", "Test the cart in the order"),
    ],
)
def test_everything_else_counts(left: str, right: str) -> None:
    assert not same_statement(left, right)
