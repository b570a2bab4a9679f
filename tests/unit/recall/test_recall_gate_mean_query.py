"""What all prompts have in common goes off a prompt's vector; how near a prompt is to what a scope holds."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.fitted import Origin, decode_artifact, encode_artifact
from tacit.model.evidence import Hit, Ranking
from tacit.ports.models import EmbedderIdentity
from tacit.recall.score.gate.mean_query import (
    REMOVED_SHARE,
    MeanQueryValues,
    MeanQueryVector,
    load_mean_query,
    mean_query_artifact,
    mean_query_from,
)
from tacit.recall.spaces.semantic import domain_similarity_z

USUAL = MeanQueryVector(
    embedder="e@1/2",
    vector=np.array([0.3, 0.0], np.float32),
    mean=0.1,
    deviation=0.2,
    origin=Origin(embedder="e@1/2", details={"rows": 2}),
)


def test_what_is_usual_goes_off_by_hand():
    vector = np.array([0.6, 0.8], np.float32)
    assert REMOVED_SHARE == 2.0
    assert USUAL.without(vector).tolist() == pytest.approx([0.0, 1.0])  # (0.6 - 2 x 0.3, 0.8), of unit length
    assert USUAL.without(np.array([0.6, 0.0], np.float32)).tolist() == pytest.approx(
        [0.6, 0.0]
    )  # nothing is left


def test_it_speaks_of_one_embedder():
    assert USUAL.speaks_of(EmbedderIdentity(name="e@1", dimensions=2))
    assert not USUAL.speaks_of(EmbedderIdentity(name="other@1", dimensions=2))
    assert load_mean_query().vector.shape == (384,)


def test_the_file_round_trip():
    data = encode_artifact(mean_query_artifact(USUAL))
    again = mean_query_from(decode_artifact(data, MeanQueryValues, name="mean_query"))
    assert encode_artifact(mean_query_artifact(again)) == data
    assert again.speaks_of(EmbedderIdentity(name="e@1", dimensions=2))
    assert again.vector.dtype == np.float32


def test_nearness_by_hand():
    hits = tuple(
        Hit(memory_id=name, score=score)
        for name, score in zip("abcdef", (0.9, 0.5, 0.4, 0.3, 0.2, 0.1), strict=True)
    )
    found = domain_similarity_z(
        (Ranking(space="intent", hits=hits[5:]), Ranking(space="semantic", hits=hits)),
        mean=0.1,
        deviation=0.2,
    )
    assert found == pytest.approx((2.3 / 5 - 0.1) / 0.2)
    assert domain_similarity_z((), mean=0.1, deviation=0.2) is None
