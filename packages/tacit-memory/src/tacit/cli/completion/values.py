"""The values that an option or argument takes. In: what is wanted, what was typed before. Out: values, each with a few words on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tacit.errors import TacitError

Offer = tuple[str, str]
"""A value, and a few words on it."""
MOST_OFFERED = 200
FAILURES = (TacitError, OSError, ValueError, LookupError, TypeError, AttributeError)
"""What may go wrong while a shell waits: no daemon, one of another version, a line that is no command."""


def offers_of(
    wanted: str,
    given: Sequence[str],
    incomplete: str,
    table: Mapping[str, Any],
    ask: Callable[[str], Any],
) -> Sequence[Offer]:
    """Values of the sort `wanted` ("" = none is known): of the table where it has them, else of the daemon.

    Args:
        wanted: a key of the table's `values`, or one of the sorts below.
        given: arguments before it.
        incomplete: what is typed of it.
        table: of all words.
        ask: asks the daemon.
    """
    if wanted in table["values"]:
        return [tuple(pair) for pair in table["values"][wanted]]
    if wanted == "setting":
        return [(key, about["help"]) for key, about in table["settings"].items()]
    if wanted == "setting_value":
        about: Mapping[str, Any] = table["settings"].get(given[0], {}) if given else {}
        return [(choice, "") for choice in about.get("choices", ())]
    make = _BY_DAEMON.get(wanted)
    return make(incomplete, table, ask) if make is not None else []


def _memories(incomplete: str, _table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    """The newest that are visible from this folder, those that wait for review among them; else the one that is named so."""
    where = {"cwd": str(Path.cwd()), "limit": MOST_OFFERED, "status": ("quarantined", "active")}
    listed = ask(f"/v1/memories?{urlencode(where, doseq=True)}")["memories"]
    offers = [(memory["id"], memory["content"]) for memory in listed]
    named = any(name.startswith(incomplete) or name.endswith(incomplete) for name, _ in offers)
    if named or not incomplete or not incomplete.replace("_", "").isalnum():
        return offers
    memory = ask(f"/v1/memories/{incomplete}")["memory"]
    return [(memory["id"], memory["content"])]


def _waiting(_incomplete: str, _table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    """What waits for review here."""
    where = urlencode({"cwd": str(Path.cwd()), "limit": MOST_OFFERED})
    entries = ask(f"/v1/review?{where}")["review"]
    return [(entry["memory"]["id"], entry["memory"]["content"]) for entry in entries]


def _agents(_incomplete: str, _table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    return [(agent["name"], "") for agent in ask("/v1/agents")["agents"]]


def _kinds(_incomplete: str, table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    """All kinds, the user's own among them; without a daemon those that are built in."""
    try:
        return [(kind["name"], kind["label"]) for kind in ask("/v1/kinds")["kinds"]]
    except FAILURES:
        return [tuple(pair) for pair in table["values"]["builtin_kind"]]


def _scopes(_incomplete: str, table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    """Universal, languages, and the projects that are known."""
    fixed = [tuple(pair) for pair in table["values"]["fixed_scope"]]
    try:
        projects = [(one["scope"], one["project"]["root"]) for one in ask("/v1/projects")["projects"]]
    except FAILURES:
        projects = []
    return [*projects, *fixed]


def _sessions(_incomplete: str, _table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    return [(one["key"], one["cwd"]) for one in ask("/v1/sessions?limit=50")["sessions"]]


def _traces(_incomplete: str, _table: Mapping[str, Any], ask: Callable[[str], Any]) -> list[Offer]:
    return [(one["id"], f"{one['surface']} {one['text']}") for one in ask("/v1/timeline?limit=50")["recalls"]]


_BY_DAEMON: Mapping[str, Callable[[str, Mapping[str, Any], Callable[[str], Any]], list[Offer]]] = {
    "memory": _memories,
    "waiting": _waiting,
    "agent": _agents,
    "kind": _kinds,
    "scope": _scopes,
    "session": _sessions,
    "trace": _traces,
}
SORTS = frozenset({*_BY_DAEMON, "setting", "setting_value"})
"""What may be wanted besides the values of the table."""
