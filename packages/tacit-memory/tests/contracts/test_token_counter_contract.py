"""What every token counter must do."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.ports.models import TokenCounter
from tacit.providers.tokens import EstimateCounter, ExactCounter, FakeTokenCounter

MAKERS = {
    "estimate": EstimateCounter,
    "exact": ExactCounter,
    "fake": FakeTokenCounter,
}


@pytest.fixture(scope="module", params=MAKERS)
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    return MAKERS[request.param]()


def test_the_empty_text_has_no_tokens(counter: TokenCounter) -> None:
    assert counter.count("") == 0


def test_more_text_has_more_tokens(counter: TokenCounter) -> None:
    line = "Run the linter after every change.\n"
    counts = [counter.count(line * times) for times in range(6)]
    assert counts == sorted(set(counts))


def test_surrogates_and_control_characters_count(counter: TokenCounter) -> None:
    assert counter.count("a \ud800 b \udfff c") > 0
    assert counter.count("a \0 b") > 0


def test_markers_are_plain_text(counter: TokenCounter) -> None:
    assert counter.count("before <|endoftext|> after") > 2


def test_a_long_text_is_counted_in_time(counter: TokenCounter) -> None:
    assert counter.count("word " * 100_000) >= 100_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_can_be_counted_and_counts_repeat(counter: TokenCounter, text: str) -> None:
    count = counter.count(text)
    assert count >= 0
    assert count == counter.count(text)
