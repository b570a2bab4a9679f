"""The evaluation data: folders in, frozen values out. Nothing here is ever written.

| suite | a folder is recognized by |
|---|---|
| inject | `memories.jsonl` (without `role`), `prompts.jsonl`, `qrels.tsv` |
| action | `calls.jsonl`, `qrels.tsv` |

Rows know their file and line, so that a problem can be named. Recorded answers of a language model stand in `<project>/pause.jsonl`: lines `{"id": prompt, "memories": [[memory, probability], ...]}`. They are never labels.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from tacit.errors import InvalidInput
from tacit.model.kinds import UNSAID, KindRegistry
from tacit.model.trigger import ACTIONS, Trigger


def problem(path: Path, line: int, what: str, hint: str) -> InvalidInput:
    """The error for one line of a data file."""
    return InvalidInput(f"{path}, line {line}: {what}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRow:
    """One JSON object of a file, with its place."""

    path: Path
    line: int
    values: dict[str, Any]

    def bad(self, what: str, hint: str = "See the format in docs/benchmarks.md.") -> InvalidInput:
        """The error that names this row."""
        return problem(self.path, self.line, what, hint)

    def text(self, name: str) -> str:
        """A required text; numbers are taken as text.

        Raises:
            InvalidInput: if it is missing or something else.
        """
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.bad(
                f"field {name!r} is {'missing' if value is None else f'{value!r}'}.",
                "It must be a text; correct the row or leave it out.",
            )
        return value

    def maybe(self, name: str) -> str:
        """An optional text, "" when it is absent or null."""
        return "" if self.values.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; () when it is absent or null."""
        value = self.values.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(f"field {name!r} is {value!r}.", "It must be a list of texts.")
        return tuple(value)

    def grades(self, name: str) -> dict[str, int]:
        """A mapping from word to grade 1-3, e.g. action classes."""
        value = self.values.get(name)
        if not isinstance(value, dict) or not all(
            isinstance(grade, int) and 1 <= grade <= 3 for grade in value.values()
        ):
            raise self.bad(f"field {name!r} is {value!r}.", "It must map words to grades 1, 2 or 3.")
        return {str(word): int(grade) for word, grade in value.items()}

    def number(self, name: str) -> float:
        """A required number."""
        value = self.values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.bad(f"field {name!r} is {value!r}.", "It must be a number.")
        return float(value)

    def day_ms(self, name: str) -> int:
        """An ISO date or time as milliseconds since the epoch, in UTC where no zone is given."""
        value = self.text(name)
        try:
            at = datetime.fromisoformat(value)
        except ValueError as error:
            raise self.bad(
                f"field {name!r} is {value!r}.", "It must be a date such as 2026-11-21."
            ) from error
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def read_text(path: Path) -> str:
    """A whole file.

    Raises:
        InvalidInput: if it is missing or no UTF-8.
    """
    try:
        return (
            gzip.decompress(path.read_bytes()).decode("utf-8")
            if path.suffix == ".gz"
            else path.read_text("utf-8")
        )
    except FileNotFoundError as error:
        raise InvalidInput(
            f"{path} is missing.", hint="The folder needs it; see docs/benchmarks.md."
        ) from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}.", hint="It must be a readable file in UTF-8."
        ) from error


