"""The store of LangGraph: the contract, beside LangGraph's own store in memory; what recall finds of it; in this process and in the daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from framework_agents import DRIVERS
from scripted_model import ScriptedModel
from tacit import Tacit
from tacit.client.daemon_client import DaemonClient
from tacit.errors import InvalidInput
from tacit.ports.store import MemoryFilter
from user_voice import user_token

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the frameworks' own warnings are not ours to settle
    pytest.mark.usefixtures("no_leftovers"),
]

FACTS = {
    "food": {"text": "Ana eats no meat and no fish.", "confidence": 9, "tags": ["diet"]},
    "desk": {"text": "Ana works from the Lisbon office on Tuesdays.", "confidence": 4, "seen": None},
    "phone": {"text": "Ana wants to be called after four in the afternoon.", "confidence": 7, "nested": {"a": [1, 2.5, True]}},
}  # fmt: skip
ANA, BEN = ("memories", "ana"), ("memories", "ben")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tacit]:
    folder = tmp_path_factory.mktemp("store")
    with Tacit.open(folder / "home", cwd="", settings={"recall": {"deadline_ms": 10_000}}) as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tacit]:
    home = tmp_path_factory.mktemp("daemon") / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("recall:\n  deadline_ms: 10000\n")
    with Tacit.connect(home, cwd="", token=user_token(home)) as opened:
        yield opened
    DaemonClient(home).stop()


@pytest.fixture(params=["memory", "daemon"])
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a store without items, once in this process and once through the daemon."""
    from tacit_integrations.langgraph import TacitStore

    opened = TacitStore(request.getfixturevalue(request.param))
    yield opened
    for namespace in opened.list_namespaces(limit=1000):
        for item in opened.search(namespace, limit=1000):
            opened.delete(item.namespace, item.key)


@pytest.fixture
def reference() -> Any:
    from langgraph.store.memory import InMemoryStore

    return InMemoryStore()


def filled(store: Any) -> Any:
    for key, value in FACTS.items():
        store.put(ANA, key, value)
    store.put(BEN, "food", {"text": "Ben is allergic to peanuts.", "confidence": 9})
    store.put(("docs", "a/b", "v 1"), "read me", {"title": "Hello", "pages": 3}, index=False)
    store.put(("docs", "a"), "b/v 1", {"title": "Other", "pages": 12}, index=False)
    return store


def found(items: Any) -> set[tuple[Any, ...]]:
    return {(item.namespace, item.key, json.dumps(item.value)) for item in items}


def test_values_come_back_as_they_were(store: Any, reference: Any) -> None:
    filled(store)
    filled(reference)
    for namespace, key in ((ANA, "phone"), (ANA, "none"), (("docs", "a"), "b/v 1"), (("docs", "a/b", "v 1"), "read me")):  # fmt: skip
        mine, theirs = store.get(namespace, key), reference.get(namespace, key)
        assert (mine and (mine.namespace, mine.key, mine.value)) == (theirs and (theirs.namespace, theirs.key, theirs.value))  # fmt: skip
    assert store.get(ANA, "food").created_at == store.get(ANA, "food").updated_at
    store.put(ANA, "food", {"text": "Ana eats fish again.", "empty": "", "list": []})
    changed = store.get(ANA, "food")
    assert changed.value == {"text": "Ana eats fish again.", "empty": "", "list": []}
    assert changed.updated_at >= changed.created_at
    store.delete(ANA, "food")
    store.delete(ANA, "food")
    assert store.get(ANA, "food") is None
    assert store.get(BEN, "food") is not None


SEARCHES: tuple[dict[str, Any], ...] = (
    {},
    {"filter": {"confidence": 9}},
    {"filter": {"confidence": {"$gte": 7}}},
    {"filter": {"confidence": {"$gt": 4, "$lt": 9}}},
    {"filter": {"confidence": {"$ne": 9}}},
    {"filter": {"tags": ["diet"]}},
    {"filter": {"nothing": 1}},
    {"filter": {"seen": None, "confidence": {"$lte": 4}}},
    {"limit": 0},
)


