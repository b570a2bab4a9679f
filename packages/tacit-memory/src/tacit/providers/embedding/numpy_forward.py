"""The shipped model's forward pass in numpy, for platforms without onnxruntime (Alpine, Intel macOS with a new Python).

In: the shipped `model.onnx` and token ids. Out: a unit vector. About five times slower than onnxruntime and needs 60 MB more;
activations stay in float32, so the vectors differ slightly (cosine above 0.98, held by a test) and share the identity.
Never used where onnxruntime loads. The weights are read out of the ONNX file without onnx or protobuf.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError

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
            self._linear(hidden, f"{name}.{projection}").reshape(length, _HEADS, size).transpose(1, 0, 2)
            for projection in ("query", "key", "value")
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
    whole, zero, scale = (
        _floats(stored, f"{name}_{suffix}") for suffix in ("quantized", "zero_point", "scale")
    )
    return (whole - zero) * scale


# --- the weights

# Field numbers of onnx.proto: ModelProto.graph, GraphProto.initializer, and those of TensorProto.
_GRAPH, _INITIALIZER = 7, 5
_DIMS, _TYPE, _FLOATS, _INTS, _NAME, _RAW = 1, 2, 4, 5, 8, 9
_TYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype("<f4"),
    2: np.dtype("u1"),
    3: np.dtype("i1"),
    7: np.dtype("<i8"),
}


def read_weights(path: Path) -> dict[str, NDArray[np.generic]]:
    """All initializers of the graph, by name, in their stored types and shapes.

    Raises:
        ProviderError: if the file cannot be read or is not such a model.
    """
    try:
        data = memoryview(path.read_bytes())
        graphs = [value for number, value in _fields(data) if number == _GRAPH]
        tensors = [
            value
            for graph in graphs
            for number, value in _fields(_require_bytes(graph))
            if number == _INITIALIZER
        ]
        return dict(_tensor(_require_bytes(tensor)) for tensor in tensors)
    except (OSError, ValueError, IndexError, KeyError, TypeError) as error:
        raise ProviderError(
            f"The embedding model {path} cannot be read: {error}", hint="Reinstall Tacit."
        ) from error


def _tensor(data: memoryview) -> tuple[str, NDArray[np.generic]]:
    name, dtype, raw = "", np.dtype("<f4"), b""
    shape: list[int] = []
    ints: list[int] = []
    for number, value in _fields(data):
        if number == _NAME:
            name = bytes(_require_bytes(value)).decode()
        elif number == _TYPE and isinstance(value, int):
            dtype = _TYPES[value]
        elif number == _DIMS:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == _INTS:
            ints += [value] if isinstance(value, int) else _varints(value)
        elif number in {_RAW, _FLOATS}:  # floats are packed, which is the same as raw
            raw = bytes(_require_bytes(value))
    array = np.frombuffer(raw, dtype=dtype) if raw else np.array(ints, dtype=np.int64).astype(dtype)
    return name, array.reshape(shape)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of one protobuf message: number and value."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        match key & 7:
            case 0:
                value, place = _varint(data, place)
                yield key >> 3, value
            case 2:
                size, place = _varint(data, place)
                if place + size > len(data):
                    raise ValueError("the file is cut off")
                yield key >> 3, data[place : place + size]
                place += size
            case 1 | 5 as wire:
                place += 8 if wire == 1 else 4
            case wire:
                raise ValueError(f"wire type {wire} is unknown")


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _varints(data: memoryview) -> list[int]:
    values: list[int] = []
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        values.append(value)
    return values


def _require_bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise TypeError("a number stands where a message should be")
    return value
