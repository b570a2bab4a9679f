"""Faults around a real daemon and real commands: another user's home, a full device, slow clients, files for others."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.client.daemon_client import DaemonClient
from tacit.daemon.launcher import write_launcher
from unit.daemon.place import Place
from user_voice import as_user, user_token

pytestmark = pytest.mark.slow

ROOT = os.getuid() == 0
NOBODY = 65_534


class Faulty(Place):
    """A place whose commands begin to be the user's."""

    def speak_as_user(self) -> None:
        """What is done from here on is the user's."""
        self.client = DaemonClient(self.home, token=user_token(self.home))
        self.environ = as_user(self.environ, self.home)

    def tacit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(*arguments, cwd=self.home.root.parent)

    def hook(self, event: str, **fields: object) -> str:
        given = {"hook_event_name": event, "session_id": "s", "cwd": "/tmp", **fields}
        return self.fire(json.dumps(given).encode()).decode()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Faulty]:
    made = Faulty(tmp_path / "h")
    yield made
    with contextlib.suppress(Exception):
        made.client.stop(timeout_s=30)


@pytest.mark.skipif(not ROOT, reason="only root can give files to another user")
@pytest.mark.parametrize("linked", [True, False])
def test_a_home_of_another_user_is_refused_and_nothing_is_put_into_it(
    place: Faulty, tmp_path: Path, linked: bool
) -> None:
    theirs = tmp_path / "theirs" if linked else place.home.root
    theirs.mkdir(mode=0o777)
    theirs.chmod(0o777)
    os.chown(theirs, NOBODY, NOBODY)
    if linked:
        place.home.root.symlink_to(theirs)
    for arguments in (("remember", "The gate code is 4711"), ("list",), ("init",)):
        done = place.tacit(*arguments)
        assert done.returncode == 6, done
        assert "belongs to another user" in done.stderr
        assert "TACIT_HOME" in done.stderr
    assert "belongs to another user" in place.tacit("status").stdout
    assert place.tacit("doctor").returncode != 0
    started = subprocess.run(
        [sys.executable, "-m", "tacit.daemon"],
        env=place.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 1
    assert "belongs to another user" in started.stderr
    assert list(theirs.iterdir()) == []


def test_no_file_in_the_home_is_open_to_others(place: Faulty) -> None:
    before = os.umask(0o022)
    try:
        write_launcher(place.home)
        place.speak_as_user()
        place.hook("SessionStart", source="startup")
        for number in range(3):
            assert (
                place.tacit("remember", f"Rule {number}: heron {number} comes before stork").returncode == 0
            )
        assert place.tacit("config", "set", "recall.max_items", "9").returncode == 0
        place.hook("UserPromptSubmit", prompt="heron or stork?")
        place.hook("Stop")
        place.client.request("POST", "/v1/backups", {"target": str(place.home.root / "copy.db")})
        assert place.client.stop(timeout_s=30)
    finally:
        os.umask(before)
    paths = [path for path in place.home.root.rglob("*") if not path.is_symlink()]
    assert {str(path): oct(path.stat().st_mode) for path in paths if path.stat().st_mode & 0o077} == {}
