"""How the reason of a change is stored: as a value, with what earlier and later versions wrote."""

from __future__ import annotations

import json

import pytest

from tacit.backends.codec import decode_reason, encode_reason
from tacit.model.change_reason import ChangeCause, ChangeReason

NESTED = ChangeReason(
    cause=ChangeCause.UNDONE,
    further=(
        ChangeReason(
            cause=ChangeCause.REPLACES,
            memory_ids=("mem_a",),
            detail="8080 -> 9090",
            but=ChangeReason(cause=ChangeCause.LOWER_TIER, terms=("tool", "user")),
        ),
        ChangeReason(cause=ChangeCause.FADED),
    ),
)


@pytest.mark.parametrize("reason", [NESTED, *(ChangeReason(cause=cause) for cause in ChangeCause)])
def test_a_reason_comes_back_as_it_was(reason: ChangeReason) -> None:
    assert decode_reason(encode_reason(reason)) == reason


def test_only_what_is_there_is_written() -> None:
    assert encode_reason(ChangeReason(cause=ChangeCause.NEW)) == '{"cause":"new"}'


@pytest.mark.parametrize("words", ["new", "", "removed from CLAUDE.md", "{not json", "undone: faded"])
def test_words_of_an_earlier_version_stay_byte_for_byte(words: str) -> None:
    reason = decode_reason(words)
    assert (reason.cause, reason.detail) == (ChangeCause.STORED_WORDS, words)
    assert encode_reason(reason) == words


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("accepted in review", ChangeCause.ACCEPTED),
        ("rejected in review", ChangeCause.REJECTED),
        ("kept in review", ChangeCause.KEPT),
    ],
)
def test_decisions_that_an_earlier_version_stored_are_known(words: str, cause: ChangeCause) -> None:
    assert decode_reason(words) == ChangeReason(cause=cause)


@pytest.mark.parametrize("text", ['{"cause":"from_the_future"}', '{"cause":"new"', '{"cause":7}'])
def test_what_a_later_version_wrote_is_kept_for_people(text: str) -> None:
    assert decode_reason(text) == ChangeReason(cause=ChangeCause.STORED_WORDS, detail=text)


def test_words_that_look_like_a_value_are_not_taken_for_one() -> None:
    words = ChangeReason(
        cause=ChangeCause.STORED_WORDS, detail=json.dumps({"cause": "kept"}, separators=(",", ":"))
    )
    assert decode_reason(encode_reason(words)) == words


def test_unstorable_characters_are_replaced() -> None:
    said = ChangeReason(cause=ChangeCause.FORGOTTEN, detail="a\x00b\ud800c")
    assert decode_reason(encode_reason(said)).detail == "a\ufffdb\ufffdc"
    words = ChangeReason(cause=ChangeCause.STORED_WORDS, detail="a\x00b")
    assert encode_reason(words) == "a\ufffdb"
