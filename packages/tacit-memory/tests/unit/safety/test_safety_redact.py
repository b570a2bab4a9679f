"""The rule pack: what goes, what stays, and what the result says. All secrets here are made up."""

from __future__ import annotations

import pytest

from tacit.config.settings import PrivacySettings
from tacit.errors import InvalidSetting
from tacit.safety.redact import Redactor
from tacit.safety.secret_shapes import SHAPES, entropy

REDACTOR = Redactor(PrivacySettings())
A = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"  # filler in the looks of a token
HEX = "9f3c1a7e5b2d4860c1e2f3a4b5d6978a"

SECRETS = [
    ("AKIA" + "Q3EGRLKTPWZ7MVNA", "aws_access_key"),
    ("aws_secret_access_key = wJ4rXUtnFEMIxK7MDENGbPxRfiCYqLMPLzKzYz12", None),
    ("gh" + "p_" + A + "abcd", "github_token"),
    ("github_pat_" + A + A, "github_token"),
    ("glpat-" + A[:20], "gitlab_token"),
    ("xox" + "b-123456789012-" + A[:24], "slack_token"),
    ("https://hooks.slack.com/services/T0AB12/B0CD34/" + A[:24], "slack_webhook"),
    ("sk_" + "live_" + A[:24], "stripe_key"),
    ("AIza" + "Sy" + A + "abc", "google_api_key"),
    ("sk-" + "proj-" + A + A, "openai_key"),
    ("sk-" + A + A[:16], "openai_key"),
    ("sk-" + "ant-api03-" + A, "anthropic_key"),
    ("hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "huggingface_token"),
    ("npm_" + A + "abcd", "npm_token"),
    ("pypi-" + "AgEIcHlwaS5vcmc" + A, "pypi_token"),
    ("AccountKey=" + A + A + "abc==", "azure_key"),
    ("https://x.blob.core.windows.net/c?sv=1&sig=" + A + "%3D", "azure_sas"),
    ("SG." + A[:22] + "." + A + "abcdefg", "sendgrid_key"),
    ("twilio auth token " + HEX, None),
    ("123456789:AA" + A + "a", "telegram_token"),
    ("M" + A[:23] + ".Gh4kLm." + A[:27], "discord_token"),
    ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A, "jwt"),
    ("postgres://app:" + "s3cr3tpw@db.internal:5432/x", "url_credentials"),
    ("Authorization: Bearer " + A, "auth_header"),
    ("mysql -u root -pTr0ub4dor app", "cli_password"),
    ("curl -u admin:Tr0ub4dor https://x.y", "cli_password"),
    ("docker run -e X=1 --api-key " + A + " img", "cli_password"),
    ("DB_PASSWORD=hT9!kk2p", "secret_assignment"),
    ('client_secret: "q8W-e7R-t6Y"', "secret_assignment"),
    ('{"apiKey": "q8We7Rt6Yu5I"}', "secret_assignment"),
    ("- name: DB_PASSWORD\n  value: hT9kk2pXX", "secret_assignment"),
    ("the password for staging is hT9!kk2p", "spoken_secret"),
    ("log in with kim / Summer!Break24", "spoken_secret"),
    ("the signing key we use: rotated to " + A, "high_entropy"),
    ("dop_v1_" + HEX + HEX, "digitalocean_token"),
    ("Cookie: session=" + A, "cookie"),
    ("machine h login kim password hT9kk2p", "netrc"),
]


@pytest.mark.parametrize(("text", "kind"), SECRETS)
def test_secrets_go(text: str, kind: str | None) -> None:
    result = REDACTOR.redact(f"Before. {text} After.")
    assert result.has_secret
    assert "[redacted:" in result.text
    if kind is not None:
        assert kind in {finding.kind for finding in result.findings}
    for part in (A[:16], HEX[:16], "Tr0ub4dor", "hT9", "s3cr3tpw", "Summer!Break24", "q8W"):
        assert part not in result.text


@pytest.mark.parametrize("text", ["password: x1", "The staging login uses password: x1", "PGPASSWORD='a7b'"])
def test_a_short_password_goes_where_it_is_named_as_one(text: str) -> None:
    result = REDACTOR.redact(text)
    assert result.has_secret
    assert "x1" not in result.text
    assert "a7b" not in result.text


def test_there_are_enough_shapes() -> None:
    assert len({shape.kind for shape in SHAPES}) >= 35
    assert all(shape.keywords for shape in SHAPES)


def test_a_private_key_goes_as_a_whole() -> None:
    body = "\n".join(["MIIEpAIBAAKCAQEA" + A] * 3)
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    assert REDACTOR.redact(f"a {text} b").text == "a [redacted:private_key] b"
    assert A not in REDACTOR.redact(text[:80]).text  # cut off before its end


INNOCENT = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke it",
    "id 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "password=changeme",
    "password: v2",
    "password: 12",
    "password: yes",
    "password: x1 and x2 are the columns of the form",
    "export OPENAI_API_KEY=sk-...",
    "API_KEY=${API_KEY}",
    "token: <your token>",
    "secret: ${{ secrets.GITHUB_TOKEN }}",
    'password: "xxxxxxxx"',
    "const token = getToken();",
    "The password is hashed with bcrypt before it is stored.",
    "The token is base64url-encoded and valid for 30-minute windows.",
    "max_tokens: 128000",
    "password_min_length = 12",
    "card 4242 4242 4242 4242 in tests",
    "order 1234567890123456",
    "git@github.com:org/repo.git",
    "mail dev@example.com",
    "The secret lives in /etc/app/secrets.yaml",
    "Never write `-----BEGIN PRIVATE KEY-----` into the log.",
    "version 1.2.3.4, port 5432, 2026-01-02 10:00:00",
    "import { tokenize } from './tokenizer'",
    "primary key: user_id, foreign key: account_id",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_innocents_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text
    assert not REDACTOR.redact(text).findings


