"""Words of a statement are found whatever stands between them, also cut short, and nothing else is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.safety.forgotten_words import PURGED, ForgottenWords

LONG = "The staging server of the billing team answers on port 9443 and restarts every night at two."


@pytest.mark.parametrize(
    ("statement", "text", "left"),
    [
        ("Always use npm", 'He said: "always  use `npm`".', f'He said: "{PURGED}`".'),
        (LONG, f"dec: {LONG[:61]}...", f"dec: {PURGED}..."),
        (LONG, "The staging server of the billing crew.", "The staging server of the billing crew."),
        ("Use tabs", "Use tables", "Use tables"),
        ("uv", "use uv here", "use uv here"),
        ("Kaffeemühle", "the KAFFEEMÜHLE hums", f"the {PURGED} hums"),
        ("one\ntwo three", json.dumps("one\ntwo three"), f'"{PURGED}"'),
        ("alpha beta gamma", '{"a":"alpha","b":"beta gamma"}', '{"a":"alpha","b":"beta gamma"}'),
    ],
)
def test_a_statement_is_known_by_its_run_of_words(statement, text, left):
    assert ForgottenWords([statement]).without(text) == left
    assert ForgottenWords([statement]).held_by(text) == (text != left)


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=120))
def test_cleaning_twice_changes_nothing_more(statements, text):
    words = ForgottenWords(statements)
    once = words.without(text)
    assert words.without(once) == once
