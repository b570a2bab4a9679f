"""The examples of docs/guide/middleware.md, run in their order with a home of their own; nothing is sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
GUIDE = Path(__file__).parents[3] / "docs/guide/middleware.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_example_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anthropic")
    monkeypatch.setenv("TACIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    known: dict[str, object] = {"__name__": "example"}
    examples = EXAMPLE.findall(GUIDE.read_text("utf-8"))
    assert len(examples) >= 3
    for code in examples:
        exec(compile(code, str(GUIDE), "exec"), known)
