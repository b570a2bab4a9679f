"""The content of the fitted files. In: fitted models. Out: what their files hold, rounded. `tacit` itself only reads these files."""

from __future__ import annotations

import numpy as np

from tacit.fitted import Artifact
from tacit.fitted.matrices import Int8Matrix, Matrix, MatrixValues, WeightMatrices
from tacit.reading.match import MatchModel, MatchValues, Weights
from tacit.recall.score import (
    EVIDENCE,
    GateModel,
    GateValues,
    NeedModel,
    NeedValues,
    PromptTransform,
    TransformValues,
)

DECIMALS = 5
_STEPS = 127
_SCALE_DIGITS = 5


def to_int8(matrix: Matrix) -> Int8Matrix:
    """Return the matrix rounded to 8 bits: in steps of 1 / 127 of the greatest absolute value of each column."""
    most = np.abs(matrix).max(axis=0, initial=0.0)
    scales = np.array([float(f"{m / _STEPS:.{_SCALE_DIGITS}g}") for m in most], np.float64)
    safe = np.where(scales > 0, scales, 1.0)
    steps = np.clip(np.rint(matrix / safe), -_STEPS, _STEPS).astype(np.int8)
    digits = [float(f"{scale:.{_SCALE_DIGITS}g}") for scale in scales.astype(np.float32)]
    return Int8Matrix(shape=(len(matrix), len(scales)), scales=tuple(digits), steps=steps.tobytes())


def weights_artifact(weights: WeightMatrices, name: str) -> Artifact[MatrixValues]:
    """Return `weights` as the content of a fitted file `name`; rounds each number to 8 bits."""
    return Artifact(
        name=name,
        origin=weights.origin,
        values=MatrixValues(
            names=dict(sorted(weights.names.items())),
            matrices={key: to_int8(matrix) for key, matrix in sorted(weights.matrices.items())},
        ),
    )


def rounded(weights: WeightMatrices) -> WeightMatrices:
    """Return `weights` rounded to 8 bits, as they would be read back from a file."""
    return WeightMatrices.of_artifact(weights_artifact(weights, ""))


def match_artifact(model: MatchModel) -> Artifact[MatchValues]:
    """Return the fitted file's content for `model`, numbers rounded to four decimals."""
    return Artifact(
        name="match",
        origin=model.origin,
        values=MatchValues(
            situations={name: round(rate, 4) for name, rate in sorted(model.situations.items())},
            triggers={name: round(rate, 4) for name, rate in sorted(model.triggers.items())},
            given=_rounded(model.given),
            local=_rounded(model.local),
        ),
    )


def _rounded(weights: Weights) -> Weights:
    k0, k1, k2, k3 = weights
    return round(k0, 4), round(k1, 4), round(k2, 4), round(k3, 4)


def transform_artifact(transform: PromptTransform) -> Artifact[TransformValues]:
    """Return the content of the fitted file of `transform`, rounded to `DECIMALS` places, the matrix to 8 bits."""
    return Artifact(
        name="prompt_transform",
        origin=transform.origin,
        values=TransformValues(
            mean=round(transform.mean, DECIMALS),
            deviation=round(transform.deviation, DECIMALS),
            vector=tuple(round(float(value), DECIMALS) for value in transform.vector),
            turn=None if transform.turn is None else to_int8(transform.turn),
        ),
    )


def gate_artifact(gate: GateModel) -> Artifact[GateValues]:
    """Return the content of the fitted file of `gate`."""
    return Artifact(
        name="gate", origin=gate.origin, values=GateValues(evidence=EVIDENCE, surfaces=gate.surfaces)
    )


def need_artifact(model: NeedModel) -> Artifact[NeedValues]:
    """Return the content of the fitted file of `model`."""
    groups = NeedValues(given=model.given, local=model.local)
    return Artifact(name="need", origin=model.origin, values=groups)
