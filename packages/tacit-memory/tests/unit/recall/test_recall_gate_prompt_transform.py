"""A prompt's vector is centered and turned before it is compared; how near a prompt is to what a scope holds."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, FitOrigin
from tacit.fitted.matrices import Int8Matrix
from tacit.model.evidence import Hit, Ranking
from tacit.ports.models import EmbedderIdentity
from tacit.recall.score import (
    REMOVED_SHARE,
    TURN_SHARE,
    PromptTransform,
    TransformValues,
    load_prompt_transform,
    transform_from,
)
from tacit.recall.spaces import domain_similarity_z

ORIGIN = FitOrigin(embedder="e@1/2", details={"prompts": 2})
CENTERED = PromptTransform(
    embedder="e@1/2", vector=np.array([0.3, 0.0], np.float32), mean=0.1, deviation=0.2, origin=ORIGIN
)
TURNED = PromptTransform(
    embedder="e@1/2",
    vector=np.array([0.3, 0.0], np.float32),
    turn=np.array([[0.0, 1.0], [1.0, 0.0]], np.float32),
    mean=0.1,
    deviation=0.2,
    origin=ORIGIN,
)


def test_the_mean_prompt_is_subtracted_by_hand():
    assert REMOVED_SHARE == 2.0
    # (0.6 - 2 x 0.3, 0.8), of unit length
    assert CENTERED.transform(np.array([0.6, 0.8], np.float32)).tolist() == pytest.approx([0.0, 1.0])
    # nothing is left
    assert CENTERED.transform(np.array([0.6, 0.0], np.float32)).tolist() == pytest.approx([0.6, 0.0])


def test_a_prompt_is_turned_toward_what_such_prompts_needed_by_hand():
    assert TURN_SHARE == 0.6
    # the centered (0, 1) times the matrix is (1, 0): (0, 1) + 0.6 x (1, 0), of unit length
    assert TURNED.transform(np.array([0.6, 0.8], np.float32)).tolist() == pytest.approx(
        [0.6 / 1.36**0.5, 1 / 1.36**0.5]
    )


def test_the_cosine_with_a_turned_prompt_orders_as_the_bilinear_match():
    random = np.random.default_rng(5)
    prompt, memories = random.normal(size=4), random.normal(size=(6, 4))
    turn = random.normal(size=(4, 4))
    transform = PromptTransform(
        embedder="e", vector=np.zeros(4, np.float32), turn=turn.astype(np.float32), mean=0.0, deviation=1.0
    )
    prompt /= np.linalg.norm(prompt)
    match = memories @ (prompt + TURN_SHARE * prompt @ turn)
    cosine = memories @ transform.transform(prompt.astype(np.float32))
    assert np.argsort(match).tolist() == np.argsort(cosine).tolist()


def test_it_speaks_of_one_embedder():
    assert CENTERED.speaks_of(EmbedderIdentity(name="e@1", dimensions=2))
    assert not CENTERED.speaks_of(EmbedderIdentity(name="other@1", dimensions=2))
    shipped = load_prompt_transform()
    assert shipped.vector.shape == (384,)
    assert shipped.turn is not None
    assert shipped.turn.shape == (384, 384)


def test_a_damaged_matrix_is_named():
    matrix = Int8Matrix(shape=(2, 2), scales=(1.0, 1.0), steps=b"123")
    values = TransformValues(mean=0.1, deviation=0.2, vector=(0.3, 0.0), turn=matrix)
    with pytest.raises(InvalidInput, match="prompt_transform"):
        transform_from(Artifact(name="prompt_transform", origin=ORIGIN, values=values))


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
