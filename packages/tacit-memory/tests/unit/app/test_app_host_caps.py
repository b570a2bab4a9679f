"""A host that counts bytes gets whole memories, as many as it keeps, and the record names those alone."""

from __future__ import annotations

import json

import pytest

from tacit.hosts.codex import CAP_BYTES


@pytest.mark.parametrize(("host", "all_of_them"), [("codex", False), ("claude-code", True)])
def test_letters_of_several_bytes_cost_memories_and_never_the_block(make_engine, place, host, *, all_of_them):
    recall = {"budgets": {"start": 6000}}
    statements = [
        f"{number}番の規則: " + "請求書の合計は整数のセントで保存する。" * 8 for number in range(30)
    ]
    engine = make_engine(recall=recall)
    for statement in statements:
        engine.remember(statement, kind="preference", cwd=str(place), when="always")
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(place), "source": "startup"}
    reply = engine.hook(host, start, deadline_ms=60_000)
    block = json.loads(reply)["hookSpecificOutput"]["additionalContext"]
    shown = [number for number in range(30) if f"{number}番の規則" in block]
    assert shown
    assert (len(block.encode()) > CAP_BYTES) is all_of_them
    assert block.endswith("</tacit-memory>")
