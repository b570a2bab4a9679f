"""Sync of the branch that a memory is bound to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from samples import memory
from tacit.model.changes import Add, Rewrite
from tacit.model.memory import LearnedOn
from tacit.sync.keys import AccountKey
from tacit.sync.replicating import Head, merge_heads, state_digest
from unit.sync.devices import Device, Logs

MARK = LearnedOn(name="topic", commit="a" * 40, replaces=("mem_b",))
BASE = memory("We use Redis.", kind="decision", branch=MARK)


def merged(*changed: object):
    heads = [
        Head(entry=f"e{number}", memory=replace(BASE, **fields)) for number, fields in enumerate(changed)
    ]
    forward = merge_heads(heads, base=Head(entry="b", memory=BASE)).memory
    assert merge_heads(heads[::-1], base=Head(entry="b", memory=BASE)).memory == forward
    return forward


def test_what_one_device_lets_hold_everywhere_does_so():
    assert merged({"branch": None}, {"pinned": True}).branch is None


def test_what_the_branch_replaces_is_united_and_it_is_gone_only_where_no_device_has_it():
    further = replace(MARK, replaces=("mem_a",), gone=True)
    result = merged({"branch": further, "status": "quarantined"}, {"pinned": True})
    assert result.branch == LearnedOn(name="topic", commit="a" * 40, replaces=("mem_a", "mem_b"), gone=False)
    assert result.status == "active"
    assert merged({"branch": further}, {"branch": further, "pinned": True}).branch == further


def test_a_renamed_branch_has_its_new_name():
    assert merged({"branch": replace(MARK, name="new")}, {"pinned": True}).branch_name == "new"


def test_the_mark_is_part_of_the_state():
    assert state_digest(BASE, ()) != state_digest(replace(BASE, branch=None), ())


def test_another_device_gets_the_mark_and_that_it_was_lifted(tmp_path: Path):
    account, logs = AccountKey.new(), Logs()
    laptop, desktop = (Device(tmp_path, name, account) for name in ("laptop", "desktop"))

    def on_desktop():
        for device in (laptop, desktop):
            device.sync(logs)
        (stored,) = desktop.store.get([BASE.id], scope=desktop.store.scopes())
        return stored.branch

    laptop.store.apply([Add(memory=BASE)])
    assert on_desktop() == MARK
    laptop.store.apply([Rewrite(memory=replace(BASE, branch=None))])
    assert on_desktop() is None
