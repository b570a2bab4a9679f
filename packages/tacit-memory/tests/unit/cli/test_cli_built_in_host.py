"""A built-in host needs its folder and its registration: one that is added here is installed, found, read and proven."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit.app.wiring import Hosts
from tacit.capture.transcript import TranscriptSource, read_transcript
from tacit.cli import checks
from tacit.hosts.registry import BUILT_IN, BuiltInHost, HostFolders, in_agent_shell, shell_variables
from tacit.hosts.transcripts.sessions import find_transcripts
from tacit.model.pack import Block, Surface
from tacit.ports.host import Host
from tacit.state.captured import Position

MODULES = {
    "__init__": """
from tacit.hosts.hooks import HookEvent, HookHost, field_or_step, said
from tacit.model.pack import Surface
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities
ASK = field_or_step("ask_id")
EVENTS = {
    "Begin": HookEvent(means="start", once=("startup",), context=True),
    "Ask": HookEvent(means="prompt", by=(ASK,), context=True, notice=True),
    "Before": HookEvent(means="tool_start"),
    "After": HookEvent(means="tool_end", context=True),
    "Failed": HookEvent(means="tool_failed", text="problem", context=True),
    "Answered": HookEvent(means="message_end", by=(ASK, said("answer")), text="answer"),
    "Over": HookEvent(means="end", by=(ASK,)),
}
TOOLS = {"sh": "bash", "see": "read", "change": "edit", "make": "write"}
class Crank(HookHost):
    name = "crank"
    capabilities = HostCapabilities(
        arrival=BESIDE_RESULTS, cap_chars=9_500, stored=True, post_compaction=False, refuses=True, title="Crank",
        deliveries=tuple(Delivery(surface=surface, where="end of the message") for surface in (Surface.START, Surface.PROMPT)),
    )
    events = EVENTS
    tools = TOOLS
    turn = "ask_id"
HOST = Crank()
""",
    "install": """
from tacit.hosts.install.files import HookSettings, JsonMember, hook_entries, shell_line
from tacit.hosts.probe import ProbeResult
EVENTS = tuple((event, "", 5) for event in ("Begin", "Ask", "Before", "After", "Failed", "Answered", "Over"))
def targets(place):
    folder = (place.project_root or place.user_home) / ".crank"
    handler = {"type": "command", "command": shell_line(place.launcher, "crank")}
    server = {"command": str(place.launcher), "args": ["mcp", "--host", "crank"]}
    return (
        HookSettings(path=folder / "settings.json", groups=hook_entries(EVENTS, handler)),
        JsonMember(path=folder / "mcp.json", why="gives Crank the memory tools", keys=("mcpServers", "tacit"), value=server),
    )
def prove(job):
    seen = str(job.launcher) in job.file("settings.json").read_text() and job.executable.name == "crank"
    return ProbeResult(ok=seen, where=(job.nonce,), took_ms=10.0)
""",
}
"""A host with command hooks: events, fields and tools are data, and nothing of it is code of its own."""

TRANSCRIPT = """
from tacit.hosts.transcripts import Transcript
from tacit.hosts.transcripts.rows import DetectedFormat
PLACES = (("sessions", "*.jsonl"),)
def detect_rows(rows):
    return DetectedFormat(format="crank", host="crank", session_id=rows[0]["crank"], cwd=rows[0]["cwd"]) if "crank" in rows[0] else None
def read_crank(path, since=None, *, subagents=False):
    return Transcript(session_id="s1")
FORMATS = {"crank": read_crank}
"""


@pytest.fixture
def crank(tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user where the host keeps its files. The host's own folder is written, and it is registered."""
    package = tmp_path / "packages" / "crank_host"
    package.mkdir(parents=True)
    for name, text in {**MODULES, "transcript": TRANSCRIPT}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(package.parent)
    for name in [name for name in sys.modules if name.partition(".")[0] == "crank_host"]:
        monkeypatch.delitem(sys.modules, name)  # of an earlier test, whose folder is gone
    folder = tacit.place.user_home / ".crank"
    program = folder / "bin" / "crank"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    host = BuiltInHost(
        name="crank", title="Crank", package="crank_host", program="crank", shell_variable="CRANK_AGENT", places=(".crank/bin/crank",),
        data=(".crank",), start={"hook_event_name": "Begin"}, reads_sessions=True,
    )  # fmt: skip
    monkeypatch.setitem(BUILT_IN, "crank", host)
    return folder


