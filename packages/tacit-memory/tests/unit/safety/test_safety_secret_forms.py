"""Fresh secrets in many forms and languages go, and innocents stay. `SECRET_FORMS_SEED` draws other values."""

from __future__ import annotations

import os
import re

import pytest

from secret_forms import innocents, planted
from tacit.capture.bootstrap.markdown import read_rules
from tacit.config.settings import PrivacySettings
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings())
SEED = int(os.environ.get("SECRET_FORMS_SEED", "20261122"))


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_of_fresh_secrets_at_least_93_of_100_go(seed: int) -> None:
    forms = planted(seed)
    assert len({one.form for one in forms}) >= 118
    texts = {one.form: REDACTOR.redact(one.text).text for one in forms}
    missed = [one.form for one in forms if any(piece in texts[one.form] for piece in one.pieces)]
    assert len(missed) <= 0.07 * len(forms), (seed, missed)


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_of_300_innocents_at_most_6_are_touched(seed: int) -> None:
    sentences = innocents(seed)
    assert len(set(sentences)) == 300
    touched = [one for one in sentences if REDACTOR.redact(one).text != one]
    assert len(touched) <= 6, (seed, touched)


@pytest.mark.parametrize("name", ["password", "server.password", "apiKey", "secret", "token"])
def test_a_secret_between_tags_of_a_rule_file_goes(name: str) -> None:
    value = "".join(reversed("bez" + "rat" + "774"))
    rules = read_rules(
        f"# Rules\n- Environment 50 always needs <server><{name}>{value}</{name}></server> in the file.\n"
    )
    assert rules.lines
    assert all(value not in REDACTOR.redact(line.content).text for line in rules.lines)


@pytest.mark.parametrize(
    "piece",
    ["a-b_", "a.", "key", "password:", "密码是", "seed phrase abandon ", 'password="a" + ', "curl -b "],
)
def test_no_shape_takes_time_that_grows_with_the_square(piece: str) -> None:
    # Of 20,000 characters: a search that went over the rest of the text from every place would take minutes.
    REDACTOR.redact(f"password {piece * (20_000 // len(piece))} secret token key")


def test_no_shape_repeats_white_space_without_end():
    """Beside a keyword such a repetition tries every length of a long run of spaces: 40,000 of them took minutes."""
    from tacit.safety.redact import _ALL
    from tacit.safety.secret_shapes import SecretShape

    shapes = [shape for shape in _ALL if isinstance(shape, SecretShape)]
    endless = [shape.kind for shape in shapes if re.search(r"\\s[*+](?!\+)", shape.pattern.pattern)]
    assert endless == []


@pytest.mark.parametrize(
    ("word", "blank"),
    [("password", " "), ("aws_secret_access_key", "\n"), ("mot de passe", "\t"), ("api key:", " ")],
)
def test_a_long_run_of_blanks_beside_a_keyword_is_read_at_once(word: str, blank: str) -> None:
    text = word + blank * 20_000 + word
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize(
    "sentence",
    [
        "Pin the dev server to port 5173, never 3000.",
        "We pin the base image to build 20240115.",
        "Pin down the flaky test of ticket 48213.",
        "The pin of the status LED is GPIO 1345.",
        "Pin 8443 is for TLS.",
        "Connect pin 8443 to ground.",
        "Mapping 123456 is broken.",
        "The shipping 1234 took long.",
        "In my opinion 5432 works.",
        "The footprint of 4821 kB is fine.",
        "The tan color 123456 is used in the header.",
    ],
)
def test_the_english_words_pin_and_tan_announce_no_code(sentence: str) -> None:
    assert REDACTOR.redact(sentence).text == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "Die PIN ist {}.",
        "el pin es {}",
        "le code pin : {}",
        "пин-код {}",
        "PIN is {}",
        "o pin do cofre é {}",
        "mein pin {}",
        "meine TAN {}",
        "pin {}を入力",
        "我的pin是{}",
        "карта pin {}",
        "my pin {}",
    ],
)
def test_a_pin_goes(sentence: str) -> None:
    digits = "48" + "73"
    assert digits not in REDACTOR.redact(sentence.format(digits)).text
