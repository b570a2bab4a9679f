"""Forms of keys and tokens that their issuers publish, in the places where people write them. All values are made up here."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import re
import string

import pytest

from shared_data import shared_data
from tacit.config.settings import PrivacySettings
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings())
ALNUM, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
OPEN = ALNUM + "-_"


def made(count, alphabet=ALNUM):
    dice = random.Random(f"{count}{alphabet}")
    return "".join(dice.choice(alphabet) for _ in range(count - 2)) + "7k"[:2]


def uuid():
    return "-".join(made(n, HEX)[:-1] + "a" for n in (8, 4, 4, 4, 12))


TOKENS = {
    "1password": "A3-" + "-".join(made(n, UPPER)[:-1] + "Z" for n in (6, 6, 5, 5, 5, 5)),
    "alibaba": "LTAI" + made(20),
    "artifactory": "AKCp" + made(69),
    "cloudflare": f"v1.0-{made(24, HEX)[:-1]}b-{made(146, HEX)[:-1]}b",
    "dynatrace": f"dt0c01.{made(24, UPPER)[:-1]}K.{made(64, UPPER)[:-1]}K",
    "easypost": "EZAK" + made(54),
    "fly": "fm2_" + made(100),
    "grafana": "glc_" + made(40),
    "harness": f"pat.{made(22)}.{made(24, HEX)[:-1]}a.{made(20)}",
    "terraform": f"{made(14)}.atlasv1.{made(67, OPEN)}",
    "heroku": "HRKU-AA" + made(58, OPEN),
    "new relic": "NRII-" + made(32, OPEN),
    "openshift": "sha256~" + made(43, OPEN),
    "postman": f"PMAK-{made(24, HEX)[:-1]}a-{made(34, HEX)[:-1]}a",
    "sourcegraph": "sgp_" + made(40, HEX)[:-1] + "a",
    "square": "sq0csp-" + made(43, OPEN),
    "langfuse": "sk-lf-" + uuid(),
    "pinecone": f"pcsk_{made(6)}_{made(63)}",
    "circleci": f"CCIPAT_{made(22)}_{made(40, HEX)[:-1]}a",
    "sonarqube": "sqp_" + made(40, HEX)[:-1] + "a",
    "airtable": f"pat{made(14)}.{made(64, HEX)[:-1]}a",
    "hubspot": "pat-na1-" + uuid(),
    "plaid": "access-production-" + uuid(),
    "tailscale": f"tskey-auth-{made(12)}-{made(32)}",
    "launchdarkly": "sdk-" + uuid(),
    "bitbucket": "ATBB" + made(32),
    "bcrypt": "$2b$12$" + made(53),
    "sha512crypt": f"$6$rounds=5000${made(16)}${made(86)}",
    "argon2": f"$argon2id$v=19$m=65536,t=3,p=4${made(22)}${made(43)}",
}
PHRASES = {
    "vendor and uuid": ("snyk token {} is mine", uuid()),
    "vendor set to a value": ('ALGOLIA_ADMIN: "{}"', made(32, HEX)[:-1] + "a"),
    "vendor's login": ("wandb login {}", made(40, HEX)[:-1] + "a"),
    "pgpass": ("localhost:5432:shop:admin:{}", "kT9#wq21Lm"),
    "identified by": ("CREATE USER app IDENTIFIED BY '{}'", "Tr1cky-pony9"),
    "sudo": ("echo {} | sudo -S apt update", "Gr3en!apple"),
    "htpasswd": ("htpasswd -b .htpasswd joe {}", "Gr3en!apple"),
    "wifi": ('wifi psk="{}"', "blue-Whale-77"),
    "seed phrase": (
        "my seed phrase is {}",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
    ),
    "mnemonic that names itself": (
        "mnemonic {} opens the old wallet",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
    ),
    "key without its header": ("the ssh key goes on:\n{}\nas sent by mail", f"{made(64)}\n{made(40)}=="),
    "recovery code": ("github recovery code {}, keep it", "4kQWe-9Zt2Lm"),
    "oracle": ("jdbc:oracle:thin:scott/{}@db:1521/x", "tIger-993"),
    "social security": ("her SSN is {}", "536-22-8147"),
    "password on a host": ("the root password on staging: {}", "Gr3en!apple"),
    "pair": ("admin:{} works on the staging box", "Gr3en!apple1"),
    "pair behind a word": ("login for the box: joe / {}", "greenapple77"),
    "pin": ("pin code for the vault is {}", "48151623"),
    "markup": ("<password>{}</password>", "Gr3en!apple"),
    "master key": ("RAILS_MASTER_KEY={}", made(32, HEX)[:-1] + "a"),
    "spoken number": ("call me on 415 555 0137 after nine, or write {}", "415 555 0137"),
}
INNOCENT = (
    "HEROKU_APP_ID=3f2a1b4c-1111-4222-8333-944455566677 is printed in the public build log.",
    "github.com/acme/shop h1:GzkhY7T5VNhEkwH0PVJgjz+fX1rhBrR7pRT3mDkp",
    "See sonarqube.acme.dev/dashboard?id=shop for the token counts.",
    "The vercel build 20260101120000 failed; the sentry project is acme-web.",
    "pip install 'twilio==9.3.7' and set the cloudflare zone in wrangler.toml.",
    "Either admin/users.py or admin/v2 holds the login form.",
    "The recovery words are shown once, on the page that follows the login.",
    "pytest-9.0.3, mypy 1.14.1 and ruff 0.8.4 are pinned.",
    "Mnemonic names help people learn opcodes before they read long manual pages about every register.",
    "The private key is in /etc/ssl/private/shop.key; backup codes live on node20-test1.",
    "Use sk-lf-... from the vault; AKIAIOSFODNN7EXAMPLE stands in the docs.",
    "The docs of AWS use the key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY in each sample.",
)


def left_of(secret, text):
    return [secret[i : i + 8] for i in range(max(1, len(secret) - 7)) if secret[i : i + 8] in text]


@pytest.mark.parametrize("where", ["we use {} for now", "export FOO={}", 'key = "{}"', "it was `{}`, then"])
@pytest.mark.parametrize("issuer", TOKENS)
def test_an_issued_token_goes_wherever_it_stands(issuer, where):
    token = TOKENS[issuer]
    found = REDACTOR.redact(where.format(token))
    assert left_of(token[12:], found.text) == []
    assert found.has_secret


def test_a_real_key_is_no_example_because_the_sentence_says_so():
    key = "AKIA" + made(16, string.ascii_uppercase + "234567")
    assert key not in REDACTOR.redact(f"The example key of the AWS docs is {key}.").text


@pytest.mark.parametrize("name", PHRASES)
def test_a_secret_goes_that_only_its_surroundings_give_away(name):
    text, secret = PHRASES[name]
    assert left_of(secret, REDACTOR.redact(text.format(secret)).text) == []


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_it_stays(text):
    assert REDACTOR.redact(text).text == text


@pytest.fixture
def findings():
    """What another library still sees in a text: a second opinion for whoever changes the rules, no part of the project.

    `uv run --with detect-secrets pytest ...` brings it. Its guesses by randomness and by names of variables are left out,
    as are addresses of machines.
    """
    pytest.importorskip("detect_secrets", reason="uv run --with detect-secrets pytest")
    util = importlib.import_module("detect_secrets.core.plugins.util")
    scan_line = importlib.import_module("detect_secrets.core.scan").scan_line
    transient = importlib.import_module("detect_secrets.settings").transient_settings
    known = util.get_mapping_from_secret_type_to_class().values()
    wanted = [
        name for one in known if not re.search("Entropy|Keyword|IPPublic|Artifactory", name := one.__name__)
    ]

    def find(text):
        with transient({"plugins_used": [{"name": name} for name in wanted]}):
            return [found.type for line in text.splitlines() for found in scan_line(line)]

    return find


def test_another_library_finds_nothing_more(findings):
    texts = [f'export KEY="{token}"' for token in TOKENS.values()]
    texts += [text.format(secret) for text, secret in PHRASES.values()]
    assert [text for text in texts if findings(REDACTOR.redact(text).text)] == []


@pytest.mark.shared_data
@pytest.mark.timeout(120)
def test_another_library_finds_nothing_more_in_marked_secrets(findings):
    """Account numbers (`AC...` of Twilio) name an account and open nothing."""
    rows = gzip.decompress(shared_data("redact", "dev.jsonl.gz").read_bytes()).decode().splitlines()
    secrets = [row for row in map(json.loads, rows) if row["label"] == "secret"]
    assert sum(bool(findings(row["text"])) for row in secrets) > 15, "it knows a good part of them"
    left = {row["shape"]: findings(REDACTOR.redact(row["text"]).text) for row in secrets}
    assert {shape: found for shape, found in left.items() if set(found) - {"Twilio API Key"}} == {}
