"""Searches of a person who half remembers: by the page, by the command line, by an MCP client.

In: `packages/tacit-evals/goals/searches.jsonl`, each with the one memory that it looks for. The memories and the searches were written before anybody
saw an answer; `half` says which of them may be read while the search is improved ("open") and which only count ("test").
Out: how many find their memory among the first ten.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from mcp import Client, StdioServerParameters, stdio_client

from tacit_evals.goals.goal import Goal, counted
from tacit_evals.goals.home import DATA, Place, place

TOP = 10
LEAST = 0.95
WAYS = ("page", "tacit list", "tacit recall", "MCP memory_search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search: of which sort (`way`: order, typo, question), its words, the memory that it looks for, and its half."""

    way: str
    query: str
    memory: str
    half: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one search in one way: the place of the memory, from 1 on; None = not among the first ten."""

    search: Search
    by: str
    rank: int | None


def searches() -> list[Search]:
    """All searches, in their order."""
    lines = (DATA / "searches.jsonl").read_text("utf-8").splitlines()
    return [Search(**json.loads(line)) for line in lines]


def rank_of(memory: str, found: Sequence[str]) -> int | None:
    """The place of a memory in what was found; None beyond the first ten."""
    first = found[:TOP]
    return first.index(memory) + 1 if memory in first else None


def searched(here: Place, every: Sequence[Search], stored: Mapping[str, str]) -> list[Outcome]:
    """Search in every way."""
    found = {
        "page": [_page(here, one.query) for one in every],
        "tacit list": [_listed(here, one.query) for one in every],
        "tacit recall": [_recalled(here, one.query) for one in every],
        "MCP memory_search": asyncio.run(_by_mcp(here, [one.query for one in every])),
    }
    return [
        Outcome(search=one, by=by, rank=rank_of(stored[one.memory], ids))
        for by in WAYS
        for one, ids in zip(every, found[by], strict=True)
    ]


def _page(here: Place, query: str) -> list[str]:
    """What the list of the page asks for."""
    answer = here.api("GET", f"/v1/memories?status=active&limit=100&offset=0&text={quote(query)}")
    return _ids(answer["memories"])


def _listed(here: Place, query: str) -> list[str]:
    answer = json.loads(here.tacit("list", "--json", "-n", str(TOP), query))
    return _ids(answer["memories"])


def _recalled(here: Place, query: str) -> list[str]:
    return _ids(json.loads(here.tacit("recall", "--json", query))["memories"])


async def _by_mcp(here: Place, queries: Iterable[str]) -> list[list[str]]:
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tacit.cli.main", "mcp"],
        env=here.environment,
        cwd=str(here.work),
    )
    async with Client(stdio_client(started)) as client:
        found: list[list[str]] = []
        for query in queries:
            answer = await client.call_tool("memory_search", {"query": query})
            data = cast("dict[str, Any]", answer.structured_content)
            found.append(_ids(data["memories"]))
        return found


def _ids(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(row["id"]) for row in rows]


def goal_of(outcomes: Sequence[Outcome]) -> Goal:
    """The goal for the worst way; the other ways and the sorts of searches beside it."""
    hits = Counter(one.by for one in outcomes if one.rank is not None)
    whole = Counter(one.by for one in outcomes)
    ways = list(whole)
    worst = min(ways, key=lambda by: hits[by] / whole[by])
    lines = [_line(by, [one for one in outcomes if one.by == by]) for by in ways]
    return counted(
        "word-order, typo and question searches that find a judged memory (top 10, page + CLI + MCP)",
        hits[worst],
        whole[worst],
        target=f">= {LEAST:.0%} by the page, the command line and MCP",
        least=LEAST,
        more=f"the worst way is {worst}. " + ". ".join(lines),
        shown_by=("python -m tacit_evals.goals search",),
        faults=[
            f"{one.by}, {one.search.way}, half {one.search.half}: {_told(one.search)}"
            for one in outcomes
            if one.rank is None
        ],
    )


def _told(search: Search) -> str:
    return f"{search.query!r} -> {search.memory}" if search.half == "open" else "one of the test half"


def _line(by: str, outcomes: Sequence[Outcome]) -> str:
    sorts = dict.fromkeys(one.search.way for one in outcomes)
    halves = sorted({one.search.half for one in outcomes})
    parts = {
        "all": outcomes,
        **{way: [one for one in outcomes if one.search.way == way] for way in sorts},
        **{f"{half} half": [one for one in outcomes if one.search.half == half] for half in halves},
    }
    return f"{by}: {', '.join(f'{name} {_share(part)}' for name, part in parts.items())}"


def _share(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(one.rank is not None for one in outcomes)}/{len(outcomes)}"


def measure() -> list[Goal]:
    """Fill a home and search it in every way."""
    with place() as here:
        stored = here.fill()
        return [goal_of(searched(here, searches(), stored))]
