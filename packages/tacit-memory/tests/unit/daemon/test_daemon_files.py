"""The daemon's lock, socket, spool, log and launcher, without a daemon."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from loopback import daemon_server
from tacit.client.daemon_facts import (
    DaemonFacts,
    ask_health,
    read_facts,
)
from tacit.config.home import Home
from tacit.daemon.launcher import refresh_launcher, write_launcher
from tacit.daemon.lifecycle import claim, write_facts
from tacit.daemon.process import start_log
from tacit.daemon.spool import Spool
from tacit.errors import (
    DaemonError,
    NotFound,
    StoreBusy,
)


def test_one_claim_at_a_time_and_nothing_stays_behind(home):
    first = claim(home)
    assert first is not None
    assert first.transport.file.stat().st_mode & 0o077 == 0
    with pytest.raises(DaemonError, match="does not answer"):
        claim(home, patience_s=0.1)
    write_facts(home, DaemonFacts(pid=os.getpid(), version="1", started_at_ms=1))
    first.release()
    assert not first.transport.file.exists()
    assert not home.daemon_file.exists()
    second = claim(home, patience_s=0.1)
    assert second is not None
    second.release()


def test_a_stale_socket_is_replaced(home):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(home.socket))
    claimed = claim(home)
    assert claimed is not None
    assert claimed.holds()
    claimed.release()


def test_a_claim_notices_that_its_socket_is_gone_and_removes_no_others(home):
    claimed = claim(home)
    assert claimed is not None
    file = claimed.transport.file
    file.unlink()
    assert not claimed.holds()
    file.write_text("another's")
    claimed.release()
    assert file.read_text() == "another's"


def test_facts_are_private_and_broken_ones_are_none(home):
    facts = DaemonFacts(pid=3, version="0.1", started_at_ms=5, http_port=8, token="t")
    write_facts(home, facts)
    assert read_facts(home) == facts
    assert home.daemon_file.stat().st_mode & 0o077 == 0
    for text in ("", "[]", "{", '{"pid": 1}'):
        home.daemon_file.write_text(text)
        assert read_facts(home) is None


def test_health_of_nobody_is_none(home):
    assert ask_health(home, timeout_s=0.2) is None
    claimed = claim(home)
    assert claimed is not None
    assert ask_health(home, timeout_s=0.1) is None  # bound, but nobody answers
    claimed.release()


def spool(home: Home, name: str, text: str) -> Path:
    path = home.spool_dir / name
    path.write_text(text)
    return path


def test_the_spool_is_taken_oldest_first_and_emptied(home):
    spool(home, "2.event", '{"host":"plain"}\n{"n": 2}')
    spool(home, "1.event", '{"host":"plain"}\n{"n": 1}')
    spool(home, "3.event.tmp", '{"host":"plain","at_ms":7,"project_dir":"/p"}\n{"n": 3}')
    taken: list[object] = []

    def take(
        host: str, payload: Mapping[str, object], *, at_ms: int | None, given: bool, project_dir: str
    ) -> None:
        taken.append((host, payload["n"], at_ms, given, project_dir))

    done = Spool(home.spool_dir).drain(take)
    assert taken == [("plain", 1, None, False, ""), ("plain", 2, None, False, "")]
    assert done.taken == 2
    assert [path.name for path in home.spool_dir.iterdir()] == ["3.event.tmp"]  # its hook may be at work
    assert Spool(home.spool_dir).drain(take, now_s=time.time() + 20).taken == 1
    assert taken[2] == ("plain", 3, 7, False, "/p")
    assert list(home.spool_dir.iterdir()) == []


def test_half_an_event_of_a_hook_that_was_ended_is_thrown_away(home):
    spool(home, "1.event.tmp", '{"host":"plain","at_ms":7}\n{"n": 3, "transcript_pa')
    done = Spool(home.spool_dir).drain(lambda *_, **__: None, now_s=time.time() + 20)
    assert (done.taken, done.refused) == (0, 1)
    assert list(home.spool_dir.iterdir()) == []


def test_words_are_deleted_unread_after_an_hour_finished_or_not(home):
    spool(home, "1-text.event", '{"host":"plain"}\n{"n": 1}')
    spool(home, "2-text.event.tmp", '{"host":"plain"}\n{"n": 2}')
    assert Spool(home.spool_dir).drain(lambda *_, **__: None, now_s=time.time() + 3_700).taken == 0
    assert list(home.spool_dir.iterdir()) == []


def test_the_start_of_the_session_that_asks_is_taken_before_it_and_no_other(home):
    spool(home, "1-start.event", '{"host":"plain","at_ms":5}\n{"session_id": "a"}')
    spool(home, "2-start.event", '{"host":"plain","at_ms":6}\n{"session_id": "b"}')
    spool(home, "3.event", '{"host":"plain"}\n{"session_id": "b"}')
    taken: list[object] = []

    def take(
        host: str, payload: Mapping[str, object], *, at_ms: int | None, given: bool, project_dir: str
    ) -> None:
        taken.append((host, payload["session_id"], at_ms, given))

    Spool(home.spool_dir).take_start({"session_id": "b", "prompt": "x"}, take, timeout_s=5)
    assert taken == [("plain", "b", 6, True)]
    assert sorted(path.name for path in home.spool_dir.iterdir()) == ["1-start.event", "3.event"]


def test_what_cannot_be_read_is_thrown_away_and_what_cannot_be_taken_yet_stays(home):
    spool(home, "1.event", "no json\n{}")
    spool(home, "2.event", '{"host":"plain"}\nnone')
    spool(home, "3.event", '{"no": "host"}\n{}')
    spool(home, "4.event", '{"host":"gone"}\n{}')
    spool(home, "5.event", '{"host":"busy"}\n{}')
    spool(home, "6.event", '{"host":"plain"}\n{}')

    def take(host: str, _: object, **__: object) -> None:
        if host == "gone":
            raise NotFound("no host")
        if host == "busy":
            raise StoreBusy("later")

    done = Spool(home.spool_dir).drain(take)
    assert (done.taken, done.refused, done.left) == (0, 4, 1)
    assert sorted(path.name for path in home.spool_dir.iterdir()) == ["5.event", "6.event"]
    a_week_later = (home.spool_dir / "5.event").stat().st_mtime + 8 * 86_400
    assert Spool(home.spool_dir).drain(take, now_s=a_week_later).taken == 1
    assert list(home.spool_dir.iterdir()) == []


def test_the_log_holds_lines_of_json_without_the_words_of_an_error(home):
    handler = start_log(home, max_bytes=10_000, files=2)
    try:
        logger = logging.getLogger("tacit.test")
        try:
            raise ValueError("secret words")
        except ValueError:
            logger.exception("it broke")
        logger.warning("refused", extra={"detail": "secret words"})
        logger.info("captured", extra={"detail": "3 added"})
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    text = home.log_file.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["message"] for line in lines] == ["it broke", "refused", "captured"]
    assert lines[0]["error"] == "ValueError"
    assert lines[2]["detail"] == "3 added"
    assert "secret words" not in text.replace('raise ValueError(\\"secret words\\")', "")
    assert home.log_file.stat().st_mode & 0o077 == 0


def test_a_full_log_is_rotated(home):
    handler = start_log(home, max_bytes=10_000, files=2)
    try:
        for number in range(400):
            logging.getLogger("tacit.test").info("line %d", number)
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    names = sorted(path.name for path in home.log_file.parent.iterdir())
    assert names == ["daemon.log", "daemon.log.1", "daemon.log.2"]


def launch(launcher: Path, home: Home | None, *arguments: str, path: str = "/usr/bin:/bin") -> bytes:
    done = subprocess.run(
        [launcher, *(arguments or ("claude-code",))],
        input=b'{"hook_event_name": "UserPromptSubmit", "prompt": "hi"}',
        capture_output=True,
        timeout=50,
        env={"PATH": path, **({"TACIT_HOME": str(home.root)} if home else {})},
    )
    assert done.returncode == 0
    assert done.stderr == b""
    return done.stdout


def test_the_launcher_works_where_paths_hold_spaces_quotes_and_accents(tmp_path):
    home = Home(tmp_path / 'it\'s ä "home" $HOME')
    home.ensure()
    launcher = write_launcher(home)
    with daemon_server(home, b"injected"):
        assert launch(launcher, home) == b"injected"
        assert launch(launcher, None) == b"injected"  # a host without the variable still finds this home


def test_the_launcher_survives_a_moved_environment_and_foreign_bytecode(home, tmp_path):
    gone = tmp_path / "venv" / "bin" / "python"
    launcher = write_launcher(home, python=str(gone))
    with daemon_server(home, b"injected"):
        path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
        assert launch(launcher, home, path=path) == b"injected"
        write_launcher(home)
        (home.bin_dir / "tacit_hook.pyc").write_bytes(b"of another version" * 20)
        assert launch(launcher, home) == b"injected"
        (home.bin_dir / "tacit_hook.pyc").unlink()
        assert launch(launcher, home) == b"injected"


def test_the_launcher_without_any_interpreter_is_silence(home, tmp_path):
    launcher = write_launcher(home, python=str(tmp_path / "gone"))
    assert launch(launcher, home, path="/nowhere") == b""
    launcher = write_launcher(home)
    (home.bin_dir / "tacit_hook.py").unlink()
    (home.bin_dir / "tacit_hook.pyc").unlink()
    assert launch(launcher, home) == b""


def test_the_launcher_is_private_and_writing_it_again_changes_nothing(home):
    launcher = write_launcher(home)
    before = {path.name: path.read_bytes() for path in home.bin_dir.iterdir()}
    assert launcher == home.launcher
    assert launcher.stat().st_mode & 0o777 == 0o700
    assert write_launcher(home) == launcher
    assert {path.name: path.read_bytes() for path in home.bin_dir.iterdir()} == before
    assert sorted(before) == ["tacit-hook", "tacit_hook.py", "tacit_hook.pyc"]


def test_only_an_older_launcher_is_renewed(home):
    assert not refresh_launcher(home)  # nobody asked for one
    write_launcher(home)
    assert not refresh_launcher(home)
    hook = home.bin_dir / "tacit_hook.py"
    hook.write_text(hook.read_text().replace('\nVERSION = "', '\nVERSION = "0.0.1" or "'))
    hook.write_text("VERSION = '0.0.1'\n")
    assert refresh_launcher(home)
    assert "def run_hook" in hook.read_text()
