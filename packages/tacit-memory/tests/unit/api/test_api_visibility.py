"""A program that is not the user's asks the API: pairs, relations, reasons and pages without what its level hides."""

from __future__ import annotations

import pytest

from samples import memory_named
from tacit.app.engine import Engine
from tacit.app.reasons import change_text
from tacit.app.visibility import HIDDEN_REASON, Visibility, first_rows
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Contradict
from tacit.model.memory import Memory, Relation, Sensitivity, Speaker, TrustTier
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Surface
from tacit.model.trace import Drop, DropCause, DropReason, StageRecord, Trace, TracedCandidate
from tacit.model.trigger import Situation
from user_voice import client_of


def memory(number: int, level: Sensitivity = Sensitivity.PUBLIC, **how: object) -> Memory:
    given = {
        "content": f"Statement {number} of the plan.",
        "status": "quarantined",
        "at_ms": 1_000 + number,
        **how,
    }
    return memory_named(
        f"mem_{number:016d}", tier=TrustTier.IMPORT, source="notes.md", sensitivity=level, **given
    )


@pytest.fixture
def store(engine: Engine):
    return engine._parts.store


@pytest.mark.parametrize("level", [Sensitivity.SESSION, Sensitivity.RESTRICTED])
def test_a_pair_with_a_hidden_statement_is_no_pair(engine: Engine, store, level: Sensitivity) -> None:
    hidden = memory(1, level, content="The budget is 700 crowns.", status="active")
    waiting = memory(2, content="The budget is 900 crowns.")
    active = memory(3, content="The budget is 800 crowns.", status="active")
    store.apply([Add(memory=hidden), Add(memory=active)])
    reason = ChangeReason(cause=ChangeCause.CONTRADICTS, memory_ids=(hidden.id,), detail="700 against 900")
    store.apply([Contradict(memory=waiting, other_id=hidden.id, reason=reason)])
    store.relate([Relation(source_id=active.id, target_id=hidden.id, type="contradicts")])
    with client_of(engine, Speaker.USER) as users, client_of(engine, Speaker.AGENT) as program:
        assert [(one["cause"], one["other"]["id"]) for one in users.get("/v1/review").json()["review"]] == [
            ("contradiction", hidden.id), ("contradiction", hidden.id),
        ]  # fmt: skip
        page = program.get("/v1/review").json()
        assert [(one["memory"]["id"], one["other"], one["cause"]) for one in page["review"]] == [
            (waiting.id, None, "import")
        ]
        assert (page["total"], page["waiting"], page["groups"]["cause"]) == (
            1, 1, [{"value": "import", "count": 1}],
        )  # fmt: skip
        shown = program.get(f"/v1/memories/{active.id}", params={"relations": True}).json()
        assert (shown["relations"], shown["related"]) == ([], [])
        rows = program.get("/v1/changes").json()["changes"]
        assert {one["memory"]["id"] for one in rows} == {waiting.id, active.id}
        assert [one["reason"] for one in rows if one["memory"]["id"] == waiting.id] == [
            change_text(HIDDEN_REASON)
        ]
        assert users.get("/v1/changes?limit=1").json()["changes"][0]["reason"] == change_text(reason)


def test_a_page_of_changes_is_full_whatever_is_hidden_between(engine: Engine, store) -> None:
    levels = [Sensitivity.PUBLIC, *[Sensitivity.RESTRICTED] * 40, Sensitivity.PUBLIC, Sensitivity.RESTRICTED]
    for number, level in enumerate(levels):
        store.apply([Add(memory=memory(number, level))])
    with client_of(engine, Speaker.AGENT) as program:
        rows = program.get("/v1/changes?limit=2").json()["changes"]
    assert [one["memory"]["id"] for one in rows] == [memory(41).id, memory(0).id]


def test_an_id_that_begins_a_visible_and_a_hidden_memory_is_the_visible_one(engine: Engine, store) -> None:
    store.apply([Add(memory=memory(1)), Add(memory=memory(2, Sensitivity.RESTRICTED))])
    assert engine.show(memory(1).id[:6], speaker=Speaker.AGENT) == memory(1)
    with client_of(engine, Speaker.USER) as users:
        assert users.get(f"/v1/memories/{memory(1).id[:6]}").status_code == 409


@pytest.mark.parametrize("number", range(12))
def test_first_rows_reads_until_enough_are_left(number: int) -> None:
    rows = list(range(10))
    reads: list[int] = []

    def read(most: int) -> list[int]:
        reads.append(most)
        return rows[:most]

    even = [row for row in rows if row % 2 == 0]
    assert first_rows(read, lambda found: [row for row in found if row % 2 == 0], number) == tuple(
        even[:number]
    )
    assert len(reads) <= 3


