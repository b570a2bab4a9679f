"""What devices make of one another's logs, over stores in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from samples import memory_named
from tacit.errors import InvalidInput, LogForked, SyncError
from tacit.model.changes import Add, Merge, Removal, Retire, Rewrite, Supersede
from tacit.model.memory import Memory, Relation, Sensitivity
from tacit.model.scope import project_scope
from tacit.sync.entry import StateBody, append_entry, open_entry, why_invalid
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.replica import Replica
from tacit.sync.replicating import VECTORS_DUE
from unit.sync.devices import NOW, Device, Logs, settle

ALPHA = project_scope("alpha")


def memory(name: str, content: str, **fields: object) -> Memory:
    return memory_named(name, content, scope=ALPHA, at_ms=NOW, **fields)


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Device, Device]:
    account = AccountKey.new()
    return Device(tmp_path, "a", account), Device(tmp_path, "b", account)


def stored(device: Device, memory_id: str) -> Memory:
    (found,) = device.store.get([memory_id], scope=device.store.scopes())
    return found


def test_what_one_device_learns_the_other_knows(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    settle(logs, [a, b])
    assert b.contents() == ["Tabs, not spaces."]
    assert a.state() == b.state()
    assert sum(map(len, logs.entries.values())) == 1, "what was taken over is no news"


def test_every_change_travels(pair, logs):
    a, b = pair
    first = memory("mem_1", "Tabs, not spaces.")
    a.store.apply([Add(memory=first)])
    settle(logs, [a, b])
    b.store.apply([Merge(memory=replace(first, frequency=2))])
    settle(logs, [a, b])
    assert stored(a, "mem_1").frequency == 2
    second = memory("mem_2", "Spaces, not tabs.")
    a.store.apply([Supersede(memory=second, old_id="mem_1", at_ms=NOW + 5)])
    settle(logs, [a, b])
    assert stored(b, "mem_1").status == "superseded"
    assert stored(b, "mem_1").validity.superseded_by == "mem_2"
    b.store.apply([Retire(memory_id="mem_2", at_ms=NOW + 9)])
    b.store.relate([Relation(source_id="mem_2", target_id="mem_1", type="related_to", weight=0.5)])
    settle(logs, [a, b])
    assert stored(a, "mem_2").status == "retired"
    assert a.state() == b.state()


def test_counts_of_use_stay_at_home(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    settle(logs, [a, b])
    a.store.count_usage(shown=["mem_1"], used=["mem_1"])
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), pinned=True))])
    settle(logs, [a, b])
    assert (stored(a, "mem_1").use_count, stored(b, "mem_1").use_count) == (1, 0)
    assert stored(a, "mem_1").pinned


def test_of_two_wordings_neither_is_lost(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Deploy on Mondays."))])
    settle(logs, [a, b])
    a.store.apply([Rewrite(memory=replace(stored(a, "mem_1"), content="Deploy on Tuesdays."))])
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), content="Deploy on Fridays."))])
    settle(logs, [a, b])
    assert a.contents() == b.contents() == ["Deploy on Fridays.", "Deploy on Tuesdays."]
    assert a.state() == b.state()
    (relation,) = a.store.relations(["mem_1"], scope=a.store.scopes())
    assert relation.type == "contradicts"


def test_changes_of_different_fields_are_no_conflict(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Deploy on Mondays.", kind="fact"))])
    settle(logs, [a, b])
    old = stored(a, "mem_1")
    a.store.apply([Rewrite(memory=replace(old, content="Deploy on Tuesdays.", frequency=2))])
    b.store.apply([Rewrite(memory=replace(old, pinned=True, kind="decision", frequency=3))])
    settle(logs, [a, b])
    for device in (a, b):
        merged = stored(device, "mem_1")
        assert device.contents() == ["Deploy on Tuesdays."]
        assert (merged.pinned, merged.kind, merged.frequency) == (True, "decision", 4)
    assert a.state() == b.state()


def relation(source: str, target: str) -> Relation:
    return Relation(source_id=source, target_id=target, type="related_to", weight=0.5)


def related(device: Device) -> list[tuple[str, str]]:
    return [(source, target) for source, target, _ in device.state()["relations"]]  # type: ignore[attr-defined]


def test_a_relation_that_was_taken_away_stays_away(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory(f"mem_{n}", f"Statement {n}.")) for n in (1, 2, 3)])
    a.store.relate([relation("mem_1", "mem_2")])
    settle(logs, [a, b])
    a.store.unrelate([relation("mem_1", "mem_2")])
    b.store.relate([relation("mem_1", "mem_3")])  # not knowing of it
    settle(logs, [a, b])
    assert related(a) == related(b) == [("mem_1", "mem_3")]


def test_a_relation_waits_for_its_target(pair, logs, monkeypatch):
    monkeypatch.setattr("tacit.sync.replicating.BATCH", 1)
    a, b = pair
    a.store.apply([Add(memory=memory(f"mem_{n}", f"Statement {n}.")) for n in (1, 2, 3)])
    a.store.relate([relation("mem_1", "mem_3"), relation("mem_3", "mem_2")])
    settle(logs, [a, b])
    assert related(b) == related(a) == [("mem_1", "mem_3"), ("mem_3", "mem_2")]
    assert sum(map(len, logs.entries.values())) == 3, "what was taken over is no news"


def test_a_change_of_a_memory_keeps_the_relations_that_wait(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "One.")), Add(memory=memory("mem_2", "Two."))])
    a.store.relate([relation("mem_1", "mem_2")])
    a.sync(logs)
    held = logs.entries[a.key.device]
    first = [e for e in held if e.subject == a.account.subject("mem_1")]
    assert first == held[:1], "the target comes later"
    b.replica.add(first)
    b.replicating.carry()
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), pinned=True))])
    settle(logs, [b, a])
    assert related(a) == related(b) == [("mem_1", "mem_2")]
    assert stored(a, "mem_1").pinned


def test_a_purge_takes_the_other_wording_along_that_came_of_the_same_words(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is a bank."))])
    settle(logs, [a, b])
    a.store.apply([Rewrite(memory=replace(stored(a, "mem_1"), content="The client is called Wintergreen."))])
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), content="The client is an insurance."))])
    a.sync(logs)
    b.sync(logs)  # makes a memory of its own of one of the wordings
    a.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    settle(logs, [a, b])
    assert not any("Wintergreen" in content for content in (*a.contents(), *b.contents()))
    assert a.state() == b.state()


def test_a_memory_purged_before_the_logs_were_known_does_not_come_back(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])
    b.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])  # by an import
    b.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    b.sync(logs)
    a.sync(logs)
    settle(logs, [a, b])
    assert a.contents() == b.contents() == []


def test_a_body_that_comes_after_its_purge_is_removed(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])
    settle(logs, [a, b])
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), pinned=True))])
    b.sync(logs)
    late = logs.entries.pop(b.key.device)
    a.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    a.sync(logs)
    a.replica.add(late)
    a.replicating.carry()
    assert not any(entry.sealed for entry in a.replica.entries(b.key.device, after=0, limit=9))


def test_an_entry_that_nobody_can_read_is_passed_over(pair, logs):
    a, b = pair
    stranger = Device(Path(a.folder), "c", AccountKey.new())
    stranger.store.apply([Add(memory=memory("mem_9", "Of another account."))])
    stranger.sync(logs)
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    settle(logs, [a, b])
    assert b.contents() == ["Tabs, not spaces."]


def test_a_purge_removes_the_words_everywhere_and_nothing_brings_them_back(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])
    settle(logs, [a, b])
    a.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), pinned=True))])  # not knowing of it
    settle(logs, [a, b])
    assert a.contents() == b.contents() == []
    for device in (a, b):
        left = [e for log in device.replica.heads() for e in device.replica.entries(log, after=0, limit=99)]
        assert {entry.kind for entry in left if entry.sealed} == {"purge"}
    assert a.state() == b.state()


def test_a_purge_that_was_killed_after_it_was_noted_ends_on_every_device(pair, logs, monkeypatch):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])
    settle(logs, [a, b])
    monkeypatch.setattr(a.store, "purged_memories", lambda: frozenset({"mem_1"}))  # noted, but still stored
    settle(logs, [a, b])
    assert a.contents() == b.contents() == []
    assert a.state() == b.state()


def test_a_new_device_that_was_killed_in_the_middle_goes_on_and_loses_nothing(pair, logs, monkeypatch):
    a, b = pair
    a.store.apply([Add(memory=memory(f"mem_{number:03}", f"Statement {number}.")) for number in range(350)])
    a.sync(logs)
    write, written = b.store.apply, []

    def killed(changes, **more):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(len(changes))
        return write(changes, **more)

    monkeypatch.setattr(b.store, "apply", killed)
    with pytest.raises(KeyboardInterrupt):
        b.sync(logs)
    monkeypatch.undo()
    assert written == [100, 100]
    assert b.replica.fact(VECTORS_DUE)  # noted before the first memory was written
    b.renew(b.key)
    settle(logs, [a, b])
    assert a.state() == b.state()
    assert sum(map(len, logs.entries.values())) == 350


def test_what_may_not_leave_does_not_leave(pair, logs):
    a, b = pair
    a.store.apply(
        [
            Add(memory=memory("mem_1", "Only here.", sensitivity=Sensitivity.RESTRICTED)),
            Add(memory=memory("mem_2", "Shared first.")),
        ]
    )
    settle(logs, [a, b])
    assert b.contents() == ["Shared first."]
    a.store.apply([Rewrite(memory=replace(stored(a, "mem_2"), sensitivity=Sensitivity.RESTRICTED))])
    settle(logs, [a, b])
    assert b.contents() == []
    assert a.contents() == ["Only here.", "Shared first."]


def test_the_server_sees_no_word(pair, logs):
    a, _ = pair
    a.store.apply([Add(memory=memory("mem_1", "The client is called Wintergreen."))])
    a.sync(logs)
    (log,) = logs.entries.values()
    raw = repr(log).encode()
    assert b"Wintergreen" not in raw
    assert b"mem_1" not in raw
    with pytest.raises(SyncError):
        open_entry(log[0], AccountKey.new())


def test_a_clock_years_off_decides_nothing(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Deploy on Mondays."))])
    settle(logs, [a, b])
    b.clock.advance(10 * 365 * 86_400_000)
    b.store.apply([Rewrite(memory=replace(stored(b, "mem_1"), pinned=True, updated_at_ms=b.clock.now_ms()))])
    a.store.apply([Retire(memory_id="mem_1", at_ms=NOW + 2)])
    settle(logs, [a, b])
    assert stored(b, "mem_1").status == "retired"
    assert a.state() == b.state()


def test_a_copied_home_gets_a_log_of_its_own(tmp_path, pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    settle(logs, [a, b])
    copy = Device(tmp_path, "copy", a.account)
    copy.renew(a.key)  # the same key, the same entries, the same memories
    copy.replica.add(a.replica.entries(a.key.device, after=0, limit=99))
    copy.replicating.carry()
    copy.store.apply([Add(memory=memory("mem_2", "Learned by the copy."))])
    a.store.apply([Add(memory=memory("mem_3", "Learned by the original."))])
    settle(logs, [a, b])
    copy.replicating.record()
    with pytest.raises(LogForked):
        copy.replica.add(logs.entries[a.key.device])
    copy.replica.drop_after(a.key.device, 1)
    copy.renew(DeviceKey.new())
    settle(logs, [a, b, copy])
    assert a.contents() == ["Learned by the copy.", "Learned by the original.", "Tabs, not spaces."]
    assert a.state() == b.state() == copy.state()


def test_an_older_store_is_brought_up_to_date_and_is_no_news(tmp_path, pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Deploy on Mondays."))])
    settle(logs, [a, b])
    old = stored(a, "mem_1")
    a.store.apply([Rewrite(memory=replace(old, content="Deploy on Tuesdays."))])
    a.store.apply([Add(memory=memory("mem_2", "Learned since."))])
    settle(logs, [a, b])
    restored = Device(tmp_path, "restored", a.account)
    restored.store.apply([Add(memory=old)])
    restored.replica.close()
    restored.replica = a.replica
    restored.renew(a.key)
    settle(logs, [restored, b])
    assert restored.contents() == b.contents() == ["Deploy on Tuesdays.", "Learned since."]


def test_a_change_in_an_older_store_goes_back_to_what_it_was_made_from(tmp_path, pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Deploy on Mondays."))])
    settle(logs, [a, b])
    old = stored(a, "mem_1")
    a.store.apply([Rewrite(memory=replace(old, content="Deploy on Tuesdays."))])
    settle(logs, [a, b])
    restored = Device(tmp_path, "restored", a.account)
    restored.store.apply([Add(memory=old)])
    for _ in range(9):  # more changes than the newer store had
        restored.store.apply([Rewrite(memory=replace(stored(restored, "mem_1"), frequency=5))])
    restored.store.apply([Rewrite(memory=replace(stored(restored, "mem_1"), pinned=True))])
    restored.replica.close()
    restored.replica = a.replica
    restored.identity = "another file"
    restored.renew(a.key)
    settle(logs, [restored, b])
    assert restored.contents() == b.contents() == ["Deploy on Tuesdays."]
    assert stored(b, "mem_1").pinned


def test_an_entry_of_a_later_version_stops_the_replica_and_loses_nothing(pair, logs, monkeypatch):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    with monkeypatch.context() as patch:
        patch.setattr("tacit.sync.entry.FORMAT", 2)
        a.sync(logs)
        entries = logs.entries[a.key.device]
    monkeypatch.setattr("tacit.sync.replica.why_invalid", lambda entry, previous: "")
    b.replica.add(entries)
    with pytest.raises(SyncError, match="Update Tacit"):
        b.replicating.carry()
    assert len(b.replica.unread(limit=9)) == 1


def test_entries_that_were_changed_are_refused(pair, logs):
    a, b = pair
    a.store.apply([Add(memory=memory("mem_1", "Tabs, not spaces."))])
    a.sync(logs)
    (entry,) = logs.entries[a.key.device]
    for wrong in (
        replace(entry, subject="0" * 32),
        replace(entry, sealed=entry.sealed[:-1] + b"x"),
        replace(entry, previous="1" * 32),
        replace(entry, device=DeviceKey.new().device),
        replace(entry, number=2),
    ):
        with pytest.raises(SyncError):
            b.replica.add([wrong])
    assert b.replica.heads() == {}
    assert why_invalid(entry, previous="") == ""


def test_a_recovery_phrase_is_read_whatever_its_form_and_a_mistake_is_found():
    key = AccountKey.new()
    assert AccountKey.from_phrase(key.phrase) == key
    assert AccountKey.from_phrase(key.phrase.upper().replace(" ", "-")) == key
    assert len(key.phrase.split()) == 8
    letters = key.phrase.replace(" ", "")
    for at in range(0, len(letters), 7):
        wrong = letters[:at] + ("0" if letters[at] != "0" else "1") + letters[at + 1 :]
        with pytest.raises(InvalidInput):
            AccountKey.from_phrase(wrong)


def test_a_body_is_bound_to_its_place():
    account, device = AccountKey.new(), DeviceKey.new()
    entry = append_entry(
        StateBody(memory=memory("mem_1", "x")), number=1, previous="", device=device, account=account
    )
    with pytest.raises(SyncError):
        open_entry(replace(entry, number=2), account)


def test_an_entry_says_the_same_inside_and_outside():
    account, device = AccountKey.new(), DeviceKey.new()
    entry = append_entry(
        StateBody(memory=memory("mem_1", "x")), number=1, previous="", device=device, account=account
    )
    about = f"{device.device}\n1\n{entry.subject}".encode()
    other = account.open(entry.sealed, about=about).replace(b"mem_1", b"mem_2")
    with pytest.raises(SyncError, match="says something else inside"):
        open_entry(replace(entry, sealed=account.seal(other, about=about)), account)
    with pytest.raises(SyncError, match="says something else inside"):
        open_entry(replace(entry, kind="purge"), account)


@pytest.mark.parametrize(
    "field",
    [
        {"device": "A" * 64},
        {"subject": "x"},
        {"digest": ""},
        {"number": 0},
        {"signature": b""},
        {"number": -1},
    ],
)
def test_entries_without_the_form_of_one_are_refused(field):
    account, device = AccountKey.new(), DeviceKey.new()
    entry = append_entry(
        StateBody(memory=memory("mem_1", "x")), number=1, previous="", device=device, account=account
    )
    assert "form" in why_invalid(replace(entry, **field), previous="")


def test_a_log_is_emptied_after_another_thread_has_read(tmp_path):
    replica = Replica(tmp_path / "sync.db")
    for name in ("a", "b", "c"):
        replica.put_fact(name, b"x")
    reading = replica._base.execute("SELECT name FROM facts")
    next(reading)
    timer = Timer(0.1, reading.close)
    timer.start()
    replica.clear_log()
    timer.join()
    assert (tmp_path / "sync.db-wal").stat().st_size == 0
    replica.close()
