"""The one function that keeps the evaluated project out of what is fitted. In: rows. Out: the rows that may be used.

A project has several names in the data (`ALIASES`), and so has a session (`session_key`); a row is dropped when any of
its fields names one of them. Whoever fits reads rows through `usable` and no other way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tacit_evals.data.rows import Row

ALIASES: dict[str, frozenset[str]] = {
    "getspecstory": frozenset({"specstoryai+getspecstory", "specstoryai/getspecstory"}),
    "minsky": frozenset({"edobry+minsky", "edobry/minsky"}),
    "league-analyzer": frozenset(
        {"AmbidextrousCoatie/league_analyzer", "AmbidextrousCoatie+league_analyzer"}
    ),
}
"""Names of a project in `repo` and `project` besides its folder's own (the data's paragraph on leaks)."""
PROJECT_FIELDS = ("project", "repo")
SESSION_FIELDS = ("session", "session_id")


def same_project(name: str, other: str) -> bool:
    """Whether two names mean one project: equal but for case, `_` and `-`, an owner before `+` or `/`, or by `ALIASES`."""
    names, others = _names(name), _names(other)
    return bool(names & others)


def _names(name: str) -> set[str]:
    known = {name}
    for folder, aliases in ALIASES.items():
        if _plain(name) == _plain(folder) or any(_plain(name) == _plain(alias) for alias in aliases):
            known |= {folder, *aliases}
    return {_plain(one) for one in known} | {_plain(re.split(r"[+/]", one)[-1]) for one in known}


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


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
    known = {session_key(session) for session in sessions}
    names = (row.values.get(field) for field in SESSION_FIELDS)
    if known and any(isinstance(name, str) and name and session_key(name) in known for name in names):
        return True
    # A file of one project (`inject/<project>/...`, `situation/<project>/...`) names it by its folder.
    return any(same_project(row.path.parent.name, project) for project in projects)


def usable(
    rows: Iterable[Row], *, exclude_projects: Collection[str], exclude_sessions: Collection[str] = ()
) -> list[Row]:
    """Rows that may be fitted on when `exclude_projects` (and their sessions) are evaluated."""
    return [row for row in rows if not excluded(row, projects=exclude_projects, sessions=exclude_sessions)]
