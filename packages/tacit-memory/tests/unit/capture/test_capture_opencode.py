"""OpenCode's sessions elsewhere than in its database: what it wrote before it had one, a running server, another folder."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from loopback import QuietHandler, loopback
from samples import NOW_MS
from tacit.errors import HostError, InvalidInput
from tacit.hosts.opencode.transcript import read_opencode_storage
from tacit.hosts.registry import HostFolders
from tacit.hosts.transcripts.sessions import (
    detect_format,
    find_transcripts,
    kept_transcript,
    named_transcripts,
    served_transcripts,
)
from tacit.ports.store import MemoryFilter

RULE = "Always run the linter before a commit."


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def text(message, number, words, **more):
    return {
        "id": f"prt_{number}",
        "messageID": message,
        "sessionID": "ses_1",
        "type": "text",
        "text": words,
        **more,
    }


def session(directory, name="ses_1", **more):
    return {
        "id": name,
        "projectID": "p",
        "directory": directory,
        "title": "t",
        "time": {"updated": NOW_MS},
        **more,
    }


MESSAGES = [
    {
        "info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": NOW_MS}},
        "parts": [text("msg_1", 1, RULE), text("msg_1", 2, "file contents", synthetic=True)],
    },
    {
        "info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": NOW_MS + 5}},
        "parts": [
            {
                "id": "prt_3", "messageID": "msg_2", "sessionID": "ses_1", "type": "tool", "tool": "bash", "callID": "c1",
                "state": {"status": "completed", "input": {"command": "make lint"}, "output": "ok", "metadata": {"exit": 0}},
            },
            text("msg_2", 4, "Noted."),
        ],
    },
]  # fmt: skip


def storage(folder, directory, *, name="ses_1", **more):
    """What OpenCode 1.1 keeps of a session, below `folder`; the session's file."""
    file = folder / "storage" / "session" / "p" / f"{name}.json"
    write(file, session(directory, name, **more))
    for message in MESSAGES:
        info = message["info"]
        write(folder / "storage" / "message" / name / f"{info['id']}.json", info)
        for part in message["parts"]:
            write(folder / "storage" / "part" / info["id"] / f"{part['id']}.json", part)
    return file


@contextmanager
def server(answers):
    """An OpenCode server on the loopback that answers paths with JSON; others with 404."""

    class Handler(QuietHandler):
        def do_GET(self):  # noqa: N802 - the name that the library calls
            body = json.dumps(answers[self.path]).encode() if self.path in answers else b"{}"
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with loopback(Handler) as address:
        yield address


def learned(engine):
    return [memory.content for memory in engine.list_memories(MemoryFilter()) if memory.kind != "digest"]


def test_a_session_of_files_reads_like_one_of_the_database(tmp_path):
    file = storage(tmp_path, "/w/shop")
    found = read_opencode_storage(file)
    assert [(turn.role, turn.text) for turn in found.turns] == [("user", RULE), ("assistant", "Noted.")]
    assert found.turns[1].tools[0].command == "make lint"
    assert (found.session_id, found.cwd, found.bad_lines) == ("ses_1", "/w/shop", 0)
    (tmp_path / "storage" / "part" / "msg_1" / "prt_1.json").write_text("{cut")
    broken = read_opencode_storage(file)
    assert [turn.text for turn in broken.turns] == ["Noted."]
    assert broken.bad_lines == 1


def test_its_pieces_are_known_for_what_they_are(tmp_path):
    file = storage(tmp_path, "/w/shop")
    known = detect_format(file)
    assert (known.format, known.host, known.session_id, known.cwd) == (
        "opencode-storage",
        "opencode",
        "ses_1",
        "/w/shop",
    )
    assert [info.path for info in named_transcripts([tmp_path / "storage"])] == [file]


def test_sessions_of_files_are_found_where_the_project_is_theirs(tmp_path):
    folders = HostFolders(tmp_path, {})
    data = tmp_path / ".local" / "share" / "opencode"
    mine = storage(data, "/w/shop")
    storage(data, "/w/other", name="ses_2")
    storage(data, "/w/shop", name="ses_3", parentID="ses_1")
    assert [info.path for info in find_transcripts(folders, Path("/w/shop"))] == [mine]
    assert len(find_transcripts(folders, None)) == 2
    assert len(find_transcripts(folders, None, subagents=True)) == 3


