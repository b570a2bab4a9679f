"""Importers on what the real tools write: their own packages make the files, in an environment of their own.

Sugar writes its database; mem0's history and mcp-memory-service's export are written by their modules; the table of
mcp-memory-service and those of claude-mem are made by the statements in their packages, because the tools themselves need a model, or
a runtime that is not here. Skipped, visibly, where the packages cannot be had.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.app.engine import Engine
from tacit.app.transfer.report import ImportOptions, ImportReport
from tacit.app.wiring import open_engine
from tacit.model.memory import Memory
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

pytestmark = pytest.mark.e2e
NOW = 1_795_000_000_000
MAY = 1_777_629_600_000
PACKAGES = ("sugarai==3.10.3", "mem0ai==2.2.1", "mcp-memory-service==12.4.0", "pyyaml")

SUGAR = """
import sys
from datetime import datetime, timezone
from sugar.memory.store import MemoryStore
from sugar.memory.types import MemoryEntry, MemoryType
store = MemoryStore(sys.argv[1])
said = [
    (MemoryType.DECISION, "Payments go through Stripe Checkout.", {"tags": ["pay"], "file_paths": ["pay.py"]}, 1.6),
    (MemoryType.PREFERENCE, "Answer in British English.", {}, 2.0),
    (MemoryType.ERROR_PATTERN, "`make schema` fails until `make generate` has run.", {}, 1.0),
]
for number, (kind, content, meta, importance) in enumerate(said):
    store.store(MemoryEntry(id=f"s{number}", memory_type=kind, content=content, metadata=meta, importance=importance,
                            created_at=datetime(2026, 5, 1, 10, tzinfo=timezone.utc)))
store.close()
"""
MEM0 = """
import importlib.util, pathlib, sys
site = next(path for path in sys.path if path.endswith("site-packages"))
found = importlib.util.spec_from_file_location("storage", pathlib.Path(site) / "mem0/memory/storage.py")
storage = importlib.util.module_from_spec(found)
found.loader.exec_module(storage)
held, day = storage.SQLiteManager(sys.argv[1]), "2026-05-01T10:00:00+00:00"
held.add_history("m1", None, "Answers are in British English", "ADD", created_at=day)
held.add_history("m1", "Answers are in British English", "Answers are in plain British English", "UPDATE", created_at=day)
held.add_history("m2", None, "Uses tabs in Makefiles", "ADD", created_at=day)
held.add_history("m2", "Uses tabs in Makefiles", None, "DELETE", is_deleted=1)
held.close()
"""
SERVICE = """
import asyncio, pathlib, re, sqlite3, sys
import mcp_memory_service
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.sync.exporter import MemoryExporter
from mcp_memory_service.utils.hashing import generate_content_hash
SAID = [("Migrations are written by hand.", "decision", ["sql", "db"]), ("Deploys wait for a green build.", "observation", ["rule"])]
class Held:
    db_path = "held"
    async def get_stores(self): return ["default"]
    async def get_all_memories(self, store=None):
        return [Memory(content=c, content_hash=generate_content_hash(c), tags=tags, memory_type=kind, created_at=1777629600.0)
                for c, kind, tags in SAID]
asyncio.run(MemoryExporter(Held()).export_to_json(pathlib.Path(sys.argv[2])))
source = (pathlib.Path(mcp_memory_service.__file__).parent / "storage/mixins/migrations.py").read_text()
db = sqlite3.connect(sys.argv[1])
db.execute(re.search(r"CREATE TABLE IF NOT EXISTS memories \\([^;]*?\\n\\s*\\)", source)[0])
for one in asyncio.run(Held().get_all_memories()):
    db.execute("INSERT INTO memories (content_hash, content, tags, memory_type, metadata, created_at) VALUES (?,?,?,?,?,?)",
               (one.content_hash, one.content, ",".join(one.tags), one.memory_type, "{}", one.created_at))
db.commit()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the tools and nothing else."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not here")
    folder = tmp_path_factory.mktemp("tools") / "env"
    made = folder / "bin/python"
    for command in (
        [uv, "venv", "-q", "--python", "3.11", str(folder)],
        [uv, "pip", "install", "-q", "--no-deps", "--python", str(made), *PACKAGES],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode:
            pytest.skip(f"the tools cannot be installed here: {done.stderr[-200:]}")
    return made


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "shop" / ".git" / "objects").mkdir(parents=True)
    opened = open_engine(tmp_path / "home", embedder=FakeEmbedder(), clock=FakeClock(now_ms=NOW))
    yield opened
    opened.close()


