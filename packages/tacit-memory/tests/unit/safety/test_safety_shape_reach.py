"""Shapes that are tried near certain words alone: that every match holds one, how far it reaches, and that each form goes far from all others.

All secrets here are made up.
"""

from __future__ import annotations

import pytest

from pattern_proof import ways_of
from tacit.config.settings import PrivacySettings
from tacit.safety.redact import Redactor
from tacit.safety.secret_shapes import ISSUER_SHAPES, SHAPES, SecretShape
from tacit.safety.value_shapes import SPLIT_SHAPES, VALUE_SHAPES

REDACTOR = Redactor(PrivacySettings())
REACHING = tuple(
    shape for shape in (*SPLIT_SHAPES, *ISSUER_SHAPES, *SHAPES, *VALUE_SHAPES) if shape.reach is not None
)
FILLER = "\n".join(
    f"We moved the {word} over to the other side"
    for word in ("lamp chair table floor door roof wall" * 2).split()
)
VALUE = "Hn7!xyz9Q"
LONG = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8v"
NAMES = (
    "DB_PASSWORD db_passwd my_passphrase user.passcode MY_PASS pwd app_secret bot_token api-key apikey app_key application_key auth_key"
    " access_key private_key client_secret credential credentials encryption_key signing_key webhook_secret SENTRY_DSN secret_prod pwd_2"
).split()
FORMS = (
    *(
        f"the {word} {link} {VALUE}"
        for word in "password passwd passphrase passcode pwd secret token api-key credential credentials login".split()
        for link in ("is", "for the staging box is", "of\nour\nown\nbig\nred\nbox\nwas\n", "=", "set to")
    ),
    *(f"{name}={VALUE}" for name in NAMES),
    *(f'"{name}"\n:\n"{VALUE}"' for name in NAMES),
    *(f'set("{name}", "{VALUE}")' for name in NAMES),
    *(f"- name: {name}\n  value: {VALUE}" for name in NAMES),
    *(f'name\n:\n{name}\n,\n"value"\n:\n{VALUE}' for name in NAMES),
    *(f"{word} for kim {VALUE}" for word in ("password", "passwd", "pwd", "passphrase")),
    *(f"{word} on the box in rack: {VALUE}" for word in ("password", "passphrase")),
    *(f'the {word} you use now\n"four plain old words"' for word in ("password", "passphrase")),
    *(f"{word} kim / {VALUE}" for word in ("login", "log in", "sign in", "cred", "creds", "credentials", "account", "username")),
    *(
        f"our {word} of old {LONG}"
        for word in (
            "secret", "token", "api key", "app key", "application key", "access key", "private key", "signing key", "encryption key",
            "credentials", "password",
        )
    ),
    *(f"{vendor} token: {LONG}" for vendor in ("cloudflare", "new_relic", "zoom")),
    "openssl -passin pass:" + VALUE,
    "123456789:AA" + LONG + "abcd",
)  # fmt: skip
WORDS = tuple(dict.fromkeys(word for shape in REACHING for word in (*shape.keywords, *shape.held)))


@pytest.mark.parametrize(
    "shape", REACHING, ids=lambda shape: f"{shape.kind}-{shape.pattern.pattern[-40:-20]}"
)
def test_every_match_holds_a_word_and_spans_no_more_lines_than_said(shape: SecretShape) -> None:
    assert shape.reach is not None
    _ = shape.pattern.search("")
    ways = ways_of(shape.pattern.pattern, shape.pattern.flags, shape.held)
    assert all(way.held for way in ways), "some match holds none of the words that it is looked for by"
    assert max(way.before for way in ways) <= shape.reach[0]
    assert max(way.after for way in ways) <= shape.reach[1]


def test_each_form_goes_far_from_every_other_word() -> None:
    begin, end = f"the token is rotated\n{FILLER}\n", f"\n{FILLER}\na key, a pin and a pass"
    found = {form: REDACTOR.redact(f"{begin}{form}{end}").text for form in FORMS}
    secrets = (VALUE, LONG, "four plain old words")
    assert [form for form, text in found.items() if any(secret in text for secret in secrets)] == []
    assert [form for form, text in found.items() if not (text.startswith(begin) and text.endswith(end))] == []


def test_the_filler_holds_no_word() -> None:
    assert not [word for word in WORDS if word in FILLER.lower()]


@pytest.mark.parametrize(
    ("pattern", "words", "held", "before", "after"),
    [
        ("(?:login|pwd) is", ("pwd",), False, 0, 0),
        ("(?:login|pwd) is", ("pwd", "login"), True, 0, 0),
        (r"pass\s*:\s*\w+", ("pass",), True, 0, 2),
        (r"\s*name\s+pa[st]?s", ("pas",), False, 1, 0),
        (r"name\s+(?i:PASS)\w{0,3}", ("pass",), True, 1, 0),
        (r"key(?:\s+\w+){0,4}?", ("key",), True, 0, 4),
        (r"key[^\"]*", ("key",), True, 0, 40),
    ],
)  # fmt: skip
def test_the_proof_by_hand(pattern: str, words: tuple[str, ...], held: bool, before: int, after: int) -> None:
    ways = ways_of(pattern, 0, words)
    assert all(way.held for way in ways) is held
    assert max(way.before for way in ways) == before
    assert max(way.after for way in ways) == after
