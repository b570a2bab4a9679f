"""One search behind the API (page and command line) and MCP: word order, slips and questions find the memory that is meant."""

from __future__ import annotations

import re

import pytest

from samples import memory_named
from tacit.app.values import Caller
from tacit.mcp.tools import call
from tacit.model.changes import Add
from tacit.model.memory import Memory

SERVICES = "billing checkout warehouse mailer catalog gateway ledger scheduler importer dashboard".split()
PARTS = "port queue cache schema retry timeout certificate bucket webhook migration".split()
RULES = (
    "The {service} {part} is {value}.",
    "Never restart the {service} while its {part} is locked by job {value}.",
    "We decided that the {service} owns its {part}; ticket {value} has the reasons.",
    "When the {part} of the {service} fails, run `make fix-{value}` and look at the log.",
)


def statement(number: int, content: str) -> Memory:
    return memory_named(f"mem_{number:010d}", content, at_ms=1 + number)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("restart locked certificate gateway never", ("gateway", "certificate", 1)),
        ("reasons decided cache ticket mailer", ("mailer", "cache", 2)),
        ("webhok fails importer look fix", ("importer", "webhook", 3)),
        ("never restart migration lokced ledger", ("ledger", "migration", 1)),
        ("what do we know about the scheduler bucket and how is it decided?", ("scheduler", "bucket", 2)),
        ("what do we know when the billing schema fails and how is it fixed?", ("billing", "schema", 3)),
    ],
    ids=["order", "order again", "slip", "slip again", "question", "question again"],
)
def test_the_memory_that_is_meant_is_among_the_first_ten(engine, client, asked, meant):
    places = [(service, part, rule) for service in SERVICES for part in PARTS for rule in range(len(RULES))]
    contents = [
        RULES[rule].format(service=service, part=part, value=1000 + 7 * number)
        for number, (service, part, rule) in enumerate(places)
    ]
    engine._parts.store.apply([Add(memory=statement(*one)) for one in enumerate(contents)])
    name = f"mem_{places.index(meant):010d}"

    def answer(tool: str, **given: object) -> str:
        return call(engine, Caller(cwd="", client="test"), tool, {"max_tokens": 4000, **given}).text

    page = client.get("/v1/memories", params={"text": asked, "limit": 10}).json()
    assert len(page["hits"]) == len(page["memories"])
    assert name in [one["id"] for one in page["memories"]]
    assert client.get("/v1/memories", params={"text": asked, "limit": 10}).json() == page
    assert name in re.findall(r"mem_\w+", answer("memory_list", text=asked, limit=10))[:10]
    shown = re.findall(r"(?:mem_|\(id )(\w+)", answer("memory_search", query=asked))
    assert name[-7:] in [one[-7:] for one in shown[:15]]
