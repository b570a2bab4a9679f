"""Sessions that belong to others. In: sessions, each with its parent. Out: those that go with some of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.model.session import SessionKey

AGENT_MARK = "#"
"""Stands between a session's id and the name of a subagent that its host counts to the same session."""


def with_descendants(
    keys: Iterable[SessionKey], parents: Mapping[SessionKey, SessionKey | None]
) -> tuple[SessionKey, ...]:
    """`keys`, and of the sessions in `parents` all that came of them, through however many; in this order, those by name."""
    first = tuple(dict.fromkeys(keys))
    family = set(first)
    waiting = {key for key in parents if key not in family}
    while children := {key for key in waiting if _parents(key, parents[key]) & family}:
        family |= children
        waiting -= children
    return (*first, *sorted(family.difference(first), key=str))


def _parents(key: SessionKey, reported_parent: SessionKey | None) -> set[SessionKey]:
    own, mark, _ = key.session_id.rpartition(AGENT_MARK)
    parents = {SessionKey(host=key.host, session_id=own)} if mark and own else set[SessionKey]()
    return parents | {reported_parent} if reported_parent else parents
