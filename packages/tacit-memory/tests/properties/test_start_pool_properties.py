"""The kept start pool follows every change: it equals the one that is made anew, whoever wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samples import memory_named
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.config.settings import RecallSettings
from tacit.model.changes import Add, Retire, Rewrite, Supersede
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.store import Store
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.recall.pipelines.start import StartPools

NOW = 1_800_000_000_000
FOCUSED = {"preset": preset_of("focused"), "settings": RecallSettings()}
PROJECT = project_scope("p")
SEES = ScopeFilter.of(UNIVERSAL, PROJECT)
KINDS = ("preference", "guideline", "fact", "error_pattern", "observation")
WORDS = ("cache", "login", "parser", "tests", "deploy", "schema", "socket", "index", "queue", "token")


def memory(number: int, *, breadth: float, **fields: object) -> Memory:
    words = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3, 7))
    return memory_named(
        f"mem_{number:05d}",
        f"Statement {number} about {words}.",
        scope=PROJECT if number % 3 else UNIVERSAL,
        at_ms=NOW - number,
        trigger=Trigger(breadth=breadth, objects=(words.split()[0],)),
        **fields,
    )


def filled(store: Store, size: int) -> None:
    """Memories of every kind; of `size` = 500 more than both lists hold with their reserves."""
    store.apply(
        [
            Add(
                memory=memory(
                    n, kind=KINDS[n % len(KINDS)], importance=(n * 37 % 100) / 100, breadth=n % 4 * 0.75
                )
            )
            for n in range(size)
        ]
    )


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "edit", "retire", "supersede", "undo", "move", "wait"]),
        st.integers(0, 499),
        st.sampled_from(KINDS),
        st.floats(0, 1),
        st.floats(0, 3),
        st.booleans(),
        st.booleans(),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.sampled_from([0, 12, 300, 500]), work=steps)
def test_the_kept_pool_equals_a_new_one(tmp_path_factory: pytest.TempPathFactory, size: int, work) -> None:
    home = Home(tmp_path_factory.mktemp("pool"))
    clock = FakeClock(now_ms=NOW)
    mine, other = open_sqlite_store(home, clock=clock), open_sqlite_store(home, clock=clock)
    try:
        filled(mine, size)
        kept = StartPools(store=mine, kinds=KindRegistry())
        assert kept.of(SEES, at_ms=NOW, **FOCUSED).facts
        for number, (what, place, kind, importance, breadth, pinned, elsewhere) in enumerate(work):
            store = other if elsewhere else mine
            fresh = memory(1000 + number, kind=kind, importance=importance, breadth=breadth, pinned=pinned)
            name = f"mem_{place % max(size, 1):05d}"
            found = store.get([name], scope=store.scopes())
            old = found[0] if found else None
            if what == "add" or old is None:
                store.apply([Add(memory=fresh)])
            elif what == "edit":
                again = replace(fresh, id=old.id, scope=old.scope, created_at_ms=old.created_at_ms)
                store.apply([Rewrite(memory=again)])
            elif what == "retire":
                store.apply([Retire(memory_id=old.id, at_ms=NOW)])
            elif what == "supersede":
                store.apply([Supersede(memory=fresh, old_id=old.id, at_ms=NOW)])
            elif what == "undo":
                store.apply([Rewrite(memory=store.history(old.id, scope=store.scopes())[0])])
            elif what == "move":
                store.apply([Rewrite(memory=replace(old, scope=project_scope("another")))])
            else:
                store.apply([Rewrite(memory=replace(old, status="quarantined"))])
            new = StartPools(store=mine, kinds=KindRegistry()).of(SEES, at_ms=NOW, **FOCUSED)
            assert kept.of(SEES, at_ms=NOW, **FOCUSED).candidates == new.candidates
    finally:
        mine.close()
        other.close()
