"""Which project, languages, scopes and branch belong to a folder; remembered for a minute."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING

from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.memory import LearnedOn
from tacit.model.query import NO_BRANCH, BranchView
from tacit.model.scope import UNIVERSAL, Lent, Scope, ScopeFilter, ScopeKind, path_scopes, project_scope
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, Store
from tacit.reading.languages import check_language, language_of
from tacit.session.projects import (
    WorkTree,
    branch_at,
    branch_fingerprint,
    commit_at,
    git_at,
    head_branch,
    identify_project,
    is_user_folder,
    project_id,
    refs_fingerprint,
    relative_path,
    resolve_folder,
    work_tree_of,
)
from tacit.state.registry import BRANCHES, LANGUAGES, ROOT_COMMITS
from tacit.system.git import TIMEOUT_S

if TYPE_CHECKING:
    from tacit.capture.branches import BranchesSeen

# The branch of a folder, for recall and capture. In: a project. Out: which memories may appear there, and the branch to bind new ones to.
#
# HEAD, one small file, is read each time; the branches that count as merged are asked of git when a folder is first seen, and again when the references of its
# repository changed, at most once a minute. This module reads no history.
# `tacit.capture.branches` does that in the background, and its result is stored here with `note`.

KEPT_MS = 60_000.0
MAX_KEPT = 256


class Branches:
    """Tells which git branch a folder is on and which branches count there; keeps git's answers. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._trees: dict[str, tuple[float, tuple[str, ...], WorkTree | None]] = {}
        self._seen: dict[str, BranchesSeen] = {}
        self._looked: dict[str, tuple[str, ...]] = {}

    def view(self, project: ProjectRecord | None, *, bound: bool) -> BranchView | None:
        """Return the branches whose memories may appear unasked in the folder of `project`; None = all, because `bound` is False."""
        if not bound:
            return None
        tree = self._tree(project.root) if project is not None else None
        if project is None or tree is None:
            return NO_BRANCH
        here, seen = head_branch(tree.checkout), self._seen.get(project.root)
        names = {here} - {""} if here not in tree.shared else set[str]()
        if seen is not None and seen.head == here:
            names |= seen.held
        if not names:
            return NO_BRANCH
        states = BRANCHES.read(self._store, project.id)
        replaced = {name for branch in names if branch in states for name in states[branch].replaced}
        return BranchView(names=frozenset(names), replaced=frozenset(replaced))

    def learned_on(self, project: ProjectRecord | None) -> LearnedOn | None:
        """Return the unmerged branch checked out in the folder of `project`; None = what is learned there holds on all branches."""
        tree = self._tree(project.root) if project is not None else None
        name = branch_at(tree) if tree is not None else ""
        return LearnedOn(name=name, commit=commit_at(tree, name)) if tree is not None and name else None

    def _git_state(self, project: ProjectRecord) -> tuple[str, ...]:
        """Return the `branch_fingerprint` of the project's folder; () = git knows no default branch there."""
        tree = self._tree(project.root)
        return branch_fingerprint(tree) if tree is not None and tree.shared else ()

    def moved(self, project: ProjectRecord) -> bool:
        """Whether another branch was checked out, or the default branch moved, since `note_state`; False before it was called."""
        looked = self._looked.get(project.root)
        return looked is not None and self._git_state(project) != looked

    def note_state(self, project: ProjectRecord) -> None:
        """Keep in memory the present state of git for `moved`; call it before the branches are read, so that no change is missed."""
        state = self._git_state(project)
        with self._lock:
            if len(self._looked) >= MAX_KEPT:
                self._looked.clear()
            self._looked[project.root] = state

    def note_seen(self, root: str, seen: BranchesSeen) -> None:
        """Keep in memory for `view` what reading the branches of the work tree at `root` gave."""
        with self._lock:
            if len(self._seen) >= MAX_KEPT:
                self._seen.clear()
            self._seen[root] = seen

    def _tree(self, root: str) -> WorkTree | None:
        now = self._clock.monotonic_ms()
        with self._lock:
            kept = self._trees.get(root)
            if kept is not None and now - kept[0] < KEPT_MS:
                return kept[2]
        changed = refs_fingerprint(root)
        known = kept is not None and kept[1] == changed and (kept[2] is None or kept[2].shared)
        tree = kept[2] if kept is not None and known else work_tree_of(root)
        with self._lock:
            if len(self._trees) >= MAX_KEPT:
                self._trees.clear()
            self._trees[root] = (now, changed, tree)
        return tree


