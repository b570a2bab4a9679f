"""A synthetic store with two weeks of work in it, for the browser tests and the pictures of the guide.

Everything here is made up. The real engine, embedder and gate write it, at times set back from now, so that charts, traces and
timings are what a user would see.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from e2e.web.driver import Served
from tacit.app.wiring import open_engine
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, Relation, Speaker, TrustTier, Validity
from tacit.model.scope import Scope
from tacit.model.session import SessionKey

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
START_TOKENS = 110

SHOP = [
    ("Run `make lint` before every commit.", "preference", "commit", 3),
    ("Money is stored as integer cents; never use floats for prices.", "decision", "edit code in src/shop/cart.py or src/shop/tax.py", 3),
    ("The finance team edits config/vat_rates.csv by hand; change rates there, never in src/shop/tax.py.", "decision", "edit config or tax code", 2),
    ("Never log customer e-mail addresses; log the customer id instead.", "anti_pattern", "add logging", 2),
    ("Releases are cut with `make release`, which tags and publishes; never tag by hand.", "preference", "release", 2),
    ("Tests for the payment provider use the sandbox key in tests/fixtures/payments.json.", "fact", "write tests for payments", 1),
    ("Database migrations are written by hand in migrations/, one file per change, and are never edited after merge.", "decision", "change the database schema", 2),
    ("Use pytest fixtures from tests/conftest.py; do not start a second Postgres container.", "correction", "write a test or run tests", 2),
    ("The cart service owns stock reservations; orders only ask it.", "decision", "edit stock or order code", 1),
    ("Order mails are sent by the worker in src/shop/mail_worker.py, with three retries.", "file_context", "edit mail code", 1),
    ("Write commit messages in the imperative, with the ticket number at the end.", "preference", "commit", 3),
    ("The checkout page must work without JavaScript.", "guideline", "edit the checkout user interface", 1),
    ("Return 402 for declined payments and 409 for stock conflicts.", "decision", "edit the HTTP API", 1),
    ("psycopg raises `ServerlessPoolTimeout` when more than 20 connections are open; lower POOL_SIZE in .env.test.", "error_pattern", "run tests", 1),
    ("Feature flags live in src/shop/flags.py and are removed within two releases.", "decision", "implement a feature", 2),
    ("Discounts are applied before tax, rounding half up per line.", "decision", "edit src/shop/cart.py", 1),
    ("Ask before adding a dependency; the image must stay below 200 MB.", "preference", "add a dependency", 2),
    ("The admin screens are generated; edit admin/templates/, not admin/build/.", "file_context", "edit generated files", 1),
    ("Search uses Postgres full text; Elasticsearch was tried and dropped in March.", "research", "edit search", 1),
    ("Do not mention other shop systems in comments or documentation.", "preference", "write docs or comments", 2),
    ("Prices shown to customers include VAT; API responses carry both.", "decision", "edit the HTTP API or price display", 1),
    ("The nightly import of supplier prices failed twice because of a BOM in the CSV; open it with utf-8-sig.", "error_pattern", "edit the supplier import", 1),
    ("Next: move the refund webhook to the worker and delete src/shop/refund_sync.py.", "todo", "edit refunds", 1),
    ("Load tests run against staging only, with `make load`, after 18:00.", "guideline", "run load tests for performance", 1),
]  # fmt: skip
ATLAS = [
    ("Every command of atlas prints JSON with --json and exits 2 on bad arguments.", "decision", "edit command line output", 3),
    ("Wrap errors with fmt.Errorf and %w; never compare error strings.", "preference", "error handling", 3),
    ("Run `golangci-lint run` and `go test ./...` after every change.", "preference", "edit code", 3),
    ("The tile cache is content-addressed; keys are SHA-256 of the style and the tile number.", "decision", "edit the cache", 1),
    ("Golden files are updated with `go test ./render -update`, and looked at before they are committed.", "guideline", "change tests in render", 1),
    ("cgo is not allowed: the release is one static binary.", "decision", "add a dependency", 2),
    ("`go: updates to go.sum needed` in CI means that somebody forgot `go mod tidy`.", "error_pattern", "ci pipeline or run build", 1),
    ("The renderer draws labels last so that roads never cover them.", "file_context", "edit render code", 1),
    ("Benchmarks live in bench/ and are compared with benchstat before a merge.", "preference", "performance", 1),
    ("Coordinates are stored as int32 in units of 1e-7 degrees.", "decision", "edit parsing or storage of coordinates", 1),
]  # fmt: skip
EVERYWHERE = [
    ("Answer briefly; show a diff instead of prose.", "preference", "always", 3),
    (
        "My name is Robin; I review every pull request myself before it is merged.",
        "identity",
        "open a pull request",
        2,
    ),
    ("Explain a trade-off in at most three sentences.", "preference", "offer options or plan", 2),
]
DOUBTFUL = [
    ("The refund webhook is retried by the provider for up to three days.", "observation"),
    ("Shipping labels are cached for an hour in Redis.", "fact"),
    ("The team prefers dataclasses over attrs in src/shop.", "preference"),
    ("CI takes eleven minutes because the browser tests run twice.", "observation"),
]
DOINGS = [
    ("shop", "", "Add a debug log line with the customer's e-mail address when an order mail bounces"),
    ("shop", "", "Add the new VAT rates for Poland to src/shop/tax.py"),
    ("shop", "Refunds work and all tests pass. Shall I tag the release with `git tag v1.4.0` and publish it?", "yup"),
    ("shop", "", "Which HTTP status code fits a payment that was declined?"),
    ("shop", "", "thanks, looks good"),
    ("shop", "", "commit this please"),
    ("shop", "", "Write a migration that adds a column for the gift message to orders"),
    ("shop", "", "The cart total is off by one cent for three items with a 10 % discount, find out why"),
    ("shop", "I can add the library `python-slugify` for this. Want me to?", "sure"),
    ("shop", "", "write tests for the declined card case in tests/test_payments.py"),
    ("shop", "", "what's the weather like in Lisbon"),
    ("shop", "", "Make the checkout button show a spinner while the order is placed"),
    ("shop", "", "explain how stock reservations work"),
    ("atlas", "", "Return a useful error when the style file cannot be parsed"),
    ("atlas", "", "render labels for rivers too, in render/labels.go"),
    ("atlas", "The cache works. Should I run the linter and the tests now?", "yes"),
    ("atlas", "", "add a --bbox flag to atlas export"),
    ("atlas", "", "hi"),
    ("atlas", "", "CI is red: go: updates to go.sum needed. Fix it"),
    ("atlas", "", "make tile lookup faster"),
]  # fmt: skip
TOOLS = [
    ("shop", "edit", ["src/shop/cart.py"], "", ""),
    ("shop", "bash", [], "git commit -m 'Round per line'", ""),
    ("shop", "bash", [], "pytest tests/test_payments.py -q", "psycopg.errors.ServerlessPoolTimeout: 20 connections are open already"),
    ("shop", "write", ["migrations/0042_gift_message.sql"], "", ""),
    ("atlas", "edit", ["render/labels.go"], "", ""),
    ("atlas", "bash", [], "go build ./...", "go: updates to go.sum needed, disabled by -mod=readonly"),
]  # fmt: skip


class SetClock:
    """The machine's clock, set back: durations are real, dates are what `set` says."""

    def __init__(self) -> None:
        self.base_ms = time.time_ns() // 1_000_000
        self._began = time.monotonic()
        self._random = random.Random(7)

    def set(self, at_ms: int) -> None:
        self.base_ms, self._began = max(at_ms, self.now_ms()), time.monotonic()

    def now_ms(self) -> int:
        return self.base_ms + int((time.monotonic() - self._began) * 1000)

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000

    def local_offset_ms(self, at_ms: int) -> int:
        return 0

    def entropy(self, size: int) -> bytes:
        return self._random.randbytes(size)


