"""What most tests of the tools begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.mcp.desk import Desk, opened


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield from opened(tmp_path)
