"""`tacit export` and `tacit import PATH`, as a person types them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tacit.app.wiring import open_engine
from tacit.cli.context import CommandContext
from tacit.cli.main import run
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.model.scope import Scope


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text(
        "# Rules\n\n- Run `make lint` before every commit.\n- Amounts are integer cents.\n"
    )
    home = Home(tmp_path / "home")
    home.ensure()
    (tmp_path / "home" / "config.yaml").write_text("embedder:\n  provider: fake\n")
    return folder


def tacit(shop: Path, *arguments: str) -> int:
    place = CommandContext(
        home=Home(shop.parent / "home"),
        user_home=shop.parent,
        search_path="",
        connect=DaemonClient,
        interactive=False,
        at_terminal=True,
    )
    return run(arguments, command_context=place)


def test_a_file_is_imported_exported_and_edited(shop, tmp_path, capsys):
    rules, out = str(shop / "CLAUDE.md"), tmp_path / "all.md"
    assert tacit(shop, "import", rules, "--dry-run", "--cwd", str(shop)) == 0
    assert "dry run" in capsys.readouterr().out
    assert tacit(shop, "import", "--mine", rules, "--cwd", str(shop), "--json") == 0
    assert json.loads(capsys.readouterr().out)["imports"][0]["counts"] == {"add": 2}
    assert tacit(shop, "import", rules, "--mine", "--cwd", str(shop)) == 0
    assert "as before" in capsys.readouterr().out
    assert tacit(shop, "export", "--format", "markdown", "-o", str(out), "--json") == 0
    assert json.loads(capsys.readouterr().out)["format"] == "markdown"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tacit(shop, "export", "-o", str(out)) == 3
    out.write_text(out.read_text().replace("make lint", "make check"))
    assert tacit(shop, "import", str(out), "--cwd", str(shop)) == 3
    assert "--mine" in capsys.readouterr().err
    assert tacit(shop, "import", str(out), "--mine", "--cwd", str(shop)) == 0
    assert "+ Run `make check`" in capsys.readouterr().out
    assert tacit(shop, "import", str(shop / "nothing"), "--cwd", str(shop)) == 4


def test_a_line_that_is_refused_is_told_with_an_exit_code(shop, tmp_path, capsys):
    engine = open_engine(shop.parent / "home")
    engine.remember("Amounts are integer cents.", kind="decision", cwd=str(shop))
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(engine.transfer.export()) + b"nonsense\n")
    engine.close()
    assert tacit(shop, "import", str(file), "--mine", "--cwd", str(shop)) == 10
    told = capsys.readouterr().out
    assert "! all.jsonl, line 4" in told
    assert "as before" in told


def test_one_refused_file_does_not_hide_what_came_of_the_others(shop, tmp_path, capsys):
    rules, odd = str(shop / "CLAUDE.md"), tmp_path / "odd.bin"
    odd.write_bytes(bytes(range(256)))
    asked = ("import", rules, str(odd), str(shop / "nothing"), "--dry-run", "--cwd", str(shop))
    assert tacit(shop, *asked, "--json") == 10
    first, second, third = json.loads(capsys.readouterr().out)["imports"]
    assert (first["path"], first["problem"], first["counts"]) == (rules, None, {"add": 2})
    assert (second["path"], second["problem"]["code"], second["counts"]) == (str(odd), "invalid_input", {})
    assert third["problem"]["code"] == "not_found"
    assert second.keys() == first.keys()
    assert tacit(shop, *asked) == 10
    told = capsys.readouterr()
    assert "+ Run `make lint`" in told.out
    assert "nothing" in told.err


def test_an_export_taken_back_into_its_store_adds_nothing(shop, tmp_path, capsys):
    home, out = tmp_path / "home", tmp_path / "all.jsonl"
    engine = open_engine(home)
    said = {
        "language:python": "In Python, prefer dataclasses to dicts.",
        "universal": "Answer in British English.",
    }
    for scope, content in said.items():
        engine.remember(content, kind="preference", scope=Scope.parse(scope))
    engine.remember("Amounts are integer cents.", kind="decision", cwd=str(shop))
    engine.close()
    assert tacit(shop, "export", "-o", str(out)) == 0
    for flags in ((), ("--again",), ("--mine",)):
        capsys.readouterr()
        assert tacit(shop, "import", str(out), *flags, "--cwd", str(shop), "--json") == 0
        assert json.loads(capsys.readouterr().out)["imports"][0]["counts"] == {"unchanged": 3}, flags
