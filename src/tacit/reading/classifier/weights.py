"""Weights as a small file that comes out the same byte for byte: whole numbers of 8 bits with a scale per column.

In: matrices of float, or the bytes of a file. Out: bytes, or matrices. Holds no dates but those given.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput

Matrix = NDArray[np.float32]

FORMAT = 1
_MANIFEST = "manifest.json"
_NAMES = "names.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_STEPS = 127
_SCALE_DIGITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """What one file of weights holds.

    Attributes:
        manifest: embedder, data, command, date, metrics; for people and for choosing.
        names: lists of words: classes, features.
        matrices: by name; after `unpack` they are what 8 bits kept.
    """

    manifest: Mapping[str, object]
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    matrices: Mapping[str, Matrix] = field(default_factory=dict[str, Matrix])

    def under(self, name: str) -> dict[str, Matrix]:
        """The matrices called `name.X`, by X."""
        start = f"{name}."
        return {key.removeprefix(start): one for key, one in self.matrices.items() if key.startswith(start)}


def pack(content: WeightFile) -> bytes:
    """The bytes of a file; equal content gives equal bytes. Matrices have two dimensions, (inputs, outputs)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        manifest = {"format": FORMAT, **content.manifest}
        _add(archive, _MANIFEST, json.dumps(manifest, sort_keys=True, indent=1, ensure_ascii=False).encode())
        _add(archive, _NAMES, json.dumps(dict(content.names), sort_keys=True, ensure_ascii=False).encode())
        for name in sorted(content.matrices):
            steps, scales = _in_steps(content.matrices[name])
            head = json.dumps(
                {"shape": steps.shape, "scales": [float(f"{s:.{_SCALE_DIGITS}g}") for s in scales]}
            )
            _add(archive, f"{name}.json", head.encode())
            _add(archive, f"{name}.i8", steps.tobytes())
    return out.getvalue()


def unpack(data: bytes) -> WeightFile:
    """Read the bytes of a file.

    Raises:
        InvalidInput: if they are no weights of this format.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            if manifest.get("format") != FORMAT:
                raise InvalidInput(f"These weights have format {manifest.get('format')!r}, not {FORMAT}.")
            names = {key: tuple(value) for key, value in json.loads(archive.read(_NAMES)).items()}
            stems = sorted(name.removesuffix(".i8") for name in archive.namelist() if name.endswith(".i8"))
            matrices = {stem: _matrix(archive, stem) for stem in stems}
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InvalidInput(
            f"These are no weights: {error}.", hint="Fit them anew, or install Tacit anew."
        ) from error
    return WeightFile(manifest=manifest, names=names, matrices=matrices)


def _matrix(archive: zipfile.ZipFile, stem: str) -> Matrix:
    head = json.loads(archive.read(f"{stem}.json"))
    steps = np.frombuffer(archive.read(f"{stem}.i8"), np.int8).reshape(head["shape"])
    return steps.astype(np.float32) * np.array(head["scales"], np.float32)


def _in_steps(matrix: Matrix) -> tuple[NDArray[np.int8], Matrix]:
    most = np.abs(matrix).max(axis=0, initial=0.0)
    scales = np.array([float(f"{m / _STEPS:.{_SCALE_DIGITS}g}") for m in most], np.float64)
    safe = np.where(scales > 0, scales, 1.0)
    return np.clip(np.rint(matrix / safe), -_STEPS, _STEPS).astype(np.int8), scales.astype(np.float32)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data, compresslevel=9)
