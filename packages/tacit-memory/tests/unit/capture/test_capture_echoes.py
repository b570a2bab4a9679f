"""What a session was given is nobody's own statement when it is said again, unless a word of it is changed."""

from __future__ import annotations

import pytest

from tacit.capture.usage import EchoDetector

GIVEN = EchoDetector(
    [
        "Always run `make lint` before every commit.",
        "- [Decision] We decided to keep the cache in Redis, not in memory. (2026-01-01)",
        "Use tabs",
    ]
)


@pytest.mark.parametrize(
    ("said", "agent", "user"),
    [
        ("Always run make lint before every commit", True, True),
        ("As the notes say, always run `make lint` before every commit", True, False),
        ('You wrote "always run `make lint` before every commit". Why?', True, True),
        ("Always run `make check` before every push.", False, False),
        ("Never run make lint before every commit", True, False),
        ("We decided to keep the cache in Memcached, not in memory.", True, False),
        ("use tabs", True, True),
        ("use spaces", False, False),
        ("", False, False),
    ],
)
def test_an_agent_echoes_by_half_a_user_word_by_word(said, agent, user):
    assert GIVEN.repeated_by_agent(said) is agent
    assert GIVEN.repeated_by_user(said) is user


def test_without_anything_given_nothing_is_an_echo():
    assert not EchoDetector()
    assert not EchoDetector(["", " "]).repeated_by_agent("Always run make lint")
    assert not EchoDetector().repeated_by_user("Always run make lint")


def test_the_share_by_hand():
    """Five words have three runs of three; two of them were given: 2/3."""
    assert EchoDetector(["a b c d"])._share(["a", "b", "c", "d", "e"]) == pytest.approx(2 / 3)
