"""The tables of the store in memory, and what is read from them. In: stored values. Out: the same.

Plain dictionaries of frozen values. Knows no locks and no clock: `fake.py` decides who may look, and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field

from tacit.backends.text import clean_text
from tacit.model.memory import Memory, Relation
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord


@dataclass
class FakeTables:
    """Everything stored. A write works on a copy, which replaces the whole when it has succeeded."""

    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    versions: dict[str, tuple[tuple[int, Memory], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, Memory], ...]]
    )
    vectors: dict[str, tuple[EmbedderIdentity, Vectors]] = field(
        default_factory=dict[str, tuple[EmbedderIdentity, Vectors]]
    )
    relations: dict[tuple[str, str, str], Relation] = field(
        default_factory=dict[tuple[str, str, str], Relation]
    )
    sessions: dict[SessionKey, SessionState] = field(default_factory=dict[SessionKey, SessionState])
    exposures: dict[tuple[SessionKey, Exposure], None] = field(
        default_factory=dict[tuple[SessionKey, Exposure], None]
    )
    traces: dict[str, Trace] = field(default_factory=dict[str, Trace])
    handovers: dict[str, Handover] = field(default_factory=dict[str, Handover])
    done: frozenset[str] = frozenset()
    projects: dict[str, ProjectRecord] = field(default_factory=dict[str, ProjectRecord])
    values: dict[str, str] = field(default_factory=dict[str, str])

    def copied(self) -> FakeTables:
        """A copy whose tables can be changed without touching this one (the values themselves are frozen)."""
        return FakeTables(**{name: copy(table) for name, table in vars(self).items()})

    def known(self, as_of_ms: int | None) -> list[Memory]:
        """All memories as they are now, or as they were known at `as_of_ms` and held then."""
        if as_of_ms is None:
            return list(self.memories.values())
        known: list[Memory] = []
        for versions in self.versions.values():
            then = [memory for recorded_ms, memory in versions if recorded_ms <= as_of_ms]
            if then and then[-1].validity.holds_at(as_of_ms):
                known.append(then[-1])
        return known

    def newest_traces(self) -> list[Trace]:
        """All traces, newest first; equal times by id."""
        return sorted(self.traces.values(), key=lambda trace: (trace.at_ms, trace.id), reverse=True)

    def put_values(self, values: Mapping[str, str | None]) -> None:
        """Keep each value under its name; None forgets it."""
        for name, value in values.items():
            if value is None:
                self.values.pop(clean_text(name), None)
            else:
                self.values[clean_text(name)] = clean_text(value)


def passes(memory: Memory, where: MemoryFilter) -> bool:
    """Whether `memory` is what `where` asks for, its scope aside."""
    return (
        (where.kinds is None or memory.kind in where.kinds)
        and (where.statuses is None or memory.status in where.statuses)
        and (where.source is None or memory.provenance.source == clean_text(where.source))
        and (where.text is None or clean_text(where.text).casefold() in memory.content.casefold())
    )
