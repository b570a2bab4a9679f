"""`tacit install` and `tacit doctor` as a person runs them, with the real clients on PATH."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.e2e


@pytest.fixture
def all_hosts(sandbox, claude, opencode, codex, gemini, copilot):  # noqa: PLR0917 - fixtures
    sandbox.tacit("install", "--yes", "--trust-hooks")
    return sandbox


def proofs(finished) -> dict[str, dict]:
    findings = json.loads(finished.stdout)["findings"]
    return {each["name"]: each for each in findings if each["name"].endswith("proof")}


def test_install_finds_every_host_and_doctor_proves_each(all_hosts, report):
    finished = all_hosts.tacit("doctor", "--json")
    assert json.loads(finished.stdout)["ok"] is True
    found = proofs(finished)
    assert {name: each["state"] for name, each in found.items()} == {
        "claude-code proof": "ok",
        "opencode proof": "ok",
        "codex proof": "ok",
        "gemini proof": "ok",
        "copilot proof": "ok",
    }
    for name, each in found.items():
        report(name, each["detail"])


def test_doctor_has_the_clients_call_the_tools_that_the_rules_allow(all_hosts):
    def tools(*options):
        findings = json.loads(
            all_hosts.tacit("doctor", "claude-code", "gemini", "--json", *options, check=False).stdout
        )
        return {f["name"]: f for f in findings["findings"] if f["name"].endswith("tools")}

    assert {each["state"] for each in tools().values()} == {"skip"}
    assert "--allow-tools" in tools("--no-hosts")["gemini tools"]["advice"]
    all_hosts.tacit("install", "--yes", "--allow-tools")
    for each in tools().values():
        assert each["state"] == "ok", each
        assert "ran memory_get and memory_add without asking" in each["detail"]
    assert "not tried" in tools("--no-hosts")["claude-code tools"]["detail"]

    settings = all_hosts.home / ".claude" / "settings.json"
    values = json.loads(settings.read_text())
    values["permissions"]["ask"] = ["mcp__tacit__memory_add"]
    settings.write_text(json.dumps(values))
    policy = '[[rule]]\nmcpName = "tacit"\ntoolName = "memory_add"\ndecision = "deny"\npriority = 10\n'
    (all_hosts.home / ".gemini" / "policies" / "mine.toml").write_text(policy)
    found = tools()
    assert {each["state"] for each in found.values()} == {"warn"}
    assert "asks before memory_add (mcp__tacit__memory_add in " in found["claude-code tools"]["detail"]
    assert "memory_get:" not in found["gemini tools"]["detail"]
    assert "memory_add:" in found["gemini tools"]["detail"]


def test_doctor_sees_a_path_that_is_dead_although_every_file_is_in_place(all_hosts):
    launcher = all_hosts.tacit_home / "bin" / "tacit-hook"
    launcher.write_text("#!/bin/sh\ncat >/dev/null\nexit 0\n")
    finished = all_hosts.tacit("doctor", "--host", "claude-code", "--json", check=False)
    assert finished.returncode == 10
    proof = proofs(finished)["claude-code proof"]
    assert proof["state"] == "fail"
    assert "without the memory" in proof["advice"]


def test_uninstall_leaves_nothing_that_runs(all_hosts, claude):
    all_hosts.tacit("uninstall", "--yes")
    all_hosts.stub.clear()
    assert claude.ask("hello STUB_TEXT fine").text == "fine"
    assert all_hosts.daemon_pid() is None
    assert not list((all_hosts.home / ".config" / "opencode").rglob("tacit*.js"))
