"""Why-not is exact: of every memory that a recall does not give it names a stage, and what it says lets it through does."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.app.engine import Engine
from tacit.app.queries.why_not import sentences
from tacit.app.values import RecallAsked
from tacit.app.wiring import open_engine
from tacit.config.overrides import SettingsTarget
from tacit.model.memory import Memory, Sensitivity, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import Scope
from tacit.model.trace import STAGES, AskedWith, SilenceCause
from tacit.model.why_not import Remedy, RemedyKind, RemedyStep
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
OTHERS = ("multispace", "typed", "ambient", "scoped", "refresh")
PRESETS = ("focused", *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS))
STATEMENTS = (
    ("Run `make lint` before every commit and push.", "commit"),
    ("Commit messages are in the imperative and name the ticket.", "commit"),
    ("Every change of the schema comes with a migration in db/migrations.", "path:db/**"),
    ("Tests live beside the module they test, named test_*.py.", "write_test"),
    ("Never edit files below vendor; change the upstream and pull.", "path:vendor/**"),
    ("pytest is run with -x first, then whole.", "cmd:pytest"),
    ("The billing service listens on port 9090.", None),
    ("ECONNREFUSED from the queue means the compose stack is down: run docker compose up -d.", None),
    ("Releases are tagged by the pipeline, never by hand.", "cmd:git tag"),
    ("User-visible texts go through the translation table in i18n/.", "path:i18n/**"),
    ("We chose PostgreSQL over MySQL, because of row level security.", None),
    ("Amounts of money are integers in cents, never floats.", None),
    ("The VAT rate of an order is fixed when it is paid.", None),
    ("Retries of the payment provider wait twice as long each time, at most a minute.", None),
    ("The staging database is copied from production every Sunday.", None),
    ("Feature flags live in flags.yaml and are removed after two releases.", None),
    ("Dates are stored in UTC and shown in the zone of the shop.", None),
    ("The search index is rebuilt by `make index`.", None),
    ("Images are resized by the worker, not by the web server.", None),
    ("Logs never hold names or addresses of customers.", None),
)
PROMPTS = (
    "commit this please", "which port does billing use?", "add a column for the vat number to the orders table",
    "write the tests for the queue", "now tag the release", "translate the new error message", "thanks, looks good",
    "why does the payment retry so late?",
)  # fmt: skip
CALLS = (
    AskedWith(tool="bash", command="git commit -m 'Add vat number'"),
    AskedWith(tool="edit", paths=("db/schema.sql",)),
    AskedWith(tool="bash", command="pytest tests/test_orders.py"),
    AskedWith(tool="read", paths=("src/orders.py",)),
)
SURFACES = (Surface.PROMPT, Surface.ACTION, Surface.START, Surface.ON_DEMAND, Surface.SUBAGENT)
TRIED = 4
"""Remedies of one preset that are carried out for good, each in a home of its own."""


class Shop:
    """A home with memories of every sort that a recall may leave out, and copies of it in which something is changed for good."""

    def __init__(self, folder: Path, preset: str) -> None:
        self._folder = folder
        self._clock = FakeClock(1_780_000_000_000)
        self.cwd = str(folder / "shop")
        (folder / "shop").mkdir()
        self.engine = open_engine(folder / "home", clock=self._clock)
        self.engine.admin.options.change(SettingsTarget(), {"preset": preset})
        for number, (content, when) in enumerate(STATEMENTS):
            self.engine.remember(
                content,
                when=when,
                cwd=self.cwd,
                scope=Scope.parse("language:rust") if number % 7 == 6 else None,
                speaker=Speaker.AGENT if number % 5 == 3 else Speaker.USER,
                sensitivity=Sensitivity.RESTRICTED if number == 8 else None,
            )
        self.engine.flush()
        self._copies = 0

    @property
    def memories(self) -> list[Memory]:
        live = MemoryFilter(statuses=("active", "quarantined"))
        return sorted(self.engine.list_memories(live, limit=500), key=lambda memory: memory.content)

    @contextmanager
    def copy(self) -> Iterator[Engine]:
        """An engine over a copy of the home."""
        self._copies += 1
        home = self._folder / f"copy{self._copies}"
        shutil.copytree(self._folder / "home", home, ignore=shutil.ignore_patterns("run", "*.lock"))
        engine = open_engine(home, clock=self._clock, embedder=self.engine._parts.embedder)
        try:
            yield engine
        finally:
            engine.close()
            shutil.rmtree(home)

    def asked(self, surface: Surface, chance: random.Random) -> RecallAsked:
        held = tuple(memory.id for memory in self.memories if chance.random() < 0.2)
        asked = RecallAsked(surface=surface, cwd=self.cwd, held=held)
        if surface is Surface.ACTION:
            return replace(asked, given=chance.choice(CALLS))
        return asked if surface is Surface.START else replace(asked, text=chance.choice(PROMPTS))


def recalled(engine: Engine, asked: RecallAsked) -> tuple[str, ...]:
    """What the same recall gives through the usual way, with the settings that are on file; () where a hook asks for nothing."""
    if asked.surface is Surface.PROMPT:
        session = f"s{random.randbytes(6).hex()}"
        signal = {"event": "prompt", "session": session, "cwd": asked.cwd, "text": asked.text}
        engine.hook("plain", signal, deadline_ms=60_000.0)
        (trace,) = engine.why(session=f"plain/{session}", limit=1)
        if trace.cause is SilenceCause.NOT_ASKED:
            return ()
    answer = engine.recall(
        asked.text,
        cwd=asked.cwd,
        surface=asked.surface,
        given=asked.given,
        held=asked.held,
        store_trace=False,
    )
    return answer.block.memory_ids


def carried_out(engine: Engine, memory_id: str, step: RemedyStep, asked: RecallAsked) -> RecallAsked:
    """Do what a step says, for good; the recall to ask now."""
    value = step.value
    match step.kind:
        case RemedyKind.ACCEPT | RemedyKind.CONFIRM:
            engine.review.decide(memory_id, "accept")
        case RemedyKind.SCOPE:
            engine.memories.edit(engine.show(memory_id), scope=Scope.parse(str(value)))
        case RemedyKind.SENSITIVITY:
            engine.memories.edit(engine.show(memory_id), sensitivity=Sensitivity.parse(str(value)))
        case RemedyKind.WHEN:
            engine.memories.edit(engine.show(memory_id), when=str(value))
        case RemedyKind.PIN:
            engine.memories.edit(engine.show(memory_id), pinned=True)
        case RemedyKind.NEW_SESSION:
            return replace(asked, held=tuple(name for name in asked.held if name != memory_id))
        case other:
            raise AssertionError(f"{other} was not expected here")
    return asked


@pytest.mark.parametrize("preset", PRESETS)
def test_every_absence_has_a_stage_and_every_remedy_delivers(tmp_path: Path, preset: str) -> None:
    """Of every memory that a recall did not give: a stage and a cause. Of what is said to be enough: it is, once it is done."""
    shop, chance = Shop(tmp_path, preset), random.Random(7)
    memories = shop.memories
    causes: Counter[str] = Counter()
    to_try: dict[tuple[str, ...], list[tuple[RecallAsked, str, Remedy]]] = {}
    for surface in SURFACES:
        asked = shop.asked(surface, chance)
        given = recalled(shop.engine, asked)
        for memory in memories:
            answer = shop.engine.why_not(memory.id, asked)
            assert answer.given == (memory.id in given), (asked, memory.content, answer.absence)
            if answer.given:
                assert answer.absence is None
                assert not answer.remedies
                continue
            assert answer.absence is not None
            assert answer.absence.stage in STAGES
            assert answer.absence.why or answer.absence.silence
            assert all(sentences(answer))
            why = answer.absence.why
            causes[why.cause if why else str(answer.absence.silence)] += 1
            for remedy in answer.remedies:
                kinds = tuple(str(step.kind) for step in remedy.steps)
                to_try.setdefault(kinds, []).append((asked, memory.id, remedy))
    assert len(causes) >= 4, causes
    # Every combination of changes, until enough are tried.
    queues = [chance.sample(tried, len(tried)) for _, tried in sorted(to_try.items())]
    chosen = [queue[turn] for turn in range(TRIED) for queue in queues if turn < len(queue)][:TRIED]
    assert len(chosen) == TRIED
    failed: list[str] = []
    for asked, memory_id, remedy in chosen:
        with shop.copy() as engine:
            after = asked
            for step in remedy.steps:
                after = carried_out(engine, memory_id, step, after)
            if memory_id not in recalled(engine, after):
                failed.append(f"{asked.surface} {asked.text!r} {asked.given}: {remedy}")
    shop.engine.close()
    assert not failed, "\n".join(failed)
