"""Undo takes back the change that is named, whatever others write meanwhile."""

from __future__ import annotations

import threading

import pytest

from samples import memory_named
from tacit.model.changes import Add
from tacit.model.memory import Memory, Speaker

pytestmark = pytest.mark.timeout(180)
ROUNDS = 20


def remember(client, words):
    answer = client.post("/v1/memories", json={"content": words, "scope": "universal", "kind": "fact"})
    assert answer.status_code == 201, answer.text
    return answer.json()


def statement(name: str, number: int) -> Memory:
    return memory_named(name, f"Worker {number} owns a queue.")


def state(client, memory_id):
    return client.get(f"/v1/memories/{memory_id}").json()["memory"]["status"]


@pytest.mark.slow
def test_undo_never_hits_what_somebody_else_wrote_meanwhile(client, engine):
    stop = threading.Event()
    others: list[str] = []

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            engine._parts.store.apply([Add(memory=statement(f"mem_other{number:07d}", number))])
            others.append(f"mem_other{number:07d}")
            stop.wait(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        taken = 0
        for number in range(ROUNDS):
            made = remember(client, f"Service {number} listens on port {8000 + number * 13}.")
            before = len(others)
            while len(others) == before and writer.is_alive():
                stop.wait(0.001)  # somebody else's change is the last one now
            undone = client.post("/v1/undo", json={"id": made["change_id"]})
            assert undone.status_code == 200, undone.text
            taken += state(client, made["changes"][0]["memory"]["id"]) == "retired"
        assert taken == ROUNDS
    finally:
        stop.set()
        writer.join()
    assert others
    held = engine._parts.store.get(others, scope=engine._parts.store.scopes())
    assert {one.status for one in held} == {"active"}


def test_the_last_change_is_not_undone_without_its_id(client):
    remember(client, "The billing port is 8080.")
    assert client.post("/v1/undo", json={}).status_code == 422
    assert client.post("/v1/undo", json={"id": "mem_1234567890"}).status_code == 422
    assert client.post("/v1/undo", json={"id": "chg_unknown"}).status_code == 404


def test_a_later_change_of_the_same_memory_is_named_and_nothing_is_taken_back(client):
    first = remember(client, "The billing port is 8080.")
    memory = first["changes"][0]["memory"]["id"]
    later = client.patch(f"/v1/memories/{memory}", json={"importance": 0.9}).json()
    refused = client.post("/v1/undo", json={"id": first["change_id"]})
    assert refused.status_code == 409
    assert refused.json()["code"] == "conflict"
    assert memory in refused.json()["detail"]
    assert later["change_id"] in refused.json()["detail"]
    assert state(client, memory) == "active"
    assert client.post("/v1/undo", json={"id": later["change_id"]}).status_code == 200
    assert client.get(f"/v1/memories/{memory}").json()["memory"]["importance"] != 0.9


def test_every_write_names_its_change_and_each_can_be_taken_back(client):
    made = remember(client, "The billing port is 8080.")
    memory = made["changes"][0]["memory"]["id"]
    other = remember(client, "Invoices are numbered per year.")["changes"][0]["memory"]["id"]
    writes = {
        "edit": ("PATCH", f"/v1/memories/{memory}", {"content": "The billing port is 9090."}),
        "supersede": (
            "PATCH",
            f"/v1/memories/{memory}",
            {"content": "The billing port is 7070.", "supersede": True},
        ),
        "merge": ("PATCH", f"/v1/memories/{other}", {"into": memory}),
        "forget": ("DELETE", f"/v1/memories/{memory}", None),
    }
    before = client.get("/v1/memories?status=all&limit=50").json()["memories"]
    for method, path, body in writes.values():
        answer = client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        change = answer.json()["change_id"]
        assert change.startswith("chg_")
        told = client.get(f"/v1/changes?change={change}").json()["changes"]
        assert told
        assert {one["change_id"] for one in told} == {change}
        undone = client.post("/v1/undo", json={"id": change}).json()
        assert undone["change_id"] not in (None, change)
        assert (state(client, memory), state(client, other)) == ("active", "active")
        content = client.get(f"/v1/memories/{memory}").json()["memory"]["content"]
        assert content == "The billing port is 8080."
    assert len(before) == 2


def test_of_a_change_on_many_memories_one_can_be_taken_back(client, engine):
    ids = []
    for number in range(3):
        (change,) = engine.remember(
            f"Team {number} deploys from region {number * 31}.", kind="fact", speaker=Speaker.AGENT
        )
        ids.append(change.memory.id)
    done = client.post("/v1/review", json={"action": "accept", "ids": ids}).json()
    assert done["decided"] == 3
    client.post("/v1/undo", json={"id": done["change_id"], "memory": ids[1]})
    assert [state(client, name) for name in ids] == ["active", "quarantined", "active"]


def test_nothing_written_names_no_change(client):
    remember(client, "The billing port is 8080.")
    said = {"content": "The billing port is 8080.", "scope": "universal", "kind": "fact"}
    again = client.post("/v1/memories", json=said)
    assert again.status_code == 200
    assert again.json()["changes"][0]["change"] == "skip"
    assert again.json()["change_id"] is None
