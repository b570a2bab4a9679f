"""A home that the code of commit 9f896ae filled is opened with the code of today: nothing in it is lost.

scripts/make_home_9f896ae.py made tests/homes/home_9f896ae.zip, with what the code of that commit said of the home (`expected.json`).
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agent
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.backends.sqlite.schema import SCHEMA_VERSION
from tacit.config.home import Home
from tacit.config.layers import read_settings
from tacit.daemon.launcher import write_launcher
from tacit.hosts.install import HOSTS, apply, plan
from tacit.model.memory import Memory
from tacit.model.session import SessionKey
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock

ARCHIVE = Path(__file__).parents[2] / "homes" / "home_9f896ae.zip"
EVERY_STATUS = MemoryFilter(statuses=("active", "quarantined", "superseded", "retired"))
LATER_MS = 1_780_000_000_000 + 2 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OldHome:
    """The unpacked archive: the home, its project, the user's folder, and what was said of it."""

    home: Home
    project: Path
    user: Path
    expected: dict[str, Any]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode()
            assert not re.search(r"(?<![\w.~@-])/(?:root|home|work|Users)/", text), name
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    return folder


@pytest.fixture
def old(unpacked: Path, tmp_path: Path) -> OldHome:
    folder = tmp_path / "old"
    shutil.copytree(unpacked, folder)
    for file in folder.rglob("*"):
        if file.is_file():
            text = file.read_text("utf-8")
            file.write_text(
                text.replace("@FOLDER@", str(folder)).replace("@PYTHON@", sys.executable), "utf-8"
            )
    home = Home(folder / "home")
    with closing(sqlite3.connect(home.database)) as database:
        database.executescript((home.root / "tacit.sql").read_text("utf-8"))
    (home.root / "tacit.sql").unlink()
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    return OldHome(home=home, project=folder / "shop", user=folder / "user", expected=expected)


@pytest.fixture
def engine(old: OldHome) -> Iterator[Engine]:
    with closing(open_engine(old.home.root, clock=FakeClock(now_ms=LATER_MS))) as opened:
        yield opened


def described(memory: Memory, like: dict[str, Any]) -> dict[str, object]:
    """Those fields of a memory that `like` has, in the shapes of JSON."""
    trigger = {name: getattr(memory.trigger, name) for name in like["trigger"]}
    told = {
        "scope": str(memory.scope),
        "tier": memory.provenance.tier.name,
        "source": memory.provenance.source,
        "valid_to_ms": memory.validity.valid_to_ms,
        "superseded_by": memory.validity.superseded_by,
        "trigger": trigger,
    }
    found = {name: told[name] if name in told else getattr(memory, name) for name in like}
    return json.loads(json.dumps(found))


def told(trace: Trace) -> dict[str, object]:
    """One trace with its reasons as text, as the archive has it."""
    drops = [
        [stage.stage, drop.memory_id, str(drop.reason)] for stage in trace.stages for drop in stage.drops
    ]
    return {
        "id": trace.id, "surface": trace.surface.value, "session": trace.session, "at_ms": trace.at_ms,
        "silence": str(trace.silence), "injected": list(trace.injected), "block": trace.block, "drops": drops,
    }  # fmt: skip


def send(engine: Engine, old: OldHome, session: str, event: str, **fields: object) -> str:
    engine.clock.advance(10_000)
    return agent.send(engine, old.project, event, session, **fields)


def test_every_memory_and_its_history_are_there(old: OldHome, engine: Engine) -> None:
    found = {memory.id: memory for memory in engine.list_memories(EVERY_STATUS, limit=500)}
    assert set(found) == {given["id"] for given in old.expected["memories"]}
    assert {given["status"] for given in old.expected["memories"]} == {
        "active",
        "quarantined",
        "superseded",
        "retired",
    }
    for given in old.expected["memories"]:
        assert described(found[given["id"]], given) == given
    for memory_id, count in old.expected["versions"].items():
        assert len(engine.history(memory_id)) == count
    assert engine.check() == ()
    assert engine.status().store.schema_version == SCHEMA_VERSION
    assert engine.status().store.vectors_missing == 0
    assert engine.status().store.handovers_pending == old.expected["handovers_pending"] > 0


def test_the_home_is_found_again_by_meaning_and_by_words(old: OldHome, engine: Engine) -> None:
    assert engine.project(str(old.project)).id == old.expected["project"]
    block = engine.recall("Which port does the orders service use?", cwd=str(old.project)).block
    assert "The orders service listens on port 9000." in block.text
    assert "8420" not in block.text


