"""Whose word an export is: this home's by its signature, the user's by --mine, else somebody's who grants nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tacit.app.engine import Engine
from tacit.app.transfer.report import ImportOptions
from tacit.app.wiring import open_engine
from tacit.model.memory import Memory, Sensitivity, TrustTier
from tacit.model.scope import Scope
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

MINE = ImportOptions(vouched=True)
SCOPES = ("universal", "language:python", "project:shop-0123456789", "path:shop-0123456789/src", "agent:plan")
SAID = {
    scope: f"Number {n}: the {word} are kept in order."
    for n, (scope, word) in enumerate(
        zip(SCOPES, ("plates", "glasses", "bicycles", "letters", "seeds"), strict=True)
    )
}


def opened(home: Path, *, later_ms: int = 0) -> Engine:
    """`later_ms`: the fake clock's chance repeats itself, and so would ids made at the same moment."""
    return open_engine(home, embedder=FakeEmbedder(), clock=FakeClock(now_ms=1_700_000_000_000 + later_ms))


def know_project(engine: Engine) -> None:
    shop = ProjectRecord(id="shop-0123456789", name="shop", root="/shop", first_seen_ms=1)
    engine._parts.store.put_project(shop)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with closing(opened(tmp_path / "home")) as made:
        know_project(made)
        for scope, content in SAID.items():
            made.remember(content, kind="preference", scope=Scope.parse(scope), when="commit")
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engine]:
    with closing(opened(tmp_path / "other", later_ms=5_000)) as made:
        yield made


def export(engine: Engine, target: Path) -> Path:
    target.write_bytes(b"".join(engine.transfer.export()))
    return target


def take(engine: Engine, path: Path, wanted: ImportOptions = ImportOptions()) -> dict[str, int]:  # noqa: B008 - frozen
    return dict(engine.transfer.take(path, cwd=str(path.parent), wanted=wanted).counts)


def every(engine: Engine) -> dict[str, Memory]:
    return {m.id: m for m in engine.list_memories(MemoryFilter(statuses=None), limit=999)}


