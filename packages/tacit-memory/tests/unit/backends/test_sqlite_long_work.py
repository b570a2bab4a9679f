"""Long work on a store leaves room for those who write a little meanwhile, and what only looks changes nothing."""

from __future__ import annotations

import contextlib
import hashlib

import pytest

from samples import NOW_MS, memory
from tacit.backends.sqlite import open_sqlite_store
from tacit.model.changes import Add, Removal
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.providers.clock import FakeClock

EVERYONE = ScopeFilter.of(UNIVERSAL)
CLOCK = FakeClock(now_ms=NOW_MS)


@pytest.fixture
def store(home):
    with contextlib.closing(open_sqlite_store(home, clock=CLOCK)) as made:
        yield made


@pytest.fixture
def other(home, store):
    """The store of another process, which does not wait for long."""
    with contextlib.closing(open_sqlite_store(home, clock=CLOCK)) as made:
        made._database.wait_s = 0.05
        yield made


def test_others_write_between_the_steps_of_a_check(store, other):
    def progress(done, whole):
        other.put_value("step", f"{done}/{whole}")

    assert store.check(progress=progress) == ()
    assert store.get_value("step") == "11/11"


def noted(name, content, kind="digest"):
    return Add(memory=memory(content, id=name, kind=kind, scope=UNIVERSAL))


def test_a_trial_changes_no_backup_and_needs_no_writer(store, other, tmp_path):
    store.apply(
        [noted("mem_a", "The quokkas are fed.", "fact"), noted("mem_b", "impl: the quokkas are fed.")]
    )
    copy = tmp_path / "backup.db"
    store.backup(copy)
    before = hashlib.sha256(copy.read_bytes()).hexdigest()
    gone = Removal(memories=("mem_a",))

    def clean(text, _):
        other.put_value("written", "meanwhile")
        return text.replace("quokkas", "[purged]")

    assert store.rewrite_texts(clean, dry_run=True, gone=gone)["memories"] == 2
    assert store.rewrite_texts(clean, dry_run=True, copy=copy, gone=gone)["memories"] == 2
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == before
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("backup")] == ["backup.db"]
    nothing = Removal(memories=("mem_unknown",))
    assert store.rewrite_texts(lambda text, _: text, dry_run=False, copy=copy, gone=nothing) == {}
    assert hashlib.sha256(copy.read_bytes()).hexdigest() == before


def test_texts_are_cleaned_before_the_writer_is_held(store, other):
    store.apply(
        [noted(f"mem_{number}", f"impl: the quokkas of desk {number} are fed.") for number in range(9)]
    )

    def clean(text, _):
        other.put_value("init:", "of no text")
        return text.replace("quokkas", "[purged]")

    assert store.rewrite_texts(clean, dry_run=False)["memories"] == 9
    assert all(
        "quokka" not in one.content for one in store.get([f"mem_{n}" for n in range(9)], scope=EVERYONE)
    )
