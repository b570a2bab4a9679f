"""What an older version installed: `doctor` names each stale file, and `install` renews it."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest

from tacit.client.daemon_client import DaemonClient
from tacit.hosts.install.files import INSTALL_VERSION, STAMP

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
HOSTS = ("claude-code", "opencode", "gemini")


def carriers(tacit):
    """Files of an installation that carry a version, by the name under which `doctor` reports them."""
    user = tacit.place.user_home
    return {
        tacit.place.home.launcher: "launcher",
        user / ".claude" / "settings.json": "claude-code",
        user / ".claude" / "commands" / "tacit.md": "claude-code",
        user / ".config" / "opencode" / "plugins" / "tacit.js": "opencode",
        user / ".gemini" / "settings.json": "gemini",
    }


def doctor(tacit):
    """Findings of `tacit doctor` by name, the agents themselves left out; the scratch home has a real daemon."""
    own = tacit.place.home

    def connect(home):
        return tacit.place.connect(home) if home == own else DaemonClient(home)

    reply = tacit("doctor", "--no-hosts", "--json", place=replace(tacit.place, connect=connect))
    found = {}
    for finding in reply.json["findings"]:
        found.setdefault(finding["name"], finding)
    return found


@pytest.fixture
def installed(tacit):
    assert tacit("install", *HOSTS, "--yes").code == 0
    return tacit


def rewrite(path, old, new):
    text = path.read_text()
    assert old in text, path
    path.write_text(text.replace(old, new))


def test_every_stale_file_is_named_and_renewed(installed):
    stamps = cycle((
        (f"tacit-install:{INSTALL_VERSION - 1}", f"is stale: it carries version {INSTALL_VERSION - 1}"),
        (f"tacit-install:{INSTALL_VERSION + 1}", f"is stale: it carries version {INSTALL_VERSION + 1}"),
        ("tacit-hand-made", "differs from what this Tacit writes"),
    ))  # fmt: skip
    before = {path: path.read_text() for path in carriers(installed)}
    said = {}
    for path, (written, told) in zip(before, stamps, strict=False):
        rewrite(path, STAMP, written)
        said[path] = told
    found = doctor(installed)
    for path, name in carriers(installed).items():
        assert found[name]["state"] in ("warn", "fail")
        assert f"{path} {said[path]}" in found[name]["detail"]
        assert "tacit install" in found[name]["advice"]
    reply = installed("install", *HOSTS, "--yes")
    assert f"Renewed the launcher {installed.place.home.launcher}." in reply.out
    assert {path: path.read_text() for path in carriers(installed)} == before
    renewed = doctor(installed)
    assert {renewed[name]["state"] for name in ("launcher", *HOSTS)} == {"ok"}