def fill(home: Path, *, days: int = 14, projects: Path | None = None, quick: bool = False) -> None:
    """Write the store of `home`; `quick` = three days of it, for tests that need no long past."""
    days = 3 if quick else days
    folder = projects or home.parent / "work"
    roots = {name: folder / name for name in ("shop", "atlas")}
    for root in roots.values():
        root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    clock = SetClock()
    now_ms = clock.now_ms()
    clock.base_ms = now_ms - days * DAY_MS - 3 * DAY_MS
    # A small start pack, so that prompts and tool calls of so few memories have something left to be given.
    engine = open_engine(home, clock=clock, overrides={"recall": {"budgets": {"start": START_TOKENS}}})
    chance = random.Random(11)
    try:
        _state(engine, clock, roots)
        today_ms = now_ms - now_ms % DAY_MS
        for day in range(days, -1, -1):
            for number in range(1 if quick else chance.choice((2, 3, 3, 4))):
                at_ms = today_ms - day * DAY_MS + int((8 + 3 * number + chance.random()) * HOUR_MS)
                if at_ms < now_ms - 1_800_000:
                    clock.set(at_ms)
                    _session(engine, clock, roots, chance, f"{day:02d}{number}")
        clock.set(now_ms - 240_000)  # all of it has happened when somebody looks
        _session(engine, clock, roots, chance, "now", least=4)
        engine.flush()
    finally:
        engine.close()


