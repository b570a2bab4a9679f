"""Statements full of delimiters, through a real daemon: hook process, command line, MCP, in every preset."""

from __future__ import annotations

import pytest

from delimiters import ELEMENTS, ROLES, TOKENS, delimiters_in, written
from e2e.drivers.machine import Machine
from e2e.test_e2e_sensitivity import mcp

pytestmark = pytest.mark.slow

PROMPT = "Run the delimiter check for the parser before the commit"
HARMLESS = "Always run the delimiter check for the parser before every commit"


def statements() -> list[str]:
    """Every delimiter in some way of writing it, a few in each statement."""
    ways = [written(name)[number % 19] for number, name in enumerate(ELEMENTS)]
    every = [*ways, *written("system-reminder"), *TOKENS, *ROLES]
    return [
        f"Always run the delimiter check number {number} for the parser before every commit\n" + "\n".join(every[at : at + 12])
        for number, at in enumerate(range(0, len(every), 12))
    ]  # fmt: skip


def frame_of(text: str) -> list[str]:
    """Delimiters of the layout itself: those of a block that holds a harmless statement."""
    return sorted(set(delimiters_in(text)))


OTHERS = [
    pytest.param(one, marks=pytest.mark.long)
    for one in ("typed", "ambient", "refresh", "multispace", "scoped")
]


@pytest.mark.parametrize("preset", ["focused", *OTHERS])
def test_no_statement_writes_a_delimiter_in_any_preset(preset: str) -> None:
    with Machine(TACIT_PRESET=preset) as machine:
        machine.remember(HARMLESS)
        own = {frame: frame_of(text) for frame, text in answers(machine, "plain").items()}
        for text in statements():
            machine.remember(text)
        found = answers(machine, "full")
    assert "delimiter check number" in "".join(found.values())
    extra = {
        name: set(delimiters_in(text)) - {one for frame in own.values() for one in frame}
        for name, text in found.items()
    }
    assert {name: more for name, more in extra.items() if more} == {}


def answers(machine: Machine, session: str) -> dict[str, str]:
    """What hooks, command line and MCP hand over."""
    return {
        "start": machine.start(session_id=f"{session}-1"),
        "prompt": machine.prompt(PROMPT, session_id=f"{session}-1"),
        "compaction": machine.start(session_id=f"{session}-1", source="compact"),
        "other": machine.prompt(PROMPT, session_id=f"{session}-2"),
        "cli": machine.tacit("recall").stdout,
        "search": mcp(machine, "memory_search", query="delimiter check"),
        "list": mcp(machine, "memory_list", limit=50, max_tokens=4000),
        "profile": mcp(machine, "memory_profile", max_tokens=4000),
        "add": mcp(machine, "memory_add", content=statements()[0], kind="fact"),
    }
