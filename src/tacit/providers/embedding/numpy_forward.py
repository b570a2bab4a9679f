"""The shipped model's forward pass in numpy, for platforms without onnxruntime (Alpine, Intel macOS with a new Python).

In: the shipped `model.onnx` and token ids. Out: a unit vector. About five times slower than onnxruntime and needs 60 MB more;
activations stay in float32, so the vectors differ slightly (cosine above 0.98, held by a test) and share the identity.
Never used where onnxruntime loads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError
from tacit.providers.embedding.weights import read_weights

Floats = NDArray[np.float32]

_LAYERS, _HEADS = 6, 12
_EPSILON = 1e-12  # layer_norm_eps of the model


class NumpyForward:
    """BERT with six layers, mean pooling and length 1. Safe to share between threads, which take turns.

    BLAS brings threads of its own; several callers at once would fight over the cores.
    """

    def __init__(self, model: Path) -> None:
        self._turn = threading.Lock()
        stored = read_weights(model)
        if "words_quantized" not in stored:
            raise ProviderError(f"{model} is not the model that Tacit ships.", hint="Reinstall Tacit.")
        # The table of words is the largest part: it stays in 8 bits, and only the rows of a text are made float.
        self._words = stored.pop("words_quantized")
        self._words_scale = np.float32(stored.pop("words_scale").item())
        self._words_zero = np.float32(stored.pop("words_zero_point").item())
        self._weights = {name: _floats(stored, name) for name in stored if _is_plain(name)}
        self._weights |= {
            name.removesuffix("_quantized"): _dequantized(stored, name.removesuffix("_quantized"))
            for name in stored
            if name.endswith("_quantized")
        }

    def __call__(self, ids: Sequence[int]) -> Floats:
        """The vector of one text, shape (384,)."""
        with self._turn:
            return self._run(ids)

    def _run(self, ids: Sequence[int]) -> Floats:
        words = (self._words[list(ids)].astype(np.float32) - self._words_zero) * self._words_scale
        hidden = self._norm(words + self._weights["positions"][: len(ids)], "embed")
        for index in range(_LAYERS):
            hidden = self._layer(hidden, f"layer{index}")
        mean = hidden.mean(axis=0)
        return cast(Floats, (mean / max(float(np.linalg.norm(mean)), 1e-9)).astype(np.float32))

    def _layer(self, hidden: Floats, name: str) -> Floats:
        length, width = hidden.shape
        size = width // _HEADS
        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(length, _HEADS, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32(size**-0.5)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        context = (weights @ value).transpose(1, 0, 2).reshape(length, width)
        middle = self._norm(self._linear(context, f"{name}.attention") + hidden, f"{name}.attention.norm")
        wide = _gelu(self._linear(middle, f"{name}.up"))
        return self._norm(self._linear(wide, f"{name}.down") + middle, name)

    def _linear(self, value: Floats, name: str) -> Floats:
        return cast(Floats, value @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])

    def _norm(self, value: Floats, name: str) -> Floats:
        centred = value - value.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return cast(Floats, centred / scale * self._weights[f"{name}.gain"] + self._weights[f"{name}.bias"])


def _gelu(value: Floats) -> Floats:
    """0.5 x (1 + erf(x / sqrt 2)); erf by Abramowitz and Stegun, formula 7.1.26, error below 1.5e-7."""
    x = value * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - series * np.exp(-x * x), x)
    return cast(Floats, value * (1 + erf) * np.float32(0.5))


def _is_plain(name: str) -> bool:
    return name == "positions" or name.endswith((".gain", ".bias"))


def _floats(stored: dict[str, NDArray[np.generic]], name: str) -> Floats:
    return stored[name].astype(np.float32)


def _dequantized(stored: dict[str, NDArray[np.generic]], name: str) -> Floats:
    """(whole - zero) x scale, with one zero and scale per output channel (the last axis)."""
    whole, zero, scale = (_floats(stored, f"{name}_{part}") for part in ("quantized", "zero_point", "scale"))
    return (whole - zero) * scale