def test_it_is_offered_installed_and_taken_out(tacit, crank):
    file = crank / "settings.json"
    (found,) = tacit("install", "--dry-run", "--json").json["hosts"]
    assert (found["host"], found["version"]) == ("crank", "1.2.3")
    assert tacit("install", "crank", "--yes").code == 0
    assert str(tacit.place.home.launcher) in file.read_text()
    states = {host["host"]: host["state"] for host in tacit("status", "--json").json["hosts"]}
    assert states["crank"] == "installed"
    assert tacit("uninstall", "crank", "--yes").code == 0
    assert not file.exists()


def test_its_sessions_are_found_and_read(tacit, crank):
    path = crank / "sessions" / "one.jsonl"
    path.parent.mkdir()
    path.write_text(f'{{"crank": "s1", "cwd": "{tacit.project}"}}\n')
    (info,) = find_transcripts(HostFolders(tacit.place.user_home, {}), tacit.project)
    assert (info.host, info.session_ids) == ("crank", ("s1",))
    source = TranscriptSource(host="crank", session_id="s1", path=str(path))
    assert read_transcript(source, Position()).session_id == "s1"


def test_a_command_that_it_runs_is_not_the_users(crank, monkeypatch):
    for name in shell_variables():
        monkeypatch.delenv(name, raising=False)
    assert not in_agent_shell()
    monkeypatch.setenv("CRANK_AGENT", "1")
    assert in_agent_shell()


def test_doctor_checks_its_files_and_proves_it(tacit, crank):
    assert tacit("install", "crank", "--yes").code == 0
    scratch = SimpleNamespace(home=tacit.place.home, nonce="quokka", memory_id="mem_1")
    place = replace(tacit.place, search_path="/usr/bin:/bin")
    files, *_, proof = checks.check_host(place, "crank", project=tacit.project, scratch=scratch, named=True)
    assert (files.name, files.state) == ("crank", "ok")
    assert (proof.name, proof.state) == ("crank proof", "ok")
    assert "quokka" in proof.detail


def test_a_host_with_command_hooks_is_about_forty_lines_of_data(tacit, crank):
    assert sum(len(text.strip().splitlines()) for text in MODULES.values()) <= 42
    assert tacit("remember", "Run make lint before every commit.").code == 0

    def send(event: str, **fields: object) -> dict[str, object]:
        payload = {"hook_event_name": event, "session_id": "s", "cwd": str(tacit.project), **fields}
        return json.loads(tacit.daemon.engine.hook("crank", payload, deadline_ms=60_000.0) or "{}")

    said = send("Begin", source="startup")["hookSpecificOutput"]
    assert said["hookEventName"] == "Begin"
    assert "make lint" in said["additionalContext"]
    signal = HookedSignal(Hosts()["crank"], str(tacit.project))
    assert signal("Ask", prompt="Ship it", ask_id="a1") == ("PromptSubmitted", "Ship it")
    call = {"tool_name": "sh", "tool_use_id": "t1", "tool_input": {"command": "make"}}
    assert signal("Before", **call) == ("ToolStarting", "make")
    assert signal("Failed", problem="no rule", **call) == ("ToolFailed", "make")
    assert signal("Answered", answer="Done.") == ("MessageEnded", "Done.")
    assert signal("Over", reason="exit") == ("SessionEnded", "exit")
    assert Hosts()["crank"].parse({"hook_event_name": "Other", "session_id": "s"}, at_ms=1) is None
    refused = Block(surface=Surface.ACTION, text="never", memory_ids=("m",), refuses=True)
    answer = json.loads(Hosts()["crank"].encode({"hook_event_name": "Before"}, refused))
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


class HookedSignal:
    """What a payload becomes: the sort of its signal, and its words."""

    def __init__(self, host: Host, cwd: str) -> None:
        self.host, self.cwd = host, cwd

    def __call__(self, event: str, **fields: object) -> tuple[str, str]:
        payload = {"hook_event_name": event, "session_id": "s", "cwd": self.cwd, **fields}
        signal = self.host.parse(payload, at_ms=1_000)
        words = getattr(signal, "text", "") or getattr(signal, "reason", "")
        return type(signal).__name__, words or signal.call.command
