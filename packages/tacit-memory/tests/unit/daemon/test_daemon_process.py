"""Real daemons in processes of their own, started by real hooks, with an embedder that needs no model."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drivers.machine import wait_for
from tacit.client.daemon_facts import ask_health, read_facts
from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit.errors import DaemonError
from transcripts import write_transcript
from unit.daemon.place import Place

pytestmark = pytest.mark.slow


def payload(event: str, **fields: object) -> bytes:
    given = {"hook_event_name": event, "session_id": "s1", "cwd": "/tmp", **fields}
    return json.dumps(given).encode()


START = payload("SessionStart", source="startup")
PROMPT = payload("UserPromptSubmit", prompt="Fix the parser and commit")


class Launched(Place):
    """A place with a launcher, and hooks that run in it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.launcher = write_launcher(self.home)

    def popen(self, *, host: str = "claude-code", **environ: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.launcher, host],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environ, **environ},
        )

    hook = Place.fire

    def pid(self) -> int:
        facts = read_facts(self.home)
        assert facts is not None
        return facts.pid

    def health(self) -> dict[str, object]:
        told = ask_health(self.home, timeout_s=30)
        assert told is not None
        return dict(told)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def daemons_of(home: Home) -> list[int]:
    environ = f"TACIT_HOME={home.root}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                b"tacit.daemon" in (entry / "cmdline").read_bytes()
                and environ in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
    return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Launched]:
    made = Launched(tmp_path / "h")
    yield made
    pids = {facts.pid} if (facts := read_facts(made.home)) else set()
    with contextlib.suppress(Exception):
        made.client.stop(timeout_s=30)
    for pid in pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(made.home.root, ignore_errors=True)


def test_a_hook_starts_the_daemon_and_the_next_one_finds_it(place):
    place.hook(START)
    pid = place.pid()
    place.hook(PROMPT)
    assert place.pid() == pid
    counters = place.health()["counters"]
    assert isinstance(counters, dict)
    assert counters["hooks"] == 2
    assert counters["errors"] == counters["refused"] == 0
    assert not (place.home.log_file.with_name("hook.count")).exists()
    # It is nobody's child and holds nothing of the hook's.
    assert Path(f"/proc/{pid}/cwd").resolve() == place.home.root.resolve()
    assert {Path(f"/proc/{pid}/fd/{n}").resolve().name for n in (0, 1, 2)} == {"null", "daemon.out"}
    assert os.getsid(pid) != os.getsid(0)


def test_hooks_that_come_at_once_start_one_daemon(place):
    processes = [place.popen() for _ in range(6)]
    for process in processes:
        process.stdin.write(START)
        process.stdin.close()
    for process in processes:
        assert process.wait(90) == 0
        process.stdout.close()
        process.stderr.close()
    # A loser of the race, or a child between fork and exec, may be seen for a moment; it must be gone at once.
    wait_for(lambda: daemons_of(place.home) == [place.pid()])


def test_sigterm_ends_it_cleanly(place):
    place.hook(START)
    pid = place.pid()
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not alive(pid))
    assert not place.home.transport().file.exists()
    assert not place.home.daemon_file.exists()
    assert not place.client.locked()
    assert list(place.home.start_dir.glob("*.json")), (
        "the start block for the time without a daemon is missing"
    )
    assert '"left"' in place.home.log_file.read_text()


def test_stop_waits_until_it_is_gone_and_ensure_running_brings_it_back(place, monkeypatch):
    monkeypatch.setenv("TACIT_EMBEDDER__PROVIDER", "fake")
    place.client.ensure_running(timeout_s=60)
    first = place.pid()
    assert place.client.stop()
    assert not alive(first)  # who removes the home next finds nobody in it
    assert not place.client.stop()
    place.client.ensure_running(timeout_s=60)
    assert place.pid() != first
    place.client.ensure_running(timeout_s=60)
    assert place.client.status()["running"] is True


SOON = """
from tacit.daemon import process
from tacit.daemon.__main__ import main
process.IDLE_MINUTES = 0.08
main()
"""


def test_it_leaves_when_nobody_asks_for_long(place):
    place.home.ensure()
    with subprocess.Popen([sys.executable, "-c", SOON], env=place.environ) as daemon:
        wait_for(lambda: place.home.transport().file.exists() or daemon.poll() is not None)
        place.hook(START)
        assert place.pid() == daemon.pid
        assert daemon.wait(timeout=60) == 0
    assert not place.home.transport().file.exists()


