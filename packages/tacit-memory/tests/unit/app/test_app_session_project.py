"""The project of a session: the one it was started in, whatever folder the agent changes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, injected, send
from repositories import pretend
from tacit.app.engine import Engine
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from transcripts import exchange, write_transcript

RULE = "Always build the hulls with make hull"
SAID = "Remember: always paint the masts with make mast."
KEPT = "paint the masts with make mast"


def plain_subfolder(root: Path) -> tuple[Path, Path]:
    (root / "yard" / "docks").mkdir(parents=True)
    return root / "yard", root / "yard" / "docks"


def scratch(root: Path) -> tuple[Path, Path]:
    (root / "scratch").mkdir()
    return pretend(root / "yard", "https://x.example/yard.git"), root / "scratch"


def nested_repository(root: Path) -> tuple[Path, Path]:
    return pretend(root / "yard", "https://x.example/yard.git"), pretend(
        root / "yard" / "lib", "https://x.example/lib.git"
    )


def other_repository(root: Path) -> tuple[Path, Path]:
    return pretend(root / "yard"), pretend(root / "harbor")


def folder_above(root: Path) -> tuple[Path, Path]:
    return pretend(root / "group" / "yard"), root / "group"


Place = Callable[[Path], tuple[Path, Path]]
PLACES = [plain_subfolder, scratch, nested_repository, other_repository, folder_above]


def contents(engine: Engine, folder: Path) -> list[str]:
    """What is on record for the project of a folder alone."""
    scope = engine.scope_called("project", str(folder))
    return [
        memory.content for memory in engine.list_memories(MemoryFilter(), limit=100) if memory.scope == scope
    ]


def project_of(engine: Engine, session: str, host: str = "claude-code") -> str:
    (state,) = (s for s in engine.sessions() if s.key == SessionKey(host=host, session_id=session))
    return Path(state.project_root).name


@pytest.mark.parametrize("where", PLACES)
def test_what_is_said_elsewhere_is_of_the_project_of_the_start_live_and_imported(
    engine: Engine, tmp_path: Path, where: Place
) -> None:
    start, elsewhere = where(tmp_path)
    path = tmp_path / "t.jsonl"
    first = write_transcript(path, *exchange("Look at this.", "Done."), cwd=start, session="s1").read_text()
    later = write_transcript(path, *exchange(SAID, "Noted."), cwd=elsewhere, session="s1").read_text()
    path.write_text(first)
    agent = Agent(engine, start, transcript_path=str(path))
    agent.start()
    agent.prompt("Look at this.")
    agent.send("Stop", last_assistant_message="Done.")
    agent.cwd = elsewhere
    agent.prompt(SAID)
    path.write_text(first + later.replace("s1-", "s1-later-"))
    agent.send("Stop", last_assistant_message="Noted.")
    agent.send("SessionEnd", reason="other")
    engine.flush()
    engine.learning.capture_pending()
    assert project_of(engine, "s1") == start.name
    assert any(KEPT in text for text in contents(engine, start))
    assert contents(engine, elsewhere) == []

    copy = tmp_path / "imported.jsonl"
    copy.write_text(path.read_text().replace('"s1"', '"s9"').replace("masts", "decks"))
    engine.capture.backfill(engine.transcripts(paths=[copy]))
    assert any("paint the decks" in text for text in contents(engine, start))
    assert contents(engine, elsewhere) == []


@pytest.mark.parametrize("where", PLACES)
def test_what_is_on_record_comes_elsewhere_too_and_the_start_pack_after_a_compaction(
    engine: Engine, tmp_path: Path, where: Place
) -> None:
    start, elsewhere = where(tmp_path)
    engine.remember(RULE, kind="guideline", when="commit", cwd=str(start))
    engine.remember("Never push to the harbor branch", kind="guideline", when="commit", cwd=str(elsewhere))
    agent = Agent(engine, start)
    assert RULE in agent.start()
    agent.cwd = elsewhere
    compacted = agent.start("compact")
    assert RULE in compacted
    assert "harbor branch" not in compacted
    agent = Agent(engine, start, "s2")
    agent.send("UserPromptSubmit", prompt="Hello there, have a look")
    agent.cwd = elsewhere
    assert RULE in agent.prompt(f"{RULE}, is that so?")


def test_a_subagent_works_in_the_project_of_its_session(engine: Engine, tmp_path: Path) -> None:
    start, elsewhere = other_repository(tmp_path)
    agent = Agent(engine, start)
    agent.send("UserPromptSubmit", prompt="Look at this")
    agent.cwd = elsewhere
    agent.send("SubagentStart", agent_id="a1", agent_type="builder")
    assert project_of(engine, "s1#a1") == "yard"


def test_a_session_that_is_resumed_elsewhere_stays_with_its_project(engine: Engine, tmp_path: Path) -> None:
    start, elsewhere = other_repository(tmp_path)
    agent = Agent(engine, start)
    agent.start()
    agent.prompt("Look at this")
    agent.cwd = elsewhere
    agent.start("resume")
    agent.prompt(SAID)
    assert project_of(engine, "s1") == "yard"
    assert contents(engine, elsewhere) == []


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "Look at this"}),
        ("SessionStart", {"source": "compact"}),
        ("SessionStart", {"source": "clear"}),
        ("SessionEnd", {"reason": "other"}),
    ],
)
def test_without_the_event_of_the_start_the_host_says_where_it_was_started(
    engine: Engine, tmp_path: Path, event: str, fields: dict[str, Any]
) -> None:
    start, elsewhere = other_repository(tmp_path)
    payload = {"session_id": "s1", "cwd": str(elsewhere), "hook_event_name": event, **fields}
    engine.hook("claude-code", payload, deadline_ms=5000, project_dir=str(start))
    assert project_of(engine, "s1") == "yard"
    # A later event of another client that says nothing of it changes nothing.
    send(engine, elsewhere, "UserPromptSubmit", prompt="Look at that")
    assert project_of(engine, "s1") == "yard"


def test_the_start_of_a_session_says_more_than_the_environment(engine: Engine, tmp_path: Path) -> None:
    start, elsewhere = other_repository(tmp_path)
    payload = {"session_id": "s1", "cwd": str(start), "hook_event_name": "SessionStart", "source": "startup"}
    engine.hook("claude-code", payload, deadline_ms=5000, project_dir=str(elsewhere))
    assert project_of(engine, "s1") == "yard"


def test_another_work_tree_of_the_repository_is_where_the_agent_works_now(
    engine: Engine, tmp_path: Path
) -> None:
    main = pretend(tmp_path / "yard")
    admin = main / ".git" / "worktrees" / "wt"
    admin.mkdir(parents=True)
    tree = tmp_path / "wt"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "gitdir").write_text(f"{tree}/.git\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "HEAD").write_text("ref: refs/heads/feat\n")
    agent = Agent(engine, main)
    agent.start()
    agent.cwd = tree
    agent.prompt(SAID)
    (state,) = engine.sessions()
    assert state.project_root == str(tree)
    assert any(KEPT in text for text in contents(engine, main))


def test_a_file_touched_elsewhere_is_named_whole_and_never_taken_for_one_of_the_project(
    engine: Engine, tmp_path: Path
) -> None:
    start, elsewhere = other_repository(tmp_path)
    agent = Agent(engine, start)
    agent.start()
    call = {"tool_name": "Edit", "tool_use_id": "c1", "tool_response": {}}
    agent.send("PostToolUse", tool_input={"file_path": str(start / "hull.py"), "new_string": "x"}, **call)
    agent.cwd = elsewhere
    call["tool_use_id"] = "c2"
    agent.send("PostToolUse", tool_input={"file_path": str(elsewhere / "mast.py"), "new_string": "x"}, **call)
    call["tool_use_id"] = "c3"
    agent.send("PostToolUse", tool_input={"file_path": str(start / "keel.py"), "new_string": "x"}, **call)
    (state,) = engine.sessions()
    assert state.recent_files == ("hull.py", str(elsewhere / "mast.py"), "keel.py")


@pytest.mark.parametrize(
    ("host", "start", "prompt"),
    [
        ("codex", {"hook_event_name": "SessionStart", "source": "startup"}, {"hook_event_name": "UserPromptSubmit"}),
        ("gemini", {"hook_event_name": "SessionStart", "source": "startup"}, {"hook_event_name": "BeforeAgent"}),
        ("copilot", {"hook_event_name": "SessionStart", "source": "new", "timestamp": "t"}, {"hook_event_name": "UserPromptSubmit", "timestamp": "u"}),
        ("plain", {"event": "start"}, {"event": "prompt"}),
    ],
)  # fmt: skip
def test_so_it_is_in_other_hosts(
    engine: Engine, tmp_path: Path, host: str, start: dict[str, Any], prompt: dict[str, Any]
) -> None:
    home, elsewhere = other_repository(tmp_path)
    about = {"session": "s1"} if host == "plain" else {"session_id": "s1"}
    said = {"text": SAID} if host == "plain" else {"prompt": SAID}
    engine.hook(host, {**about, **start, "cwd": str(home)}, deadline_ms=5000)
    engine.hook(host, {**about, **prompt, **said, "cwd": str(elsewhere)}, deadline_ms=5000)
    engine.flush()
    assert project_of(engine, "s1", host) == "yard"
    assert contents(engine, elsewhere) == []
    assert any(KEPT in text for text in contents(engine, home))


def test_each_event_of_a_program_with_many_users_is_of_the_user_it_names(engine: Engine) -> None:
    engine.remember(RULE, kind="guideline", when="commit", cwd="user:ana")
    for user, comes in (("user:ana", True), ("user:ben", False)):
        given = {
            "session": "shared",
            "event": "prompt",
            "text": f"{RULE}, is that so for {user}?",
            "cwd": user,
        }
        assert (RULE in engine.hook("plain", given, deadline_ms=5000)) is comes


@pytest.mark.parametrize("source", ["warp", None, 7, ""])
def test_a_session_whose_source_is_unknown_starts_like_any_other(
    engine: Engine, place: Path, source: object
) -> None:
    engine.remember(RULE, kind="guideline", cwd=str(place))
    assert RULE in injected(send(engine, place, "SessionStart", source=source))
