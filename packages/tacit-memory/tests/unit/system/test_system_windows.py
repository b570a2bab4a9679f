"""Tacit as if on Windows (tests/windows_like.py): every module loads, a hook finds its daemon over TCP, the launcher is a program."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drivers.machine import wait_for
from tacit.client.daemon_client import DaemonClient
from tacit.client.daemon_facts import end_daemon
from tacit.config.home import Home
from tacit.daemon.launcher import windows_program
from tacit.errors import InvalidSetting
from tacit.hosts.install.files import STAMP
from tacit.system import files, processes
from tacit.system.files import take_lock
from tacit.system.transport import TcpTransport, UnixTransport
from user_voice import user_token

ROOT = Path(__file__).parents[5]
WINDOWS = ROOT / "tests" / "windows_like.py"
HOOK = ROOT / "packages/tacit-memory/src" / "tacit_hook.py"
RULE = "Deploy with the blue script"


class Windows:
    """A home there, and programs in it."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.environ = {
            **os.environ,
            "TACIT_HOME": str(root),
            "TACIT_EMBEDDER__PROVIDER": "fake",
            "TACIT_HOOK_DEADLINE_MS": "60000",
            "TACIT_RECALL__DEADLINE_MS": "20000",
        }
        self.environ.pop("TACIT_TRANSPORT", None)

    def python(self, *arguments: str | Path, **environ: str) -> subprocess.Popen[bytes]:
        """Start a Python program."""
        return subprocess.Popen(
            [sys.executable, *(["-I", "-S", "-E"] if arguments[0] != "-m" else []), WINDOWS, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environ, **environ},
        )  # fmt: skip

    def hook(self, program: Path = HOOK, **payload: object) -> str:
        """What a hook prints, which never fails and never complains."""
        given = json.dumps({"session_id": "s", "cwd": "C:\\Users\\Ana\\shop", **payload}).encode()
        process = self.python(program, "claude-code")
        out, err = process.communicate(given, timeout=120)
        assert (process.returncode, err) == (0, b"")
        return out.decode()

    def log(self) -> str:
        """The hook's log."""
        path = self.home.log_file.with_name("hook.log")
        return path.read_text() if path.exists() else ""


@pytest.fixture
def windows(tmp_path: Path) -> Iterator[Windows]:
    made = Windows(tmp_path / "h")
    yield made
    assert end_daemon(made.home.daemon_file, timeout_s=30)


@pytest.mark.slow
def test_a_hook_starts_the_daemon_and_gets_its_memory_over_tcp(windows: Windows) -> None:
    windows.hook(hook_event_name="SessionStart", source="startup")
    assert windows.home.key_file.exists()
    assert not windows.home.socket.exists()
    client = DaemonClient(windows.home, token=user_token(windows.home))
    body = {"content": RULE, "kind": "preference", "when": "always", "scope": "universal"}
    client.request("POST", "/v1/memories", body)
    assert RULE in windows.hook(hook_event_name="SessionStart", source="startup", session_id="s2")

    program = (
        windows.home.root / "tacit-hook.exe"
    )  # Python runs the archive behind the launcher, as the launcher has it do
    program.write_bytes(windows_program(windows.home, sys.executable, HOOK.read_text()))
    assert RULE in windows.hook(program, hook_event_name="SessionStart", source="startup", session_id="s3")

    command = windows.python("-m", "tacit.cli.main", "status")
    out, err = command.communicate(timeout=120)
    assert b"running, pid" in out, err
    assert client.stop()
    assert not windows.home.key_file.exists()
    assert windows.log() == ""


def test_the_watchdog_there_is_a_thread(windows: Windows) -> None:
    process = windows.python(HOOK, "claude-code", TACIT_HOOK_DEADLINE_MS="300")
    assert process.stdin is not None
    assert process.wait(60) == 0, "its input never ends"
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    wait_for(lambda: "stopped by the watchdog" in windows.log())


def test_a_start_that_is_on_its_way_is_not_repeated(windows: Windows) -> None:
    """A child inherits no lock on Windows, so a young start counts by its time."""
    windows.home.ensure()
    (windows.home.run_dir / "start.lock").write_bytes(b"starting")
    process = windows.python(HOOK, "start")
    assert (process.communicate(timeout=60), process.returncode) == ((b"", b""), 0)
    assert not windows.home.daemon_file.exists()


# --- which transport


def test_the_transport_of_a_new_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    assert isinstance(home.new_transport({}), UnixTransport)
    assert isinstance(home.new_transport({"TACIT_TRANSPORT": "tcp"}), TcpTransport)
    with pytest.raises(InvalidSetting, match="TACIT_TRANSPORT"):
        home.new_transport({"TACIT_TRANSPORT": "pipe"})
    monkeypatch.setattr(sys, "platform", "win32")
    assert isinstance(home.new_transport({}), TcpTransport)
    with pytest.raises(InvalidSetting, match="unix"):
        home.new_transport({"TACIT_TRANSPORT": "unix"})


