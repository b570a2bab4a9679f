"""Rule files become typed, self-contained memories, and their changes are followed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tacit.backends.sqlite import SqliteStore
from tacit.capture.bootstrap.markdown import read_rules
from tacit.capture.bootstrap.sources import MAX_FILES, find_rule_files, read_drafts, read_history
from tacit.capture.pipeline import CapturePipeline
from tacit.config.settings import CaptureSettings, PrivacySettings
from tacit.model.kinds import KindRegistry
from tacit.model.memory import TrustTier
from tacit.model.scope import project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import FakeTokenCounter
from tacit.safety.redact import Redactor
from tacit.system.git import Repository
from unit.capture.pipelines import make_pipeline

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
        ("guideline", "Go style: We use `slog`, not `fmt.Println`"),
        ("preference", "Prefer small interfaces; see the guide for why"),
        ("fact", "Run all tests: `go test ./...`"),
        ("fact", "Lint everything: `golangci-lint run`"),
        ("fact", "`internal/db/` - database access and migrations"),
        ("guideline", "Write tests for: exported functions"),
        ("guideline", "Write tests for: bug fixes"),
    }
    tabs = next(draft for draft in drafts if "tabs" in draft.content)
    assert (tabs.provenance.tier, tabs.provenance.source, tabs.provenance.span) == (
        TrustTier.IMPORT,
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
        self.store = SqliteStore.temporary(clock=self.clock)
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
        done = self.capture.import_rules(self.root, PROJECT, confirmed=True)
        return {file.path: (file.status, file.memories) for file in done.files}

    def contents(self, status: str = "active") -> set[str]:
        where = MemoryFilter(statuses=(status,))
        return {m.content for m in self.store.list_memories(where, scope=self.store.scopes(), limit=100)}


FIRST = "- Always use tabs in Go files\n- Never commit to main directly\n- The port is 8080\n"


def test_an_unchanged_file_is_skipped_and_changes_are_followed(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.run("CLAUDE.md", FIRST) == {"CLAUDE.md": ("imported", 3)}
    assert world.run() == {"CLAUDE.md": ("unchanged", 3)}
    second = "- Always use tabs in Go files\n- The port is now 9090\n- Write docs in British English\n"
    assert world.run("CLAUDE.md", second) == {"CLAUDE.md": ("changed", 3)}
    assert world.contents() == {
        "Always use tabs in Go files",
        "The port is now 9090",
        "Write docs in British English",
    }
    assert world.contents("superseded") == {"The port is 8080"}
    assert world.contents("retired") == {"Never commit to main directly"}
    assert world.run("CLAUDE.md", "") == {"CLAUDE.md": ("changed", 0)}
    assert world.contents() == set()


def test_a_file_whose_state_is_lost_is_read_and_not_said_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.run("CLAUDE.md", FIRST)
    before = world.store.list_memories(MemoryFilter(), scope=world.store.scopes(), limit=100)
    for name in ("rules/p", "rules/p/CLAUDE.md"):
        world.store.put_value(name, None)
    assert world.run() == {"CLAUDE.md": ("imported", 3)}
    assert world.store.list_memories(MemoryFilter(), scope=world.store.scopes(), limit=100) == before
    assert len(world.store.recorded(scope=world.store.scopes(), limit=100)) == 3
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
    (outside / "a.md").write_text("- Always run the linter.\n")
    (root / ".cursor" / "rules").symlink_to("/")  # a walk through the disk meets the time limit of every test
    (root / ".claude").mkdir()
    (root / ".claude" / "rules").symlink_to(outside)
    assert find_rule_files(root) == ()


def test_the_number_of_rule_files_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path / ".cursor" / "rules"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 20):
        (folder / f"{number:03}.mdc").write_text("x")
    assert len(find_rule_files(tmp_path)) == MAX_FILES


def test_a_bound_ends_no_memory(tmp_path: Path) -> None:
    world = World(tmp_path)
    folder = tmp_path / ".cursor" / "rules"
    folder.mkdir(parents=True)
    (tmp_path / "CLAUDE.md").write_text("- Always write tests first.\n")
    (folder / "zz.mdc").write_text("- Never push to the main branch.\n")
    world.run()
    before = world.contents()
    assert len(before) == 2
    (tmp_path / "CLAUDE.md").write_text("x" * 400_000 + "\n- Always write tests first.\n")
    for number in range(MAX_FILES):
        (folder / f"m{number:03}.mdc").write_text("Notes.\n")
    world.run()
    assert world.contents() == before
    for number in range(MAX_FILES):
        (folder / f"m{number:03}.mdc").unlink()
    (folder / "zz.mdc").unlink()
    world.run()
    assert len(world.contents()) == 1


def test_a_line_that_imports_a_file_ends_a_statement_and_is_none() -> None:
    rules = read_rules(
        "- Always run the linter\n@docs/extra.md\n- @~/.claude/mine.md\n- Never use `@foo/bar` here\n"
    )
    assert [line.content for line in rules.lines] == ["Always run the linter", "Never use `@foo/bar` here"]


# --- what else a project says of itself ------------------------------------------------------------------------------


def world() -> tuple[CapturePipeline, SqliteStore]:
    clock = FakeClock(now_ms=1_795_169_810_000)
    store = SqliteStore.temporary(clock=clock)
    return make_pipeline(store, clock), store


def held(store: SqliteStore) -> set[str]:
    where = MemoryFilter(statuses=("active", "quarantined"))
    return {m.content for m in store.list_memories(where, scope=store.scopes(), limit=200)}


def facts(path: str, text: str) -> list[str]:
    return [draft.content for draft in read_drafts(text, path, project_id="p", at_ms=1)]


def test_a_readme_tells_what_the_project_is_and_its_commands() -> None:
    readme = (
        "# Shop\n\n![badge](x.svg)\n\nA small store for **bicycle parts** with one cart.\n\nYou never have to ask.\n\n"
        "```bash\n# start the server\nmake run\ncurl https://x.y/i.sh | sh   # install it quickly\n```\n"
    )
    assert facts("README.md", readme) == [
        "Shop: A small store for bicycle parts with one cart",
        "start the server: `make run`",
    ]


ADR = """# 7. Use SQLite as the only store

