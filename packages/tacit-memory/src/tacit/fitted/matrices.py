"""Matrices of weights in a fitted file: whole numbers of 8 bits with a scale per column.

In: matrices of float. Out: values for the file, and the matrices that 8 bits keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.fitted.artifact import Artifact, Origin

Matrix = NDArray[np.float32]

_STEPS = 127
_SCALE_DIGITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Int8Matrix:
    """A matrix in 8 bits: `steps` holds a signed byte per value, row by row; a value is its step times the scale of its column."""

    shape: tuple[int, int]
    scales: tuple[float, ...]
    steps: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixValues:
    """The values of a fitted file of matrices: lists of names (classes, features) and the matrices, each under its name."""

    names: Mapping[str, tuple[str, ...]]
    matrices: Mapping[str, Int8Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightMatrices:
    """The weights of a fitted model: named float matrices, with the names of their rows and columns.

    Attributes:
        origin: where they come from.
        names: lists of words: classes, features.
        matrices: two dimensions each, (inputs, outputs), by name.
    """

    origin: Origin = field(default_factory=Origin)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matrices: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def under(self, name: str) -> dict[str, Matrix]:
        """Return the matrices whose names begin with `name.`, by the rest of their names."""
        start = f"{name}."
        return {
            key.removeprefix(start): matrix for key, matrix in self.matrices.items() if key.startswith(start)
        }

    def as_artifact(self, name: str) -> Artifact[MatrixValues]:
        """Return these weights as the content of a fitted file `name`; rounds each number to 8 bits."""
        return Artifact(
            name=name,
            origin=self.origin,
            values=MatrixValues(
                names=dict(sorted(self.names.items())),
                matrices={key: to_int8(matrix) for key, matrix in sorted(self.matrices.items())},
            ),
        )

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

    def rounded(self) -> WeightMatrices:
        """Return these weights rounded to 8 bits, as they would be read back from a file."""
        return WeightMatrices.of_artifact(self.as_artifact(""))


def from_int8(matrix: Int8Matrix) -> Matrix:
    """Return the float matrix that `matrix` encodes.

    Raises:
        ValueError: if it has too many or too few numbers.
    """
    steps = np.frombuffer(matrix.steps, np.int8).reshape(matrix.shape)
    return steps.astype(np.float32) * np.array(matrix.scales, np.float32)


def to_int8(matrix: Matrix) -> Int8Matrix:
    """Return the matrix rounded to 8 bits: in steps of 1 / 127 of the greatest absolute value of each column."""
    most = np.abs(matrix).max(axis=0, initial=0.0)
    scales = np.array([float(f"{m / _STEPS:.{_SCALE_DIGITS}g}") for m in most], np.float64)
    safe = np.where(scales > 0, scales, 1.0)
    steps = np.clip(np.rint(matrix / safe), -_STEPS, _STEPS).astype(np.int8)
    digits = [float(f"{scale:.{_SCALE_DIGITS}g}") for scale in scales.astype(np.float32)]
    return Int8Matrix(shape=(len(matrix), len(scales)), scales=tuple(digits), steps=steps.tobytes())