def test_clients_follow_what_the_daemon_left(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    assert isinstance(home.transport(), UnixTransport)
    home.key_file.touch()
    assert isinstance(home.transport(), TcpTransport)


# --- the launcher


def windows_hook() -> bytes:
    home = Home(Path("C:\\Users\\Ana Müller\\.tacit"))
    return windows_program(home, "C:\\Program Files\\Python\\python.exe", HOOK.read_text(), arm=False)


def test_the_launcher_is_a_program_a_line_and_an_archive_byte_for_byte_the_same() -> None:
    program = windows_hook()
    assert program == windows_hook()
    assert program[:2] == b"MZ"
    stub, _, archive = program.partition(b'#!"C:\\Program Files\\Python\\python.exe" -I -S -E\r\n')
    import distlib

    assert stub == (Path(distlib.__file__).parent / "t64.exe").read_bytes()
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.namelist() == ["__main__.py", "tacit_hook.pyc", "tacit_hook.py"]
        assert opened.read("tacit_hook.py") == HOOK.read_bytes()
        start = opened.read("__main__.py").decode()
    assert STAMP in start
    assert "'C:\\\\Users\\\\Ana Müller\\\\.tacit'" in start
    assert os.fsencode(ROOT) not in archive, "no path of the machine that made it"


def test_an_arm_processor_gets_its_own_program() -> None:
    made = {
        windows_program(Home(Path("C:\\t")), "python.exe", HOOK.read_text(), arm=arm)[:4096]
        for arm in (True, False)
    }
    assert len(made) == 2


def test_a_program_that_runs_makes_room_for_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.daemon.launcher import launcher_problem, refresh_launcher, write_launcher

    monkeypatch.setattr(sys, "platform", "win32")
    home = Home(tmp_path / "h")
    launcher = write_launcher(home)
    assert launcher.name == "tacit-hook.exe"
    assert launcher_problem(home) == ""
    assert not refresh_launcher(home)
    first = launcher.stat().st_ino
    write_launcher(home)
    assert [old.stat().st_ino for old in launcher.parent.glob("*.old")] == [first]
    write_launcher(home)
    assert first not in [old.stat().st_ino for old in launcher.parent.glob("*.old")]
    launcher.write_bytes(launcher.read_bytes().replace(STAMP.encode(), b"tacit-install:1"))
    assert "stale" in launcher_problem(home)
    assert refresh_launcher(home)
    assert launcher_problem(home) == ""


# --- files, locks and processes


def test_one_holder_of_a_lock_at_a_time_and_others_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    first, second = (files.open_handle(file, os.O_RDWR | os.O_CREAT) for _ in range(2))
    os.write(first, b"starting")
    assert take_lock(first)
    assert not take_lock(second)
    assert file.read_bytes() == b"starting"
    os.close(first)
    assert take_lock(second)
    os.close(second)


def test_a_file_that_another_process_reads_is_replaced_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    refusals = iter([PermissionError(), PermissionError()])
    rename = Path.replace

    def replace(self: Path, target: Path) -> Path:
        for refusal in refusals:
            raise refusal
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    files.write_whole(tmp_path / "f", b"a\nb\x1a")
    assert (tmp_path / "f").read_bytes() == b"a\nb\x1a"
    refusals = iter([PermissionError()] * 10_000)
    monkeypatch.setattr(files, "REPLACE_S", 0.05)
    with pytest.raises(PermissionError):
        files.write_whole(tmp_path / "f", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_link_is_refused_where_the_system_cannot_do_it_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "f")
    for flag in (files._UNFOLLOWED, 0):
        monkeypatch.setattr(files, "_UNFOLLOWED", flag)
        with pytest.raises(OSError, match="link"):
            files.open_handle(tmp_path / "link", os.O_WRONLY | os.O_CREAT, follow=False)
    assert not (tmp_path / "f").exists()


PROCESSES = """
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import windows_like
windows_like.become_windows()
from tacit.system.processes import end_group, end_process, group_options, is_running, resident_kb
child = subprocess.Popen([sys.executable, "-c", "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print(1, flush=True); time.sleep(60)"],
                         stdout=subprocess.PIPE, **group_options())
child.stdout.readline()
assert is_running(child.pid) and resident_kb() == 0
end_group(child.pid)
child.wait(10)
assert not is_running(child.pid)
assert child.stdout.read() == b"", "what it started is gone, too"
other = subprocess.Popen(["sleep", "60"])
assert end_process(other.pid, timeout_s=10)
end_group(child.pid)
print("fine")
"""


def test_processes_are_started_asked_and_ended_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROCESSES, str(WINDOWS.parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "fine\n", done.stderr


def test_processes_are_started_asked_and_ended_here() -> None:
    with subprocess.Popen(["sleep", "60"], **processes.group_options()) as child:
        assert processes.is_running(child.pid)
        processes.end_group(child.pid)
        child.wait(10)
        assert not processes.is_running(child.pid)
        processes.end_group(child.pid)
    assert processes.resident_kb() > 1000
