"""What an older version installed: `doctor` names each stale file, and `install` renews it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.client.daemon_client import DaemonClient
from tacit.hosts.install import INSTALL_VERSION, STAMP

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


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (f"tacit-install:{INSTALL_VERSION - 1}", f"version {INSTALL_VERSION - 1}"),
        ("tacit-hand-made", "no version"),
        (f"tacit-install:{INSTALL_VERSION + 1}", f"version {INSTALL_VERSION + 1}"),
    ],
    ids=["older", "none", "newer"],
)
def test_every_stale_file_is_named_and_renewed(installed, written, said):
    before = {path: path.read_text() for path in carriers(installed)}
    for path in before:
        rewrite(path, STAMP, written)
    found = doctor(installed)
    for path, name in carriers(installed).items():
        assert found[name]["state"] in ("warn", "fail")
        assert f"{path} is stale: it carries {said}, and this Tacit writes version" in found[name]["detail"]
        assert "tacit install" in found[name]["advice"]
    reply = installed("install", *HOSTS, "--yes")
    assert f"Renewed the launcher {installed.place.home.launcher}." in reply.out
    assert {path: path.read_text() for path in carriers(installed)} == before
    assert {doctor(installed)[name]["state"] for name in ("launcher", *HOSTS)} == {"ok"}
