"""Replies, subagents, keys and replays of the OpenCode adapter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.errors import InvalidPayload
from tacit.hosts.opencode import OpenCode
from tacit.hosts.payload import MAX_REPLAY
from tacit.model.pack import Block, Surface
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionStarted,
    SubagentStarted,
    ToolFailed,
    ToolFinished,
)

HOST = OpenCode()
AT = 1_795_169_545_696
BASE: dict[str, Any] = {"sessionID": "ses_1", "directory": "/w/app", "agent": "build"}


def parse(at_ms: int = AT, **fields: Any) -> Any:
    return HOST.parse({**BASE, **fields}, at_ms=at_ms)


def test_a_block_for_every_call_says_so() -> None:
    block = Block(surface=Surface.PROMPT, text="[MEMORY]", placement="system")
    expected = {"system": "[MEMORY]", "mode": "system_every_call"}
    assert json.loads(HOST.encode({**BASE, "event": "prompt"}, block)) == expected


def test_a_child_session_is_a_subagent_and_its_prompts_are_machine_made() -> None:
    started = parse(event="subagent", parentID="ses_0", text="look", agent="explore")
    assert isinstance(started, SubagentStarted)
    assert (started.agent_type, started.task, str(started.parent)) == ("explore", "look", "opencode/ses_0")
    assert isinstance(parse(event="session.start", parentID="ses_0"), SubagentStarted)
    again = parse(event="prompt", parentID="ses_0", text="always do x", messageID="m")
    assert isinstance(again, PromptSubmitted)
    assert again.machine


def test_exit_codes_decide_between_finished_and_failed() -> None:
    call = {"tool": "bash", "callID": "c", "args": {"command": "make"}, "output": "out"}
    assert isinstance(parse(event="tool.after", **call), ToolFinished)
    assert isinstance(parse(event="tool.after", exit=0, **call), ToolFinished)
    failed = parse(event="tool.after", exit=3, **call)
    assert isinstance(failed, ToolFailed)
    assert failed.error == "Exit code 3\nout"
    with pytest.raises(InvalidPayload, match="'exit'"):
        parse(event="tool.after", exit="3", **call)


def test_a_session_starts_once_resumes_once_per_plugin_and_compacts_once_per_event() -> None:
    assert parse(event="session.start").key == parse(AT + 99_999, event="session.start").key
    one, two = (parse(event="session.start", source="resume", id=name) for name in ("plg_1", "plg_2"))
    assert one.key != two.key
    compacted = parse(event="compacted", id="evt_1")
    assert isinstance(compacted, SessionStarted)
    assert compacted.source == "compact"
    assert compacted.key == parse(AT + 99_999, event="compacted", id="evt_1").key
    assert compacted.key != parse(event="compacted", id="evt_2").key


def test_the_end_of_a_message_is_not_wiped_out_by_an_idle_without_words() -> None:
    assert parse(event="idle") is None
    assert parse(event="idle", text="Shall I?") == MessageEnded(
        session=parse(event="session.start").session, key=parse(event="idle", text="Shall I?").key, at_ms=AT,
        cwd="/w/app", agent="build", text="Shall I?", final=True,
    )  # fmt: skip


def test_replay_names_what_is_wanted_and_answers_what_is_known() -> None:
    request = HOST.parse_replay({**BASE, "event": "replay", "messageIDs": ["a", 4, "b"]})
    assert request is not None
    assert request.message_ids == ("a", "b")
    assert json.loads(HOST.encode_replay({"a": "x", "b": ""})) == {"texts": {"a": "x"}}
    assert HOST.encode_replay({"a": ""}) == ""
    assert HOST.parse_replay({**BASE, "event": "prompt", "text": "x"}) is None
    many = HOST.parse_replay({**BASE, "event": "replay", "messageIDs": [f"m{n}" for n in range(1000)]})
    assert many is not None
    assert len(many.message_ids) == MAX_REPLAY
    assert many.message_ids[-1] == "m999"
