"""The library through a real daemon with the shipped model: many users, and what is stored looked after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.drivers.machine import Machine
from tacit import Tacit
from user_voice import user_token

SLOW = 20_000.0
ASK = "Draft the reminder for the customer who did not pay."


@pytest.fixture
def memory(live: Callable[..., Machine]) -> Iterator[Tacit]:
    """The memory of a program, with the shipped model."""
    machine = live("recall:\n  deadline_ms: 20000")
    machine.wake()
    with Tacit.connect(machine.home.root, cwd="", token=user_token(machine.home)) as opened:
        yield opened


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def shown_to(memory: Tacit, session: str) -> dict[str, str]:
    """What reaches a user, by surface."""
    ready = memory.session(session, deadline_ms=SLOW).prepare([user(ASK)])
    return {
        "start": ready.system,
        "prompt": str(ready.messages[0]["content"]).removeprefix(ASK)
        + memory.context_for(ASK, session=f"{session}-b").formatted_context,
        "recall": memory.recall("how are payment reminders written?").text,
        "list": str(memory.list(status="all")),
        "export": memory.export(),
    }


def test_users_get_their_own_memories_in_every_surface_and_nobody_elses(memory: Tacit) -> None:
    ana, bob = memory.for_user("ana"), memory.for_user("bob")
    ana.remember("Payment reminders are written in French and signed by Madame Leroy.", when="always")
    bob.remember("Payment reminders are written in Dutch and signed by Mijnheer Bakker.", when="always")
    memory.remember(
        "Payment reminders of the program itself go to the archive Zephyr.", scope="universal", when="always"
    )
    for own, words, others in ((ana, "Leroy", ("Bakker", "Zephyr")), (bob, "Bakker", ("Leroy", "Zephyr"))):
        shown = shown_to(own, "chat-1")
        for surface in ("start", "recall", "list", "export"):
            assert words in shown[surface], surface
        for surface, text in shown.items():
            assert not any(other in text for other in others), surface


def test_what_a_user_says_reaches_their_next_conversation_alone(memory: Tacit) -> None:
    ana, bob = memory.for_user("ana"), memory.for_user("bob")
    talk = ana.session("chat-1", deadline_ms=SLOW)
    said = [user("From now on always address customers as 'esteemed partner', in all my projects.")]
    talk.prepare(said)
    talk.finish("Understood.", messages=said)
    ana.flush()
    until = time.monotonic() + 60
    while not ana.list().total and time.monotonic() < until:
        time.sleep(0.2)
    assert "esteemed partner" in ana.session("chat-2", deadline_ms=SLOW).prepare([user("Hello")]).system
    later = bob.session("chat-2", deadline_ms=SLOW).prepare([user("How do I address customers?")])
    assert "esteemed" not in later.system + str(later.messages)
    assert "esteemed" not in memory.recall("how are customers addressed?").text


def test_what_is_stored_is_found_changed_explained_and_exported(memory: Tacit) -> None:
    memory.remember("The invoice archive moves to the glacier bucket after ten years.", kind="decision")
    (stored,) = memory.remember("Nightly backups run on the host heron.", kind="fact", scope="universal")
    assert memory.list(cwd="", text="on which machine are the backups made").memories[0].id == stored.id
    changed = memory.edit(stored.id, content="Nightly backups run on the host egret.")
    recalled = memory.recall("on which machine are the backups made?")
    assert "egret" in recalled.text
    (record, *_) = memory.why(surface="on_demand")
    assert stored.id in record.given
    memory.undo(changed.change_id)
    assert "heron" in memory.recall("on which machine are the backups made?").text
    heads = [json.loads(line) for line in memory.export().splitlines()]
    assert len(heads) >= 3
    memory.forget(stored.id)
    assert "heron" not in memory.recall("on which machine are the backups made?").text
