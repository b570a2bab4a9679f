"""`tacit sessions --write-up`: what would be sent, and what a comparison brought in one line."""

from __future__ import annotations

import json

from tacit.cli.maintenance.learn import line_of

CARTS = "The orders service keeps its carts in Redis."
MOVED = "Carts of the orders service are in Kafka."


def memory(name, *, by=None):
    return {"id": name, "validity": {"superseded_by": by}}


def test_a_merge_of_two_stored_statements_is_counted_once():
    changes = [
        {"change": "merge", "memory": memory("a")},
        {"change": "edit", "memory": memory("b", by="a")},
        {"change": "edit", "memory": memory("c", by="d")},
        {"change": "edit", "memory": memory("e")},
    ]
    said = line_of({"session": "2 new statements", "error": "", "changes": changes, "waiting": 0})
    assert "0 memories learned, 1 known already, 2 replaced or in question" in said


def test_a_dry_run_lists_every_comparison(tacit):
    assert tacit("config", "set", "capture.extractor.provider", "fake").code == 0
    tacit.daemon.stop()
    tacit.daemon.ensure_running()
    assert tacit.daemon.engine.learning.write_up_next(at_once=True) is None  # from here on statements wait
    for name in ("red", "blue"):
        folder = tacit.project.parent / name
        (folder / ".git" / "objects").mkdir(parents=True)
        for content in (CARTS, MOVED):
            tacit.daemon.engine.remember(f"{content} That is so in {name}.", kind="fact", cwd=str(folder))
    requests = json.loads(tacit("sessions", "--write-up", "--dry-run", "--json").out)["requests"]
    assert len(requests) == 2
    assert all(name in one["user"] for name, one in zip(("red", "blue"), requests, strict=True))
    assert (
        json.loads(tacit("sessions", "--write-up", "--past", "--dry-run", "--json").out)["requests"]
        == requests
    )
