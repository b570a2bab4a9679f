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
    """A matrix: rows one after the other in `steps`, a byte each; a value is its step times the scale of its column."""

    shape: tuple[int, int]
    scales: tuple[float, ...]
    steps: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixValues:
    """Names of rows and columns, and matrices, as the file holds them."""

    names: Mapping[str, tuple[str, ...]]
    matrices: Mapping[str, Int8Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightMatrices:
    """The weights of a model.

    Attributes:
        origin: where they come from.
        names: lists of words: classes, features.
        matrices: two dimensions each, (inputs, outputs), by name.
    """

    origin: Origin = field(default_factory=Origin)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matrices: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def under(self, name: str) -> dict[str, Matrix]:
        """The matrices called `name.X`, by X."""
        start = f"{name}."
        return {
            key.removeprefix(start): matrix for key, matrix in self.matrices.items() if key.startswith(start)
        }

    def as_artifact(self, name: str) -> Artifact[MatrixValues]:
        """The content of the file `name`; keeps 8 bits of each number."""
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
        """The weights that a file holds.

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
        """These weights as a file keeps them."""
        return WeightMatrices.of_artifact(self.as_artifact(""))


def from_int8(matrix: Int8Matrix) -> Matrix:
    """The matrix that 8 bits keep.

    Raises:
        ValueError: if it has too many or too few numbers.
    """
    steps = np.frombuffer(matrix.steps, np.int8).reshape(matrix.shape)
    return steps.astype(np.float32) * np.array(matrix.scales, np.float32)


def to_int8(matrix: Matrix) -> Int8Matrix:
    """The matrix in steps of 1 / 127 of the greatest number of each column."""
    most = np.abs(matrix).max(axis=0, initial=0.0)
    scales = np.array([float(f"{m / _STEPS:.{_SCALE_DIGITS}g}") for m in most], np.float64)
    safe = np.where(scales > 0, scales, 1.0)
    steps = np.clip(np.rint(matrix / safe), -_STEPS, _STEPS).astype(np.int8)
    digits = [float(f"{scale:.{_SCALE_DIGITS}g}") for scale in scales.astype(np.float32)]
    return Int8Matrix(shape=(len(matrix), len(scales)), scales=tuple(digits), steps=steps.tobytes())