def read_rows(path: Path) -> Iterator[DataRow]:
    """Objects of a JSON Lines file; blank lines are skipped.

    Raises:
        InvalidInput: naming file and line of what is no JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except json.JSONDecodeError as error:
            raise problem(
                path, number, f"no JSON ({error.msg}).", "Every line must be one JSON object."
            ) from error
        if not isinstance(values, dict):
            raise problem(path, number, "no JSON object.", "Every line must be one JSON object.")
        yield DataRow(path=path, line=number, values=values)


def read_table(path: Path, *, columns: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines of a tab-separated file with their numbers.

    Raises:
        InvalidInput: naming a line with another number of columns.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        cells = tuple(cell.strip() for cell in line.rstrip("\r").split("\t"))
        if len(cells) != columns:
            raise problem(
                path, number, f"{len(cells)} columns, not {columns}.", "Columns are separated by one tab."
            )
        yield number, cells


MAX_DEPTH = 4


def is_inject(folder: Path) -> bool:
    """Whether `folder` is one project of judged prompts; memories with a `role` were made up for their prompts."""
    names = ("memories.jsonl", "prompts.jsonl", "qrels.tsv")
    return all((folder / name).is_file() for name in names) and not _first_has(folder / names[0], "role")


def is_action(folder: Path) -> bool:
    """Whether `folder` holds judged tool calls."""
    return all((folder / name).is_file() for name in ("calls.jsonl", "qrels.tsv"))


RECOGNISED: dict[str, Callable[[Path], bool]] = {
    "inject": is_inject,
    "action": is_action,
}
NEEDS: dict[str, str] = {
    "inject": "folders with memories.jsonl, prompts.jsonl and qrels.tsv",
    "action": "a folder with calls.jsonl and qrels.tsv",
}


def folders_of(suite: str, data: Path) -> tuple[Path, ...]:
    """Folders at or below `data` that `suite` can read, in the order of their paths.

    Raises:
        InvalidInput: if there are none, saying what was looked for.
    """
    if not data.is_dir():
        raise InvalidInput(
            f"{data} is no folder.", hint="Give the folder of the evaluation data with --data."
        )
    folders = [folder for folder in _below(data) if RECOGNISED[suite](folder)]
    if not folders:
        raise InvalidInput(f"{data} holds no data for the suite {suite!r}.", hint=f"It needs {NEEDS[suite]}.")
    return tuple(folders)


def triggers_for(project: str, root: Path) -> Path | None:
    """The labelled triggers of `project` at or below `root`: `<project>/triggers.jsonl`, or `triggers.jsonl` itself."""
    if (root / "triggers.jsonl").is_file() and root.name == project:
        return root / "triggers.jsonl"
    for folder in _below(root):
        if folder.name == project and (folder / "triggers.jsonl").is_file():
            return folder / "triggers.jsonl"
    return None


def _below(root: Path) -> list[Path]:
    paths: list[Path] = []
    for place, folders, _ in os.walk(root):
        path = Path(place)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(path.relative_to(root).parts) >= MAX_DEPTH:
            folders[:] = []
        paths.append(path)
    return sorted(paths)


def _first_has(path: Path, field: str) -> bool:
    """Whether the first line of a JSONL file is an object with `field`."""
    try:
        with path.open(encoding="utf-8") as lines:
            values = json.loads(lines.readline())
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and field in values


Answers = Mapping[str, Mapping[str, float]]
"""Probability by memory id, by prompt id."""


def load_named(folder: Path, project: str) -> Answers:
    """The recorded answers for the prompts of `project`.

    Raises:
        InvalidInput: naming file and line.
    """
    path = folder / project / "pause.jsonl"
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist.", hint="--answers needs PROJECT/pause.jsonl.")
    return {row.text("id"): _probabilities(row) for row in read_rows(path)}


def _probabilities(row: DataRow) -> dict[str, float]:
    pairs = row.values.get("memories")
    chances: dict[str, float] = {}
    for pair in cast("list[object]", pairs) if isinstance(pairs, list) else [None]:
        match pair:
            case [str(name), int() | float() as chance] if 0 <= chance <= 1:
                chances[name] = float(chance)
            case _:
                raise row.bad("field 'memories' is no list of pairs.", "A pair is [memory id, probability].")
    return chances


LEARNED_PREFIX = "session:"
"""How the source of a memory begins that was learned in a session; the others come from rule files."""
MAX_GRADE = 3
LEFT_OUT = frozenset({("a001", "2026-02-24_13-47-24Z-use-gh-to-check")})
"""Calls whose memories were made from the very same session (the data's description names them)."""


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
    session: str = ""
    turn: int = 0
    everywhere: bool = False

    @property
    def learned(self) -> bool:
        """Whether it was learned in a session, not read from a rule file."""
        return self.source.startswith(LEARNED_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemJudgment:
    """What one item needed: memory id -> grade 1 or 2. `nothing`: a judge said so; neither = it was not judged."""

    needed: dict[str, int] = field(default_factory=dict[str, int])
    marginal: frozenset[str] = frozenset()
    nothing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RealPrompt:
    """One real prompt."""

    id: str
    session: str
    turn: int
    at_ms: int
    text: str
    previous: str
    files: tuple[str, ...]
    judgment: ItemJudgment


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One real tool call with the prompt that led to it. `error` is what the tool said when it failed, else ""."""

    id: str
    session: str
    turn: int
    tool: str
    input: dict[str, object]
    error: str
    prompt: str
    previous: str
    judgment: ItemJudgment


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One project's pool with its judged prompts or calls; `left_out` calls of the file are none of them."""

    name: str
    folder: Path
    memories: tuple[PoolRow, ...]
    prompts: tuple[RealPrompt, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
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


def trigger_of(row: DataRow) -> Trigger:
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


def load_judgments(path: Path, *, items: set[str], memories: set[str]) -> dict[str, ItemJudgment]:
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
        item: ItemJudgment(
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
            RealPrompt(
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


def _call(row: DataRow, judgment: ItemJudgment) -> RecordedCall:
    raw = row.values.get("input")
    try:
        arguments = json.loads(raw) if isinstance(raw, str) else raw
    except json.JSONDecodeError:
        # Long inputs are cut in the data: what can still be read of a command or path is enough.
        arguments = {"command": raw} if row.text("tool") == "Bash" else {"file_path": _first_path(str(raw))}
    if not isinstance(arguments, dict):
        raise row.bad(f"field 'input' is {raw!r}.", "It must be the tool's input as a JSON object.")
    return RecordedCall(
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


STORED_MS = 1_795_000_000_000
EVERYDAY = "everyday"


SAID_AS = {"convention": "guideline", "gotcha": "error_pattern", "lesson": "error_pattern"}
"""For a kind of the everyday project that Tacit does not have: ours."""


def load_everyday(data: Path, *, kinds: bool = False) -> Project:
    """The project with its prompts; its calls come from `calls.jsonl` and `failures.jsonl`. `kinds` = each memory has the kind that was said with it."""
    folder = data / EVERYDAY
    memories = tuple(
        PoolRow(
            id=row.text("id"),
            kind=SAID_AS.get(said := row.text("said_as"), said) if kinds else UNSAID,
            content=row.text("content"),
            created_ms=STORED_MS,
            source="session:everyday",
            files=(),
            given=None,
        )
        for row in read_rows(folder / "memories.jsonl")
    )
    prompts = tuple(
        RealPrompt(
            id=row.text("id"),
            session=row.text("id"),
            turn=1,
            at_ms=STORED_MS + 86_400_000,
            text=row.text("text"),
            previous="",
            files=(),
            judgment=_needs_of(row),
        )
        for row in read_rows(folder / "prompts.jsonl")
    )
    calls = tuple(
        RecordedCall(
            id=row.text("id"),
            session=row.text("id"),
            turn=1,
            tool=row.text("tool"),
            input=row.values["input"],
            error=row.maybe("error"),
            prompt="",
            previous="",
            judgment=_needs_of(row),
        )
        for name in ("calls.jsonl", "failures.jsonl")
        for row in read_rows(folder / name)
    )
    return Project(name=EVERYDAY, folder=folder, memories=memories, prompts=prompts, calls=calls)


def everyday_of(dirs: Sequence[Path], *, exclude: Sequence[str] = ()) -> list[Project]:
    """The projects of the folders that have one."""
    return [
        load_everyday(folder) for folder in dirs if EVERYDAY not in exclude and (folder / EVERYDAY).is_dir()
    ][:1]


def _needs_of(row: DataRow) -> ItemJudgment:
    needs = row.texts("needs")
    return ItemJudgment(needed=dict.fromkeys(needs, 2), nothing=not needs)
