"""Past transcripts: found where hosts keep them, learned from once, also after an interruption, and forks teach nothing twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.backends.sqlite import SqliteStore
from tacit.capture.backfill import BackfillOptions
from tacit.errors import NotFound
from tacit.hosts.registry import HostFolders
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.hosts.transcripts.sessions import find_transcripts, named_transcripts
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter
from tacit.providers.clock import FakeClock
from unit.capture.pipelines import make_pipeline

RULES = [
    "Always use pnpm in this repository, never npm.",
    "Never commit directly to main.",
    "From now on write tests before code.",
]


class World:
    def __init__(self) -> None:
        self.clock = FakeClock(now_ms=1_795_169_810_000)
        self.store = SqliteStore.temporary(clock=self.clock)
        self.capture = make_pipeline(self.store, self.clock, project="p")

    def contents(self) -> list[str]:
        where = MemoryFilter(statuses=None)
        return sorted(
            m.content for m in self.store.list_memories(where, scope=self.store.scopes(), limit=100)
        )


def rollout(path: Path, session: str, cwd: str, *prompts: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = [{"type": "session_meta", "payload": {"id": session, "cwd": cwd}}]
    for second, text in enumerate(prompts):
        payload = {"type": "message", "role": "user", "content": text}
        rows.append(
            {"type": "response_item", "timestamp": f"2026-11-20T10:00:0{second}Z", "payload": payload}
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_interrupted_import_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number, rule in enumerate(RULES):
        rollout(tmp_path / f"{number}.jsonl", f"cx-{number}", "/work/app", rule)
    infos = named_transcripts([tmp_path])
    whole, broken = World(), World()
    whole.capture.backfill(infos)

    def interrupted() -> Iterator[TranscriptInfo]:
        yield from infos[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken.capture.backfill(interrupted())
    assert 0 < len(broken.contents()) < len(whole.contents())
    report = broken.capture.backfill(infos)
    assert broken.contents() == whole.contents()
    assert [file.prompts for file in report.files] == [0, 0, 1]
    assert broken.capture.backfill(infos).added == 0


def test_a_fork_and_a_moved_copy_teach_nothing_twice(tmp_path: Path) -> None:
    world = World()
    first = rollout(tmp_path / "a.jsonl", "cx-1", "/work/app", *RULES[:2])
    world.capture.backfill(named_transcripts([first]))
    before = world.contents()
    rollout(tmp_path / "fork.jsonl", "cx-2", "/work/app", *RULES)
    report = world.capture.backfill(named_transcripts([tmp_path / "fork.jsonl"]))
    assert report.files[0].prompts == 1
    added = [content for content in world.contents() if content not in before]
    assert [content for content in added if "tests before code" in content]
    moved = tmp_path / "moved" / "b.jsonl"
    moved.parent.mkdir()
    first.rename(moved)
    again = world.contents()
    assert world.capture.backfill(named_transcripts([moved])).added == 0
    assert world.contents() == again


def test_a_file_that_grows_and_one_cut_off_in_a_line(tmp_path: Path) -> None:
    world = World()
    path = rollout(tmp_path / "a.jsonl", "cx-1", "/work/app", RULES[0])
    whole = rollout(tmp_path / "b.jsonl", "cx-1", "/work/app", *RULES).read_text()
    path.write_text(whole[: len(whole) - 20])
    first = world.capture.backfill(named_transcripts([path]))
    assert (first.files[0].prompts, first.files[0].bad_lines) == (2, 0)
    path.write_text(whole)
    second = world.capture.backfill(named_transcripts([path]))
    assert (second.files[0].prompts, second.added >= 1) == (1, True)


def test_a_dry_run_and_old_sessions(tmp_path: Path) -> None:
    world = World()
    infos = named_transcripts([rollout(tmp_path / "a.jsonl", "cx-1", "/work/app", *RULES)])
    report = world.capture.backfill(infos, BackfillOptions(dry_run=True))
    assert (report.files[0].prompts, world.contents()) == (3, [])
    late = world.capture.backfill(infos, BackfillOptions(since_ms=1_900_000_000_000))
    assert (late.files[0].sessions, world.contents()) == (0, [])


def test_one_broken_file_stops_no_other(tmp_path: Path) -> None:
    world = World()
    rollout(tmp_path / "b.jsonl", "cx-1", "/work/app", RULES[0])
    (tmp_path / "a.json").write_text('{"messages": [{"role": "user", "con')
    report = world.capture.backfill(named_transcripts([tmp_path]))
    assert (report.failed, report.handovers) == (1, 1)
    assert ["a.json" in file.error for file in report.files if file.error] == [True]
    assert world.contents()
    with pytest.raises(NotFound):
        named_transcripts([tmp_path / "none"])


def test_the_sessions_of_a_project_are_found_with_every_host(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "app"
    root.mkdir()
    codex = home / ".codex" / "sessions" / "2026" / "01" / "01"
    rollout(codex / "rollout-1.jsonl", "cx-1", str(root / "packages" / "api"), "hi")
    rollout(codex / "rollout-2.jsonl", "cx-2", str(tmp_path / "application"), "hi")
    copilot = home / ".copilot" / "session-state" / "cp-1" / "events.jsonl"
    copilot.parent.mkdir(parents=True)
    start = {"type": "session.start", "data": {"sessionId": "cp-1", "context": {"cwd": str(root)}}}
    copilot.write_text(json.dumps(start) + "\n")
    hashed = hashlib.sha256(str(root).encode()).hexdigest()
    for name, marker in ((hashed, ""), ("app-1", str(root)), ("other", "/elsewhere")):
        chat = home / ".gemini" / "tmp" / name / "chats" / "session-1.json"
        chat.parent.mkdir(parents=True)
        chat.write_text(json.dumps({"sessionId": name[:8], "projectHash": "0", "messages": []}))
        if marker:
            (chat.parent.parent / ".project_root").write_text(marker)
    claude = home / ".claude" / "projects" / str(root).replace("/", "-").replace(".", "-").replace("_", "-")
    claude.mkdir(parents=True)
    (claude / "s1.jsonl").write_text("{}\n")
    (claude / "agent-1.jsonl").write_text("{}\n")
    found = find_transcripts(HostFolders(home, {}), root)
    assert sorted(info.host for info in found) == [
        "claude-code",
        "codex",
        "copilot",
        "gemini",
        "gemini",
    ]
    everywhere = find_transcripts(HostFolders(home, {}), None)
    assert sorted(info.host for info in everywhere) == [
        "claude-code",
        "codex",
        "codex",
        "copilot",
        "gemini",
        "gemini",
        "gemini",
    ]


@pytest.mark.parametrize("way", ["found on disk", "handed over"])
def test_a_headless_run_of_a_writer_teaches_nothing(tmp_path: Path, way: str) -> None:
    said = "Remember that we always run `make lint` before committing."
    for cwd, expected in (("/tmp/tacit-writer-x1/work", 0), ("/tmp/shop", 1)):
        world, path = World(), rollout(tmp_path / str(expected) / "rollout-1.jsonl", "s", cwd, said)
        if way == "found on disk":
            world.capture.backfill(named_transcripts([path]), BackfillOptions())
        else:
            key = SessionKey(host="plain", session_id="s")
            messages = [{"role": "user", "content": said}]
            payload = {"host": "plain", "session_id": "s", "cwd": cwd, "messages": messages}
            world.store.hand_over(Handover(key="h", session=key, payload=json.dumps(payload), at_ms=1))
            world.capture.capture_pending()
            assert not world.store.pending_handovers(limit=9)
        assert len(world.contents()) == expected
