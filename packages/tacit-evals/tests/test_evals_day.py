"""The days of notes by rhythm: what a recorded answer holds for, what ids become of it, and what counts as kept, one-off and reminded."""

from __future__ import annotations

import json

from tacit.app.delivery_texts import NUDGE
from tacit_evals.day import (
    Day,
    MemoryCall,
    ReaderRequest,
    RecordedAnswers,
    anonymous,
    figures,
    judge_in,
    judge_out,
)

PORT = {"id": "mem_1m8hwyfgdbtcz26b", "content": "Dev runs on port 5001."}
SAME_ELSEWHERE = {"id": "mem_1m8hzzzz0000q7wx", "content": "Dev runs on port 5001."}


def request(key: str = "k", number: int = 0, turn: int = 0) -> ReaderRequest:
    return ReaderRequest(place=("A", "A1", number, turn), text="what is shown", key=key)


def test_ids_their_endings_and_numbers_of_changes_are_replaced_by_what_is_the_same_in_every_run() -> None:
    shown = 'Stored as mem_1m8hwyfgdbtcz26b (id z26b); "undo":"chg_1m8hwyfh9g0cmbyz"; port 5001'
    assert anonymous(shown, [PORT]) == (
        'Stored as <Dev runs on port 5001.> (id <Dev runs on port 5001.>); "undo":"ID"; port 5001'
    )


def test_a_recorded_call_names_the_memory_of_this_run() -> None:
    arguments = {"content": "z26b is no id", "replaces": ["<Dev runs on port 5001.>"]}
    asked = request()
    row = {
        "place": list(asked.place),
        "key": asked.key,
        "say": "",
        "calls": [{"tool": "memory_add", "arguments": arguments}],
    }
    again = RecordedAnswers([row]).answer(request(), [SAME_ELSEWHERE])
    assert again["calls"][0]["arguments"] == {"content": "z26b is no id", "replaces": [SAME_ELSEWHERE["id"]]}


def test_an_answer_for_another_surrounding_is_counted_apart_and_a_missing_prompt_is_told() -> None:
    recorded = RecordedAnswers([{"place": ["A", "A1", 0, 0], "key": "k", "calls": [], "say": "Done."}])
    for asked in (request(), request("other"), request(turn=1), request(number=1)):
        recorded.answer(asked, [])
    assert (recorded.exact, recorded.near, recorded.missing) == (1, 1, [("A", "A1", 1, 0)])


def memory(name: str, content: str, *, status: str = "active", tier: str = "agent"):
    return {"id": name, "content": content, "status": status, "provenance": {"tier": tier}}


LASTING = [
    {"lasting": "Port 5001.", "ended": True},
    {"lasting": "Port 5050.", "ended": False},
    {"lasting": "No mocks.", "ended": False},
    {"lasting": "UTC.", "ended": False},
]


def day() -> Day:
    done = Day(name="A", rows=[{"session": "A1", "project": "p", "prompt": "hi"}], product=None)
    done.carried = ["", f"<tacit-memory>\n{NUDGE}\n</tacit-memory>", "", "", ""]
    done.calls = [
        MemoryCall(session="A1", tool="memory_add", answer="Stored.", changed=("m1",)),
        MemoryCall(session="A1", tool="memory_add", answer="Stored.", changed=("m2",)),
        MemoryCall(session="A1", tool="memory_search", answer="Found.", changed=()),
    ]
    return done


MEMORIES = [
    memory("m1", "The port is 5001.", status="superseded"),
    memory("m2", "The port is 5050."),
    memory("m3", "Never any mocks.", tier="user"),
    memory("m4", "Times are in UTC.", status="quarantined"),
    memory("m5", "Skip the tests now."),
]


def test_a_lasting_thing_is_kept_by_an_active_statement_that_holds_it_whole(tmp_path) -> None:
    judge_out(tmp_path, day(), MEMORIES, LASTING)
    asked = json.loads((tmp_path / "A.json").read_text("utf-8"))
    number = {content: int(name) for name, content in asked["memories"].items()}
    holds = {
        "1": {"whole": [number["The port is 5001."]]},
        "2": {"whole": [number["The port is 5050."]], "partly": [number["The port is 5001."]]},
        "3": {"whole": [number["Never any mocks."]]},
        "4": {"whole": [number["Times are in UTC."]]},
    }
    told = {"holds": holds, "one_off": [number["Skip the tests now."]]}
    (tmp_path / "A.labels.json").write_text(json.dumps(told), "utf-8")
    labels = judge_in(tmp_path, {})
    found = figures(day(), [*MEMORIES, memory("m6", "New.")], LASTING, labels["A"])
    assert (found.lasting, found.kept, found.by_agent, found.by_rules, found.as_user) == (3, 2, 1, 1, 1)
    assert (found.ended, found.ended_active) == (1, 0)
    assert (found.notes, found.notes_one_off) == (2, 0)
    assert (found.rules, found.rules_one_off) == (3, 1)  # what waits for the user is none of them
    assert (found.prompts, found.reminders, found.unjudged) == (5, 1, 1)
    assert found.reminder > 0
    assert found.prompt > 0
    assert found.tokens == found.start + found.prompt + found.reminder + found.add + found.other
