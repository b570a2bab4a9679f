"""The home: paths, the socket rule that the hook client repeats, folder modes, refusals."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tacit.config.environment import ARRAY_THREADS, one_thread_for_arrays
from tacit.config.home import MAX_SOCKET_BYTES, Home
from tacit.errors import InvalidSetting, StoreReadOnly
from tacit_hook import HomePaths


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_variable_names_the_home(tmp_path):
    assert Home.find({"TACIT_HOME": str(tmp_path / "there")}).root == tmp_path / "there"


def test_without_the_variable_the_home_is_below_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Home.find({}).root == tmp_path / ".tacit"
    assert Home.find({"TACIT_HOME": ""}).root == tmp_path / ".tacit"
    assert Home.find({"TACIT_HOME": "~/x"}).root == tmp_path / "x"


def test_a_relative_home_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert Home.find({"TACIT_HOME": "a/../b"}).root == tmp_path / "b"


def test_a_nul_byte_is_refused():
    with pytest.raises(InvalidSetting, match="TACIT_HOME"):
        Home.find({"TACIT_HOME": "/a\0b"})


def test_every_path_lies_below_the_root(tmp_path):
    home = Home(tmp_path)
    paths = [
        home.config_file, home.database, home.lock_file, home.daemon_lock, home.daemon_file,
        home.spool_dir, home.start_dir, home.launcher, home.log_file, home.quarantine_dir,
    ]  # fmt: skip
    assert all(path.is_relative_to(tmp_path) for path in paths)
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize("length", [20, 80, 84, 85, 86, 87, 120, 200])
def test_the_socket_rule_is_the_hook_clients_rule(length, monkeypatch):
    monkeypatch.setenv("TACIT_HOME", "/" + "x" * (length - 1))
    home = Home.find()
    assert str(home.socket) == HomePaths().socket
    assert len(os.fsencode(home.socket)) <= MAX_SOCKET_BYTES


def test_a_path_with_wide_characters_counts_bytes():
    home = Home(Path("/" + "ä" * 50))
    assert str(home.socket).startswith("/tmp/tacit-")


def test_ensure_makes_private_folders_and_may_run_again(tmp_path):
    home = Home(tmp_path / "deep" / "home")
    home.ensure()
    home.ensure()
    for folder in (
        home.root,
        home.run_dir,
        home.spool_dir,
        home.start_dir,
        home.log_file.parent,
        home.bin_dir,
    ):
        assert mode(folder) == 0o700
    assert home.socket_is_private()


def test_ensure_tightens_an_open_folder(tmp_path):
    home = Home(tmp_path / "home")
    home.run_dir.mkdir(parents=True)
    home.run_dir.chmod(0o755)
    home.ensure()
    assert mode(home.run_dir) == 0o700


def test_a_long_home_gets_a_private_short_socket_folder(tmp_path):
    home = Home(tmp_path / ("long" * 30))
    try:
        home.ensure()
        assert home.socket.parent.parent == Path("/tmp")
        assert mode(home.socket.parent) == 0o700
        assert home.socket_is_private()
    finally:
        home.socket.parent.rmdir()


def test_a_link_in_place_of_the_short_socket_folder_is_refused(tmp_path):
    home = Home(tmp_path / ("link" * 30))
    trap = tmp_path / "trap"
    trap.mkdir()
    home.socket.parent.symlink_to(trap)
    try:
        with pytest.raises(StoreReadOnly, match="socket folder"):
            home.ensure()
    finally:
        home.socket.parent.unlink()


def test_a_file_in_place_of_the_home_is_named(tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(StoreReadOnly, match="is a file") as caught:
        Home(tmp_path / "home").ensure()
    assert str(tmp_path / "home") in caught.value.message
    assert "TACIT_HOME" in caught.value.hint


def test_a_home_that_cannot_be_made_is_named():
    with pytest.raises(StoreReadOnly) as caught:
        Home(Path("/proc/tacit-test")).ensure()
    assert "/proc/tacit-test" in caught.value.message
    assert "TACIT_HOME" in caught.value.hint


@pytest.mark.skipif(os.getuid() == 0, reason="root may write into a read-only folder")
def test_a_read_only_home_is_named(tmp_path):
    home = Home(tmp_path / "home")
    home.ensure()
    home.root.chmod(0o500)
    try:
        with pytest.raises(StoreReadOnly, match="cannot be written"):
            home.ensure()
    finally:
        home.root.chmod(0o700)


def test_a_file_in_place_of_the_folder_of_start_blocks_is_moved_beside_it(tmp_path):
    home = Home(tmp_path / "home")
    home.ensure()
    home.start_dir.rmdir()
    home.start_dir.write_text("not a folder")
    home.ensure()
    assert home.start_dir.is_dir()
    (moved,) = home.root.glob("start.file-*")
    assert moved.read_text() == "not a folder"


def test_a_file_in_place_of_the_spool_is_named(tmp_path):
    home = Home(tmp_path / "home")
    home.ensure()
    home.spool_dir.rmdir()
    home.spool_dir.write_text("not a folder")
    with pytest.raises(StoreReadOnly, match="is a file"):
        home.ensure()


def test_arrays_get_one_thread_unless_the_user_says_otherwise() -> None:
    environ = {"OMP_NUM_THREADS": "3"}
    one_thread_for_arrays(environ)
    assert environ == dict.fromkeys(ARRAY_THREADS, "1") | {"OMP_NUM_THREADS": "3"}
