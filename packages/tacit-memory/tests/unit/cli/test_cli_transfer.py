"""`tacit export`, `tacit import PATH` and `tacit import transcripts`, as a person types them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest


@pytest.fixture
def shop(tacit) -> Path:
    """The folder of the project, with a file of rules."""
    rules = "# Rules\n\n- Run `make lint` before every commit.\n- Amounts are integer cents.\n"
    (tacit.project / "CLAUDE.md").write_text(rules)
    tacit.daemon.ensure_running()
    return tacit.project


def counts(said) -> dict[str, int]:
    (report,) = said.json["imports"]
    return report["counts"]


def test_a_file_is_imported_exported_and_edited(tacit, shop, tmp_path):
    rules, out = shop / "CLAUDE.md", tmp_path / "all.md"
    assert "dry run" in tacit("import", rules, "--dry-run").out
    assert counts(tacit("import", "--mine", rules, "--json")) == {"add": 2}
    assert "as before" in tacit("import", rules, "--mine").out
    assert tacit("export", "--format", "markdown", "-o", out, "--json").json["format"] == "markdown"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tacit("export", "-o", out).code == 3
    out.write_text(out.read_text().replace("make lint", "make check"))
    refused = tacit("import", out)
    assert (refused.code, "--mine" in refused.err) == (3, True)
    edited = tacit("import", out, "--mine")
    assert (edited.code, "+ Run `make check`" in edited.out) == (0, True)
    assert tacit("import", shop / "nothing").code == 4


def test_a_line_that_is_refused_is_told_with_an_exit_code(tacit, shop, tmp_path):
    tacit("remember", "Amounts are integer cents.")
    file = tmp_path / "all.jsonl"
    assert tacit("export", "-o", file).code == 0
    with file.open("a") as lines:
        lines.write("nonsense\n")
    said = tacit("import", file, "--mine")
    assert said.code == 10
    assert "! all.jsonl, line 4" in said.out
    assert "as before" in said.out


def test_one_refused_file_does_not_hide_what_came_of_the_others(tacit, shop, tmp_path):
    rules, odd = shop / "CLAUDE.md", tmp_path / "odd.bin"
    odd.write_bytes(bytes(range(256)))
    asked = ("import", rules, odd, shop / "nothing", "--dry-run")
    said = tacit(*asked, "--json")
    assert said.code == 10
    first, second, third = said.json["imports"]
    assert (first["path"], first["problem"], first["counts"]) == (str(rules), None, {"add": 2})
    assert (second["path"], second["problem"]["code"], second["counts"]) == (str(odd), "invalid_input", {})
    assert third["problem"]["code"] == "not_found"
    assert second.keys() == first.keys()
    told = tacit(*asked)
    assert (told.code, "+ Run `make lint`" in told.out, "nothing" in told.err) == (10, True, True)


def test_an_export_taken_back_into_its_store_adds_nothing(tacit, shop, tmp_path):
    tacit("remember", "In Python, prefer dataclasses to dicts.", "--scope", "language:python")
    tacit("remember", "Answer in British English.", "--scope", "universal")
    tacit("remember", "Amounts are integer cents.")
    out = tmp_path / "all.jsonl"
    assert tacit("export", "-o", out).code == 0
    for flags in ((), ("--again",), ("--mine",)):
        assert counts(tacit("import", out, *flags, "--json")) == {"unchanged": 3}, flags


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
