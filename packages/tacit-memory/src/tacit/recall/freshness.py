"""Do the files a memory speaks of still look as it says? A probe: done by the pipeline before the pure stages.

In: candidates and the project's root. Out: the same candidates, each with what was found (`Candidate.freshness`). What is
not known (no root, no file named, a path outside the root) counts as fresh. Never reads more than a `stat` for a path,
and, for a memory that says where a symbol lives, one named file of at most `MAX_BYTES`; never follows a path out of the
root. What was found is kept for `KEPT_S` seconds, a file's words as long as the file has not changed.

    gone      every file the memory names is gone, while the first folder of its path is there (else the path may
              be meant from a folder below the root, and nothing is known)
    moved     its one file is there, and none of the symbols it names stands in it any more
    changed   its one file was written after the memory was last confirmed

A memory that a team shares is marked if the team's server was not reached for `UNHEARD_MS`: the team may have changed it since.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from time import monotonic

from tacit.model.evidence import Candidate, Freshness
from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import Memory
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.state.registry import TEAMS_HEARD
from tacit.system.files import open_handle
from tacit.text.tokens import SOURCE_NAME

UNHEARD_MS = 86_400_000
"""After this time without the server, an answer says when it was last reached."""
MAX_PROBED = 64
"""So many candidates are looked at, best first; the others count as fresh."""
MAX_FILES = 4
"""A memory that names more is about a whole area, not about these files."""
MAX_BYTES = 262_144
KEPT_S = 5.0
MAX_KEPT = 4_096


@dataclass(frozen=True, slots=True)
class _Seen:
    """What `stat` said: times in milliseconds; `size` -1 = no regular file."""

    there: bool
    changed_ms: int = 0
    size: int = -1


class FreshnessProbe:
    """Looks at files, and remembers for a moment what it saw. Safe to use from several threads."""

    def __init__(self, *, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._seen: dict[str, tuple[float, _Seen]] = {}
        self._lock = Lock()

    def probe(
        self, candidates: Sequence[Candidate], *, root: str, least: float = 0.0
    ) -> tuple[Candidate, ...]:
        """Add what the files say.

        Args:
            candidates: scored, best first.
            root: the project's root, absolute, or "" where it is not known.
            least: relevance below which nobody asks about a candidate's files.
        """
        with_files = [c for c in candidates if c.memory.files and c.relevance >= least]
        if not root or not with_files or not self._look(root).there:
            return tuple(candidates)
        marked: list[Candidate] = []
        probed = 0
        for candidate in candidates:
            state: Freshness = ""
            if candidate.memory.files and candidate.relevance >= least and probed < MAX_PROBED:
                probed += 1
                state = self._state(candidate.memory, root)
            marked.append(replace(candidate, freshness=state) if state else candidate)
        return tuple(marked)

    def look(self, tools: Tools, state: RecallState) -> Outcome[RecallState]:
        """The scored candidates with what their files say; of a team's with when its server was last reached, if that is long ago."""
        scored = self.probe(state.scored or (), root=state.context.root, least=state.threshold)
        if any(candidate.memory.provenance.team for candidate in scored):
            heard_ms = TEAMS_HEARD.read(tools.store)
            if heard_ms and state.query.at_ms - heard_ms >= UNHEARD_MS:
                scored = tuple(
                    replace(candidate, heard_at_ms=heard_ms)
                    if candidate.memory.provenance.team
                    else candidate
                    for candidate in scored
                )
        return Outcome(kept=state.changed(scored=scored))

    def _state(self, memory: Memory, root: str) -> Freshness:
        paths = [_inside(root, name) for name in memory.files[:MAX_FILES]]
        if not all(paths) or len(memory.files) > MAX_FILES:
            return ""
        states = [self._look(path) for path in paths]
        if not any(state.there for state in states):
            return "gone" if all(self._was_here(root, name) for name in memory.files) else ""
        if not BUILTIN_KINDS.of_stored(memory.kind).describes_code or len(paths) > 1 or states[0].size < 0:
            return ""
        symbols = [e.key for e in memory.entities if e.kind == "symbol"]
        if (
            symbols
            and 0 < states[0].size <= MAX_BYTES
            and not _holds(paths[0], states[0].changed_ms, symbols)
        ):
            return "moved"
        return "changed" if states[0].changed_ms > memory.updated_at_ms else ""

    def _was_here(self, root: str, name: str) -> bool:
        """Whether a missing file would be below this root: its first folder is. A bare name may be in any folder."""
        first, slash, _ = name.replace("\\", "/").removeprefix("./").partition("/")
        return bool(slash) and self._look(f"{root.rstrip('/')}/{first}").there

    def _look(self, path: str) -> _Seen:
        now = monotonic()
        with self._lock:
            cached = self._seen.get(path)
        if cached is not None and now - cached[0] < self._kept_s:
            return cached[1]
        try:
            file_stat = os.stat(path)  # noqa: PTH116 - a `Path` takes longer to make than the system to answer
        except (OSError, ValueError):
            file_state = _Seen(there=False)
        else:
            size = file_stat.st_size if stat.S_ISREG(file_stat.st_mode) else -1
            file_state = _Seen(there=True, changed_ms=file_stat.st_mtime_ns // 1_000_000, size=size)
        with self._lock:
            if len(self._seen) >= MAX_KEPT:
                self._seen.clear()
            self._seen[path] = (now, file_state)
        return file_state


def _inside(root: str, name: str) -> str:
    """The absolute path of `name` below `root`; "" where it is a pattern, no relative path, or leads out of it."""
    plain = name.replace("\\", "/").rstrip("/")
    if (
        not plain
        or plain.startswith(("/", "~"))
        or ":" in plain[:3]
        or any(mark in plain for mark in "*?[{<")
    ):
        return ""
    if ".." in plain.split("/"):
        return ""
    return f"{root.rstrip('/')}/{plain}"


def _holds(path: str, changed_ms: int, symbols: Iterable[str]) -> bool:
    """Whether one of `symbols` (lower case, perhaps dotted) stands in the file; True where it cannot be read."""
    words = _words(path, changed_ms)
    return not words or any(symbol.removesuffix("()").rsplit(".", 1)[-1] in words for symbol in symbols)


@lru_cache(maxsize=64)
def _words(path: str, changed_ms: int) -> frozenset[str]:
    """Identifiers of a file, lower case; empty where it cannot be read. `changed_ms` is part of the key only."""
    del changed_ms
    try:
        # Not blocking: what looked like a file may have become a pipe since.
        descriptor = open_handle(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES)
    except OSError:
        return frozenset()
    return frozenset(SOURCE_NAME.findall(data.decode("utf-8", "replace").lower()))
