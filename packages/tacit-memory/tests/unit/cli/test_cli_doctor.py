"""doctor: what it finds, and that it fails when something does."""

from __future__ import annotations

import errno
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import __version__
from tacit.cli import checks
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.daemon.launcher import launcher_problem
from tacit.errors import DaemonUnavailable
from tacit.hosts.install.files import INSTALL_VERSION, STAMP


class Dead:
    """A daemon that never comes up."""

    def __init__(self, home):
        self.home = home

    def ensure_running(self, timeout_s=10.0):
        raise DaemonUnavailable("No daemon answered.", hint="Look at the log.")


def states(said):
    return [(finding["name"], finding["state"]) for finding in said.json["findings"]]


@pytest.mark.slow
def test_a_sound_machine_without_agents_passes(tacit):
    said = tacit("doctor", "--json")
    assert said.code == 0, said.out
    found = dict(states(said))
    assert found["store"] == "ok"
    assert found["embedder"] in ("ok", "warn")  # a slow machine is told so
    assert found["claude-code"] == "skip"
    assert said.json["ok"] is True
    assert "All checks passed." in tacit("doctor", "--no-hosts").out


def test_a_dead_daemon_fails_the_check_with_what_to_do(tacit):
    said = tacit("doctor", "--no-hosts", place=replace(tacit.place, connect=Dead))
    assert said.code == 10
    assert "FAIL  daemon" in said.out
    assert "-> Look at the log." in said.out


@pytest.mark.slow
def test_a_host_that_is_not_connected_is_told_what_is_wrong_with_its_files(tacit):
    host = "codex"
    path = tacit.place.user_home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text("[broken")
    said = tacit("doctor", host, "--json")
    (finding,) = [each for each in said.json["findings"] if each["name"] == host]
    assert finding["state"] == "fail"
    assert str(path) in finding["detail"]
    assert dict(states(tacit("doctor", "--json")))[host] == "warn"
    assert str(path) in tacit("status").out.replace("\n", "")


@pytest.mark.slow
def test_an_embedder_that_cannot_embed_fails_although_memories_are_stored(tacit):
    tacit.place.home.ensure()
    tacit.place.home.config_file.write_text(
        "embedder: {provider: ollama, model: m, dimensions: 8, endpoint: 'http://127.0.0.1:1'}\n"
    )
    said = tacit("doctor", "--no-hosts", "--json")
    assert said.code == 10
    (finding,) = [each for each in said.json["findings"] if each["name"] == "embedder"]
    assert finding["state"] == "fail"
    assert "http://127.0.0.1:1 did not answer" in finding["detail"]


def test_a_home_that_cannot_be_is_the_only_finding(tacit):
    tacit.place.home.root.write_text("a file")
    said = tacit("doctor", "--json")
    assert said.code == 10
    assert states(said) == [("python", "ok"), ("home", "fail")]
    assert f"{platform.python_version()} at {sys.executable}" in said.json["findings"][0]["detail"]


class Breaks(DaemonClient):
    """A client of a daemon that runs, and whose connection breaks at every question."""

    def ensure_running(self, timeout_s=10.0):
        pass

    def status(self):
        return {**super().status(), "running": True, "version": __version__, "pid": 1}


def test_a_broken_connection_is_told_with_python_errno_and_call_and_not_with_doctor_itself(tacit):
    said = tacit("doctor", "--no-hosts", "--json", place=replace(tacit.place, connect=Breaks))
    [store] = [finding for finding in said.json["findings"] if finding["name"] == "store"]
    assert store["state"] == "fail"
    assert f"[Errno {errno.ENOENT}]" in store["detail"]
    assert "connect(" in store["detail"]
    assert "transport.py" in store["detail"]
    assert platform.python_version() in store["detail"]
    assert store["advice"]
    assert not [f for f in said.json["findings"] if "tacit doctor" in f["advice"]]


def test_an_unknown_host_is_named(tacit):
    said = tacit("doctor", "--host", "emacs")
    assert said.code == 4
    assert "claude-code" in said.err


def test_wrong_settings_are_a_warning_that_names_the_file(tmp_path):
    home = Home(tmp_path / "home")
    home.ensure()
    home.config_file.write_text("recal: {}\n")
    finding = checks.check_settings(home)
    assert finding.state == "warn"
    assert str(home.config_file) in finding.detail + finding.advice


