"""Answers on demand beside plain retrieval: their time, and what of them was needed."""

from __future__ import annotations

import pytest

from tacit.model.scope import UNIVERSAL
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.answers.precision import UNCUT, Answered, Handed, choose_cut, report
from tacit_evals.answers.speed import SHOWN, PlainRetrieval, Timings, questions, rows_of
from tacit_evals.data.workload import build_store


def handed(needed, share, match):
    return Handed(needed=needed, share=share, match=match, best_match=1.0)


def answered(name, *own):
    return Answered(
        name=name, prompts=2, needed=4, own=own, foreign=(handed(False, 1.0, 0.1),), foreign_prompts=1
    )


RIGHT = tuple(handed(True, 0.5, 0.4) for _ in range(4))
CHAFF = (handed(False, 0.5, 0.1), handed(False, 0.1, 0.4))


def test_a_cut_leaves_what_reaches_both_or_matches_nearly_as_well():
    """.7 of the best match 1.0: .7 stays whatever its score."""
    assert handed(False, 0.5, 0.4).passes((0.5, 0.4))
    assert not handed(False, 0.49, 0.4).passes((0.5, 0.4))
    assert not handed(False, 0.5, 0.39).passes((0.5, 0.4))
    assert handed(False, 0.0, 0.7).passes((0.5, 0.4))


def test_the_cut_of_a_project_is_chosen_on_the_others():
    """Four of six are needed, and a cut can leave them alone; the mildest such one has a share of .15 and a match of .12."""
    one, two = answered("one", *RIGHT, *CHAFF), answered("two", *RIGHT, *CHAFF)
    assert one.precision(UNCUT) == pytest.approx(4 / 6)
    assert choose_cut([one]) == (0.15, 0.12)
    (first, _) = report([one, two])
    assert (first.precision, first.kept, first.recall) == (1.0, 1.0, 1.0)
    assert (first.size_uncut, first.size, first.foreign_uncut, first.foreign) == (3.0, 2.0, 1.0, 0.0)


def test_plain_retrieval_reads_the_file_of_a_store(tmp_path):
    embedder = FakeEmbedder()
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    build_store(home, scope=UNIVERSAL, size=60, embedder=embedder)
    plain = PlainRetrieval(home / "tacit.db", embedder)
    try:
        found = plain.answer(questions(1)[0])
    finally:
        plain.close()
    assert len(found) == SHOWN
    assert all(isinstance(one, str) and one for one in found)


def test_the_ratio_is_the_median_of_the_pairs():
    """Ratios 2, 1 and 3: the median is 2, over the target."""
    rows = rows_of(
        Timings(answered=[2.0, 4.0, 9.0], plain=[1.0, 4.0, 3.0], embedded=[1.0, 1.0, 1.0]), size=1000
    )
    assert (rows[-1].value, rows[-1].verdict) == (2.0, "over")
