"""MCP clients: one member of a file with comments, written where the client is or where it is named, and removed to the byte."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tacit.config.home import Home
from tacit.errors import NotFound
from tacit.hosts.install import installed, jsonc, plan, uninstall
from tacit.hosts.install.clients import CLIENTS, clients, found_clients
from tacit.hosts.install.files import apply

ZED = """// my settings
{
  "theme": "One Dark", // dark
  "context_servers": {
    "other": { "command": "x", "args": [] },
  },
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "tacit")
    made.bin_dir.mkdir(parents=True)
    made.launcher.write_text("#!/bin/sh\n")
    return made


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


def written(user: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(user)): path.read_bytes() for path in sorted(user.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_one_entry_and_gives_it_back(name: str, user: Path, home: Home) -> None:
    apply(plan(name, user_home=user, home=home))
    ((path, text),) = written(user).items()
    entry = json.loads(text)[CLIENTS[name].key]["tacit"]
    assert (entry["command"], entry["args"]) == (str(home.launcher), ["mcp", "--host", name])
    assert installed(name, user_home=user, home=home).state == "installed"
    assert plan(name, user_home=user, home=home).edits == ()
    apply(uninstall(name, user_home=user, home=home))
    assert written(user) == {}, path
    assert list(user.iterdir()) == []


@pytest.mark.parametrize("name", clients(in_project=True))
def test_a_project_has_its_own_file_where_the_client_has_one(
    name: str, user: Path, home: Home, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    apply(plan(name, user_home=user, project_root=root, home=home))
    assert written(user) == {}
    assert json.loads((root / CLIENTS[name].project_file).read_text())[CLIENTS[name].key]["tacit"]
    apply(uninstall(name, user_home=user, project_root=root, home=home))
    assert list(root.iterdir()) == []


def test_a_client_without_a_file_of_a_project_says_so(user: Path, home: Home, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="Windsurf has no configuration file of a project"):
        plan("windsurf", user_home=user, project_root=tmp_path, home=home)


def test_comments_and_other_servers_stay_and_every_byte_comes_back(user: Path, home: Home) -> None:
    file = user / ".config/zed/settings.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(ZED.replace("\n", "\r\n").encode())
    before = written(user)
    apply(plan("zed", user_home=user, home=home))
    text = file.read_text("utf-8")
    assert "// dark" in text
    servers = jsonc.find(jsonc.read(text, path=file), ("context_servers",))
    assert servers is not None
    assert list(servers.value) == ["other", "tacit"]
    apply(uninstall("zed", user_home=user, home=home))
    assert written(user) == before


def test_only_clients_that_left_a_folder_are_found(user: Path) -> None:
    assert found_clients(user) == ()
    (user / ".codeium/windsurf").mkdir(parents=True)
    (user / ".junie").mkdir()
    assert found_clients(user) == ("windsurf", "jetbrains")
    assert found_clients(user, in_project=True) == ("jetbrains",)


def test_cline_is_written_where_it_has_files_and_else_in_its_newer_folder(user: Path, home: Home) -> None:
    config = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(
        sys.platform, ".config"
    )
    older = user / config / "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}\n")
    (edit, _) = plan("cline", user_home=user, home=home).edits
    assert edit.path == older
    older.unlink()
    (edit, _) = plan("cline", user_home=user, home=home).edits
    assert edit.path == user / ".cline/data/settings/cline_mcp_settings.json"
