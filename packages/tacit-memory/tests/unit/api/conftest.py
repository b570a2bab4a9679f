"""The OpenAPI document as it is published; test_api_problems.py compares it with what the endpoints make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    return json.loads((Path(__file__).parents[5] / "docs/reference/openapi.json").read_text("utf-8"))