LONG_WORK = """
from tacit.daemon import process
from types import SimpleNamespace
from tacit.app.wiring import open_engine
from tacit.config.home import Home
from tacit.daemon.lifecycle import claim
from tacit.daemon.process import DaemonProcess

process.IDLE_MINUTES = 0.0001
looks = []

def working():
    looks.append(1)
    return len(looks) < 12

class Working(DaemonProcess):
    def _open(self):
        nothing = lambda: None
        return SimpleNamespace(damaged=False, working=working, prerender=nothing, close=nothing)

claimed = claim(Home.find())
code = Working(claimed.home, claimed).run()
print(len(looks), code)
"""


def test_it_stays_for_long_work_that_nobody_watches(place):
    place.home.ensure()
    done = subprocess.run(
        [sys.executable, "-c", LONG_WORK], env=place.environ, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    looks, code = map(int, done.stdout.split())
    assert code == 0
    assert looks >= 12


def test_it_leaves_when_its_home_is_gone(place, tmp_path):
    place.hook(START)
    pid = place.pid()
    place.home.root.rename(tmp_path / "moved")
    wait_for(lambda: not alive(pid))
    assert not place.home.database.exists()
    assert not place.home.start_dir.exists()


LOOKS_OFTEN = """
from tacit.app import learning
from tacit.daemon import process
from tacit.daemon.__main__ import main
process.SPOOL_EVERY_S = learning.FIRST_RETRY_S = 0.5
main()
"""


def test_a_transcript_that_comes_late_is_learned_from_without_another_hook(place, tmp_path):
    transcript = tmp_path / "late.jsonl"
    place.home.ensure()
    daemon = subprocess.Popen([sys.executable, "-c", LOOKS_OFTEN], env=place.environ)
    wait_for(lambda: place.home.transport().file.exists() or daemon.poll() is not None)
    place.hook(START)
    place.hook(payload("SessionEnd", reason="other", transcript_path=str(transcript)))

    def waiting() -> int:
        return int(place.client.request("GET", "/v1/status")[1]["store"]["handovers_pending"])

    wait_for(lambda: waiting() == 1)
    write_transcript(transcript, ("user", "hello"), cwd=tmp_path, at="2025-10-09T10:00:00Z")
    wait_for(lambda: waiting() == 0)
    place.client.stop()
    assert daemon.wait(timeout=60) == 0


def test_a_newer_client_replaces_the_daemon_once(place):
    place.hook(START)
    first = place.pid()
    hook = place.home.bin_dir / "tacit_hook.py"
    hook.write_text(hook.read_text().replace('\nVERSION = "', '\nVERSION = "99.0.0'))
    hook.with_suffix(".pyc").unlink()
    place.hook(PROMPT)
    wait_for(lambda: not alive(first))
    # The successor, of the same version here, leaves again where it finds the first still answering: the next hook starts one.
    place.hook(PROMPT)
    wait_for(lambda: ask_health(place.home, timeout_s=2))
    second = place.pid()
    assert second != first
    place.hook(PROMPT)
    place.hook(PROMPT)
    assert place.pid() == second  # it is no newer, but it is not asked again


def test_a_port_that_cannot_be_opened_is_named_with_the_reason(place):
    place.hook(START)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (taken.getsockname()[1], 70_000):
            with pytest.raises(DaemonError, match=f"127.0.0.1:{port} cannot be used"):
                place.client.request("POST", "/listen", {"port": port})


def test_a_daemon_that_dies_at_birth_is_not_started_by_every_hook(place):
    place.home.config_file.write_text("recall: 3\n")  # a wrong file is survived: it is no reason to die
    place.hook(START)
    assert place.health()["ready"]
    place.client.stop()
    broken = place.home.root / "broken"
    broken.mkdir()
    python = broken / "python"
    python.write_text(f"#!/bin/sh\necho started >> {broken}/count\nexit 1\n")
    python.chmod(0o700)
    hook = place.home.bin_dir / "tacit_hook.py"
    hook.write_text(
        "\n".join(
            f'PYTHON = "{python}"' if line.startswith("PYTHON = ") else line
            for line in hook.read_text().splitlines()
        )
    )
    hook.with_suffix(".pyc").unlink()
    for _ in range(3):
        place.hook(PROMPT, TACIT_HOOK_DEADLINE_MS="3000")
    # The first may have been killed from outside; a second one that dies at once dies of itself.
    assert (broken / "count").read_text().count("started") == 2
