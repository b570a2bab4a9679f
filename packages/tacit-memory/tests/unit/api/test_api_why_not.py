"""`POST /v1/why-not`."""

from __future__ import annotations


def test_the_answer_holds_stage_numbers_remedies_and_sentences(engine, client, place):
    (change,) = engine.remember("Run make lint before every commit.", when="commit", cwd=str(place))
    body = {
        "memory": change.memory.id,
        "surface": "action",
        "tool": "bash",
        "command": "git commit -m x",
        "cwd": str(place),
        "held": [change.memory.id],
    }
    reply = client.post("/v1/why-not", json=body)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    assert answer["memory"]["id"] == change.memory.id
    assert not answer["given"]
    assert answer["absence"]["stage"] == "dedupe"
    assert answer["absence"]["cause"] == "in_context"
    assert answer["absence"]["reason"] == "already in context"
    assert answer["numbers"]["relevance"] >= answer["numbers"]["threshold"]
    assert {space["space"] for space in answer["numbers"]["spaces"]} >= {"lexical", "intent"}
    assert answer["remedies"][0]["text"] == "Ask in a new session, or after a compaction."
    assert answer["sentences"][0].startswith("It is not given around this tool call: already in context")
    given = client.post("/v1/why-not", json={**body, "held": []}).json()
    assert given["given"]
    assert given["absence"] is None


def test_another_threshold_or_preset_may_be_tried(engine, client, place):
    (change,) = engine.remember("The billing service listens on port 9090.", cwd=str(place))
    body = {"memory": change.memory.id[-7:], "text": "which port does billing use?", "cwd": str(place)}
    assert client.post("/v1/why-not", json={**body, "threshold": 0.0}).json()["given"]
    assert not client.post("/v1/why-not", json={**body, "threshold": 1.0}).json()["given"]
    assert client.post("/v1/why-not", json={**body, "preset": "ambient"}).json()["preset"] == "ambient"


def test_a_request_without_a_recall_or_with_an_unknown_memory_is_refused(client, place):
    nothing = client.post("/v1/why-not", json={"memory": "mem_x", "cwd": str(place)})
    assert nothing.status_code == 422
    assert "trace" in nothing.json()["detail"]
    unknown = client.post("/v1/why-not", json={"memory": "mem_x", "text": "commit", "cwd": str(place)})
    assert unknown.status_code == 404
