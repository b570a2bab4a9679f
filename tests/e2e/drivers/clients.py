"""Where the real clients are. In: the repository, TACIT_E2E_CLIENTS. Out: an executable, or a visible skip.

On a machine that calls itself CI a missing client is a failure: a skipped proof is no proof.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

INSTALLED = Path(__file__).parents[1] / "clients" / "node_modules"


def client_path(name: str) -> Path | None:
    """The installed client `name` (`claude`, `opencode`), or None."""
    path = Path(os.environ.get("TACIT_E2E_CLIENTS") or INSTALLED) / ".bin" / name
    return path if path.exists() else None


def require_client(name: str) -> Path:
    """The installed client `name`; skips the test where it is missing, fails it in CI."""
    path = client_path(name)
    if path is not None:
        return path
    message = f"the real client {name!r} is not installed; `bash scripts/install_clients.sh` installs it"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
