"""Statements that meet what is stored. In: a folder of judged cases. Out: rows, each with what became of every stored one.

Text of a row is data. `created` null = nobody knows when it was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tacit.errors import InvalidInput
from tacit.model.memory import TrustTier
from tacit_evals.data.rows import Row, read_rows

Fate = Literal["supersede", "merge", "keep", "contradict"]
FATES: tuple[Fate, ...] = get_args(Fate)
CONSTRUCTED = "constructed"
_ORIGIN = re.compile(r"real hunk (?P<hunk>.+?)__|pool (?P<pool>[\w-]+)")
_SPEAKERS = {
    "user": TrustTier.USER,
    "assistant": TrustTier.ASSISTANT,
    "tool": TrustTier.TOOL,
    "import": TrustTier.IMPORT,
    "web": TrustTier.IMPORT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement. `created_ms` None = undated."""

    id: str
    kind: str
    content: str
    created_ms: int | None
    tier: TrustTier


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateCase:
    """One new statement beside stored ones.

    Attributes:
        id: of the case.
        existing: what is stored.
        new: the new statement.
        fates: what becomes of each stored one, by its id.
        why: the annotator's reason.
        project: whose statements they are; `CONSTRUCTED` for those that were made up.
    """

    id: str
    existing: tuple[Statement, ...]
    new: Statement
    fates: dict[str, Fate]
    why: str
    project: str = CONSTRUCTED


def load_updates(folder: Path) -> tuple[UpdateCase, ...]:
    """All cases of `folder`, in the order of its files.

    Raises:
        InvalidInput: naming the file, the line and the field of what cannot be read.
    """
    files = [path for path in sorted(folder.glob("*.jsonl")) if is_update_file(path)]
    cases = tuple(_case(row) for path in files for row in read_rows(path))
    if not cases:
        raise InvalidInput(f"{folder} holds no cases.", hint="See the format in docs/guide/benchmarks.md.")
    return cases


def is_update_file(path: Path) -> bool:
    """Whether the first line of `path` is a case."""
    try:
        with path.open(encoding="utf-8") as lines:
            head = lines.readline()
    except (OSError, UnicodeDecodeError):
        return False
    return all(mark in head for mark in ('"existing"', '"new"', '"outcome"'))


def _case(row: Row) -> UpdateCase:
    existing = row.values.get("existing")
    if not isinstance(existing, list):
        raise row.bad("`existing` is no list.")
    new, fates = _object(row, row.values.get("new")), _object(row, row.values.get("outcome"))
    stored = tuple(_said(row, _object(row, statement)) for statement in cast("list[object]", existing))
    for statement in stored:
        if fates.get(statement.id) not in FATES:
            raise row.bad(
                f"`outcome` says {fates.get(statement.id)!r} of {statement.id}.",
                f"Known: {', '.join(FATES)}.",
            )
    return UpdateCase(
        id=row.text("id"),
        existing=stored,
        new=_said(row, {"id": "new", **new}),
        fates={statement.id: cast(Fate, fates[statement.id]) for statement in stored},
        why=row.maybe("why"),
        project=_project(row.maybe("origin")),
    )


def _project(origin: str) -> str:
    found = None if origin.startswith(CONSTRUCTED) else _ORIGIN.match(origin)
    return (found["hunk"] or found["pool"]) if found else CONSTRUCTED


def _object(row: Row, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise row.bad("`new`, `outcome` and every one of `existing` must be objects.")
    return cast("dict[str, Any]", value)


def _said(row: Row, values: dict[str, Any]) -> Statement:
    fields = Row(path=row.path, line=row.line, values=values)
    speaker = fields.maybe("speaker") or "user"
    if speaker not in _SPEAKERS:
        raise row.bad(f"there is no speaker {speaker!r}.", f"Known: {', '.join(_SPEAKERS)}.")
    return Statement(
        id=fields.text("id"),
        kind=fields.text("kind"),
        content=fields.text("content"),
        created_ms=fields.day_ms("created") if fields.maybe("created") else None,
        tier=_SPEAKERS[speaker],
    )
