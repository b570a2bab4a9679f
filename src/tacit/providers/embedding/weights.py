"""Reads the weights out of an ONNX file without onnx, onnxruntime or protobuf.

In: a model file. Out: its named weights as arrays. Never runs a graph; knows only the types that our own model holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError

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
