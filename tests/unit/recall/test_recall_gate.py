from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.recall.score.gate.evidence import EVIDENCE, evidence_of, lifts, usual_row
from tacit.recall.score.gate.model import GateModel, SurfaceModel, gate_data, gate_from, shipped_gate

KINDS = KindRegistry()


def memory(name: str, content: str, *, kind: str = "preference", trigger: Trigger | None = None) -> Memory:
    return Memory(
        id=name,
        kind=kind,
        content=content,
        scope=project_scope("p"),
        provenance=Provenance(tier=TrustTier.USER, source="test"),
        validity=Validity(valid_from_ms=0),
        created_at_ms=0,
        updated_at_ms=0,
        trigger=trigger or Trigger(),
    )


def asked(text: str = "commit the parser", **actions: float) -> Query:
    return Query(
        surface=Surface.PROMPT,
        text=text,
        raw_text=text,
        situation=Situation(actions=tuple(actions.items())),
        scope=ScopeFilter.of(project_scope("p")),
        at_ms=0,
        budget_tokens=100,
    )


def column(table: np.ndarray, name: str) -> list[float]:
    return [round(float(value), 6) for value in table[:, EVIDENCE.index(name)]]


def test_a_class_counts_by_how_unusual_it_is() -> None:
    usual = usual_row({"edit_code": 0.396, "commit": 0.046})  # with the floor: 0.4 and 0.05
    found = lifts((("edit_code", 0.6), ("commit", 0.6)), usual)
    assert found.max() == pytest.approx(0.6 / (0.6 + 3 * 0.05))
    assert sorted(found)[-2] == pytest.approx(0.6 / (0.6 + 3 * 0.4))


def test_evidence_by_hand() -> None:
    rows = [
        Candidate(
            memory=memory("a", "Sign every commit.", trigger=Trigger(actions=(("commit", 1.0),), objects=("parser",), breadth=3.0)),
            scores=(("semantic", 0.6), ("entity", 0.5)),
        ),
        Candidate(memory=memory("b", "Bananas.", kind="fact"), scores=(("semantic", 0.2),)),
    ]  # fmt: skip
    table = evidence_of(asked(commit=0.5), rows, kinds=KINDS, usual=usual_row({"commit": 0.046}))
    lift = 0.5 / (0.5 + 0.15)
    assert column(table, "lift") == [round(lift, 6), 0.0]
    assert column(table, "lift_any") == [round(0.7 * lift, 6), 0.0]
    assert column(table, "object_share") == [1.0, 0.0]  # "parser" is asked for
    assert column(table, "object_rare") == [round(math.log(1 + 2 / 2) / math.log(3), 6), 0.0]
    assert column(table, "cosine_spread") == [1.0, -1.0]
    assert column(table, "breadth") == [1.0, round(1 / 3, 6)]
    assert column(table, "standing") == [1.0, 0.0]


def test_no_candidate_has_no_evidence() -> None:
    assert evidence_of(asked(), [], kinds=KINDS, usual=usual_row({})).shape == (0, len(EVIDENCE))


def model(**weights: float) -> SurfaceModel:
    zeros = (0.0,) * len(EVIDENCE)
    return SurfaceModel(
        mean=zeros,
        scale=(1.0,) * len(EVIDENCE),
        weights=tuple(weights.get(name, 0.0) for name in EVIDENCE),
        bias=-1.0,
        slope=2.0,
        offset=0.5,
        threshold=0.4,
    )


def test_relevance_by_hand_and_why() -> None:
    gate = GateModel(surfaces={Surface.PROMPT: model(breadth=3.0)})
    one = Candidate(memory=memory("a", "Sign every commit.", trigger=Trigger(breadth=3.0)))
    ((value, reasons),) = gate.judge(asked(), [one], kinds=KINDS)
    assert value == pytest.approx(1 / (1 + math.exp(-(2 * (3 - 1) + 0.5))))
    assert reasons == ("breadth +3.0",)
    assert gate.thresholds() == {"prompt": 0.4}
    assert not gate.covers(Surface.ACTION)


def test_what_happened_fades() -> None:
    gate = GateModel(surfaces={Surface.PROMPT: model(breadth=3.0)})
    old = Candidate(
        memory=memory("a", "Deployed.", kind="outcome", trigger=Trigger(breadth=3.0)),
        scores=(("recent", 0.5),),
    )
    whole = Candidate(memory=memory("b", "Deployed.", trigger=Trigger(breadth=3.0)))
    (faded, _), (fresh, _) = gate.judge(asked(), [old, whole], kinds=KINDS)
    assert faded == pytest.approx(fresh / 2)


def test_data_round_trip_and_other_evidence_is_refused() -> None:
    gate = GateModel(surfaces={Surface.PROMPT: model(lift=1.0)}, manifest={"date": "2026-11-21"})
    data = json.loads(json.dumps(gate_data(gate)))
    assert gate_from(data) == gate
    with pytest.raises(InvalidInput, match="other evidence"):
        gate_from({**data, "evidence": ["lift"]})


def test_what_ships_names_where_it_is_from() -> None:
    gate = shipped_gate()
    assert gate.covers(Surface.PROMPT)
    assert {"data", "command", "date", "embedder"} <= set(gate.manifest)
