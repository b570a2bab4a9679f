"""Matrices of weights in a fitted file: whole numbers of 8 bits with a scale per column.

In: values of the file. Out: matrices of float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, FitOrigin
from tacit.frozen import frozen

Matrix = NDArray[np.float32]


@frozen
class Int8Matrix:
    """A matrix in 8 bits: `steps` holds a signed byte per value, row by row; a value is its step times the scale of its column."""

    shape: tuple[int, int]
    scales: tuple[float, ...]
    steps: bytes


@frozen
class MatrixValues:
    """The values of a fitted file of matrices: lists of names (classes, features) and the matrices, each under its name."""

    names: Mapping[str, tuple[str, ...]]
    matrices: Mapping[str, Int8Matrix]


@frozen
class WeightMatrices:
    """The weights of a fitted model: named float matrices, with the names of their rows and columns.

    Attributes:
        origin: where they come from.
        names: lists of words: classes, features.
        matrices: two dimensions each, (inputs, outputs), by name.
    """

    origin: FitOrigin = field(default_factory=FitOrigin)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matrices: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def under(self, name: str) -> dict[str, Matrix]:
        """Return the matrices whose names begin with `name.`, by the rest of their names."""
        start = f"{name}."
        return {
            key.removeprefix(start): matrix for key, matrix in self.matrices.items() if key.startswith(start)
        }

    @classmethod
    def of_artifact(cls, artifact: Artifact[MatrixValues]) -> WeightMatrices:
        """Return the weights that a fitted file holds.

        Raises:
            InvalidInput: if a matrix has too many or too few numbers.
        """
        try:
            matrices = {key: from_int8(matrix) for key, matrix in artifact.values.matrices.items()}
        except ValueError as error:
            raise InvalidInput(
                f"The weights {artifact.name!r} are damaged: {error}.",
                hint="Fit them again, or reinstall Tacit.",
            ) from error
        return cls(origin=artifact.origin, names=artifact.values.names, matrices=matrices)


def from_int8(matrix: Int8Matrix) -> Matrix:
    """Return the float matrix that `matrix` encodes.

    Raises:
        ValueError: if it has too many or too few numbers.
    """
    steps = np.frombuffer(matrix.steps, np.int8).reshape(matrix.shape)
    return steps.astype(np.float32) * np.array(matrix.scales, np.float32)
