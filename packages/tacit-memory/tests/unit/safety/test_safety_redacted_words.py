"""Pieces of a secret in what was read from a text: they are known by what redaction took out of the text."""

from __future__ import annotations

import pytest

from tacit.config.settings import PrivacySettings
from tacit.safety.redact import Redactor
from tacit.safety.redacted_words import NOTHING_REDACTED, find_redacted_words, is_opaque

REDACTOR = Redactor(PrivacySettings())
RAW = 'Set OPENAI_API_KEY = "sk-4Fq9ZtLm2Wx8Yb3Nc6Vd1Kp7" and the password is maple-Otter-77, then run make deploy.'
LOST = find_redacted_words(RAW, REDACTOR.redact(RAW).text)


def test_an_untouched_text_loses_nothing():
    assert find_redacted_words("run make lint", "run make lint") is NOTHING_REDACTED
    assert not NOTHING_REDACTED.held_by("anything at all")


@pytest.mark.parametrize(
    "term", ["4fq9ztlm2wx8yb3nc6vd1kp7", "ztlm2wx8", "maple-otter-77", "otter", "cfg/maple-otter"]
)
def test_a_piece_of_what_went_is_held(term):
    assert LOST.held_by(term)


@pytest.mark.parametrize("term", ["openai_api_key", "make deploy", "password", "deploy", "a1"])
def test_words_that_stayed_are_not(term):
    assert not LOST.held_by(term)


def test_terms_and_signatures_are_cleaned():
    assert LOST.clean(("deploy", "ztlm2wx8yb")) == ("deploy",)
    assert LOST.without("fatal openai_api_key ztlm wx deploy") == "fatal openai_api_key wx deploy"


def test_runs_of_short_pieces_are_known_by_their_digits():
    lost = find_redacted_words("use a1-b2-c3-d4 now", "use [redacted:x] now")
    assert lost.held_by("b2-c3-d4")
    assert not lost.held_by("now")


@pytest.mark.parametrize(
    ("term", "opaque"),
    [
        ("src/tacit/recall/pipeline.py", False),
        ("test_what_only_looks_like_it_stays", False),
        ("miicxgibaakbgqdelhe3seqwa6gy9fp93h", True),
        ("internationalisation", False),
    ],
)
def test_a_term_without_a_text_is_judged_by_its_look(term, opaque):
    assert is_opaque(term) is opaque