def test_traces_show_their_old_reasons_as_text(old: OldHome, engine: Engine) -> None:
    found = {trace.id: told(trace) for trace in engine.why(limit=500)}
    assert found == {given["id"]: given for given in old.expected["traces"]}
    assert any(given["drops"] for given in old.expected["traces"])
    assert "the session is muted" in {trace["silence"] for trace in found.values()}


def test_named_values_are_kept_and_mean_the_same(old: OldHome, engine: Engine) -> None:
    with closing(sqlite3.connect(old.home.database)) as database:
        values = dict(database.execute("SELECT name, value FROM named_values"))
        exposures = database.execute("SELECT count(*) FROM exposures").fetchone()[0]
    assert values.items() >= old.expected["values"].items()
    assert exposures == old.expected["exposures"]
    verdict = old.expected["verdict"]
    said = engine.admin.verdicts.of(verdict["trace"])
    assert [(one.memory_id, one.useful) for one in said] == [(verdict["memory"], True)]


def test_what_the_user_rejected_is_not_learned_again(old: OldHome, engine: Engine) -> None:
    send(engine, old, "day-four", "SessionStart", source="startup")
    stored = {memory.content for memory in engine.list_memories(EVERY_STATUS, limit=500)}
    send(
        engine, old, "day-four", "UserPromptSubmit", prompt="look into the export job, please", prompt_id="s1"
    )
    assert {memory.content for memory in engine.list_memories(EVERY_STATUS, limit=500)} == stored
    assert "capture/rejected/project:" + old.expected["project"] in old.expected["values"]


def test_rule_files_that_were_imported_are_not_imported_twice(old: OldHome, engine: Engine) -> None:
    before = len(engine.list_memories(EVERY_STATUS, limit=500))
    engine.init_project(str(old.project))
    assert len(engine.list_memories(EVERY_STATUS, limit=500)) == before


def test_a_muted_session_stays_silent_and_another_does_not(old: OldHome, engine: Engine) -> None:
    sessions = {
        f"{state.key.host}/{state.key.session_id}": {
            "muted": state.muted,
            "turn": state.turn,
            "epoch": state.epoch,
        }
        for state in engine.sessions(limit=50)
    }
    assert sessions == old.expected["sessions"]
    assert sessions["claude-code/day-two"]["muted"]
    answers = {
        name: send(engine, old, name, "SessionStart", source="clear") for name in ("day-two", "day-three")
    }
    assert "The orders service" not in answers["day-two"]
    assert "Run the linter before every push." in answers["day-three"]
    engine.mute(SessionKey(host="claude-code", session_id="day-two"), muted=False)
    assert "Run the linter before every push." in send(engine, old, "day-two", "SessionStart", source="clear")


def test_settings_hold_and_a_renamed_one_works_with_a_warning(old: OldHome) -> None:
    report = read_settings(old.home, old.project, environ={})
    for key, value in old.expected["settings"].items():
        if key != "recall.max_items":  # the section of the project says less
            assert report.explain(key)[-1].plain == value
    assert report.settings.recall.max_items == 4
    assert (
        read_settings(old.home, old.project, agent="reviewer", environ={}).settings.recall.budgets.prompt
        == 300
    )
    assert report.settings.kinds["runbook"].standing
    assert report.settings.capture.extractor.tokens_per_session == 5_000
    (warning,) = report.warnings
    assert "`capture.extractor.most_chars` is now called `capture.extractor.tokens_per_session`" in str(
        warning
    )
    assert report.sound
    assert not report.settings.privacy.incognito


@pytest.mark.parametrize("host", HOSTS)
def test_what_was_installed_is_renewed_in_place(old: OldHome, tmp_path: Path, host: str) -> None:
    new_user = tmp_path / "new"
    for user in (old.user, new_user):
        apply(plan(host, user_home=user, project_root=None, home=old.home, launcher=old.home.launcher))
    for file in new_user.rglob("*"):
        if file.is_file():
            assert (old.user / file.relative_to(new_user)).read_text("utf-8") == file.read_text("utf-8"), file
    again = plan(host, user_home=old.user, project_root=None, home=old.home, launcher=old.home.launcher)
    assert not [edit.path for edit in again.edits if edit.changes]


def test_the_launcher_is_renewed(old: OldHome, tmp_path: Path) -> None:
    write_launcher(old.home)
    new = Home(tmp_path / "new" / "home")
    write_launcher(new)
    for name in ("tacit-hook", "tacit_hook.py"):
        renewed = (old.home.bin_dir / name).read_text("utf-8").replace(str(old.home.root), str(new.root))
        assert renewed == (new.bin_dir / name).read_text("utf-8")
