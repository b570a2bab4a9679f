"""The lines of a project's file that the user wrote. In: a work tree, a file's path and text. Out: lines.

The user's are: lines that are in no commit yet, and lines that a commit brought which was made in this very clone. The clone's
own record of movements (the reflog) says which commits these are; nobody who pushes can write into it, while the author
that a commit names is free to choose. Where anything cannot be read, no line is the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tacit.session.projects import find_checkout, git_at
from tacit.system.git import Git
from tacit.text.decoding import decode_text
from tacit.text.lazy_regex import lazy_regex

MAX_COMMITS = 200
"""Newest commits of the user's that are looked at."""
MAX_LOGGED = 5_000
MAX_FILE_BYTES = 200_000
_MADE_HERE = lazy_regex(
    r"(?:commit\b|cherry-pick\b|revert\b|(?:rebase|pull)\b[^:]*\((?:pick|continue|reword|squash|fixup|edit)\))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthoredLines:
    """The lines that the user added to a file, and removed from it, as `line_key` returns them."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    whole: bool = False
    """All of the file is the user's, and so is every removal."""

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
    """Answers for the files of one work tree; git's log is read once."""

    def __init__(self, root: Path) -> None:
        """Answer for the work tree at `root`; git is asked at the first question."""
        self._root = root

    def of(self, path: str, text: str) -> AuthoredLines:
        """Return the user's changes of the file at `path`, whose text is now `text`."""
        if find_checkout(self._root) is None:
            return AuthoredLines(whole=True)
        git = self._git
        if git is None or git.commits("HEAD", most=1) is None:
            # Without HEAD it is no repository, whatever its name; without a commit, nobody else wrote anything.
            new = git is not None and (not (git.folder / "HEAD").exists() or git.refs("--count=1") == {})
            return AuthoredLines(whole=new)
        changes = self._changes(git, path)
        blobs = _lines_of_blobs(git, {blob for change in changes for blob in change}) if changes else None
        if blobs is None:
            return AuthoredLines()
        current_lines = lines_of(text)
        (head,), *own = changes
        added, removed = set(current_lines - blobs[head]), set(blobs[head] - current_lines)
        for *parents, blob in own:
            before = [blobs[parent] for parent in parents]
            added |= blobs[blob].difference(*before)
            removed |= before[0] - blobs[blob] if len(before) == 1 else set()
        return AuthoredLines(added=frozenset(added), removed=frozenset(removed))

    def _changes(self, git: Git, path: str) -> list[tuple[str, ...]]:
        """The file's blob in HEAD, then of each of the user's commits that changed it the blobs in its parents and its own; empty = they cannot be read."""
        listed = git.ask("ls-tree", "-z", "HEAD", "--", path)
        diffs = git.ask(
            "diff-tree", "--stdin", "-c", "-r", "--root", "--raw", "--no-renames", "--no-abbrev", "-z", "--", path,
            stdin="".join(f"{commit}\n" for commit in self._own).encode(),
        )  # fmt: skip
        if listed is None or diffs is None:
            return []
        changes: list[tuple[str, ...]] = [
            (listed.partition(b"\t")[0].split()[-1].decode() if listed else "",)
        ]
        for field in diffs.decode("utf-8", "replace").split("\0"):
            if field.startswith(
                ":"
            ):  # `:` for each parent, a mode for each parent and for the commit, their blobs, what was done
                parents = len(field) - len(field.lstrip(":"))
                words = field.lstrip(":").split(" ")
                changes.append(
                    tuple(blob.strip("0") and blob for blob in words[parents + 1 : 2 * parents + 2])
                )
        return changes

    @cached_property
    def _git(self) -> Git | None:
        return git_at(self._root)

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """The user's newest commits: made in this clone, by the identity that the clone used."""
        git = self._git
        checkout = find_checkout(self._root)
        if git is None or checkout is None:
            return ()
        logs = ("HEAD",) if checkout.own == checkout.common else ("HEAD", "main-worktree/HEAD")
        entries = [
            entry
            for log in logs
            for entry in git.log_of(log, most=MAX_LOGGED)
            if _MADE_HERE.match(entry.action)
        ]
        known = git.objects(entry.commit.encode() for entry in entries) or {}
        own = (
            entry.commit for entry in entries if _author_of(known.get(entry.commit.encode())) == entry.email
        )
        return tuple(dict.fromkeys(own))[:MAX_COMMITS]


def _author_of(commit: bytes | None) -> str:
    """The e-mail address that a commit names as its author's."""
    head = (commit or b"").partition(b"\n\n")[0].decode("utf-8", "replace")
    line = next((line for line in head.split("\n") if line.startswith("author ")), "")
    return line.rpartition("<")[2].partition(">")[0]


def _lines_of_blobs(git: Git, blobs: set[str]) -> dict[str, frozenset[str]] | None:
    """The lines of each blob, "" = no file; None = one cannot be read, or is larger than anybody writes."""
    found = git.objects(blob.encode() for blob in sorted(blobs) if blob)
    lines: dict[str, frozenset[str]] = {"": frozenset()}
    for blob, raw in (found or {}).items():
        if raw is None or len(raw) > MAX_FILE_BYTES:
            return None
        lines[blob.decode()] = lines_of(decode_text(raw))
    return lines if found is not None else None
