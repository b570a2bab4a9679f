"""Everything that was fitted, one JSON file each, and its one format and loader. In: a name and the type of its values. Out: values with their origin.

A file is an envelope: format, name, origin, values. The type of the values validates them; arrays of bytes are base64. Equal
values give equal bytes. A file is read when its model is first used, never at import. `matrices` holds the weights of models: it loads numpy
and is imported by itself, so that settings can be read without numpy. The models that use the values stand with their formulas, in the
layers above. Nothing is fitted here (`tacit_evals.fit` does).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.system.files import write_whole

FORMAT = 1
FOLDER = Path(__file__).parent
"""The folder of the fitted files that ship with Tacit."""

V = TypeVar("V")
M = TypeVar("M")
_models: dict[tuple[str, Callable[..., Any]], Any] = {}


@frozen
class FitOrigin:
    """Where fitted values come from: command, projects, date and embedder.

    Attributes:
        what: what the values are, for people.
        made_by: the command that writes the file, or "set by hand".
        projects: the projects whose data was used.
        date: of the fit; empty where the same input gives the same values on any day.
        embedder: identity of the embedder that the values depend on; empty = they depend on none.
        details: further facts, such as the number of rows.
    """

    what: str = ""
    made_by: str = ""
    projects: tuple[str, ...] = ()
    date: str = ""
    embedder: str = ""
    details: Mapping[str, int | float | str] = field(default_factory=dict[str, int | float | str])


@frozen
class Artifact(Generic[V]):
    """The content of a fitted file: its name, the origin of its values, and the values."""

    name: str
    origin: FitOrigin
    values: V


@frozen
class _FittedFile:
    format: int
    name: str
    origin: FitOrigin
    values: msgspec.Raw


def encode_artifact(artifact: Artifact[Any]) -> bytes:
    """Return the bytes of the fitted file for `artifact`; equal content gives equal bytes."""
    envelope = _FittedFile(
        format=FORMAT,
        name=artifact.name,
        origin=artifact.origin,
        values=msgspec.Raw(msgspec.json.encode(artifact.values)),
    )
    return msgspec.json.format(msgspec.json.encode(envelope), indent=1) + b"\n"


def decode_artifact(data: bytes, values: type[V], *, name: str) -> Artifact[V]:
    """Decode and validate the bytes of a fitted file.

    Args:
        data: the bytes.
        values: type of the values; `object` accepts any.
        name: the name that the file must contain.

    Raises:
        InvalidInput: if this is no such file, or one of another format.
    """
    try:
        envelope = msgspec.json.decode(data, type=_FittedFile)
        if (envelope.format, envelope.name) != (FORMAT, name):
            raise _unusable(
                name,
                f"it is {envelope.name!r} of format {envelope.format}, not {name!r} of format {FORMAT}",
            )
        content = msgspec.json.decode(envelope.values, type=values)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unusable(name, str(error)) from error
    return Artifact(name=name, origin=envelope.origin, values=content)


def read_artifact(path: Path, values: type[V], *, name: str) -> Artifact[V] | None:
    """Read a fitted file outside the package, such as one of the home; None = there is no such file.

    Raises:
        InvalidInput: if the file cannot be read, or is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror or error}.", hint="Make it readable, or remove it."
        ) from error
    try:
        return decode_artifact(data, values, name=name)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from error


def write_artifact(path: Path, artifact: Artifact[Any]) -> None:
    """Write a fitted file atomically, readable by its owner only; raises OSError."""
    write_whole(path, encode_artifact(artifact))


def load_fitted(name: str, values: type[V], make: Callable[[Artifact[V]], M]) -> M:
    """Return the model that `make` builds from the shipped fitted file `name`. It is built at the first call and cached for the process.

    Raises:
        InvalidInput: if the file is missing or damaged, or `make` cannot use its values.
    """
    model: M | None = _models.get((name, make))
    if model is None:
        path = FOLDER / f"{name}.json"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _unusable(name, str(error)) from error
        # Two threads may both read the file; all callers get the same model.
        model = cast(M, _models.setdefault((name, make), make(decode_artifact(data, values, name=name))))
    return model


def values_of(artifact: Artifact[V]) -> V:
    """Return the artifact's values: the `make` of `load_fitted` where the values themselves are the model."""
    return artifact.values


def _unusable(name: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"The fitted file {name}.json cannot be used: {reason}.", hint="Fit it again, or reinstall Tacit."
    )
