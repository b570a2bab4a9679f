"""Environment variables that a process reads or sets, besides settings (`layers.py`).

Every command loads this: nothing of the settings is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

ARRAY_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def one_thread_for_arrays(environ: MutableMapping[str, str] | None = None) -> None:
    """Have numpy compute on the thread that asks, unless the user says otherwise; before numpy is loaded.

    What a recall multiplies is too small to be shared out: on a busy machine waiting for the other threads took twenty times
    as long as the work.
    """
    variables = os.environ if environ is None else environ
    for name in ARRAY_THREADS:
        variables.setdefault(name, "1")


def no_reports_of_onnxruntime() -> None:
    """Keep onnxruntime from reporting to its makers; call it before onnxruntime is imported, which decides it for good.

    From 1.29 on its packages for Linux and macOS send what was loaded and how fast it ran, and keep a device id and a
    queue in `~/.cache/Microsoft` (https://github.com/microsoft/onnxruntime/pull/27379). Nothing of that is ours to send.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def variables() -> Mapping[str, str]:
    """All of them: for a program that is started, and for a shell that asks through them."""
    return os.environ


def secret(name: str) -> str:
    """The value of the variable that a setting names as holder of a key; "" when it is not set."""
    return os.environ.get(name, "")


def search_path() -> str:
    """Where programs are looked for; "" when nothing is said."""
    return os.environ.get("PATH", "")
