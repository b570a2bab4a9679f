"""Words of a statement are found whatever stands between them, also cut short, and nothing else is touched."""

from __future__ import annotations

import json
import sys

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
        (
            LONG,
            "The staging server of the billing team answers slowly today.",
            "The staging server of the billing team answers slowly today.",
        ),
        (
            LONG,
            "The staging server of the billing team answers slowly...",
            "The staging server of the billing team answers slowly...",
        ),
        (LONG, "The staging server of the billing team answers", PURGED),
        (LONG, "The staging server of the billing team answers on ...", f"{PURGED} ..."),
        (LONG, "[The staging server of the billing team answers\u2026]", f"[{PURGED}\u2026]"),
        (LONG, '{"a":"The staging server of the billing team answers on po"}', f'{{"a":"{PURGED}"}}'),
        (LONG, f"{LONG} It answers slowly.", f"{PURGED}. It answers slowly."),
        ("Deploy with the blue button only", f"Deploy with the\n{' ' * 18}blue button only", PURGED),
        (
            "Deploy with the blue button only",
            f"Deploy with the\r\n\n\t > {' ' * 40}blue button only!",
            f"{PURGED}!",
        ),
        (
            "Deploy with the blue button only",
            "Deploy with the - - - - - - - - - - - - - blue button only",
            "Deploy with the - - - - - - - - - - - - - blue button only",
        ),
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


def test_a_shorter_statement_goes_where_a_longer_one_is_not_said():
    eight = "a0 a1 a2 a3 a4 a5 a6 a7"
    words = ForgottenWords([f"{eight} b", f"{eight} b a z", eight, "a0 a1 a2"])
    assert words.without(f"so {eight} b q.") == f"so {PURGED} q."
    assert words.without(f"so {eight} b a q.") == f"so {PURGED} a q."
    assert words.without(f"so {eight} q.") == f"so {PURGED} q."
    assert words.without("so a0 a1 a2 a3 q.") == f"so {PURGED} a3 q."
    assert (
        ForgottenWords([f"{eight} b", "a0 a1 a2"]).without(f"so {eight} q.")
        == f"so {PURGED} a3 a4 a5 a6 a7 q."
    )


WORDS = ("use", "used", "the", "port", "kaffeemühle", "of")
SAID = st.lists(st.sampled_from(WORDS), min_size=2, max_size=13)


def longest(statements, text):
    """The most words of a statement that `text` begins with; the last may be cut. The slow way."""
    words = text.removesuffix("...").split()

    def shared(one):
        count = next(
            (i for i, (a, b) in enumerate(zip(one, words, strict=False)) if a != b), min(len(one), len(words))
        )
        if count == len(one) or count < 8:
            return count if count == len(one) else 0
        cut = count == len(words) - 1 and one[count].startswith(words[count])
        return count + cut if cut or count == len(words) else 0

    return max(map(shared, statements), default=0)


@given(st.lists(SAID, max_size=6), SAID, st.integers(0, 70))
def test_of_several_statements_the_longest_run_goes(statements, said, cut):
    text = f"{' '.join(said)[: cut + 1].rstrip()}..."
    run = longest(statements, text)
    left = " ".join([PURGED, *text.removesuffix("...").split()[run:]]) + "..."
    after = ForgottenWords(map(" ".join, statements)).without(text)
    if run:
        assert after.startswith(PURGED)
        assert ForgottenWords(map(" ".join, statements)).without(left) == after
    else:
        assert not after.startswith(PURGED)


def calls(work):
    made = []
    sys.setprofile(lambda _frame, event, _: made.append(event) if event == "call" else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(made)


def test_the_cost_of_a_text_does_not_grow_with_the_number_of_statements():
    text = "Use the port of the harbour desk. " * 50
    few, many = (
        ForgottenWords([f"Use the port {number} of the billing desk" for number in range(count)])
        for count in (3, 3000)
    )
    assert calls(lambda: many.without(text)) == calls(lambda: few.without(text))
