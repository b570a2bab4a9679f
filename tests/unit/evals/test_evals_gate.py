"""The gate's bounds by hand: prompts that deserve nothing, prompts of other projects, tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from samples import memory_named
from tacit.model.evidence import Candidate
from tacit.model.scope import project_scope
from tacit.recall.score.gate.evidence import EVIDENCE
from tacit_evals.fit.gate import (
    FRAME_TOKENS,
    LINE_TOKENS,
    PRIOR,
    Pairs,
    Predicted,
    PromptCandidates,
    bounded_threshold,
    controlled_threshold,
    fit_weights,
    foreign_threshold,
    ridge_logistic,
    token_threshold,
)
from tacit_evals.report.scorecard import Line

SAME = {"slope": 1.0, "offset": 0.0}


def chance(logit):
    return 1 / (1 + math.exp(-logit))


def memory(name, tokens=32):
    return memory_named(name, name, scope=project_scope("p"), at_ms=0, tokens=tokens)


def prompt(number, logits, *, nothing=False, crossed=False, generic=(), given=False):
    asked = PromptCandidates(
        store="p",
        prompt_of="q" if crossed else "p",
        item=f"p{number}",
        query=None,
        candidates=tuple(Candidate(memory=memory(name)) for name in logits),
        needed={},
        marginal=frozenset(),
        start=frozenset(),
        generic=frozenset(generic),
        nothing=nothing,
        crossed=crossed,
        given=given,
    )
    return Predicted(asked=asked, logits=logits)


def test_the_bound_on_prompts_that_deserve_nothing():
    """Nine prompts, alpha 0.3: floor(0.3 x 10 - 1) = 2 may get something, so the threshold lies just above the third."""
    rows = [prompt(n, {"a": float(n), "b": -5.0}, nothing=True) for n in range(9)]
    found = controlled_threshold([*rows, prompt(99, {"a": 50.0})], **SAME, alpha=0.3)
    assert found == pytest.approx(chance(6.0) + 1e-4, abs=1e-4)
    assert controlled_threshold(rows, **SAME, alpha=0.01) == 1.0  # nine prompts cannot prove that


def test_strangers_do_not_count_what_applies_everywhere():
    rows = [prompt(n, {"a": float(n), "b": 9.0}, crossed=True, generic=("b",)) for n in range(9)]
    assert foreign_threshold(rows, **SAME, alpha=0.3) == pytest.approx(chance(6.0) + 1e-4, abs=1e-4)
    assert foreign_threshold([prompt(1, {"a": 3.0})], **SAME) == 0.0  # no stranger was asked


def test_the_bound_on_tokens():
    """A line of 32 tokens costs 40, a block 14 besides. With 400 for the prompt to come, 16 prompts at most 30 have 110."""
    assert (FRAME_TOKENS, LINE_TOKENS) == (14, 8)
    rows = [prompt(n, {"a": float(n)}) for n in range(16)]
    # two blocks are 108, a third is too much: the threshold lies just above the third best
    assert token_threshold(rows, **SAME, most=30.0) == pytest.approx(chance(13.0) + 1e-4, abs=1e-4)
    assert token_threshold(rows, **SAME, most=1e9) == 0.0


def test_the_greatest_of_all_bounds_holds():
    rows = [prompt(n, {"a": float(n)}, nothing=True, given=True) for n in range(9)]
    rows += [prompt(n, {"a": n - 20.0}, nothing=True) for n in range(9)]
    found = bounded_threshold(rows, **SAME, alpha=0.3)
    assert found >= controlled_threshold(rows[:9], **SAME, alpha=0.3)


def test_the_bounds_on_strangers_and_tokens_may_be_others():
    """Strangers at 0, 1, ... 8: a bound of 0.3 lets two of nine pass. 16 prompts at most 30 tokens: two blocks of 54 fit."""
    strangers = [prompt(n, {"a": float(n)}, crossed=True) for n in range(9)]
    own = [prompt(n, {"a": float(n)}) for n in range(16)]
    nothing = [prompt(n, {"a": -20.0}, nothing=True) for n in range(99)]
    given = {**SAME, "alpha": 0.3}
    found = bounded_threshold([*strangers, *nothing], **given, foreign=0.3, tokens=1e9)
    assert found == pytest.approx(chance(6.0) + 1e-4, abs=1e-4)
    found = bounded_threshold([*own, *nothing[:1]], **{**given, "alpha": 0.5}, tokens=30.0 * 17 / 18)
    assert found == pytest.approx(chance(13.0) + 1e-4, abs=1e-4)


def test_a_line_is_met_or_not_or_stands_for_comparison():
    assert Line(name="x", value=0.4, least=0.4).met is True
    assert Line(name="x", value=0.4, most=0.3).met is False
    assert Line(name="x", value=0.4).met is None
    assert Line(name="x", value=None, least=0.4).met is None
    assert Line(name="x", value=0.4, least=0.1).wanted == "≥ 0.1"


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
