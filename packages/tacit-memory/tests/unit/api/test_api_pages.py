"""Lists in parts: every row once, also when rows come in front of the part meanwhile; one convention for all lists."""

from __future__ import annotations

import pytest

from tacit.api.endpoints import ENDPOINTS
from tacit.errors import InvalidInput
from tacit.verbs.requests import Page, part_of, to_cursor

BOUNDED = {"list_kinds", "list_jobs", "list_backups", "list_teams"}
"""Lists that settings, retention or membership keep short."""


def parts(client, path, name, **where):
    """Every row of a list, one part after the other."""
    rows, cursor, count = [], None, 0
    while True:
        answer = client.get(path, params={**where, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        rows += answer.json()[name]
        cursor = answer.json()["next_cursor"]
        count += 1
        if cursor is None:
            return rows, count


def remember(client, words, **more):
    answer = client.post("/v1/memories", json={"content": words, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["changes"][0]["memory"]["id"]


def test_every_list_has_a_limit_and_a_cursor_or_is_known_to_stay_short():
    lists = {one.name for one in ENDPOINTS if one.name.startswith("list_")}
    paged = {
        one.name
        for one in ENDPOINTS
        if {"limit", "cursor"} <= set(one.request.model_fields) and "next_cursor" in one.answer.model_fields
    }
    assert lists - paged == BOUNDED
    assert paged - lists == {"search_items", "get_sync"}


def test_changes_go_on_where_a_part_ended_when_others_are_written(client):
    ids = [remember(client, f"Team {n} owns component {n}.") for n in range(7)]
    first = client.get("/v1/changes", params={"limit": 3}).json()
    later = remember(client, "The depot opens at nine.")
    rest, count = parts(client, "/v1/changes", "changes", limit=3, cursor=first["next_cursor"])
    assert count == 2
    seen = [entry["memory"]["id"] for entry in [*first["changes"], *rest]]
    assert seen == ids[::-1]
    assert later not in seen


def test_projects_come_in_parts(client, tmp_path):
    for n in range(3):
        folder = tmp_path / f"project{n}"
        folder.mkdir()
        remember(client, f"The port is {8000 + n}.", cwd=str(folder))
    rows, count = parts(client, "/v1/projects", "projects", limit=2)
    assert [row["project"]["name"] for row in rows] == ["project0", "project1", "project2"]
    assert count == 2
    answer = client.get("/v1/projects", params={"cwd": str(tmp_path / "project1"), "limit": 1}).json()
    assert answer["here"]["project"]["name"] == "project1"


def test_items_and_namespaces_come_in_parts(client):
    for n in range(5):
        item = {"namespace": ["shop", f"user{n}"], "key": "theme", "value": {"n": n}}
        assert client.put("/v1/items", json=item).status_code == 200
    names, cursor = [], None
    while cursor or not names:
        body = {"namespaces": True, "prefix": ["shop"], "limit": 2, "cursor": cursor}
        answer = client.post("/v1/items/search", json=body).json()
        names += answer["namespaces"]
        cursor = answer["next_cursor"]
    assert names == [["shop", f"user{n}"] for n in range(5)]
    assert (
        client.post("/v1/items/search", json={"namespaces": True, "prefix": ["x"]}).json()["namespaces"] == []
    )
    first = client.post("/v1/items/search", json={"limit": 3}).json()
    rest = client.post("/v1/items/search", json={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert rest["next_cursor"] is None
    assert {item["value"]["n"] for item in [*first["items"], *rest["items"]]} == set(range(5))


def test_traces_come_in_parts(client):
    for n in range(5):
        client.post("/v1/recall", json={"text": f"Which port does service {n} use?"})
    rows, count = parts(client, "/v1/traces", "traces", limit=2, whole=True)
    assert (len({row["id"] for row in rows}), len(rows), count) == (5, 5, 3)


def test_a_cursor_of_another_list_is_refused(client):
    remember(client, "Amounts are integer cents.")
    answer = client.get("/v1/projects", params={"cursor": to_cursor((0, "nothing"))})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    with pytest.raises(InvalidInput):
        part_of(lambda _: ["a", "b"], Page(cursor=to_cursor((0, "c"))), str)
