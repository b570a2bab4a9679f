from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from samples import memory_named
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trigger import Situation, Trigger
from tacit.recall.score import (
    EVIDENCE,
    FITTED_STORE_SIZE,
    LEAST_SHARE,
    MEAN_DOMAIN_SIMILARITY,
    SHARE_WEIGHT,
    STORE_SIZE_PENALTY,
    GateModel,
    SurfaceModel,
    evidence_of,
    rarest_shared,
    relevance_of,
    shipped_gate,
    with_share,
)

KINDS = KindRegistry()


memory = partial(memory_named, kind="preference", scope=project_scope("p"), at_ms=0)


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


def test_evidence_by_hand() -> None:
    rows = [
        Candidate(
            memory=memory(
                "a", "Sign every commit.", trigger=Trigger(actions=(("commit", 1.0),), breadth=3.0)
            ),
            scores=(("semantic", 0.6), ("character", 0.2), ("covered", 0.4)),
            similarity_z=1.5,
        ),
        Candidate(
            memory=memory("b", "Bananas.", kind="fact"), scores=(("semantic", 0.2),), similarity_z=-0.5
        ),
    ]
    table = evidence_of(asked(), rows)
    assert column(table, "character") == [0.6, 0.0]
    assert column(table, "cosine") == [1.5, -0.5]
    assert column(table, "rare") == [
        round(math.log(5 / 1.5), 6),
        0.0,
    ]  # "commit": one of two, taken as one of four
    assert column(table, "covered") == [0.4, 0.0]
    assert column(table, "nearness") == [MEAN_DOMAIN_SIMILARITY, MEAN_DOMAIN_SIMILARITY]
    assert column(evidence_of(asked(), rows, domain_similarity=1.25), "nearness") == [1.25, 1.25]


def test_a_shared_word_counts_by_how_few_of_the_list_hold_it() -> None:
    contents = ["Parsers commit.", "The parser", "Commit it", "commits", "Sign it"]
    found = rarest_shared("Commit the parser, please do it", contents)
    usual, rare = math.log(6) - math.log(3.5), math.log(6) - math.log(2.5)
    assert found == pytest.approx([rare, rare, usual, usual, 0.0])
    assert rarest_shared("", contents) == [0.0] * 5
    assert rarest_shared("it is", contents) == [0.0] * 5  # words of function say nothing


def test_a_word_of_the_whole_list_never_speaks_against() -> None:
    assert rarest_shared("commit", ["commit"] * 30) == [pytest.approx(math.log(31) - math.log(30.5))] * 30


def test_a_memory_has_the_same_evidence_alone_and_among_others() -> None:
    rows = [
        Candidate(memory=memory(name, name * 9), scores=(("covered", at / 10),), similarity_z=at / 3)
        for at, name in enumerate("abcdefgh")
    ]
    alone = [evidence_of(asked(), [one])[0].tolist() for one in rows]
    assert evidence_of(asked(), rows).tolist() == alone


def test_who_stands_out_gains_and_who_is_one_of_many_loses() -> None:
    """Logits 2, 0, 0: shares e2 / (e2 + 2) and 1 / (e2 + 2); alone the share is 1."""
    whole = math.exp(2) + 2
    best = 2 + SHARE_WEIGHT * math.log(math.exp(2) / whole + LEAST_SHARE)
    other = SHARE_WEIGHT * math.log(1 / whole + LEAST_SHARE)
    assert with_share(np.array([2.0, 0.0, 0.0])).tolist() == pytest.approx([best, other, other])
    assert with_share(np.array([2.0])).tolist() == pytest.approx(
        [2 + SHARE_WEIGHT * math.log(1 + LEAST_SHARE)]
    )
    assert with_share(np.zeros(0)).tolist() == []


def test_the_best_of_many_memories_must_be_better() -> None:
    usual = relevance_of(model().parts(np.zeros((12, len(EVIDENCE))), among=FITTED_STORE_SIZE))[0]
    assert usual == relevance_of(model().parts(np.zeros((12, len(EVIDENCE))), among=3))[0]
    asked_for = math.log(usual / (1 - usual)) - STORE_SIZE_PENALTY * math.log(10)
    crowded = relevance_of(model().parts(np.zeros((12, len(EVIDENCE))), among=10 * FITTED_STORE_SIZE))[0]
    assert crowded == pytest.approx(1 / (1 + math.exp(-asked_for)))


def test_no_candidate_has_no_evidence() -> None:
    assert evidence_of(asked(), []).shape == (0, len(EVIDENCE))


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
    gate = GateModel(surfaces={Surface.PROMPT: model(covered=3.0)})
    one = Candidate(memory=memory("a", "Sign every commit."), scores=(("covered", 1.0),))
    (((value, reasons), parts),) = gate.judge(asked(), [one], kinds=KINDS)
    alone = SHARE_WEIGHT * math.log(1 + LEAST_SHARE)
    assert value == pytest.approx(1 / (1 + math.exp(-(2 * (3 - 1 + alone) + 0.5))))
    assert reasons == ("says much of what is asked",)
    usual = SHARE_WEIGHT * math.log(0.25 + LEAST_SHARE)
    assert dict(parts) == pytest.approx(
        {
            **dict.fromkeys(EVIDENCE, 0.0),
            "usual": 2 * (-1 + usual) + 0.5,
            "covered": 6.0,
            "alone": 2 * (alone - usual),
            "many": 0.0,
        }
    )
    assert gate.thresholds() == {"prompt": 0.4}


def test_what_happened_fades() -> None:
    gate = GateModel(surfaces={Surface.PROMPT: model(covered=3.0)})
    old = Candidate(
        memory=memory("a", "Deployed.", kind="outcome"), scores=(("recent", 0.5), ("covered", 1.0))
    )
    whole = Candidate(memory=memory("b", "Deployed."), scores=(("covered", 1.0),))
    ((faded, _), _), ((fresh, _), _) = gate.judge(asked(), [old, whole], kinds=KINDS)
    assert faded == pytest.approx(fresh / 2)


def test_what_ships_names_where_it_is_from() -> None:
    gate = shipped_gate()
    assert set(gate.surfaces) == {Surface.PROMPT}
    origin = gate.origin
    assert all((origin.projects, origin.made_by, origin.date, origin.embedder))