# Which project, languages and scopes belong to a folder; remembered for a minute. Asks git for first commits, and nothing else.
#
# A git remote is only text in a folder's own files, and anybody can write it. So the first folder of a remote gets the
# project; another one with the same remote stays a project of its own until the user says that they share (`join`). So does a
# repository with the first commit of one whose folder is gone: it may be that one under a new name, or a copy.

CACHE_MS = 60_000
REAL_MS = 2_000.0
MAX_CACHED = 256
GIT_S = 2.0
"""Seconds that git may take to find the first commits of a repository."""
LANGUAGE_SHARE = 0.1
MOST_LISTED = 500
FIRST_LOOK_S = 0.3
"""Seconds that git may take to list a project's files while somebody waits."""


@frozen
class Related:
    """A project whose memories a folder does not see and that may belong to it.

    Attributes:
        project: whose they are: the git remote is the same, or the first commit, and the folder of the project is gone.
        declined: the user said that they are not this folder's.
        text: what the user is told, one or two sentences.
    """

    project: ProjectRecord
    declined: bool
    text: str

    @property
    def moved(self) -> bool:
        """Whether the folder of the project is gone, and this may be the same repository."""
        return not self.project.remote


@frozen
class FolderProjects:
    """The project of a folder, and other projects it may belong to. `folder` stands for the repository on this machine."""

    project: ProjectRecord
    folder: str
    related: tuple[Related, ...] = ()

    @property
    def notice(self) -> str:
        """Return the questions that the user has not answered yet, as one text; "" = none."""
        return " ".join(related.text for related in self.related if not related.declined)


