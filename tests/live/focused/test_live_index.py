"""The index: a store that does not fit the start block stands there as headlines, and the agent fetches one by its short id."""

from __future__ import annotations

import json

import anyio
import pytest

from e2e.drivers.session import Session
from live.focused.test_live_whole_store import statements
from live.test_live_mcp import client_of, data

RULE = (
    "Prices that come from the wholesaler are rounded to five cents with the rule of the central bank, and the remainder goes"
    " into the ledger account 4711, because the auditors compare both sums at the end of each quarter."
)
HOST_CAP = 10_000


@pytest.fixture(scope="module")
def filled(live_for_all):
    """A machine with a store that does not fit, and the id of the rule in it."""
    machine = live_for_all("recall: {whole_start: 1.0}")
    name = machine.remember(RULE, kind="fact", when="")["memory"]["id"]
    for statement in statements():
        machine.remember(statement, kind="decision", when="")
    return machine, name


def _line_of(block: str, name: str) -> str:
    return next(
        (line for line in block.splitlines() if line[:1].strip() and name.endswith(line.split(" ")[0])), ""
    )


def _holds(block: str, name: str) -> bool:
    """Whether a block without the host's cap has the rule: whole, or as a headline."""
    return RULE in block or bool(_line_of(block, name))


def test_a_store_that_does_not_fit_is_shown_as_headlines_and_fetched_by_short_ids(filled):
    machine, name = filled
    session = Session(machine, "s1")
    block = session.start()
    assert RULE not in block
    assert 8_000 < len(block) <= HOST_CAP
    line = _line_of(block, name)
    assert 20 < len(line) <= 5 + 60 + 10, "a short id and a headline"
    short = line.split(" ")[0]
    assert "stands in the index" in machine.tacit("why", "--stages", "--json").stdout

    assert _holds(machine.tacit("recall").stdout, name)

    async def fetch() -> str:
        async with client_of(machine) as client:
            assert _holds((await data(client, "memory_context"))["text"], name), (
                "clients without hooks get it, too"
            )
            return (await data(client, "memory_get", ids=[short, "zzzz"]))["text"]

    text = anyio.run(fetch)
    assert RULE in text
    assert "zzzz" in text, "an id that names nothing is named, and costs the other nothing"
    state = machine.request("GET", "/v1/sessions/claude-code/s1")
    assert name in json.dumps(state), "it counts as given"
    assert RULE not in session.say(
        "which rounding do wholesaler prices get, and where does the remainder go?"
    )
    assert RULE in machine.tacit("get", short).stdout


def test_the_same_store_gives_the_same_bytes_a_resumed_session_no_second_index_and_a_compacted_one_it_again(
    filled,
):
    machine, name = filled
    first = Session(machine, "first")
    block = first.start()
    assert Session(machine, "second").start() == block
    assert "headlines" not in first.start(source="resume")
    assert _line_of(first.start(source="compact"), name)
