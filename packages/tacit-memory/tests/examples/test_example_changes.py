"""A space, a kind and a preset, added to a copy of the source in at most four files, and used there by an engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from examples.installed import EXAMPLES

SOURCE = Path(tacit.__file__).parent
MOST_FILES = 4
LEFT_OUT = shutil.ignore_patterns("static", "*.onnx")


class Checkout:
    """A copy of the source that a change is made in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changed: set[str] = set()
        shutil.copytree(SOURCE, root / "tacit", ignore=LEFT_OUT)

    def add(self, example: Path, path: str) -> None:
        """Add a file."""
        place = self.root / "tacit" / path
        place.parent.mkdir(exist_ok=True)
        shutil.copy(example, place)
        self.changed.add(path)

    def insert(self, path: str, *, before: str, line: str) -> None:
        """Insert `line` before the first occurrence of `before`."""
        file = self.root / "tacit" / path
        text = file.read_text("utf-8")
        assert before in text, path
        file.write_text(text.replace(before, line + before, 1), "utf-8")
        self.changed.add(path)

    def run(self, code: str, home: Path) -> str:
        """What `code` prints in a process that uses this source."""
        environ = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "TACIT_HOME": str(home),
            "TACIT_EMBEDDER__PROVIDER": "fake",
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environ,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "src")


def test_a_space_is_a_section_a_line_in_the_registry_and_a_name_of_the_settings(
    checkout: Checkout, tmp_path: Path
):
    spaces = "recall/spaces.py"
    section = (EXAMPLES / "space" / "weekday.py").read_text(encoding="utf-8").partition("\n\n\n")[2]
    checkout.insert(spaces, before="from typing import Literal", line="from datetime import UTC, datetime\n")
    checkout.insert(spaces, before="SPACES: dict[str, Space] = {", line=f"{section}\n\n")
    checkout.insert(spaces, before="        CAUSAL,", line="        WEEKDAY,\n")
    checkout.insert("config/settings.py", before='"semantic", "lexical"', line='"weekday", ')
    checkout.insert(
        "presets/focused/preset.py", before='"semantic", "character", "recent"', line='"lexical", "weekday", '
    )
    assert len(checkout.changed) <= MOST_FILES
    said = checkout.run(
        """
from contextlib import closing
from tacit.app.wiring import open_engine
from tacit.model.pack import Surface
from tacit.recall.spaces import SPACES
recall = {"spaces": ["lexical", "weekday"], "thresholds": {"prompt": 0.0}}
with closing(open_engine(overrides={"recall": recall})) as engine:
    engine.remember("The build runs on ninja.", cwd="")
    (candidate,) = engine.recall("what does the build run on", surface=Surface.PROMPT).trace.candidates
    print(dict(candidate.scores)["weekday"], [space.name for space in SPACES.values()])
""",
        tmp_path / "home",
    )
    assert said.startswith("1.0 [")
    assert "'weekday'" in said


def test_a_kind_is_one_record(checkout: Checkout, tmp_path: Path):
    kind = 'Kind(name="risk", label="Risk", prefix="RISK", importance=0.9, standing=True, description="what may go wrong"),'
    checkout.insert("model/kinds.py", before='    Kind(\n        name="preference"', line=f"    {kind}\n")
    assert len(checkout.changed) <= MOST_FILES
    said = checkout.run(
        """
from contextlib import closing
from tacit.app.wiring import open_engine
from tacit.model.pack import Surface
with closing(open_engine()) as engine:
    engine.remember("The upload may time out on slow lines.", kind="risk", cwd="")
    print(engine.context(cwd="").text)
""",
        tmp_path / "home",
    )
    assert "[Risk] The upload may time out on slow lines." in said


def test_a_preset_with_a_score_of_its_own_is_a_folder_with_settings_and_a_module(
    checkout: Checkout, tmp_path: Path
):
    checkout.add(EXAMPLES / "preset" / "settings.yaml", "presets/newest/settings.yaml")
    checkout.add(EXAMPLES / "preset" / "preset.py", "presets/newest/preset.py")
    assert len(checkout.changed) <= MOST_FILES
    said = checkout.run(
        """
from contextlib import closing
from tacit.app.wiring import open_engine
from tacit.model.pack import Surface
from tacit.providers.clock import FakeClock
clock = FakeClock(now_ms=1_700_000_000_000)
with closing(open_engine(overrides={"preset": "newest"}, clock=clock)) as engine:
    for text in ("The old build ran on make.", "The build runs on ninja."):
        engine.remember(text, cwd="")
        clock.advance(86_400_000)
    found = engine.recall("what does the build run on", surface=Surface.PROMPT)
    print([item.candidate.memory.content for item in found.pack.items], found.trace.candidates[0].reasons)
""",
        tmp_path / "home",
    )
    assert said.startswith("['The build runs on ninja.'] ('1 days old',)")