def test_a_session_that_moved_into_the_database_is_read_there(tmp_path):
    data = tmp_path / ".local" / "share" / "opencode"
    storage(data, "/w/shop")
    with closing(sqlite3.connect(data / "opencode.db")) as database:
        database.execute(
            "CREATE TABLE session (id TEXT, directory TEXT, parent_id TEXT, time_updated INTEGER)"
        )
        database.execute("INSERT INTO session VALUES ('ses_1', '/w/shop', NULL, 1)")
        database.commit()
    folders = HostFolders(tmp_path, {})
    assert [info.path.name for info in find_transcripts(folders, Path("/w/shop"))] == ["opencode.db"]
    assert kept_transcript(folders, "opencode", "ses_1") == data / "opencode.db"
    assert kept_transcript(folders, "codex", "ses_1") is None


def test_an_import_of_files_learns_once(engine, tmp_path):
    storage(tmp_path / "data", str(tmp_path))
    infos = engine.transcripts(paths=[tmp_path / "data"])
    assert engine.capture.backfill(infos).added >= 1
    assert learned(engine) == [RULE.rstrip(".")]
    assert engine.capture.backfill(infos).added == 0


def test_a_running_server_is_learned_from_once(engine, tmp_path):
    answers = {
        "/session": [
            session(str(tmp_path)),
            session(str(tmp_path), "ses_2", parentID="ses_1"),
            {"title": "odd"},
        ],
        "/session/ses_1/message": MESSAGES,
    }
    with server(answers) as address:
        (info,) = served_transcripts(address)
        assert (info.place, info.session_ids) == (address, ("ses_1",))
        report = engine.capture.backfill([info])
        assert (report.failed, report.files[0].path, report.files[0].sessions) == (0, address, 1)
        assert learned(engine) == [RULE.rstrip(".")]
        assert engine.capture.backfill([info]).added == 0
        assert served_transcripts(address, since_ms=NOW_MS + 1) == ()
        del answers["/session/ses_1/message"]
        assert engine.capture.backfill([info]).failed == 1


def test_no_other_machine_is_asked_and_silence_is_said():
    for address in ("http://192.0.2.7:4096", "ftp://127.0.0.1", "somewhere", "http://localhost.example:80"):
        with pytest.raises(InvalidInput, match="this machine"):
            served_transcripts(address)
    with (
        server({"/session": {"name": "something else"}}) as address,
        pytest.raises(HostError, match="like OpenCode"),
    ):
        served_transcripts(address)
    with pytest.raises(HostError, match="No OpenCode server"):
        served_transcripts(address)


def test_folders_that_hosts_were_told_to_use_come_first(tmp_path):
    named = HostFolders(
        tmp_path,
        {
            "CLAUDE_CONFIG_DIR": "/c", "XDG_DATA_HOME": "/x", "CODEX_HOME": "/o", "GEMINI_CLI_HOME": "/g", "COPILOT_HOME": " ",
        },
    )  # fmt: skip
    assert named.of("claude-code") == (Path("/c"), tmp_path / ".claude")
    assert named.of("opencode") == (Path("/x/opencode"), tmp_path / ".local" / "share" / "opencode")
    assert named.of("codex") == (Path("/o"), tmp_path / ".codex")
    assert named.of("gemini") == (Path("/g/.gemini"), tmp_path / ".gemini")
    assert named.of("copilot") == (tmp_path / ".copilot",)
    assert HostFolders(tmp_path, {"CODEX_HOME": "relative"}).of("codex") == (tmp_path / ".codex",)


def test_sessions_are_found_in_named_folders_and_in_the_usual_ones(tmp_path):
    row = {
        "type": "user",
        "sessionId": "s",
        "cwd": "/w/shop",
        "message": {"role": "user", "content": "hello"},
    }
    folders = HostFolders(tmp_path / "home", {"CLAUDE_CONFIG_DIR": str(tmp_path / "c")})
    for folder, name in ((tmp_path / "c", "new"), (tmp_path / "home" / ".claude", "old")):
        write(folder / "projects" / "-w-shop" / f"{name}.jsonl", row)
    assert {info.path.stem for info in find_transcripts(folders, Path("/w/shop"))} == {"new", "old"}
    assert {info.path.stem for info in find_transcripts(folders, None)} == {"new", "old"}