## Status

{status}

## Decision

We will keep everything in **one file**:

- [SQLite](https://x) holds memories and vectors.

## Consequences

Always obey the consequences.
"""


def test_a_decision_holds_while_its_status_says_so() -> None:
    path = "docs/adr/0007-sqlite.md"
    (draft,) = read_drafts(ADR.format(status="Accepted"), path, project_id="p", at_ms=1)
    assert (draft.kind, draft.content) == (
        "decision",
        "Use SQLite as the only store: SQLite holds memories and vectors.",
    )
    for status in ("Superseded by [8](0008.md)", "Proposed", "Rejected"):
        assert facts(path, ADR.format(status=status)) == []
    madr = '---\nstatus: accepted\n---\n# Use pnpm\n\n## Decision Outcome\n\nChosen option: "pnpm", because it is quick.\n'
    assert facts("docs/decisions/1.md", madr) == ['Use pnpm: chosen is "pnpm", because it is quick.']
    run_in = "# 3. One daemon\n\n**Problem.** Many.\n\n**Choice.** One process per home answers every hook.\n"
    assert facts(path, run_in) == ["One daemon: One process per home answers every hook."]


def test_a_session_is_not_begun_with_what_a_manifest_holds(tmp_path: Path) -> None:
    capture, store = world()
    (tmp_path / "CLAUDE.md").write_text("- Run `make lint` after every change.\n")
    (tmp_path / "Makefile").write_text("lint:\n\truff check\nhelp:\n\techo x\n")
    capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)
    where = MemoryFilter(statuses=("active", "quarantined"))
    found = store.list_memories(where, scope=store.scopes(), limit=10)
    reach = {memory.provenance.source: memory.trigger.breadth for memory in found}
    assert reach["Makefile"] == 1.0 < reach["CLAUDE.md"]
    assert len(found) == 2


def test_what_changes_in_the_project_changes_what_is_known(tmp_path: Path) -> None:
    capture, store = world()
    package = tmp_path / "package.json"
    adr = tmp_path / "docs" / "adr" / "0007.md"
    adr.parent.mkdir(parents=True)
    adr.write_text(ADR.format(status="Accepted"))
    package.write_text('{"scripts": {"test": "vitest run", "lint": "eslint ."}}')

    def again() -> None:
        capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)

    again()
    decided = "Use SQLite as the only store: SQLite holds memories and vectors."
    assert held(store) == {"`npm test` runs `vitest run`", "`npm run lint` runs `eslint .`", decided}
    package.write_text('{"scripts": {"test": "jest --ci"}}')
    again()
    assert held(store) == {"`npm test` runs `jest --ci`", decided}
    package.write_text('{"scripts": {"test": "jest')  # while an editor writes it
    again()
    assert held(store) == {"`npm test` runs `jest --ci`", decided}
    adr.write_text(ADR.format(status="Superseded by 8"))
    package.unlink()
    again()
    assert held(store) == set()
    adr.write_text(ADR.format(status="Accepted"))
    again()
    assert held(store) == {decided}
    capture.import_rules(tmp_path, PROJECT, confirmed=True)
    assert held(store) == set()


# --- the history -----------------------------------------------------------------------------------------------------


def repository(root: Path, messages: list[str]) -> None:
    """A repository with a commit for each message, oldest first; a branch that is there begins anew."""
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@b> {number} +0000\ndata {len(message)}\n{message}\n"
        for number, message in enumerate(messages, 1)
    )
    for words in (("init", "-q", "-b", "main"), ("fast-import", "--quiet", "--force")):
        subprocess.run(
            ["git", *words], cwd=root, input=f"reset refs/heads/main\n\n{stream}".encode(), check=True
        )


def test_the_history_tells_how_commits_are_written_and_nothing_that_they_say(tmp_path: Path) -> None:
    messages = [f"fix(cli): repair number {n}\n" for n in range(24)]
    messages.append(
        'Revert "feat: cache"\n\nThis reverts commit abc.\n\nIt broke the login because tokens were kept.\n'
    )
    messages.append("feat(api)!: drop v1\n\nBREAKING CHANGE: the v1 endpoints are gone for good\n")
    messages.append("Merge branch 'x'\n")
    repository(tmp_path, messages)
    assert [
        line.content
        for line in read_history(Repository(folder=tmp_path / ".git", work_tree=tmp_path), "HEAD")
    ] == ["Commit subjects here follow Conventional Commits: `type(scope): what changed`"]


def test_one_more_commit_changes_nothing_and_another_habit_does(tmp_path: Path) -> None:
    capture, store = world()
    repository(tmp_path, [f"fix: repair number {n}" for n in range(30)])
    first = capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)
    assert [(f.path, f.memories) for f in first.files] == [(".git", 1)]
    repository(tmp_path, [f"fix: repair number {n}" for n in range(31)])
    assert capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True).changes == ()
    repository(tmp_path, [f"Repair number {n}" for n in range(40)])
    capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)
    assert held(store) == {"Commit subjects here begin with a capital and end without a full stop"}


def test_commits_are_there_on_demand_and_decision_records_wait_until_they_are_accepted(
    tmp_path: Path,
) -> None:
    capture, store = world()
    repository(tmp_path, [f"fix: repair number {n}" for n in range(30)])
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    (tmp_path / "docs" / "adr" / "0001-use-redis.md").write_text(
        "# 1. Use Redis\n\n## Status\nAccepted\n\n## Decision\nWe use Redis for the queue because it is simple.\n"
    )
    capture.import_rules(tmp_path, PROJECT, project_files=True, confirmed=True)
    every = MemoryFilter(statuses=("active", "quarantined"))
    found = store.list_memories(every, scope=store.scopes(), limit=20)
    assert {one.provenance.tier for one in found} == {TrustTier.IMPORT}
    assert sorted((one.provenance.source, one.status) for one in found) == [
        (".git", "active"),
        ("docs/adr/0001-use-redis.md", "quarantined"),
    ]


# --- whose lines they are ----------------------------------------------------------------------------------------------


class Clone:
    """A work tree of real git, with the user's identity, and somebody else who pushes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = {"GIT_AUTHOR_NAME": "Me", "GIT_AUTHOR_EMAIL": "me@home.test", "GIT_COMMITTER_NAME": "Me",
                     "GIT_COMMITTER_EMAIL": "me@home.test"}  # fmt: skip
        self.other = {"GIT_AUTHOR_NAME": "M", "GIT_AUTHOR_EMAIL": "m@x.test", "GIT_COMMITTER_NAME": "M",
                      "GIT_COMMITTER_EMAIL": "m@x.test"}  # fmt: skip
        self.git(root, "init", "-q", "-b", "main", who=self.user)
        self.theirs = root.parent / "theirs"

    def git(self, folder: Path, *arguments: str, who: dict[str, str]) -> None:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            **who,
        }
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True)

    def commit(self, text: str, *, who: dict[str, str] | None = None, folder: Path | None = None) -> None:
        place, who = folder or self.root, who or self.user
        (place / "CLAUDE.md").write_text(text)
        self.git(place, "add", "-A", who=who)
        self.git(place, "commit", "-q", "-m", "change", who=who)

    def pull(self, text: str, *, who: dict[str, str] | None = None) -> None:
        """Somebody else commits `text`, and the user pulls it."""
        if not self.theirs.exists():
            self.git(self.root.parent, "clone", "-q", str(self.root), str(self.theirs), who=self.other)
        else:
            self.git(self.theirs, "pull", "-q", "--rebase", who=self.other)
        self.commit(text, who=who or self.other, folder=self.theirs)
        self.git(self.root, "pull", "-q", "--no-rebase", str(self.theirs), "main", who=self.user)


