"""Values that look like credentials in sentences that speak of access, and what else looks like them. All secrets here are made up."""

from __future__ import annotations

import pytest

from pattern_proof import ways_of
from tacit.config.settings import PrivacySettings
from tacit.safety import credential_words
from tacit.safety.credentials import Look, look_of
from tacit.safety.redact import Redactor

REDACTOR = Redactor(PrivacySettings())
HEX = "9f3c1a7e5b2d4860" + "c1e2f3a4b5d6978a"


@pytest.mark.parametrize(
    ("value", "look"),
    [
        (HEX, "random"), ("V1csKZYcYSqgyBioJXLDM9LU", "random"), ("KQ7M-99TR-ZP3D", "groups"), ("83kd-q0xm", "groups"), ("Zx!vogel83", "signs"),
        ("Perro1234", "mixed"), ("mariposa_azul", "joined"), ("user_id", "none"), ("Admin.Panel", "none"), ("sha256", "none"), ("#1890ff", "none"),
        ("v2.14.0", "none"), ("2024-03-18", "none"), ("OPS-48213", "none"), ("config.yaml", "none"), ("RFC3339", "none"), ("task#001", "none"),
        ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "none"), ("0x80070005", "none"), ("HttpURLConnection$HttpInputStream", "none"), ("8-line", "none"),
    ],
)  # fmt: skip
def test_the_look_of_a_value(value: str, look: Look) -> None:
    assert look_of(value) == look


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("To get into the demo shop, log in as kim and then Kestrel!Wing42.", "Kestrel!Wing42"),
        ("The bank just texted me 6 digits, 804 172, please type that in.", "804 172"),
        ("Die Seriennummer der Lizenz ist BX4T9-22KLM-7PQRS-WW1ZE.", "BX4T9-22KLM"),
        (f"Setz das Session-Cookie auf {HEX}, dann bist du drin.", HEX),
        ("Der VPN-Zugang geht mit meinem Namen und Amsel!Lied7", "Amsel!Lied7"),
        (f"La clé d'API de Mailjet, {HEX}, est à révoquer.", HEX),
        ("Le coffre du bureau s'ouvre avec 27-04-61 désormais.", "27-04-61"),
        ("La alarma de la oficina se desarma marcando 6174.", "6174"),
        ("¿Cumple Molino*Viento la política de contraseñas?", "Molino*Viento"),
        ("Me devolveram kT9-manga-L4 no reset da senha.", "kT9-manga-L4"),
        ("Домофон открывается, если набрать 2604 и решётку.", "2604"),
        ("Пароль к архиву, если что, у меня galka.dom54", "galka.dom54"),
        ("保险柜36-08-71，别写进注释", "36-08-71"),
        ("管理员重置后给了我Rz7-songshu，登录成功", "Rz7-songshu"),
        (f"那把key，{HEX}，签名对不上", HEX),
        ("ルーターの管理者パスはasagao_no_hanaです", "asagao_no_hana"),
        ("解凍パスワードは下記です。Mitsuba0412", "Mitsuba0412"),
        ("현관 들어가려면 3927 누르세요", "3927"),
        ("복구키 적어둔 거 옮긴다. VT5P-2QXN-K8RW-60JD", "VT5P-2QXN"),
    ],
)
def test_a_credential_goes_where_access_is_spoken_of(text: str, secret: str) -> None:
    assert secret not in REDACTOR.redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke the login page.",
        "The dedupe table keys rows by blake2b digest, e.g. " + HEX * 4 + ".",
        "Log in to srv01 and restart node-2, then check port 8443.",
        "The password column moved to varchar(60) in version 2.14.0 on 2024-03-18.",
        "Ticket OPS-48213: the password reset mail fails with error code 40101.",
        "I use `claude-haiku-4-5-20251001` and keep the key in Phase-2-scan.",
        "Der Login schickt Statuscode 4011 statt 2000.",
        "Le code postal 75011 est refusé par le formulaire de connexion.",
        "O login responde na porta 8081, a porta do banco é 5433.",
        "Вход на сайт сломался после обновления с 2.8.11, заявка 48213.",
        "access_token有效期7200秒，需要定时刷新",
        "tenant_idとorder_noでログイン履歴を引く",
        "06236 입력하면 강남구로 자동완성 돼야 합니다",
        "Souviens-toi que le serveur n'est accessible que par le VPN.",
    ],
)
def test_other_numbers_names_and_digests_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize("name", ["PASSWORD", "KEY", "CODE", "LOGIN", "SYSTEM", "LOCK"])
def test_every_word_of_access_holds_a_keyword(name: str) -> None:
    pattern = getattr(credential_words, name)
    _ = pattern.search("")
    assert all(way.held for way in ways_of(pattern.pattern, pattern.flags, credential_words.KEYWORDS))
