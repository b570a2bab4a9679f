"""Rule files become typed, self-contained memories, and their changes are followed."""

from __future__ import annotations

import time
from pathlib import Path

from tacit.backends.fake import FakeStore
from tacit.capture.bootstrap import MAX_FILES, find_rule_files, read_drafts
from tacit.capture.markdown import read_rules
from tacit.capture.pipeline import CapturePipeline
from tacit.config.settings import CaptureSettings, PrivacySettings
from tacit.model.kinds import KindRegistry
from tacit.model.memory import TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.providers.embedding.fake import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.safety.redact import Redactor

PROJECT = ProjectRecord(id="p", name="p", root="/w")
RULES = """# CLAUDE.md

This file provides guidance to Claude Code when working with code in this repository.

[![CI](https://x/badge.svg)](https://x) ![logo](logo.png)

## Table of contents
- [Go style](#go-style)
- [Testing](#testing)

## Go style

- tabs, not spaces
- **Never** use `panic` in library code
- We use `slog`, not `fmt.Println`
- Prefer small interfaces; see [the guide](https://x/guide) for why.

## Testing

Run everything before you push:

```bash
# Run all tests
go test ./...
golangci-lint run   # Lint everything
```

```go
// always obey this comment
func main() {}
```

- `internal/db/` - database access and migrations
- Write tests for:
  - exported functions
  - bug fixes

| a | b |
|---|---|
| always | obey |

<!-- always obey this comment -->
https://example.com/docs
"""


def test_statements_are_self_contained_typed_and_free_of_junk() -> None:
    drafts = read_drafts(RULES, "CLAUDE.md", project_id="p", at_ms=5)
    assert {(draft.kind, draft.content) for draft in drafts} == {
        ("guideline", "Go style: tabs, not spaces"),
        ("anti_pattern", "Never use `panic` in library code"),
        ("decision", "Go style: We use `slog`, not `fmt.Println`"),
        ("preference", "Prefer small interfaces; see the guide for why"),
        ("fact", "Run all tests: `go test ./...`"),
        ("fact", "Lint everything: `golangci-lint run`"),
        ("file_context", "`internal/db/` - database access and migrations"),
        ("guideline", "Write tests for: exported functions"),
        ("guideline", "Write tests for: bug fixes"),
    }
    tabs = next(draft for draft in drafts if "tabs" in draft.content)
    assert (tabs.provenance.tier, tabs.provenance.source, tabs.provenance.span) == (
        TrustTier.USER,
        "CLAUDE.md",
        "- tabs, not spaces",
    )
    assert not tabs.trigger.empty


def test_front_matter_limits_where_a_rule_applies() -> None:
    text = (
        "---\ndescription: x\nglobs: src/**/*.ts, *.tsx\nalwaysApply: false\n---\n- Use named exports only\n"
    )
    (draft,) = read_drafts(text, ".cursor/rules/a.mdc", project_id="p", at_ms=5)
    assert draft.trigger.paths[:2] == ("src/**/*.ts", "*.tsx")
    assert read_rules("---\npaths:\n  - 'api/**'\n---\n- Use named exports only\n").paths == ("api/**",)
    assert read_rules("---\nglobs: a/**\nalwaysApply: true\n---\n- Use named exports only\n").paths == ()


def test_a_contributing_file_gives_only_rules() -> None:
    text = "The parser is written in Rust.\n\nNew code must have tests.\n"
    assert [d.content for d in read_drafts(text, "CONTRIBUTING.md", project_id="p", at_ms=5)] == [
        "New code must have tests"
    ]


def test_broken_markdown_is_read_as_far_as_it_goes() -> None:
    assert read_rules("").lines == ()
    assert read_rules("```bash\n# never closed\nmake all").lines[0].content == "never closed: `make all`"
    assert [line.line for line in read_rules("---\nnot: closed\n\n- Always use tabs here\n").lines] == [4]


class World:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock(now_ms=1_795_000_000_000)
        self.store = FakeStore(clock=self.clock)
        self.capture = CapturePipeline(
            store=self.store, embedder=FakeEmbedder(), tokens=FakeTokenCounter(), clock=self.clock,
            redactor=Redactor(PrivacySettings()), kinds=KindRegistry(), settings=CaptureSettings(),
        )  # fmt: skip

    def run(self, name: str = "", text: str | None = None) -> dict[str, tuple[str, int]]:
        if text is not None:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.clock.advance(1000)
        done = self.capture.import_rules(self.root, PROJECT)
        return {file.path: (file.status, file.memories) for file in done.files}

    def contents(self, status: str = "active") -> set[str]:
        where = MemoryFilter(statuses=(status,))
        return {m.content for m in self.store.list_memories(where, scope=self.store.scopes(), limit=100)}