class ProjectRegistry:
    """Finds and registers the projects of folders, with their languages and visible scopes. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._writing = RLock()
        self.branches = Branches(store=store, clock=clock)
        self._found: dict[str, tuple[float, FolderProjects]] = {}
        self._real: dict[str, tuple[float, str]] = {}
        self._languages: dict[str, tuple[str, ...]] = {}
        self._first_commits: dict[str, frozenset[str]] = {}

    def real_folder(self, cwd: str) -> str:
        """Return the folder that `cwd` leads to through links, kept for two seconds; "" for ""."""
        if not cwd or is_user_folder(cwd):
            return cwd
        now = self._clock.monotonic_ms()
        with self._lock:
            cached = self._real.get(cwd)
            if cached and now - cached[0] < REAL_MS:
                return cached[1]
        real = os.path.realpath(cwd)
        with self._lock:
            if len(self._real) >= MAX_CACHED:
                self._real.clear()
            self._real[cwd] = (now, real)
        return real

    def of(self, cwd: str) -> ProjectRecord | None:
        """Return the project around `cwd`; None if `cwd` is empty."""
        return self.membership(cwd).project if cwd else None

    def membership(self, cwd: str) -> FolderProjects:
        """Return the project around `cwd`, and what else may belong to it; kept for a minute. `cwd` must not be empty."""
        now = self._clock.monotonic_ms()
        with self._lock:
            cached = self._found.get(cwd)
            if cached and now - cached[0] < CACHE_MS:
                return cached[1]
        resolved = self._resolve(cwd)
        with self._lock:
            if len(self._found) >= MAX_CACHED:
                self._found.clear()
            self._found[cwd] = (now, resolved)
        return resolved

    def _resolve(self, cwd: str) -> FolderProjects:
        """Find the project of `cwd`: the stored one of this folder, an imported one that nobody works in yet, or a new one. Stores nothing."""
        identified = identify_project(cwd)
        if is_user_folder(cwd):
            return FolderProjects(project=self._stored(identified.id) or identified, folder="")
        projects = {project.id: project for project in self._store.projects()}
        folder = identified.folders[0]
        same_remote = [
            project for project in projects.values() if identified.remote and project.key == identified.key
        ]
        elsewhere: list[ProjectRecord] = []
        mine = next((project for project in same_remote if folder in project.folders), None)
        if (
            mine is None and same_remote
        ):  # it names a repository that other folders have: known by its own folder alone
            elsewhere = same_remote
            identified = identify_project(identified.root, by_remote=False)
        if mine is None:
            same = [p for p in projects.values() if p.key == identified.key or _is_unclaimed(p, identified)]
            # The one that the others of this folder were joined to.
            joined = (p for p in same if any(other.id in p.links for other in same))
            mine = next(iter((*joined, *same)), None)
        if mine is None:
            mine = replace(
                identified, id=project_id(identified.key, projects), links=self._earlier(identified, projects)
            )
        project = replace(
            mine,
            name=identified.name,
            root=identified.root,
            remote=identified.remote,
            key=identified.key,
            folders=_with(mine.folders, folder),
        )
        related = [_related(other, folder) for other in (*elsewhere, *self._moved_to(project, projects))]
        return FolderProjects(project=project, folder=folder, related=tuple(related))

    def _moved_to(self, project: ProjectRecord, projects: Mapping[str, ProjectRecord]) -> list[ProjectRecord]:
        """Return the projects whose folders are gone and whose repository may be that of `project` under another name."""
        gone = [
            other
            for other in projects.values()
            if other.id != project.id
            and other.id not in project.links
            and other.key.startswith("path:")
            and not any(_is_there(folder) for folder in other.folders)
        ]
        known = {other.id: frozenset(ROOT_COMMITS.read(self._store, other.id)) for other in gone}
        if not any(known.values()):
            return []
        commits = self._commits_of(project.root)
        found = [other for other in gone if known[other.id] & commits]
        joined = {link for other in found for link in other.links}
        return [other for other in found if other.id not in joined]

    def _commits_of(self, root: str) -> frozenset[str]:
        """Ask git for the first commits of the repository at `root`, for `GIT_S` seconds at most, and keep them; empty = none found."""
        with self._lock:
            commits = self._first_commits.get(root)
        if commits is None:
            git = git_at(Path(root)) if root else None
            out = git.ask("rev-list", "--max-parents=0", "HEAD", "--", timeout_s=GIT_S) if git else None
            commits = frozenset((out or b"").decode("ascii", "replace").split())
            if commits:
                with self._lock:
                    self._first_commits[root] = commits
        return commits

    def _note_commits(self, project: ProjectRecord) -> None:
        if not ROOT_COMMITS.read(self._store, project.id) and (commits := self._commits_of(project.root)):
            ROOT_COMMITS.write(self._store, tuple(sorted(commits)), project.id)

    def unanswered(self, cwd: str) -> str:
        """Return the questions about memories that may belong to the project of `cwd` and that the user has not answered; "" = none."""
        membership = self.membership(cwd) if cwd else None
        return membership.notice if membership else ""

    def register(self, project: ProjectRecord) -> ProjectRecord:
        """Store the project of the folder `project.root` if its id, its root or one of its folders is not stored yet; return the record that the folder belongs to now.

        Other changed fields are not stored.
        """
        self._note_commits(project)
        stored = self._stored(project.id)
        if stored and stored.root == project.root and set(project.folders) <= set(stored.folders):
            return stored
        with self._writing:  # another folder may have become the first of this remote in the meantime
            record = self._resolve(project.root).project if project.root else project
            stored = self._stored(record.id)
            return record if stored == record else self._put(record)

    def _stored(self, project_id: str) -> ProjectRecord | None:
        return next((project for project in self._store.projects() if project.id == project_id), None)

    def join(self, cwd: str) -> FolderProjects:
        """Let the folder share the memories of the projects it may belong to; stores this and returns the new membership.

        Raises:
            InvalidInput: if there are none.
        """
        with self._writing:
            membership = self._resolve(cwd)
            if not membership.related:
                raise InvalidInput(
                    f"No other project is known that {membership.project.root} could belong to.",
                    hint="The setting `project.link` lets a project read any other.",
                )
            for related in membership.related:
                record = replace(related.project, apart=_without(related.project.apart, membership.folder))
                own_project = self._stored(membership.project.id)
                links = _with(record.links, own_project.id) if own_project else record.links
                folders = _with(() if related.moved else record.folders, membership.folder)
                record = replace(record, folders=folders, links=links)
                if related.moved:  # from now on it is known by its new place, and the old one is free
                    here = membership.project
                    record = replace(record, key=here.key, name=here.name, root=here.root, remote=here.remote)
                self._put(record)
            return self._resolve(cwd)

    def separate(self, cwd: str) -> FolderProjects:
        """Keep the folder apart from the projects it may belong to, or take it out of the one it shares; return the new membership.

        Raises:
            InvalidInput: if it shares nothing.
        """
        with self._writing:
            membership = self._resolve(cwd)
            undecided = [related for related in membership.related if not related.declined]
            for related in undecided:
                self._put(replace(related.project, apart=_with(related.project.apart, membership.folder)))
            shared = membership.project
            if not undecided and shared.remote and len(shared.folders) > 1:
                self._put(
                    replace(
                        shared,
                        folders=_without(shared.folders, membership.folder),
                        apart=_with(shared.apart, membership.folder),
                    )
                )
            elif not undecided:
                raise InvalidInput(
                    f"{shared.root} shares its project with no other folder.",
                    hint="`tacit status` shows what a folder belongs to.",
                )
            return self._resolve(cwd)

    def _put(self, record: ProjectRecord) -> ProjectRecord:
        record = replace(record, first_seen_ms=record.first_seen_ms or self._clock.now_ms())
        self._store.put_project(record)
        with self._lock:  # other folders may be judged differently now
            self._found = {cwd: (-math.inf, membership) for cwd, (_, membership) in self._found.items()}
        return record

    def _earlier(self, identified: ProjectRecord, projects: Mapping[str, ProjectRecord]) -> tuple[str, ...]:
        """Return the id of the earlier project of the same folder, which a project with its first remote still reads; () = none."""
        if not identified.remote:
            return ()
        before = identify_project(identified.root, by_remote=False).key
        return tuple(project.id for project in projects.values() if project.key == before)

    def languages(self, project: ProjectRecord) -> tuple[str, ...]:
        """Return the languages of a tenth or more of the project's files, as counted last; if never counted, after a first quick look."""
        with self._lock:
            cached = self._languages.get(project.id)
        if cached is not None:
            return cached
        languages = LANGUAGES.read(self._store, project.id) or _languages_at(
            project.root, timeout_s=FIRST_LOOK_S
        )
        with self._lock:
            self._languages[project.id] = languages
        return languages

    def read_languages(self, project: ProjectRecord) -> tuple[str, ...]:
        """Count the languages of the project's files anew, store them and return them."""
        languages = _languages_at(project.root, timeout_s=TIMEOUT_S)
        LANGUAGES.write(self._store, languages, project.id)
        with self._lock:
            self._languages[project.id] = languages
        return languages

    def with_id(self, scope: Scope, *, here: ProjectRecord | None) -> Scope:
        """Return `scope` with the id of the project that it names: `here`, else the only one of that name; unchanged if there is none.

        Raises:
            InvalidInput: if several projects have the name.
            InvalidScope: if it is of an unknown language.
        """
        if scope.kind is ScopeKind.LANGUAGE:
            check_language(scope.key)
        name = scope.project_id
        projects = self._store.projects()
        if not name or any(project.id == name for project in projects):
            return scope
        matches = [project for project in (here,) if project and name in (project.id, project.name)]
        matches = matches or [project for project in projects if project.name == name]
        if len(matches) > 1:
            raise InvalidInput(
                f"{len(matches)} projects are called {name!r}.",
                hint=f"Name one by its id: {', '.join(sorted(project.id for project in matches))}.",
            )
        return replace(scope, key=matches[0].id + scope.key.removeprefix(name)) if matches else scope

    def recent_folders(self) -> tuple[str, ...]:
        """Return the working folders seen lately, and the roots of all known projects."""
        with self._lock:
            folders = tuple(cwd for cwd in self._found if not is_user_folder(cwd))
        roots = (
            project.root for project in self._store.projects() if project.root
        )  # imported ones have none yet
        return tuple(dict.fromkeys((*folders, *roots)))

    def visible(
        self,
        project: ProjectRecord | None,
        *,
        paths: tuple[str, ...] = (),
        agent: str = "",
        session: str = "",
        share_preferences: bool = True,
        links: tuple[str, ...] = (),
        lent: tuple[Lent, ...] = (),
    ) -> ScopeFilter:
        """Return the scopes visible from `project` while working on `paths`. One user of a program sees what is theirs, and nothing else.

        Args:
            project: where the agent works; None sees the universal scope only.
            paths: files at hand, relative to the project root.
            agent: agent name, or empty.
            session: `host/id`, or empty.
            share_preferences: whether universal and language scope are visible.
            links: ids of further projects that may be read; `*` = all.
            lent: what may be seen of other projects.
        """
        scopes: list[Scope] = []
        if project is not None and project_scope(project.id).of_user:
            scopes += [project_scope(project.id), *path_scopes(project.id, paths)]
            scopes += [Scope(kind=ScopeKind.SESSION, key=session)] if session else []
            return ScopeFilter.of(*scopes)
        if share_preferences:
            languages = self.languages(project) if project else ()
            scopes.append(UNIVERSAL)
            scopes += [Scope(kind=ScopeKind.LANGUAGE, key=name) for name in languages]
        if project is not None:
            scopes.append(project_scope(project.id))
            scopes += path_scopes(project.id, paths)
            if "*" in links:
                links = tuple(p.id for p in self._store.projects() if not project_scope(p.id).of_user)
            scopes += map(project_scope, (*project.links, *links))
            for link in project.links:
                scopes += path_scopes(link, paths)
        if agent:
            scopes.append(Scope(kind=ScopeKind.AGENT, key=agent))
        if session:
            scopes.append(Scope(kind=ScopeKind.SESSION, key=session))
        return ScopeFilter.of(*scopes, lent=lent if project is not None else ())

    def relative(self, paths: tuple[str, ...], project: ProjectRecord | None, cwd: str) -> tuple[str, ...]:
        """Return `paths` relative to the project root, each once; unchanged without a project."""
        if project is None:
            return paths
        return tuple(dict.fromkeys(relative_path(path, root=project.root, cwd=cwd) for path in paths))


