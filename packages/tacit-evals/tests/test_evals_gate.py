"""The fit of the gate by hand: thresholds, projects left out, weights at their prior."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samples import memory_named
from tacit.model.evidence import Candidate
from tacit.model.scope import project_scope
from tacit.recall.score import EVIDENCE
from tacit_evals.fit.gate import (
    PRIOR,
    Pairs,
    Predicted,
    PromptCandidates,
    fit_weights,
    left_out,
    level_thresholds,
    ridge_logistic,
    shown_above,
    without,
    wrongful_by_project,
)


def chance(logit):
    return 1 / (1 + math.exp(-logit))


def memory(name, tokens=32):
    return memory_named(name, name, scope=project_scope("p"), at_ms=0, tokens=tokens)


def prompt(number, logits, *, nothing=False, store="p", prompt_of=""):
    asked = PromptCandidates(
        store=store,
        prompt_of=prompt_of or store,
        item=f"p{number}",
        query=None,
        candidates=tuple(Candidate(memory=memory(name)) for name in logits),
        needed={},
        marginal=frozenset(),
        start=frozenset(),
        generic=frozenset(),
        nothing=nothing,
    )
    return Predicted(asked=asked, logits=logits)


def test_the_threshold_of_a_level_is_by_worth_and_by_what_a_project_shows():
    """v = 1, 3, 8: 0.5, 0.25, 0.11. At a rate of .12 three of nine have a chance of .08, four of .02: four show that it is broken."""
    assert not shown_above(3, 9)
    assert shown_above(4, 9)
    rows = [
        prompt(n, {"a": chance}, nothing=True) for n, chance in enumerate((0.3, 0.4, 0.4, 0.6, *[0.1] * 5))
    ]
    rows += [prompt(n, {"a": 0.2}, nothing=True, store="q") for n in range(9)]
    assert wrongful_by_project(rows, 0.25) == {"p": (4, 9), "q": (0, 9)}
    assert level_thresholds(rows) == {"quiet": 0.5, "balanced": 0.31, "eager": 0.11}
    assert level_thresholds(rows[9:]) == {"quiet": 0.5, "balanced": 0.25, "eager": 0.11}


def test_a_project_is_predicted_by_a_model_of_the_others():
    rows = [prompt(n, {}, store=store).asked for store in "pq" for n in range(2)]
    assert without(rows, "p") == rows[2:]
    assert without([*rows, prompt(9, {}, store="q", prompt_of="p").asked], "p") == rows[2:]
    assert left_out(rows) == []  # nothing is needed anywhere: no model of the others


def test_a_weight_stays_at_the_prior_where_the_data_say_nothing_and_moves_with_them():
    """One column, two rows of equal evidence and opposite outcome: the data are silent, so the weight is the prior's."""
    x, y, w = np.array([[1.0], [1.0]]), np.array([1.0, 0.0]), np.ones(2)
    weights, bias = ridge_logistic(x, y, w, penalty=4.0, centre=np.array([0.4]))
    assert weights[0] == pytest.approx(0.4, abs=1e-3)
    assert weights[0] + bias == pytest.approx(0.0, abs=1e-3)  # half of such rows are needed
    # Evidence 1 and -1 with outcome 1 and 0: the slope p(1 - p) of each row pulls up, 2 (1 - p) = 4 (b - 0.4).
    (pulled,), _ = ridge_logistic(np.array([[1.0], [-1.0]]), y, w, penalty=4.0, centre=np.array([0.4]))
    assert 2 * (1 - chance(pulled)) == pytest.approx(4.0 * (pulled - 0.4), abs=1e-4)


def test_every_piece_of_evidence_has_a_prior_and_few_rows_do_not_overrule_it():
    assert set(PRIOR) == set(EVIDENCE)
    rows = np.eye(len(EVIDENCE))
    few = Pairs(
        evidence=rows,
        needed=np.array([1.0, *[0.0] * (len(EVIDENCE) - 1)]),
        weight=np.ones(len(EVIDENCE)),
        of=np.arange(len(EVIDENCE)),
    )
    assert fit_weights(few).weights == pytest.approx([PRIOR[name] for name in EVIDENCE], abs=0.02)
