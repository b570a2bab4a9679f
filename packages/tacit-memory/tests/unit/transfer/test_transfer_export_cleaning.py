"""Exports without the memories that are gone, by hand: what goes, what stays byte for byte, and files that nobody wrote like that."""

from __future__ import annotations

import json

import pytest

from tacit.app.admin.purging import without_records
from tacit.model.changes import Removal

GONE = Removal(memories=("mem_a", "mem_b"), projects=("shop-1",))
SAID = "Feed the quokkas on Fridays"
MARK = "0123456789ab"


def clean(text: str, _scope: str) -> str:
    return text.replace(SAID, "[purged]")


def version(content: str, *, kind: str = "fact", reason: str = "new") -> dict[str, object]:
    return {"at_ms": 1, "reason": reason, "body": {"kind": kind, "content": content}}


HEAD = '{"tacit":1,"at_ms":1,"memories":3}'


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ({"memory": "mem_a", "uses": 0, "versions": [version(SAID)]}, None),
        ({"memory": "mem_a", "versions": 5}, None),
        ({"relation": {"source_id": "mem_c", "target_id": "mem_b", "kind": "refines"}}, None),
        ({"project": {"id": "shop-1", "name": "shop"}}, None),
        ({"memory": "mem_c", "versions": [version(SAID)]}, "same"),
        ({"relation": {"source_id": "mem_c", "target_id": "mem_d", "kind": "refines"}}, "same"),
        ({"project": {"id": "shop-2", "name": "shop"}}, "same"),
        (
            {"memory": "mem_d", "versions": [version(f"Said: {SAID}", kind="digest"), version("x", reason=f"not {SAID}")]},
            {"memory": "mem_d", "versions": [version("Said: [purged]", kind="digest"), version("x", reason="not [purged]")]},
        ),
        ({"project": "x"}, "same"),
        ({"relation": "x"}, "same"),
        ({"memory": ["a"]}, "same"),
        ({"memory": {"a": 1}, "versions": [1]}, "same"),
        ({"versions": 5}, "same"),
        ({"memory": "mem_c", "versions": 5}, "same"),
        ({"versions": [{"a": 1}]}, "same"),
        ({"memory": "mem_c", "versions": [{"reason": 1, "body": {}}]}, "same"),
        ({"memory": "mem_c", "versions": [{"reason": "", "body": {"kind": "digest"}}]}, "same"),
        ({"memory": None, "relation": None, "project": None, "versions": None}, "same"),
        ({"note": [SAID]}, {"note": ["[purged]"]}),
        ([1], "same"),
        (7, "same"),
    ],
)  # fmt: skip
def test_a_line_of_a_lossless_export(line: object, left: object) -> None:
    text = json.dumps(line, separators=(",", ":"))
    found = without_records(f"{HEAD}\n{text}\n", clean, GONE)
    wanted = {"same": f"{text}\n"}.get(left, "") if isinstance(left, str) or left is None else None
    assert (
        found == f"{HEAD}\n{json.dumps(left, separators=(',', ':')) + chr(10) if wanted is None else wanted}"
    )


def test_what_is_no_json_stays_without_the_words() -> None:
    deep = '{"memory":' + "[" * 100_000
    text = f"{HEAD}\nno json at all\n{deep}\n\n<<< {SAID}\n"
    assert without_records(text, clean, GONE) == text.replace(SAID, "[purged]")


EDITED = f"""<!-- tacit memories, 2026-11-21: change a text -->
# What Tacit remembers

## project:shop-1

###  fact\x20\x20
- {SAID}
  and more
  - on Mondays, too <!-- mem_a {MARK} -->
- {SAID} <!-- mem_c {MARK} -->
* an entry of my own: {SAID}
- gone, too\u2028on one line <!-- mem_b {MARK} --> said somebody

### digest

- He said: {SAID}. <!-- mem_d {MARK} -->

## user

### fact
- last <!-- mem_e {MARK} -->

<!-- tacit entries: mem_a mem_c mem_b mem_d mem_e -->
"""


def test_entries_of_a_text_that_people_edit() -> None:
    found = without_records(EDITED, clean, GONE)
    first = EDITED.index(f"- {SAID}\n  and more")
    wanted = EDITED[:first] + EDITED[EDITED.index(f"- {SAID} <!-- mem_c") :]
    wanted = wanted[: wanted.index("- gone, too")] + wanted[wanted.index("\n### digest") :]
    wanted = wanted.replace(f"He said: {SAID}", "He said: [purged]").replace("mem_a mem_c mem_b", "mem_c")
    assert found == wanted
    assert without_records(found, clean, GONE) == found
    windows = EDITED.replace("\n", "\r\n")
    assert without_records(windows, clean, GONE) == wanted.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "###  x  \nfoo",
        "# notes\r\n\r\n###\tdigest \nnothing of it",
        "",
        "\n\n",
        f"- x <!-- mem_abc {MARK} -->\n<!-- tacit entries: mem_abc mem_ab -->",
        EDITED.replace("mem_a ", "mem_x ")
        .replace("mem_b ", "mem_y ")
        .replace(f"He said: {SAID}", "He said nothing"),
    ],
)
def test_where_nothing_is_found_every_byte_stays(text: str) -> None:
    assert without_records(text, clean, GONE) == text


def test_many_records_meet_many_ids() -> None:
    """Each id tried at each line meets the time limit of every test."""
    ids = [f"mem_{number:06d}" for number in range(20_000)]
    gone = Removal(memories=tuple(ids[::2]))
    lines = [json.dumps({"memory": name, "versions": [version("x")]}) for name in ids]
    entries = [f"- x <!-- {name} {MARK} -->" for name in ids]
    assert without_records("\n".join(lines), clean, gone) == "\n".join(lines[1::2])
    listed = f"<!-- tacit entries: {' '.join(ids)} -->"
    found = without_records("\n".join([*entries, "", listed, ""]), clean, gone)
    assert found.count("\n") == 10_000 + 2
