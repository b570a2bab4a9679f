"""Settings that follow their files while the daemon runs.

In: a home and, per request, a project root and an agent. Out: the settings that hold now. Looks at size and time of
the files at most once a second and reads them only when one changed. What became wrong in a user's file changes nothing:
the last good value of that key stays, and of all keys where the file cannot be read or a key decides about many; the log
has each problem once. A wrong project file loses its wrong keys only, so that no project can hold on to settings that the
user has changed. Starts no thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from tacit.config.home import Home
from tacit.config.layers import SettingsReport, project_file_of, read_settings, with_value
from tacit.config.settings import Settings

_Stamp = tuple[tuple[int, int, int] | None, ...]
_MOST_PROJECTS = 64
_CHECK_EVERY_S = 1.0
"""Seconds between two checks whether the files have changed."""
_DECIDE_ABOUT_MANY = ("", "agents", "capture", "kinds", "preset", "privacy", "projects")
"""If one of these is wrong, or the whole file (""), nothing is taken from it: what it protects or decides cannot be told."""

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    stamp: _Stamp
    report: SettingsReport
    last_good: SettingsReport | None
    checked_at_s: float = 0.0


class SettingsWatcher:
    """Gives the current settings of a project and an agent, and reads changed files again. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        *,
        overrides: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch the files of `home`.

        Args:
            home: whose `config.yaml` is watched.
            overrides: the caller's own values, the topmost layer.
            environ: the environment; None = the process's own.
            monotonic_s: where seconds come from.
        """
        self._home = home
        self._overrides = overrides
        self._environ = environ
        self._monotonic_s = monotonic_s
        self._watched: OrderedDict[tuple[str, str], _Watched] = OrderedDict()
        self._lock = threading.Lock()

    def current(self, project_root: Path | str | None = None, *, agent: str = "") -> Settings:
        """Return the settings that hold now. Never raises for the content of a file."""
        return self.report(project_root, agent=agent).settings

    def report(self, project_root: Path | str | None = None, *, agent: str = "") -> SettingsReport:
        """Return the settings that hold now, with the layer of each value. Changed files are noticed after at most a second.

        While the user's changed file is wrong the settings are the last good ones, and the warnings are the new ones.
        """
        with self._lock:
            key = (str(project_root or ""), agent)
            now_s = self._monotonic_s()
            watched = self._watched.get(key)
            if watched is not None and now_s - watched.checked_at_s < _CHECK_EVERY_S:
                return watched.report
            root = Path(project_root) if project_root else None
            stamp = self._stamp(root)
            if watched is None or stamp != watched.stamp:
                watched = self._renew(watched, stamp, root, agent)
                self._watched[key] = watched
                if len(self._watched) > _MOST_PROJECTS:
                    self._watched.popitem(last=False)
            watched.checked_at_s = now_s
            return watched.report

    def look_again(self) -> None:
        """Check the files at the next call, even if they were just checked: this process has written them."""
        with self._lock:
            for watched in self._watched.values():
                watched.checked_at_s = float("-inf")

    def _renew(
        self, before: _Watched | None, stamp: _Stamp, project_root: Path | None, agent: str
    ) -> _Watched:
        report = read_settings(
            self._home, project_root, agent=agent, overrides=self._overrides, environ=self._environ
        )
        if before is not None:
            known = {str(warning) for other in self._watched.values() for warning in other.report.warnings}
            for warning in report.warnings:
                if str(warning) not in known:
                    _LOG.warning("settings: %s", warning)
        if not report.wrong_keys:
            return _Watched(stamp=stamp, report=report, last_good=report)
        last_good = before.last_good if before is not None else None
        if last_good is not None:
            report = _with_last_good(report, last_good)
        return _Watched(stamp=stamp, report=report, last_good=last_good)

    def _stamp(self, project_root: Path | None) -> _Stamp:
        files = [self._home.config_file, self._home.unrelated_cosines_file, self._home.levels_file]
        project_file = project_file_of(self._home, project_root)
        if project_file is not None:
            files.append(project_file)
        return tuple(_stamp_of(path) for path in files)


def _with_last_good(report: SettingsReport, last_good: SettingsReport) -> SettingsReport:
    """Return the report with the last good values of its wrong keys and of what lies below them; of all keys if one of them decides about many."""
    settings, origins = report.settings, dict(report.origins)
    for wrong in report.wrong_keys:
        if wrong.partition(".")[0] in _DECIDE_ABOUT_MANY:
            return replace(report, settings=last_good.settings, origins=last_good.origins)
        for key in origins:
            if key == wrong or key.startswith(f"{wrong}."):
                path = key.split(".")
                settings = with_value(settings, path, reduce(getattr, path, last_good.settings))
                origins[key] = last_good.origins[key]
    return replace(report, settings=settings, origins=origins)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)
