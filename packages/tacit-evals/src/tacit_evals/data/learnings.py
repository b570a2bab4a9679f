"""Sessions with the durable learnings that an annotator found in them. In: a folder. Out: sessions as turns, and gold items.

A session is a JSON file (`session_id, project, date, turns`: `i, role, text`); `gold.jsonl` holds one learning a line:
`session_id, turns` (evidence), `span` (verbatim), `kind, content, explicit, strength` (2 = any good engineer would want it
remembered, 1 = optional). Text is data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tacit_evals.data.rows import Row, problem, read_rows, read_text

GOLD = "gold.jsonl"
NEEDED = 2
"""The strength from which a learning counts in `recall_strength2`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """One gold item; `turns` are the places `i` of its evidence."""

    id: str
    turns: frozenset[int]
    span: str
    kind: str
    content: str
    strength: int
    explicit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a session file."""

    i: int
    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSession:
    """One session with its gold items; `path` is the file that capture reads."""

    id: str
    project: str
    path: Path
    turns: tuple[Message, ...]
    gold: tuple[Learning, ...]


def load_learnings(folder: Path) -> tuple[LabelledSession, ...]:
    """Every session of `folder`, by the name of its file.

    Raises:
        InvalidInput: naming file and line, also for an item whose session does not exist.
    """
    rows: dict[str, list[Row]] = {}
    for row in read_rows(folder / GOLD):
        rows.setdefault(row.text("session_id"), []).append(row)
    sessions = [
        _session(path, values, rows)
        for path in sorted(folder.glob("*.json"))
        if "turns" in (values := _object(path)) and "session_id" in values
    ]
    strangers = sorted(rows.keys() - {session.id for session in sessions})
    if strangers:
        raise rows[strangers[0]][0].bad(
            f"session {strangers[0]!r} does not exist.", "Its file must lie in the same folder."
        )
    return tuple(sessions)


def _object(path: Path) -> dict[str, object]:
    try:
        values = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise problem(path, error.lineno, f"no JSON ({error.msg}).", "It must be one session.") from error
    return values if isinstance(values, dict) else {}


def _session(path: Path, values: dict[str, object], rows: dict[str, list[Row]]) -> LabelledSession:
    listed = values["turns"]
    if not isinstance(listed, list) or not all(isinstance(turn, dict) for turn in listed):
        raise problem(
            path, 1, "'turns' is no list of objects.", "See the format in docs/guide/benchmarks.md."
        )
    turns = [Row(path=path, line=number, values=turn) for number, turn in enumerate(listed, start=1)]
    head = Row(path=path, line=1, values=values)
    name = head.text("session_id")
    return LabelledSession(
        id=name,
        project=head.maybe("project"),
        path=path,
        turns=tuple(
            Message(i=int(row.number("i")), role=row.text("role"), text=row.maybe("text")) for row in turns
        ),
        gold=tuple(_learning(row, f"{name}#{number}") for number, row in enumerate(rows.get(name, ()))),
    )


def _learning(row: Row, name: str) -> Learning:
    turns = row.values.get("turns")
    if not isinstance(turns, list) or not all(isinstance(turn, int) for turn in turns):
        raise row.bad(f"field 'turns' is {turns!r}.", "It must be a list of places of turns.")
    return Learning(
        id=name,
        turns=frozenset(turns),
        span=row.text("span"),
        kind=row.text("kind"),
        content=row.text("content"),
        strength=int(row.number("strength")),
        explicit=bool(row.values.get("explicit")),
    )