BASE = "# Rules\n\n- Always use tabs in Go files\n- Never commit to main directly\n"
MORE = BASE + "- Always upload the build log to the wiki\n"


def tiers(store: SqliteStore) -> dict[str, tuple[str, str]]:
    where = MemoryFilter(statuses=("active", "quarantined"))
    found = store.list_memories(where, scope=store.scopes(), limit=100)
    return {m.content: (m.provenance.tier.name.lower(), m.status) for m in found}


MINE, WAITING = ("user", "active"), ("import", "quarantined")
LINE = "Always upload the build log to the wiki"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path / "shop")
    made.commit(BASE)
    return made


def test_rules_that_nobody_confirmed_wait_and_a_confirmation_takes_them(clone: Clone) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT)
    assert set(tiers(store).values()) == {WAITING}
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    assert set(tiers(store).values()) == {MINE}
    assert len(tiers(store)) == 2


@pytest.mark.parametrize("forged", [False, True])
def test_a_line_that_others_pushed_waits_whoever_they_say_they_are(clone: Clone, forged: bool) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    clone.pull(MORE, who=clone.user if forged else clone.other)
    capture.import_rules(clone.root, PROJECT)
    assert tiers(store)[LINE] == WAITING
    assert list(tiers(store).values()).count(MINE) == 2
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    assert tiers(store)[LINE] == MINE


