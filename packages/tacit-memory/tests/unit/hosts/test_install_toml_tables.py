"""Whole tables of a TOML file come and go, and no other byte changes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import HostError
from tacit.hosts.install import toml_tables

PATH = Path("/home/ada/.codex/config.toml")
KEYS = ("mcp_servers", "tacit")
VALUES = {"command": 'C:\\tools\\"tacit"', "args": ["mcp", "--host", "codex"]}
PIECES = (
    "# a comment\n",
    'model = "gpt-5.4"  # mine\n',
    '[projects."/home/ada/a.b"]\ntrust_level = "trusted"\n',
    '[mcp_servers.other]\ncommand = "x"\n# behind it\n\n',
    'text = """\n[mcp_servers.tacit]\nno header\n"""\n',
    "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'true'\n",
    "[matrix]\nrows = [\n  [1, 2],\n  ['[mcp_servers.tacit]'],\n]\n",
    "[ spaced . 'out' ]\t# header\n\nkey.dotted = 1\n",
)


def is_ours(keys: toml_tables.Keys) -> bool:
    return keys[:2] == KEYS


def without(text: str) -> str:
    return toml_tables.remove(text, is_ours, path=PATH)


@given(st.lists(st.sampled_from(PIECES), unique=True), st.lists(st.sampled_from(PIECES), unique=True))
def test_what_was_there_comes_back_byte_for_byte_whatever_others_added(
    first: list[str], later: list[str]
) -> None:
    text = "".join(first)
    addition = "".join(piece for piece in later if piece not in first)
    try:
        before, added = tomllib.loads(text), tomllib.loads(text + addition)
    except tomllib.TOMLDecodeError:
        return  # a piece without a header belongs to the table in front of it, where its key may be taken
    after = toml_tables.add(text, KEYS, VALUES, path=PATH)
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["tacit"] == VALUES
    assert without(after) == text
    if addition.startswith("[") and added != before:
        assert without(f"{after}\n{addition}") == f"{text}\n{addition}"


def test_a_table_below_ours_goes_too_and_comments_of_others_stay() -> None:
    text = toml_tables.add("# mine\n", KEYS, VALUES, path=PATH)
    text += '\n[mcp_servers.tacit.tools.memory_add]\napproval_mode = "approve"\n\n# my projects\n[projects.x]\na = 1\n'
    assert without(text) == "# mine\n\n# my projects\n[projects.x]\na = 1\n"


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    text = '\ufeffmodel = "x"\r\n'
    after = toml_tables.add(text, KEYS, VALUES, path=PATH)
    assert "\n" not in after.replace("\r\n", "")
    assert without(after) == text


def test_a_last_line_without_an_end_gets_one() -> None:
    after = toml_tables.add("a = 1", KEYS, VALUES, path=PATH)
    assert after.startswith("a = 1\n\n[mcp_servers.tacit]\n")
    assert without(after) == "a = 1\n"


@pytest.mark.parametrize(
    "key", ["/home/ada/.codex/hooks.json:stop:0:0", 'with "quotes"', "tab\tand\x7f", "ä"]
)
def test_any_key_and_value_can_be_written(key: str) -> None:
    text = toml_tables.add("", ("hooks", "state", key), {"trusted_hash": key}, path=PATH)
    assert tomllib.loads(text) == {"hooks": {"state": {key: {"trusted_hash": key}}}}
    assert toml_tables.remove(text, lambda keys: keys[2:] == (key,), path=PATH) == ""


@pytest.mark.parametrize("text", ["mcp_servers = {other = {command = 'x'}}\n", "mcp_servers = 3\n"])
def test_a_form_that_takes_no_table_is_refused(text: str) -> None:
    with pytest.raises(HostError, match=r"in a form that no table can be added to.*Nothing was written"):
        toml_tables.add(text, KEYS, VALUES, path=PATH)


def test_a_table_in_another_form_is_left_alone() -> None:
    text = "[mcp_servers]\ntacit = {command = 'x'}\n"
    assert without(text) == text


def test_a_malformed_file_is_named_with_its_line() -> None:
    with pytest.raises(HostError, match=r"config.toml is not valid TOML: .*line 2"):
        toml_tables.read("a = 1\nb =\n", path=PATH)
