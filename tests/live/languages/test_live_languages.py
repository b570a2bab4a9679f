"""Statements and prompts in other languages than English, through hook client, daemon and shipped model, which reads none of them.

What is said in one session comes back in another one, at a prompt that shares some of its words and not all; other prompts get nothing.
`tacit why` says that the model does not read the language.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from e2e.drivers.machine import wait_for
from e2e.drivers.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What is said in a language: statements, a prompt that needs the first of them with a part of it, and one that needs none."""

    language: str
    statements: tuple[str, ...]
    needs: str
    part: str
    unrelated: str


LANGUAGES = (
    Spoken(
        language="German",
        statements=(
            "Merk dir: Migrationen der Datenbank laufen von Hand, nie beim Deployment.",
            "Ich bevorzuge kurze Funktionsnamen ohne Abkürzungen.",
            "Rechnungen bekommen immer eine fortlaufende Nummer.",
            "Wir haben beschlossen, die Suche mit Meilisearch zu bauen statt mit Elasticsearch.",
        ),
        needs="Baue eine Migration für die Datenbank, die den Kunden eine Spalte gibt",
        part="nie beim Deployment",
        unrelated="Wie spät ist es eigentlich in Tokio?",
    ),
    Spoken(
        language="Chinese",
        statements=(
            "记住：数据库迁移必须手动执行，部署时绝不能自动运行。",
            "我更喜欢简短的函数名，不要缩写。",
            "总是把发票号码连续编号。",
            "我们决定用 Meilisearch 做搜索，不用 Elasticsearch。",
        ),
        needs="写一个数据库迁移，给客户表加一列",
        part="绝不能自动运行",
        unrelated="东京现在几点了？",
    ),
)


@pytest.mark.parametrize("spoken", LANGUAGES, ids=lambda spoken: spoken.language)
def test_what_was_said_comes_back_by_some_of_its_words_and_at_no_other_prompt(live, spoken):
    machine = live("preset: focused")
    machine.wake()
    first = Session(machine, "first")
    for statement in spoken.statements:
        first.say(statement)
    wait_for(lambda: len(machine.contents()) == len(spoken.statements))  # learned behind the answer
    second = Session(machine, "second")
    assert second.say(spoken.unrelated) == ""
    assert spoken.part in second.say(spoken.needs)
    assert f"does not read {spoken.language}" in json.dumps(machine.ask("why"), ensure_ascii=False)
    found = machine.ask("recall", spoken.needs)
    assert spoken.part in json.dumps(found, ensure_ascii=False), "a search falls back to words"
