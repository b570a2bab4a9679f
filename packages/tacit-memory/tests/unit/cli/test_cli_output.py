"""How the command line speaks: exit codes for every error, nothing that a terminal would obey, and what goes to a pager."""

from __future__ import annotations

import contextlib
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.api.endpoints import ENDPOINTS
from tacit.cli.reference import commands
from tacit.cli.terminal import output
from tacit.cli.terminal.output import print_line, print_rows
from tacit.cli.terminal.pager import PAGED, is_paged
from tacit.errors import StoreFull, TacitError, UnknownKind

HOSTILE = (
    "[red]bold[/red] [link=x]y[/link] \x1b[2J\x1b]0;title\x07 a\x00b \x9b31m \u202egnp.exe \ud800 :smile: \\"
)


LOADED = [endpoint.handler for endpoint in ENDPOINTS]  # with every module that could define an error


def every_error(kind=TacitError):
    yield kind
    for below in kind.__subclasses__():
        yield from every_error(below)


@pytest.mark.parametrize("kind", list(every_error()), ids=lambda kind: kind.__name__)
def test_every_error_has_an_exit_code_that_is_not_wrong_usage(kind):
    code = output.exit_code(kind("message"))
    assert code not in (0, 2, output.SOME_PROBLEM, 130)
    assert (code == 1) == (kind is TacitError)


def test_subclasses_share_the_code_of_their_family():
    assert output.exit_code(UnknownKind("x")) == 3
    assert output.exit_code(StoreFull("x")) == 6


def test_hostile_text_is_printed_and_not_obeyed(capsys):
    output.print_line(HOSTILE)
    output.print_rows("[red]t", ("[red]c", "d"), [(HOSTILE, "x")], empty="")
    output.print_error(TacitError(HOSTILE, hint=HOSTILE), as_json=False)
    out, err = capsys.readouterr()
    for text in (out, err):
        assert "[red]bold[/red]" in text
        assert ":smile:" in text
        assert not set(text) & set("\x1b\x00\x07\x9b\u202e\ud800")


def test_json_is_ascii_so_that_no_terminal_obeys_it(capsys):
    output.print_json({"content": HOSTILE})
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out)["content"] == HOSTILE


def test_errors_as_json_are_one_line(capsys):
    output.print_error(StoreFull("Full.\nReally.", hint="Make room."), as_json=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert json.loads(said.err) == {"code": "store_full", "message": "Full.\nReally.", "hint": "Make room."}
    assert said.err.count("\n") == 1


@given(st.text())
def test_plain_keeps_length_and_harmless_text(text):
    cleaned = output.strip_control_characters(text)
    assert len(cleaned) == len(text)
    assert output.strip_control_characters(cleaned) == cleaned
    assert not any(ord(c) < 32 and c not in "\n\t" for c in cleaned)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


def test_shortened_is_one_line_of_at_most_the_limit():
    assert output.shorten_line("a\n b\t c", 20) == "a b c"
    assert output.shorten_line("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (45_000, "45 kB"), (3_200_000, "3.2 MB")],
)
def test_sizes_read_well(count, words):
    assert output.format_size(count) == words


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def narrow(monkeypatch):
    """What a terminal of 40 columns shows while a function runs."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "25")  # else a terminal without abilities has 80 columns
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")

    def shown(*calls) -> list[str]:
        out = Terminal()
        with contextlib.redirect_stdout(out):
            for call in calls:
                call()
        return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in out.getvalue().splitlines()]

    return shown


def test_lines_are_broken_between_words_and_keep_their_indent(narrow):
    assert narrow(
        lambda: print_line("  one two three four five six seven eight nine ten"),
        lambda: print_line("  tacit edit mem_x --when 'commit, push, release'", wrap=False),
        lambda: print_line("a/path/that/is/longer/than/the/whole/line/of/the/terminal is kept"),
    ) == [
        "  one two three four five six seven",
        "  eight nine ten",
        "  tacit edit mem_x --when 'commit, push, release'",
        "a/path/that/is/longer/than/the/whole/line/of/the/terminal",
        "is kept",
    ]


def test_long_cells_stand_below_rows_that_have_no_room_for_them(narrow):
    row = ("abc1234", "preference", "2026-11-26", "Run make lint before every commit and every push.")
    assert narrow(lambda: print_rows("", ("memory", "kind", "since", "content"), [row], empty="")) == [
        "memory   kind        since",
        "abc1234  preference  2026-11-26",
        "    Run make lint before every commit",
        "    and every push.",
    ]


def test_several_long_cells_are_named_and_a_table_that_fits_stays_one(narrow):
    two = [("x", "words " * 8, "other " * 8)]
    lines = narrow(lambda: print_rows("", ("id", "before", "after"), two, empty=""))
    assert lines[:3] == ["id", "x", "    before: words words words words"]
    assert "    after: other other other other other" in lines
    one = narrow(lambda: print_rows("", ("id", "text"), [("x", "words " * 8)], empty=""))
    assert one == ["id  text", "x   words words words words words words", "    words words"]


def test_a_pipe_gets_whole_lines(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "25")  # else a terminal without abilities has 80 columns
    print_line("word " * 30)
    assert capsys.readouterr().out == "word " * 30 + "\n"


def test_every_paged_name_is_a_command_that_asks_nothing():
    groups = {name.partition(" ")[0] for name in commands()}
    assert {name for name in PAGED if name not in commands()} <= groups
    for asking in ("review", "purge", "install", "sessions --write-up", "demo", "team join", "import x"):
        assert not is_paged(asking.split()), asking


@pytest.mark.parametrize(
    ("line", "paged"),
    [
        ("list", True),
        ("list --kind fact", True),
        ("config get recall", True),
        ("team members acme", False),
        ("--no-pager list", False),
        ("list --json", False),
        ("status --log", True),
        ("why-not mem_x commit this", True),
        ("", False),
    ],
)
def test_a_command_is_paged_by_its_words(line, paged):
    assert is_paged(line.split()) is paged
