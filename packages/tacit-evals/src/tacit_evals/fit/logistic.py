"""Logistic regression over a kernel, many classes at once, with soft labels and an offset.

In: a Gram matrix, targets between 0 and 1, an offset in logits. Out: dual weights and biases. Deterministic: no randomness,
a fixed number of steps. Each step moves by the inverse of the upper bound K / 4 + penalty I of the Hessian (Boehning and
Lindsay 1988), so that it can never overshoot; the bias makes a Newton step of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 30
_FLOOR = 1e-3


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def logit(p: Array, floor: float = 0.003) -> Array:
    clipped = np.clip(p, floor, 1.0 - floor)
    return np.log(clipped / (1.0 - clipped))


def fit_dual(
    gram: Array, targets: Array, *, penalty: float, offset: Array | None = None, steps: int = STEPS
) -> tuple[Array, Array]:
    """Dual weights (rows, classes) and biases (classes,) of `sigmoid(gram @ weights + bias + offset)`.

    Minimises the cross-entropy plus penalty / 2 times the squared norm of each class's weights.
    """
    fixed = np.zeros_like(targets) if offset is None else offset
    move = np.linalg.inv(gram / 4 + penalty * np.eye(len(gram)))
    weights, bias = np.zeros_like(targets), np.zeros(targets.shape[1])
    for _ in range(steps):
        p = sigmoid(gram @ weights + bias + fixed)
        bias = bias + (targets - p).mean(0) / np.maximum((p * (1 - p)).mean(0), _FLOOR)
        p = sigmoid(gram @ weights + bias + fixed)
        weights = weights + move @ (targets - p - penalty * weights)
    return weights, bias
