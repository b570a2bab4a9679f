"""Words that mean another day depending on when they are read are found; durations and weekdays of a rule are not."""

import pytest

from tacit.text.natural_language import has_relative_time


@pytest.mark.parametrize(
    "text",
    [
        "We switched to Valkey yesterday",
        "The freeze begins next Monday",
        "The merge window closes on Friday",
        "The audit is in three weeks",
        "The invoices were migrated two months ago",
        "We still ship the old parser",
        "Ab Montag gilt die neue Regel",
        "Die Umstellung ist in zwei Wochen",
        "La version sort la semaine prochaine",
        "El despliegue es mañana",
        "A migração começa na semana que vem, amanhã não",
        "Релиз завтра",
        "下周发布新版本",
        "来週リリースする",
        "다음 주에 배포한다",
    ],
)
def test_relative_words_are_found(text: str) -> None:
    assert has_relative_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "Never deploy on Fridays",
        "Keep backups for 30 days",
        "Retry for three minutes",
        "Use tabs",
        "Log lines are Markdown",
        "Answer a review within a day",
        "Delete what is already merged",
    ],
)
def test_durations_and_rules_are_not(text: str) -> None:
    assert not has_relative_time(text)
