"""Files of weights: equal bytes, 8 bits, and what is wrong with a damaged one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tacit.errors import InvalidInput
from tacit.reading.classifier.weights import WeightFile, pack, unpack


def test_packing_twice_gives_the_same_bytes_and_reading_gives_what_was_packed() -> None:
    content = WeightFile(
        manifest={"embedder": "some/3"},
        names={"classes": ("commit", "push")},
        matrices={"a.word": np.array([[1.27, -0.5], [0.01, 0.25]], np.float32)},
    )
    data = pack(content)
    assert data == pack(content)
    found = unpack(data)
    assert found.names == {"classes": ("commit", "push")}
    assert found.manifest["embedder"] == "some/3"
    np.testing.assert_allclose(found.matrices["a.word"], content.matrices["a.word"], atol=0.5 / 127 * 1.27)
    assert pack(found) == data  # what 8 bits kept is kept


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)))
def test_every_number_comes_back_within_half_a_step_of_its_column(matrix: np.ndarray) -> None:
    back = unpack(pack(WeightFile(manifest={}, matrices={"m": matrix}))).matrices["m"]
    step = np.abs(matrix).max(axis=0) / 127
    assert (np.abs(back - matrix) <= 0.51 * step + 1e-6).all()


@pytest.mark.parametrize("data", [b"", b"nothing of the kind"])
def test_a_damaged_file_is_named(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="no weights"):
        unpack(data)
