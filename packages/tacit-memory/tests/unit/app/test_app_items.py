"""Items of programs: what is kept, found and refused, and what becomes of their memories. The contract of LangGraph is in packages/tacit-integrations/tests."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput, RefusedByTrust
from tacit.model.item import agent_of
from tacit.model.memory import Speaker
from tacit.model.scope import Scope, ScopeKind
from tacit.ports.store import MemoryFilter

ANA = ("memories", "ana")
NO_MEAT = "Ana eats no meat and no fish."


def statements(engine, *statuses):
    where = MemoryFilter(statuses=statuses or ("active",))
    return {memory.content: str(memory.scope) for memory in engine.list_memories(where)}


def test_an_item_has_a_memory_in_the_scope_of_its_namespace(engine, clock):
    put = engine.items.put(ANA, "food", {"text": NO_MEAT}, text=NO_MEAT)
    assert statements(engine) == {NO_MEAT: "agent:store/memories/ana"}
    clock.advance(5)
    again = engine.items.put(ANA, "food", {"text": NO_MEAT, "sure": True}, text=NO_MEAT)
    assert again.memory_id == put.memory_id
    assert (again.created_at_ms, again.updated_at_ms - again.created_at_ms) == (put.created_at_ms, 5)
    changed = engine.items.put(ANA, "food", {"text": "Ana eats fish."}, text="Ana eats fish.")
    assert changed.memory_id not in ("", put.memory_id)
    assert set(statements(engine)) == {"Ana eats fish."}
    engine.items.put(ANA, "food", {"n": 1})
    assert statements(engine) == {}
    assert engine.items.get(ANA, "food").value == {"n": 1}


def test_what_a_program_without_authority_states_waits(engine):
    engine.items.put(ANA, "food", {"text": NO_MEAT}, text=NO_MEAT, speaker=Speaker.AGENT)
    assert statements(engine) == {}
    assert set(statements(engine, "quarantined")) == {NO_MEAT}
    ((item, score),) = engine.items.search(ANA, query="food")
    assert item.value == {"text": NO_MEAT}
    assert score is not None
    engine.items.delete(ANA, "food", speaker=Speaker.AGENT)
    assert set(statements(engine, "quarantined")) == set()


def test_a_program_does_not_end_what_the_user_made_their_own(engine):
    item = engine.items.put(ANA, "food", {"text": NO_MEAT}, text=NO_MEAT, speaker=Speaker.AGENT)
    engine.memories.edit(engine.show(item.memory_id), importance=0.9)
    engine.items.delete(ANA, "food", speaker=Speaker.AGENT)
    assert engine.items.get(ANA, "food") is None
    assert set(statements(engine)) == {NO_MEAT}


def test_an_item_that_says_what_is_known_already_does_not_take_it_along(engine):
    scope = Scope(kind=ScopeKind.AGENT, key=agent_of(ANA))
    for place in (scope, None):
        engine.remember(NO_MEAT, scope=place)
    engine.items.put(ANA, "food", {"text": NO_MEAT}, text=NO_MEAT)
    engine.items.delete(ANA, "food")
    assert len(engine.list_memories(MemoryFilter())) == 2


def test_nothing_is_kept_for_an_agent_where_incognito_is_on(make_engine):
    engine = make_engine(privacy={"incognito": True})
    with pytest.raises(RefusedByTrust):
        engine.items.put(ANA, "food", {"text": NO_MEAT}, text=NO_MEAT, speaker=Speaker.AGENT)
    with pytest.raises(RefusedByTrust):
        engine.items.put(ANA, "food", {"n": 1}, speaker=Speaker.AGENT)
    assert engine.items.namespaces() == []


def test_while_the_settings_cannot_be_read_the_refusal_says_so(tmp_path, make_engine):
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "config.yaml").write_text("{{{")
    with pytest.raises(RefusedByTrust, match="settings cannot be read") as refused:
        make_engine().remember(NO_MEAT, speaker=Speaker.AGENT)
    assert "config.yaml:1 is not YAML" in refused.value.hint


def test_a_document_is_kept_without_a_memory(engine):
    long = "A sentence about the garden. " * 200
    assert engine.items.put(ANA, "long", {"text": long}, text=long).memory_id == ""
    assert engine.items.get(ANA, "long").value == {"text": long}


def test_no_namespace_reaches_the_scope_of_another(engine):
    names = [
        ("universal",),
        ("project", "x"),
        ("a", "b"),
        ("a/b",),
        ("a%2Fb",),
        ("a", "b" * 400),
        ("a", "b" * 401),
    ]
    assert len({agent_of(name) for name in names}) == len(names)
    assert all(agent_of(name).startswith("store/") for name in names)
    engine.items.put(("universal",), "k", {"text": NO_MEAT}, text=NO_MEAT)
    assert statements(engine) == {NO_MEAT: "agent:store/universal"}


@pytest.mark.parametrize("namespace", [(), ("",), ("a", ""), ("a",) * 21, ("x" * 1001,)])
def test_names_that_cannot_be_used_are_refused(engine, namespace):
    for use in (lambda: engine.items.put(namespace, "k", {}), lambda: engine.items.get(namespace, "k")):
        with pytest.raises(InvalidInput):
            use()


def test_a_value_that_is_too_large_is_refused(engine):
    with pytest.raises(InvalidInput):
        engine.items.put(ANA, "k", {"text": "x" * 1_000_001})


def test_the_api_keeps_finds_and_removes(client):
    body = {"namespace": list(ANA), "key": "food", "value": {"text": NO_MEAT, "sure": 9}, "text": NO_MEAT}
    put = client.put("/v1/items", json=body)
    assert put.status_code == 200
    asked = {"namespace": list(ANA), "key": "food"}
    one = {"prefix": asked["namespace"], "key": asked["key"]}
    (item,) = client.post("/v1/items/search", json=one).json()["items"]
    assert item["value"] == body["value"]
    found = client.post("/v1/items/search", json={"prefix": ["memories"], "where": {"sure": {"$gt": 5}}})
    assert [item["key"] for item in found.json()["items"]] == ["food"]
    names = client.post("/v1/items/search", json={"namespaces": True}).json()
    assert names == {"items": [], "namespaces": [list(ANA)], "next_cursor": None}
    assert client.post("/v1/items/search", json={"where": {"sure": {"$like": 5}}}).status_code == 422
    assert client.delete("/v1/items", params=asked).status_code == 204
    assert client.post("/v1/items/search", json=one).json()["items"] == []