def test_searches_find_what_the_store_in_memory_finds(store: Any, reference: Any) -> None:
    filled(store)
    filled(reference)
    for prefix in ((), ("memories",), ANA, ("memories", "an"), ("docs", "a"), ("nobody",)):
        for asked in SEARCHES:
            mine = found(store.search(prefix, **asked))
            try:
                theirs = found(reference.search(prefix, **asked))
            except TypeError:  # it fails where an item lacks the field; here such an item does not match
                theirs = found(reference.search(("memories",), **asked)) if not prefix else set()
            assert mine == theirs, (prefix, asked)


def test_pages_of_a_search_are_the_whole(store: Any) -> None:
    filled(store)
    whole = store.search((), limit=100)
    assert [item.key for at in range(6) for item in store.search((), limit=1, offset=at)] == [
        i.key for i in whole
    ]
    assert store.search((), limit=5, offset=6) == []
    times = [item.updated_at for item in whole]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("memories",)},
        {"suffix": ("ana",)},
        {"prefix": ("docs", "*")},
        {"suffix": ("*", "v 1")},
        {"max_depth": 1},
        {"max_depth": 2, "prefix": ("docs",)},
        {"limit": 2, "offset": 1},
    ],
)
def test_namespaces_are_listed_as_by_the_store_in_memory(
    asked: dict[str, Any], store: Any, reference: Any
) -> None:
    assert filled(store).list_namespaces(**asked) == sorted(filled(reference).list_namespaces(**asked))


def test_words_find_items_by_what_they_mean(store: Any) -> None:
    filled(store)
    best = store.search(ANA, query="What may I cook for her?")
    assert best[0].key == "food"
    assert best[0].score > 0
    assert len(best) == 3  # the others follow
    assert store.search(("memories",), query="peanut allergy")[0].namespace == BEN
    assert {item.namespace for item in store.search(BEN, query="What may I cook for her?")} == {BEN}
    assert store.search(("docs",), query="hello")[0].score is None  # without an index


def test_everything_works_with_await(store: Any) -> None:
    async def use() -> None:
        await store.aput(ANA, "food", FACTS["food"])
        assert (await store.aget(ANA, "food")).value == FACTS["food"]
        assert [item.key for item in await store.asearch(("memories",), query="vegetarian")] == ["food"]
        assert await store.alist_namespaces() == [ANA]
        await store.adelete(ANA, "food")
        assert await store.aget(ANA, "food") is None

    asyncio.run(use())


def test_a_batch_is_answered_in_its_order(store: Any) -> None:
    from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

    ops = [PutOp(ANA, "k", {"n": 1}), GetOp(ANA, "k"), SearchOp(ANA), ListNamespacesOp(), PutOp(ANA, "k", None), GetOp(ANA, "k")]  # fmt: skip
    put, item, items, names, gone, nothing = store.batch(ops)
    assert (put, item.value, [one.key for one in items], names) == (None, {"n": 1}, ["k"], [ANA])
    assert (gone, nothing) == (None, None)


def test_what_cannot_be_kept_is_refused(store: Any) -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    for value in ({"at": object()}, {"n": float("nan")}, deep):
        with pytest.raises(InvalidInput):
            store.put(ANA, "k", value)
    with pytest.raises(InvalidInput):
        store.search(ANA, filter={"n": {"$near": 1}}) if store.put(ANA, "n", {"n": 1}) is None else None
    with pytest.raises(NotImplementedError):
        store.put(ANA, "k", {"n": 1}, ttl=5)
    assert store.get(ANA, "k") is None


def test_secrets_do_not_reach_the_disk(store: Any) -> None:
    secret = "AKIA" + "Q3EGRIV7HZ4MTB2L"
    store.put(ANA, "key", {"text": f"The key of the bucket is {secret}.", "raw": {"list": [secret]}})
    kept = json.dumps(store.get(ANA, "key").value)
    assert secret not in kept
    assert kept.count("[redacted:") == 2
    assert store.search(ANA, query="key of the bucket")[0].score is None  # no memory holds it


