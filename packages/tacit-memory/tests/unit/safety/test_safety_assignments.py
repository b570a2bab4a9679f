"""Values behind names of identifiers: what goes however plain it is, and what stays. All secrets here are made up."""

from __future__ import annotations

import pytest

from tacit.config.settings import PrivacySettings
from tacit.safety.credentials import promise_of
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings())
PLAIN = "kolibri_am_fenster"


@pytest.mark.parametrize(
    "text",
    [
        "PGPASSWORD={} psql -h db1",
        "docker run -e MQTT_USER=x -e MQTT_PASS={} bridge:1.4",
        "define('DB_PASSWORD', '{}');",
        "storePassword={}",
        "rcon.password={}",
        'senha_admin: "{}"',
        '{{"id": "kim7", "pw": "{}"}}',
        '{{"login": "kim", "parol": "{}"}}',
        "ДБ_ПАРОЛЬ='{}'",
        "app --db-password {} --port 80",
        "requirepass {}",
        "<mdp>{}</mdp>",
        'if (pwd == "{}") return true;',
        'expect "password:" {{ send "{}\\r" }}',
        "ora/{}@10.2.2.8:1521/prod",
        "secret: [a]\nfrps token = {}",
    ],
)
def test_a_literal_behind_a_secret_name_goes_however_plain(text: str) -> None:
    assert PLAIN not in REDACTOR.redact(text.format(PLAIN)).text


@pytest.mark.parametrize(
    "text",
    [
        'export TOKEN_NPM="{}"',
        "const SECRET_WEBHOOK = '{}'",
        "-Dsonar.login={}",
        "connect.sid={}",
    ],
)
def test_a_random_value_behind_such_a_name_goes(text: str) -> None:
    value = "9f3c1a7e5b2d4860" + "c1e2f3a4b5d6978a"
    assert value not in REDACTOR.redact(text.format(value)).text


@pytest.mark.parametrize(
    "text",
    [
        "connect(user=user, password=user_password)",
        "password = get_password()",
        "token = next_token",
        "DB_PASSWORD=${DB_PASSWORD}",
        "password: string;",
        "const password = req.body.password;",
        "secretKeyRef: { name: pg-creds, key: password }",
        "export OPENAI_API_KEY=sk-xxx",
        "password_file=/run/secrets/db",
        "password_hash=argon2id",
        "--token-file tokens.json --password-stdin",
        "--- PASS: TestLogin/remote-less_repo",
        "session: 550e8400-e29b-41d4-a716-446655440000",
        "primary_key=order_no",
        "login=octocat",
        "uses: actions/checkout@v4",
        "npm install @scope/some-package@10.2.3",
    ],
)  # fmt: skip
def test_references_names_and_placeholders_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("DbPassword", "password"), ("MY_PASS_2", "password"), ("kennwort", "password"), ("bypass", "nothing"), ("passenger", "nothing"),
        ("TOKEN_NPM", "token"), ("encryptionKey", "token"), ("foreign_key", "nothing"), ("token_count", "nothing"), ("sessionid", "random"),
    ],
)  # fmt: skip
def test_the_promise_of_a_name(name: str, promise: str) -> None:
    assert promise_of(name) == promise
