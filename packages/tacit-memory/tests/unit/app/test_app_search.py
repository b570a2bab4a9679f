"""One search behind the API (page and command line) and MCP: word order, slips and questions find the memory that is meant."""

from __future__ import annotations

import random
import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from samples import memory_named
from tacit.api.routes import build_routes
from tacit.app.values import Caller
from tacit.mcp.tools import call
from tacit.model.changes import Add
from tacit.model.memory import Memory
from tacit.text.stemming import content_words

pytestmark = pytest.mark.timeout(300)
SEARCHES = 12
LEAST = 11
AGAIN = 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"

SERVICES = "billing checkout warehouse mailer catalog gateway ledger scheduler importer dashboard".split()
PARTS = "port queue cache schema retry timeout certificate bucket webhook migration".split()
RULES = (
    "The {service} {part} is {value}.",
    "Never restart the {service} while its {part} is locked by job {value}.",
    "We decided that the {service} owns its {part}; ticket {value} has the reasons.",
    "When the {part} of the {service} fails, run `make fix-{value}` and look at the log.",
)


def generated(seed: int) -> list[str]:
    chance = random.Random(seed)
    pairs = [(service, part, rule) for service in SERVICES for part in PARTS for rule in RULES]
    return [
        rule.format(service=service, part=part, value=chance.randrange(1000, 9999))
        for service, part, rule in pairs
    ]


def misspelled(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 1)
    return chance.choice((
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + chance.choice(LETTERS) + word[at + 1 :],
    ))  # fmt: skip


def asked(content: str, how: str, chance: random.Random) -> str:
    """Words of a statement as somebody would search for it."""
    words = [word for word in content_words(content) if len(word) > 2]
    some = chance.sample(words, min(len(words), 5))
    if how == "slips":
        long = [place for place, word in enumerate(some) if len(word) > 5 and word.isalpha()]
        for place in chance.sample(long, min(1, len(long))):
            some[place] = misspelled(some[place], chance)
    if how == "question":
        return f"what do we know about the {' '.join(some[:2])} and how is it {' '.join(some[2:])}?"
    return " ".join(some)


def statement(number: int, content: str) -> Memory:
    return memory_named(f"mem_{number:010d}", content, at_ms=1 + number)


def served(engine) -> TestClient:
    return TestClient(Starlette(routes=build_routes(engine)), base_url="http://tacit")


def top_by_api(client: TestClient, words: str) -> list[str]:
    page = client.get("/v1/memories", params={"text": words, "limit": 10}).json()
    assert len(page["hits"]) == len(page["memories"])
    return [one["id"] for one in page["memories"]]


def top_by_mcp(engine, tool: str, **given: object) -> list[str]:
    answer = call(engine, Caller(cwd="", client="test"), tool, given).text
    return re.findall(r"mem_\w+", answer)[:10]


def first_ids_of_search(engine, words: str) -> list[str]:
    """Endings of the ids in an answer of `memory_search`, which it shows in one form or another."""
    answer = call(
        engine, Caller(cwd="", client="test"), "memory_search", {"query": words, "max_tokens": 4000}
    ).text
    return [one[-7:] for one in re.findall(r"(?:mem_|\(id )(\w+)", answer)][:15]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["order", "slips", "question"])
def test_the_memory_that_is_meant_is_among_the_first_ten(engine, how):
    contents = generated(7)
    engine._parts.store.apply([Add(memory=statement(*one)) for one in enumerate(contents)])
    chance = random.Random(how)
    hits = {"api": 0, "mcp": 0, "memory_search": 0}
    with served(engine) as client:
        for turn in range(SEARCHES):
            number = chance.randrange(len(contents))
            words = asked(contents[number], how, chance)
            name = f"mem_{number:010d}"
            found = top_by_api(client, words)
            hits["api"] += name in found
            hits["mcp"] += name in top_by_mcp(engine, "memory_list", text=words, limit=10, max_tokens=4000)
            hits["memory_search"] += name[-7:] in first_ids_of_search(engine, words)
            if turn < AGAIN:
                assert top_by_api(client, words) == found  # the same question, the same answer
    assert min(hits.values()) >= LEAST, hits
