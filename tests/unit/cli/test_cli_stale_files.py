"""What an older version installed: `doctor` names each stale file, and `install` renews it."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from pathlib import Path

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


@pytest.fixture
def first_release(tacit):
    """The files that the first release wrote, commit 9f896ae; see scripts/make_home_9f896ae.py."""
    folders = {"@FOLDER@/home": tacit.place.home.root, "@FOLDER@/user": tacit.place.user_home}
    with zipfile.ZipFile(Path(__file__).parents[2] / "homes" / "home_9f896ae.zip") as archive:
        for name in archive.namelist():
            if not name.startswith(("home/bin/", "home/hosts/", "user/")):
                continue
            text = archive.read(name).decode().replace("@PYTHON@", sys.executable)
            for mark, folder in folders.items():
                text = text.replace(mark, str(folder))
            file = folders[f"@FOLDER@/{name.partition('/')[0]}"] / name.partition("/")[2]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    tacit.place.home.root.chmod(0o700)
    tacit.place.home.launcher.chmod(0o700)
    return tacit


def test_what_the_first_release_installed_is_named_and_renewed(first_release):
    found = doctor(first_release)
    written = {path: name for path, name in carriers(first_release).items() if path.exists()}
    assert set(written.values()) == {"launcher", "claude-code", "opencode"}
    for path, name in written.items():
        assert f"{path} is stale: it carries no version" in found[name]["detail"], found[name]
        assert "tacit install" in found[name]["advice"]
    assert first_release("install", *HOSTS, "--yes").code == 0
    assert {doctor(first_release)[name]["state"] for name in ("launcher", *HOSTS)} == {"ok"}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (f"tacit-install:{INSTALL_VERSION - 1}", "no version, as the first release wrote it"),
        (f"tacit-install:{INSTALL_VERSION + 1}", f"version {INSTALL_VERSION + 1}"),
    ],
    ids=["older", "newer"],
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
