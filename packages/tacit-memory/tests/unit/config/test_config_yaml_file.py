"""Settings files as people and attackers write them: every refusal names file, line and remedy; none is slow."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.config.yaml_file import MAX_BYTES, parse_settings, read_settings_file
from tacit.errors import InvalidSetting


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~\n", "\ufeff"])
def test_an_empty_file_says_nothing(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text, "utf-8")
    found = read_settings_file(path)
    assert found is not None
    assert found.values == {}


def test_no_file_is_none(tmp_path):
    assert read_settings_file(tmp_path / "none.yaml") is None
    (tmp_path / "file").write_text("")
    assert read_settings_file(tmp_path / "file" / "none.yaml") is None


def test_values_and_lines():
    found = parse_settings("a:\n  b: [1, 2.5, true, yes, ~]\n  'c': 0x10\nd: 2020-01-01\n", place="f")
    assert found.values == {"a": {"b": [1, 2.5, True, "yes", None], "c": 16}, "d": "2020-01-01"}
    assert found.at("a.c") == "f:3"
    assert found.at("a.x.y") == "f:1"
    assert found.at("z") == "f"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a: 1\nb: 2\na: 3\n", ["f:3", "repeats", "'a'"]),
        ("a:\n  b: 1\n  b: 1\n", ["f:3", "repeats", "'b'"]),
        ("a:\n\tb: 1\n", ["f:2", "tab", "spaces"]),
        ("- a\n- b\n", ["f", "a list", "mapping"]),
        ("hello\n", ["f", "'hello'", "mapping"]),
        ("a: [1\n", ["f:2", "not YAML"]),
        ("a: 'x\n", ["f:", "not YAML"]),
        ("a: 1\n---\nb: 2\n", ["f:2"]),
        ("a: !!python/object/apply:os.system [x]\n", ["f:1"]),
        ("a: !!python/name:os.system\n", ["f:1", "tag"]),
        ("a: !!binary aGk=\n", ["f:1", "tag"]),
        ("a: &x 1\nb: *x\n", ["f:1", "anchor"]),
        ("b: *x\n", ["f:1"]),
        ("<<: {a: 1}\n", ["f:1", "key"]),
        ("? [1, 2]\n: 3\n", ["f:1", "key"]),
        ("a: \x00\n", ["f", "not YAML"]),
        ("a: " + "9" * 6000 + "\n", ["f:1"]),
        ("a: " + "[" * 30 + "]" * 30, ["f:1", "nested"]),
    ],
)
def test_what_settings_never_need_is_refused(text, parts):
    with pytest.raises(InvalidSetting) as caught:
        parse_settings(text, place="f")
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    assert caught.value.hint


def test_an_anchor_bomb_costs_nothing():
    levels = ["a0: &a0 [lol, lol]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    with pytest.raises(InvalidSetting, match="anchor"):
        parse_settings("\n".join(levels), place="f")


def test_a_deep_file_costs_nothing():
    with pytest.raises(InvalidSetting, match="nested"):
        parse_settings("[" * 60_000, place="f")


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"# " + b"x" * 10_000_000)
    with pytest.raises(InvalidSetting, match="64 kB"):
        read_settings_file(path)
    path.write_bytes(b"#" * MAX_BYTES)
    assert read_settings_file(path) is not None


def test_a_pipe_or_a_device_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(InvalidSetting, match="no regular file"):
            read_settings_file(tmp_path / name)


def test_what_is_no_file_or_no_text_is_named(tmp_path):
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_settings_file(tmp_path)
    path = tmp_path / "config.yaml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(InvalidSetting, match="UTF-8"):
        read_settings_file(path)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    outcome: object
    try:
        outcome = parse_settings(text, place="f").values
    except InvalidSetting as error:
        outcome = error.message
    assert isinstance(outcome, dict) or str(outcome).startswith("f")
