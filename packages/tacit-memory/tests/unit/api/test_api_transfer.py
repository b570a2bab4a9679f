"""Export and import over the API: the same files as `tacit export` and `tacit import`."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing

import pytest

from tacit.errors import InvalidInput
from tacit.model.memory import Speaker
from tacit.verbs.requests import MAX_CONTENT_CHARS, MAX_IMPORT_BYTES
from user_voice import client_of

SECRET_FREE = "Amounts are integer cents."
MEM0 = (
    '{"results": [{"id": "a1", "memory": "Prefers tabs over spaces", "created_at": "2026-01-02T03:04:05Z"}]}'
)


def remember(client, words=SECRET_FREE, **more):
    answer = client.post("/v1/memories", json={"content": words, **more})
    assert answer.status_code == 201, answer.text


def take(client, expected=200, **request):
    answer = client.post("/v1/import", json=request)
    assert answer.status_code == expected, answer.text
    return answer.json()


def contents(client, **where):
    return [row["content"] for row in client.get("/v1/memories", params=where).json()["memories"]]


def test_memories_of_another_tool_wait_in_review(client, engine):
    done = take(client, content=MEM0, name="mem0.json", universal=True)
    assert (done["counts"], done["unconfirmed"]) == ({"add": 1}, 1)
    assert done["formats"] == [{"path": "mem0.json", "tool": "mem0"}]
    assert client.get("/v1/review").json()["total"] == 1
    assert take(client, content=MEM0, name="mem0.json", universal=True)["counts"] == {"unchanged": 1}
    assert not list(engine.home.run_dir.glob("import-*"))


def test_larger_bodies_are_taken_than_elsewhere(client):
    words = "x" * (2 * MAX_CONTENT_CHARS)
    assert take(client, 422, content="\n".join([words] * 3))["code"] == "invalid_input"
    assert len(words) * 3 > 4_500_000
    assert take(client, 413, content="x" * MAX_IMPORT_BYTES)["code"] == "too_large"


def test_what_an_import_refuses(client, tmp_path):
    take(client, 422)
    take(client, 422, path=str(tmp_path), content="both")
    take(client, 422, content=MEM0, name="../escape.json")
    take(client, 422, content=MEM0, name="..")
    take(client, 404, path=str(tmp_path / "nothing"))


def test_an_agent_neither_imports_nor_sees_what_is_restricted(client, engine):
    remember(client, "The launch is in May.", sensitivity="restricted")
    with client_of(engine, Speaker.AGENT) as agent:
        for dry_run in (True, False):
            assert take(agent, 403, content=MEM0, dry_run=dry_run)["code"] == "refused_by_trust"
        assert "launch" not in agent.post("/v1/export").json()["text"]
    assert "launch" in client.post("/v1/export").json()["text"]


def test_nothing_is_restored_without_a_daemon(client, engine, tmp_path):
    backup = tmp_path / "copy.db"
    engine.maintenance.backup(backup)
    with pytest.raises(InvalidInput, match="exists already"):
        engine.maintenance.backup(backup)
    answer = client.post("/v1/restore", json={"source": str(backup)})
    assert (answer.status_code, answer.json()["code"]) == (503, "daemon_unavailable")


def test_an_import_names_its_changes_so_that_it_is_taken_back(client):
    statements = [{"id": f"n{n}", "memory": f"Team {n} ships on day {n} of the month"} for n in range(20)]
    trial = take(client, content=json.dumps({"results": statements}), dry_run=True)
    assert trial["change_ids"] == []
    done = take(client, content=json.dumps({"results": statements}), mine=True)
    assert len(done["change_ids"]) == 2  # batches of 16
    assert len(contents(client)) == 20
    for change in reversed(done["change_ids"]):
        assert client.post("/v1/undo", json={"id": change}).status_code == 200
    assert contents(client) == []


def test_a_database_is_sent_as_base64(client, tmp_path):
    file = tmp_path / "history.db"
    with closing(sqlite3.connect(file)) as raw:
        raw.execute(
            "CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at TEXT,"
            " updated_at TEXT, is_deleted INT)"
        )
        raw.execute(
            "INSERT INTO history VALUES ('h', 'm1', NULL, 'Uses spaces in Python', 'ADD', '2026-05-01', NULL, 0)"
        )
        raw.commit()
    content = base64.b64encode(file.read_bytes()).decode()
    done = take(client, content=content, encoding="base64", name="history.db", mine=True)
    assert done["formats"] == [{"path": "history.db", "tool": "mem0"}]
    assert contents(client) == ["Uses spaces in Python"]
    assert "no base64" in take(client, 422, content="%%%", encoding="base64")["detail"]


def test_a_running_import_is_listed_among_the_jobs(client, engine, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "tacit.verbs.transfer.wait_for_pending_answers",
        lambda: seen.extend(client.get("/v1/jobs").json()["jobs"]),
    )
    statements = [{"id": f"n{n}", "memory": f"Team {n} ships on day {n} of the month"} for n in range(20)]
    take(client, content=json.dumps({"results": statements}))
    assert [(job["name"], job["state"], job["done"]) for job in seen] == [
        ("import", "running", 16),
        ("import", "running", 20),
    ]
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert client.post("/v1/jobs", json={"name": "import"}).status_code == 422


def test_changes_are_filtered_by_cause_scope_and_time(client, place):
    remember(client, "Deploys happen on Mondays.", scope="universal")
    remember(client, cwd=str(place))
    memory = next(row for row in client.get("/v1/memories").json()["memories"] if "Mondays" in row["content"])
    client.patch(f"/v1/memories/{memory['id']}", json={"content": "Deploys happen on Tuesdays."})

    def told(**where):
        return [
            (row["cause"], row["memory"]["content"])
            for row in client.get("/v1/changes", params=where).json()["changes"]
        ]

    edited = ("edited", "Deploys happen on Tuesdays.")
    assert len(told()) == 3
    assert told(cause="edited") == [edited]
    assert told(cause=["edited", "forgotten"], scope="universal") == [edited]
    assert [words for _, words in told(scope="universal")] == [
        "Deploys happen on Tuesdays.",
        "Deploys happen on Mondays.",
    ]
    at_ms = client.get("/v1/changes", params={"cause": "edited"}).json()["changes"][0]["at_ms"]
    assert edited in told(since_ms=at_ms)
    assert edited not in told(until_ms=at_ms)
    assert told(since_ms=at_ms + 1) == []
    assert client.get("/v1/changes", params={"cause": "nonsense"}).status_code == 422


def test_a_wrong_import_is_told_in_a_sentence(client):
    both = client.post("/v1/import", json={"path": "/x", "content": "x"}).json()
    assert both["detail"] == "The request needs either path or content."
    slash = client.post("/v1/import", json={"content": "x", "name": "a/b"}).json()
    assert "expected a text that matches ^" in slash["detail"]
    plain = client.post("/v1/import", json={"content": "x"}).json()
    assert plain["detail"] == "'memories.jsonl' holds nothing in a format that Tacit imports."
