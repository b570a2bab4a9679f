"""Finding hosts without starting more than a version question."""

from __future__ import annotations

import json
from pathlib import Path

from tacit.hosts.install.clients import detect


def make(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_nothing_is_found_on_an_empty_machine(tmp_path: Path) -> None:
    assert detect(tmp_path, "") == ()
    assert detect(tmp_path, str(tmp_path)) == ()


def test_a_version_is_read_from_the_package_without_starting_the_host(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "opencode-ai"
    make(package / "bin" / "opencode", "#!/bin/sh\ntouch started\n")
    (package / "package.json").write_text(json.dumps({"name": "opencode-ai", "version": "1.18.33"}))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "opencode").symlink_to(package / "bin" / "opencode")
    (found,) = detect(tmp_path / "user", str(folder))
    assert (found.name, found.version) == ("opencode", "1.18.33")
    assert not Path("started").exists()


def test_a_version_is_asked_where_there_is_no_package(tmp_path: Path) -> None:
    make(tmp_path / ".local" / "bin" / "claude", '#!/bin/sh\necho "2.1.328 (Claude Code)"\n')
    (found,) = detect(tmp_path, "/usr/bin:/bin")
    assert (found.name, found.version) == ("claude-code", "2.1.328")


def test_a_host_that_cannot_say_its_version_is_found_all_the_same(tmp_path: Path) -> None:
    make(tmp_path / "bin" / "claude", "#!/bin/sh\nexit 3\n")
    make(tmp_path / "bin" / "opencode", "no program at all")
    found = detect(tmp_path, f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert [(host.name, host.version) for host in found] == [("claude-code", ""), ("opencode", "")]
