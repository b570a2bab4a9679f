"""Passwords of plain words, where a construction states them, and sentences about passwords. All secrets here are made up."""

from __future__ import annotations

import pytest

from pattern_proof import ways_of
from tacit.config.settings import PrivacySettings
from tacit.safety import credential_words
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings())


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The mailbox password was changed to marmalade, tell the others.", "marmalade"),
        ("Das Kennwort vom Drucker lautet übrigens Haselmaus.", "Haselmaus"),
        ("Das Passwort für die Testdatenbank, nämlich Wackelpudding, kennt jeder.", "Wackelpudding"),
        ("garde loutre comme mot de passe pour la démo", "loutre"),
        ("Le compte a un mot de passe idiot, à savoir Libellule.", "Libellule"),
        ("La contraseña del FTP es literalmente girasoles_rojos.", "girasoles_rojos"),
        ("Entra con la clave Arroz_con_leche", "Arroz_con_leche"),
        ("a senha só aceita oito letras, então ficou maracujá", "maracujá"),
        ("Пароль сменили на подсолнух, передай всем.", "подсолнух"),
        ("Для входа нужен пароль Volga-Kama", "Volga-Kama"),
        ("La contraseña del router es tortilla.", "tortilla"),
        ("Das Kennwort vom Drucker habe ich auf haselnuss geändert.", "haselnuss"),
        ("新口令“春江花月夜无边”，请知悉", "春江花月夜无边"),
        ("Security question is the first pet; the answer is Wobblesworth.", "Wobblesworth"),
        ("Das Geheimwort für die Hotline ist Nashorn.", "Nashorn"),
        ("оператор спросил кодовое слово, я ответил ромашка.", "ромашка"),
        ("La frase secreta, con espacios, es tres gatos comen lentejas", "tres gatos comen lentejas"),
    ],
)
def test_a_stated_password_goes_however_plain(text: str, secret: str) -> None:
    assert secret not in REDACTOR.redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The password was reset, please choose another one.",
        "If the passphrase is missing, the server answers 401.",
        "The seed phrase: required, at most 64 characters.",
        "Pass config-derived defaults to the command, all tests pass in-place.",
        "We use email as login and a passkey for the password.",
        "Das Kennwort ist übrigens abgelaufen.",
        "Das Passwort ist Pflicht.",
        "La contraseña es insegura.",
        "Ce mot de passe est toujours vide.",
        "La contraseña sigue siendo obligatoria.",
        "A senha ficou fraca, troca por favor.",
        "Пароль остался прежним.",
        "パスワードを忘れた方はこちら",
    ],
)
def test_sentences_about_passwords_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize("name", ["PASSWORD", "PHRASE", "QUESTION"])
def test_every_name_holds_a_keyword(name: str) -> None:
    pattern = getattr(credential_words, name)
    _ = pattern.search("")
    assert all(way.held for way in ways_of(pattern.pattern, pattern.flags, credential_words.NAME_KEYWORDS))
