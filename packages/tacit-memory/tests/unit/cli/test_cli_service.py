"""status, stop, logs, mute, backup, restore, reindex, serve."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent import send

RULE = "Always run `make lint` after changing code"


def session(tacit, name="s1", prompt="thanks!"):
    """A session of Claude Code that sent one prompt."""
    tacit.daemon.ensure_running()
    for event, fields in (("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": prompt})):
        send(tacit.daemon.engine, tacit.project, event, name, transcript_path="", **fields)


def test_status_without_a_daemon_starts_none_and_writes_nothing(tacit):
    said = tacit("status")
    assert said.code == 0
    assert said.out.startswith("1 thing wants a look:\n! No agent is connected")
    assert "not running" in said.out
    assert tacit.daemon.starts == 0
    assert not tacit.place.home.root.exists()
    facts = tacit("status", "--json").json
    assert facts["daemon"] is None
    assert facts["engine"] is None
    assert {each["state"] for each in facts["hosts"]} == {"absent"}


def test_status_names_wrong_settings_even_without_a_daemon(tacit):
    tacit.place.home.ensure()
    tacit.place.home.config_file.write_text("recall:\n  enabeld: false\n")
    said = tacit("status")
    assert said.code == 0
    assert "enabeld" in said.out
    assert tacit.daemon.starts == 0


def test_status_tells_counts_here_and_why_it_was_silent(tacit):
    tacit("remember", RULE)
    session(tacit, prompt="thanks!")
    said = tacit("status")
    assert said.code == 0
    assert "1 memory: 1 preference" in said.out
    assert "1 x the prompt asks for no work" in said.out
    told = " ".join(said.out.split())
    assert "given before 0 of 1 prompt; at 1 of 1 session start" in told
    assert "fetched" not in told
    assert said.out.startswith("Tacit works: last prompt ")
    facts = tacit("status", "--json").json
    assert facts["here"]["kinds"] == {"preference": 1}
    assert facts["prompts"][0]["silence"] == "the prompt asks for no work, such as thanks or a greeting"
    assert facts["prompts"][0]["session"] == "claude-code/s1"


def test_status_counts_silences_by_cause_and_start_packs_apart_from_prompts(tacit):
    tacit("remember", RULE, "--when", "edit_code")
    for number, prompt in enumerate(("thanks!", "hello", "#notacit change the parser")):
        session(tacit, name=f"s{number}", prompt=prompt)
    week = tacit("status", "--json").json["week"]
    assert {each["cause"]: each["count"] for each in week["silences"]} == {
        "nothing_coming": 2,
        "opted_out": 1,
    }
    counts = {each["surface"]: (each["injections"], each["recalls"]) for each in week["surfaces"]}
    assert counts["prompt"] == (0, 3)
    assert "start" in counts


@pytest.mark.parametrize("setting", ["recall.enabled=false", "recall.shadow=true"])
def test_status_begins_with_what_keeps_memories_from_the_agent_in_this_folder(tacit, setting):
    session(tacit, prompt="hello")
    assert tacit("config", "set", *setting.split("="), "--project").code == 0
    said = " ".join(tacit("status").out.split())
    name, _, value = setting.partition("=")
    assert said.startswith("1 thing wants a look: ! Nothing is given in this folder: ")
    assert f"{name} is {'on' if value == 'true' else 'off'}." in said


def test_status_says_in_words_that_nothing_was_asked_yet(tacit):
    tacit.daemon.ensure_running()
    said = tacit("status")
    assert said.out.startswith("Tacit is ready. No prompt has come yet: start a session.")
    assert "no session has asked the memory" in said.out
    assert "0 of 0" not in said.out


def test_status_tells_a_host_that_is_not_here_from_one_that_is_not_connected(tacit):
    programs = tacit.place.user_home / "bin"
    programs.mkdir()
    (programs / "opencode").write_text("#!/bin/sh\n")
    (programs / "opencode").chmod(0o755)
    place = replace(tacit.place, search_path=str(programs))
    states = {each["host"]: each["state"] for each in tacit("status", "--json", place=place).json["hosts"]}
    assert states.pop("opencode") == "not connected"
    assert set(states.values()) == {"absent"}
    said = tacit("status", place=place).out
    assert "opencode: not connected: `tacit install opencode`" in said
    assert "not found on this machine: claude-code, codex," in said


def test_status_tells_what_is_here_from_what_other_folders_hold(tacit, tmp_path):
    tacit("remember", "Run make lint before every commit.")
    said = tacit("status", "--cwd", tmp_path).out
    assert "1 memory of 1 project" in said
    assert "0 memories: none belongs to this project or to all projects" in said


@pytest.mark.parametrize(
    ("preset", "off"), [("focused", set()), ("scoped", {"prompt", "action", "failure", "subagent"})]
)
def test_status_names_the_preset_and_the_surfaces_that_are_off(tacit, preset, off):
    tacit.place.home.ensure()
    tacit.place.home.config_file.write_text(f"preset: {preset}\n")
    tacit.daemon.ensure_running()
    status = tacit("status", "--json").json
    assert (status["preset"], set(status["off"])) == (preset, off)


def test_stop_says_whether_one_ran(tacit):
    assert tacit("stop", "--json").json == {"stopped": False}
    tacit("list")
    assert tacit("stop").out == "stopped\n"


def test_mute_takes_the_only_session_of_this_folder_and_ends_with_unmute(tacit):
    tacit("remember", RULE, "--when", "edit_code")
    session(tacit, prompt="hello")
    said = tacit("sessions", "--mute")
    assert (said.code, said.out) == (0, "muted claude-code/s1\n")
    session(tacit, prompt="now change the code of the parser and run make lint")
    newest = tacit("why", "-n", "1", "--json").json["traces"][0]
    assert "mute" in newest["silence"]
    assert tacit("sessions", "--unmute", "--json").json == {"session": "claude-code/s1", "muted": False}


def test_mute_without_a_name_mutes_no_session_of_another_folder_and_none_of_several(tacit, tmp_path):
    session(tacit, name="s1")
    other = tmp_path / "other"
    other.mkdir()
    said = tacit("sessions", "--mute", "--cwd", other)
    assert said.code == 4
    assert "claude-code/s1" in said.err
    session(tacit, name="s2")
    said = tacit("sessions", "--mute")
    assert said.code == 4
    assert "claude-code/s1" in said.err
    assert "claude-code/s2" in said.err
    listed = tacit.daemon.request("GET", "/v1/sessions")[1]["sessions"]
    assert [each["muted"] for each in listed] == [False, False]
    end = {"hook_event_name": "SessionEnd", "session_id": "s2", "cwd": str(tacit.project), "reason": "exit"}
    tacit.daemon.engine.hook("claude-code", end, deadline_ms=2000)
    assert tacit("sessions", "--mute").out == "muted claude-code/s1\n"


@pytest.mark.parametrize(("name", "code"), [("s1", 2), ("claude-code/", 2), ("claude-code/nosuch", 4)])
def test_a_session_that_is_not_there_is_said(tacit, name, code):
    assert tacit("sessions", "--mute", name).code == code


def test_muting_without_any_session_says_what_to_do(tacit):
    said = tacit("sessions", "--mute")
    assert said.code == 4
    assert "host/id" in said.err


def test_backup_and_restore_bring_back_what_was(tacit, tmp_path):
    tacit("remember", RULE)
    assert tacit("backup", tmp_path, "--json").json["target"].startswith(f"{tmp_path}/tacit-")
    target = tmp_path / "copy.db"
    assert tacit("backup", target).code == 0
    tacit("forget", tacit("list", "--json").json["memories"][0]["id"])
    assert tacit("restore", target).code == 3  # nobody can agree
    assert tacit("list", "--json").json["memories"] == []
    said = tacit("restore", target, "--yes")
    assert said.code == 0, said.err
    assert "quarantine" in said.out
    assert tacit("list", "--json").json["memories"][0]["content"] == RULE


def test_a_backup_overwrites_nothing(tacit, tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    assert tacit("backup", target).code != 0
    assert target.read_text() == "precious"


def test_restoring_what_is_no_backup_leaves_the_store_alone(tacit, tmp_path):
    tacit("remember", RULE)
    source = tmp_path / "no.db"
    source.write_bytes(b"this is no database at all" * 100)
    said = tacit("restore", source, "--yes")
    assert said.code == 6
    assert "tacit backup" in said.err
    assert "quarantine" not in said.err
    assert tacit.daemon.engine is not None  # it was examined before anything was stopped
    assert tacit("restore", tmp_path / "nosuch.db", "--yes").code == 4
    assert tacit("list", "--json").json["memories"][0]["content"] == RULE


def log(tacit, *lines):
    tacit.place.home.ensure()
    tacit.place.home.log_file.write_text("".join(f"{line}\n" for line in lines))


def test_logs_are_read_for_people_and_for_programs(tacit):
    entry = {
        "at": "2026-03-02T09:00:00.000Z",
        "level": "warning",
        "name": "tacit",
        "message": "spool: \x1b[31m3 taken",
    }
    log(tacit, json.dumps(entry), "no json")
    said = tacit("status", "--log")
    assert "2026-03-02T09:00:00.000Z warning spool: " in said.out
    assert "no json" in said.out
    assert "\x1b" not in said.out
    assert tacit("status", "--log", "--json").json == [entry, {"message": "no json"}]
    assert tacit("status", "--log", "-n", "1", "--json").json == [{"message": "no json"}]


def test_logs_that_are_not_there_are_said(tacit):
    assert "has no log entries yet" in tacit("status", "--log").out
    assert tacit("status", "--log", "--json").json == []
    assert tacit("status", "--hooks").code == 0


@pytest.mark.slow
def test_reindex_renews_vectors_of_another_embedder(tacit):
    tacit("remember", RULE)  # with the fake embedder
    tacit("stop")
    said = tacit("doctor", "--reindex", "--json")
    assert (said.code, said.json) == (0, {"embedded": 1})
    assert "already" in tacit("doctor", "--reindex").out
