"""`tacit export` and `tacit import PATH`, as a person types them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest


@pytest.fixture
def shop(tacit) -> Path:
    """The folder of the project, with a file of rules."""
    rules = "# Rules\n\n- Run `make lint` before every commit.\n- Amounts are integer cents.\n"
    (tacit.project / "CLAUDE.md").write_text(rules)
    tacit.daemon.ensure_running()
    return tacit.project


def counts(said) -> dict[str, int]:
    (report,) = said.json["imports"]
    return report["counts"]


def test_a_file_is_imported_exported_and_edited(tacit, shop, tmp_path):
    rules, out = shop / "CLAUDE.md", tmp_path / "all.md"
    assert "dry run" in tacit("import", rules, "--dry-run").out
    assert counts(tacit("import", "--mine", rules, "--json")) == {"add": 2}
    assert "as before" in tacit("import", rules, "--mine").out
    assert tacit("export", "--format", "markdown", "-o", out, "--json").json["format"] == "markdown"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert tacit("export", "-o", out).code == 3
    out.write_text(out.read_text().replace("make lint", "make check"))
    refused = tacit("import", out)
    assert (refused.code, "--mine" in refused.err) == (3, True)
    edited = tacit("import", out, "--mine")
    assert (edited.code, "+ Run `make check`" in edited.out) == (0, True)
    assert tacit("import", shop / "nothing").code == 4


def test_a_line_that_is_refused_is_told_with_an_exit_code(tacit, shop, tmp_path):
    tacit("remember", "Amounts are integer cents.")
    file = tmp_path / "all.jsonl"
    assert tacit("export", "-o", file).code == 0
    with file.open("a") as lines:
        lines.write("nonsense\n")
    said = tacit("import", file, "--mine")
    assert said.code == 10
    assert "! all.jsonl, line 4" in said.out
    assert "as before" in said.out


def test_one_refused_file_does_not_hide_what_came_of_the_others(tacit, shop, tmp_path):
    rules, odd = shop / "CLAUDE.md", tmp_path / "odd.bin"
    odd.write_bytes(bytes(range(256)))
    asked = ("import", rules, odd, shop / "nothing", "--dry-run")
    said = tacit(*asked, "--json")
    assert said.code == 10
    first, second, third = said.json["imports"]
    assert (first["path"], first["problem"], first["counts"]) == (str(rules), None, {"add": 2})
    assert (second["path"], second["problem"]["code"], second["counts"]) == (str(odd), "invalid_input", {})
    assert third["problem"]["code"] == "not_found"
    assert second.keys() == first.keys()
    told = tacit(*asked)
    assert (told.code, "+ Run `make lint`" in told.out, "nothing" in told.err) == (10, True, True)


def test_an_export_taken_back_into_its_store_adds_nothing(tacit, shop, tmp_path):
    tacit("remember", "In Python, prefer dataclasses to dicts.", "--scope", "language:python")
    tacit("remember", "Answer in British English.", "--scope", "universal")
    tacit("remember", "Amounts are integer cents.")
    out = tmp_path / "all.jsonl"
    assert tacit("export", "-o", out).code == 0
    for flags in ((), ("--again",), ("--mine",)):
        assert counts(tacit("import", out, *flags, "--json")) == {"unchanged": 3}, flags
