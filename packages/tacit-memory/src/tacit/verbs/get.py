"""Fetch memories by their ids: whole, with what a reader needs to weigh them. In: ids as an index shows them. Out: texts.

An agent that sees a headline fetches what a step needs; what it fetches counts as given to its session and as used. It never sees more than its
folder shows. An id that names nothing costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.app.engine import Engine
from tacit.app.queries.agent_tools import Caller, FetchedMemory
from tacit.errors import InvalidInput
from tacit.safety.escape import escape_text

NAME = "memory_get"
MOST_IDS = 20
"""Memories that one call fetches."""
ABOUT = "Fetch memories whole by the ids before their headlines, several at once: before a step that a headline may change."


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What was fetched, in the order of the ids, and the ids that name no memory that may be seen here."""

    memories: tuple[FetchedMemory, ...]
    unknown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The memories as an agent reads them."""
        lines = [line for fetched in self.memories for line in _lines(fetched)]
        if self.unknown:
            names = ", ".join(escape_text(name) for name in self.unknown)
            lines.append(f"No memory here has the id {names}. memory_search finds memories by their words.")
        return "\n".join(lines)


def get(engine: Engine, caller: Caller, ids: Sequence[str]) -> Got:
    """Fetch the memories that `ids` name, and count them as given to the caller's session.

    Raises:
        InvalidInput: if no id is given, or more than `MOST_IDS`.
    """
    names = tuple(dict.fromkeys(name.strip() for name in ids if name.strip()))
    if not names:
        raise InvalidInput("No memory was named.", hint="Give the ids that stand before the headlines.")
    if len(names) > MOST_IDS:
        raise InvalidInput(
            f"{len(names)} ids were given; {MOST_IDS} are the most.", hint="Fetch what the next step needs."
        )
    fetched, unknown = engine.agents.fetch(caller, names)
    return Got(memories=fetched, unknown=unknown)


def _lines(fetched: FetchedMemory) -> list[str]:
    memory = fetched.memory
    lines = [f"- {memory.id} [{memory.kind}] {escape_text(memory.content)} ({escape_text(fetched.source)})"]
    lines += [
        f"  replaced: {escape_text(old.content)} ({old.validity.first_day})" for old in fetched.replaced
    ]
    lines += [
        f"  near, may not hold beside it: {near.id} {escape_text(near.content)} ({near.validity.first_day})"
        for near in fetched.near
    ]
    return lines
