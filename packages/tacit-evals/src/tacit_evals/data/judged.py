"""Pools, prompts and calls with what they needed. In: folders of the `inject` and `action` formats. Out: frozen values.

`memories.jsonl` is a pool; memories that another one supersedes are left out, as the data's protocol says. `qrels.tsv`
has lines `item, memory, grade`: 2 = needed, 1 = helps, m = marginal (left out of every count), and `item - 0` = nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacit.model.kinds import KindRegistry
from tacit.model.trigger import ACTIONS, Trigger
from tacit_evals.data.rows import Row, problem, read_rows, read_table

LEARNED_PREFIX = "session:"
"""How the source of a memory begins that was learned in a session; the others come from rule files."""
MAX_GRADE = 3
LEFT_OUT = frozenset({("a001", "2026-02-24_13-47-24Z-use-gh-to-check")})
"""Calls whose memories were made from the very same session (the data's description names them)."""


PHRASES = 4
"""So many `when` phrases a memory, as a writer gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """One memory as the data has it. `given` is the trigger that an annotator wrote, where there is one.

    `session` and `turn` say where it was said, where the data tells. `everywhere`: the user's own, seen in each project.
    """

    id: str
    kind: str
    content: str
    created_ms: int
    source: str
    files: tuple[str, ...] = ()
    given: Trigger | None = None
    phrases: tuple[str, ...] = ()
    session: str = ""
    turn: int = 0
    everywhere: bool = False

    @property
    def learned(self) -> bool:
        """Whether it was learned in a session, not read from a rule file."""
        return self.source.startswith(LEARNED_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What one item needed: memory id -> grade 1 or 2. `nothing`: a judge said so; neither = it was not judged."""

    needed: dict[str, int] = field(default_factory=dict[str, int])
    marginal: frozenset[str] = frozenset()
    nothing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One real prompt."""

    id: str
    session: str
    turn: int
    at_ms: int
    text: str
    previous: str
    files: tuple[str, ...]
    judgment: Judgment


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One real tool call with the prompt that led to it. `error` is what the tool said when it failed, else ""."""

    id: str
    session: str
    turn: int
    tool: str
    input: dict[str, object]
    error: str
    prompt: str
    previous: str
    judgment: Judgment


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One project's pool with its judged prompts or calls; `left_out` calls of the file are none of them."""

    name: str
    folder: Path
    memories: tuple[PoolRow, ...]
    prompts: tuple[Prompt, ...] = ()
    calls: tuple[Call, ...] = ()
    left_out: int = 0

    @property
    def learned(self) -> frozenset[str]:
        """Ids of memories learned in sessions."""
        return frozenset(memory.id for memory in self.memories if memory.learned)


def load_pool(path: Path, *, triggers: Path | None = None) -> tuple[PoolRow, ...]:
    """Live memories of a pool, in the order of the file; one without a date is as old as the oldest that has one.

    Args:
        path: the `memories.jsonl`.
        triggers: a `triggers.jsonl` with the triggers as a storing agent would have made them.

    Raises:
        InvalidInput: naming file and line.
    """
    labelled = load_triggers(triggers) if triggers is not None else {}
    rows = list(read_rows(path))
    superseded = {row.maybe("supersedes") for row in rows}
    earliest = min((row.day_ms("created") for row in rows if row.maybe("created")), default=0)
    kinds = KindRegistry()
    names = [kind.name for kind in kinds]
    pool: dict[str, PoolRow] = {}
    for row in rows:
        if row.text("kind") not in names:
            raise row.bad(f"kind {row.text('kind')!r} is unknown.", f"Known kinds: {', '.join(names)}.")
        if row.text("id") in pool:
            raise row.bad(f"id {row.text('id')!r} is there twice.", "Ids must be unique in a file.")
        if not row.text("content").strip():
            raise row.bad("field 'content' is empty.", "A memory needs a statement.")
        memory = PoolRow(
            id=row.text("id"),
            kind=row.text("kind"),
            content=row.text("content"),
            created_ms=row.day_ms("created") if row.maybe("created") else earliest,
            source=row.text("source"),
            files=row.texts("files"),
            given=labelled.get(row.text("id")),
        )
        pool[memory.id] = memory
    return tuple(memory for memory in pool.values() if memory.id not in superseded)


def load_triggers(path: Path) -> dict[str, Trigger]:
    """Triggers by memory id from a `triggers.jsonl`: action classes with grades 1-3, objects, breadth 1-3."""
    return {row.text("id"): trigger_of(row) for row in read_rows(path)}


def trigger_of(row: Row) -> Trigger:
    """The trigger that a labelled row describes.

    Raises:
        InvalidInput: naming the row, for an unknown action class or a breadth out of range.
    """
    graded = sorted(row.grades("actions").items(), key=lambda item: (-item[1], item[0]))
    for name, _ in graded:
        if name != "none" and name not in ACTIONS:
            raise row.bad(f"action class {name!r} is unknown.", f"Known classes: {', '.join(ACTIONS)}.")
    breadth = row.number("breadth")
    if not 0 <= breadth <= MAX_GRADE:
        raise row.bad(f"breadth is {breadth:g}.", "It must be between 0 and 3.")
    return Trigger(
        actions=tuple((name, grade / MAX_GRADE) for name, grade in graded if name != "none"),
        objects=row.texts("objects"),
        breadth=breadth,
        maker="agent",
    )


def load_judgments(path: Path, *, items: set[str], memories: set[str]) -> dict[str, Judgment]:
    """Judgments by item id from a `qrels.tsv`.

    Args:
        path: the file.
        items: ids of the prompts or calls that exist.
        memories: ids of all memories of the pool, superseded ones too.

    Raises:
        InvalidInput: naming the line with an unknown id or grade.
    """
    needed: dict[str, dict[str, int]] = {}
    marginal: dict[str, set[str]] = {}
    nothing: set[str] = set()
    for number, (item, memory, grade) in read_table(path, columns=3):
        if item not in items:
            raise problem(
                path, number, f"item {item!r} does not exist.", "Its first column names a prompt or call."
            )
        if memory == "-":
            nothing.add(item)
            continue
        if memory not in memories:
            raise problem(
                path,
                number,
                f"memory {memory!r} does not exist.",
                "Its second column names a memory of the pool.",
            )
        if grade not in ("0", "1", "2", "m"):
            raise problem(path, number, f"grade {grade!r} is unknown.", "Known grades: 2, 1, m, 0.")
        if grade in ("1", "2"):
            needed.setdefault(item, {})[memory] = int(grade)
        elif grade == "m":
            marginal.setdefault(item, set()).add(memory)
    return {
        item: Judgment(
            needed=needed.get(item, {}),
            marginal=frozenset(marginal.get(item, ())),
            nothing=item in nothing and item not in needed,
        )
        for item in items
    }


def _all_ids(path: Path) -> set[str]:
    return {row.text("id") for row in read_rows(path)}


def load_inject(folder: Path, *, triggers: Path | None = None) -> Project:
    """One project of the `inject` format: `memories.jsonl`, `prompts.jsonl`, `qrels.tsv`."""
    rows = list(read_rows(folder / "prompts.jsonl"))
    ids = {row.text("id") for row in rows}
    pool = folder / "memories.jsonl"
    memories = load_pool(pool, triggers=triggers)
    judged = load_judgments(folder / "qrels.tsv", items=ids, memories=_all_ids(pool))
    return Project(
        name=folder.name,
        folder=folder,
        memories=memories,
        prompts=tuple(
            Prompt(
                id=row.text("id"),
                session=row.text("session"),
                turn=int(row.number("turn")),
                at_ms=row.day_ms("date"),
                text=row.text("text"),
                previous=row.maybe("previous_assistant"),
                files=row.texts("recent_files"),
                judgment=judged[row.text("id")],
            )
            for row in rows
        ),
    )


def load_phrases(project: Project, path: Path) -> Project:
    """The project with `when` phrases for its memories: the first `PHRASES` rows of `asks` in a file by memory id."""
    phrases = {row.text("id"): row.texts("asks")[:PHRASES] for row in read_rows(path)}
    return replace(
        project,
        memories=tuple(replace(row, phrases=phrases.get(row.id, ())) for row in project.memories),
    )


def load_action(folder: Path, *, pool: Path, name: str, triggers: Path | None = None) -> Project:
    """Judged tool calls: `calls.jsonl`, `qrels.tsv`, and a pool that stands in the folder or elsewhere."""
    rows = list(read_rows(folder / "calls.jsonl"))
    ids = {row.text("id") for row in rows}
    judged = load_judgments(folder / "qrels.tsv", items=ids, memories=_all_ids(pool))
    all_calls = tuple(_call(row, judged[row.text("id")]) for row in rows)
    calls = tuple(call for call in all_calls if (call.id, call.session) not in LEFT_OUT)
    return Project(
        name=name,
        folder=folder,
        memories=load_pool(pool, triggers=triggers),
        calls=calls,
        left_out=len(all_calls) - len(calls),
    )


def _call(row: Row, judgment: Judgment) -> Call:
    raw = row.values.get("input")
    try:
        arguments = json.loads(raw) if isinstance(raw, str) else raw
    except json.JSONDecodeError:
        # Long inputs are cut in the data: what can still be read of a command or path is enough.
        arguments = {"command": raw} if row.text("tool") == "Bash" else {"file_path": _first_path(str(raw))}
    if not isinstance(arguments, dict):
        raise row.bad(f"field 'input' is {raw!r}.", "It must be the tool's input as a JSON object.")
    return Call(
        id=row.text("id"),
        session=row.text("session"),
        turn=int(row.number("turn")),
        tool=row.text("tool"),
        input=arguments,
        error=row.maybe("error"),
        prompt=row.maybe("prompt"),
        previous=row.maybe("previous_assistant"),
        judgment=judgment,
    )


def _first_path(text: str) -> str:
    marker = '"file_path": "'
    start = text.find(marker)
    return "" if start < 0 else text[start + len(marker) :].split('"', 1)[0]