def unsigned(path: Path) -> Path:
    """As another home, or a version before signatures, wrote it."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    target = path.with_name(f"unsigned-{path.name}")
    target.write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k != "sig"}) + "\n" for line in lines)
    )
    return target


def test_the_same_store_takes_its_export_back_without_a_change(engine, tmp_path):
    file = export(engine, tmp_path / "e.jsonl")
    before = every(engine)
    for path in (file, unsigned(file)):
        assert take(engine, path) == {"unchanged": len(SAID)}
        assert take(engine, path, ImportOptions(again=True)) == {"unchanged": len(SAID)}
        assert take(engine, path, MINE) == {"unchanged": len(SAID)}
    assert every(engine) == before
    assert (tmp_path / "home" / "export.key").stat().st_mode & 0o077 == 0


def test_what_stands_there_in_the_same_words_and_scope_is_not_added(engine, other, tmp_path):
    know_project(other)
    for scope, content in SAID.items():
        other.remember(content, kind="preference", scope=Scope.parse(scope))
    before = every(other)
    assert take(other, export(engine, tmp_path / "e.jsonl")) == {"unchanged": len(SAID)}
    assert every(other) == before


def test_a_signed_export_speaks_for_the_user_in_its_home(engine, tmp_path):
    name = next(iter(every(engine)))
    engine.memories.edit(engine.show(name), content="Edited: the plates are blue.")
    engine.memories.retire(engine.show(list(every(engine))[1]))
    file = export(engine, tmp_path / "e.jsonl")
    before = every(engine)
    assert not engine.transfer.speaks_for_user(file)
    assert engine.transfer.speaks_for_user(unsigned(file))
    engine.close()
    for path in (tmp_path / "home").glob("tacit.db*"):
        path.unlink()
    with closing(opened(tmp_path / "home", later_ms=9_000)) as empty:
        report = empty.transfer.take(file, cwd=str(tmp_path), wanted=ImportOptions())
        assert dict(report.counts) == {"add": len(SAID)}
        assert report.unconfirmed == 0
        assert every(empty) == before


def test_a_strangers_export_keeps_everything_but_its_authority(engine, other, tmp_path):
    for memory in every(engine).values():
        engine.memories.edit(engine.show(memory.id), pinned=True, importance=0.9)
    report = other.transfer.take(
        export(engine, tmp_path / "e.jsonl"), cwd=str(tmp_path), wanted=ImportOptions()
    )
    assert dict(report.counts) == {"add": len(SAID)}
    assert report.unconfirmed == len(SAID)
    theirs = {m.content: m for m in every(engine).values()}
    for memory in every(other).values():
        original = theirs[memory.content]
        assert memory.provenance.tier is TrustTier.IMPORT
        assert memory.provenance.original_tier is TrustTier.USER
        assert (memory.status, memory.pinned) == ("quarantined", False)
        for name in ("scope", "kind", "trigger", "sensitivity", "importance", "files"):
            assert getattr(memory, name) == getattr(original, name), name
        assert memory.validity.valid_from_ms == original.validity.valid_from_ms


@pytest.mark.parametrize("part", ["content", "tier", "uses", "signature"])
def test_a_changed_line_loses_its_authority_and_the_others_keep_theirs(engine, tmp_path, part):
    file = export(engine, tmp_path / "e.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b"bicycles" in line)
    old, new = {
        "content": (b"bicycles are kept in order", b"bicycles are sold at night"),
        "tier": (b'"tier":3', b'"tier":3 '),
        "uses": (b'"uses":0', b'"uses":7'),
        "signature": (b'"sig":"', b'"sig":"0'),
    }[part]
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new)
    file.write_bytes(b"".join(lines))
    engine.close()
    for path in (tmp_path / "home").glob("tacit.db*"):
        path.unlink()
    with closing(opened(tmp_path / "home", later_ms=9_000)) as empty:
        report = empty.transfer.take(file, cwd=str(tmp_path), wanted=ImportOptions())
        assert report.unconfirmed == 1
        tiers = {("bicycles" in m.content): m.provenance.tier for m in every(empty).values()}
        assert tiers == {True: TrustTier.IMPORT, False: TrustTier.USER}


def test_relations_and_projects_of_a_stranger_are_not_taken(engine, other, tmp_path):
    first, second = list(every(engine))[:2]
    file = export(engine, tmp_path / "e.jsonl")
    with file.open("a") as lines:
        lines.write(
            json.dumps({"relation": {"source_id": first, "target_id": second, "type": "updates"}}) + "\n"
        )
        links = {
            "id": "shop-0123456789",
            "name": "x",
            "remote": "evil",
            "links": ["other-1"],
            "first_seen_ms": 1,
        }
        lines.write(json.dumps({"project": links}) + "\n")
    take(engine, file)
    assert "updates" not in [relation.type for relation in engine.admin.relations(first)[0]]
    take(other, file)
    assert not any(project.links or project.remote for project in other._parts.store.projects())


def test_what_was_purged_does_not_come_back_by_an_old_export(engine, tmp_path):
    file = export(engine, tmp_path / "e.jsonl")
    name = next(m.id for m in every(engine).values() if "glasses" in m.content)
    engine.admin.purging.purge(engine.admin.purging.named([name]), dry_run=False)
    for wanted in (ImportOptions(), MINE):
        assert take(engine, file, wanted) == {"unchanged": len(SAID) - 1, "skip": 1}
    assert take(engine, unsigned(file)) == {"unchanged": len(SAID) - 1, "skip": 1}
    assert name not in every(engine)
    assert take(engine, file, ImportOptions(again=True, vouched=True))["add"] == 1


def test_a_purge_signs_again_what_it_cleans_in_an_export(engine, tmp_path):
    names = {m.content: m.id for m in every(engine).values()}
    quoting = engine.remember(
        "Session of today: the user said that the seeds are kept in order.", kind="digest"
    )[0].memory
    name = next(one for content, one in names.items() if "seeds" in content)
    engine.memories.edit(engine.show(name), content="the seeds are kept in order")
    file = tmp_path / "e.jsonl"
    engine.transfer.export_to(file, form="jsonl")
    engine.admin.purging.purge(engine.admin.purging.named([name]), dry_run=False)
    text = file.read_text()
    assert "seeds" not in text
    assert quoting.id in text
    assert not engine.transfer.speaks_for_user(file)


def test_a_kind_of_the_users_own_survives(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    (home / "config.yaml").write_text(
        "kinds:\n  runbook:\n    label: Runbook\n    prefix: RUN\n    episodic: true\n"
    )
    with closing(opened(home)) as engine, closing(opened(other)) as bare:
        engine.remember("Restart the queue before the workers.", kind="runbook", cwd=str(tmp_path))
        file = export(engine, tmp_path / "e.jsonl")
        report = bare.transfer.take(file, cwd=str(tmp_path), wanted=MINE)
        assert dict(report.counts) == {"add": 1}
        assert "runbook" in report.lines[0].reason
        (memory,) = every(bare).values()
        assert memory.kind == "runbook"
        assert any("runbook" in warning for warning in bare.status().warnings)


def test_sensitivity_comes_through(engine, other, tmp_path):
    engine.remember(
        "The safe is behind the painting.", kind="fact", cwd=str(tmp_path), sensitivity=Sensitivity.RESTRICTED
    )
    file = export(engine, tmp_path / "e.jsonl")
    take(other, file)
    kept = next(m for m in every(other).values() if "painting" in m.content)
    assert kept.sensitivity is Sensitivity.RESTRICTED
