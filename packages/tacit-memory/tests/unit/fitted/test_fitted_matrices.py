"""Matrices in a fitted file: equal bytes, 8 bits, and what is wrong with a damaged one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, Origin, decode_artifact, encode_artifact
from tacit.fitted.matrices import Int8Matrix, MatrixValues, WeightMatrices


def test_writing_twice_gives_the_same_bytes_and_reading_gives_what_was_written() -> None:
    content = WeightMatrices(
        origin=Origin(embedder="some/3"),
        names={"classes": ("commit", "push")},
        matrices={"a.word": np.array([[1.27, -0.5], [0.01, 0.25]], np.float32)},
    )
    data = encode_artifact(content.as_artifact("reader"))
    assert data == encode_artifact(content.as_artifact("reader"))
    found = WeightMatrices.of_artifact(decode_artifact(data, MatrixValues, name="reader"))
    assert found.names == {"classes": ("commit", "push")}
    assert found.origin == content.origin
    np.testing.assert_allclose(found.matrices["a.word"], content.matrices["a.word"], atol=0.5 / 127 * 1.27)
    assert encode_artifact(found.as_artifact("reader")) == data  # what 8 bits kept is kept


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)))
def test_every_number_comes_back_within_half_a_step_of_its_column(matrix: np.ndarray) -> None:
    back = WeightMatrices(matrices={"m": matrix}).rounded().matrices["m"]
    step = np.abs(matrix).max(axis=0) / 127
    assert (np.abs(back - matrix) <= 0.51 * step + 1e-6).all()


def test_a_matrix_with_too_few_numbers_is_named() -> None:
    short = Int8Matrix(shape=(2, 2), scales=(0.1, 0.1), steps=b"\x01\x02\x03")
    content = Artifact(name="reader", origin=Origin(), values=MatrixValues(names={}, matrices={"m": short}))
    with pytest.raises(InvalidInput, match="'reader' are damaged"):
        WeightMatrices.of_artifact(content)
