"""Which project a folder is, and what it may read, over time."""

from __future__ import annotations

from pathlib import Path

from tacit.app.projects import CACHE_MS, Projects
from tacit.backends.fake import FakeStore
from tacit.model.scope import project_scope
from tacit.ports.store import ProjectRecord
from tacit.providers.clock import FakeClock

NOW_MS = 1_760_000_000_000


def repository(folder: Path, remote: str = "") -> Path:
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "config").write_text(
        f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n"
    )
    return folder


def known(projects: Projects, folder: Path) -> ProjectRecord:
    found = projects.of(str(folder))
    assert found is not None
    return projects.register(found)


def test_what_was_learned_before_the_first_remote_is_still_read(tmp_path: Path) -> None:
    clock = FakeClock(now_ms=NOW_MS)
    store = FakeStore(clock=clock)
    projects = Projects(store=store, clock=clock)
    folder = repository(tmp_path / "shop")
    before = known(projects, folder)

    repository(folder, "git@example.com:me/shop.git")
    clock.advance(CACHE_MS + 1)
    unregistered = projects.of(str(folder))
    assert unregistered is not None
    assert unregistered.id != before.id
    assert project_scope(before.id) in projects.visible(unregistered).scopes

    after = projects.register(unregistered)
    assert after.links == (before.id,)
    clock.advance(CACHE_MS + 1)
    assert known(Projects(store=store, clock=clock), folder).links == (before.id,)


def test_a_remote_alone_shows_nothing_of_another_folder(tmp_path: Path) -> None:
    clock = FakeClock(now_ms=NOW_MS)
    projects = Projects(store=FakeStore(clock=clock), clock=clock)
    known(projects, repository(tmp_path / "private"))
    assert known(projects, repository(tmp_path / "shop", "git@example.com:me/shop.git")).links == ()
