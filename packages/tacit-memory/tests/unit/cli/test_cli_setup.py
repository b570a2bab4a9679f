"""install, uninstall and init: what is written only after consent, and what is taken back."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from importlib.resources import files

import pytest

FOREIGN = '{\n  "model": "opus",   "env": {"TOKEN": "do-not-show-me"}\n}\n'


@pytest.fixture
def machine(tacit):
    """A machine with a Claude Code that has settings of its own."""
    tools = tacit.place.user_home / "bin"
    tools.mkdir()
    program = tools / "claude"
    program.write_text("#!/bin/sh\necho '2.1.328 (Claude Code)'\n")
    program.chmod(0o755)
    folder = tacit.place.user_home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(FOREIGN)
    tacit.place = replace(tacit.place, search_path=f"{tools}:/usr/bin:/bin")
    return tacit


def settings(machine):
    return machine.place.user_home / ".claude" / "settings.json"


def test_without_an_agent_it_says_what_to_do(tacit):
    said = tacit("install")
    assert said.code == 4
    assert "tacit install claude-code" in said.err


def test_a_dry_run_shows_every_line_and_writes_nothing(machine):
    said = machine("install", "--dry-run")
    assert said.code == 0
    assert "2.1.328" in said.out
    assert '+            "command": ' in said.out
    assert "UserPromptSubmit" in said.out
    assert "do-not-show-me" not in said.out, "what else stands in the file"
    assert settings(machine).read_text() == FOREIGN
    assert not machine.place.home.root.exists()


def test_without_a_terminal_it_asks_for_yes_and_writes_nothing(machine):
    said = machine("install")
    assert said.code == 3
    assert "--yes" in said.err
    assert settings(machine).read_text() == FOREIGN


def test_install_writes_the_launcher_and_the_files_and_a_second_time_nothing(machine):
    said = machine("install", "--yes")
    assert said.code == 0, said.err
    home = machine.place.home
    assert home.launcher.stat().st_mode & 0o111
    assert str(home.launcher) in settings(machine).read_text()
    assert json.loads(settings(machine).read_text())["model"] == "opus"
    again = machine("install", "--yes", "--json")
    assert again.json["written"] is False
    assert [host["files"] for host in again.json["hosts"]] == [[]]


def test_uninstall_gives_the_very_bytes_back(machine):
    machine("install", "--yes")
    said = machine("uninstall", "--yes")
    assert said.code == 0
    assert str(machine.place.home.root) in said.out
    assert settings(machine).read_text() == FOREIGN
    assert machine("uninstall", "--json").json["written"] is False


def test_mcp_prints_the_entry_for_any_other_client(machine):
    entry = machine("mcp", "--host", "mine", "--json").json
    assert entry == {"command": str(machine.place.home.launcher), "args": ["mcp", "--host", "mine"]}


def test_the_printed_entry_names_a_program_that_exists_although_nothing_is_installed(tacit):
    command = tacit("mcp", "--json").json["command"]
    assert os.access(command, os.X_OK)


def test_a_project_gets_files_of_its_own(machine):
    said = machine("install", "claude-code", "--project", "--yes")
    assert said.code == 0
    assert (machine.project / ".claude" / "settings.json").exists()
    assert settings(machine).read_text() == FOREIGN


def test_a_malformed_host_file_is_left_alone(machine):
    settings(machine).write_text("{ not json")
    said = machine("install", "--yes")
    assert said.code == 9
    assert "settings.json" in said.err
    assert settings(machine).read_text() == "{ not json"


def rule_file(tacit):
    (tacit.project / "CLAUDE.md").write_text("# Rules\n\n- Always run `make lint` after changing code.\n")


def past_session(tacit):
    name = "".join(c if c.isalnum() else "-" for c in str(tacit.project))
    folder = tacit.place.user_home / ".claude" / "projects" / name
    folder.mkdir(parents=True)
    text = files("tacit.cli").joinpath("demo_session.jsonl").read_text("utf-8")
    (folder / "session.jsonl").write_text(text.replace("/home/dev/shop", str(tacit.project)))


def test_init_imports_rule_files_with_their_counts(tacit):
    rule_file(tacit)
    said = tacit("init")
    assert said.code == 0
    assert "CLAUDE.md  1         imported" in said.out
    assert tacit("init", "--json").json["files"] == [
        {"path": "CLAUDE.md", "memories": 1, "status": "unchanged", "left_out": []}
    ]


def test_init_says_what_it_left_out_and_why(tacit):
    key = "sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "AA"
    (tacit.project / "CLAUDE.md").write_text(
        f"- Always run `make lint` before a commit.\n- Always use the key {key} for tests.\n"
    )
    said = tacit("init")
    assert "1 left out: holds a secret (anthropic_key)" in said.out
    assert "CLAUDE.md" in said.out.split("1 left out")[1]
    assert key not in said.out
    assert "left out" not in tacit("init").out  # told once; the file is as it was


def test_init_without_rule_files_says_so(tacit):
    assert "No rule files here" in tacit("init").out


def test_nobody_there_to_agree_means_no_backfill(tacit):
    past_session(tacit)
    said = tacit("init")
    assert said.code == 0
    assert "tacit init --backfill" in said.out
    assert tacit("init", "--no-backfill", "--yes", "--json").json["backfill"] is None
    assert tacit("list", "--json").json["memories"] == []


def test_a_backfill_learns_once(tacit):
    past_session(tacit)
    report = tacit("init", "--backfill", "--json").json["backfill"]
    assert report["added"] >= 5
    assert report["failed"] == 0
    assert any("integer cents" in memory["content"] for memory in tacit("list", "--json").json["memories"])
    assert tacit("init", "--backfill", "--json").json["backfill"]["added"] == 0


def writer_of(machine):
    return machine("config", "get", "capture.extractor.provider").out.strip()


@pytest.mark.parametrize(("answer", "provider"), [("y\n", "claude"), ("n\n", "off"), ("\n", "off")])
def test_install_asks_once_whether_the_client_may_write_up_sessions(machine, monkeypatch, answer, provider):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"y\n{answer}"))
    asking = replace(machine.place, interactive=True)
    said = machine("install", "--no-allow-tools", place=asking)
    assert "May Claude Code write up finished sessions" in said.err
    assert "12,000" in said.err
    assert writer_of(machine) == provider
    again = machine("install", "--no-allow-tools", place=asking)
    assert "May Claude Code" not in again.err


def test_who_says_yes_beforehand_is_asked_nothing(machine):
    said = machine("install", "--yes", place=replace(machine.place, interactive=True))
    assert said.err == ""
    assert writer_of(machine) == "off"


def test_who_declines_is_told_how_to_choose_the_client_that_was_offered(tacit, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n"))
    said = tacit("install", "codex", place=replace(tacit.place, interactive=True))
    assert "May Codex write up finished sessions" in said.err
    assert "`tacit config set capture.extractor.provider codex` changes that" in said.out


def test_without_a_terminal_install_sets_no_writer_unless_one_is_named(machine):
    assert "May Claude" not in machine("install", "--yes").err
    assert writer_of(machine) == "off"
    assert "tacit sessions --write-up --dry-run" in machine("install", "--yes", "--writer", "codex").out
    assert writer_of(machine) == "codex"
    assert machine("install", "--yes", "--writer", "nobody").code != 0
    assert writer_of(machine) == "codex"


def test_codex_is_told_of_until_its_hooks_are_trusted(tacit, monkeypatch):
    monkeypatch.delenv("CODEX_HOME", raising=False)
    first = tacit("install", "codex", "--yes", "--json")
    assert "/hooks" in first.json["hosts"][0]["waiting"]
    config = tacit.place.user_home / ".codex" / "config.toml"
    assert "trusted_hash" not in config.read_text()
    status = tacit("status", "--json").json["hosts"]
    assert any(
        "/hooks" in problem for each in status for problem in each["problems"] if each["host"] == "codex"
    )
    assert "/hooks" in tacit("install", "codex", "--yes").out
    trusting = tacit("install", "codex", "--trust-hooks", "--yes")
    assert "approves the hooks, as you asked" in trusting.out
    assert "! Codex" not in trusting.out
    assert config.read_text().count("trusted_hash") == 8
    assert tacit("install", "codex", "--yes", "--json").json["hosts"][0]["waiting"] == ""
    tacit("uninstall", "codex", "--yes")
    assert not config.exists()


ALLOWED = ["mcp__tacit__memory_get", "mcp__tacit__memory_add"]


def allowed_by(machine):
    return json.loads(settings(machine).read_text()).get("permissions", {}).get("allow", [])


@pytest.mark.parametrize(
    ("answers", "rules"), [("\ny\nn\n", ALLOWED), ("y\n\nn\n", ALLOWED), ("n\ny\nn\n", [])]
)
def test_install_shows_the_rule_for_two_tools_and_asks_for_it(machine, monkeypatch, answers, rules):
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    asking = replace(machine.place, interactive=True)
    said = machine("install", place=asking)
    assert said.code == 0, said.err
    assert "Shall Claude Code not ask before memory_get and memory_add?" in said.err
    assert f'+      "{ALLOWED[0]}",' in said.out
    assert "it does not ask before memory_get and memory_add:" in said.out
    assert '"command"' not in said.out[: said.out.index("2.1.328")], "what is offered is shown alone"
    assert allowed_by(machine) == rules
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    again = machine("install", place=asking)
    assert ("Shall Claude Code" in again.err) == (not rules)


def test_the_question_names_only_what_no_rule_of_the_user_decides(machine, monkeypatch):
    settings(machine).write_text(json.dumps({"permissions": {"deny": [ALLOWED[1]]}}))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\nn\n"))
    said = machine("install", place=replace(machine.place, interactive=True))
    assert "Shall Claude Code not ask before memory_get?" in said.err
    assert "Claude Code never runs memory_add" in said.out
    assert allowed_by(machine) == ALLOWED[:1]


def test_who_declines_everything_has_no_rule_either(machine, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\n"))
    assert machine("install", place=replace(machine.place, interactive=True)).code == 1
    assert settings(machine).read_text() == FOREIGN


def test_without_a_question_the_rule_comes_only_by_its_option(machine):
    said = machine("install", "--yes", "--json")
    assert allowed_by(machine) == []
    assert any("--allow-tools" in note for note in said.json["hosts"][0]["notes"])
    said = machine("install", "--yes", "--allow-tools")
    assert "does not ask before memory_get and memory_add" in said.out
    assert allowed_by(machine) == ALLOWED
    assert machine("install", "--yes", "--json").json["written"] is False
    machine("install", "--yes", "--no-allow-tools")
    assert allowed_by(machine) == []
    machine("install", "--yes", "--allow-tools")
    machine("uninstall", "--yes")
    assert settings(machine).read_text() == FOREIGN