def test_cards_need_a_right_check_digit() -> None:
    assert REDACTOR.redact("card 4539 5787 6362 1486").text == "card [redacted:credit_card]"
    assert not REDACTOR.redact("card 4539 5787 6362 1487").findings


def test_ibans_need_right_check_digits() -> None:
    assert REDACTOR.redact("to GB33 BUKB 2020 1555 5555 55 now").text == "to [redacted:iban] now"
    assert not REDACTOR.redact("to GB34 BUKB 2020 1555 5555 55 now").findings


def test_personal_data_is_no_secret() -> None:
    result = REDACTOR.redact("ask kim.lee@acme-corp.io or +1 415 555 2671")
    assert result.text == "ask [redacted:email] or [redacted:phone]"
    assert not result.has_secret
    assert result.findings


def test_emails_may_be_kept() -> None:
    text = "ask kim.lee@acme-corp.io"
    assert Redactor(PrivacySettings(emails="keep")).redact(text).text == text


def test_home_paths_are_shortened() -> None:
    text = "see /home/kim/work/a.py and C:\\Users\\Kim\\b.txt and /Users/kim/c"
    assert REDACTOR.redact(text).text == "see ~/work/a.py and ~\\b.txt and ~/c"


def test_private_spans_go_also_with_redaction_off() -> None:
    off = Redactor(PrivacySettings(redact=False))
    assert (
        off.redact("a <private>my thing</private> b <private>unclosed").text
        == "a [redacted:private] b [redacted:private]"
    )
    assert not off.redact("DB_PASSWORD=hT9!kk2p").findings


def test_allow_and_deny() -> None:
    redactor = Redactor(PrivacySettings(allow=("DB_PASSWORD=hT9!kk2p",), deny=(r"ACME-\d+",)))
    assert (
        redactor.redact("DB_PASSWORD=hT9!kk2p for ACME-17").text
        == "DB_PASSWORD=hT9!kk2p for [redacted:denied]"
    )


@pytest.mark.parametrize("pattern", ["(", "x*"])
def test_a_bad_deny_pattern_is_named(pattern: str) -> None:
    with pytest.raises(InvalidSetting, match=r"privacy\.deny"):
        Redactor(PrivacySettings.model_construct(deny=(pattern,)))


def test_findings_never_hold_the_value() -> None:
    result = REDACTOR.redact("DB_PASSWORD=hT9!kk2p and GH_TOKEN=hT9!kk2p")
    assert "hT9" not in repr(result)
    assert [(f.kind, f.count) for f in result.findings] == [("secret_assignment", 2)]


def test_two_on_one_line_both_go() -> None:
    assert A not in REDACTOR.redact(f"token one {A} token two {A[::-1]}").text


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "1 " * 80_000,
        "A1b2" * 48_000,
        "user@" * 36_000,
        "/home/" * 32_000,
        '"name": "' * 20_000,
    ],
    ids=lambda text: text[:9],
)
def test_a_hostile_text_stays_as_it_is(hostile: str) -> None:
    """Work that grows with the square of these lengths meets the time limit of every test."""
    assert REDACTOR.redact(hostile).text == hostile


def test_a_name_that_repeats_is_one_assignment() -> None:
    assert [f.count for f in REDACTOR.redact("token=" * 32_000).findings] == [1]


def test_entropy_by_hand() -> None:
    assert entropy("") == 0.0
    assert entropy("aaaa") == 0.0
    assert entropy("abcd") == pytest.approx(2.0)
    assert entropy("aabb") == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text",
    [
        "--- PASS: TestParseFactorySession (0.00s)",
        "=== RUN   TestFormatTimestamp/valid_RFC3339_with_positive_offset",
        "cloudToken := GetCloudToken()",
        "shasum -a 256 dist/SpecStoryCLI_Darwin_arm64.tar.gz",
        '{"cache_creation":{"ephemeral_1h_input_tokens":0},"output_tokens":12}',
        'OPENAI_API_KEY="$(llm keys get openai)" uv run pytest',
        '["requires admin token", "requires production access"]',
    ],
)
def test_tool_output_and_code_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(?:\w*x)*y", r"((ab|a))+c", r"(x{1,}y?)+z", r"(([a-z])+.)+z"]
)
def test_a_pattern_whose_time_may_grow_without_bound_is_refused(pattern):
    with pytest.raises(InvalidSetting, match="may never end"):
        Redactor(PrivacySettings(deny=(pattern,)))


@pytest.mark.parametrize(
    "pattern", [r"ACME-\d+", r"(?:foo|bar)-\w+", r"[(+*)]+x", r"\(a+\)+", r"(ab)+c", r"(a|b)?c"]
)
def test_ordinary_patterns_are_taken(pattern):
    assert not Redactor(PrivacySettings(deny=(pattern,))).redact("nothing here").findings


def test_a_long_text_is_searched_piece_by_piece():
    redactor = Redactor(PrivacySettings(deny=(r"ACME-\d+",)))
    text = "word ACME-12 and more\n" * 5_000
    done = redactor.redact(text).text
    assert "ACME-12" not in done
    assert len(done) == len(text.replace("ACME-12", "[redacted:denied]"))