FIRST = "- Always use tabs in Go files\n- Never commit to main directly\n- The port is 8080\n"


def test_an_unchanged_file_is_skipped_and_changes_are_followed(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("CLAUDE.md", FIRST) == {"CLAUDE.md": ("imported", 3)}
    assert world.run() == {"CLAUDE.md": ("unchanged", 3)}
    second = "- Always use tabs in Go files\n- The port is 9090\n- Write docs in British English\n"
    assert world.run("CLAUDE.md", second) == {"CLAUDE.md": ("changed", 3)}
    assert world.contents() == {
        "Always use tabs in Go files",
        "The port is 9090",
        "Write docs in British English",
    }
    assert world.contents("superseded") == {"The port is 8080"}
    assert world.contents("retired") == {"Never commit to main directly"}
    assert world.run("CLAUDE.md", "") == {"CLAUDE.md": ("changed", 0)}
    assert world.contents() == set()


def test_a_removed_file_takes_its_memories_along(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run("CLAUDE.md", FIRST)
    (tmp_path / "CLAUDE.md").unlink()
    assert world.run() == {"CLAUDE.md": ("gone", 0)}
    assert world.contents() == set()
    assert world.run("CLAUDE.md", FIRST) == {"CLAUDE.md": ("imported", 3)}
    assert len(world.contents()) == 3


def test_a_rule_in_two_files_goes_only_when_both_drop_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run("CLAUDE.md", "- Always use tabs in Go files\n")
    assert world.run("AGENTS.md", "- Always use tabs in Go files\n")["AGENTS.md"] == ("imported", 1)
    world.run("CLAUDE.md", "- Never commit to main directly\n")
    assert "Always use tabs in Go files" in world.contents()


def test_what_the_user_also_said_stays_when_the_file_drops_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    session = SessionKey(host="h", session_id="s")
    world.capture.capture_prompt(
        "Always use tabs in Go files", scope=project_scope("p"), session=session, turn=1
    )
    world.run("CLAUDE.md", "- Always use tabs in Go files\n")
    world.run("CLAUDE.md", "- Never commit to main directly\n")
    assert "Always use tabs in Go files" in world.contents()


def test_a_forgotten_rule_stays_forgotten_while_its_file_does_not_change(tmp_path: Path) -> None:
    from tacit.model.changes import Retire

    world = World(tmp_path)
    world.run("CLAUDE.md", "- Always use tabs in Go files\n")
    (memory,) = world.store.list_memories(MemoryFilter(), scope=world.store.scopes(), limit=5)
    world.store.apply([Retire(memory_id=memory.id, at_ms=1)])
    world.run("CLAUDE.md", "- Always use tabs in Go files\n- Never commit to main directly\n")
    assert world.contents() == {"Never commit to main directly"}


def test_files_outside_the_project_are_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.md"
    root.mkdir()
    outside.write_text(FIRST)
    (root / "CLAUDE.md").symlink_to(outside)
    (root / "AGENTS.md").write_text(FIRST)
    (root / "GEMINI.md").symlink_to(root / "AGENTS.md")
    assert [path.name for path in find_rule_files(root)] == ["AGENTS.md"]


def test_a_rule_folder_that_is_a_link_to_the_outside_is_not_entered(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / ".cursor").mkdir(parents=True)
    outside.mkdir()
    (outside / "a.mdc").write_text("- Always run the linter.\n")
    (root / ".cursor" / "rules").symlink_to("/")
    (root / ".claude").mkdir()
    (root / ".claude" / "rules").symlink_to(outside)
    began = time.monotonic()
    assert find_rule_files(root) == ()
    assert time.monotonic() - began < 0.5


def test_the_number_of_rule_files_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path / ".cursor" / "rules"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 20):
        (folder / f"{number:03}.mdc").write_text("x")
    assert len(find_rule_files(tmp_path)) == MAX_FILES


def test_a_line_that_imports_a_file_ends_a_statement_and_is_none() -> None:
    rules = read_rules(
        "- Always run the linter\n@docs/extra.md\n- @~/.claude/mine.md\n- Never use `@foo/bar` here\n"
    )
    assert [line.content for line in rules.lines] == ["Always run the linter", "Never use `@foo/bar` here"]
