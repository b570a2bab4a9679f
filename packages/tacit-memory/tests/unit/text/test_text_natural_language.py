"""Natural languages: which one a text is in, and where its words are cut."""

from __future__ import annotations

import pytest

from tacit.text.natural_language import is_plainly_english, natural_language_of
from tacit.text.stemming import content_words, leading_letters
from tacit.text.tokens import count_words, index_words, query_words, segmented


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Wir speichern die Zeiten nicht in lokaler Zeit", "de"),
        ("On ne stocke jamais les dates en heure locale", "fr"),
        ("Las fechas no se guardan en hora local", "es"),
        ("As datas não são guardadas em hora local", "pt"),
        ("Время всегда хранится в UTC", "ru"),
        ("所有时间都存 UTC", "zh"),
        ("時刻はすべて UTC で保存する", "ja"),
        ("모든 시간은 UTC로 저장합니다", "ko"),
        ("Store all times in UTC", "en"),
        ("fix src/main.py", "en"),
        ("no, use pnpm instead of npm", "en"),
        ("Rename the label `Пароль` to Password", "en"),
        ("Rename the label Пароль to Password in the form", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_text(text: str, code: str) -> None:
    assert natural_language_of(text) == code


def test_a_line_of_english_is_told_from_one_of_names() -> None:
    assert is_plainly_english("this is the error that you should fix")
    assert not is_plainly_english("docker compose up")


def test_words_without_blanks_are_cut_into_pairs() -> None:
    assert segmented("数据库 index") == " 数据 据库  index"
    assert index_words("数据库index") == ("数据", "据库", "index")
    assert index_words("get_user name") == ("get", "user", "name")


def test_grammar_is_no_word_of_a_query() -> None:
    assert "です" not in query_words("テスト用です")
    assert query_words("我的测试") == ("测试",)
    assert query_words("请求") == (
        "请求",
    )  # "request" is a word, although "please" begins with the same character
    assert query_words("在庫") == ("在庫",)
    assert query_words("Die Tests sind nicht gut") == ("Tests", "gut")
    assert content_words("Die Tests sind nicht gut") == ("tests", "gut")


def test_inflected_words_meet_in_their_first_letters() -> None:
    assert leading_letters("Wie laufen die Migrationen der Datenbank?") == ("laufe", "migra", "daten")


def test_two_characters_count_as_a_word() -> None:
    assert count_words("部署服务器") == 2.5
    assert count_words("deploy the server") == 3
