"""One program, many users: nobody sees what belongs to somebody else, by any call. tests/live/test_live_library.py asks a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit import Tacit
from tacit.errors import InvalidInput, NotFound
from tacit.model.scope import Scope, project_scope, user_project_id
from unit.app.test_app_library_memories import Open, opened

__all__ = ["opened"]

ANA, BOB = "ana@example.com", "bob@example.com"
FRENCH = "Always write the letters of the shop in French."
DUTCH = "Always write the letters of the shop in Dutch."
ASK = "In which language do I want the letters of the shop?"
SLOW = 10_000.0


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def everything_of(memory: Tacit, session: str) -> str:
    """Every text that a user can get out of the library."""
    talk = memory.session(session, deadline_ms=SLOW)
    ready = talk.prepare([user(ASK)])
    recalled = memory.recall(ASK)
    injected = memory.context_for(ASK, session=f"{session}-2")
    return "\n".join(
        (
            ready.system,
            str(ready.messages),
            recalled.text,
            str(recalled.memories),
            injected.formatted_context,
            str(memory.list(status="all")),
            str(memory.list(text=ASK)),
            memory.export(),
            memory.export("markdown"),
            str(memory.why(session=session)),
        )
    )


def test_two_users_never_see_one_anothers_memories(opened: Open) -> None:
    memory = opened()
    memory.remember("The shop is closed on Mondays.", scope="universal", when="always")
    memory.remember("The folder's project uses PostgreSQL.", when="always")
    ana, bob = memory.for_user(ANA), memory.for_user(BOB)
    (hers,) = ana.remember(FRENCH, when="always")
    (his,) = bob.remember(DUTCH, when="always")
    assert his.change == hers.change == "add"
    # Two users, one name of a session.
    hers_all, his_all = everything_of(ana, "chat-1"), everything_of(bob, "chat-1")
    assert "French" in hers_all
    assert "Dutch" in his_all
    assert "Dutch" not in hers_all
    assert "French" not in his_all
    assert hers.id not in his_all
    for text in (hers_all, his_all):
        assert "Mondays" not in text
        assert "PostgreSQL" not in text
    assert "French" not in str(memory.recall(ASK)), "the program's own memory has neither"
    assert {one.id for one in memory.list(cwd="", text="letters of the shop")} >= {hers.id, his.id}, (
        "the owner sees both"
    )


def test_the_id_of_somebody_elses_memory_is_worth_nothing(opened: Open) -> None:
    memory = opened()
    ana, bob = memory.for_user(ANA), memory.for_user(BOB)
    (hers,) = ana.remember(FRENCH)
    (his,) = bob.remember(DUTCH)
    for call in (
        lambda: bob.get(hers.id),
        lambda: bob.edit(hers.id, content=DUTCH),
        lambda: bob.forget(hers.id),
        lambda: bob.history(hers.id),
        lambda: bob.feedback(hers.id, useful=False),
        lambda: bob.undo(hers.change_id),
        lambda: bob.remember("Letters are in Danish.", replaces=[hers.id]),
    ):
        with pytest.raises(NotFound):
            call()
    assert ana.get(hers.id).content == FRENCH
    assert bob.edit(his.id, content="Letters are in Danish.").id == his.id
    bob.undo(bob.forget(his.id).change_id)
    assert [one.content for one in bob.list()] == ["Letters are in Danish."]


def test_the_same_words_of_two_users_are_two_memories(opened: Open) -> None:
    memory = opened()
    memory.remember(FRENCH, scope="universal")
    (hers,) = memory.for_user(ANA).remember(FRENCH)
    (his,) = memory.for_user(BOB).remember(FRENCH)
    assert hers.change == his.change == "add"
    assert hers.id != his.id


def test_a_user_has_no_folder_no_scope_and_no_way_around(opened: Open) -> None:
    ana = opened().for_user(ANA)
    for call in (
        lambda: ana.remember(FRENCH, scope="universal"),
        lambda: ana.remember(FRENCH, scope="agent:support"),
        lambda: ana.recall(ASK, cwd="/tmp"),
        lambda: ana.list(cwd=""),
        lambda: ana.session(cwd="/tmp"),
        ana.why,
        lambda: ana.items,
        lambda: ana.engine,
        lambda: ana.for_user(BOB),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_a_memory_may_be_opened_for_one_user(opened: Open) -> None:
    with opened(user=ANA) as ana:
        ana.remember(FRENCH)
        assert ana.list().total == 1
    assert opened().for_user(ANA).list().total == 1
    assert opened().for_user(BOB).list().total == 0


@pytest.mark.parametrize(
    "names", [("ana", "Ana"), ("a/b", "a\\b"), ("ana ", "ana"), ("..", "."), ("\u00fc", "u\u0308")]
)
def test_names_that_look_alike_are_different_users(tmp_path: Path, names: tuple[str, str]) -> None:
    first, second = map(user_project_id, names)
    assert first != second
    for name in (first, second):
        scope = project_scope(name)
        assert Scope.parse(str(scope)) == scope
        assert scope.of_user
        assert scope.project_id == name