def _state(engine, clock, roots) -> None:
    # Most of what is stored says nothing of its own occasion: the local reader finds it in the words.
    told = [(text, kind, when if reach == 3 else None, "shop") for text, kind, when, reach in SHOP]
    told += [(text, kind, when if reach == 3 else None, "atlas") for text, kind, when, reach in ATLAS]
    stored = {}
    for text, kind, when, where in told:
        clock.set(clock.now_ms() + 2_400_000)
        made = engine.remember(text, kind=kind, when=when, cwd=str(roots[where]), source="session")
        stored[text] = next((one.memory for one in made if hasattr(one, "memory")), None)
    for text, kind, when, _ in EVERYWHERE:
        engine.remember(text, kind=kind, when=when, scope=Scope.parse("universal"), source="cli")
    for number, (text, kind) in enumerate(DOUBTFUL):
        engine.remember(
            text, kind=kind, cwd=str(roots["shop"]), speaker=Speaker.AGENT, source="agent",
            session=SessionKey(host="claude-code", session_id=f"doubt{number}"),
        )  # fmt: skip
    _relate(engine, stored)
    engine.remember("Prices are shown without VAT in API responses.", kind="decision", cwd=str(roots["shop"]), speaker=Speaker.AGENT, source="session")  # fmt: skip
    old = engine.remember("The release script is scripts/publish.sh.", kind="fact", cwd=str(roots["shop"]))
    for one in old:
        if hasattr(one, "memory"):
            engine.memories.edit(
                engine.show(one.memory.id), content="The release script is scripts/release.sh."
            )
            engine.memories.edit(
                engine.show(one.memory.id),
                content="The release script is scripts/release.sh, run by `make release`.",
            )


def _relate(engine, stored) -> None:
    """Relations as capture would find them: made up, but of every type."""

    def one(start: str):
        return next(memory for text, memory in stored.items() if text.startswith(start))

    edges = [
        ("Discounts are applied", "Money is stored", "part_of"), ("Prices shown to customers", "Money is stored", "part_of"),
        ("The finance team edits", "Prices shown to customers", "related_to"), ("Discounts are applied", "The finance team edits", "related_to"),
        ("Next: move the refund webhook", "Order mails are sent", "related_to"), ("Order mails are sent", "Never log customer", "related_to"),
        ("The nightly import", "The finance team edits", "caused_by"), ("psycopg raises", "Use pytest fixtures", "caused_by"),
        ("Tests for the payment", "Use pytest fixtures", "part_of"), ("Return 402", "Prices shown to customers", "related_to"),
        ("Releases are cut", "Run `make lint`", "related_to"), ("Write commit messages", "Run `make lint`", "related_to"),
        ("Feature flags live", "Releases are cut", "related_to"), ("The cart service owns", "Return 402", "related_to"),
        ("The checkout page", "Feature flags live", "related_to"), ("Load tests run", "Use pytest fixtures", "related_to"),
        ("Search uses Postgres", "Database migrations", "result_of"), ("Database migrations", "Use pytest fixtures", "related_to"),
        ("The admin screens", "Ask before adding", "related_to"), ("cgo is not allowed", "Run `golangci-lint run`", "related_to"),
        ("`go: updates to go.sum", "cgo is not allowed", "caused_by"), ("Golden files are updated", "The renderer draws", "part_of"),
        ("Benchmarks live", "The tile cache", "related_to"), ("Wrap errors", "Every command of atlas", "related_to"),
        ("Run `golangci-lint run`", "Golden files are updated", "related_to"), ("Coordinates are stored", "The tile cache", "related_to"),
    ]  # fmt: skip
    engine._parts.store.relate(
        Relation(source_id=one(source).id, target_id=one(target).id, type=kind, weight=0.6)
        for source, target, kind in edges
    )


