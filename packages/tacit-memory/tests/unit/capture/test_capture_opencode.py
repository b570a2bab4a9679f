"""OpenCode's sessions are found in its database, and every host's in the folders that it was told to use."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tacit.hosts.registry import HostFolders
from tacit.hosts.transcripts.sessions import (
    find_transcripts,
    kept_transcript,
)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def test_a_session_of_the_database_is_found_where_the_project_is_its_own(tmp_path):
    data = tmp_path / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "opencode.db")) as database:
        database.execute(
            "CREATE TABLE session (id TEXT, directory TEXT, parent_id TEXT, time_updated INTEGER)"
        )
        database.execute("INSERT INTO session VALUES ('ses_1', '/w/shop', NULL, 1)")
        database.commit()
    folders = HostFolders(tmp_path, {})
    (info,) = find_transcripts(folders, Path("/w/shop"))
    assert (info.path.name, info.session_ids) == ("opencode.db", ("ses_1",))
    assert find_transcripts(folders, Path("/w/sho")) == ()
    assert kept_transcript(folders, "opencode", "ses_1") == data / "opencode.db"
    assert kept_transcript(folders, "codex", "ses_1") is None


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
