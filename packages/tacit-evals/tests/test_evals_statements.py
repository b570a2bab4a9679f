"""The development sets of marked statements and replacements keep their bounds. The held sets are measured by people, not here."""

from __future__ import annotations

from collections import Counter

import pytest

from tacit_evals.statements import RIGHT, judged


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Counter[str]]:
    return {part: Counter(how for _, how, _ in rows) for part, rows in judged("dev").items()}


@pytest.mark.parametrize(
    ("part", "least"), [("marks", 0.95), ("one-off", 0.99), ("replacements", 0.85), ("both hold", 1.0)]
)
def test_a_part_keeps_its_bound(outcomes: dict[str, Counter[str]], part: str, least: float) -> None:
    right = sum(count for how, count in outcomes[part].items() if how in RIGHT)
    assert right >= least * outcomes[part].total() > 0
