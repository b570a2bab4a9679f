"""The lossless export: whatever a store holds comes back as it was in another one."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.app.transfer.markdown import read_markdown, write_markdown
from tacit.app.transfer.records import MemoryHistory, is_export, read_signed_lines, versions_of, write_line
from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import EDITED
from tacit.model.memory import Entity, Memory, Provenance, Relation, Sensitivity, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, Scope, ScopeKind, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.store import MemoryFilter, Recorded, Store
from tacit.providers.clock import FakeClock

NOW = 1_760_000_000_000
WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters="\x00"),
    min_size=1,
    max_size=40,
).filter(lambda text: text.strip())
SHARES = st.floats(min_value=0.0, max_value=1.0, allow_nan=False)
TIMES = st.integers(min_value=0, max_value=NOW)
SCOPES = st.sampled_from(
    [UNIVERSAL, project_scope("shop-0123456789"), Scope(kind=ScopeKind.LANGUAGE, key="python")]
)


@st.composite
def memories(draw, name: str) -> Memory:
    start = draw(TIMES)
    ends = draw(st.none() | st.integers(min_value=start, max_value=NOW + 5))
    return Memory(
        id=name,
        kind=draw(st.sampled_from(["fact", "decision", "preference", "digest"])),
        content=draw(WORDS),
        scope=draw(SCOPES),
        provenance=Provenance(
            tier=draw(st.sampled_from(list(TrustTier))), source=draw(WORDS), host=draw(st.sampled_from(["", "codex"])),
            session_id=draw(st.sampled_from(["", "s/1"])), turn=draw(st.integers(0, 9)), span=draw(WORDS),
        ),
        validity=Validity(valid_from_ms=start, valid_to_ms=ends, superseded_by=draw(st.none() | st.just("mem_0"))),
        created_at_ms=draw(TIMES),
        updated_at_ms=draw(TIMES),
        importance=draw(SHARES),
        confidence=draw(SHARES),
        trigger=Trigger(
            actions=(("commit", draw(st.floats(0.01, 1.0))),), paths=tuple(draw(st.lists(WORDS, max_size=2))), breadth=draw(SHARES),
        ),
        status=draw(st.sampled_from(["active", "quarantined", "superseded", "retired"])),
        sensitivity=draw(st.sampled_from(list(Sensitivity))),
        entities=(Entity(kind="file", key=draw(WORDS)),),
        files=tuple(draw(st.lists(WORDS, max_size=2))),
        frequency=draw(st.integers(1, 9)),
        tokens=draw(st.integers(0, 99)),
        pinned=draw(st.booleans()),
        evidence=tuple(draw(st.lists(WORDS, max_size=2))),
    )  # fmt: skip


@st.composite
def stores(draw) -> tuple[list[Recorded], dict[str, int], list[Relation]]:
    versions: list[Recorded] = []
    uses: dict[str, int] = {}
    names = [f"mem_{number}" for number in range(draw(st.integers(1, 4)))]
    for name in names:
        times = sorted(draw(st.lists(TIMES, min_size=1, max_size=3)))
        said = [draw(memories(name)) for _ in times]
        versions += [
            Recorded(memory=memory, before=None, at_ms=at_ms, reason=EDITED)
            for memory, at_ms in zip(said, times, strict=True)
        ]
        uses[name] = draw(st.integers(0, 5))
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=4, unique=True))
    kinds = st.sampled_from(["related_to", "updates", "contradicts", "caused_by", "result_of", "part_of"])
    relations = [
        Relation(source_id=a, target_id=b, type=draw(kinds), weight=draw(SHARES)) for a, b in pairs if a != b
    ]
    return versions, uses, relations


def everything(store: Store) -> object:
    seen = store.scopes()
    found = store.list_memories(MemoryFilter(statuses=None), scope=seen, limit=99)
    ids = [memory.id for memory in found]
    return (
        sorted(found, key=lambda memory: memory.id),
        [versions_of(store, name) for name in sorted(ids)],
        store.relations(ids, scope=seen),
    )


def histories(store: Store) -> list[MemoryHistory]:
    seen = store.scopes()
    found = store.list_memories(MemoryFilter(statuses=None), scope=seen, limit=99)
    return [MemoryHistory(versions=versions_of(store, one.id), uses=one.use_count) for one in found]


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(held=stores())
def test_what_a_store_holds_comes_back_as_it_was(held):
    versions, uses, relations = held
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock(now_ms=NOW)
        first, second = SqliteStore.temporary(clock=clock), open_sqlite_store(Home(Path(folder)), clock=clock)
        first.restore(versions, uses=uses)
        first.relate(relations)
        ids = sorted({one.memory.id for one in versions})
        edges = first.relations(ids, scope=first.scopes())
        lines = [write_line(one) for one in (*histories(first), *edges)]
        read = [line for line, _ in read_signed_lines(lines, verified=lambda _: False)]
        given_back = [one for one in read if isinstance(one, MemoryHistory)]
        assert len(given_back) == len(ids)
        for one in given_back:
            second.restore(one.versions, uses={one.newest.id: one.uses})
        second.relate(one for one in read if isinstance(one, Relation))
        assert everything(second) == everything(first)
        first.close()
        second.close()


@given(given=st.lists(memories("mem_x"), max_size=4))
def test_an_unedited_markdown_says_what_was_written(given):
    named = [replace(one, id=f"mem_{number}") for number, one in enumerate(given)]
    edited = read_markdown(write_markdown(named, at_ms=NOW))
    assert not edited.refused
    assert not edited.removed
    assert {entry.memory_id for entry in edited.entries} == {one.id for one in named}
    for entry in edited.entries:
        memory = named[int(entry.memory_id.removeprefix("mem_"))]
        assert (entry.kind, entry.scope) == (memory.kind, str(memory.scope))
        assert entry.hash == memory.content_hash[:12]


def test_a_line_that_a_user_adds_without_a_dash_is_refused_with_its_number():
    edited = read_markdown("## universal\n\n### fact\n\n- One. <!-- mem_a 0123456789ab -->\n\nTwo.\n")
    assert [entry.text for entry in edited.entries] == ["One."]
    assert [entry.where for entry in edited.refused] == ["line 7"]


@given(lines=st.lists(st.binary(max_size=60), max_size=6))
def test_whatever_a_line_holds_it_is_read_or_refused(lines):
    list(read_signed_lines(lines, verified=lambda _: False))
    read_markdown(b"\n".join(lines).decode("utf-8", "replace"))
    is_export(b"".join(lines))