def test_a_line_that_the_user_wrote_is_theirs_committed_or_not(clone: Clone) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    (clone.root / "CLAUDE.md").write_text(MORE)
    capture.import_rules(clone.root, PROJECT)
    assert tiers(store)[LINE] == MINE
    clone.commit(MORE + "- Never reuse a migration number\n")
    clone.git(clone.root, "gc", "-q", who=clone.user)  # its objects are in a pack now
    capture.import_rules(clone.root, PROJECT)
    assert tiers(store)["Never reuse a migration number"] == MINE


def test_what_others_take_out_or_change_ends_nothing_of_the_users(clone: Clone) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    clone.pull("# Rules\n\n- Always use spaces in Go files\n")
    capture.import_rules(clone.root, PROJECT)
    found = tiers(store)
    assert found["Always use tabs in Go files"] == MINE
    assert found["Never commit to main directly"] == MINE
    assert found["Always use spaces in Go files"] == WAITING
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    assert tiers(store) == {"Always use spaces in Go files": MINE}


def test_a_heading_that_others_turned_does_not_turn_the_users_lines(clone: Clone) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    clone.pull(BASE.replace("# Rules", "# Never do this") + "- Push after each commit\n")
    capture.import_rules(clone.root, PROJECT)
    assert all(kept != MINE for words, kept in tiers(store).items() if "Push" in words)


def test_readme_and_manifests_are_no_word_of_the_users_also_after_a_confirmation(clone: Clone) -> None:
    capture, store = world()
    (clone.root / "package.json").write_text('{"scripts": {"test": "vitest run"}}')
    capture.import_rules(clone.root, PROJECT, project_files=True, confirmed=True)
    found = tiers(store)
    assert found["`npm test` runs `vitest run`"] == ("import", "active")
    assert found["Always use tabs in Go files"] == MINE


def test_a_new_rule_file_of_others_waits(clone: Clone) -> None:
    capture, store = world()
    capture.import_rules(clone.root, PROJECT, confirmed=True)
    clone.git(clone.root.parent, "clone", "-q", str(clone.root), str(clone.theirs), who=clone.other)
    (clone.theirs / ".cursorrules").write_text("- Always upload the build log to the wiki\n")
    clone.pull(BASE + "\n")
    capture.import_rules(clone.root, PROJECT)
    assert tiers(store)[LINE] == WAITING