def test_an_agent_that_was_asked_for_and_is_not_connected_fails(tacit):
    arguments = {"project": tacit.project, "scratch": None}
    [asked] = checks.check_host(tacit.place, "opencode", named=True, **arguments)
    [unasked] = checks.check_host(tacit.place, "opencode", named=False, **arguments)
    assert (asked.state, unasked.state) == ("fail", "skip")
    assert "tacit install opencode" in asked.advice


def test_an_installation_that_lost_a_file_fails(tacit):
    tacit("install", "claude-code", "--yes")
    (tacit.place.user_home / ".claude" / "commands" / "tacit.md").unlink()
    found = list(
        checks.check_host(tacit.place, "claude-code", project=tacit.project, scratch=None, named=False)
    )
    assert found[0].state == "fail"
    assert found[0].advice == "`tacit install claude-code`"
    assert found[1].state == "warn"  # no such program here


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (f"tacit-install:{INSTALL_VERSION - 1}", f"is stale: it carries version {INSTALL_VERSION - 1}"),
        (f"tacit-install:{INSTALL_VERSION + 1}", f"is stale: it carries version {INSTALL_VERSION + 1}"),
        ("tacit-hand-made", "differs from what this Tacit writes"),
    ],
)
def test_every_file_of_another_version_is_named_and_renewed(tacit, written, told):
    home, user, hosts = tacit.place.home, tacit.place.user_home, ("claude-code", "opencode", "gemini")
    tacit("install", *hosts, "--yes")
    files = {
        user / ".claude" / "settings.json": "claude-code",
        user / ".claude" / "commands" / "tacit.md": "claude-code",
        user / ".config" / "opencode" / "plugins" / "tacit.js": "opencode",
        user / ".gemini" / "settings.json": "gemini",
    }

    def found(host):
        return next(
            iter(checks.check_host(tacit.place, host, project=tacit.project, scratch=None, named=False))
        )

    before = {path: path.read_text() for path in (home.launcher, *files)}
    for path, text in before.items():
        path.write_text(text.replace(STAMP, written))
    for path, host in files.items():
        assert found(host).state == "fail"
        assert f"{path} {told}" in found(host).detail
        assert "tacit install" in found(host).advice
    assert f"{home.launcher} {told}" in launcher_problem(home)
    assert f"Renewed the launcher {home.launcher}." in tacit("install", *hosts, "--yes").out
    assert {path: path.read_text() for path in before} == before
    assert launcher_problem(home) == ""
    assert {found(host).state for host in hosts} == {"ok"}


def test_it_says_whether_the_host_asks_before_memory_tools_and_by_which_rule(tacit):
    def tools():
        found = checks.check_host(
            tacit.place, "claude-code", project=tacit.project, scratch=None, named=False
        )
        return next(each for each in found if each.name == "claude-code tools")

    tacit("install", "claude-code", "--yes")
    assert tools().state == "skip"
    assert "tacit install claude-code --allow-tools" in tools().advice
    tacit("install", "claude-code", "--yes", "--allow-tools")
    assert tools().state == "ok"
    own = tacit.project / ".claude" / "settings.local.json"
    own.parent.mkdir()
    own.write_text('{"permissions": {"deny": ["mcp__tacit__memory_add"]}}')
    assert tools().state == "warn"
    assert f"never runs memory_add (mcp__tacit__memory_add in {own})" in tools().detail
    assert not tools().advice


def test_a_launcher_that_is_missing_or_says_nothing_is_no_working_one(home):
    found = checks.ScratchHome(
        home=home, nonce="n", memory_id="m", daemon=Dead(None), embed_ms=1.0, embedder="x"
    )
    assert checks.check_launcher(home, found).state == "warn"
    home.launcher.write_text("#!/bin/sh\nexit 0\n")
    home.launcher.chmod(0o755)
    assert checks.check_launcher(home, found).state == "fail"


@pytest.mark.slow
def test_the_real_launcher_hands_the_word_over_through_a_real_daemon(tacit, tmp_path):
    tacit("install", "claude-code", "--yes")
    place = replace(tacit.place, connect=DaemonClient)
    folder = tmp_path / "trial"
    folder.mkdir()
    with checks.make_scratch_home(place, folder) as trial:
        finding = checks.check_launcher(place.home, trial)
        pid_file = Path(trial.home.daemon_file)
        assert pid_file.exists()
    assert finding.state in ("ok", "warn"), finding
    assert "answered in" in finding.detail
    assert not DaemonClient(trial.home).locked()
