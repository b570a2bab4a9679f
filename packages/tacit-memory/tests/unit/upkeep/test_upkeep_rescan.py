"""A file that cannot be cleaned is named, and costs no other one its cleaning."""

from __future__ import annotations

import pytest

from tacit.backends.sqlite import SqliteStore
from tacit.config.home import Home
from tacit.model.changes import Removal
from tacit.providers.clock import FakeClock
from tacit.upkeep.rescan import note_copy, rescan

WORD = "quokka"


def clean(text: str, _scope: str) -> str:
    return text.replace(WORD, "[gone]")


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, RecursionError, UnicodeError])
def test_what_cannot_be_cleaned_is_left_and_the_rest_is_not(tmp_path, error):
    store, home = SqliteStore.temporary(clock=FakeClock(now_ms=0)), Home(tmp_path / "home")
    copies = [tmp_path / name for name in ("a.jsonl", "b.md", "c.txt")]
    for path in copies:
        path.write_text(f"the {WORD} of {path.name}")
        note_copy(store, path)

    def records(text, clean, gone):
        if "b.md" in text:
            raise error("strange")
        return clean(text, "")

    done = rescan(store, home, clean, dry_run=False, gone=Removal(), records=records)
    assert [path.read_text() for path in copies] == [
        "the [gone] of a.jsonl",
        f"the {WORD} of b.md",
        "the [gone] of c.txt",
    ]
    assert dict(done.files) == {str(copies[0]): 1, str(copies[2]): 1}
    assert len(done.left) == 1
    assert done.left[0].startswith(f"{copies[1]}: it cannot be read (")


def test_what_no_file_can_hold_is_left(tmp_path):
    store, home = SqliteStore.temporary(clock=FakeClock(now_ms=0)), Home(tmp_path / "home")
    home.log_file.parent.mkdir(parents=True)
    home.log_file.write_text(f"the {WORD}")
    done = rescan(store, home, lambda text, _: text.replace(WORD, "\ud83d"), dry_run=False)
    assert home.log_file.read_text() == f"the {WORD}"
    assert (dict(done.files), len(done.left)) == ({}, 1)
