"""Fitted files: a model is read back as it was written, in the same bytes, and every number within what its form keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tacit.errors import InvalidInput
from tacit.fitted import FitOrigin, decode_artifact, encode_artifact
from tacit.fitted.matrices import MatrixValues, WeightMatrices
from tacit.model.pack import Surface
from tacit.ports.models import EmbedderIdentity
from tacit.reading.match import MatchModel, MatchValues, match_from
from tacit.recall.score import (
    EVIDENCE,
    GateModel,
    GateValues,
    PromptTransform,
    SurfaceModel,
    TransformValues,
    gate_from,
    transform_from,
)
from tacit_evals.fit.files import (
    gate_artifact,
    match_artifact,
    rounded,
    transform_artifact,
    weights_artifact,
)


def test_weights_come_back_and_twice_the_same_bytes() -> None:
    content = WeightMatrices(
        origin=FitOrigin(embedder="some/3"),
        names={"classes": ("commit", "push")},
        matrices={"a.word": np.array([[1.27, -0.5], [0.01, 0.25]], np.float32)},
    )
    data = encode_artifact(weights_artifact(content, "reader"))
    assert data == encode_artifact(weights_artifact(content, "reader"))
    found = WeightMatrices.of_artifact(decode_artifact(data, MatrixValues, name="reader"))
    assert found.names == {"classes": ("commit", "push")}
    assert found.origin == content.origin
    np.testing.assert_allclose(found.matrices["a.word"], content.matrices["a.word"], atol=0.5 / 127 * 1.27)
    assert encode_artifact(weights_artifact(found, "reader")) == data  # what 8 bits kept is kept


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)))
def test_every_number_comes_back_within_half_a_step_of_its_column(matrix: np.ndarray) -> None:
    back = rounded(WeightMatrices(matrices={"m": matrix})).matrices["m"]
    step = np.abs(matrix).max(axis=0) / 127
    assert (np.abs(back - matrix) <= 0.51 * step + 1e-6).all()


def test_a_gate_comes_back() -> None:
    ones = (1.0,) * len(EVIDENCE)
    model = SurfaceModel(mean=ones, scale=ones, weights=ones, bias=-1.0)
    gate = GateModel(surfaces={Surface.PROMPT: model}, origin=FitOrigin(date="2026-11-21"))
    artifact = decode_artifact(encode_artifact(gate_artifact(gate)), GateValues, name="gate")
    assert gate_from(artifact) == gate
    with pytest.raises(InvalidInput, match="other evidence"):
        gate_from(replace(artifact, values=GateValues(evidence=("lift",), surfaces=gate.surfaces)))


@pytest.mark.parametrize("turn", [None, np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)])
def test_a_prompt_transform_comes_back(turn: np.ndarray | None) -> None:
    vector = np.array([0.3, 0.0], np.float32)
    origin = FitOrigin(embedder="e@1/2", details={"prompts": 2})
    transform = PromptTransform(
        embedder="e@1/2", vector=vector, turn=turn, mean=0.1, deviation=0.2, origin=origin
    )
    data = encode_artifact(transform_artifact(transform))
    again = transform_from(decode_artifact(data, TransformValues, name="prompt_transform"))
    assert encode_artifact(transform_artifact(again)) == data
    assert again.speaks_of(EmbedderIdentity(name="e@1", dimensions=2))
    assert again.vector.dtype == np.float32
    assert (again.turn is None) == (turn is None)


def test_a_match_comes_back_and_a_damaged_file_is_named() -> None:
    model = MatchModel(
        situations={"commit": 0.1},
        triggers={"commit": 0.2},
        given=(1.0, 2.0, 3.0, 4.0),
        local=(0.0,) * 4,
    )
    data = encode_artifact(match_artifact(model))
    assert match_from(decode_artifact(data, MatchValues, name="match")) == model
    with pytest.raises(InvalidInput, match=r"Expected `array` of length 4"):
        decode_artifact(data.replace(b"   4.0", b"   4.0, 5.0"), MatchValues, name="match")
