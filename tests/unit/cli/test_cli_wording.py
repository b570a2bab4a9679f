"""Sentences of reports that people read: numbers agree with their nouns, and what is counted is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.setup import _difference
from tacit.cli.tuning import print_report
from tacit.hosts.install import FileEdit

REPORT = {
    "pairs": 47, "note": "", "before": 0.3, "after": 0.5, "rate_before": 0.47, "rate_after": 0.1, "handed_before": 0.6,
    "handed_after": 0.4, "judged_useful": 0, "judged_wrong": 0, "applied": False,
}  # fmt: skip


@pytest.mark.parametrize("paired", ["projects", "situations"])
def test_tune_explains_what_its_false_alarms_are(capsys, paired):
    print_report({**REPORT, "paired": paired})
    said = capsys.readouterr().out
    assert "Looked at 47 prompts" in said
    assert "deserve nothing" not in said
    assert "No memory fits there" in said
    assert "false alarms" in said
    assert "47%" in said


def test_one_added_line_is_a_line():
    before = "".join(f"removed {number}\n" for number in range(60))
    edit = FileEdit(path=Path("settings.json"), before=before, after="added\n", why="a test")
    (said,) = _difference(edit, whole=False)
    assert said.startswith("1 line added")
