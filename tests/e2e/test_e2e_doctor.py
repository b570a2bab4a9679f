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


def test_install_finds_every_host_doctor_proves_each_and_uninstall_leaves_nothing_that_runs(
    all_hosts, claude, report
):
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
    all_hosts.tacit("uninstall", "--yes")
    all_hosts.tacit("stop")
    all_hosts.stub.clear()
    assert claude.ask("hello STUB_TEXT fine").text == "fine"
    assert all_hosts.daemon_pid() is None
    assert not list((all_hosts.home / ".config" / "opencode").rglob("tacit*.js"))
