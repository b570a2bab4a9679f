"""A built-in host needs its folder and its registration: one that is added here is installed, found, read and proven."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit.app.wiring import Hosts
from tacit.capture.transcript import TranscriptSource, read_transcript
from tacit.cli import checks
from tacit.hosts.registry import BUILT_IN, BuiltInHost, HostFolders
from tacit.hosts.transcripts.sessions import find_transcripts
from tacit.state.captured import Position

MODULES = {
    "__init__": """
from tacit.hosts.plain import Plain
HOST = Plain("toy")
""",
    "install": """
from tacit.hosts.install.files import JsonMember
def targets(place):
    folder = place.project_root or place.user_home
    return (JsonMember(path=folder / ".toy" / "hooks.json", why="calls Tacit", keys=("tacit",), value=str(place.launcher)),)
""",
    "proof": """
from tacit.hosts.probe import ProbeResult
def prove(job):
    seen = str(job.launcher) in job.file("hooks.json").read_text() and job.executable.name == "toy-agent"
    return ProbeResult(ok=seen, where=(job.nonce,), took_ms=10.0)
""",
    "transcript": """
from tacit.hosts.transcripts import TurnBuilder
from tacit.hosts.transcripts.rows import (DetectedFormat)
from tacit.hosts.transcripts import Transcript
PLACES = (("sessions", "*.jsonl"),)
def detect_rows(rows):
    return DetectedFormat(format="toy", host="toy", session_id=rows[0]["toy"], cwd=rows[0]["cwd"]) if "toy" in rows[0] else None
def read_toy(path, since=None, *, subagents=False):
    return Transcript(session_id="s1")
FORMATS = {"toy": read_toy}
""",
}


@pytest.fixture
def toy(tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltInHost:
    folder = tmp_path / "packages" / "toy_host"
    folder.mkdir(parents=True)
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder.parent)
    program = tacit.place.user_home / ".toy" / "bin" / "toy-agent"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    host = BuiltInHost(
        name="toy", title="Toy", package="toy_host", program="toy-agent", places=(".toy/bin/toy-agent",), data=(".toy",),
        start={"event": "start"}, reads_sessions=True,
    )  # fmt: skip
    monkeypatch.setitem(BUILT_IN, host.name, host)
    return host


def test_it_is_offered_installed_and_taken_out(tacit, toy):
    file = tacit.place.user_home / ".toy" / "hooks.json"
    (found,) = tacit("install", "--dry-run", "--json").json["hosts"]
    assert (found["host"], found["version"]) == ("toy", "1.2.3")
    assert tacit("install", "toy", "--yes").code == 0
    assert str(tacit.place.home.launcher) in file.read_text()
    states = {host["host"]: host["state"] for host in tacit("status", "--json").json["hosts"]}
    assert states["toy"] == "installed"
    assert tacit("uninstall", "toy", "--yes").code == 0
    assert not file.exists()


def test_its_sessions_are_found_and_read(tacit, toy):
    path = tacit.place.user_home / ".toy" / "sessions" / "one.jsonl"
    path.parent.mkdir()
    path.write_text(f'{{"toy": "s1", "cwd": "{tacit.project}"}}\n')
    (info,) = find_transcripts(HostFolders(tacit.place.user_home, {}), tacit.project)
    assert (info.host, info.session_ids) == ("toy", ("s1",))
    source = TranscriptSource(host="toy", session_id="s1", path=str(path))
    assert read_transcript(source, Position()).session_id == "s1"


def test_its_payloads_are_parsed_and_a_start_block_is_written_for_it(tacit, toy):
    assert Hosts()["toy"].name == "toy"
    assert tacit("remember", "Run make lint before every commit.").code == 0
    engine = tacit.daemon.engine
    start = {"event": "start", "session": "s", "cwd": str(tacit.project)}
    assert "make lint" in engine.hook("toy", start, deadline_ms=60_000.0)


def test_doctor_checks_its_files_and_proves_it(tacit, toy):
    assert tacit("install", "toy", "--yes").code == 0
    scratch = SimpleNamespace(home=tacit.place.home, nonce="quokka", memory_id="mem_1")
    place = replace(tacit.place, search_path="/usr/bin:/bin")
    files, proof = checks.check_host(place, "toy", project=tacit.project, scratch=scratch, named=True)
    assert (files.name, files.state) == ("toy", "ok")
    assert (proof.name, proof.state) == ("toy proof", "ok")
    assert "quokka" in proof.detail
