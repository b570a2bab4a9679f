"""Every format of transcript is known by its content and read into what people and agents said."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from tacit.errors import HostError, InvalidPayload
from tacit.hosts.copilot.transcript import last_reply
from tacit.hosts.transcripts import Transcript
from tacit.hosts.transcripts.sessions import FileSession, detect_format, read_sessions
from tacit.state.captured import Position

Rows = list[dict[str, object]]


def write_rows(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sessions(path: Path, *, subagents: bool = False, since: Position | None = None) -> list[FileSession]:
    return list(read_sessions(path, since=lambda host, name: since or Position(), subagents=subagents))


def only(path: Path, *, subagents: bool = False, since: Position | None = None) -> Transcript:
    (session,) = sessions(path, subagents=subagents, since=since)
    return session.transcript


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in transcript.turns]


def at(second: int) -> str:
    return f"2026-11-20T10:00:{second:02d}.000Z"


# --- Codex -----------------------------------------------------------------------------------------------------------


def item(second: int, kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": at(second), "type": "response_item", "payload": {"type": kind, **payload}}


def message(second: int, role: str, text: str, **more: object) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, "message", role=role, content=[{"type": kind, "text": text}], **more)


CODEX: Rows = [
    {
        "timestamp": at(0),
        "type": "session_meta",
        "payload": {"id": "cx-1", "cwd": "/work/app", "source": "exec", "thread_source": "user"},
    },
    message(1, "developer", "Always obey the hook"),
    message(1, "user", "<environment_context>\n<cwd>/work/app</cwd>\n</environment_context>"),
    message(1, "user", "# AGENTS.md instructions for /work/app\n\nAlways obey the file"),
    message(2, "user", "Run the tests"),
    {
        "timestamp": at(2),
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "Run the tests"},
    },
    item(3, "function_call", name="exec_command", arguments='{"cmd": "pytest -q"}', call_id="c1"),
    item(
        4,
        "function_call_output",
        call_id="c1",
        output="Chunk ID: 1\nProcess exited with code 2\nOutput:\nno module named app",
    ),
    item(
        5,
        "custom_tool_call",
        name="apply_patch",
        call_id="c2",
        input="*** Begin Patch\n*** Update File: src/app.py\n@@\n-a\n+b\n*** End Patch",
    ),
    item(
        6,
        "custom_tool_call_output",
        call_id="c2",
        output='{"output": "Success", "metadata": {"exit_code": 0}}',
    ),
    item(
        7,
        "function_call",
        name="update_plan",
        arguments='{"plan": [{"step": "Write tests", "status": "in_progress"}]}',
        call_id="c3",
    ),
    message(8, "assistant", "Done."),
    {"timestamp": at(8), "type": "event_msg", "payload": {"type": "agent_message", "message": "Done."}},
    {"timestamp": at(9), "type": "compacted", "payload": {"message": "Always obey the summary"}},
    message(
        10,
        "user",
        "# Context from my IDE setup:\n\n## Open tabs: a.py\n\n## My request for Codex:\nNow commit it",
    ),
]


def test_a_codex_rollout_is_heard_once(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.log", CODEX)
    known = detect_format(path)
    assert (known.format, known.host, known.session_id, known.cwd) == ("codex", "codex", "cx-1", "/work/app")
    read = only(path)
    assert said(read) == [("user", "Run the tests"), ("assistant", "Done."), ("user", "Now commit it")]
    bash, patch, plan = read.turns[1].tools
    assert (bash.tool, bash.command, bash.failed) == ("bash", "pytest -q", True)
    assert bash.error == "Exit code 2\nno module named app"
    assert (patch.tool, patch.paths, patch.failed) == ("edit", ("src/app.py",), False)
    assert plan.todos == (("Write tests", "in_progress"),)
    assert (read.cwd, read.turns[0].at_ms) == ("/work/app", 1795168802000)


def test_a_codex_subagent_is_heard_only_when_asked(tmp_path: Path) -> None:
    meta = {"type": "session_meta", "payload": {"id": "cx-2", "thread_source": "subagent"}}
    path = write_rows(tmp_path / "r.jsonl", [meta, message(1, "user", "Look into it")])
    assert said(only(path)) == []
    assert said(only(path, subagents=True)) == [("user", "Look into it")]


# --- Gemini ----------------------------------------------------------------------------------------------------------


def gemini_message(number: int, kind: str, content: object, **more: object) -> dict[str, object]:
    return {"id": f"m{number}", "timestamp": at(number), "type": kind, "content": content, **more}


GEMINI_CALL = {
    "id": "t1",
    "name": "run_shell_command",
    "args": {"command": "make lint"},
    "status": "success",
    "result": [{"functionResponse": {"response": {"output": "Output: bad\nExit Code: 3"}}}],
}


def test_a_gemini_chat_as_one_document(tmp_path: Path) -> None:
    chat = {
        "sessionId": "g-1",
        "projectHash": "00",
        "messages": [
            gemini_message(
                0, "user", [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}]
            ),
            gemini_message(1, "user", [{"text": "<hook_context>Always obey</hook_context>\n\nlint it"}]),
            gemini_message(2, "gemini", "I will.", toolCalls=[GEMINI_CALL]),
            gemini_message(3, "info", "Always obey the info"),
        ],
    }
    path = tmp_path / "tmp" / "app" / "chats" / "session-1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(chat))
    (path.parent.parent / ".project_root").write_text("/work/app\n")
    read = only(path)
    assert said(read) == [("user", "lint it"), ("assistant", "I will.")]
    (use,) = read.turns[1].tools
    assert (use.command, use.failed) == ("make lint", True)
    assert read.cwd == "/work/app"
    assert said(only(path, since=read.end)) == []  # as it was


def test_the_last_word_on_a_gemini_message_counts(tmp_path: Path) -> None:
    rows: Rows = [
        {"sessionId": "g-2", "projectHash": "00", "kind": "main"},
        {
            "$set": {
                "messages": [gemini_message(0, "user", [{"text": "<session_context>x</session_context>"}])]
            }
        },
        gemini_message(1, "user", [{"text": "hello"}]),
        gemini_message(2, "gemini", "I"),
        gemini_message(2, "gemini", "I am here."),
        {"$set": {"lastUpdated": at(3)}},
        {"sessionId": "g-2", "projectHash": "00", "kind": "main"},
        {
            "$set": {
                "messages": [gemini_message(0, "user", [{"text": "<session_context>x</session_context>"}])]
            }
        },
        gemini_message(4, "user", [{"text": "again"}]),
    ]
    path = write_rows(tmp_path / "chat.jsonl", rows)
    assert (detect_format(path).host, sessions(path)[0].session_id) == ("gemini", "g-2")
    assert said(only(path)) == [("user", "hello"), ("assistant", "I am here."), ("user", "again")]


def test_a_resumed_or_compressed_gemini_chat_keeps_what_was_said_and_no_summary(tmp_path: Path) -> None:
    context = gemini_message(0, "user", [{"text": "<session_context>x</session_context>"}])
    first = gemini_message(1, "user", [{"text": "<hook_context>&lt;b&gt;</hook_context>\n\nWe use tabs."}])
    answer = gemini_message(2, "gemini", "Noted.", toolCalls=[GEMINI_CALL])
    goes_on = gemini_message(
        4, "user", [{"text": "go on"}, {"text": "<hook_context>&lt;c&gt;</hook_context>"}]
    )
    summary = gemini_message(5, "user", [{"text": "<state_snapshot>They use spaces.</state_snapshot>"}])
    taken = gemini_message(6, "gemini", [{"text": "Got it. Thanks for the additional context!"}])
    rows: Rows = [
        {"sessionId": "g-3", "projectHash": "00", "kind": "main"},
        {"$set": {"messages": [context]}},
        first,
        answer,
        {"$set": {"messages": [context, {**answer, "timestamp": at(3)}]}},  # resumed: the prompt is left out
        goes_on,
        # Compressed: what is kept has other ids and times.
        {"$set": {"messages": [context, summary, taken, {**goes_on, "id": "m9", "timestamp": at(6)}]}},
        gemini_message(7, "gemini", "Done."),
    ]
    read = only(write_rows(tmp_path / "chat.jsonl", rows))
    assert said(read) == [
        ("user", "We use tabs."),
        ("assistant", "Noted."),
        ("user", "go on"),
        ("assistant", "Done."),
    ]
    assert read.turns[1].at_ms == only(write_rows(tmp_path / "first.jsonl", rows[:4])).turns[1].at_ms


def test_neither_files_behind_a_gemini_prompt_nor_hook_text_behind_an_output_are_read(tmp_path: Path) -> None:
    asked = "explain @a.py\n--- Content from referenced files ---\nNever round.\n--- End of content ---"
    output = (
        "Output: bad\nExit Code: 3\n\n<hook_context>&lt;tacit-memory&gt; Run make generate.</hook_context>"
    )
    call = {**GEMINI_CALL, "result": [{"functionResponse": {"response": {"output": output}}}]}
    rows: Rows = [
        {"sessionId": "g-4", "projectHash": "00", "kind": "main"},
        gemini_message(1, "user", [{"text": asked}]),
        gemini_message(2, "gemini", "", toolCalls=[call]),
    ]
    read = only(write_rows(tmp_path / "chat.jsonl", rows))
    assert said(read)[0] == ("user", "explain @a.py")
    (use,) = read.turns[1].tools
    assert use.error == "Exit code 3\nOutput: bad\nExit Code: 3"


# --- Copilot ---------------------------------------------------------------------------------------------------------


def event(second: int, kind: str, **data: object) -> dict[str, object]:
    return {"type": kind, "data": data, "id": f"e{second}", "timestamp": at(second), "parentId": None}


def test_copilots_events(tmp_path: Path) -> None:
    call = {"toolCallId": "t1", "name": "bash", "arguments": {"command": "npm test"}}
    rows: Rows = [
        event(0, "session.start", sessionId="cp-1", context={"cwd": "/work/app"}),
        event(
            1,
            "user.message",
            content="test it",
            transformedContent="test it <reminder>Always obey</reminder>",
        ),
        event(2, "user.message", content="Always obey", source="skill"),
        event(3, "assistant.message", content="Running.", toolRequests=[call]),
        event(
            4, "tool.execution_complete", toolCallId="t1", success=False, error={"message": "no such script"}
        ),
        event(5, "assistant.message", content="Always obey", parentToolCallId="t1"),
    ]
    path = write_rows(tmp_path / "events.jsonl", rows)
    read = only(path)
    assert said(read) == [("user", "test it"), ("assistant", "Running.")]
    assert read.turns[1].tools[0].error == "no such script"
    assert (read.session_id, read.cwd) == ("cp-1", "/work/app")


def copilot_turn() -> Rows:
    """A prompt, two calls of which the first fails, and the reply; the second call begins before the first one ends."""
    calls = [
        {"toolCallId": name, "name": "bash", "arguments": {"command": f"make {name}"}} for name in ("a", "b")
    ]
    return [
        event(0, "session.start", sessionId="cp-1", context={"cwd": "/work/app"}),
        event(1, "user.message", content="build it"),
        event(2, "assistant.message", content="Both.", toolRequests=calls),
        event(3, "tool.execution_complete", toolCallId="a", success=False, error={"message": "no rule"}),
        event(4, "tool.execution_complete", toolCallId="b", success=True, result={"content": "fine"}),
        event(5, "assistant.message", content="The first failed."),
    ]


@pytest.mark.parametrize("rows", [copilot_turn(), CODEX], ids=["copilot", "codex"])
def test_a_log_read_at_any_moment_and_again_later_keeps_every_result(tmp_path: Path, rows: Rows) -> None:
    path = write_rows(tmp_path / "events.jsonl", rows)
    at_once = [(use.call_id, use.failed, use.error) for turn in only(path).turns for use in turn.tools]
    prompts = {turn.key for turn in only(path).turns if turn.role == "user"}
    for cut in range(1, len(rows)):
        write_rows(path, rows[:cut])
        before = only(path).finished()
        write_rows(path, rows)
        turns = before.turns + only(path, since=before.end).turns
        assert [(use.call_id, use.failed, use.error) for turn in turns for use in turn.tools] == at_once, cut
        assert {turn.key for turn in turns if turn.role == "user"} == prompts, cut


@pytest.mark.parametrize(
    ("complete", "failed"),
    [
        ({"shellExecution": {"exitCode": 3}, "result": {"content": "boom"}}, True),
        ({"shellExecution": {"exitCode": 0}, "result": {"content": "fine"}}, False),
        ({"result": {"content": "boom\n<shellId: 0 completed with exit code 3>"}}, True),
        ({"result": {"content": "boom\n<exited with exit code 2>"}}, True),
        ({"result": {"content": "fine\n<shellId: 0 completed with exit code 0>"}}, False),
    ],
)
def test_copilots_exit_codes_and_what_hooks_added_to_a_result(
    tmp_path: Path, complete: dict[str, dict[str, object]], failed: bool
) -> None:
    call = {"toolCallId": "t1", "name": "bash", "arguments": {"command": "npm test"}}
    guidance = '\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\nAlways obey'
    told = {**complete, "result": {"content": f"{complete['result']['content']}{guidance}"}}
    rows: Rows = [
        event(0, "session.start", sessionId="cp-1", context={"cwd": "/work/app"}),
        event(1, "user.message", content="test it"),
        event(2, "assistant.message", content="", toolRequests=[call]),
        event(3, "tool.execution_complete", toolCallId="t1", success=True, **told),
    ]
    (tool,) = only(write_rows(tmp_path / "events.jsonl", rows)).turns[1].tools
    assert tool.failed == failed
    assert "obey" not in tool.error


def test_the_last_reply_of_copilot_is_that_of_the_main_agent(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert last_reply(path) == ""
    rows: Rows = [
        event(0, "assistant.message", content="first"),
        event(1, "assistant.message", content="last"),
        event(2, "assistant.message", content="of a subagent", parentToolCallId="t1"),
        {**event(3, "assistant.message", content="of another"), "agentId": "a1"},
        event(4, "hook.end", output={"said": '"assistant.message"'}),
    ]
    assert last_reply(write_rows(path, rows)) == "last"
    path.write_text('{"type":"assistant.message"\n\xff')
    assert last_reply(path) == ""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert last_reply(pipe) == ""


def test_cursors_wrappers_around_a_prompt_are_not_the_users_words(tmp_path: Path) -> None:
    text = "<timestamp>Monday</timestamp>\n<user_query>\nround the discount\n</user_query>"
    rows: Rows = [
        {"role": "user", "message": {"content": [{"type": "text", "text": text}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
    ]
    assert said(only(write_rows(tmp_path / "c.jsonl", rows))) == [
        ("user", "round the discount"),
        ("assistant", "Done."),
    ]


def test_long_white_space_after_an_open_wrapper_takes_no_time(tmp_path: Path) -> None:
    """20,000 spaces took hours when the pattern tried every split of them."""
    text = "<user_query>" + " " * 20_000 + "round the discount"
    rows: Rows = [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}]
    assert said(only(write_rows(tmp_path / "c.jsonl", rows)))[0][1].endswith("round the discount")


# --- lists of messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "document", "host"),
    [
        ("messages", [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}], "plain"),
        ("cursor", [{"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}], "cursor"),
        (
            "normal",
            {"session_id": "n1", "turns": [{"i": 0, "role": "user", "text": "hi", "name": "dev"}]},
            "plain",
        ),
        (
            "opencode export",
            {
                "info": {"id": "ses_1", "directory": "/work/app"},
                "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}],
            },
            "opencode",
        ),
        (
            "opencode api",
            [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}],
            "opencode",
        ),
    ],
)
def test_conversations_in_json(tmp_path: Path, name: str, document: object, host: str) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_text(json.dumps(document))
    (session,) = sessions(path)
    assert said(session.transcript)[0] == ("user", "hi")
    assert session.host == host


def test_many_conversations_one_a_line(tmp_path: Path) -> None:
    turns = [{"role": "user", "text": "hi", "meta": "some-model-with-a-long-name 2026-01-16T16:48:43.847Z"}]
    rows: Rows = [{"session_id": f"s{n}", "turns": turns} for n in range(3)]
    path = write_rows(tmp_path / "all.jsonl", rows)
    found = sessions(path)
    assert [session.session_id for session in found] == ["s0", "s1", "s2"]
    assert found[0].transcript.turns[0].at_ms == 1768582123847


# --- Claude Code beyond its plain lines ------------------------------------------------------------------------------------


def claude(kind: str, second: int = 0, **fields: object) -> dict[str, object]:
    return {"type": kind, "sessionId": "cc-1", "cwd": "/work/app", "timestamp": at(second), **fields}


def test_what_was_typed_while_claude_worked(tmp_path: Path) -> None:
    def queued(prompt: str, **more: object) -> dict[str, object]:
        attachment = {"type": "queued_command", "commandMode": "prompt", "prompt": prompt, **more}
        return claude("attachment", attachment=attachment)

    rows = [
        queued("stop using npm", origin={"kind": "human"}),
        queued("Always obey", origin={"kind": "peer"}),
        queued("Always obey", isMeta=True),
        queued("<task-notification>x</task-notification>", commandMode="task-notification"),
    ]
    assert said(only(write_rows(tmp_path / "a.jsonl", rows))) == [("user", "stop using npm")]


def test_answers_tasks_and_commits(tmp_path: Path) -> None:
    def call(number: int, name: str, **given: object) -> dict[str, object]:
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        return claude("assistant", number, message={"role": "assistant", "content": [block]})

    def answer(number: int, text: str) -> dict[str, object]:
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        return claude("user", number, message={"role": "user", "content": [block]})

    rows = [
        call(1, "TaskCreate", subject="Write tests", description="..."),
        answer(1, "Task #7 created successfully: Write tests"),
        call(2, "TaskUpdate", taskId="7", status="completed"),
        answer(2, "Updated task #7 status"),
        call(3, "Bash", command='git commit -m "feat: tests"'),
        answer(3, "[main 1a2b3c4] feat: tests\n 1 file changed"),
        call(4, "AskUserQuestion", questions=[]),
        answer(
            4,
            'User has answered your questions: "Which?"="Only SQLite, never Postgres". You can now continue',
        ),
    ]
    read = only(write_rows(tmp_path / "a.jsonl", rows))
    create, update, commit, _ = read.turns[0].tools
    assert (create.tasks, update.tasks) == ((("7", "Write tests", "pending"),), (("7", "", "completed"),))
    assert commit.commit == "1a2b3c4 feat: tests"
    assert said(read)[1] == ("user", "Only SQLite, never Postgres")


def test_a_plan_handed_back_is_the_agents_but_for_the_order(tmp_path: Path) -> None:
    plan = "Implement the following plan:\n\n# Add a cache\n\n- Always write through"
    rows = [claude("user", message={"role": "user", "content": plan})]
    assert said(only(write_rows(tmp_path / "a.jsonl", rows))) == [
        ("user", "Implement the following plan: Add a cache")
    ]


# --- nothing to read, and nothing that can be read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A page\n\nAbout nothing.\n",
        '{"name": "a package"}',
        "[1, 2, 3]",
        '{"event": "request"}\n{"event": "x"}\n',
    ],
)
def test_a_file_without_a_conversation_is_no_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    assert sessions(path) == []
    assert detect_format(path).reason


@pytest.mark.parametrize("raw", [b"\x00\x01\x02binary", b'{"role": "user", "content": "cut of', b"[{"])
def test_what_is_broken_is_named(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(raw)
    with pytest.raises(InvalidPayload, match=r"broken\.json"):
        sessions(path)


def test_another_database_is_none_of_opencodes(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE x (y INT)")
    db.commit()
    db.close()
    with pytest.raises(HostError):
        sessions(path)


def test_prompts_without_a_time_are_told_apart_by_what_came_before(tmp_path: Path) -> None:
    def talk(name: str, *texts: str) -> list[str]:
        path = tmp_path / name
        path.write_text(json.dumps([{"role": "user", "content": text} for text in texts]))
        return [turn.key for turn in only(path).turns]

    one, other = talk("a.json", "hi", "use tabs", "go"), talk("b.json", "hi", "use spaces", "go")
    assert one[0] == other[0]
    assert not set(one[1:]) & set(other[1:])
    assert talk("c.json", "hi", "use tabs", "go", "more")[:3] == one
