"""The probe of files: gone, moved, changed, and everything that is not known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from samples import NOW_MS, candidate, query
from tacit.config.settings import Thresholds
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Entity
from tacit.model.pack import Surface
from tacit.recall.guard import MAX_BYTES, FreshnessProbe, admit
from tacit.recall.render import line_text

SYMBOL = (Entity(kind="symbol", key="orderstore.save"),)


def state(root: Path, *files: str, kind: str = "file_context", **fields: object) -> str:
    found = candidate("`src/store.py` keeps orders.", kind=kind, files=files, **fields)
    (probed,) = FreshnessProbe(kept_s=0.0).probe([found], root=str(root))
    return probed.freshness


def written(
    path: Path, text: str = "class OrderStore:\n    def save(self): ...\n", *, at_ms: int = NOW_MS
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (at_ms / 1000, at_ms / 1000))


def test_fresh_changed_moved_gone(tmp_path: Path) -> None:
    file = tmp_path / "src" / "store.py"
    written(file)
    assert state(tmp_path, "src/store.py", entities=SYMBOL) == ""
    written(file, at_ms=NOW_MS + 1000)
    assert state(tmp_path, "src/store.py", entities=SYMBOL) == "changed"
    written(file, "class CartStore: ...\n", at_ms=NOW_MS + 2000)
    assert state(tmp_path, "src/store.py", entities=SYMBOL) == "moved"
    file.unlink()
    assert state(tmp_path, "src/store.py", entities=SYMBOL) == "gone"


def test_one_of_several_files_is_enough(tmp_path: Path) -> None:
    written(tmp_path / "src" / "a.py")
    assert state(tmp_path, "src/a.py", "src/b.py") == ""
    assert state(tmp_path, "src/b.py", "src/c.py") == "gone"


def test_a_folder_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "src" / "orders").mkdir(parents=True)
    assert state(tmp_path, "src/orders") == ""
    assert state(tmp_path, "src/carts/") == "gone"


@pytest.mark.parametrize(
    "name",
    ["store.py", "pkg/store.py", "../other/store.py", "/etc/nowhere", "~/x.py", "src/**/*.py", "c:/x/y.py"],
)
def test_what_cannot_be_known_counts_as_fresh(tmp_path: Path, name: str) -> None:
    (tmp_path / "src").mkdir()
    assert state(tmp_path, name) == ""


def test_without_a_root_nothing_is_looked_at(tmp_path: Path) -> None:
    found = candidate(files=("src/a.py",))
    assert FreshnessProbe().probe([found], root="") == (found,)
    assert FreshnessProbe().probe([found], root=str(tmp_path / "nowhere")) == (found,)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    written(tmp_path / "src" / "store.py", "x" * (MAX_BYTES + 1))
    assert state(tmp_path, "src/store.py", entities=SYMBOL) == ""


def test_rules_are_not_asked_for_their_symbols(tmp_path: Path) -> None:
    written(tmp_path / "src" / "store.py", "nothing", at_ms=NOW_MS + 1000)
    assert state(tmp_path, "src/store.py", kind="decision", entities=SYMBOL) == ""


def test_what_was_seen_is_kept_for_a_moment(tmp_path: Path) -> None:
    file = tmp_path / "src" / "store.py"
    written(file)
    probe = FreshnessProbe(kept_s=60.0)
    found = candidate(files=("src/store.py",), kind="file_context")
    assert probe.probe([found], root=str(tmp_path))[0].freshness == ""
    file.unlink()
    assert probe.probe([found], root=str(tmp_path))[0].freshness == ""


@pytest.mark.parametrize(
    ("kind", "freshness", "surface", "kept"),
    [
        ("file_context", "gone", Surface.PROMPT, False),
        ("file_context", "moved", Surface.START, False),
        ("file_context", "gone", Surface.ON_DEMAND, True),
        ("file_context", "changed", Surface.PROMPT, True),
        ("decision", "gone", Surface.PROMPT, True),
    ],
)
def test_the_guard_withholds_what_only_describes(
    kind: str, freshness: str, surface: Surface, kept: bool
) -> None:
    found = replace(candidate(kind=kind, relevance=0.9), freshness=freshness)  # type: ignore[arg-type]
    outcome = admit(
        [found], query=query(surface=surface), kinds=KindRegistry(), threshold=Thresholds().of(surface.value)
    )
    assert bool(outcome.kept) is kept


@pytest.mark.parametrize(
    ("freshness", "label"),
    [
        ("changed", ", file changed since"),
        ("gone", ", file gone"),
        ("moved", ", no longer in that file"),
    ],
)
def test_the_line_says_so(freshness: str, label: str) -> None:
    found = replace(candidate("Keep orders."), freshness=freshness)  # type: ignore[arg-type]
    line = line_text(found, "Keep orders.", KindRegistry())
    assert line.endswith(f"(user, 2025-10-09{label})")
