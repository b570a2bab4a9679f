"""Codex' own memory: which of its notes hold for a project, and whether it is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.capture.bootstrap.host_memory import codex_notes_on, memory_is_on, read_notes

MEMORY = """\
# Task Group: shop / payments

scope: the payment code
applies_to: cwd=/home/ada/shop; reuse_rule=safe in this checkout

## Task 1: round the totals, success

### rollout_summary_files

- rollout_summaries/a.md (cwd=/home/ada/shop, thread_id=1)

### keywords

- rounding, totals, cents

## User preferences

- when totals are shown, the user asked for two decimals -> format them at the edge [Task 1]

## Reusable knowledge

- The fixtures of the payment tests are made by `make fixtures` [Task 1][Task 2]

## Failures and how to do differently

- `make test` hangs without the test database -> start it with `make db` [Task 2]

# Task Group: blog

scope: another project
applies_to: cwd=/home/ada/shop-blog; reuse_rule=always

## Reusable knowledge

- The blog is built with hugo [Task 1]
"""


def noted(root: str) -> list[tuple[int, str]]:
    return [(line.line, line.content) for line in read_notes(codex_notes_on(MEMORY, root))]


def test_only_what_was_learned_of_the_project_is_kept_at_its_line() -> None:
    lines = MEMORY.splitlines()
    found = noted("/home/ada/shop")
    assert len(found) == 3
    for number, content in found:
        assert "[Task" not in content
        assert content.split()[1] in lines[number - 1]
    assert not any("hugo" in content for _, content in found)
    assert not any("rollout" in content or "cents" in content for _, content in found)


def test_a_folder_below_the_root_belongs_to_it_and_a_neighbor_does_not() -> None:
    assert [content for _, content in noted("/home/ada/shop-blog")] == ["The blog is built with hugo"]
    assert len(noted("/home/ada")) == 4
    assert noted("/home/ada/sh") == []
    assert codex_notes_on("", "/home/ada") == ""
    assert noted("") == [], "a project without a folder has no notes, not those of all projects"


@pytest.mark.parametrize(
    ("settings", "on"),
    [
        ("[features]\nmemories = true\n", True),
        ("[features]\nmemories = true\n[memories]\nuse_memories = true\n", True),
        ("[features]\nmemories = true\n[memories]\nuse_memories = false\n", False),
        ("[features]\nmemories = false\n", False),
        ("features = 3\nmemories = 4\n", False),
        ("", False),
        ("broken = \n", False),
    ],
)
def test_it_is_on_only_where_the_settings_say_so(tmp_path: Path, settings: str, *, on: bool) -> None:
    config = tmp_path / "config.toml"
    config.write_text(settings)
    assert memory_is_on(config) is on
    assert memory_is_on(tmp_path / "gone.toml") is False
