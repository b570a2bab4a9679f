"""Which project a folder is, and what it may read, over time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from repositories import pretend
from tacit.app.projects import CACHE_MS, ProjectRegistry
from tacit.backends.sqlite import SqliteStore
from tacit.errors import InvalidInput
from tacit.model.scope import project_scope
from tacit.ports.store import ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.session.projects import identify_project

NOW_MS = 1_760_000_000_000


def known(projects: ProjectRegistry, folder: Path) -> ProjectRecord:
    found = projects.of(str(folder))
    assert found is not None
    return projects.register(found)


def test_what_was_learned_before_the_first_remote_is_still_read(tmp_path: Path) -> None:
    clock = FakeClock(now_ms=NOW_MS)
    store = SqliteStore.temporary(clock=clock)
    projects = ProjectRegistry(store=store, clock=clock)
    folder = pretend(tmp_path / "shop")
    before = known(projects, folder)

    pretend(folder, "git@example.com:me/shop.git")
    clock.advance(CACHE_MS + 1)
    unregistered = projects.of(str(folder))
    assert unregistered is not None
    assert unregistered.id != before.id
    assert project_scope(before.id) in projects.visible(unregistered).scopes

    after = projects.register(unregistered)
    assert after.links == (before.id,)
    clock.advance(CACHE_MS + 1)
    assert known(ProjectRegistry(store=store, clock=clock), folder).links == (before.id,)


def test_a_remote_alone_shows_nothing_of_another_folder(tmp_path: Path) -> None:
    clock = FakeClock(now_ms=NOW_MS)
    projects = ProjectRegistry(store=SqliteStore.temporary(clock=clock), clock=clock)
    known(projects, pretend(tmp_path / "private"))
    assert known(projects, pretend(tmp_path / "shop", "git@example.com:me/shop.git")).links == ()


def opened() -> ProjectRegistry:
    clock = FakeClock(now_ms=NOW_MS)
    return ProjectRegistry(store=SqliteStore.temporary(clock=clock), clock=clock)


SHOP = "git@github.com:acme/shop.git"
SAME_SHOP = "https://github.com/Acme/shop"


def test_a_second_folder_with_the_same_remote_is_told_and_stays_apart_until_it_joins(tmp_path: Path) -> None:
    projects = opened()
    first = known(projects, pretend(tmp_path / "first", SHOP))
    second = pretend(tmp_path / "second", SAME_SHOP)

    found = projects.membership(str(second))
    assert found.project.id != first.id
    assert project_scope(first.id) not in projects.visible(found.project).scopes
    assert str(tmp_path / "first") in found.notice
    own = known(projects, second)

    joined = projects.join(str(second))
    assert joined.project.id == first.id
    assert joined.notice == ""
    assert joined.project.folders == (str(tmp_path / "first"), str(second))
    assert project_scope(own.id) in projects.visible(joined.project).scopes, "what it learned alone is kept"
    assert known(projects, tmp_path / "first").id == first.id


def test_a_folder_that_was_separated_is_not_asked_about_again_and_can_still_join(tmp_path: Path) -> None:
    projects = opened()
    first = known(projects, pretend(tmp_path / "first", SHOP))
    second = str(pretend(tmp_path / "second", SAME_SHOP))
    apart = projects.separate(second)
    assert (apart.notice, apart.project.id != first.id) == ("", True)
    assert projects.join(second).project.id == first.id
    assert projects.separate(second).project.id == apart.project.id
    with pytest.raises(InvalidInput):
        projects.separate(str(tmp_path / "first"))
    with pytest.raises(InvalidInput):
        projects.join(str(tmp_path / "first"))


def test_the_folder_that_comes_first_is_not_joined_by_a_later_one_that_was_looked_up_before_it(
    tmp_path: Path,
) -> None:
    projects = opened()
    one, other = pretend(tmp_path / "one", SHOP), pretend(tmp_path / "other", SHOP)
    early = projects.of(str(other))
    first = known(projects, one)
    assert early is not None
    assert early.id == first.id
    assert projects.register(early).id != first.id
    assert projects.of(str(other)) == projects.register(early)


def test_worktrees_and_folders_below_belong_to_the_folder_of_their_repository(tmp_path: Path) -> None:
    projects = opened()
    shop = pretend(tmp_path / "shop", SHOP)
    first = known(projects, shop)
    (shop / "src").mkdir()
    tree, admin = tmp_path / "tree", shop / ".git" / "worktrees" / "tree"
    admin.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "gitdir").write_text(f"{tree}/.git\n")
    for folder in (tree, shop / "src", shop):
        assert known(projects, folder).id == first.id
        assert projects.membership(str(folder)).notice == ""


def test_an_imported_project_belongs_to_the_first_folder_that_has_its_name(tmp_path: Path) -> None:
    projects = opened()
    one, other = pretend(tmp_path / "one", SHOP), pretend(tmp_path / "other", SHOP)
    imported = ProjectRecord(id=identify_project(one).id, name="shop", root="")
    projects.register(imported)
    assert known(projects, one).id == imported.id
    assert known(projects, other).id != imported.id


def with_commit(folder: Path, words: str) -> Path:
    """A repository with one commit, and no remote."""
    folder.mkdir(parents=True)
    who = ("-c", "user.name=x", "-c", "user.email=x@x")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, *who, "commit", "-q", "--allow-empty", "-m", words], check=True)
    return folder


def looked_up(store: SqliteStore, folder: Path) -> ProjectRegistry:
    """Projects as another process finds them."""
    projects = ProjectRegistry(store=store, clock=FakeClock(now_ms=NOW_MS))
    assert projects.of(str(folder)) is not None
    return projects


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("worked_in", [False, True])
def test_a_renamed_folder_is_offered_what_was_learned_under_its_old_name(
    tmp_path: Path, link: bool, worked_in: bool
) -> None:
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    old = with_commit(tmp_path / "old", "first")
    before = known(looked_up(store, old), old)
    new = old.rename(tmp_path / "new")
    if link:
        old.symlink_to(new)
    projects = looked_up(store, new)
    if worked_in:
        known(projects, new)
    own = projects.of(str(new))
    assert own is not None
    assert own.id != before.id
    assert project_scope(before.id) not in projects.visible(own).scopes
    assert f"may be {old}, renamed" in projects.unanswered(str(new))

    joined = projects.join(str(new))
    assert joined.project.id == before.id
    assert joined.related == ()
    after = looked_up(store, new)
    found = known(after, new)
    assert (found.id, found.root, found.folders) == (before.id, str(new), (str(new),))
    assert (own.id in found.links) is worked_in
    assert after.unanswered(str(new)) == ""


def test_a_folder_that_was_renamed_twice_or_declined_is_asked_about_once(tmp_path: Path) -> None:
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    folder = with_commit(tmp_path / "a", "first")
    first = known(looked_up(store, folder), folder)
    folder = folder.rename(tmp_path / "b")
    known(looked_up(store, folder), folder)
    looked_up(store, folder).join(str(folder))
    folder = folder.rename(tmp_path / "c")
    projects = looked_up(store, folder)
    known(projects, folder)
    (related,) = projects.membership(str(folder)).related
    assert related.project.id == first.id
    projects.separate(str(folder))
    assert looked_up(store, folder).unanswered(str(folder)) == ""


def test_nothing_is_offered_to_a_copy_another_repository_or_the_next_one_of_the_old_name(
    tmp_path: Path,
) -> None:
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    old = with_commit(tmp_path / "old", "first")
    before = known(looked_up(store, old), old)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", old, copy], check=True)
    assert looked_up(store, copy).unanswered(str(copy)) == ""
    new = old.rename(tmp_path / "new")
    other = with_commit(tmp_path / "other", "another first commit")
    assert looked_up(store, other).unanswered(str(other)) == ""
    looked_up(store, new).join(str(new))
    again = with_commit(tmp_path / "old", "a later one")
    projects = looked_up(store, again)
    found = known(projects, again)
    assert found.id != before.id
    assert before.id not in found.links
    assert projects.unanswered(str(again)) == ""
