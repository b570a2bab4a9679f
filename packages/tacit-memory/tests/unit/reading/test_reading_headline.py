"""Headlines: at most 60 characters, the condition first, nothing open at the cut, the whole of a short statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.reading.headline import CUT, MAX_CHARS, headline_of, is_whole


@pytest.mark.parametrize(
    ("statement", "headline"),
    [
        ("Tags are signed.", "Tags are signed."),
        (
            "Raise ConfigError with the line number instead of ValueError when an ini file cannot be parsed.",
            f"when an ini file cannot be parsed: Raise ConfigError{CUT}",
        ),
        (
            "Before a release, run the smoke tests on the staging machine and read the log of the importer.",
            f"before a release: run the smoke tests on the staging{CUT}",
        ),
        (
            "We decided that invoices are numbered per tenant and per year because auditors ask for it every spring.",
            f"invoices are numbered per tenant and per year{CUT}",
        ),
        (
            "Release artifacts can be built in CI without tagging by running the workflow `workflow_dispatch` by hand.",
            f"Release artifacts can be built in CI{CUT} workflow_dispatch",
        ),
        (
            "Wenn die Migration l\u00e4nger als eine Minute dauert, brich sie ab und melde dich beim Betrieb der Datenbank.",
            f"wenn die Migration l\u00e4nger{CUT}: brich sie ab und melde dich{CUT}",
        ),
    ],
)
def test_the_condition_comes_first_and_the_cut_leaves_nothing_open(statement: str, headline: str) -> None:
    assert headline_of(statement) == headline
    assert is_whole(headline, statement) is (CUT not in headline and headline == statement)


def test_what_decides_is_not_cut_off_right_behind_its_verb() -> None:
    made = headline_of(
        "Whenever the service that writes the reports for the auditors is restarted, use the flag --keep-queue."
    )
    assert "--keep-queue" in made
    for ending in ("use", "not", "to", "with", "never", "the"):
        assert not made.removesuffix(CUT).endswith(f" {ending}")


@given(st.text(min_size=1, max_size=400))
def test_a_headline_is_one_line_of_at_most_its_length(statement: str) -> None:
    made = headline_of(statement)
    assert len(made) <= MAX_CHARS
    assert "\n" not in made
    assert made == headline_of(statement)


@given(st.text(alphabet="abcdefgh when if,.", min_size=1, max_size=60))
def test_a_short_statement_is_its_own_headline(statement: str) -> None:
    made = headline_of(statement)
    assert is_whole(made, statement)
