"""The entry point: versions, wrong usage, errors, crashes, commands of packages that are not installed, and how little it loads."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import typer

from tacit import __version__
from tacit.cli import packages
from tacit.cli.main import whole_tree
from tacit.cli.reference import commands
from tacit.cli.terminal.help import EXAMPLES
from tacit.errors import DaemonNewer, NotFound, StoreCorrupt

SECRET = "the text of a memory"


class Broken:
    """A daemon that answers everything with one exception."""

    def __init__(self, error):
        self.error = error

    def ensure_running(self, timeout_s=10.0):
        raise self.error


def broken(tacit, error):
    return replace(tacit.place, connect=lambda home: Broken(error))


def test_the_version_is_printed(tacit):
    said = tacit("--version")
    assert (said.code, said.out) == (0, f"tacit {__version__}\n")


def test_an_unknown_command_is_wrong_usage_and_names_the_nearest(tacit):
    said = tacit("remembr", "x")
    assert said.code == 2
    assert "remember" in said.err
    assert said.out == ""


def test_an_error_is_said_with_its_hint_and_its_code(tacit):
    place = broken(tacit, StoreCorrupt("The store is damaged.", hint="Restore a backup."))
    said = tacit("list", place=place)
    assert (said.code, said.out) == (6, "")
    assert "The store is damaged." in said.err
    assert "Restore a backup." in said.err


def test_an_error_is_json_where_json_was_asked_for(tacit):
    said = tacit("list", "--json", place=broken(tacit, DaemonNewer("Newer.", hint="Upgrade.")))
    assert said.code == 7
    assert json.loads(said.err) == {"code": "daemon_newer", "message": "Newer.", "hint": "Upgrade."}


@pytest.mark.parametrize(
    "words",
    [("remember", "  "), ("show",), ("edit", "mem_1"), ("list", "--new")],
)
def test_wrong_usage_is_json_where_json_was_asked_for(tacit, words):
    said = tacit(*words, "--json")
    assert (said.code, said.out) == (2, "")
    told = json.loads(said.err)
    assert said.err.count("\n") == 1
    assert told["code"] == "wrong_usage"
    assert told["hint"] == f"`tacit {words[0]} --help` shows how."
    assert told["message"]


def test_help_and_what_is_declined_keep_their_exit_codes_with_json(tacit):
    assert tacit("remember", "--json", "--help").code == 0
    said = tacit("list", "--json", place=broken(tacit, typer.Exit(1)))
    assert (said.code, said.out, said.err) == (1, "", "")
    said = tacit("list", "--json", place=broken(tacit, typer.Abort()))
    assert (said.code, json.loads(said.err)["code"]) == (1, "aborted")


def test_an_interrupt_is_quiet(tacit):
    said = tacit("list", place=broken(tacit, KeyboardInterrupt()))
    assert said.code == 130
    assert "Traceback" not in said.err


def test_a_crash_leaves_a_report_without_memory_text(tacit):
    tacit.place.home.ensure()
    said = tacit("list", place=broken(tacit, ValueError(SECRET)))
    assert said.code == 1
    assert "ValueError" in said.err
    assert SECRET not in said.err
    [report] = tacit.place.home.log_file.parent.glob("crash-*.txt")
    assert str(report) in said.err
    assert report.stat().st_mode & 0o077 == 0
    text = report.read_text()
    assert "ValueError" in text
    assert "ensure_running" in text
    assert SECRET not in text


def test_an_output_that_takes_no_more_is_no_crash(tacit):
    said = tacit("list", place=broken(tacit, OSError(errno.ENOSPC, "No space left on device")))
    assert (said.code, "cannot be written: No space left" in said.err) == (1, True)
    assert not [*tacit.place.home.log_file.parent.glob("crash-*.txt")]


def test_a_crash_without_a_home_to_write_to_is_still_said(tacit):
    tacit.place.home.root.parent.mkdir(exist_ok=True)
    tacit.place.home.root.write_text("a file where the home should be")
    said = tacit("list", place=broken(tacit, ValueError(SECRET)))
    assert said.code == 1
    assert "No report could be written." in said.err


HEAVY = {"numpy", "pydantic", "onnxruntime", "starlette", "httpx2", "tacit.app.engine"}


def test_help_loads_nothing_heavy():
    code = f"import sys\nfrom tacit.cli.main import run\nrun(['--help'])\nsys.exit(str({HEAVY} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == "set()\n"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("closed", [">&-", "2>&- <&-"])
def test_a_stream_that_the_caller_closed_is_no_crash(closed, tmp_path):
    command = f"{shlex.quote(sys.executable)} -m tacit.cli.main config get preset {closed}"
    environment = {**os.environ, "TACIT_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_are_utf_8_in_every_locale(tmp_path):
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TACIT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "tacit.cli.main", "show", "--json", "naïve".encode()],
        env={**environment, "PATH": "/usr/bin"},
        capture_output=True,
    )
    assert done.returncode == 4
    assert json.loads(done.stderr)["message"] == "No memory is called 'naïve'."


def test_help_fits_one_screen_with_a_line_for_each_of_its_24_commands_in_groups(tacit):
    lines = tacit("--help").out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[1:] if line.endswith("...")]
    firsts = [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]
    shown = [name for name, command in whole_tree().commands.items() if not command.hidden]
    assert len(shown) <= 24
    assert shown[:4] == ["install", "init", "status", "ui"]
    assert {firsts.count(name) for name in shown} == {1}
    groups = [line for line in lines if line.endswith(":") and not line.startswith((" ", "Usage"))]
    assert groups[:3] == ["Start here:", "Memories:", "Why:"]
    assert len(groups) - groups.count("Options:") == 5
    page = " ".join(" ".join(lines).split()).replace(",", " ")
    assert "Connect the coding agents and MCP clients on this machine." in page
    assert [name for name in commands() if f" {name.split()[0]} " not in page] == []


def test_every_help_page_ends_with_an_example_that_is_understood(tacit):
    tree = commands()
    assert set(tree) <= {*EXAMPLES, "team"}
    for name, command in tree.items():
        said = tacit(*name.split(), "--help")
        assert (said.code, said.err) == (0, "")
        assert "--json" in said.out
        if name != "team":
            assert said.out.rstrip().splitlines()[-1] == f"Example: {EXAMPLES[name]}"
        assert not re.search(r"<(str|int|float|path|list)", said.out), f"a type stands in the help of {name}"
        words = shlex.split(EXAMPLES[name].rpartition("&& ")[2])[1 + len(name.split()) :]
        command.make_context(name, words)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("recall vat --budget -3", "`--budget` is -3; expected at least 0."),
        ("status --stats --days 0", "`--days` is '0'; expected at least 1."),
        ("status -n -1", "`--recent` is '-1'; expected at least 1."),
        ("why -n 0", "`--limit` is '0'; expected at least 1."),
        ("config tune --bound 3", "`--bound` is 3.0; expected at most 0.5."),
        ("recall vat --as-of 1800-01-01", "`--as-of` is"),
    ],
)
def test_a_refusal_names_the_option_that_was_typed_and_the_limit_of_the_request(tacit, typed, said):
    tacit.daemon.ensure_running()
    told = tacit(*typed.split())
    assert told.code != 0
    assert said in told.err


@pytest.mark.parametrize("name", packages.COMMANDS)
def test_a_command_without_its_package_says_what_to_install(name):
    stand_in = packages.missing(name)
    with pytest.raises(NotFound) as caught:
        stand_in()
    assert packages.COMMANDS[name][0] in caught.value.hint
    assert (stand_in.__doc__ or "").startswith(packages.COMMANDS[name][1])


def test_an_unknown_command_is_brought_by_nobody():
    assert packages.load("nothing-brings-this") is None
