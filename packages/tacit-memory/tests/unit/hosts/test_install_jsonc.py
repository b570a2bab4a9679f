"""Editing JSON in place: what an edit says is what the file then means, and nothing else moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import HostError
from tacit.hosts.install import jsonc

FILE = Path("/x/settings.json")
keys = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(keys, values, max_size=4)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(data=objects, layout=layouts)
def test_reading_agrees_with_json(data: dict[str, Any], layout: Any) -> None:
    text = json.dumps(data, indent=layout, ensure_ascii=False)
    assert jsonc.read(text, path=FILE).value == data


@given(data=objects, layout=layouts, key=keys, value=values)
def test_put_changes_one_member_and_cut_takes_it_back(
    data: dict[str, Any], layout: Any, key: str, value: Any
) -> None:
    text = json.dumps(data, indent=layout, ensure_ascii=False)
    changed = jsonc.put(text, (key,), value, path=FILE)
    assert json.loads(changed) == {**data, key: value}
    rest = {name: item for name, item in data.items() if name != key}
    assert json.loads(jsonc.cut(changed, (key,), path=FILE)) == rest
    if key not in data and data:
        assert jsonc.cut(changed, (key,), path=FILE) == text


@given(data=objects, layout=layouts, items=st.lists(values, max_size=3), value=values)
def test_append_adds_at_the_end_and_cut_takes_any_out(
    data: dict[str, Any], layout: Any, items: list[Any], value: Any
) -> None:
    text = json.dumps({**data, "list": items}, indent=layout, ensure_ascii=False)
    changed = jsonc.append(text, ("list",), value, path=FILE)
    assert json.loads(changed) == {**data, "list": [*items, value]}
    for index in range(len(items) + 1):
        left = json.loads(jsonc.cut(changed, ("list",), path=FILE, index=index))["list"]
        assert left == [*items, value][:index] + [*items, value][index + 1 :]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        node = jsonc.read(text, path=FILE)
    except HostError as error:
        problem = str(error)
    else:
        problem = "" if node.kind == "object" else "read something else"
    assert not problem or str(FILE) in problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ('{ "b": 2 }', '{ "b": 2,\n  "a": 1 }'),
        ("{\n  // note\n}", '{\n  // note\n  "a": 1\n}'),
        ('{\n  "b": 2, // last\n}', '{\n  "b": 2,\n  "a": 1, // last\n}'),
        ('{"b": "// no comment /* */"}', '{"b": "// no comment /* */",\n  "a": 1}'),
    ],
)
def test_comments_and_layout_stay(text: str, expected: str) -> None:
    assert jsonc.put(text, ("a",), 1, path=FILE) == expected


def test_doubled_keys_the_last_counts_as_for_every_reader() -> None:
    assert jsonc.put('{"a": 1, "a": 2}', ("a",), 3, path=FILE) == '{"a": 1, "a": 3}'
