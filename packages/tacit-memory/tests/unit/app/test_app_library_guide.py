"""The examples of docs/guide/library.md, run in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[5] / "docs/guide/library.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_example_of_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TACIT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "example"}
    examples = EXAMPLE.findall(GUIDE.read_text("utf-8"))
    assert len(examples) >= 5
    for code in examples:
        exec(compile(code, str(GUIDE), "exec"), known)
    assert "PostgreSQL" in capsys.readouterr().out
