"""Environment variables that a process reads or sets, besides settings (`layers.py`).

Every command loads this: nothing of the settings is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

ARRAY_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def one_thread_for_arrays(environ: MutableMapping[str, str] | None = None) -> None:
    """Make numpy compute in the calling thread, unless the user's variables say otherwise. Call it before numpy is imported.

    What a recall multiplies is too small to be shared out: on a busy machine waiting for the other threads took twenty times
    as long as the work.
    """
    variables = os.environ if environ is None else environ
    for name in ARRAY_THREADS:
        variables.setdefault(name, "1")


def no_reports_of_onnxruntime() -> None:
    """Switch off the telemetry of onnxruntime. Call it before onnxruntime is imported; later it has no effect.

    From 1.29 on its packages for Linux and macOS send what was loaded and how fast it ran, and keep a device id and a
    queue in `~/.cache/Microsoft` (https://github.com/microsoft/onnxruntime/pull/27379). Nothing of that is ours to send.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def variables() -> Mapping[str, str]:
    """Return all environment variables of this process."""
    return os.environ


def secret(name: str) -> str:
    """Return the value of an environment variable that holds a key; "" = it is not set."""
    return os.environ.get(name, "")


def search_path() -> str:
    """Return the folders in which programs are searched (PATH); "" = it is not set."""
    return os.environ.get("PATH", "")