def _session(engine, clock, roots, chance, name, *, least=2) -> None:
    where = chance.choice(("shop", "shop", "atlas")) if name != "now" else "shop"
    session = f"{where}-{name}"
    common = {"session": session, "cwd": str(roots[where])}

    def tell(event: str, **fields) -> None:
        clock.set(
            clock.now_ms() + int(chance.uniform(20_000, 240_000)) if name != "now" else clock.now_ms() + 4_000
        )
        engine.hook("plain", {**common, "event": event, "key": f"{session}:{clock.now_ms()}", **fields}, deadline_ms=5_000)  # fmt: skip

    tell("start", source="startup")
    prompts = [one for one in DOINGS if one[0] == where]
    chosen = chance.sample(prompts, k=min(len(prompts), chance.randint(least, 6)))
    for _, said, text in chosen:
        if said:
            tell("message_end", text=said, final=True)
        tell("prompt", text=text, previous=said)
        for _, tool, paths, command, error in chance.sample([t for t in TOOLS if t[0] == where], k=1):
            call = {"tool": tool, "call_id": f"c{clock.now_ms()}", "command": command}
            call["paths"] = [str(roots[where] / path) for path in paths]
            tell("tool_start", **call)
            tell("tool_failed", **call, error=error) if error else tell("tool_end", **call, output="ok")
    injected = [(t, i) for t in engine.why(session=f"plain/{session}", limit=20) for i in t.injected]
    for trace, memory_id in chance.sample(injected, k=min(2, len(injected))):
        engine.admin.judge_recall(trace.id, [memory_id], useful=chance.random() < 0.8)
    if name != "now":
        tell("end", reason="exit")


def fill_many(home: Path, count: int) -> None:
    """Add `count` short memories with relations, straight into the store, for lists that are long."""
    engine = open_engine(home)
    chance = random.Random(5)
    nouns = "cart order refund invoice label parcel stock price coupon review wishlist search mail queue cache index".split()
    verbs = "reads writes checks rounds caches retries validates exports imports locks signs merges splits sends".split()
    kinds = ("fact", "decision", "preference", "file_context", "observation", "error_pattern", "outcome")
    now_ms = time.time_ns() // 1_000_000
    scope = Scope.parse("universal")
    made: list[Memory] = []
    for number in range(count):
        text = f"The {chance.choice(nouns)} {chance.choice(nouns)} service {chance.choice(verbs)} the {chance.choice(nouns)} in module m{number % 97}.py, case {number}."
        at_ms = now_ms - int(chance.random() * 200 * DAY_MS)
        made.append(
            Memory(
                id=f"mem_many{number:06d}", kind=chance.choice(kinds), content=text, scope=scope,
                provenance=Provenance(tier=TrustTier.USER, source="import"),
                validity=Validity(valid_from_ms=at_ms), created_at_ms=at_ms, updated_at_ms=at_ms,
                importance=round(chance.random(), 2), tokens=22,
            )
        )  # fmt: skip
    store = engine._parts.store
    for begin in range(0, count, 1000):
        store.apply([Add(memory=one) for one in made[begin : begin + 1000]])
    edges = []
    for number in range(1, count):
        other = chance.randrange(max(0, number - 60), number)
        kind = chance.choice(("related_to", "related_to", "related_to", "part_of", "caused_by", "updates"))
        edges.append(Relation(source_id=made[number].id, target_id=made[other].id, type=kind, weight=0.5))
    store.relate(edges)
    engine.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    fill(target)
    if len(sys.argv) > 2:
        fill_many(target, int(sys.argv[2]))


def import_depots(served: Served, folder: Path, count: int) -> dict[str, Any]:
    """Import `count` statements of mem0, which wait in Review; the part of the queue that came by import."""
    path = folder / "mem0.json"
    rows = [
        {
            "id": f"m{n}",
            "memory": f"Depot {n} opens at {n % 12 + 1} o'clock and closes on day {n % 7}.",
            "user_id": "a",
        }
        for n in range(count)
    ]
    path.write_text(json.dumps({"results": rows}))
    done = served.run("import", str(path))
    assert done.returncode == 0, done.stderr
    return served.api("/v1/review?cause=import&limit=1")
