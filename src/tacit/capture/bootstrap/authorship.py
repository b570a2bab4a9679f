"""The lines of a project's file that the user wrote. In: a work tree, a file's path and text. Out: lines. Never runs git.

The user's are: lines that are in no commit yet, and lines that a commit brought which was made in this very clone. The clone's
own record of movements (the reflog) says which commits these are; nobody who pushes can write into it, while the author
that a commit names is free to choose. Where anything cannot be read, no line is the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tacit.capture.bootstrap.git_objects import (
    Unreadable,
    author_of,
    file_at,
    has_commits,
    head_of,
    parents_of,
)
from tacit.session.branches import log_lines
from tacit.session.projects import find_checkout
from tacit.text.lazy_regex import lazy_regex

MAX_COMMITS = 200
"""Newest commits of the user's that are looked at."""
MAX_LOG_BYTES = 400_000
_MADE_HERE = lazy_regex(
    r"(?:commit\b|cherry-pick\b|revert\b|(?:rebase|pull)\b[^:]*\((?:pick|continue|reword|squash|fixup|edit)\))"
)
_ENTRY = lazy_regex(
    r"[0-9a-f]{40,64} (?P<commit>[0-9a-f]{40,64}) .*<(?P<email>[^<>]*)> \d+ [+-]\d{4}\t(?P<action>.*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredLines:
    """The lines that the user added to a file, and removed from it, as `line_key` returns them."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    whole: bool = False
    """All of the file is the user's, and so is every removal."""

    def wrote(self, keys: frozenset[str]) -> bool:
        """Whether all these lines are the user's."""
        return self.whole or keys <= self.added

    def took_out(self, key: str) -> bool:
        """Whether the user removed this line."""
        return self.whole or key in self.removed


def line_key(line: str) -> str:
    """A line as it is compared: without the space around it."""
    return " ".join(line.split())


def lines_of(text: str) -> frozenset[str]:
    """The lines of a text that hold something."""
    return frozenset(key for line in text.splitlines() if (key := line_key(line)))


class Authorship:
    """Answers for the files of one work tree; each commit is read once."""

    def __init__(self, root: Path) -> None:
        """Answer for the work tree at `root`; its git files are read at the first question."""
        self._root = root

    def of(self, path: str, text: str) -> AuthoredLines:
        """Return the user's changes of the file at `path`, whose text is now `text`."""
        if find_checkout(self._root) is None:
            return AuthoredLines(whole=True)
        head = head_of(self._root)
        if head is None:
            return AuthoredLines() if has_commits(self._root) else AuthoredLines(whole=True)
        current_lines = lines_of(text)
        try:
            head_lines = lines_of(file_at(head.objects, head.commit, path))
            added, removed = set(current_lines - head_lines), set(head_lines - current_lines)
            for commit in self._own:
                after = lines_of(file_at(head.objects, commit, path))
                before = [
                    lines_of(file_at(head.objects, parent, path))
                    for parent in parents_of(head.objects, commit)
                ]
                added |= after.difference(*before)
                removed |= frozenset().union(*before) - after if len(before) == 1 else set()
        except Unreadable:
            return AuthoredLines()
        return AuthoredLines(added=frozenset(added), removed=frozenset(removed))

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """The user's newest commits: made in this clone, by the identity that the clone used."""
        head = head_of(self._root)
        if head is None:
            return ()
        commits: dict[str, None] = {}
        for commit, email in self._made_here():
            if len(commits) >= MAX_COMMITS:
                break
            try:
                if author_of(head.objects, commit) == email:
                    commits.setdefault(commit)
            except Unreadable:
                continue  # a commit that was given up and cleaned away
        return tuple(commits)

    def _made_here(self) -> Iterator[tuple[str, str]]:
        """Commits that the reflogs say were made here, newest first, with the e-mail address of who made them."""
        checkout = find_checkout(self._root)
        folders = (checkout.own, checkout.common) if checkout is not None else ()
        for log in dict.fromkeys(folder / "logs" / "HEAD" for folder in folders if folder is not None):
            try:
                lines = log_lines(log, max_bytes=MAX_LOG_BYTES)
            except OSError:
                continue
            for line in reversed(lines):
                entry: re.Match[str] | None = _ENTRY.fullmatch(line)
                if entry is not None and _MADE_HERE.match(entry["action"]):
                    yield entry["commit"], entry["email"]
