"""What every store must do."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import samples
from contracts.stores import ALPHA, BETA, EMBEDDER, NOW, add, make_store, memory, unit
from tacit.errors import InvalidInput, NotFound, StoreError
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import EDITED, NEW, Add, Contradict, Merge, Removal, Retire, Rewrite, Skip, Supersede
from tacit.model.memory import Entity, Memory, Provenance, Relation, Sensitivity, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.session import Exposure, PendingFailure, RenderedBlock, SessionKey, SessionState
from tacit.model.trace import Drop, DropCause, DropReason, StageRecord, Trace, TracedCandidate
from tacit.model.trigger import Situation, Trigger
from tacit.ports.models import EmbedderIdentity
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord, Recorded, Store
from tacit.providers.clock import FakeClock

WORDS = ChangeReason(cause=ChangeCause.GIVES_OTHER_VALUE, detail="8080 -> 9090")
SEES_ALPHA = ScopeFilter.of(ALPHA)
SEES_BOTH = ScopeFilter.of(ALPHA, BETA, UNIVERSAL)
NOTHING = ScopeFilter()
OTHER_EMBEDDER = EmbedderIdentity(name="test@2", dimensions=4)
KEY = SessionKey(host="claude-code", session_id="s/1")


def rich_memory() -> Memory:
    return Memory(
        id="mem_rich",
        kind="preference",
        content="Use `make lint`\n\u2014 never \U0001f40d <tag> \"quotes\" 'single' \\ back",
        scope=Scope(kind=ScopeKind.PATH, key="alpha/src/ünï"),
        provenance=Provenance(
            tier=TrustTier.TOOL, source="CLAUDE.md", host="opencode", session_id="x", turn=3, span="said"
        ),
        validity=Validity(valid_from_ms=5, valid_to_ms=NOW + 10, superseded_by="mem_z"),
        created_at_ms=7,
        updated_at_ms=9,
        importance=0.123456789,
        confidence=0.5,
        trigger=Trigger(
            always=True,
            actions=(("commit", 1.0), ("run_tests", 0.33)),
            objects=("lint",),
            paths=("src/**/*.py",),
            languages=("python",),
            commands=("git commit",),
            tools=("bash",),
            topics=("style",),
            breadth=2.5,
            maker="agent",
        ),
        status="quarantined",
        sensitivity=Sensitivity.RESTRICTED,
        entities=(Entity(kind="file", key="src/a.py"), Entity(kind="symbol", key="getUser")),
        files=("src/a.py",),
        error_signature="E: <n>",
        frequency=4,
        use_count=2,
        tokens=17,
        pinned=True,
        evidence=("one", "two"),
    )


def listed(store: Store, scope: ScopeFilter = SEES_BOTH, **where: object) -> list[str]:
    found = store.list_memories(MemoryFilter(**where), scope=scope, limit=100)  # type: ignore[arg-type]
    return [one.id for one in found]


class TestMemories:
    def test_a_memory_comes_back_as_it_was_given(self, store: Store) -> None:
        given_memory = rich_memory()
        add(store, given_memory)
        assert store.get(["mem_rich"], scope=ScopeFilter.of(given_memory.scope)) == (given_memory,)

    def test_get_keeps_the_order_asked_for_and_leaves_out_what_is_unknown_or_invisible(
        self, store: Store
    ) -> None:
        add(store, memory("mem_a"), memory("mem_b"), memory("mem_x", scope=BETA))
        found = store.get(["mem_b", "mem_none", "mem_x", "mem_a"], scope=SEES_ALPHA)
        assert [one.id for one in found] == ["mem_b", "mem_a"]
        assert store.get(["mem_a"], scope=NOTHING) == ()
        assert store.get([], scope=SEES_ALPHA) == ()

    def test_adding_a_known_id_is_refused_and_changes_nothing(self, store: Store) -> None:
        add(store, memory("mem_a", "first"))
        with pytest.raises(InvalidInput, match="mem_a"):
            add(store, memory("mem_b"), memory("mem_a", "second"))
        assert listed(store) == ["mem_a"]
        assert store.get(["mem_a"], scope=SEES_ALPHA)[0].content == "first"

    @pytest.mark.parametrize(
        "change",
        [
            Merge(memory=memory("mem_none")),
            Rewrite(memory=memory("mem_none")),
            Supersede(memory=memory("mem_new"), old_id="mem_none", at_ms=NOW),
            Contradict(memory=memory("mem_new"), other_id="mem_none"),
            Retire(memory_id="mem_none", at_ms=NOW),
        ],
        ids=lambda change: type(change).__name__,
    )
    def test_a_change_of_an_unknown_memory_changes_nothing(self, store: Store, change: object) -> None:
        with pytest.raises(NotFound, match="mem_none"):
            store.apply([Add(memory=memory("mem_a")), change], values={"mark": "1"})  # type: ignore[list-item]
        assert listed(store, statuses=None) == []
        assert store.history("mem_a", scope=SEES_ALPHA) == ()
        assert store.get_value("mark") is None
        assert store.stats().memories_total == 0

    def test_supersede_ends_the_old_memory_and_relates_the_new_one(
        self, store: Store, clock: FakeClock
    ) -> None:
        add(store, memory("mem_old", "use tabs"))
        clock.advance(1000)
        store.apply([Supersede(memory=memory("mem_new", "use spaces"), old_id="mem_old", at_ms=NOW + 500)])
        old = store.get(["mem_old"], scope=SEES_ALPHA)[0]
        assert (old.status, old.validity.valid_to_ms, old.validity.superseded_by) == (
            "superseded",
            NOW + 500,
            "mem_new",
        )
        assert old.updated_at_ms == NOW + 1000
        assert listed(store) == ["mem_new"]
        assert store.relations(["mem_old"], scope=SEES_ALPHA) == (
            Relation(source_id="mem_new", target_id="mem_old", type="updates"),
        )

    def test_retire_keeps_the_memory_but_not_among_the_active(self, store: Store) -> None:
        store.apply([Add(memory=memory("mem_a")), Retire(memory_id="mem_a", at_ms=NOW)])
        assert listed(store) == []
        assert listed(store, statuses=("retired",)) == ["mem_a"]
        assert store.get(["mem_a"], scope=SEES_ALPHA)[0].validity.valid_to_ms == NOW

    def test_contradict_stores_the_memory_and_marks_the_pair(self, store: Store) -> None:
        store.apply([Add(memory=memory("mem_a")), Contradict(memory=memory("mem_b"), other_id="mem_a")])
        assert sorted(listed(store)) == ["mem_a", "mem_b"]
        assert [r.type for r in store.relations(["mem_a"], scope=SEES_ALPHA)] == ["contradicts"]

    def test_skip_changes_nothing(self, store: Store) -> None:
        store.apply([Skip(content="hello", reason=WORDS)])
        assert listed(store, statuses=None) == []

    def test_every_change_appends_to_the_history(self, store: Store) -> None:
        add(store, memory("mem_a", "one"))
        store.apply([Merge(memory=memory("mem_a", "one", frequency=2))])
        store.apply([Rewrite(memory=memory("mem_a", "two"))])
        store.apply([Retire(memory_id="mem_a", at_ms=NOW)])
        versions = store.history("mem_a", scope=SEES_ALPHA)
        assert [(v.content, v.frequency, v.status) for v in versions] == [
            ("one", 1, "active"),
            ("one", 2, "active"),
            ("two", 1, "active"),
            ("two", 1, "retired"),
        ]
        assert store.history("mem_a", scope=NOTHING) == ()
        assert store.history("mem_none", scope=SEES_ALPHA) == ()

    def test_uses_are_counted_and_survive_an_edit_made_from_an_older_copy(self, store: Store) -> None:
        copy = memory("mem_a")
        add(store, copy)
        store.count_usage(used=["mem_a", "mem_a", "mem_none"])
        store.count_usage(used=["mem_a"])
        store.count_usage(shown=["mem_a", "mem_none"])
        counted = store.get(["mem_a"], scope=SEES_ALPHA)[0]
        assert (counted.use_count, counted.shown_count) == (2, 1)
        assert store.list_memories(MemoryFilter(), scope=SEES_ALPHA, limit=9) == (counted,)
        store.apply([Rewrite(memory=replace(copy, content="changed"))])
        edited = store.get(["mem_a"], scope=SEES_ALPHA)[0]
        assert (edited.content, edited.use_count, edited.shown_count) == ("changed", 2, 1)
        assert len(store.history("mem_a", scope=SEES_ALPHA)) == 2

    def test_values_move_with_the_changes(self, store: Store) -> None:
        store.put_value("old", "x")
        store.apply([Add(memory=memory("mem_a"))], values={"mark": "7", "old": None})
        assert (store.get_value("mark"), store.get_value("old")) == ("7", None)
        store.apply([], values={"mark": "8"})
        assert store.get_value("mark") == "8"

    def test_values_are_found_by_how_their_names_begin(self, store: Store) -> None:
        for name in ("waits/b", "waits/a", "waits_a", "wait", "Waits/c"):
            store.put_value(name, "1")
        store.put_value("waits/a", None)
        assert store.value_names("waits/") == ("waits/b",)
        assert store.value_names("none") == ()


class TestListing:
    def test_newest_first_then_by_id_with_limit_and_offset(self, store: Store) -> None:
        times = {"mem_c": NOW, "mem_a": NOW, "mem_b": NOW + 5, "mem_d": NOW - 5}
        store.apply([Add(memory=memory(name, created_at_ms=at)) for name, at in times.items()])
        assert listed(store) == ["mem_b", "mem_a", "mem_c", "mem_d"]
        page = store.list_memories(MemoryFilter(), scope=SEES_BOTH, limit=2, offset=1)
        assert [one.id for one in page] == ["mem_a", "mem_c"]
        assert store.list_memories(MemoryFilter(), scope=SEES_BOTH, limit=0) == ()
        assert store.list_memories(MemoryFilter(), scope=SEES_BOTH, limit=-1) == ()
        assert store.list_memories(MemoryFilter(), scope=NOTHING, limit=9) == ()

    def test_filters(self, store: Store) -> None:
        add(
            store,
            memory("mem_a", "Große Straße", kind="decision"),
            memory("mem_b", "100% sure_thing", status="quarantined"),
            memory("mem_c", provenance=Provenance(tier=TrustTier.USER, source="CLAUDE.md")),
        )
        assert listed(store, kinds=("decision",)) == ["mem_a"]
        assert listed(store, kinds=()) == []
        assert listed(store, statuses=("quarantined",)) == ["mem_b"]
        assert listed(store, statuses=None, text="GROSSE strasse") == ["mem_a"]
        assert listed(store, statuses=None, text="0% SURE_") == ["mem_b"]
        assert listed(store, statuses=None, text="%") == ["mem_b"]
        assert listed(store, source="CLAUDE.md") == ["mem_c"]

    def test_as_of_shows_what_was_known_and_held_then(self, store: Store, clock: FakeClock) -> None:
        add(store, memory("mem_old", "use tabs", validity=Validity(valid_from_ms=NOW - 100)))
        clock.advance(1000)
        store.apply([Supersede(memory=memory("mem_new", "use spaces"), old_id="mem_old", at_ms=NOW + 500)])
        clock.advance(1000)
        store.apply([Rewrite(memory=memory("mem_new", "use four spaces"))])
        assert listed(store, as_of_ms=NOW - 1) == []  # nothing was recorded yet
        assert listed(store, as_of_ms=NOW) == ["mem_old"]
        assert listed(store, as_of_ms=NOW + 999) == ["mem_old"]  # the change was not known yet
        assert listed(store, as_of_ms=NOW + 1000) == ["mem_new"]
        assert listed(store, as_of_ms=NOW + 1000, text="four") == []
        assert listed(store, as_of_ms=NOW + 2000, text="four") == ["mem_new"]
        assert listed(store, as_of_ms=NOW + 2000, statuses=None) == ["mem_new"]  # the old one holds no more

    def test_as_of_respects_the_scope_of_that_time_and_the_validity_of_the_world(
        self, store: Store, clock: FakeClock
    ) -> None:
        add(store, memory("mem_a", scope=BETA, validity=Validity(valid_from_ms=NOW + 50)))
        clock.advance(100)
        store.apply(
            [
                Rewrite(
                    memory=memory("mem_a", validity=Validity(valid_from_ms=NOW + 50, valid_to_ms=NOW + 200))
                )
            ]
        )
        assert listed(store, ScopeFilter.of(BETA), as_of_ms=NOW + 49) == []
        assert listed(store, ScopeFilter.of(BETA), as_of_ms=NOW + 50) == ["mem_a"]
        assert listed(store, SEES_ALPHA, as_of_ms=NOW + 50) == []
        assert listed(store, SEES_ALPHA, as_of_ms=NOW + 199) == ["mem_a"]
        assert listed(store, SEES_ALPHA, as_of_ms=NOW + 200) == []

    def test_resolve(self, store: Store) -> None:
        store.apply([Add(memory=memory(name)) for name in ("mem_ab", "mem_abc", "mem_x")])
        add(store, memory("mem_xy", scope=BETA))
        assert store.resolve("mem_ab", scope=SEES_ALPHA).id == "mem_ab"  # exact wins over prefix
        assert store.resolve("mem_abc", scope=SEES_ALPHA).id == "mem_abc"
        assert store.resolve("mem_x", scope=SEES_ALPHA).id == "mem_x"
        with pytest.raises(NotFound, match="mem_ab, mem_abc"):
            store.resolve("mem_a", scope=SEES_ALPHA)
        for unknown in ("mem_xy", "mem_q", "%", "mem_a_", "mem_abcd"):
            with pytest.raises(NotFound):
                store.resolve(unknown, scope=SEES_ALPHA)
        with pytest.raises(NotFound):
            store.resolve("mem_ab", scope=NOTHING)

    @pytest.mark.parametrize("bare", ["", "\0", "m", "mem_"])
    def test_what_all_ids_begin_with_names_no_memory(self, store: Store, bare: str) -> None:
        add(store, memory("mem_only"))
        with pytest.raises(NotFound):
            store.resolve(bare, scope=SEES_ALPHA)

    def test_resolve_by_the_ending(self, store: Store) -> None:
        names = ("mem_1k700aaq8zw", "mem_1k700bbq8zw", "mem_1k700cc_%9x")
        store.apply([Add(memory=memory(name)) for name in names])
        add(store, memory("mem_1k700zzcc_%9x", scope=BETA))
        assert store.resolve("aq8zw", scope=SEES_ALPHA).id == names[0]
        assert store.resolve("bbq8zw", scope=SEES_ALPHA).id == names[1]
        assert store.resolve("_%9x", scope=SEES_ALPHA).id == names[2]
        with pytest.raises(NotFound, match=f"{names[0]}, {names[1]}"):
            store.resolve("q8zw", scope=SEES_ALPHA)
        for unknown in ("8zw", "zzcc_%9x", "__%9x", "AQ8ZW"):
            with pytest.raises(NotFound):
                store.resolve(unknown, scope=SEES_ALPHA)


class TestRelations:
    def test_both_ends_must_be_visible(self, store: Store) -> None:
        add(store, memory("mem_a"), memory("mem_b"), memory("mem_x", scope=BETA))
        near = Relation(source_id="mem_a", target_id="mem_b", type="related_to", weight=0.5)
        far = Relation(source_id="mem_x", target_id="mem_a", type="caused_by")
        store.relate([near, far])
        assert store.relations(["mem_b"], scope=SEES_ALPHA) == (near,)
        assert store.relations(["mem_a"], scope=SEES_ALPHA) == (near,)
        assert store.relations(["mem_a", "mem_b"], scope=SEES_BOTH) == (near, far)
        assert store.relations(["mem_x"], scope=SEES_ALPHA) == ()
        assert store.relations_of("related_to", scope=SEES_BOTH) == (near,)
        assert store.relations_of("caused_by", scope=SEES_BOTH) == (far,)
        assert store.relations_of("caused_by", scope=SEES_ALPHA) == ()
        assert store.relations(["mem_a"], scope=NOTHING) == ()
        store.relate([replace(near, weight=0.9)])
        assert store.relations(["mem_b"], scope=SEES_ALPHA) == (replace(near, weight=0.9),)

    def test_an_unknown_end_changes_nothing(self, store: Store) -> None:
        add(store, memory("mem_a"), memory("mem_b"))
        with pytest.raises(NotFound, match="mem_none"):
            store.relate(
                [
                    Relation(source_id="mem_a", target_id="mem_b", type="part_of"),
                    Relation(source_id="mem_a", target_id="mem_none", type="part_of"),
                ]
            )
        assert store.relations(["mem_a"], scope=SEES_ALPHA) == ()


class TestVectors:
    def test_stored_vectors_are_read_by_id_within_the_scope(self, store: Store) -> None:
        add(store, memory("mem_a"), memory("mem_b"))
        add(store, memory("mem_x", scope=project_scope("other")))
        store.put_vectors(["mem_a"], unit(0, 1, 0, 0)[np.newaxis], identity=EMBEDDER)
        store.put_vectors(["mem_x"], unit(1, 0, 0, 0)[np.newaxis], identity=EMBEDDER)
        ids, seen = ["mem_a", "mem_b", "mem_x", "mem_none"], ScopeFilter.of(memory("mem_a").scope)
        found = store.get_vectors(ids, scope=seen, identity=EMBEDDER)
        assert {name: vector.tolist() for name, vector in found.items()} == {"mem_a": [0, 1, 0, 0]}
        assert store.get_vectors(ids, scope=seen, identity=OTHER_EMBEDDER) == {}
        assert store.get_vectors([], scope=seen, identity=EMBEDDER) == {}

    def test_pending_until_stored_and_again_for_another_embedder(self, store: Store) -> None:
        add(store, memory("mem_b"), memory("mem_a", status="quarantined"))
        store.apply([Add(memory=memory("mem_c")), Retire(memory_id="mem_c", at_ms=NOW)])
        assert [m.id for m in store.pending_vectors(EMBEDDER, limit=9)] == ["mem_b", "mem_a"]
        assert [m.id for m in store.pending_vectors(EMBEDDER, limit=1)] == ["mem_b"]
        assert store.count_pending(EMBEDDER) == 2
        store.put_vectors(["mem_b"], unit(1, 0, 0, 0)[np.newaxis], identity=EMBEDDER)
        assert [m.id for m in store.pending_vectors(EMBEDDER, limit=9)] == ["mem_a"]
        assert [m.id for m in store.pending_vectors(OTHER_EMBEDDER, limit=9)] == ["mem_b", "mem_a"]
        assert [store.count_pending(one) for one in (EMBEDDER, OTHER_EMBEDDER)] == [1, 2]
        store.put_vectors(["mem_b"], unit(1, 0, 0, 0)[np.newaxis], identity=OTHER_EMBEDDER)
        assert [m.id for m in store.pending_vectors(EMBEDDER, limit=9)] == ["mem_b", "mem_a"]
        assert (store.stats().vectors, store.stats().vectors_missing) == (1, 1)

    def test_vectors_come_with_changes_one_row_per_carried_memory(self, store: Store) -> None:
        vectors = np.stack([unit(1, 0, 0, 0), unit(0, 1, 0, 0)])
        add(store, memory("mem_old"))
        store.apply(
            [
                Add(memory=memory("mem_a")),
                Skip(content="x", reason=WORDS),
                Retire(memory_id="mem_old", at_ms=NOW),
                Add(memory=memory("mem_b")),
            ],
            vectors=vectors,
            identity=EMBEDDER,
        )
        hits = store.search.semantic(unit(0, 1, 0, 0), identity=EMBEDDER, scope=SEES_ALPHA, limit=1).hits
        assert [hit.memory_id for hit in hits] == ["mem_b"]

    def test_an_edit_of_the_words_drops_the_vector_and_a_merge_keeps_it(self, store: Store) -> None:
        store.apply(
            [Add(memory=memory("mem_a", "words"))], vectors=unit(1, 0, 0, 0)[np.newaxis], identity=EMBEDDER
        )
        store.apply([Merge(memory=memory("mem_a", "words", frequency=2))])
        assert store.pending_vectors(EMBEDDER, limit=9) == ()
        store.apply([Rewrite(memory=memory("mem_a", "words", importance=0.9))])
        assert store.pending_vectors(EMBEDDER, limit=9) == ()
        store.apply([Rewrite(memory=memory("mem_a", "other words"))])
        assert [m.id for m in store.pending_vectors(EMBEDDER, limit=9)] == ["mem_a"]

    def test_wrong_vectors_are_refused_and_nothing_is_stored(self, store: Store) -> None:
        two = np.stack([unit(1, 0, 0, 0), unit(0, 1, 0, 0)])
        with pytest.raises(InvalidInput, match="shape"):
            store.apply([Add(memory=memory("mem_a"))], vectors=two, identity=EMBEDDER)
        with pytest.raises(InvalidInput, match="identity"):
            store.apply([Add(memory=memory("mem_a"))], vectors=two[:1])
        with pytest.raises(InvalidInput, match="finite"):
            store.apply([Add(memory=memory("mem_a"))], vectors=two[:1] * np.float32("nan"), identity=EMBEDDER)
        assert listed(store) == []
        add(store, memory("mem_a"))
        with pytest.raises(InvalidInput, match="shape"):
            store.put_vectors(["mem_a"], two, identity=EMBEDDER)
        with pytest.raises(NotFound, match="mem_none"):
            store.put_vectors(["mem_a", "mem_none"], two, identity=EMBEDDER)
        assert store.stats().vectors == 0
        store.put_vectors([], two[:0], identity=EMBEDDER)


def exposure(name: str, turn: int, *, surface: Surface = Surface.PROMPT) -> Exposure:
    return Exposure(
        memory_id=name, content_hash="h", epoch=0, turn=turn, surface=surface, tokens=12, at_ms=NOW + turn
    )


def full_state() -> SessionState:
    return SessionState(
        key=KEY,
        project_id="alpha",
        project_root="/w",
        cwd="/w/src",
        agent="build",
        parent=SessionKey(host="opencode", session_id="p"),
        turn=4,
        epoch=1,
        started_at_ms=NOW,
        last_signal_at_ms=NOW + 9,
        last_message_end="Want me to go on?",
        last_message_situation=Situation(actions=(("commit", 0.7),), objects=("x",), accepted=True),
        recent_tools=("edit",),
        recent_files=("a.py",),
        recent_prompts=("yup",),
        pending_failures=(PendingFailure(tool="bash", command="pytest", signature="s", error="e", turn=3),),
        muted=True,
        ledger=(exposure("mem_a", 1), exposure("mem_b", 2, surface=Surface.HOST)),
        blocks=(RenderedBlock(message_id="m", epoch=1, text="<block>"),),
        seen_signal_keys=("k1", "k2"),
        host_rule_files=("CLAUDE.md",),
    )


def trace(name: str, *, at_ms: int = NOW, session: str = "claude-code/s/1", **fields: object) -> Trace:
    guard = StageRecord(
        stage="signal",
        took_ms=0.5,
        kept=("mem_a",),
        drops=(Drop(memory_id="b", why=DropReason(cause=DropCause.QUARANTINED)),),
    )
    found = TracedCandidate(
        memory_id="mem_a", kind="fact", content="c", scores=(("lexical", 2.5),), fused=0.1, relevance=0.7
    )
    return samples.trace(
        name,
        session=session,
        at_ms=at_ms,
        situation=Situation(actions=(("commit", 0.9),)),
        stages=(guard,),
        candidates=(found,),
        injected=("mem_a",),
        threshold=0.5,
        block="text",
        tokens=9,
        took_ms=3.25,
        **fields,
    )


class TestSessions:
    def test_a_record_comes_back_as_it_was_saved(self, store: Store) -> None:
        assert store.load_session(KEY) is None
        store.save_session(full_state())
        assert store.load_session(KEY) == full_state()
        changed = replace(full_state(), turn=5, muted=False)
        store.save_session(changed)
        assert store.load_session(KEY) == changed
        assert store.stats().sessions == 1

    def test_exposures_are_appended_once_and_outlive_the_record(self, store: Store) -> None:
        first = replace(full_state(), ledger=(exposure("mem_a", 1),))
        store.save_session(first)
        store.save_session(first)
        store.save_session(
            replace(first, ledger=(exposure("mem_a", 1), exposure("mem_a", 2), exposure("mem_b", 2)))
        )
        assert store.stats().exposures == 3
        store.save_session(replace(first, ledger=(exposure("mem_c", 3),)))  # pruned, then one more
        assert store.stats().exposures == 4
        store.delete_session(KEY)
        assert store.load_session(KEY) is None
        assert (store.stats().sessions, store.stats().exposures) == (0, 4)
        store.delete_session(KEY)

    def test_sessions_newest_signal_first(self, store: Store) -> None:
        for name, at in (("a", 5), ("b", 9), ("c", 9)):
            key = SessionKey(host="plain", session_id=name)
            store.save_session(SessionState(key=key, last_signal_at_ms=at))
        assert [s.key.session_id for s in store.list_sessions(limit=9)] == ["b", "c", "a"]
        assert [s.key.session_id for s in store.list_sessions(limit=1)] == ["b"]
        assert store.list_sessions(limit=0) == ()

    def test_keys_that_read_alike_are_different_sessions(self, store: Store) -> None:
        one, two = SessionKey(host="a/b", session_id="c"), SessionKey(host="a", session_id="b/c")
        store.save_session(SessionState(key=one, turn=1))
        store.save_session(SessionState(key=two, turn=2))
        found = store.load_session(one)
        assert found is not None
        assert found.turn == 1

    def test_a_trace_is_stored_with_the_record(self, store: Store) -> None:
        store.save_session(full_state(), traces=[trace("trc_1")])
        assert store.get_trace("trc_1") == trace("trc_1")
        with pytest.raises(NotFound, match="trc_2"):
            store.get_trace("trc_2")

    def test_the_kinds_of_active_memories_are_told_within_the_scope(self, store: Store) -> None:
        add(
            store,
            memory("mem_1", kind="runbook"),
            memory("mem_2", kind="fact"),
            memory("mem_3", kind="fact"),
            memory("mem_4", kind="todo", status="quarantined"),
        )
        assert store.kinds(scope=store.scopes()) == ("fact", "runbook")
        assert store.kinds(scope=ScopeFilter.of()) == ()
        store.apply([Retire(memory_id="mem_1", at_ms=NOW)])
        assert store.kinds(scope=store.scopes()) == ("fact",)

    def test_the_kinds_of_one_scope_of_many_are_its_own(self, store: Store) -> None:
        scopes = [project_scope(f"p{number}") for number in range(12)]
        for number, scope in enumerate(scopes):
            add(store, memory(f"mem_{number}", kind=f"kind{number}", scope=scope))
        for number, scope in enumerate(scopes):
            assert store.kinds(scope=ScopeFilter.of(scope)) == (f"kind{number}",)

    def test_a_trace_of_no_session_is_stored_alone(self, store: Store) -> None:
        store.save_trace(trace("trc_9", session=""))
        assert store.get_trace("trc_9") == trace("trc_9", session="")
        assert store.list_sessions(limit=5) == ()

    def test_traces_newest_first_and_filtered(self, store: Store) -> None:
        store.save_session(full_state(), traces=[trace("trc_1", at_ms=NOW)])
        store.save_session(full_state(), traces=[trace("trc_3", at_ms=NOW + 5, surface=Surface.START)])
        store.save_session(full_state(), traces=[trace("trc_2", at_ms=NOW + 5, session="")])
        assert [t.id for t in store.list_traces()] == ["trc_3", "trc_2", "trc_1"]
        assert [t.id for t in store.list_traces(limit=1)] == ["trc_3"]
        assert [t.id for t in store.list_traces(session="claude-code/s/1")] == ["trc_3", "trc_1"]
        assert [t.id for t in store.list_traces(session="")] == ["trc_2"]
        assert [t.id for t in store.list_traces(surface=Surface.START)] == ["trc_3"]
        assert store.list_traces(limit=0) == ()

    def test_prune_by_age_and_by_number(self, store: Store) -> None:
        for number in range(6):
            store.save_session(full_state(), traces=[trace(f"trc_{number}", at_ms=NOW + number)])
        assert store.prune_traces(before_ms=NOW + 2, keep=100) == 2
        assert store.prune_traces(before_ms=0, keep=3) == 1
        assert [t.id for t in store.list_traces()] == ["trc_5", "trc_4", "trc_3"]
        assert store.prune_traces(before_ms=0, keep=0) == 3
        assert store.stats().traces == 0


def handover(key: str, at_ms: int = NOW) -> Handover:
    return Handover(key=key, session=KEY, payload='{"a": 1}', at_ms=at_ms)


class TestHandovers:
    def test_known_keys_are_not_taken_twice_pending_or_done(self, store: Store) -> None:
        assert store.hand_over(handover("h1"))
        assert not store.hand_over(replace(handover("h1"), payload="other"))
        assert store.pending_handovers(limit=9) == (handover("h1"),)
        store.finish_handover("h1")
        assert store.pending_handovers(limit=9) == ()
        assert not store.hand_over(handover("h1"))
        assert store.pending_handovers(limit=9) == ()

    def test_oldest_first(self, store: Store) -> None:
        for key, at in (("b", 2), ("c", 1), ("a", 2)):
            store.hand_over(handover(key, at))
        assert [h.key for h in store.pending_handovers(limit=9)] == ["c", "a", "b"]
        assert [h.key for h in store.pending_handovers(limit=2)] == ["c", "a"]
        assert store.pending_handovers(limit=0) == ()
        assert store.stats().handovers_pending == 3

    def test_finish_stores_what_was_found_in_one_piece(self, store: Store) -> None:
        store.hand_over(handover("h1"))
        store.finish_handover(
            "h1",
            changes=[Add(memory=memory("mem_a"))],
            vectors=unit(1, 0, 0, 0)[np.newaxis],
            identity=EMBEDDER,
            values={"mark": "9"},
        )
        assert listed(store) == ["mem_a"]
        assert store.get_value("mark") == "9"
        assert store.stats().vectors == 1

    def test_a_failing_change_leaves_the_handover_pending(self, store: Store) -> None:
        store.hand_over(handover("h1"))
        with pytest.raises(NotFound):
            store.finish_handover(
                "h1",
                changes=[Add(memory=memory("mem_a")), Retire(memory_id="mem_none", at_ms=NOW)],
                values={"mark": "9"},
            )
        assert store.pending_handovers(limit=9) == (handover("h1"),)
        assert listed(store) == []
        assert store.get_value("mark") is None

    def test_finishing_again_changes_nothing(self, store: Store) -> None:
        store.hand_over(handover("h1"))
        store.finish_handover("h1", changes=[Add(memory=memory("mem_a"))])
        store.finish_handover("h1", changes=[Add(memory=memory("mem_a")), Add(memory=memory("mem_b"))])
        assert listed(store) == ["mem_a"]

    def test_an_error_counts_an_attempt(self, store: Store) -> None:
        store.hand_over(handover("h1"))
        store.finish_handover("h1", error="no model")
        store.finish_handover("h1", error="still no model")
        assert store.pending_handovers(limit=9) == (
            replace(handover("h1"), attempts=2, error="still no model"),
        )
        with pytest.raises(InvalidInput):
            store.finish_handover("h1", error="x", changes=[Add(memory=memory("mem_a"))])

    def test_an_unknown_key_is_an_error(self, store: Store) -> None:
        with pytest.raises(NotFound, match="h9"):
            store.finish_handover("h9")


class TestTheRest:
    def test_projects(self, store: Store) -> None:
        first = ProjectRecord(id="p2", name="two", root="/two", remote="r", first_seen_ms=3, links=("p1",))
        store.put_project(first)
        store.put_project(ProjectRecord(id="p1", name="one", root="/one"))
        assert [p.id for p in store.projects()] == ["p1", "p2"]
        assert store.projects()[1] == first
        store.put_project(replace(first, name="renamed", links=()))
        assert store.projects()[1].name == "renamed"
        assert store.stats().projects == 2

    def test_scopes_are_those_of_stored_memories(self, store: Store) -> None:
        assert store.scopes() == NOTHING
        odd = Scope(kind=ScopeKind.SESSION, key="claude-code/a:b c")
        add(store, memory("mem_a"), memory("mem_b", scope=odd))
        store.apply([Add(memory=memory("mem_c", scope=UNIVERSAL)), Retire(memory_id="mem_c", at_ms=NOW)])
        assert store.scopes() == ScopeFilter.of(ALPHA, odd, UNIVERSAL)

    def test_stats_and_check_of_a_sound_store(self, store: Store) -> None:
        store.apply(
            [Add(memory=memory("mem_a")), Add(memory=memory("mem_b")), Retire(memory_id="mem_b", at_ms=NOW)]
        )
        stats = store.stats()
        assert (stats.memories_active, stats.memories_total) == (1, 2)
        assert store.check() == ()

    def test_a_backup_is_a_file_and_never_replaces_one(self, store: Store, tmp_path: Path) -> None:
        add(store, memory("mem_a"))
        target = tmp_path / "backup.db"
        store.backup(target)
        content = target.read_bytes()
        assert content
        with pytest.raises(StoreError, match="backup"):
            store.backup(target)
        assert target.read_bytes() == content
        with pytest.raises(StoreError):
            store.backup(tmp_path / "no" / "folder" / "backup.db")
        assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["backup.db"]

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.stats()
        with pytest.raises(StoreError, match="closed"):
            add(store, memory("mem_a"))
        with pytest.raises(StoreError, match="closed"):
            store.search.standing(["fact"], scope=SEES_ALPHA, limit=1)

    def test_threads_may_share_a_store(self, store: Store) -> None:
        failures: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for number in range(8):
                    name = f"mem_{worker}_{number}"
                    add(store, memory(name))
                    assert [m.id for m in store.get([name], scope=SEES_ALPHA)] == [name]
                    store.search.lexical("statement", scope=SEES_ALPHA, limit=3)
            except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.stats().memories_active == 32


class TestOddText:
    ODD = "before\x00after \ud800lone \udfffend"
    CLEAN = "before\ufffdafter \ufffdlone \ufffdend"

    def test_nul_and_lone_surrogates_become_the_replacement_character(self, store: Store) -> None:
        odd_scope = Scope(kind=ScopeKind.PROJECT, key="p\x00\ud800")
        add(
            store,
            memory(
                "mem_\x00odd",
                self.ODD,
                scope=odd_scope,
                files=(self.ODD,),
                error_signature=self.ODD,
                entities=(Entity(kind="symbol", key=self.ODD),),
                evidence=(self.ODD,),
            ),
        )
        visible = ScopeFilter.of(odd_scope)
        (found,) = store.get(["mem_\x00odd"], scope=visible)
        assert (found.content, found.files, found.evidence) == (self.CLEAN, (self.CLEAN,), (self.CLEAN,))
        assert store.resolve("mem_\x00", scope=visible) == found
        assert [h.memory_id for h in store.search.error(self.ODD, scope=visible, limit=1).hits] == [found.id]
        assert [h.memory_id for h in store.search.lexical(self.ODD, scope=visible, limit=1).hits] == [
            found.id
        ]
        entity = Entity(kind="symbol", key=self.ODD)
        assert [h.memory_id for h in store.search.entity([entity], scope=visible, limit=1).hits] == [found.id]
        assert listed(store, visible, text=self.ODD) == [found.id]
        assert store.check() == ()

    def test_sessions_traces_values_and_handovers_take_odd_text(self, store: Store) -> None:
        key = SessionKey(host="h\x00", session_id="\ud800")
        store.save_session(
            SessionState(key=key, recent_prompts=(self.ODD,), ledger=(replace(exposure("m\x00", 1)),)),
            traces=[replace(trace("trc_\x00"), text=self.ODD, session=self.ODD)],
        )
        state = store.load_session(key)
        assert state is not None
        assert state.recent_prompts == (self.CLEAN,)
        assert store.get_trace("trc_\x00").text == self.CLEAN
        assert len(store.list_traces(session=self.ODD)) == 1
        store.put_value("n\x00", self.ODD)
        assert store.get_value("n\x00") == self.CLEAN
        store.hand_over(Handover(key="\ud800", session=key, payload=self.ODD, at_ms=1))
        assert store.pending_handovers(limit=1)[0].payload == self.CLEAN
        store.finish_handover("\ud800", error=self.ODD)
        assert store.pending_handovers(limit=1)[0].error == self.CLEAN
        store.put_project(ProjectRecord(id="p\x00", name=self.ODD, root="/"))
        assert store.projects()[0].name == self.CLEAN

    def test_huge_content_is_kept_whole_and_found(self, store: Store) -> None:
        content = "needle " + "word " * 200_000 + "haystack"
        add(store, memory("mem_a", content), memory("mem_b", "small"))
        assert store.get(["mem_a"], scope=SEES_ALPHA)[0].content == content
        assert [h.memory_id for h in store.search.lexical("haystack", scope=SEES_ALPHA, limit=3).hits] == [
            "mem_a"
        ]


SCOPES = [
    ALPHA,
    BETA,
    UNIVERSAL,
    Scope(kind=ScopeKind.PATH, key="alpha/src"),
    Scope(kind=ScopeKind.LANGUAGE, key="go"),
]


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    placed=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=8),
    moved=st.lists(st.tuples(st.integers(0, 7), st.sampled_from(SCOPES)), max_size=3),
    seen=st.sets(st.sampled_from(SCOPES)),
)
def test_nothing_outside_the_filter_ever_comes_back(
    placed: list[Scope],
    moved: list[tuple[int, Scope]],
    seen: set[Scope],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    store = make_store(tmp_path_factory.mktemp("scopes"), FakeClock(now_ms=NOW))
    where = {f"mem_{number}": scope for number, scope in enumerate(placed)}
    entity = Entity(kind="file", key="a.py")

    def placed_memory(one: str) -> Memory:
        return memory(
            one,
            f"shared words in getUserName {one}",
            scope=where[one],
            trigger=Trigger(always=True, actions=(("commit", 1.0),)),
            entities=(entity,),
            error_signature="boom",
        )

    vectors = np.tile(unit(1, 0, 0, 0), (len(where), 1))
    store.apply([Add(memory=placed_memory(one)) for one in where], vectors=vectors, identity=EMBEDDER)
    visible = ScopeFilter.of(*seen)
    search = store.search
    for number, scope in [(-1, ALPHA), *moved]:
        if f"mem_{number}" in where:
            where[f"mem_{number}"] = scope
            store.apply([Rewrite(memory=placed_memory(f"mem_{number}"))])
        expected = {one for one, scope in where.items() if scope in seen}
        rankings = {
            "semantic": search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=visible, limit=50),
            "lexical": search.lexical("shared words", scope=visible, limit=50),
            "code": search.code("getUserName", scope=visible, limit=50),
            "entity": search.entity([entity], scope=visible, limit=50),
            "intent": search.intent([("commit", 1.0)], scope=visible, limit=50),
            "standing": search.standing(["fact"], scope=visible, limit=50),
            "error": search.error("boom", scope=visible, limit=50),
        }
        for space, ranking in rankings.items():
            assert {hit.memory_id for hit in ranking.hits} == expected, space
            assert ranking.space == space
        assert {m.id for m in store.get(list(where), scope=visible)} == expected
        assert set(listed(store, visible)) == expected
        assert all(version.scope in seen for one in where for version in store.history(one, scope=visible))
    assert store.check() == ()
    store.close()


def test_the_change_counter_grows_with_memories_and_vectors_alone(store: Store) -> None:
    counts = [store.change()]
    add(store, memory("mem_counted"))
    counts.append(store.change())
    store.put_value("name", "value")
    store.count_usage(used=["mem_counted"])
    assert store.change() == counts[-1]
    store.apply([Retire(memory_id="mem_counted", at_ms=NOW)])
    counts.append(store.change())
    assert counts == sorted(set(counts))


def test_texts_are_cleaned_where_they_stand_and_counted(store: Store) -> None:
    told = replace(
        memory("mem_told", "Ask Wilhelmina before a release."),
        entities=(Entity(kind="symbol", key="wilhelmina"),),
    )
    add(store, told, memory("mem_other", "Run make lint.", scope=BETA))
    store.put_value("capture/session/x", '{"work":{"asked":"ask Wilhelmina"},"path":"/home/wilhelmina/x"}')
    store.put_value("init:alpha", "/home/Wilhelmina/shop")
    asked: list[str] = []

    def clean(text: str, scope: str) -> str:
        asked.append(scope)
        return text.replace("Wilhelmina", "[redacted:denied]")

    found = store.rewrite_texts(clean, dry_run=True)
    assert found == {"memories": 1, "named_values": 1, "versions": 1}
    assert set(asked) == {"", str(ALPHA), str(BETA)}
    assert store.get(["mem_told"], scope=SEES_ALPHA)[0] == told

    before = store.change()
    assert store.rewrite_texts(clean, dry_run=False) == found
    (after,) = store.get(["mem_told"], scope=SEES_ALPHA)
    assert after.content == "Ask [redacted:denied] before a release."
    assert after.entities == ()
    assert store.history("mem_told", scope=SEES_ALPHA) == (after,)
    assert store.change() > before
    assert "Wilhelmina" not in (store.get_value("capture/session/x") or "")
    assert store.get_value("init:alpha") == "/home/Wilhelmina/shop"
    assert not store.search.lexical("wilhelmina", scope=SEES_ALPHA, limit=5).hits
    assert store.search.lexical("release", scope=SEES_ALPHA, limit=5).hits
    assert store.rewrite_texts(clean, dry_run=False) == {}
    assert store.check() == ()


def test_what_was_recorded_is_told_newest_first_with_what_stood_before(
    store: Store, clock: FakeClock
) -> None:
    old = memory("mem_a", "The port is 8080.")
    add(store, old)
    clock.advance(10)
    new = memory("mem_b", "The port is 9090.")
    store.apply([Supersede(memory=new, old_id="mem_a", at_ms=NOW + 5, reason=WORDS)])
    found = store.recorded(scope=SEES_ALPHA, limit=10)
    assert [(one.memory.id, one.at_ms, one.reason) for one in found] == [
        ("mem_b", NOW + 10, WORDS),
        ("mem_a", NOW + 10, WORDS),
        ("mem_a", NOW, NEW),
    ]
    assert (found[0].before, found[2].before) == (None, None)
    assert found[1].before == old
    assert found[1].memory.validity.superseded_by == "mem_b"
    assert store.recorded(scope=SEES_ALPHA, limit=1) == found[:1]
    assert store.recorded(scope=SEES_ALPHA, limit=9, memory_id="mem_a") == found[1:]
    assert store.recorded(scope=SEES_ALPHA, limit=9, change_id=found[2].change_id) == found[2:]
    assert store.recorded(scope=ScopeFilter.of(BETA), limit=9) == ()


def test_one_statement_may_end_several_and_contradict_more(store: Store) -> None:
    store.apply([Add(memory=memory(name)) for name in ("mem_a", "mem_b", "mem_c", "mem_d")])
    change = Supersede(
        memory=memory("mem_n"), old_id="mem_a", at_ms=NOW, further=("mem_b",), contested=("mem_c",)
    )
    store.apply([change, Contradict(memory=memory("mem_o"), other_id="mem_c", further=("mem_d",))])
    ended = store.get(["mem_a", "mem_b", "mem_c", "mem_d"], scope=SEES_ALPHA)
    assert [one.status for one in ended] == ["superseded", "superseded", "active", "active"]
    edges = {
        (one.source_id, one.target_id, one.type)
        for one in store.relations(["mem_n", "mem_o"], scope=SEES_ALPHA)
    }
    assert edges == {
        ("mem_n", "mem_a", "updates"), ("mem_n", "mem_b", "updates"), ("mem_n", "mem_c", "contradicts"),
        ("mem_o", "mem_c", "contradicts"), ("mem_o", "mem_d", "contradicts"),
    }  # fmt: skip
    with pytest.raises(NotFound):
        store.apply([Contradict(memory=memory("mem_p"), other_id="mem_c", further=("mem_x",))])
    assert store.get(["mem_p"], scope=SEES_ALPHA) == ()


def test_relations_are_taken_away_by_their_ends_and_type(store: Store) -> None:
    add(store, memory("mem_a", "One."), memory("mem_b", "Two."))
    kept = Relation(source_id="mem_a", target_id="mem_b", type="updates")
    gone = Relation(source_id="mem_a", target_id="mem_b", type="related_to", weight=0.5)
    store.relate([kept, gone])
    store.unrelate([gone, Relation(source_id="mem_b", target_id="mem_x", type="part_of")])
    assert store.relations(["mem_a"], scope=SEES_ALPHA) == (kept,)


def test_relations_are_stored_with_what_they_relate_or_not_at_all(store: Store) -> None:
    edge = Relation(source_id="mem_a", target_id="mem_b", type="related_to", weight=0.5)
    pair = [Add(memory=memory("mem_a", "One.")), Add(memory=memory("mem_b", "Two."))]
    with pytest.raises(NotFound):
        store.apply(pair, relations=[edge, Relation(source_id="mem_a", target_id="mem_x", type="part_of")])
    assert listed(store) == []
    store.apply(pair, relations=[edge])
    assert store.relations(["mem_a"], scope=SEES_ALPHA) == (edge,)
    back = Relation(source_id="mem_c", target_id="mem_a", type="part_of")
    store.hand_over(handover("h1"))
    store.finish_handover("h1", changes=[Add(memory=memory("mem_c", "Three."))], relations=[back])
    assert store.relations(["mem_c"], scope=SEES_ALPHA) == (back,)


def test_versions_written_elsewhere_are_restored_with_their_times_and_reasons(store, clock, tmp_path):
    first = memory("mem_a", "first words")
    second = replace(first, content="second words", updated_at_ms=NOW + 5)
    versions = [
        Recorded(memory=first, before=None, at_ms=NOW - 500, reason=NEW),
        Recorded(memory=second, before=first, at_ms=NOW - 100, reason=EDITED),
    ]
    before = store.change()
    store.restore(versions, uses={"mem_a": 7})
    assert store.change() > before
    assert store.history("mem_a", scope=SEES_ALPHA) == (first, second)
    told = store.recorded(scope=SEES_ALPHA, limit=10, memory_id="mem_a")
    assert [(one.at_ms, one.reason, one.before) for one in told] == [
        (NOW - 100, EDITED, first),
        (NOW - 500, NEW, None),
    ]
    (now,) = store.get(["mem_a"], scope=SEES_ALPHA)
    assert now == replace(second, use_count=7)
    then = store.list_memories(MemoryFilter(as_of_ms=NOW - 300), scope=SEES_ALPHA, limit=5)
    assert [one.content for one in then] == ["first words"]
    assert store.count_active(scope=SEES_ALPHA) == 1
    assert [m.id for m in store.pending_vectors(EMBEDDER, limit=5)] == ["mem_a"]
    assert [hit.memory_id for hit in store.search.lexical("second", scope=SEES_ALPHA, limit=5).hits] == [
        "mem_a"
    ]
    assert not store.search.lexical("first", scope=SEES_ALPHA, limit=5).hits
    with pytest.raises(InvalidInput):
        store.restore([replace(versions[0], at_ms=NOW - 900)], uses={})
    assert len(store.history("mem_a", scope=SEES_ALPHA)) == 2
    third = Recorded(memory=replace(second, importance=0.9), before=None, at_ms=NOW, reason=EDITED)
    store.restore([third], uses={})
    assert len(store.history("mem_a", scope=SEES_ALPHA)) == 3


def test_what_is_gone_leaves_nothing_behind_in_one_transaction(store: Store) -> None:
    words = "Release only on Tuesdays."
    going = memory("mem_going", words)
    quoting = replace(memory("mem_note", f"impl: deploy\ndec: {words}"), kind="digest")
    same = memory("mem_same", words)
    beside = ChangeReason(cause=ChangeCause.SAYS_SAME, memory_ids=("mem_going",))
    store.apply(
        [Add(memory=going), Add(memory=quoting), Add(memory=same, reason=replace(beside, detail=words))],
        vectors=np.eye(3, 4, dtype=np.float32),
        identity=EMBEDDER,
    )
    store.relate([Relation(source_id="mem_going", target_id="mem_same", type="related_to", weight=1.0)])
    key, other = SessionKey(host="h", session_id="1"), SessionKey(host="h", session_id="2")
    shown = Exposure(
        memory_id="mem_going", content_hash=going.content_hash, epoch=0, turn=1, surface=Surface.PROMPT, tokens=5,
        at_ms=NOW,
    )  # fmt: skip
    kept = replace(shown, memory_id="mem_same", content_hash=same.content_hash)
    store.save_session(SessionState(key=key, ledger=(shown, kept)))
    store.save_session(SessionState(key=other, recent_prompts=(words,)))
    store.put_value("capture/session/h/2", "{}")
    store.put_value("capture/session/h/1", json.dumps({"decided": [words]}))
    gone = Removal(memories=("mem_going", "mem_unknown"), sessions=(other,), values=("capture/session/h/2",))

    def clean(text: str, _: str) -> str:
        return text.replace(words, "[purged]")

    seen = store.rewrite_texts(clean, dry_run=True, gone=gone)
    assert store.history("mem_going", scope=SEES_ALPHA) == (going,), "a dry run changes nothing"
    assert store.rewrite_texts(clean, dry_run=False, gone=gone) == seen
    assert seen["memories"] == 2, "one went, one note was cleaned"
    assert store.get(["mem_going", "mem_same"], scope=SEES_ALPHA) == (same,), (
        "what says the same is another memory"
    )
    assert store.history("mem_going", scope=SEES_ALPHA) == ()
    assert store.get(["mem_note"], scope=SEES_ALPHA)[0].content == "impl: deploy\ndec: [purged]"
    assert [one.reason for one in store.recorded(scope=SEES_ALPHA, limit=9, memory_id="mem_same")] == [
        replace(beside, detail="[purged]")
    ]
    assert store.relations(["mem_same"], scope=SEES_ALPHA) == ()
    assert [one.exposure.memory_id for one in store.exposures(limit=9)] == ["mem_same"]
    assert store.load_session(key) == SessionState(key=key, ledger=(kept,))
    assert store.load_session(other) is None
    assert store.get_value("capture/session/h/2") is None
    assert words not in (store.get_value("capture/session/h/1") or "")
    assert (store.stats().memories_total, store.stats().vectors) == (2, 1), (
        "the note's vector went with its words"
    )
    hits = store.search.semantic(np.eye(4, dtype=np.float32)[0], identity=EMBEDDER, scope=SEES_ALPHA, limit=5)
    assert "mem_going" not in [hit.memory_id for hit in hits.hits]
    add(store, memory("mem_next", "The port is 8080."))
    assert [
        hit.memory_id for hit in store.search.lexical("port tuesdays", scope=SEES_ALPHA, limit=5).hits
    ] == [
        "mem_same",
        "mem_next",
    ]
    assert store.check() == ()
    assert store.rewrite_texts(clean, dry_run=True, gone=gone) == {}


def test_a_memory_that_was_purged_and_comes_back_has_its_new_words(store: Store) -> None:
    known = memory("Deploy on Mondays.")
    store.apply([Add(memory=known)])
    assert store.get([known.id], scope=store.scopes()) == (known,)
    gone = Removal(memories=(known.id,))
    store.rewrite_texts(lambda text, _: text, dry_run=False, gone=gone)
    store.apply([Add(memory=replace(known, content="Deploy on Fridays."))])
    assert [each.content for each in store.get([known.id], scope=store.scopes())] == ["Deploy on Fridays."]


def test_traces_of_a_project_go_also_where_they_do_not_name_it(store: Store) -> None:
    seen = TracedCandidate(
        memory_id="mem_a", kind="fact", content="One.", scores=(), fused=0.0, relevance=0.0
    )
    elsewhere = replace(seen, memory_id="mem_b")
    key, agent = SessionKey(host="h", session_id="1"), SessionKey(host="h", session_id="1#agent")
    kept = SessionKey(host="h", session_id="2")
    store.save_session(SessionState(key=key, project_id="alpha"), traces=[trace("trc_own", session=str(key))])
    store.save_session(SessionState(key=agent), traces=[trace("trc_agent", session=str(agent))])
    store.save_session(
        SessionState(key=kept, project_id="beta"),
        traces=[replace(trace("trc_kept", session=str(kept)), candidates=(seen,))],
    )
    for name, project, candidates in (
        ("trc_named", "alpha", ()),
        ("trc_older", "", (seen,)),
        ("trc_mixed", "", (seen, elsewhere)),
        ("trc_empty", "", ()),
        ("trc_other", "beta", (seen,)),
    ):
        store.save_trace(replace(trace(name, session=""), project_id=project, candidates=candidates))
    gone = Removal(memories=("mem_a",), projects=("alpha",))
    found = store.rewrite_texts(lambda text, _: text, dry_run=True, gone=gone)
    assert (found["traces"], found["sessions"]) == (4, 2)
    assert store.rewrite_texts(lambda text, _: text, dry_run=False, gone=gone) == found
    assert {one.id for one in store.list_traces(limit=9)} == {
        "trc_kept",
        "trc_mixed",
        "trc_empty",
        "trc_other",
    }
    assert store.rewrite_texts(lambda text, _: text, dry_run=False, gone=replace(gone, projects=())) == {}
