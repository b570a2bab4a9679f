"""Sentences of reports that people read: numbers agree with their nouns, and what is counted is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.config import print_levels
from tacit.cli.setup import _difference
from tacit.hosts.install.files import FileEdit


def level(name, before, after):
    return {
        "name": name, "bound": 0.1, "before": before, "after": after, "rate_before": 0.47, "rate_after": 0.1,
        "handed_before": 0.6, "handed_after": 0.4, "tokens_after": 12.4, "changed": 3, "useful_kept": 2, "wrong_kept": 1,
    }  # fmt: skip


REPORT = {
    "pairs": 47, "note": "", "level": "balanced", "judged_useful": 0, "judged_wrong": 0, "applied": False, "explicit": None,
    "explicit_place": "", "levels": [level("quiet", 0.4, 0.6), level("balanced", 0.3, 0.5), level("eager", 0.2, 0.4)],
}  # fmt: skip


@pytest.mark.parametrize("paired", ["projects", "situations"])
def test_tune_explains_what_its_false_alarms_are(capsys, paired):
    print_levels({**REPORT, "paired": paired})
    said = capsys.readouterr().out
    assert "Looked at 47 prompts" in said
    assert "deserve nothing" not in said
    assert "No memory fits there" in said
    assert "false alarms" in said
    assert "47% -> 10%" in said


def test_tune_shows_each_level_and_which_one_is_in_use(capsys):
    print_levels({**REPORT, "paired": "projects", "judged_useful": 3, "judged_wrong": 4})
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if "->" in line]
    assert [row[0] for row in rows] == ["quiet", "balanced*", "eager"]
    assert rows[1][1:4] == ["0.300", "->", "0.500"]
    assert rows[1][-1] == "12"
    assert "at the level balanced: 2 of 3 useful ones would stay, 1 of 4 wrong ones too" in said
    assert "Nothing was written" in said
    assert "wins over" not in said


def test_tune_names_a_threshold_that_wins_over_the_levels(capsys):
    print_levels(
        {**REPORT, "paired": "projects", "applied": True, "explicit": 0.3, "explicit_place": "config.yaml:3"}
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "recall.thresholds.prompt = 0.3 (config.yaml:3) wins over every level" in said
    assert "tacit config reset recall.thresholds.prompt" in said
    assert "Kept in your home" in said


def test_one_added_line_is_a_line():
    before = "".join(f"removed {number}\n" for number in range(60))
    edit = FileEdit(path=Path("settings.json"), before=before, after="added\n", why="a test")
    (said,) = _difference(edit, whole=False)
    assert said.startswith("1 line added")
