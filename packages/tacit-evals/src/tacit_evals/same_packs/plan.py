"""The plan of a recording: which statements are stored, and which signals are sent. In: a seed, pools of real data. Out: a plan.

A plan is plain data. It is kept in the recording that was made from it, so later code is asked exactly what earlier code was asked.
Equal arguments give equal plans.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tacit.model.scope import project_scope
from tacit.model.trigger import Trigger
from tacit_evals.data.rows import read_rows
from tacit_evals.data.workload import PROMPTS, Generator

GENERATED = "generated"
"""Name of the project whose statements and prompts are made up."""
STATEMENTS = 400
PROMPTS_PER_SESSION = 6
"""Of longer real sessions only the beginning is sent, so that a plan meets many sessions."""
FAILURE = "ModuleNotFoundError: No module named 'settings' while reading {file}"
FIRST_FILES = ("src/app.py", "src/auth/session.py", "tests/test_orders.py", "docs/guide.md")

Sort = Literal["hook", "question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStatement:
    """One statement to store. `project` "" = it holds in every project; `when` None = its trigger is read from its words."""

    name: str
    content: str
    kind: str
    project: str
    when: str | None = None
    files: tuple[str, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSignal:
    """One signal.

    Attributes:
        label: what a reader calls it: number, project and event.
        project: in whose folder it happens.
        sort: a hook of the host, or a question on demand.
        payload: of a hook, without the folder; of a question `text`.
        asks: whether a block may come back; such signals are counted.
    """

    label: str
    project: str
    sort: Sort
    payload: dict[str, object]
    asks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Statements in the order of storing, signals in the order of sending."""

    statements: tuple[PlannedStatement, ...]
    signals: tuple[PlannedSignal, ...]

    @property
    def recalls(self) -> int:
        """How many signals ask for something."""
        return sum(signal.asks for signal in self.signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    text: str
    previous: str = ""
    files: tuple[str, ...] = ()


def make_plan(*, recalls: int, statements: int = STATEMENTS, data: Path | None = None, seed: int = 1) -> Plan:
    """A plan with exactly `recalls` recalls; with `data` also the statements and prompts of `<project>/` below it.

    Raises:
        InvalidInput: for data that cannot be read, naming file and line.
        SystemExit: if `data` holds no pool.
    """
    pools = sorted(path.parent for path in data.glob("*/memories.jsonl")) if data else []
    if data and not pools:
        raise SystemExit(f"No pool in {data}: it holds no <project>/memories.jsonl.")
    stored = [
        *_generated_statements(statements, seed=seed),
        *itertools.chain.from_iterable(map(_real, pools)),
    ]
    sources = [_generated_sessions(seed), *(_real_sessions(pool) for pool in pools)]
    signals: list[PlannedSignal] = []
    planned = 0
    for project, name, turns in _in_rotation(sources):
        for signal in _session(project, name, turns, first=len(signals)):
            signals.append(signal)
            planned += signal.asks
            if planned == recalls:
                return Plan(statements=tuple(stored), signals=tuple(signals))
    raise AssertionError("Generated sessions never end.")


def _generated_statements(count: int, *, seed: int) -> Iterator[PlannedStatement]:
    maker = Generator(seed=seed)
    for number in range(count):
        memory = maker.memory(number, project_scope(GENERATED))
        yield PlannedStatement(
            name=f"{GENERATED}/{number}",
            content=memory.content,
            kind=memory.kind,
            when=_words(memory.trigger),
            project="" if number % 20 == 7 else GENERATED,
            files=memory.files,
            pinned=number % 40 == 3,
        )


def _words(trigger: Trigger) -> str | None:
    """A trigger in the words of `when`; None where there are none for it."""
    if trigger.always:
        return "always"
    actions = [f"{name}={weight}" if weight < 1 else name for name, weight in trigger.actions]
    about = [f"about:{word}" for word in trigger.objects]
    return ", ".join([*actions, *about, f"breadth:{trigger.breadth:g}"]) if actions else None


def _real(pool: Path) -> Iterator[PlannedStatement]:
    for row in read_rows(pool / "memories.jsonl"):
        yield PlannedStatement(
            name=f"{pool.name}/{row.text('id')}",
            content=row.text("content"),
            kind=row.text("kind"),
            project=pool.name,
            files=row.texts("files"),
        )


def _generated_sessions(seed: int) -> Iterator[tuple[str, str, list[_Turn]]]:
    chance = random.Random(seed)
    for number in itertools.count():
        texts = chance.sample(PROMPTS, PROMPTS_PER_SESSION)
        files = [chance.choice(FIRST_FILES) for _ in texts]
        turns = [
            _Turn(text=text, files=(file,) if chance.random() < 0.6 else ())
            for text, file in zip(texts, files, strict=True)
        ]
        yield GENERATED, f"{GENERATED}-{number}", turns


def _real_sessions(pool: Path) -> Iterator[tuple[str, str, list[_Turn]]]:
    by_session: dict[str, list[_Turn]] = {}
    for row in read_rows(pool / "prompts.jsonl"):
        files = tuple(file for file in row.texts("recent_files") if not file.startswith(("/", "~")))
        turn = _Turn(text=row.text("text"), previous=row.maybe("previous_assistant"), files=files[:1])
        by_session.setdefault(row.text("session"), []).append(turn)
    for name, turns in by_session.items():
        yield pool.name, name, turns[:PROMPTS_PER_SESSION]


def _in_rotation(
    sources: Sequence[Iterator[tuple[str, str, list[_Turn]]]],
) -> Iterator[tuple[str, str, list[_Turn]]]:
    """One session of each source after the other, so that a short plan meets all of them."""
    remaining = list(sources)
    while remaining:
        for source in list(remaining):
            session = next(source, None)
            if session is None:
                remaining.remove(source)
            else:
                yield session


def _session(project: str, name: str, turns: Sequence[_Turn], *, first: int) -> Iterator[PlannedSignal]:
    """The signals of one session: its start, its turns, now and then a resume, a compaction, a subagent, a question."""
    numbers = itertools.count(first)

    def hook(event: str, *, asks: bool = True, **fields: object) -> PlannedSignal:
        number = next(numbers)
        payload = {"hook_event_name": event, "session_id": name, "prompt_id": f"p{number}", **fields}
        return PlannedSignal(
            label=f"{number} {project} {event}", project=project, sort="hook", payload=payload, asks=asks
        )

    yield hook("SessionStart", source="startup")
    for place, turn in enumerate(turns):
        if turn.previous:
            yield hook("Stop", asks=False, last_assistant_message=turn.previous)
        if place == 2:
            yield hook("SessionStart", source="resume")
        if place == 3:
            yield hook("PreCompact", asks=False, trigger="auto")
            yield hook("SessionStart", source="compact")
        yield hook("UserPromptSubmit", prompt=turn.text)
        for file in turn.files:
            change: dict[str, object] = {"file_path": file, "old_string": "a", "new_string": turn.text[:80]}
            call: dict[str, Any] = {
                "tool_name": "Edit",
                "tool_input": change,
                "tool_use_id": f"e{place}{file}",
            }
            yield hook("PreToolUse", **call)
            yield hook("PostToolUse", **call, tool_response={"success": True})
        if place % 2 == 1:
            command = "git commit -am 'wip'" if place % 4 == 1 else "python -m pytest -q"
            ran: dict[str, Any] = {
                "tool_name": "Bash",
                "tool_input": {"command": command},
                "tool_use_id": f"b{place}",
            }
            error = FAILURE.format(file=turn.files[0] if turn.files else "the settings")
            yield hook("PreToolUse", **ran)
            yield hook("PostToolUseFailure", **ran, error=error)
        if place == 1:
            yield hook("SubagentStart", agent_id=f"a{first}", agent_type="reviewer")
            number = next(numbers)
            yield PlannedSignal(
                label=f"{number} {project} question",
                project=project,
                sort="question",
                payload={"text": turn.text},
            )
    yield hook("SessionEnd", asks=False, reason="exit")
