"""Opening of ONNX models: one thread, little memory.

In: the path of a model. Out: a session that turns named arrays into arrays. Never downloads, never reports to the makers of
onnxruntime, never uses a device but the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tacit.config.environment import no_reports_of_onnxruntime
from tacit.errors import ProviderError


class _Named(Protocol):
    name: str


class OnnxSession(Protocol):
    """The part of `onnxruntime.InferenceSession` that Tacit uses."""

    def get_inputs(self) -> Sequence[_Named]:
        """Return the inputs in the order of the graph."""
        ...

    def get_outputs(self) -> Sequence[_Named]:
        """Return the outputs in the order of the graph."""
        ...

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Run the model, and return the outputs with these names. Safe to call from several threads."""
        ...


def run_model(
    session: OnnxSession, ids: Sequence[int], types: Sequence[int], *, outputs: Sequence[str] = (), model: str
) -> NDArray[Any]:
    """Run a model on one sequence of tokens, and return the first of `outputs` that it has, else its first output.

    `types` = 0 for tokens of a first text, 1 for those of a second one. `model` = its name in errors.

    Raises:
        ProviderError: if the model asks for something unknown, or fails.
    """
    row = np.array([ids], dtype=np.int64)
    offered = {
        "input_ids": row,
        "attention_mask": np.ones_like(row),
        "token_type_ids": np.array([types], dtype=np.int64),
    }
    names = [node.name for node in session.get_inputs()]
    unknown = [name for name in names if name not in offered]
    if unknown:
        raise ProviderError(f"The model {model} asks for unknown inputs: {', '.join(unknown)}.")
    present = [node.name for node in session.get_outputs()]
    output_name = next((name for name in outputs if name in present), present[0])
    try:
        return session.run([output_name], {name: offered[name] for name in names})[0]
    except Exception as error:  # onnxruntime's errors share no base class but this
        raise ProviderError(f"The model {model} failed: {error}") from error


def open_session(path: Path, weights: Mapping[str, NDArray[Any]] | None = None) -> OnnxSession:
    """Open the model at `path`.

    Args:
        path: the model's file.
        weights: values of the model's initializers by name. They replace those in the file and are not copied. A memory-mapped
            array is read from its file when it is needed, and the system can free its pages again.

    One thread, because on a busy machine the spinning threads of onnxruntime make a short text slower (2.0 to 6.5 ms
    measured); no arena and no memory pattern, because they keep memory for the largest text ever seen.

    Raises:
        ImportError: if onnxruntime is not installed (it has no wheel for some platforms).
        ProviderError: if the file is missing or is no model.
    """
    no_reports_of_onnxruntime()
    import onnxruntime  # noqa: PLC0415 - 50 ms and 30 MB, spent when the first text comes

    runtime = cast(Any, onnxruntime)
    runtime.disable_telemetry_events()  # where the program around us had imported it before
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    if not path.is_file():
        raise ProviderError(
            f"The embedding model {path} does not exist.", hint="Reinstall Tacit or correct `embedder.model`."
        )
    open_it = cast("Callable[..., OnnxSession]", runtime.InferenceSession)
    try:
        values = {
            name: runtime.OrtValue.ortvalue_from_numpy(array) for name, array in (weights or {}).items()
        }
        for name, value in values.items():
            options.add_initializer(name, value)
        session = open_it(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base class but this
        raise ProviderError(
            f"The embedding model {path} cannot be loaded: {error}",
            hint="Reinstall Tacit or correct `embedder.model`.",
        ) from error
    cast(Any, session).kept_weights = values  # onnxruntime keeps a bare pointer to them
    return session
