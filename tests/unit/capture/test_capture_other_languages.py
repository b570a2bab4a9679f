"""Explicit statements in other languages than English: what is kept, what is not, and whose words they are."""

from __future__ import annotations

import pytest

from tacit.capture.extract.explicit import find_explicit
from tacit.capture.extract.other_languages import LANGUAGES, phrases_of, statements_in
from tacit.capture.prose import hide_quotes
from tacit.capture.reconcile.judge import judge_by_words


@pytest.mark.parametrize(
    ("said", "content", "kind"),
    [
        ("Merk dir bitte: Der Port ist 9090.", "Der Port ist 9090", "fact"),
        ("Nein, nicht yarn, sondern pnpm.", "Nicht yarn, sondern pnpm", "correction"),
        ("On a décidé de garder SQLite pour les tests.", "On a décidé de garder SQLite pour les tests", "decision"),
        ("Prefiero respuestas cortas.", "Prefiero respuestas cortas", "preference"),
        ("Nunca faça commit direto na main.", "Nunca faça commit direto na main", "anti_pattern"),
        ("Запомни, что порт сервера 9090.", "Порт сервера 9090", "fact"),
        ("记住：服务器的端口是 9090。", "服务器的端口是 9090", "fact"),
        ("違います。ポートは 8080 ではなく 9090 です。", "ポートは 8080 ではなく 9090 です", "correction"),
        ("앞으로 주석은 영어로 써 줘.", "앞으로 주석은 영어로 써 줘", "preference"),
    ],
)  # fmt: skip
def test_a_statement_is_kept(said: str, content: str, kind: str) -> None:
    (found,) = find_explicit(said)
    assert (found.content, found.kind, found.doubtful) == (content, kind, False)


@pytest.mark.parametrize(
    "said",
    [
        "Sollen wir immer pnpm verwenden?",
        "Heute verwenden wir immer den langsamen Weg.",
        "Er hat geschrieben: „Vergiss nicht, die Tests immer zu starten.“",
        "Vielleicht sollten wir nie auf main pushen.",
        "Écris un test qui vérifie que la valeur n'est jamais nulle.",
        "Если бы мы всегда писали тесты...",
        "他说：“永远不要用 float。”",
        "常にテストを書くべき？",
    ],
)
def test_what_is_no_statement_is_left(said: str) -> None:
    assert find_explicit(said) == ()


def test_an_english_text_in_the_midst_of_another_language_waits_for_the_user() -> None:
    found = find_explicit("Merk dir: Der Port ist 9090.\nYou should always use the port that is in the file.")
    assert all(statement.doubtful for statement in found)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_table_is_complete(code: str) -> None:
    phrases = phrases_of(code)
    assert phrases.remember.pattern
    assert all(phrases.one[key].pattern != "(?!)" for key in phrases.one if key != "remember_last")


def test_statements_that_the_comparison_does_not_read_end_nothing() -> None:
    old = "数据库端口是 5432"
    other = judge_by_words("数据库端口是 5433", old, True)
    same = judge_by_words("数据库端口是 5432。", old, False)
    assert (other.relation, same.relation) == ("apart", "same")


@pytest.mark.parametrize("opening", ["\u201c", "\u201e", "\u00ab", "\u300c"])
def test_quotes_that_are_never_closed_take_time_that_grows_with_their_number(opening: str) -> None:
    """A prompt of 100 KB must not hold up capture for minutes."""
    sentence = "Wir verwenden immer uv statt pip " + opening * 100_000
    assert len(statements_in([sentence], "de")) == 1
    assert len(hide_quotes(sentence)[1]) == 0
