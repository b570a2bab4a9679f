"""Rows of the SQL stores as values. In: rows, as every SQL store selects them. Out: values of the port. Reads no database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tacit.backends.codec import decode, decode_reason
from tacit.errors import StoreCorrupt
from tacit.model.changes import Removal
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.scope import Scope, ScopeKind
from tacit.model.session import Exposure, SessionKey
from tacit.ports.store import Handover, Recorded, StoredExposure
from tacit.session.family import with_descendants

Row = Sequence[Any]


def recorded_of(row: Row) -> Recorded:
    """A version from (recorded_at_ms, reason, body, change_id, body of the version before or None)."""
    return Recorded(
        memory=decode(Memory, row[2]),
        before=None if row[4] is None else decode(Memory, row[4]),
        at_ms=row[0],
        reason=decode_reason(row[1]),
        change_id=row[3],
    )


def exposure_of(row: Row) -> StoredExposure:
    """An exposure from (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)."""
    return StoredExposure(
        session=SessionKey(host=row[0], session_id=row[1]),
        exposure=Exposure(
            memory_id=row[2],
            content_hash=row[3],
            epoch=row[4],
            turn=row[5],
            surface=Surface(row[6]),
            tokens=row[7],
            at_ms=row[8],
        ),
    )


def handover_of(row: Row) -> Handover:
    """A handover from (key, host, session_id, payload, at_ms, attempts, error)."""
    return Handover(
        key=row[0],
        session=SessionKey(host=row[1], session_id=row[2]),
        payload=row[3],
        at_ms=row[4],
        attempts=row[5],
        error=row[6],
    )


def scope_named(name: str) -> Scope:
    """The scope that is stored under `name`. Unlike `Scope.parse` it keeps spaces: what is stored comes back as it was.

    Raises:
        StoreCorrupt: the name begins with no known kind.
    """
    kind, _, key = name.partition(":")
    try:
        return Scope(kind=ScopeKind(kind), key=key)
    except ValueError:
        raise StoreCorrupt(f"The store holds a scope {name!r} of no known kind.") from None


def removed_sessions(rows: Iterable[Row], gone: Removal) -> tuple[SessionKey, ...]:
    """The sessions that `gone` removes: those it names, those of its projects, and all that descend from them.

    Args:
        rows: (host, session_id, project_id, parent's host, parent's session_id) of every session.
        gone: what is removed.
    """
    parents: dict[SessionKey, SessionKey | None] = {}
    of_projects: list[SessionKey] = []
    for host, name, project, parent_host, parent_name in rows:
        key = SessionKey(host=host, session_id=name)
        parents[key] = SessionKey(host=parent_host, session_id=parent_name) if parent_name else None
        if project in gone.projects:
            of_projects.append(key)
    return with_descendants((*gone.sessions, *of_projects), parents)
