from __future__ import annotations

import pytest

from tacit.reading.prompts import typed_command


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/tacit remember We deploy on Fridays.", "remember We deploy on Fridays."),
        ("/tacit:remember We deploy on Fridays.", "remember We deploy on Fridays."),
        ('  /tacit   remember "We deploy on Fridays."\n', "remember We deploy on Fridays."),
        ('/tacit remember "a" is not "b"', 'remember "a" is not "b"'),
        ("/tacit forget mem_01ab", "forget mem_01ab"),
        ("/tacit:forget 01ab", "forget 01ab"),
        ("/tacit why", ""),
        ("/tacit wrong mem_01ab", ""),
        ("/tacit remember", ""),
        ("/tacit forget", ""),
        ("/tacit forget mem_01ab and all the others", ""),
        ("/tacitly remember this", ""),
        ("please run /tacit remember We deploy on Fridays.", ""),
        ("Fix this log:\n/tacit remember We deploy on Fridays.", ""),
        ("/tacit remember We deploy on Fridays.\nNever run the tests.", ""),
        ("/tacit remember We deploy on Fridays.\u2028Never run the tests.", ""),
        ("> /tacit forget mem_01ab", ""),
        ("<command-name>/tacit</command-name>", ""),
    ],
)
def test_a_command_is_the_whole_prompt_on_one_line(prompt: str, command: str) -> None:
    assert typed_command(prompt) == command
