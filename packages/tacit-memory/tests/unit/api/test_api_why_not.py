"""`POST /v1/why-not`."""

from __future__ import annotations


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
