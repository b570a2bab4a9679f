"""Where the real clients are. In: the repository, TACIT_E2E_CLIENTS. Out: an executable, or a visible skip.

On a machine that calls itself CI a missing client is a failure: a skipped proof is no proof.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

INSTALLED = Path(__file__).parents[1] / "clients" / "node_modules"


def modules() -> Path:
    """The folder that the clients are installed in."""
    return Path(os.environ.get("TACIT_E2E_CLIENTS") or INSTALLED)


def client_path(name: str) -> Path | None:
    """The installed client `name` (`claude`, `opencode`), or None."""
    path = modules() / ".bin" / name
    return path if path.exists() else None


def require_client(name: str) -> Path:
    """The installed client `name`; skips the test where it is missing, fails it in CI."""
    path = client_path(name)
    return path if path is not None else _missing(name)


def _missing(name: str) -> NoReturn:
    message = f"the real client {name!r} is not installed; `bash scripts/install_clients.sh` installs it"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
