"""The one function that keeps the evaluated project out of what is fitted. In: rows. Out: the rows that may be used.

A project has several names in the data (`same_project`), and so has a session (`session_key`); a row is dropped when any of
its fields names one of them. Whoever fits reads rows through `usable` and no other way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tacit_evals.data.rows import Row

SPELLINGS: dict[str, str] = {
    "polychrome.p5": "polychrome",
    "polychrome-p5": "polychrome",
    "houdoku-2": "houdoku",
}
"""Names of a project besides its folder's own, in lower case, without the owner."""
PROJECT_FIELDS = ("project", "repo")
SESSION_FIELDS = ("session", "session_id")


def same_project(name: str, other: str) -> bool:
    """Whether two names mean one project.

    Case, `_` for `-`, an owner before `+` or `/`, and the number that a folder of `need` begins with (`b07-`) do not matter; what
    else a project is called stands in `SPELLINGS`.
    """
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    plain = re.split(r"[+/]", name.strip().lower().replace("_", "-"))[-1]
    plain = re.sub(r"^b\d\d-", "", plain)
    return SPELLINGS.get(plain, plain)


def session_key(name: str) -> str:
    """The same for every spelling of a session: with or without `.md`, the zone of its time, and the part of a long session."""
    plain = name.strip().lower().removesuffix(".md")
    return re.sub(r"(?<=\d)z-", "-", re.sub(r"_\d{3}-\d{3}$", "", plain))


def excluded(row: Row, *, projects: Collection[str], sessions: Collection[str] = ()) -> bool:
    """Whether `row` belongs to one of `projects`, or to one of `sessions`."""
    for field in PROJECT_FIELDS:
        name = row.values.get(field)
        if isinstance(name, str) and any(same_project(name, project) for project in projects):
            return True
    keys = {session_key(session) for session in sessions}
    names = (row.values.get(field) for field in SESSION_FIELDS)
    if keys and any(isinstance(name, str) and name and session_key(name) in keys for name in names):
        return True
    # A file of one project (`inject/<project>/...`, `situation/<project>/...`) names it by its folder.
    return any(same_project(row.path.parent.name, project) for project in projects)


def usable(
    rows: Iterable[Row], *, exclude_projects: Collection[str], exclude_sessions: Collection[str] = ()
) -> list[Row]:
    """Rows that may be fitted on when `exclude_projects` (and their sessions) are evaluated."""
    return [row for row in rows if not excluded(row, projects=exclude_projects, sessions=exclude_sessions)]
