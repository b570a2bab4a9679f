from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from samples import memory_named
from tacit.errors import InvalidInput
from tacit.fitted import Origin, decode_artifact, encode_artifact
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.recall.score.gate.evidence import EVIDENCE, MEAN_DOMAIN_SIMILARITY, evidence_of, rarest_shared
from tacit.recall.score.gate.model import (
    FITTED_STORE_SIZE,
    FULL_LIST,
    SHORT_LIST,
    STORE_SIZE_PENALTY,
    GateModel,
    GateValues,
    SurfaceModel,
    gate_artifact,
    gate_from,
    shipped_gate,
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
            scores=(("semantic", 0.6), ("intent", 0.8), ("character", 0.2)),
            similarity_z=1.5,
        ),
        Candidate(
            memory=memory("b", "Bananas.", kind="fact"), scores=(("semantic", 0.2),), similarity_z=-0.5
        ),
    ]
    table = evidence_of(asked(), rows)
    assert column(table, "intent") == [round(math.log(0.81 / 0.21), 6), round(math.log(0.01 / 1.01), 6)]
    assert column(table, "breadth") == [1.0, round(1 / 3, 6)]
    assert column(table, "character") == [0.6, 0.0]
    assert column(table, "cosine") == [1.5, -0.5]
    assert column(table, "rare") == [
        round(math.log(5 / 1.5), 6),
        0.0,
    ]  # "commit": one of two, taken as one of four
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
        Candidate(memory=memory(name, name * 9), scores=(("intent", at / 10),), similarity_z=at / 3)
        for at, name in enumerate("abcdefgh")
    ]
    alone = [evidence_of(asked(), [one])[0].tolist() for one in rows]
    assert evidence_of(asked(), rows).tolist() == alone


def test_a_short_list_gains_what_its_best_lacks() -> None:
    few = replace(model(), few=0.5)
    assert few.relevance(np.zeros((FULL_LIST, len(EVIDENCE))))[0] == pytest.approx(
        1 / (1 + math.exp(-(2 * -1 + 0.5)))
    )
    gained = 2 * -1 + 0.5 + 0.5 * math.log(FULL_LIST / 2)
    assert few.relevance(np.zeros((2, len(EVIDENCE))))[0] == pytest.approx(1 / (1 + math.exp(-gained)))


def test_the_best_of_many_memories_must_be_better() -> None:
    usual = model().relevance(np.zeros((FULL_LIST, len(EVIDENCE))), among=FITTED_STORE_SIZE)[0]
    assert usual == model().relevance(np.zeros((FULL_LIST, len(EVIDENCE))), among=3)[0]
    asked_for = math.log(usual / (1 - usual)) - STORE_SIZE_PENALTY * math.log(10)
    crowded = model().relevance(np.zeros((FULL_LIST, len(EVIDENCE))), among=10 * FITTED_STORE_SIZE)[0]
    assert crowded == pytest.approx(1 / (1 + math.exp(-asked_for)))


def test_an_acceptance_says_nothing_itself() -> None:
    rows = [Candidate(memory=memory("a", "Sign it."), scores=(("character", 0.9),), similarity_z=4.0)]
    yes = replace(asked("yup then"), situation=Situation(accepted=True))
    table = evidence_of(yes, rows)
    assert column(table, "character") == [round(3 * 0.18, 6)]
    assert column(table, "cosine") == [1.3]


def test_no_candidate_has_no_evidence() -> None:
    assert evidence_of(asked(), []).shape == (0, len(EVIDENCE))


def test_what_a_person_said_of_when_is_not_weighed() -> None:
    said = Trigger(actions=(("commit", 0.9),), maker="user")
    rows = [
        Candidate(memory=memory("a", "Sign it.", trigger=said)),
        Candidate(memory=memory("b", "Sign it.", trigger=replace(said, maker="local"))),
    ]
    gate = GateModel(surfaces={Surface.PROMPT: model()})
    (told, why), (weighed, _) = gate.judge(asked(commit=0.8), rows, kinds=KINDS)
    assert (told, why) == (pytest.approx(0.72), ("a person said when",))
    assert weighed < 0.3
    assert gate.judge(asked(commit=0.5), rows, kinds=KINDS)[0][0] == pytest.approx(weighed)


def test_what_was_said_of_many_holds_for_the_few_that_fit_best() -> None:
    said = Trigger(actions=(("commit", 0.9),), maker="user")
    rows = [
        Candidate(memory=memory(name, f"Sign {name}.", trigger=said), scores=(("character", at / 10),))
        for at, name in enumerate("abcdefg")
    ]
    gate = GateModel(surfaces={Surface.PROMPT: model(character=0.4)})
    judged = gate.judge(asked(commit=0.8), rows, kinds=KINDS)
    lifted = [why == ("a person said when",) for _, why in judged]
    assert lifted == [False] * 3 + [True] * SHORT_LIST
    assert all(value < 0.72 for value, _ in judged[:3])
    assert gate.judge(asked(commit=0.8), rows[:SHORT_LIST], kinds=KINDS)[0][0] == pytest.approx(0.72)


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
    gate = GateModel(surfaces={Surface.PROMPT: model(lift=1.0)}, origin=Origin(date="2026-11-21"))
    artifact = decode_artifact(encode_artifact(gate_artifact(gate)), GateValues, name="gate")
    assert gate_from(artifact) == gate
    other = GateValues(evidence=("lift",), surfaces=gate.surfaces)
    with pytest.raises(InvalidInput, match="other evidence"):
        gate_from(replace(artifact, values=other))


def test_what_ships_names_where_it_is_from() -> None:
    gate = shipped_gate()
    assert gate.covers(Surface.PROMPT)
    origin = gate.origin
    assert all((origin.projects, origin.made_by, origin.date, origin.embedder))


def test_a_rule_that_governs_what_is_coming_needs_no_more_where_there_are_few() -> None:
    gate = GateModel(surfaces={Surface.PROMPT: model()})
    rule = Candidate(memory=memory("a", "Sign every commit."), scores=(("intent", 0.9),))
    fact = Candidate(memory=memory("b", "Commits are signed.", kind="fact"), scores=(("intent", 0.9),))
    weak = Candidate(memory=memory("c", "Sign every commit."), scores=(("intent", 0.79),))

    def judged(*others: Candidate) -> list[tuple[float, tuple[str, ...]]]:
        return list(gate.judge(asked(), [rule, fact, weak, *others], kinds=KINDS))

    assert judged()[0] == (0.9, ("governs what is coming",))
    assert all(value < 0.5 for value, _ in judged()[1:])
    assert judged(*[weak] * 6)[0][0] == pytest.approx(0.9 * (12 - 9) / 8)
    assert judged(*[weak] * 17)[0][0] == judged(*[weak] * 17)[1][0]