def test_a_long_namespace_and_odd_names_are_kept_apart(store: Any) -> None:
    long = ("team", "x" * 300)
    others = [("team", "x" * 300 + "y"), ("team", "x/" + "x" * 298), ("team", "ü ☃ %2F"), ("team", "ü ☃ /")]
    for number, namespace in enumerate([long, *others]):
        store.put(namespace, "a/b%", {"number": number, "text": f"Counter {number} is at gate {number}."})
    assert [store.get(namespace, "a/b%").value["number"] for namespace in [long, *others]] == [0, 1, 2, 3, 4]
    assert len({store.agent(namespace) for namespace in [long, *others]}) == 5
    assert all(len(store.agent(namespace)) <= 200 for namespace in [long, *others])
    assert {item.namespace for item in store.search(("team", "ü ☃ /"))} == {("team", "ü ☃ /")}


def test_recall_gives_items_to_the_agent_of_their_namespace_alone(memory: Tacit) -> None:
    from tacit_integrations.langgraph import TacitStore

    store = filled(TacitStore(memory))
    asked = "Please plan the dinner menu."
    for namespace, theirs, others in (
        (ANA, "no meat", "peanuts"),
        (BEN, "peanuts", "no meat"),
        (None, "", "Ana"),
    ):
        with ScriptedModel() as model:
            agent = store.agent(namespace) if namespace else ""
            driver = DRIVERS["langchain"](model.url, "sync", memory, "chat", agent=agent)
            driver.turn(asked)
            driver.close()
            sent = json.dumps(model.requests[0].body)
        assert theirs in sent
        assert others not in sent
    store.put(ANA, "food", {"text": "Ana eats everything now."})
    store.delete(BEN, "food")
    statements = {m.content for m in memory.engine.list_memories(MemoryFilter())}
    assert "Ana eats everything now." in statements
    assert not statements & {FACTS["food"]["text"], "Ben is allergic to peanuts."}


def test_two_items_that_say_the_same_stay_two(memory: Tacit) -> None:
    from tacit_integrations.langgraph import TacitStore

    store = TacitStore(memory)
    for key in ("a", "b"):
        store.put(("same",), key, {"text": "The lift of the annex is out of order."})
    assert {item.key for item in store.search(("same",))} == {"a", "b"}
    store.delete(("same",), "a")
    assert store.search(("same",), query="elevator")[0].score is not None  # the other still has its memory
    store.delete(("same",), "b")
    assert not [m for m in memory.engine.list_memories(MemoryFilter()) if "annex" in m.content]


def test_a_purge_takes_the_words_out_of_the_items(memory: Tacit) -> None:
    from tacit_integrations.langgraph import TacitStore

    store = TacitStore(memory)
    words = "The alarm of the north wing answers to the code word heron."
    store.put(("vault",), "alarm", {"name": words, "floor": 2})
    store.put(("vault",), "also", {"text": words})
    (stated,) = [m for m in memory.engine.list_memories(MemoryFilter()) if m.content == words]
    purging = memory.engine.admin.purging
    purging.purge(purging.named([stated.id]), dry_run=False)
    assert "heron" not in json.dumps([item.value for item in store.search(("vault",))])
    assert store.get(("vault",), "alarm").value["floor"] == 2


def test_a_graph_keeps_and_finds(memory: Tacit) -> None:
    from langgraph.graph import START, StateGraph
    from langgraph.runtime import Runtime

    from tacit_integrations.langgraph import TacitStore

    def note(state: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
        runtime.store.put(("graph",), "n", {"text": state["said"]})
        return {
            "found": [item.value["text"] for item in runtime.store.search(("graph",), query="refund period")]
        }

    graph = StateGraph(dict)
    graph.add_node("note", note)
    graph.add_edge(START, "note")
    done = graph.compile(store=TacitStore(memory)).invoke({"said": "Money goes back within thirty days."})
    assert done["found"] == ["Money goes back within thirty days."]