def _languages_at(root: str, *, timeout_s: float) -> tuple[str, ...]:
    """Return the languages of a tenth or more of the files that git tracks at `root`, else of those in the folder itself."""
    if not root:
        return ()
    names = tracked_files(root, timeout_s=timeout_s) or _listed_files(root)
    counts = Counter(language for name in names if (language := language_of(name)))
    total = sum(counts.values())
    return tuple(sorted(name for name, n in counts.items() if n >= total * LANGUAGE_SHARE))


def tracked_files(root: str, *, timeout_s: float) -> tuple[str, ...]:
    """List the paths that git tracks in the work tree at `root`; of very many only the first ones, () without git."""
    git = git_at(resolve_folder(root))
    listed = git.ask("ls-files", "-z", timeout_s=timeout_s, cut=True) if git is not None else None
    return tuple((listed or b"").decode("utf-8", "replace").split("\0")[:-1])


def _listed_files(root: str) -> tuple[str, ...]:
    """Return the names of files directly in `root`, hidden ones aside, of `MOST_LISTED` entries at most; () = it cannot be read."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in islice(entries, MOST_LISTED) if entry.is_file()]
    except (OSError, ValueError):
        return ()
    return tuple(sorted(name for name in names if not name.startswith(".")))


def _is_there(folder: str) -> bool:
    """Whether the folder of a project still exists, and is not a link that took its place."""
    return os.path.lexists(folder) and os.path.realpath(folder) == folder


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else tuple(sorted((*names, name)))


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)


def _is_unclaimed(project: ProjectRecord, identified: ProjectRecord) -> bool:
    """Whether `project` was imported, nobody has worked in it yet, and `identified` is the same project."""
    if project.key or project.root:
        return False
    return project.id == identified.id or bool(project.remote and project.remote == identified.remote)


def _related(project: ProjectRecord, folder: str) -> Related:
    other_folders = [name for name in project.folders or (project.root,) if name not in ("", folder)]
    places = (
        ", ".join(other_folders[:3]) + (" and others" if len(other_folders) > 3 else "")
    ) or project.name
    if not project.remote:
        text = f"This folder may be {places}, renamed: it has the same first commit, and {places} is gone. It does not see the memories."
    else:
        text = f"This folder has the same git remote as {places} ({project.remote}), whose memories it does not see."
    text += " `tacit init --join` shares them with this folder; `tacit init --separate` keeps them apart and ends this notice."
    return Related(project=project, declined=folder in project.apart, text=text)
