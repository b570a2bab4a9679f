"""Questions to git about a repository. In: its git folder. Out: what a plumbing command prints, or None.

A repository's configuration can name programs (`core.fsmonitor`, a pager, a transport), and a folder that somebody only opened must not get to run one.
So git reads no configuration of the user or the system, asks nobody, fetches nothing and locks nothing, and only plumbing commands that start no
other program are run. Where git is absent, fails, takes too long or says too much, there is no answer.

Source: git(1), git-config(1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Timer
from typing import Literal

from tacit.frozen import frozen
from tacit.system.processes import group_options

MAX_BYTES = 16_000_000
TIMEOUT_S = 10.0
Command = Literal[
    "cat-file",
    "config",
    "diff-tree",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "reflog",
    "rev-list",
    "symbolic-ref",
]
"""The plumbing commands that may be run. `_SAFE` adds options to two of them, so that they start no other program."""
_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "core.alternateRefsCommand="),
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_SAFE: dict[Command, tuple[str, ...]] = {
    "diff-tree": ("--no-ext-diff", "--no-textconv"),
    "reflog": ("show", "--no-patch", "--no-show-signature"),
}
_FIELDS = "%H%x00%P%x00%ct%x00%ae%x00%B%x00"


@frozen
class Commit:
    """A commit. `at_s` = when it was committed, in seconds since the epoch; `author` = the e-mail address of its author."""

    id: str
    parents: tuple[str, ...]
    message: str
    at_s: int = 0
    author: str = ""


@frozen
class LogEntry:
    """An entry of a reference's reflog: `ref` = the reference; `commit` = where it pointed afterwards; `email` = who moved it; `action` = what git did."""

    ref: str
    commit: str
    email: str
    action: str


@frozen
class Repository:
    """Runs git in one repository, given by its git folder and its work tree (absolute paths).

    A question that git cannot answer gives None.
    """

    folder: Path
    work_tree: Path

    def ask(
        self,
        command: Command,
        *arguments: str,
        stdin: bytes = b"",
        most_bytes: int = MAX_BYTES,
        timeout_s: float = TIMEOUT_S,
        cut: bool = False,
    ) -> bytes | None:
        """Run a plumbing command of git and return what it prints; None = git is absent, failed, took too long or printed too much. Blocks.

        Args:
            command: the command.
            arguments: its arguments. What comes from a repository belongs behind `--` or into `stdin`.
            stdin: its input.
            most_bytes: the longest answer; a longer one gives None.
            timeout_s: how long git may take.
            cut: return the first `most_bytes` of a longer answer instead of None.
        """
        program = shutil.which("git")
        # A relative path would lie in the folder that is looked at.
        if program is None or not Path(program).is_absolute():
            return None
        safe = _SAFE.get(command, ())
        place = (f"--git-dir={self.folder}", f"--work-tree={self.work_tree}")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    [program, *_OPTIONS, *place, command, *safe, *arguments],
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=self.work_tree,
                    env=environment | _ENVIRONMENT,
                    **group_options(),
                )
            except (OSError, ValueError):
                return None
            late = Timer(timeout_s, process.kill)
            late.daemon = True
            late.start()
            with process:
                assert process.stdout is not None
                out = process.stdout.read(most_bytes + 1)
                whole = len(out) <= most_bytes
                if not whole:
                    process.kill()
            late.cancel()
        if not whole:
            return out[:most_bytes] if cut else None
        return out if process.returncode == 0 else None

    def commits(self, *revisions: str, most: int, options: Iterable[str] = ()) -> tuple[Commit, ...] | None:
        """Return at most `most` commits that `revisions` reach, in the order of `git rev-list`; None = they cannot be read."""
        out = self.ask(
            "rev-list",
            f"--format={_FIELDS}",
            "--encoding=UTF-8",
            f"-n{most}",
            *options,
            *revisions,
            "--",
        )
        return None if out is None else tuple(_commits(out.decode("utf-8", "replace")))

    def log_of(self, ref: str, *, most: int) -> tuple[LogEntry, ...]:
        """Return at most `most` entries of a reference's reflog, newest first; `ref` may be `--branches`, for all branches. Empty if there is none."""
        out = self.ask("reflog", f"-n{most}", "--format=%gD%x00%H%x00%ge%x00%gs%x00", ref, "--") or b""
        fields = iter(out.decode("utf-8", "replace").split("\0"))
        return tuple(
            LogEntry(ref=name.lstrip("\n").rpartition("@{")[0], commit=commit, email=email, action=action)
            for name, commit, email, action in zip(fields, fields, fields, fields, strict=False)
        )

    def refs(self, *patterns: str, timeout_s: float = TIMEOUT_S) -> dict[str, tuple[str, str]] | None:
        """Return reference name -> (id of its object, name of the reference it points to or "") for those that match `patterns`; None = git failed."""
        out = self.ask(
            "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", *patterns, timeout_s=timeout_s
        )
        if out is None:
            return None
        lines = (line.split("\0") for line in out.decode("utf-8", "replace").splitlines())
        return {name: (commit, symbolic) for name, commit, symbolic in lines}

    def objects(self, names: Iterable[bytes]) -> dict[bytes, bytes | None] | None:
        """Return name -> content of each git object, None for one that is not here; None instead of the dictionary = git failed."""
        asked = tuple(dict.fromkeys(names))
        if any(b"\n" in name for name in asked):
            return None
        out = self.ask("cat-file", "--batch", stdin=b"".join(name + b"\n" for name in asked))
        if out is None:
            return None
        found: dict[bytes, bytes | None] = {}
        at = 0
        for name in asked:
            end = out.find(b"\n", at)
            size = out[at:end].rpartition(b" ")[2]
            at = end + 1
            found[name] = out[at : at + int(size)] if size.isdigit() else None
            at += int(size) + 1 if size.isdigit() else 0
        return found


def _commits(text: str) -> Iterator[Commit]:
    fields = iter(text.split("\0"))
    for head, parents, at_s, author, message in zip(fields, fields, fields, fields, fields, strict=False):
        name = head.rpartition("\n")[2]  # before the id, git writes a line of its own
        yield Commit(
            id=name,
            parents=tuple(parents.split()),
            message=message,
            at_s=int(at_s) if at_s.isdigit() else 0,
            author=author,
        )
