"""What the pages ask of a store: lists in an order, counts, traces by what came of them, exposures. Both stores alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

import samples
from contracts.stores import NOW
from tacit.model.changes import Add, Rewrite
from tacit.model.memory import LearnedOn, Memory, Provenance, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import SilenceCause, SilenceReason, Trace, TracedCandidate
from tacit.ports.store import GivenTimes, MemoryFilter, Store, StoredExposure, TraceFilter

SEEN = ScopeFilter.of(UNIVERSAL, project_scope("p"))
KEY = SessionKey(host="h", session_id="s")


def memory(name: str, at: int, *, content: str = "", **more) -> Memory:
    values = {"kind": "fact", "scope": UNIVERSAL, "at_ms": NOW + at, **more}
    return samples.memory(content or f"Statement {name}.", id=name, **values)


def listed(store: Store, **where) -> list[str]:
    found = MemoryFilter(**where)
    names = [one.id for one in store.list_memories(found, scope=SEEN, limit=100)]
    assert store.count_memories(found, scope=SEEN) == len(names)
    return names


@pytest.fixture
def filled(store: Store) -> Store:
    store.apply([
        Add(memory=memory("mem_1", 1, importance=0.9, pinned=True)),
        Add(memory=memory("mem_2", 2, importance=0.1, tier=TrustTier.ASSISTANT, updated_at_ms=NOW + 9)),
        Add(memory=memory("mem_3", 2, importance=0.9, scope=project_scope("p"))),
        Add(memory=memory("mem_4", 3, importance=0.2, status="quarantined")),
        Add(memory=memory("mem_5", 3, scope=project_scope("other"))),
    ])  # fmt: skip
    store.count_usage(used=["mem_2"])
    return store


def test_memories_are_ordered_filtered_and_counted(filled):
    assert listed(filled) == ["mem_2", "mem_3", "mem_1"]
    assert listed(filled, statuses=None) == ["mem_4", "mem_2", "mem_3", "mem_1"]
    assert listed(filled, order="updated") == ["mem_2", "mem_3", "mem_1"]
    assert listed(filled, order="importance") == ["mem_3", "mem_1", "mem_2"]
    assert listed(filled, order="used") == ["mem_2", "mem_3", "mem_1"]
    assert listed(filled, order="created", ascending=True) == ["mem_1", "mem_2", "mem_3"]
    assert listed(filled, order="updated", ascending=True) == ["mem_1", "mem_3", "mem_2"]
    assert listed(filled, order="importance", ascending=True) == ["mem_2", "mem_3", "mem_1"]
    assert listed(filled, order="used", ascending=True) == ["mem_3", "mem_1", "mem_2"]
    assert listed(filled, order="used", ascending=True, as_of_ms=NOW + 10**6) == ["mem_2", "mem_3", "mem_1"]
    assert listed(filled, tiers=(TrustTier.ASSISTANT, TrustTier.TOOL)) == ["mem_2"]
    assert listed(filled, pinned=True) == ["mem_1"]
    assert listed(filled, pinned=False) == ["mem_2", "mem_3"]
    assert listed(filled, text="STATEMENT mem_3") == ["mem_3"]


def test_memories_are_counted_and_listed_by_how_often_they_were_given(filled):
    def exposed(name: str, at: int, surface: Surface) -> Exposure:
        return Exposure(
            memory_id=name, content_hash="h", epoch=0, turn=at, surface=surface, tokens=3, at_ms=NOW + at
        )  # fmt: skip

    ledger = (
        exposed("mem_1", 4, Surface.PROMPT), exposed("mem_1", 5, Surface.START), exposed("mem_3", 6, Surface.ON_DEMAND),
        exposed("mem_2", 7, Surface.HOST),
    )  # fmt: skip
    filled.save_session(SessionState(key=KEY, ledger=ledger))
    assert filled.given_times(["mem_1", "mem_2", "mem_3"]) == {
        "mem_1": GivenTimes(given=2, last_ms=NOW + 5),
        "mem_3": GivenTimes(fetched=1, last_ms=NOW + 6),
    }
    assert listed(filled, given=True) == ["mem_3", "mem_1"]
    assert listed(filled, given=False) == ["mem_2"]
    assert listed(filled, used=True) == ["mem_2"]
    assert listed(filled, used=False) == ["mem_3", "mem_1"]
    assert listed(filled, notes=True) == []
    assert listed(filled, notes=False, stored_from_ms=NOW + 2) == ["mem_2", "mem_3"]
    assert listed(filled, order="given") == ["mem_1", "mem_2", "mem_3"]
    assert listed(filled, order="fetched") == ["mem_3", "mem_2", "mem_1"]
    assert listed(filled, order="last") == ["mem_3", "mem_1", "mem_2"]
    assert listed(filled, order="last", ascending=True) == ["mem_2", "mem_1", "mem_3"]
    tallies = filled.tally(MemoryFilter(statuses=None), scope=SEEN)
    assert sum(one.count for one in tallies) == 4
    assert {(one.tier, one.scope) for one in tallies if one.used} == {(TrustTier.ASSISTANT, "universal")}
    assert {one.scope for one in tallies if one.given} == {"universal", "project:p"}
    for past in (None, NOW + 10**6):
        known = filled.tally(MemoryFilter(given=True, as_of_ms=past), scope=SEEN)
        assert sum(one.count for one in known) == 2


def test_memories_are_listed_by_whether_they_speak_of_a_branch(filled):
    mark = LearnedOn(name="payments-\u00e9", commit="a" * 40, replaces=("mem_1",))
    filled.apply([Add(memory=memory("mem_6", 4, content='A quote: "branch":{ "name": 1 }', branch=mark))])
    assert listed(filled, branched=True) == ["mem_6"]
    assert listed(filled, branched=False) == ["mem_2", "mem_3", "mem_1"]
    assert filled.get(["mem_6"], scope=SEEN)[0].branch == mark
    filled.apply([Rewrite(memory=memory("mem_6", 4, branch=None))])
    assert listed(filled, branched=True) == []
    then = MemoryFilter(as_of_ms=NOW + 10**6, branched=True)
    assert filled.list_memories(then, scope=SEEN, limit=5) == ()


def test_memories_are_listed_by_the_session_they_were_stated_in(store):
    def stated(name: str, host: str, session: str) -> Add:
        told = Provenance(tier=TrustTier.USER, host=host, session_id=session)
        return Add(memory=memory(name, 1, provenance=told))

    store.apply([stated("mem_1", "h", "s"), stated("mem_2", "h", "t"), stated("mem_3", "g", "s")])
    assert listed(store, session=KEY) == ["mem_1"]
    assert listed(store, session=SessionKey(host="h", session_id="none")) == []


def test_a_list_goes_on_after_a_memory_even_when_others_were_added_before_it(filled):
    assert listed(filled, after=(NOW + 2, "mem_2")) == ["mem_3", "mem_1"]
    filled.apply([Add(memory=memory("mem_9", 50))])
    assert listed(filled, after=(NOW + 2, "mem_2")) == ["mem_3", "mem_1"]
    assert listed(filled, after=(NOW + 1, "mem_1")) == []
    later = filled.list_memories(
        MemoryFilter(as_of_ms=NOW + 10**6, after=(NOW + 2, "mem_3"), pinned=True), scope=SEEN, limit=5
    )
    assert [one.id for one in later] == ["mem_1"]


def trace(name: str, at: int, **more) -> Trace:
    return samples.trace(name, at_ms=NOW + at, **{"text": "Add a Flag", "injected": ("mem_1",), **more})


def test_traces_are_found_by_what_came_of_them(store):
    looked_at = TracedCandidate(
        memory_id="mem_2", kind="fact", content="A flag.", scores=(), fused=0.1, relevance=0.2
    )
    made = [
        trace("trc_1", 1),
        trace(
            "trc_2",
            2,
            injected=(),
            why=SilenceReason(cause=SilenceCause.NOT_RELEVANT),
            candidates=(looked_at,),
        ),
        trace("trc_3", 2, session="", surface=Surface.START, text="other"),
    ]
    store.save_session(SessionState(key=KEY), traces=made)

    def found(**where) -> list[str]:
        return [one.id for one in store.find_traces(TraceFilter(**where), limit=10)]

    assert found() == ["trc_3", "trc_2", "trc_1"]
    assert found(injected=True) == ["trc_3", "trc_1"]
    assert found(injected=False) == ["trc_2"]
    assert found(sessions=("h/s",), text="a flag") == ["trc_2", "trc_1"]
    assert found(sessions=()) == []
    assert found(surface=Surface.START) == ["trc_3"]
    assert found(memory_id="mem_2") == ["trc_2"]
    assert found(memory_id="mem") == []
    assert found(since_ms=NOW + 2) == ["trc_3", "trc_2"]
    assert found(until_ms=NOW + 2) == ["trc_1"]
    assert found(after=(NOW + 2, "trc_3")) == ["trc_2", "trc_1"]
    assert store.find_traces(TraceFilter(), limit=0) == ()


def test_exposures_are_told_newest_first_and_outlive_their_session(store):
    def exposed(name: str, at: int) -> Exposure:
        return Exposure(
            memory_id=name, content_hash="h", epoch=0, turn=1, surface=Surface.PROMPT, tokens=3, at_ms=NOW + at
        )  # fmt: skip

    one, two, three = exposed("mem_1", 1), exposed("mem_2", 5), exposed("mem_1", 5)
    other = replace(KEY, session_id="t")
    store.save_session(SessionState(key=KEY, ledger=(one, two)))
    store.save_session(SessionState(key=other, ledger=(three,)))
    store.delete_session(other)
    assert [s.exposure for s in store.exposures(limit=9)] == [two, three, one]
    assert store.exposures(session=KEY, limit=9) == (
        StoredExposure(session=KEY, exposure=two),
        StoredExposure(session=KEY, exposure=one),
    )
    assert [s.session for s in store.exposures(memory_id="mem_1", limit=9)] == [other, KEY]
    assert [s.exposure for s in store.exposures(limit=1, offset=1)] == [three]


SAID = {
    "mem_lint": "Run the linter before you commit messages to the release branch.",
    "mem_port": "The billing service listens on port 9090.",
    "mem_long": "Connections to the warehouse are pooled; the pool holds twenty connections at most.",
    "mem_old": "The billing service listens on port 8080.",
    "mem_wait": "Billing invoices are rounded to whole cents.",
    "mem_else": "The billing port of another project is 7070.",
}


@pytest.fixture
def said(store: Store) -> Store:
    more = {
        "mem_old": {"status": "superseded"},
        "mem_wait": {"status": "quarantined", "kind": "decision"},
        "mem_else": {"scope": project_scope("other")},
    }
    store.apply(
        [
            Add(memory=memory(name, at, content=text, **more.get(name, {})))
            for at, (name, text) in enumerate(SAID.items())
        ]
    )
    return store


def found(store: Store, text: str, **where) -> list[str]:
    return [hit.memory_id for hit in store.find_memories(text, MemoryFilter(**where), scope=SEEN, limit=10)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("commit linter", "mem_lint"),
        ("messages commit", "mem_lint"),
        ("commiting linters", "mem_lint"),
        ("lint", "mem_lint"),
        ("comit mesage", "mem_lint"),
        ("which port does billing listen on?", "mem_port"),
        ("servcie billing", "mem_port"),
        ("warehouse pooling", "mem_long"),
        ("conections twenty", "mem_long"),
        ("What do I do BEFORE a commit?", "mem_lint"),
        ('"commit" OR linter*', "mem_lint"),
    ],
)
def test_words_are_found_in_any_order_inflected_begun_and_misspelled(
    said: Store, text: str, name: str
) -> None:
    assert found(said, text)[:1] == [name]


def test_what_holds_none_of_the_words_is_not_found(said: Store) -> None:
    assert found(said, "kubernetes") == []
    assert found(said, "") == []
    assert found(said, "?!") == []


def test_more_of_the_words_come_before_fewer(said: Store) -> None:
    assert found(said, "billing port", statuses=None) == ["mem_port", "mem_old", "mem_wait"]
    hits = said.find_memories("ports of billing", MemoryFilter(statuses=None), scope=SEEN, limit=9)
    assert [hit.memory_id for hit in hits if hit.whole] == ["mem_port", "mem_old"]


def test_a_search_finds_what_its_filter_asks_for_alone(said: Store) -> None:
    assert found(said, "billing") == ["mem_port"]
    assert found(said, "billing", statuses=("superseded",)) == ["mem_old"]
    assert found(said, "billing", statuses=("active", "quarantined"), kinds=("decision",)) == ["mem_wait"]
    assert found(said, "port", as_of_ms=NOW + 10) == ["mem_port"]
    other = said.find_memories("port", MemoryFilter(), scope=ScopeFilter.of(project_scope("other")), limit=9)
    assert [hit.memory_id for hit in other] == ["mem_else"]
    assert said.find_memories("port", MemoryFilter(), scope=ScopeFilter.of(), limit=9) == ()
    assert said.find_memories("port", MemoryFilter(), scope=SEEN, limit=0) == ()
