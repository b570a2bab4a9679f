"""Which project, languages and scopes belong to a folder; remembered for a minute. Runs no program."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from threading import Lock

from tacit.app.tracked import tracked_files
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind, path_scopes, project_scope
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, Store
from tacit.reading.languages import language_of
from tacit.session.projects import identify_project, relative_path

CACHE_MS = 60_000
REAL_MS = 2_000.0
MAX_CACHED = 256
LANGUAGE_SHARE = 0.1


class Projects:
    """Looks projects up and remembers them. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._found: dict[str, tuple[int, ProjectRecord]] = {}
        self._real: dict[str, tuple[float, str]] = {}
        self._languages: dict[str, tuple[str, ...]] = {}

    def real_folder(self, cwd: str) -> str:
        """The folder that `cwd` leads to, looked up once for a burst of events; "" for none."""
        if not cwd:
            return ""
        now = self._clock.monotonic_ms()
        with self._lock:
            known = self._real.get(cwd)
            if known and now - known[0] < REAL_MS:
                return known[1]
        real = os.path.realpath(cwd)
        with self._lock:
            if len(self._real) >= MAX_CACHED:
                self._real.clear()
            self._real[cwd] = (now, real)
        return real

    def of(self, cwd: str) -> ProjectRecord | None:
        """The project around `cwd`; None for no folder at all."""
        if not cwd:
            return None
        now = self._clock.now_ms()
        with self._lock:
            known = self._found.get(cwd)
            if known and now - known[0] < CACHE_MS:
                return known[1]
        project = identify_project(cwd)
        stored = next((p for p in self._store.projects() if p.id == project.id), None)
        if stored is not None:
            project = replace(project, first_seen_ms=stored.first_seen_ms, links=stored.links)
        else:
            project = self._with_earlier(project)
        with self._lock:
            if len(self._found) >= MAX_CACHED:
                self._found.clear()
            self._found[cwd] = (now, project)
        return project

    def register(self, project: ProjectRecord) -> ProjectRecord:
        """Make sure the store knows `project`."""
        stored = next((p for p in self._store.projects() if p.id == project.id), None)
        if stored is not None and stored.root == project.root:
            return stored
        first = stored.first_seen_ms if stored else self._clock.now_ms()
        links = stored.links if stored else self._with_earlier(project).links
        record = replace(project, first_seen_ms=first, links=links)
        self._store.put_project(record)
        return record

    def _with_earlier(self, project: ProjectRecord) -> ProjectRecord:
        """A project that got its first remote goes on reading what was learned in the same folder before."""
        if not project.remote:
            return project
        before = identify_project(project.root, by_remote=False).id
        if before in project.links or all(known.id != before for known in self._store.projects()):
            return project
        return replace(project, links=(*project.links, before))

    def languages(self, project: ProjectRecord) -> tuple[str, ...]:
        """Languages of a tenth or more of the project's tracked source files; () until `read_languages` ran."""
        with self._lock:
            known = self._languages.get(project.id)
        if known is not None:
            return known
        text = self._store.get_value(f"languages:{project.id}") or ""
        languages = tuple(part for part in text.split(",") if part)
        with self._lock:
            self._languages[project.id] = languages
        return languages

    def read_languages(self, project: ProjectRecord) -> tuple[str, ...]:
        """Count the languages of the files that git tracks, and keep the answer."""
        names = tracked_files(project.root)
        counts = Counter(language for name in names if (language := language_of(name)))
        whole = sum(counts.values())
        languages = tuple(sorted(name for name, n in counts.items() if n >= whole * LANGUAGE_SHARE))
        self._store.put_value(f"languages:{project.id}", ",".join(languages))
        with self._lock:
            self._languages[project.id] = languages
        return languages

    def recent_folders(self) -> tuple[str, ...]:
        """Working folders seen lately, and the roots of all known projects."""
        with self._lock:
            seen = tuple(self._found)
        roots = (
            project.root for project in self._store.projects() if project.root
        )  # imported ones have none yet
        return tuple(dict.fromkeys((*seen, *roots)))

    def visible(
        self,
        project: ProjectRecord | None,
        *,
        paths: tuple[str, ...] = (),
        languages: tuple[str, ...] = (),
        agent: str = "",
        session: str = "",
        share_preferences: bool = True,
        links: tuple[str, ...] = (),
    ) -> ScopeFilter:
        """What may be seen from `project` while working on `paths`.

        Args:
            project: where the agent works; None sees the universal scope only.
            paths: files at hand, relative to the project root.
            languages: of the situation, beside the project's own.
            agent: agent name, or empty.
            session: `host/id`, or empty.
            share_preferences: whether universal and language scope are visible.
            links: ids of further projects that may be read.
        """
        scopes: list[Scope] = []
        if share_preferences:
            own = self.languages(project) if project else ()
            scopes.append(UNIVERSAL)
            scopes += [Scope(kind=ScopeKind.LANGUAGE, key=name) for name in (*own, *languages)]
        if project is not None:
            scopes.append(project_scope(project.id))
            scopes += path_scopes(project.id, paths)
            scopes += [project_scope(link) for link in (*project.links, *links)]
        if agent:
            scopes.append(Scope(kind=ScopeKind.AGENT, key=agent))
        if session:
            scopes.append(Scope(kind=ScopeKind.SESSION, key=session))
        return ScopeFilter.of(*scopes)

    def relative(self, paths: tuple[str, ...], project: ProjectRecord | None, cwd: str) -> tuple[str, ...]:
        """`paths` relative to the project root, without repeats."""
        if project is None:
            return paths
        return tuple(dict.fromkeys(relative_path(path, root=project.root, cwd=cwd) for path in paths))
