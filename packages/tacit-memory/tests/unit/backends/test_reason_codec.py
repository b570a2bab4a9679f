"""How the reason of a change is stored: as a value, with what other versions wrote."""

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


def test_a_reason_comes_back_as_it_was() -> None:
    for reason in (NESTED, *(ChangeReason(cause=cause) for cause in ChangeCause)):
        assert decode_reason(encode_reason(reason)) == reason


def test_only_what_is_there_is_written() -> None:
    assert encode_reason(ChangeReason(cause=ChangeCause.NEW)) == '{"cause":"new"}'


@pytest.mark.parametrize("words", ["new", "", "removed from CLAUDE.md", "{not json", "undone: faded"])
def test_what_is_no_value_stays_as_it_is_for_people(words: str) -> None:
    reason = decode_reason(words)
    assert (reason.cause, reason.detail) == (ChangeCause.STORED_WORDS, words)
    assert decode_reason(encode_reason(reason)) == reason


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
    assert decode_reason(encode_reason(words)).detail == "a\ufffdb"
