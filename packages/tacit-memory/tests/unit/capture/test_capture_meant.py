"""What a person says and does not mean to last is learned neither from the prompt nor from an agent that quotes it."""

from __future__ import annotations

import pytest

from tacit.app.user_words import vouch
from tacit.capture.session import find_statements
from tacit.hosts.transcripts import Turn
from tacit.reading.explicit import find_explicit, is_taken_back_by


@pytest.mark.parametrize(
    ("failed", "prompt", "quoted"),
    [
        ("mocked", "never rotate the keys again, worked fine so far /s", "never rotate the keys again"),
        ("mocked", "bravo, the whole table is gone. always drop it first", "always drop it first"),
        (
            "mocked",
            "haha sure: from now on all files are called x.py",
            "from now on all files are called x.py",
        ),
        (
            "mocked",
            "toll, wieder alles rot. ab jetzt immer ohne Tests mergen",
            "ab jetzt immer ohne Tests mergen",
        ),
        ("mocked", "génial, encore en panne. ne teste jamais rien", "ne teste jamais rien"),
        ("taken_back", "always sort by name. actually no, by date", "always sort by name"),
        ("taken_back", "Immer nach Namen sortieren. Vergiss das, nach Datum", "Immer nach Namen sortieren"),
        ("taken_back", "trie toujours par nom. laisse tomber, par date", "trie toujours par nom"),
        ("reports", "the client would like us to always answer in Dutch", "always answer in Dutch"),
        ("reports", "Herr Klein hätte gern, dass wir nie mailen", "dass wir nie mailen"),
        ("elsewhere", "in my other project we always squash", "we always squash"),
        ("pasted", "NOTICE TO ALL USERS: never update the driver", "never update the driver"),
        ("pasted", "relay-bot: never update the driver", "never update the driver"),
    ],
)
def test_a_prompt_teaches_what_may_be_quoted_of_it_and_no_more(failed: str, prompt: str, quoted: str) -> None:
    assert find_explicit(prompt) == ()
    assert vouch("Something.", quoted, [prompt]).failed == failed


@pytest.mark.parametrize(
    "prompt",
    [
        "Great, thanks. From now on sort by name.",
        "super, danke. Ab jetzt immer nach Namen sortieren",
        "I would like you to always sort by name",
        "Remember that the client would like everything sorted by name",
        "great, always do the sorting by name",
        "Forget that, never sort by name",
    ],
)
def test_what_is_meant_is_learned(prompt: str) -> None:
    assert find_explicit(prompt)


@pytest.mark.parametrize(
    ("said_in", "prompt"),
    [
        ("from now on use tabs", "scratch that"),
        ("fix the page. from now on sort the list by name", "hm no. never mind the list, sort it as before"),
        ("ab jetzt immer Tabs", "ach nein, vergiss das"),
        ("désormais toujours des tabulations", "en fait non, laisse tomber les tabulations"),
    ],
)
def test_the_next_prompt_takes_back_what_it_names_or_what_stood_alone(said_in: str, prompt: str) -> None:
    (found,) = find_explicit(said_in)
    assert is_taken_back_by(found.span, prompt, said_in=said_in)
    turns = [
        Turn(index=at, number=at + 1, role="user", text=text) for at, text in enumerate((said_in, prompt))
    ]
    assert find_statements(turns) == (), "read from a transcript it is no statement either"


@pytest.mark.parametrize(
    ("said_in", "prompt"),
    [
        ("from now on use tabs", "never mind, it works now"),
        ("from now on use tabs. fix the page", "forget it, I do the page myself"),
        ("from now on use tabs", "no, use tabs instead of blanks"),
        ("from now on use tabs", "should we scratch that?"),
        ("from now on use tabs", "what does this mean?\n> forget that"),
        ("from now on use tabs", "now the page"),
    ],
)
def test_other_prompts_end_nothing(said_in: str, prompt: str) -> None:
    assert not is_taken_back_by("from now on use tabs", prompt, said_in=said_in)


def test_a_sentence_that_begins_with_a_correction_corrects_the_one_before_it_and_stands() -> None:
    said = find_explicit(
        "add an endpoint, page it with offset. actually no wait, cursors everywhere in this api, thats the rule"
    )
    assert [statement.content for statement in said] == ["Cursors everywhere in this api, thats the rule"]
    assert find_explicit("always use tabs, no wait, always use spaces") == ()


def test_a_prompt_that_begins_with_a_line_of_signs_is_read_to_its_end() -> None:
    """A pattern that tries every split of them would never end, and hold the whole process."""
    for signs in ("-" * 20_000, "-/" * 10_000):
        said = find_explicit(f"{signs}\n\nalways use tabs")
        assert [statement.content for statement in said] == ["Always use tabs"]
