"""A rescan takes out of everything stored what the rules of today find, and a second one finds nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3

from agent import send
from samples import NOW_MS
from tacit.app.wiring import open_engine
from tacit.model.pack import Surface
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DESK = "ACME-4711"
RULE = "Run `make lint` before every commit."


def opened(home, **privacy):
    clock, settings = FakeClock(now_ms=NOW_MS), {"privacy": privacy}
    return contextlib.closing(
        open_engine(home.root, overrides=settings, clock=clock, embedder=FakeEmbedder())
    )


def left(home, *more):
    """Where a part of either secret still is, in bytes or in an index of words."""
    needles = [TOKEN[6:14].lower(), TOKEN[20:28].lower(), DESK.lower()]
    found = []
    for path in (*home.root.rglob("*"), *more):
        if not path.is_file():
            continue
        content = path.read_bytes().lower()
        found += [path.name for needle in needles if needle.encode() in content]
        if path.suffix == ".db":
            with contextlib.closing(sqlite3.connect(path)) as base:
                for table in ("text_words_terms", "text_code_terms"):
                    terms = [term for (term,) in base.execute(f"SELECT term FROM {table}")]
                    found += [table for term in terms if term in needles or "4711" in term]
    return found


def fill(home, place, tmp_path):
    """A home of someone who had redaction off and no rule for the desk."""
    with opened(home, redact=False) as engine:
        engine.remember(
            f"Deploy with {TOKEN} on Mondays.", cwd=str(place), when="deploy", files=[f"src/{DESK}.py"]
        )
        engine.remember(
            f"Ask the {DESK} desk before every release.", cwd=str(place), when=f"release, cmd:{DESK}"
        )
        edited = engine.remember(f"The {DESK} desk is closed on Fridays.", cwd=str(place))[0].memory
        engine.memories.edit(engine.show(edited.id), content="The desk is closed on Fridays.")
        kept = engine.remember(RULE, cwd=str(place), when="commit")[0].memory
        send(engine, place, "SessionStart", source="startup")
        send(engine, place, "UserPromptSubmit", prompt=f"release with {TOKEN}, tell {DESK}")
        call = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": f"deploy {TOKEN}"}}
        send(engine, place, "PostToolUseFailure", **call, error=f"fatal: {TOKEN} refused by {DESK}")
        engine.recall(f"what about {TOKEN} and {DESK}", cwd=str(place))
        engine.prerender()
        engine.maintenance.backup(tmp_path / "backup.db")
    (home.root / "log").mkdir(exist_ok=True)
    (home.root / "log" / "daemon.log").write_text(json.dumps({"message": f"refused {TOKEN}"}) + "\nfine\n")
    (home.root / "spool" / "one.json").write_text(json.dumps({"prompt": f"tell {DESK}"}))
    return kept


def test_a_rescan_leaves_nothing_and_a_second_one_finds_nothing(home, place, tmp_path):
    kept = fill(home, place, tmp_path)
    assert left(home, tmp_path / "backup.db")
    with opened(home, deny=[DESK]) as engine:
        before = engine.list_memories(MemoryFilter(statuses=None))
        seen = engine.maintenance.rescan(dry_run=True)
        assert seen.rows["memories"] == 3, "one holds it in its span alone"
        assert set(seen.rows) >= {"memories", "versions", "traces", "sessions"}
        assert set(seen.files) >= {"log", "start", "spool", str(tmp_path / "backup.db")}
        assert engine.list_memories(MemoryFilter(statuses=None)) == before, "a dry run changes nothing"

        done = engine.maintenance.rescan(dry_run=False)
        assert done.rows == seen.rows
        assert done.left == ()
        assert left(home, tmp_path / "backup.db") == []
        assert engine.show(kept.id) == kept
        after = {memory.id: memory for memory in engine.list_memories(MemoryFilter(statuses=None))}
        assert set(after) == {memory.id for memory in before}
        assert any("[redacted:denied] desk" in memory.content for memory in after.values())
        assert engine.store.check() == ()
        assert engine.status().store.vectors_missing == 0
        assert "desk" in engine.recall("release desk", cwd=str(place), surface=Surface.ON_DEMAND).block.text

        assert engine.maintenance.rescan(dry_run=False).clean
    assert (home.root / "log" / "daemon.log").read_text().endswith("\nfine\n")


def test_folders_that_a_home_needs_are_not_shortened(home, place, tmp_path):
    fill(home, place, tmp_path)
    with opened(home) as engine:
        engine.init_project(str(place))
        projects = engine.store.projects()
        engine.maintenance.rescan(dry_run=False)
        assert engine.store.projects() == projects
        assert engine.store.get_value(f"init:{projects[0].id}") == str(place)


def test_a_copy_that_is_gone_or_damaged_is_said(home, place, tmp_path):
    fill(home, place, tmp_path)
    (tmp_path / "backup.db").write_bytes(b"no database at all" * 100)
    with opened(home) as engine:
        done = engine.maintenance.rescan(dry_run=False)
        assert len(done.left) == 1
        assert str(tmp_path / "backup.db") in done.left[0]
        (tmp_path / "backup.db").unlink()
        assert engine.maintenance.rescan(dry_run=False).left == ()


def test_a_backup_of_a_newer_schema_is_left_alone_and_said(home, place, tmp_path):
    version = 99
    fill(home, place, tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "backup.db")) as backup:
        backup.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "backup.db").read_bytes()
    with opened(home) as engine:
        done = engine.maintenance.rescan(dry_run=False)
    (said,) = done.left
    assert str(tmp_path / "backup.db") in said
    assert f"has schema {version}" in said
    assert (tmp_path / "backup.db").read_bytes() == before
