"""An export of an unreleased version, commit 5f6f7836, is imported whole: the one way by which its memories come into this version.

tests/homes/export_5f6f7836.jsonl was written by `tacit export` of that commit. It holds memories of 17 kinds, six of them in several
versions, with relations, uses, a branch, a headline and a restricted memory; some are replaced, forgotten, or wait for the user.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXPORT = Path(__file__).parents[5] / "tests/homes" / "export_5f6f7836.jsonl"
RECORDS = [json.loads(line) for line in EXPORT.read_text("utf-8").splitlines()]
STORED = {record["memory"]: record for record in RECORDS if "memory" in record}
NEWEST = [record["versions"][-1]["body"] for record in STORED.values()]
KINDS = "kinds:\n  runbook:\n    label: Runbook\n    prefix: RUN\n    standing: true\n"


def unsigned(lines: list[str]) -> list[dict[str, object]]:
    """The records of an export without its first line and without signatures: each home signs with a key of its own."""
    records = [json.loads(line) for line in lines]
    return sorted(
        ({name: part for name, part in record.items() if name != "sig"} for record in records[1:]),
        key=json.dumps,
    )


@pytest.fixture
def imported(tacit):
    home = tacit.place.home
    home.ensure()
    (home.root / "config.yaml").write_text(f"embedder:\n  provider: fake\n{KINDS}", "utf-8")
    reply = tacit("import", "--mine", EXPORT, "--json")
    assert reply.code == 0, reply.err
    (report,) = reply.json["imports"]
    assert report["counts"] == {"add": len(STORED)}
    return tacit


def test_the_export_holds_what_it_is_kept_for():
    assert len({body["kind"] for body in NEWEST}) == 17
    statuses = {body["status"] for body in NEWEST}
    assert statuses == {"active", "quarantined", "superseded", "retired"}
    assert {record["relation"]["type"] for record in RECORDS if "relation" in record} == {
        "caused_by", "contradicts", "part_of", "related_to", "updates",
    }  # fmt: skip
    assert max(len(record["versions"]) for record in STORED.values()) == 3
    assert sum(record["uses"] for record in STORED.values()) == 2
    assert any(body["branch"] for body in NEWEST)
    assert any(body["headline"] for body in NEWEST)
    assert len({body["sensitivity"] for body in NEWEST}) == 2


def test_an_export_of_the_new_home_holds_the_same(imported, tmp_path):
    again = tmp_path / "again.jsonl"
    assert imported("export", "--output", again).code == 0
    assert unsigned(again.read_text("utf-8").splitlines()) == unsigned(EXPORT.read_text("utf-8").splitlines())


def test_a_second_import_adds_nothing(imported):
    (report,) = imported("import", "--mine", EXPORT, "--json").json["imports"]
    assert report["counts"] == {"unchanged": len(STORED)}


def test_the_memories_are_listed_searched_and_recalled(imported):
    listed = imported("list", "--all", "--status", "all", "--limit", "100", "--json")
    found = {memory["id"]: memory for memory in listed.json["memories"]}
    assert {name: memory["content"] for name, memory in found.items()} == {
        body["id"]: body["content"] for body in NEWEST
    }
    engine = imported.daemon.engine
    assert engine.store.check() == ()
    assert engine.status().store.vectors_missing == 0
    port = "The orders service listens on port 9000."
    (memory,) = [each for each in found.values() if each["content"] == port]
    assert len(engine.store.history(engine.show(memory["id"]).id, scope=engine.store.scopes())) == len(
        STORED[memory["id"]]["versions"]
    )
