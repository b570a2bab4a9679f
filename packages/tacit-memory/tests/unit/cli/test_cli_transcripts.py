"""`tacit import transcripts`: what it reads, what it says, and that a second time nothing is added."""

from __future__ import annotations

import json


def log(path, *prompts):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"role": "user", "content": text, "timestamp": 1795168800000 + n} for n, text in enumerate(prompts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_named_files_are_learned_from_once(tacit, tmp_path):
    path = log(tmp_path / "talk.log", "Always use pnpm in this repository, never npm.")
    first = tacit("import", "transcripts", path, "--json").json
    assert (first["failed"], first["files"][0]["prompts"]) == (0, 1)
    assert first["added"] >= 1
    second = tacit("import", "transcripts", path, "--json").json
    assert (second["added"], second["merged"], second["superseded"]) == (0, 0, 0)
    assert second["files"][0]["prompts"] == 0
    (memory,) = [m for m in tacit("list", "--json").json["memories"] if "pnpm" in m["content"]]
    assert memory["scope"].startswith("project:")


def test_a_folder_is_searched_and_a_broken_file_named(tacit, tmp_path):
    folder = tmp_path / "logs"
    log(folder / "a" / "one.jsonl", "Always use pnpm in this repository, never npm.")
    (folder / "README.md").write_text("# Logs\n\nNothing said here.\n")
    (folder / "cut.json").write_text('{"messages": [{"role": "user", "content": "hel')
    told = tacit("import", "transcripts", folder)
    assert told.code == 10
    assert "cut.json" in told.out
    assert "plain" in told.out
    assert "Learned" in told.out
    assert any("pnpm" in m["content"] for m in tacit("list", "--json").json["memories"])


def test_a_dry_run_stores_nothing(tacit, tmp_path):
    path = log(tmp_path / "talk.jsonl", "Always use pnpm in this repository, never npm.")
    told = tacit("import", "transcripts", path, "--dry-run")
    assert "dry run" in told.out
    assert tacit("list", "--json").json["memories"] == []
    assert tacit("import", "transcripts", path, "--json").json["added"] >= 1


def test_only_the_host_and_the_days_asked_for(tacit, tmp_path):
    path = log(tmp_path / "talk.jsonl", "Always use pnpm in this repository, never npm.")
    assert tacit("import", "transcripts", path, "--host", "codex", "--json").json["files"] == []
    assert "of the host 'codex'" in tacit("import", "transcripts", path, "--host", "codex").out
    later = tacit("import", "transcripts", path, "--since", "2027-01-01", "--json").json
    assert later["added"] == 0
    assert tacit("import", "transcripts", path, "--since", "yesterday").code == 3
    assert tacit("import", "transcripts", tmp_path / "none").code == 4


def test_without_a_path_the_hosts_own_folders_are_read(tacit):
    rollout = tacit.place.user_home / ".codex" / "sessions" / "2026" / "11" / "20" / "rollout-x.jsonl"
    rollout.parent.mkdir(parents=True)
    prompt = {"type": "message", "role": "user", "content": "Always use pnpm in this repository, never npm."}
    rows = [
        {"type": "session_meta", "payload": {"id": "cx-1", "cwd": str(tacit.project)}},
        {"type": "response_item", "timestamp": "2026-11-20T10:00:00Z", "payload": prompt},
    ]
    rollout.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = tacit("import", "transcripts", "--json").json
    assert [(f["host"], f["sessions"]) for f in report["files"]] == [("codex", 1)]
    assert report["added"] >= 1
    assert tacit("init", "--backfill", "--json").json["backfill"]["added"] == 0  # one mechanism
