"""What agents noted since the last start is shown to the person, in one line beside the block."""

from __future__ import annotations

import json

NOTE = "Trucks are loaded from the left side."


def start(desk, session, **how):
    event = {
        "hook_event_name": "SessionStart", "session_id": session, "source": "startup", "cwd": str(desk.folder),
        "transcript_path": "",
    }  # fmt: skip
    answer = desk.engine.hook("claude-code", event, deadline_ms=5000, **how)
    desk.engine.flush()
    return json.loads(answer or "{}")


def line(desk, session, **how):
    return start(desk, session, **how).get("systemMessage", "")


def test_the_next_start_says_once_what_was_noted_and_how_to_take_it_back(desk):
    assert "noted" not in line(desk, "s1")
    desk.say("hello there")
    desk.ask("memory_add", content=NOTE)
    desk.ask("memory_add", content="Trucks are washed on Mondays with soap.")
    said = line(desk, "s2")
    assert said.startswith("Tacit noted 2 things since last time: ")
    assert f'"{NOTE}"' in said
    assert "(tacit undo --session claude-code/s1)" in said
    assert line(desk, "s3") == ""


def test_the_bytes_of_the_block_do_not_change_by_it(desk):
    start(desk, "s0")
    desk.say("hello there")
    desk.ask("memory_add", content=NOTE)
    told, silent = start(desk, "s2"), start(desk, "s3")
    assert "noted 1 thing since" in told.pop("systemMessage")
    assert told == silent


def test_what_waits_is_said_and_what_is_gone_is_not(desk):
    start(desk, "s1")
    desk.say("hello there")
    desk.ask("memory_add", content="Trucks are tracked by heron.internal/api.")
    assert "1 waits for you: tacit review" in line(desk, "s2")
    desk.ask("memory_add", content="Trucks are green.")
    (memory,) = (m for m in desk.engine.agents.listing(desk.caller).memories if "green" in m.content)
    desk.engine.memories.retire(desk.engine.show(memory.id))
    assert line(desk, "s3") == ""


def test_a_start_whose_answer_nobody_waited_for_does_not_use_the_line_up(desk):
    start(desk, "s1")
    desk.say("hello there")
    desk.ask("memory_add", content=NOTE)
    start(desk, "s2", start_given=True)
    assert NOTE in line(desk, "s3")