def write(python: Path, program: str, *targets: Path) -> None:
    command = [str(python), "-c", program, *map(str, targets)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def take(engine: Engine, path: Path, tmp_path: Path) -> tuple[ImportReport, dict[str, Memory]]:
    """Import twice; the second time nothing happens."""
    wanted = ImportOptions(vouched=True)
    cwd = str(tmp_path / "shop")
    report = engine.transfer.take(path, cwd=cwd, wanted=wanted)
    again = dict(engine.transfer.take(path, cwd=cwd, wanted=wanted).counts)
    assert set(again) <= {"unchanged", "skip"}
    found = engine.list_memories(MemoryFilter(), limit=99)
    return report, {memory.content: memory for memory in found}


def test_the_database_that_sugar_writes(python, engine, tmp_path):
    file = tmp_path / "memory.db"
    write(python, SUGAR, file)
    report, found = take(engine, file, tmp_path)
    assert report.formats[0][1] == "sugar"
    assert dict(report.counts) == {"add": 3}
    memory = found["Payments go through Stripe Checkout."]
    assert (memory.kind, memory.importance, memory.files) == ("decision", 0.8, ("pay.py",))
    assert (memory.provenance.host, memory.provenance.session_id) == ("sugar", "s0")
    assert memory.validity.valid_from_ms == MAY
    assert not list(tmp_path.glob("memory.db-*")), "nothing is written beside it"


def test_the_history_that_mem0_writes(python, engine, tmp_path):
    file = tmp_path / "history.db"
    write(python, MEM0, file)
    report, found = take(engine, file, tmp_path)
    assert report.formats[0][1] == "mem0"
    assert dict(report.counts) == {"add": 1, "skip": 1}
    assert set(found) == {"Answers are in plain British English"}
    assert found["Answers are in plain British English"].validity.valid_from_ms == MAY


@pytest.mark.parametrize("form", ["db", "json"])
def test_what_mcp_memory_service_writes(python, engine, tmp_path, form):
    files = {"db": tmp_path / "sqlite_vec.db", "json": tmp_path / "export.json"}
    write(python, SERVICE, files["db"], files["json"])
    report, found = take(engine, files[form], tmp_path)
    assert report.formats[0][1] == "mcp-memory-service"
    assert dict(report.counts) == {"add": 2}
    memory = found["Migrations are written by hand."]
    assert memory.kind == "decision"
    assert {"sql", "db"} <= set(memory.trigger.topics)
    assert memory.validity.valid_from_ms == MAY


def test_a_database_of_claude_mems_own_tables(engine, tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not here")
    command = [npm, "pack", "--silent", "claude-mem@13"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        pytest.skip(f"claude-mem cannot be had here: {done.stderr[-200:]}")
    shutil.unpack_archive(next(tmp_path.glob("claude-mem-*.tgz")), tmp_path, filter="data")
    source = (tmp_path / "package/plugin/sqlite/SessionStore.js").read_text()
    made = re.findall(
        r"CREATE TABLE IF NOT EXISTS (?:sdk_sessions|observations|session_summaries) \([^;`]*\);", source
    )
    added = re.findall(r"ALTER TABLE observations ADD COLUMN \w+ TEXT;", source)
    file = tmp_path / "claude-mem.db"
    with sqlite3.connect(file) as connection:
        connection.executescript("\n".join([*dict.fromkeys(made), *dict.fromkeys(added)]))
        connection.execute(
            "INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, started_at, started_at_epoch)"
            " VALUES ('c', 'm', 'shop', '', 0)"
        )
        rows = [
            (
                "shop",
                "decision",
                "Stripe Checkout",
                "Payments go through Stripe Checkout, never through our own form.",
            ),
            ("bank", "discovery", "Loans", "The loan service speaks gRPC."),
        ]
        connection.executemany(
            "INSERT INTO observations (memory_session_id, project, text, type, title, narrative, facts, concepts,"
            " files_modified, created_at, created_at_epoch) VALUES ('m', ?, '', ?, ?, ?, '[]', '[\"payments\"]',"
            f" '[\"pay.py\"]', '', {MAY})",
            rows,
        )
        connection.execute(
            "INSERT INTO session_summaries (memory_session_id, project, learned, next_steps, created_at, created_at_epoch)"
            f" VALUES ('m', 'shop', 'The webhook needs the raw body.', 'Test refunds.', '', {MAY})"
        )
    connection.close()
    report, found = take(engine, file, tmp_path)
    assert report.formats[0][1] == "claude-mem"
    assert dict(report.counts) == {"add": 3, "skip": 1}
    (decision,) = [memory for memory in found.values() if memory.kind == "decision"]
    assert decision.content.startswith("Stripe Checkout: Payments")
    assert decision.files == ("pay.py",)
    assert {memory.kind for memory in found.values()} == {"decision", "fact", "todo"}


def test_what_sugar_prints_for_a_session_start(engine, tmp_path):
    said = {"recent_decisions": [{"id": "d1", "memory_type": "decision", "content": "Use gRPC.", "importance": 1.0,
                                  "created_at": "2026-05-01T10:00:00+00:00"}], "preferences": []}  # fmt: skip
    file = tmp_path / "context.json"
    file.write_text(json.dumps(said))
    report, found = take(engine, file, tmp_path)
    assert report.formats[0][1] == "sugar"
    assert set(found) == {"Use gRPC."}
