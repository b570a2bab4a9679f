"""Markdown is read as Markdown: what a rule file shows as an example, a quotation or a comment is no rule, and every line number is right."""

from __future__ import annotations

import pytest

from tacit.capture.bootstrap.host_memory import read_notes
from tacit.capture.bootstrap.markdown import read_rules
from tacit.capture.bootstrap.sources import read_decision


def rules(text: str) -> list[tuple[int, str]]:
    return [(line.line, line.content) for line in read_rules(text).lines]


@pytest.mark.parametrize(
    "text",
    [
        "Example of a bad rule:\n\n    Always disable TLS verification here.\n",
        "- Bad rule:\n\n      Always disable TLS verification here.\n",
        "```\nAlways disable TLS verification here.\n```\n",
        "~~~~md\n```\n- Always disable TLS verification here.\n~~~\n~~~~\n",
        "````\n```\nAlways disable TLS here.\n```\nNever verify TLS here.\n````\n",
        "> Always disable TLS verification here.\n",
        "> A user wrote:\n>\n> > [!NOTE]\n> > Always disable TLS verification here.\n",
        "<!-- Always disable TLS verification here. -->\n",
        "<!--\n\nAlways disable TLS verification here.\n\n-->\n",
        "~~Always disable TLS verification here.~~\n",
        "<pre>\nAlways disable TLS verification here.\n</pre>\n",
        '[a]: https://x.example "Always disable TLS verification here."\n',
        "| Rule |\n|---|\n| Always disable TLS verification here. |\n",
    ],
)
def test_what_is_shown_and_not_said_is_no_rule(text):
    assert [content for _, content in rules(text) if "TLS" in content] == []


@pytest.mark.parametrize("command", ["uv run pytest", "step " * 70])
def test_code_makes_a_statement_neither_too_short_nor_too_long(command):
    text = f"- Use `{command}`\n- Always run `{command}` before a release.\n"
    assert [line for line, _ in rules(text)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("> [!IMPORTANT]\n> Never run migrations by hand.\n", (2, "Never run migrations by hand")),
        ("> [!CAUTION]\n>\n> - Never run migrations by hand.\n", (3, "Never run migrations by hand")),
        ("> **Note:** Always commit the lock file.\n", (1, "Always commit the lock file")),
        ("> **Warning**: Always commit the lock file.\n", (1, "Always commit the lock file")),
        ("> \u26a0\ufe0f IMPORTANT: Always commit the lock file.\n", (1, "Always commit the lock file")),
        (r"Always name files `a` or \_test\_ in full.", (1, "Always name files `a` or _test_ in full")),
        ("Always read <https://wiki.example.org/api> first.", (1, "Always read https://wiki.example.org/api first")),
        ("Always wrap a &lt;Button&gt; &amp; a link.", (1, "Always wrap a <Button> & a link")),
        ("Always use [the guide](docs/a.md) and [it][x].", (1, "Always use the guide and it")),
        ("Always use snake_case_names and __init__.py.", (1, "Always use snake_case_names and __init__.py")),
        ("Go style\n========\n\n- tabs, not spaces", (4, "Go style: tabs, not spaces")),
        ("Go style\n---\n- tabs, not spaces", (3, "Go style: tabs, not spaces")),
        ("Always use tabs here.\n---\nAnd more.", (1, "Always use tabs here")),
        ("- a\n\n  Never let this be a\n  **ceiling** of it all.", (3, "Never let this be a ceiling of it all")),
        ("100. Always use tabs here.\n101. Never use spaces here.", (2, "Never use spaces here")),
        ("- Naming:\n    - Always use snake case here.", (2, "Naming: Always use snake case here")),
        ("1. Naming:\n   1. Always use snake case here.", (2, "Naming: Always use snake case here")),
        ("<rules>\n- Always use tabs here.\n</rules>", (2, "Always use tabs here")),
        ("<!-- a\nb -->\nAlways use tabs here.", (3, "Always use tabs here")),
        ("\n\n<details>\n<summary>More</summary>\n\nAlways use tabs here.\n</details>", (6, "Always use tabs here")),
        ("---\nglobs: a\n---\n\nAlways use tabs here.", (5, "Always use tabs here")),
        ("Never send a batch of records (strictly\n>10) without a task.", (1, "Never send a batch of records (strictly >10) without a task")),
        ("| Command | What it does |\n|---|---|\n| `make test` | Run all tests |", (3, "Run all tests: `make test`")),
        ("Move it from draft \u2192 ready, always.", (1, "Move it from draft \u2192 ready, always")),
        ("Always use\r\ntabs here.\r\n\r\nNever use\r\nspaces here.", (4, "Never use spaces here")),
    ],
)  # fmt: skip
def test_what_is_said_is_read_with_its_line(text, wanted):
    assert wanted in rules(text)


@pytest.mark.parametrize(
    ("front", "paths"),
    [
        ("globs: **/*.ts,src/*.tsx", ("**/*.ts", "src/*.tsx")),
        ("globs: [a/*.ts, 'b/*.ts']", ("a/*.ts", "b/*.ts")),
        ('paths:\n  - "src/**/*.py"\n  - *.pyi # stubs\n', ("src/**/*.py", "*.pyi # stubs")),
        ("paths:\n- src/a.py # why\n- 'b.py'", ("src/a.py", "b.py")),
        ("applyTo: '**'", ()),
        ("globs: {a,b}/*.py", ("{a,b}/*.py",)),
        ("alwaysApply: true\nglobs: a.py", ()),
        ("description: a: b\nglobs: a.py\nalwaysApply: false", ("a.py",)),
        ("globs:\nalwaysApply: false", ()),
        ("globs: &a [*a, *a]", ()),
    ],
)
def test_patterns_of_front_matter(front, paths):
    assert read_rules(f"---\n{front}\n---\nAlways use tabs.").paths == paths


def test_a_decision_is_read_from_its_section_and_not_from_code():
    text = "# 7. Queue\n\n## Status\n\nAccepted\n\n## Decision\n\n```\nWe use Kafka for everything here.\n```\n\nWe use Redis for the job queue:\n\n- It is already there today.\n"
    (line,) = read_decision(text)
    assert line.content.startswith("Queue: ")
    assert "Redis" in line.content or "already there" in line.content
    assert "Kafka" not in line.content
    assert line.line == 13


def test_the_notes_of_a_host_are_its_items():
    text = "# Memory\n\n- port 5050 for the api\n\n```\n- no note at all here\n```\n\n> - words of somebody else here\n"
    assert [(note.line, note.content) for note in read_notes(text)] == [(3, "port 5050 for the api")]


@pytest.mark.parametrize(("most", "filler"), [(300, "["), (10_000 - len("Always use tabs. "), "x")])
def test_a_paragraph_of_many_brackets_or_characters_is_not_parsed(most, filler):
    for count, found in ((most, True), (most + 1, False)):
        assert bool(read_rules(f"Always use tabs. {filler * count}").lines) is found


@pytest.mark.parametrize(
    "unit",
    [
        "![",
        "[",
        "[a](",
        "*a **b",
        "`a``b",
        "> > ",
        "- ",
        "<a ",
        "<!--",
        "&amp",
        "~~a",
        "<div>\n\n<b>",
        "> [!NOTE]\n",
    ],
)
def test_a_hostile_file_holds_nothing(unit):
    text = (unit * 100_000)[
        :100_000
    ]  # work that grows with the square of this meets the time limit of every test
    assert read_rules(text).lines == ()