def test_a_trace_reads_as_if_the_hidden_memory_had_not_been_there(engine: Engine, store) -> None:
    hidden, other, third = memory(1, Sensitivity.RESTRICTED), memory(2), memory(3)
    store.apply([Add(memory=one) for one in (hidden, other, third)])
    trace = Trace(
        id="trc_1", session="", turn=0, epoch=0, surface=Surface.ON_DEMAND, at_ms=5, preset="focused",
        text="what is statement 1", situation=Situation(objects=("statement 1",)), injected=(hidden.id,), block="- Statement 1", tokens=9,
        stages=(
            StageRecord(stage="retrieve", took_ms=1, kept=(hidden.id, other.id), facts=(Note(cause=NoteCause.SPACE_ASKED, detail="words", count=3),)),
            StageRecord(stage="dedupe", took_ms=1, kept=(hidden.id,), drops=(
                Drop(memory_id=other.id, why=DropReason(cause=DropCause.COPY, detail=hidden.id)),
                Drop(memory_id=third.id, why=DropReason(cause=DropCause.TOO_OLD)),
            )),
        ),
        candidates=tuple(
            TracedCandidate(memory_id=one.id, kind="fact", content=one.content, scores=(), fused=1, relevance=1)
            for one in (hidden, other)
        ),
    )  # fmt: skip
    assert Visibility(store, speaker=Speaker.USER).traces([trace]) == (trace,)
    (shown,) = Visibility(store, speaker=Speaker.AGENT).traces([trace])
    assert hidden.id not in repr(shown)
    assert "tatement 1" not in repr(shown)
    assert shown.stages[0].facts == ()
    assert [one.memory_id for one in shown.candidates] == [other.id]
    assert [drop.why.detail for drop in shown.stages[1].drops] == ["another memory", ""]
    assert (shown.injected, shown.tokens, shown.silent) == ((), 0, True)


SECRET = "The merger partner is Falcon Robotics."
GUESSES = [
    SECRET,
    "the merger partner is falcon robotics",
    "The merger partner is Falcon Robotics Inc.",
    "The merger partner is Heron Robotics.",
    "The merger partner is not Falcon Robotics.",
    "The merger partner is no longer Falcon Robotics.",
    "The merger partner is Falcon Robotics and the price is 12 crowns.",
]


@pytest.mark.parametrize(("level", "forgotten"), [("restricted", False), ("restricted", True), (None, False)])
@pytest.mark.parametrize("guess", GUESSES)
def test_what_becomes_of_an_agents_statement_tells_nothing_of_hidden_ones(
    engine: Engine, tmp_path, level: str | None, guess: str, forgotten: bool
) -> None:
    project = str(tmp_path)
    with client_of(engine, Speaker.USER) as users, client_of(engine, Speaker.AGENT) as program:
        if level:  # without one nothing is stored: what the agent is told must be the same
            said = {"content": SECRET, "cwd": project, "sensitivity": level}
            stored = users.post("/v1/memories", json=said).json()["changes"][0]["memory"]
            if forgotten:
                users.post(f"/v1/memories/{stored['id']}/forget", json={})
        answer = program.post("/v1/memories", json={"content": guess, "cwd": project})
        (change,) = answer.json()["changes"]
        assert (answer.status_code, change["change"], change["memory"]["content"], change["memory"]["status"]) == (
            201, "add", guess, "quarantined",
        )  # fmt: skip
        assert "Falcon" not in change["reason"]
        again = program.post("/v1/memories", json={"content": guess, "cwd": project}).json()["changes"][0]
        assert again["change"] != "add"
        if level and not forgotten:
            kept = users.get(f"/v1/memories/{stored['id']}").json()["memory"]
            assert (kept["content"], kept["status"]) == (SECRET, "active")


def test_the_users_own_statement_is_compared_with_all_of_theirs(engine: Engine, tmp_path) -> None:
    said = {"content": SECRET, "cwd": str(tmp_path), "sensitivity": "restricted"}
    with client_of(engine, Speaker.USER) as users:
        first = users.post("/v1/memories", json=said).json()["changes"][0]
        second = users.post("/v1/memories", json={"content": SECRET, "cwd": str(tmp_path)}).json()["changes"][
            0
        ]
    assert (first["change"], second["change"]) == ("add", "skip")
