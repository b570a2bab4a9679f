"""The review queue of a large import: true numbers, filters, groups, and decisions on many as one change."""

from __future__ import annotations

import pytest

from samples import memory_named
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, Relation, TrustTier
from tacit.model.scope import Scope

pytestmark = pytest.mark.timeout(60)
WAITING = 360
HALF = WAITING // 2


def waiting(number: int, **how) -> Memory:
    how = {
        "kind": ("fact", "decision", "preference")[number % 3],
        "content": f"Component {number} is built by team {number % 17} with tool {number % 5}.",
        "provenance": Provenance(
            tier=TrustTier.IMPORT, source="mem0.json" if number % 2 else "notes.md", host="mem0"
        ),
        **how,
    }
    return memory_named(f"mem_{number:012d}", at_ms=1_000 + number, status="quarantined", **how)


@pytest.fixture
def engine(engine):
    engine._parts.store.apply([Add(memory=waiting(number)) for number in range(WAITING)])
    return engine


def queue(client, **where):
    answer = client.get("/v1/review", params=where)
    assert answer.status_code == 200, answer.text
    return answer.json()


def all_pages(client, **where):
    seen: list[str] = []
    cursor = None
    while True:
        page = queue(client, **where, **({"cursor": cursor} if cursor else {}))
        seen += [entry["memory"]["id"] for entry in page["review"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return seen


def test_the_numbers_are_true_and_every_entry_is_reached_once(client):
    page = queue(client, limit=200)
    assert (page["total"], page["waiting"], len(page["review"])) == (WAITING, WAITING, 200)
    seen = all_pages(client, limit=200)
    assert len(seen) == len(set(seen)) == WAITING
    assert seen == sorted(seen, reverse=True)  # newest first


def test_a_cursor_stays_right_while_entries_are_decided(client):
    page = queue(client, limit=100)
    ids = [entry["memory"]["id"] for entry in page["review"]]
    client.post("/v1/review", json={"action": "reject", "ids": ids})
    following = queue(client, limit=100, cursor=page["next_cursor"])
    assert following["total"] == WAITING - 100
    assert following["review"][0]["memory"]["id"] == f"mem_{WAITING - 101:012d}"


@pytest.mark.parametrize(
    ("where", "number"),
    [
        ({"source": "mem0.json"}, HALF),
        ({"kind": "decision"}, WAITING // 3),
        ({"kind": ["decision", "fact"]}, WAITING * 2 // 3),
        ({"kind": "decision", "source": "notes.md"}, WAITING // 6),
        ({"cause": "import"}, WAITING),
        ({"cause": "contradiction"}, 0),
        ({"tier": "import", "text": "tool 3 team 4"}, 8),
        ({"text": "componets teem 7"}, None),
        ({"scope": "project:other"}, 0),
    ],
)
def test_filters_and_their_groups_agree(client, where, number):
    page = queue(client, limit=500, **where)
    if number is None:
        assert page["total"] > 0
    else:
        assert page["total"] == number
    for counts in page["groups"].values():
        assert sum(one["count"] for one in counts) == page["total"]
    assert page["waiting"] == WAITING


def test_all_that_fit_are_decided_in_one_change_and_taken_back_as_one(client):
    done = client.post(
        "/v1/review", json={"action": "accept", "where": {"source": ["mem0.json"]}, "count": HALF}
    )
    assert done.status_code == 200, done.text
    assert done.json()["decided"] == HALF
    assert queue(client)["waiting"] == HALF
    assert client.get("/v1/memories?limit=1").json()["total"] == HALF
    undone = client.post("/v1/undo", json={"id": done.json()["change_id"]})
    assert len(undone.json()["changes"]) == HALF
    assert queue(client)["waiting"] == WAITING


def test_nothing_is_decided_on_another_number_than_was_shown(client):
    for body in (
        {"action": "reject", "where": {"kind": ["fact"]}, "count": WAITING // 3 - 1},
        {"action": "reject", "where": {}, "count": 0},
    ):
        refused = client.post("/v1/review", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert client.post("/v1/review", json={"action": "reject", "where": {}}).status_code == 422
    assert client.post("/v1/review", json={"action": "reject"}).status_code == 422
    assert queue(client)["waiting"] == WAITING


def test_what_is_rejected_and_taken_back_can_be_learned_again(client, engine):
    name = f"mem_{3:012d}"
    done = client.post("/v1/review", json={"action": "reject", "ids": [name, f"mem_{4:012d}"]}).json()
    assert engine._parts.store.get_value("capture/rejected/universal") is not None
    client.post("/v1/undo", json={"id": done["change_id"]})
    assert engine._parts.store.get_value("capture/rejected/universal") is None
    assert engine.show(name).status == "quarantined"


UNLIKE = (
    "Acknowledge linter errors in modified files before you go on; ignoring them needs a reason.",
    "Short version names come from the tag, and files below vendor are ignored by the packager.",
)
ALIKE = (
    "The staging database is copied at 3 in the night.",
    "The staging database is copied at 5 in the night.",
)


def as_value(old_id: str) -> ChangeReason:
    return ChangeReason(
        cause=ChangeCause.REPLACES,
        memory_ids=(old_id,),
        detail="short version -> acknowledge linter; both on files ignored",
        but=ChangeReason(cause=ChangeCause.UNCONFIRMED),
    )


@pytest.mark.parametrize(("words", "alike"), [(UNLIKE, False), (ALIKE, True)])
def test_the_reason_of_a_pair_says_in_words_why_it_waits(client, engine, words, alike):
    scope = Scope.parse("project:shop")
    old = waiting(5001, content=words[1], scope=scope)
    new = waiting(5002, content=words[0], scope=scope)
    store = engine._parts.store
    recorded = as_value(old.id)
    store.apply([Add(memory=old)])
    store.apply([Add(memory=new, reason=recorded)])
    store.relate([Relation(source_id=new.id, target_id=old.id, type="contradicts")])
    (entry,) = queue(client, scope="project:shop")["review"]
    assert (entry["cause"], entry["alike"]) == ("contradiction", alike)
    assert "mem_" not in entry["reason"]
    assert "ccepting" not in entry["reason"]  # what a decision does is said where it is made
    assert ("->" in entry["reason"]) is alike
    kept = client.post("/v1/review", json={"action": "keep", "ids": [new.id]}).json()
    assert queue(client, scope="project:shop")["total"] == 1  # the old one waits by itself
    client.post("/v1/undo", json={"id": kept["change_id"]})
    (again,) = queue(client, scope="project:shop")["review"]
    assert (again["memory"]["id"], again["other"]["id"]) == (new.id, old.id)
