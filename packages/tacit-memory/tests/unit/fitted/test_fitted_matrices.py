"""Matrices in a fitted file: what is wrong with a damaged one."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, FitOrigin
from tacit.fitted.matrices import Int8Matrix, MatrixValues, WeightMatrices


def test_a_matrix_with_too_few_numbers_is_named() -> None:
    short = Int8Matrix(shape=(2, 2), scales=(0.1, 0.1), steps=b"\x01\x02\x03")
    content = Artifact(
        name="reader", origin=FitOrigin(), values=MatrixValues(names={}, matrices={"m": short})
    )
    with pytest.raises(InvalidInput, match="'reader' are damaged"):
        WeightMatrices.of_artifact(content)
