"""Recording what is handed over, and comparing two recordings."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict

import pytest

from tacit.config.levels import shipped_levels
from tacit_evals.same_packs.recording import (
    GENERATED,
    SOURCE,
    compare,
    differs,
    make_plan,
    read_recording,
    record,
    write_recording,
)


def small_plan(**given):
    made = make_plan(**{"recalls": 14, "statements": 12, **given})
    return json.loads(json.dumps({**asdict(made), "presets": ["focused"]}))


@pytest.fixture(scope="module")
def recording():
    return record(small_plan(), source=SOURCE, commit="this")


def test_a_plan_has_as_many_recalls_as_asked_for_and_meets_every_event(data):
    plan = make_plan(recalls=90, statements=30, data=data / "inject")
    assert plan.recalls == 90
    assert {signal.project for signal in plan.signals} == {GENERATED, "alpha", "beta"}
    assert {statement.project for statement in plan.statements} == {"", GENERATED, "alpha", "beta"}
    events = {
        (signal.payload.get("hook_event_name", ""), signal.payload.get("source", ""))
        for signal in plan.signals
    }
    assert events >= {
        ("SessionStart", "startup"), ("SessionStart", "resume"), ("SessionStart", "compact"), ("UserPromptSubmit", ""),
        ("PreToolUse", ""), ("PostToolUse", ""), ("PostToolUseFailure", ""), ("SubagentStart", ""), ("", ""),
    }  # fmt: skip
    assert plan == make_plan(recalls=90, statements=30, data=data / "inject")


@pytest.mark.slow
def test_two_recordings_of_the_same_code_are_identical(recording):
    again = record(recording["plan"], source=SOURCE, commit="this")
    assert again == recording
    assert not differs(recording, again)
    lines = compare(recording, again)
    assert lines[0] == "store: identical (12 statements)"
    assert lines[1].startswith("focused: identical (14 recalls, ")
    assert not lines[1].startswith("focused: identical (14 recalls, 0 ")


@pytest.mark.slow
def test_a_reworded_opening_and_another_threshold_show(recording, tmp_path):
    code = tmp_path / "packages/tacit-memory/src"
    shutil.copytree(SOURCE / "packages/tacit-memory/src", code, ignore=shutil.ignore_patterns("static"))
    replace(code, "What is known from earlier work here.", "What was learned here.", suffix=".py")
    threshold = shipped_levels().balanced.threshold
    replace(
        code / "tacit/fitted",
        f'"threshold": {threshold},',
        '"threshold": 0.26,',
        suffix="levels.json",
    )
    after = record(recording["plan"], source=tmp_path, commit="changed")
    assert differs(recording, after)
    report = "\n".join(compare(recording, after, shown=20))
    assert "- answer: What is known from earlier work here." in report
    assert "+ answer: What was learned here." in report
    assert f"- threshold: {threshold}" in report
    assert "+ threshold: 0.26" in report
    assert "store: identical" in report


def replace(folder, before, after, *, suffix):
    """Put `after` in the place of `before` in the one file of `folder` that holds it."""
    (file,) = [path for path in folder.rglob(f"*{suffix}") if before in path.read_text("utf-8", "ignore")]
    file.write_text(file.read_text("utf-8").replace(before, after), "utf-8")


def test_a_recording_is_written_and_read_outside_the_project_only(tmp_path):
    given = {"format": 1, "commit": "this", "presets": {}}
    write_recording(given, tmp_path / "recording.gz")
    assert read_recording(tmp_path / "recording.gz") == given
    with pytest.raises(SystemExit, match="is in the project"):
        write_recording(given, SOURCE / "recording.gz")
    (tmp_path / "other").write_text("{}", "utf-8")
    with pytest.raises(SystemExit, match="is no recording"):
        read_recording(tmp_path / "other")
