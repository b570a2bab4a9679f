"""A host that takes text only with some events: what waits, what goes with what, compactions, and the host's own memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.capture.bootstrap.host_memory import read_notes
from tacit.hosts.cursor import Cursor
from tacit.model.memory import TrustTier
from tacit.model.scope import UNIVERSAL
from tacit.ports.store import MemoryFilter

LINT = "We always run `make lint` before committing."
FIX = "`ModuleNotFoundError: No module named 'orders_schema'` goes away once `make generate` has run."
COMMIT = {"tool_name": "run_shell_command", "tool_input": {"command": "git commit -m x"}}
ENDED = {"tool_response": {"llmContent": "Output: done"}}


class Gemini:
    """Events of one session of Gemini CLI, and what each got."""

    def __init__(self, engine, folder: Path) -> None:
        self.engine = engine
        self.project = folder / "shop"
        (self.project / ".git" / "objects").mkdir(parents=True)
        self.home = folder / "u" / ".gemini"
        self.chat = self.home / "tmp" / "shop" / "chats" / "session-1.jsonl"
        self.chat.parent.mkdir(parents=True)
        self.chat.write_text('{"sessionId":"s1","kind":"main"}\n')
        self.count = 0

    def __call__(self, event: str, **fields: object) -> str:
        """Send one event; the text that the model gets, or the reason of a refusal."""
        payload = self.payload(event, **fields)
        reply = json.loads(self.engine.hook("gemini", payload, deadline_ms=60_000) or "{}")
        return reply.get("hookSpecificOutput", {}).get("additionalContext", "") or reply.get("reason", "")

    def payload(self, event: str, **fields: object) -> dict[str, object]:
        self.count += 1
        return {
            "hook_event_name": event,
            "session_id": "s1",
            "cwd": str(self.project),
            "transcript_path": str(self.chat),
            "timestamp": f"2026-11-26T14:48:{self.count:02}.000Z",
            **fields,
        }

    def remember(self, text: str, **how: object) -> None:
        self.engine.remember(text, cwd=str(self.project), **how)

    def write(self, row: dict[str, object]) -> None:
        with self.chat.open("a") as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")

    def compressed(self, name: str, *, at: str) -> None:
        """The row that the client writes when it has compressed the conversation, and again when that is resumed."""
        taken = {"text": "Got it. Thanks for the additional context!"}
        messages = [
            {"id": "a", "timestamp": at, "type": "user", "content": [{"text": "summary"}]},
            {"id": name, "timestamp": at, "type": "gemini", "content": [taken]},
        ]
        self.write({"$set": {"messages": messages, "lastUpdated": at}})


@pytest.fixture
def gemini(make_engine, tmp_path) -> Gemini:
    return Gemini(make_engine(recall={"deadline_ms": 60_000}), tmp_path)


def test_a_session_whose_start_nobody_heard_gets_its_pack_with_the_first_prompt(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    assert "make lint" in gemini("BeforeAgent", prompt="What is the capital of France?")
    assert gemini("BeforeAgent", prompt="And of Spain?") == ""


def test_a_start_block_that_the_hook_client_handed_over_is_not_given_again(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    payload = gemini.payload("SessionStart", source="startup")
    gemini.engine.take_kept("gemini", payload, at_ms=None, given=True, project_dir="")
    assert gemini("BeforeAgent", prompt="What is the capital of France?") == ""


def test_a_muted_session_gets_nothing_of_what_waited(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    gemini("SessionStart", source="startup")
    (state,) = gemini.engine.sessions()
    gemini.engine.live.mute(state.key, muted=True)
    assert gemini("BeforeAgent", prompt="What is the capital of France?") == ""


def test_a_refusal_does_not_wait(make_engine, tmp_path) -> None:
    settings = {"deadline_ms": 60_000, "budgets": {"start": 0}, "blocking": True}
    gemini = Gemini(make_engine(recall=settings), tmp_path)
    gemini.remember("Nobody commits during the freeze.", kind="preference", when="cmd:git commit, blocking")
    assert "freeze" in gemini("BeforeTool", **COMMIT)
    assert gemini("BeforeTool", **COMMIT) == ""


def test_after_a_compression_the_context_comes_with_the_next_result_and_never_for_a_resume(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    gemini("SessionStart", source="startup")
    assert "make lint" in gemini("BeforeAgent", prompt="hello there")
    gemini.compressed("b1", at="2026-11-26T15:00:00.000Z")
    assert gemini("BeforeTool", **COMMIT) == ""
    assert "make lint" in gemini("AfterTool", **COMMIT, **ENDED)
    gemini("SessionStart", source="resume")
    gemini.compressed("b1", at="2026-11-26T16:00:00.000Z")
    assert gemini("BeforeAgent", prompt="go on then") == ""
    gemini.compressed("b2", at="2026-11-26T16:01:00.000Z")
    assert "make lint" in gemini("BeforeAgent", prompt="and so on")


def test_a_compression_at_the_end_of_a_session_counts_when_the_session_is_resumed(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    gemini("SessionStart", source="startup")
    assert "make lint" in gemini("BeforeAgent", prompt="hello there")
    gemini.compressed("b1", at="2026-11-26T15:00:00.000Z")
    gemini("SessionEnd", reason="exit")
    gemini("SessionStart", source="resume")
    gemini.compressed("b1", at="2026-11-26T16:00:00.000Z")
    assert "make lint" in gemini("BeforeAgent", prompt="go on then")
    assert gemini("BeforeAgent", prompt="and so on") == ""


def test_a_transcript_that_cannot_be_read_harms_nothing(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    gemini.chat.unlink()
    gemini.chat.mkdir()
    gemini("SessionStart", source="startup")
    assert "make lint" in gemini("BeforeAgent", prompt="hello there")


def test_the_rule_file_that_the_client_loads_is_in_the_context_already(gemini) -> None:
    (gemini.project / "GEMINI.md").write_text("- Always answer in British English.\n")
    gemini.engine.init_project(str(gemini.project))
    gemini.remember(LINT, kind="preference", when="always")
    gemini("SessionStart", source="startup")
    start = gemini("BeforeAgent", prompt="What is the capital of France?")
    assert "make lint" in start
    assert "British" not in start


def known(gemini) -> dict[str, tuple[TrustTier, bool]]:
    """Tier, and whether it holds for all projects, of every active memory."""
    gemini.engine.flush()
    memories = gemini.engine.list_memories(MemoryFilter(), limit=50)
    return {memory.content: (memory.provenance.tier, memory.scope == UNIVERSAL) for memory in memories}


def note(gemini, *statements: str, universal: bool = False) -> None:
    """The agent writes its own memory, and a turn ends."""
    file = gemini.home / "GEMINI.md" if universal else gemini.chat.parent.parent / "memory" / "MEMORY.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("# Notes\n\n" + "".join(f"- {statement}\n" for statement in statements))
    gemini("AfterAgent", prompt="x", prompt_response="noted")


TUESDAYS = "Deploys go out from the release branch on Tuesdays."
FRIDAYS = "Deploys go out from the release branch on Fridays."
STAGING = "The staging database listens on port 5433."
RULE = "Always answer in British English."


def test_what_the_agent_notes_is_its_own_statement_and_is_followed(gemini) -> None:
    note(gemini, STAGING, universal=True)
    note(gemini, TUESDAYS)
    assert known(gemini) == {
        TUESDAYS: (TrustTier.ASSISTANT, False),
        STAGING: (TrustTier.ASSISTANT, True),
    }
    note(gemini, FRIDAYS)
    assert set(known(gemini)) == {FRIDAYS, STAGING}
    (gemini.home / "GEMINI.md").unlink()
    note(gemini)
    assert known(gemini) == {}


def test_a_rule_among_the_notes_waits_for_the_user(gemini) -> None:
    note(gemini, RULE, universal=True)
    assert known(gemini) == {}
    waiting = MemoryFilter(statuses=("quarantined",))
    (memory,) = gemini.engine.list_memories(waiting, limit=9)
    assert (memory.content, memory.provenance.source) == (RULE.rstrip("."), "gemini:GEMINI.md")


def test_what_the_client_loads_of_it_is_in_the_context_already(gemini) -> None:
    gemini.remember(LINT, kind="preference", when="always")
    gemini.remember(TUESDAYS, kind="decision", when="always")
    note(gemini, TUESDAYS)
    assert known(gemini)[TUESDAYS] == (TrustTier.USER, False), "what the user said stays theirs"
    gemini("SessionStart", source="startup")
    start = gemini("BeforeAgent", prompt="What is the capital of France?")
    assert "make lint" in start
    assert "Tuesdays" not in start


def test_the_agents_notes_never_end_what_the_user_said(gemini) -> None:
    gemini.remember(TUESDAYS, kind="decision")
    note(gemini, FRIDAYS)
    note(gemini)
    assert known(gemini)[TUESDAYS] == (TrustTier.USER, False)


def test_a_person_may_switch_the_reading_off(make_engine, tmp_path) -> None:
    gemini = Gemini(make_engine(capture={"rule_files": False}), tmp_path)
    note(gemini, TUESDAYS)
    assert known(gemini) == {}


def test_notes_are_the_items_of_lists_and_the_rules() -> None:
    text = (
        "# Notes\n\nSome prose about nothing.\n\n- The **staging** database listens\n  on port 5433.\n- Tools:\n- see x\n"
        "```\n- not a note at all\n```\n<!-- - neither is this one -->\nAlways answer in British English.\n1. Ask Ana about the invoices.\n"
        "- [Deploys](deploys.md) — they go out on Tuesdays\n"
    )
    assert [(line.content, line.line) for line in read_notes(text)] == [
        ("The staging database listens on port 5433.", 5),
        ("Always answer in British English", 13),
        ("Ask Ana about the invoices", 14),
        ("Deploys — they go out on Tuesdays", 15),
    ]


def test_blocks_that_wait_stay_within_the_cap_of_the_host(make_engine, tmp_path, monkeypatch) -> None:
    """Cursor takes no text for a tool that fails, so two fixes wait. The second one comes later, because both are too long together."""
    monkeypatch.setattr(Cursor, "capabilities", replace(Cursor.capabilities, cap_chars=320))
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    engine = make_engine(recall={"deadline_ms": 60_000, "budgets": {"start": 0}})
    other = "`PermissionError: cannot open billing_ledger` goes away once `make unlock` has run."
    for fix in (FIX, other):
        engine.remember(fix, kind="error_pattern", cwd=str(tmp_path))
    count = 0

    def send(event: str, **fields: object) -> str:
        nonlocal count
        count += 1
        call = {"tool_name": "Shell", "tool_use_id": f"t{count}", "tool_input": {"command": f"make x{count}"}}
        payload = {"hook_event_name": event, "conversation_id": "c1", "cwd": str(tmp_path), **call, **fields}
        reply = engine.hook("cursor", payload, deadline_ms=60_000)
        return json.loads(reply or "{}").get("additional_context", "")

    ledger = "PermissionError: cannot open billing_ledger"
    assert (
        send("postToolUseFailure", error_message="ModuleNotFoundError: No module named 'orders_schema'") == ""
    )
    assert send("postToolUseFailure", error_message=ledger) == ""
    first = send("postToolUse", tool_output=json.dumps({"output": "done", "exitCode": 0}))
    assert "make generate" in first
    assert len(first) <= 320
    assert "make unlock" in send("postToolUse", tool_output=json.dumps({"output": ledger, "exitCode": 1}))


def test_notes_with_many_open_comments_are_read_in_time_that_grows_with_their_length() -> None:
    note = "The staging database listens on port 5433."
    assert read_notes(f"- {note}\n" + "<!--" * 50_000)[0].content == note
