"""The tables of the store in memory, and what is read from them. In: stored values. Out: the same.

Plain dictionaries of frozen values. Knows no locks and no clock: `store.py` decides who may look, and when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from tacit.backends.changes import dated_change_id, stale_version_error
from tacit.backends.codec import decode, encode
from tacit.backends.text import clean_text, clean_value
from tacit.errors import NotFound
from tacit.model.change_reason import ChangeReason
from tacit.model.changes import Removal
from tacit.model.memory import Memory, Relation
from tacit.model.scope import ScopeFilter
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import (
    Handover,
    ProjectRecord,
    Recorded,
    StoredExposure,
    TraceFilter,
    ValueChanges,
)
from tacit.safety.json_texts import cleaned_json
from tacit.session.family import with_descendants
from tacit.state.registry import may_hold_words

_T = TypeVar("_T")


@dataclass
class MemoryTables:
    """Everything stored. A write works on a copy, which replaces the whole when it has succeeded."""

    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    versions: dict[str, tuple[tuple[int, Memory], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, Memory], ...]]
    )
    reasons: dict[str, tuple[ChangeReason, ...]] = field(default_factory=dict[str, tuple[ChangeReason, ...]])
    change_ids: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
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

    def copied(self) -> MemoryTables:
        """A copy whose tables can be changed without touching this one (the values themselves are frozen)."""
        return MemoryTables(**{name: copy(table) for name, table in vars(self).items()})

    def edges(self, scope: ScopeFilter) -> list[Relation]:
        """Relations whose ends are both within `scope`, ordered by source, target, type."""
        visible = set(clean_value(scope.scopes))
        visible_ids = {name for name, memory in self.memories.items() if memory.scope in visible}
        return [
            relation for key, relation in sorted(self.relations.items()) if {key[0], key[1]} <= visible_ids
        ]

    def without_vector(self, identity: EmbedderIdentity) -> list[Memory]:
        """Active and quarantined memories without a vector of `identity`, in the order they were stored."""
        live = (memory for memory in self.memories.values() if memory.status in {"active", "quarantined"})
        return [memory for memory in live if self.vectors.get(memory.id, (None,))[0] != identity]

    def known(self, as_of_ms: int | None) -> list[Memory]:
        """All memories as they are now, or as they were known at `as_of_ms` and held then."""
        if as_of_ms is None:
            return list(self.memories.values())
        versions_then: list[Memory] = []
        for versions in self.versions.values():
            recorded = [memory for recorded_ms, memory in versions if recorded_ms <= as_of_ms]
            if recorded and recorded[-1].validity.holds_at(as_of_ms):
                versions_then.append(recorded[-1])
        return versions_then

    def recorded(self) -> list[Recorded]:
        """Every version written, newest first, then the memory stored last."""
        places = {name: place for place, name in enumerate(self.memories)}
        versions = [
            (
                at_ms,
                places[name],
                number,
                Recorded(memory=memory, before=before, at_ms=at_ms, reason=reason, change_id=change_id),
            )
            for name, versions in self.versions.items()
            for number, ((at_ms, memory), before, reason, change_id) in enumerate(
                zip(
                    versions,
                    (None, *(old for _, old in versions)),
                    self.reasons[name],
                    self.change_ids[name],
                    strict=False,
                )
            )
        ]
        return [entry[3] for entry in sorted(versions, key=lambda entry: entry[:3], reverse=True)]

    def newest_change(self, memory_id: str) -> str:
        """The id of the change that wrote the newest version; "" where there is no such memory."""
        return self.change_ids.get(clean_text(memory_id), ("",))[-1]

    def newest_traces(self) -> list[Trace]:
        """All traces, newest first; equal times by id."""
        return sorted(self.traces.values(), key=lambda trace: (trace.at_ms, trace.id), reverse=True)

    def put_vectors(self, ids: Sequence[str], vectors: Vectors, identity: EmbedderIdentity) -> None:
        """Keep the vectors.

        Raises:
            NotFound: an id names no memory.
        """
        for name, vector in zip(ids, vectors, strict=True):
            if clean_text(name) not in self.memories:
                raise NotFound(f"No memory {name!r} to store a vector for; nothing was changed.")
            self.vectors[clean_text(name)] = (identity, np.array(vector, dtype=np.float32))

    def count_usage(self, shown: Sequence[str], used: Sequence[str]) -> None:
        """Count a session for each of `shown`, and a use for each of `used`."""
        for name in dict.fromkeys(clean_text(name) for name in shown):
            memory = self.memories.get(name)
            if memory is not None:
                self.memories[name] = replace(memory, shown_count=memory.shown_count + 1)
        for name in dict.fromkeys(clean_text(name) for name in used):
            memory = self.memories.get(name)
            if memory is not None:
                self.memories[name] = replace(memory, use_count=memory.use_count + 1)

    def restore(self, versions: Sequence[Recorded], uses: Mapping[str, int]) -> None:
        """Append the versions as they were written.

        Raises:
            InvalidInput: one is older than what is stored of its memory.
        """
        for version in clean_value(tuple(versions)):
            name, earlier = version.memory.id, self.versions.get(version.memory.id, ())
            if earlier and earlier[-1][0] > version.at_ms:
                raise stale_version_error(name)
            before = self.memories.get(name)
            if before is None or before.content_hash != version.memory.content_hash:
                self.vectors.pop(name, None)
            self.memories[name] = version.memory
            self.versions[name] = (*earlier, (version.at_ms, version.memory))
            self.reasons[name] = (*self.reasons.get(name, ()), version.reason)
            change_id = version.change_id or dated_change_id(version.at_ms)
            self.change_ids[name] = (*self.change_ids.get(name, ()), change_id)
        for name, count in uses.items():
            memory = self.memories.get(clean_text(name))
            if memory is not None:
                self.memories[memory.id] = replace(memory, use_count=count)

    def relate(self, relations: Iterable[Relation]) -> None:
        """Keep each relation.

        Raises:
            NotFound: a relation names a memory that does not exist.
        """
        for relation in clean_value(tuple(relations)):
            for end in (relation.source_id, relation.target_id):
                if end not in self.memories:
                    raise NotFound(f"No memory {end!r} to relate; nothing was changed.")
            self.relations[(relation.source_id, relation.target_id, relation.type)] = relation

    def put_values(self, values: ValueChanges) -> None:
        """Keep each value under its name; None forgets it."""
        for name, value in values.items():
            if value is None:
                self.values.pop(clean_text(name), None)
            else:
                self.values[clean_text(name)] = clean_text(value)


def fits(trace: Trace, where: TraceFilter) -> bool:
    """Whether `trace` is what `where` asks for."""
    return (
        (where.sessions is None or trace.session in {clean_text(session) for session in where.sessions})
        and where.surface in (None, trace.surface)
        and (where.injected is None or bool(trace.injected) == where.injected)
        and (where.text is None or clean_text(where.text).casefold() in trace.text.casefold())
        and (where.memory_id is None or clean_text(where.memory_id) in trace.candidate_ids)
        and (where.since_ms is None or trace.at_ms >= where.since_ms)
        and (where.until_ms is None or trace.at_ms < where.until_ms)
        and (where.after is None or (trace.at_ms, trace.id) < (where.after[0], clean_text(where.after[1])))
    )


def shown(
    exposures: Iterable[tuple[SessionKey, Exposure]], *, session: SessionKey | None, memory_id: str | None
) -> list[StoredExposure]:
    """The exposures of a session, of a memory, or all, newest first."""
    stored = [
        StoredExposure(session=key, exposure=exposure)
        for key, exposure in exposures
        if session in (None, key) and memory_id in (None, exposure.memory_id)
    ]

    def order(entry: StoredExposure) -> tuple[object, ...]:
        key, at = entry.session, entry.exposure
        place = (key.host, key.session_id, at.memory_id, at.surface.value, at.content_hash)
        return (-at.at_ms, *place, at.epoch, at.turn, at.tokens)

    return sorted(stored, key=order)


def _removed(tables: MemoryTables, gone: Removal, counts: Counter[str]) -> None:
    """Remove what `gone` names, counted as the tables of a real store are."""
    ids = set(gone.memories)
    of_projects = [key for key, state in tables.sessions.items() if state.project_id in gone.projects]
    parents = {key: state.parent for key, state in tables.sessions.items()}
    keys = set(with_descendants((*gone.sessions, *of_projects), parents))
    session_names = set(map(str, parents))

    def asked_there(trace: Trace) -> bool:
        if not gone.projects or trace.project_id:
            return trace.project_id in gone.projects
        looked_at = {candidate.memory_id for candidate in trace.candidates}
        return trace.session not in session_names and bool(looked_at) and looked_at <= ids

    over: dict[str, tuple[dict[Any, Any], Callable[[Any, Any], bool]]] = {
        "sessions": (tables.sessions, lambda key, _: key in keys),
        "exposures": (tables.exposures, lambda pair, _: pair[0] in keys or pair[1].memory_id in ids),
        "traces": (
            tables.traces,
            lambda _, trace: trace.session in set(map(str, keys)) or asked_there(trace),
        ),
        "handovers": (tables.handovers, lambda _, handover: handover.session in keys),
        "memories": (tables.memories, lambda name, _: name in ids),
        "relations": (tables.relations, lambda edge, _: bool({edge[0], edge[1]} & ids)),
        "projects": (tables.projects, lambda name, _: name in gone.projects),
        "named_values": (tables.values, lambda name, _: name in gone.values),
    }
    for name in ids & tables.versions.keys():
        counts["versions"] += len(tables.versions.pop(name))
        tables.reasons.pop(name, None)
        tables.change_ids.pop(name, None)
        tables.vectors.pop(name, None)
    for table, (rows, goes) in over.items():
        out = [key for key, value in rows.items() if goes(key, value)]
        counts[table] += len(out)
        for key in out:
            del rows[key]
    for key, state in list(tables.sessions.items()):
        ledger = tuple(entry for entry in state.ledger if entry.memory_id not in ids)
        counts["sessions"] += ledger != state.ledger
        tables.sessions[key] = replace(state, ledger=ledger)


def rewritten(
    tables: MemoryTables, clean: Callable[[str, str], str], gone: Removal | None = None
) -> dict[str, int]:
    """Remove `gone`, clean every text of `tables`; return how many values changed, by the name of a stored table."""
    counts: Counter[str] = Counter()
    if gone is not None:
        _removed(tables, gone, counts)
    quoting = {n for n, memory in tables.memories.items() if gone is None or memory.kind in gone.notes}

    def changed(value: _T, scope: str, table: str) -> _T:
        before = encode(value)
        after = cleaned_json(before, lambda text: clean(text, scope))
        counts[table] += after != before
        return value if after == before else decode(type(value), after)

    for name, memory in [(name, tables.memories[name]) for name in tables.memories if name in quoting]:
        again = changed(memory, str(memory.scope), "memories")
        tables.memories[name] = again
        if again.content != memory.content:
            tables.vectors.pop(name, None)
    for name, versions in [(name, tables.versions[name]) for name in tables.versions if name in quoting]:
        tables.versions[name] = tuple(
            (at_ms, changed(memory, str(memory.scope), "versions")) for at_ms, memory in versions
        )
    for name, reasons in list(tables.reasons.items()):
        scope = str(tables.memories[name].scope)
        tables.reasons[name] = tuple(
            reason.cleaned(lambda text, scope=scope: clean(text, scope)) for reason in reasons
        )
    for key, state in list(tables.sessions.items()):
        scope = f"project:{state.project_id}" if state.project_id else ""
        tables.sessions[key] = changed(state, scope, "sessions")
    for name, trace in list(tables.traces.items()):
        tables.traces[name] = changed(trace, "", "traces")
    for name, handover in list(tables.handovers.items()):
        payload = cleaned_json(handover.payload, lambda text: clean(text, ""))
        again = replace(handover, payload=payload, error=clean(handover.error, ""))
        counts["handovers"] += again != handover
        tables.handovers[name] = again
    for name, value in list(tables.values.items()):
        after = cleaned_json(value, lambda text: clean(text, "")) if may_hold_words(name) else value
        counts["named_values"] += after != value
        tables.values[name] = after
    return {table: count for table, count in sorted(counts.items()) if count}
