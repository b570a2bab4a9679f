"""The torture run finds losses, and a short one finds none."""

from __future__ import annotations

from tacit_evals.torture.home import expected_once


def test_lost_and_doubled_statements_are_named():
    assert expected_once(["a", "b"], ["a", "b", "never told"]) == ([], [])
    assert expected_once(["a", "b"], ["a"]) == (["b"], [])
    assert expected_once(["a"], ["a", "a", "c", "c"]) == ([], ["a", "c"])
