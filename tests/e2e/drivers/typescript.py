"""The TypeScript client as it was built. In: `clients/typescript`. Out: Node programs, or a visible skip; in CI, a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

PACKAGE = Path(__file__).parents[3] / "clients" / "typescript"
BUILD = PACKAGE / "build"


def require_build() -> Path:
    """The folder of the built tests and examples; skips the test where it is missing, fails it in CI."""
    if not (BUILD / "test").is_dir() or shutil.which("node") is None:
        _missing()
    return BUILD


def run_node(*arguments: str, environment: dict[str, str], cwd: Path, given: str = "") -> str:
    """Run Node to its end, which must be a success; return what it printed."""
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, *arguments],
        cwd=cwd,
        env=environment,
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def _missing() -> NoReturn:
    message = "the TypeScript client is not built; `bash scripts/build_client.sh` builds it"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message)
    pytest.skip(message)
