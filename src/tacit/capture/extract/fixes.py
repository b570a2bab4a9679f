"""Verified fixes: something failed, something changed, the same thing succeeded. In: turns. Out: fixes and what is open.

Four ways that a success proves a fix: files were edited in between; another command was run in between that prepares
(install, start, format); the command itself was corrected right after it was misused; or the file was read (again) before an
edit of it. What fails in one session may be fixed in a later one. Ordinary red tests that turn green while a feature is built
are no fixes. Never judges by the agent's words alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tacit.capture.extract.error_lines import (
    error_line,
    host_line,
    is_misuse,
    is_red_test,
    stopped_from_outside,
)
from tacit.capture.turn import ToolUse, Turn
from tacit.late_pattern import late_pattern
from tacit.reading.commands import main_command, split_commands
from tacit.reading.errors import error_signature

MAX_OPEN = 12
MAX_COMMAND = 300
_LOOKING = (
    "ls|cat|grep|rg|find|head|tail|diff|git diff|git status|git log|git show|which|test|pgrep|kill|wc|sed|awk|sleep|stat"
    "|file|ps|curl|"
)
_NOT_WORTH = frozenset(_LOOKING.split("|"))
_READERS = frozenset({"sed", "awk", "cat", "git show", "git diff", "git log"})
"""Programs that only look, whose misuse is worth knowing all the same."""
_PREPARES = late_pattern(
    r"\b(?:install|add|up|start|init|migrate|generate|mkdir|touch|chmod|login|sync|restore|pull|build|codegen|reset"
    r"|download|fetch|export|source|setup|tidy|update|prune|clean|fmt|format|gofmt|goimports|prettier|black|isort|--fix|--write|-w)(?=\s|$)"
)
_MISSING_PROGRAM = late_pattern(
    r"command not found: (?P<zsh>[\w.+-]+)|(?<![\w.+-])(?P<bash>[A-Za-z][\w.+-]*): (?:command )?not found(?!:)"
)
_EDITS = frozenset({"edit", "write"})
_CAUSE = late_pattern(
    r"\b(?:because|the (?:issue|problem|cause|reason|error) (?:is|was)|caused by|due to|needs? to|requires?|missing"
    r"|expects?|should be|isn'?t|wasn'?t|doesn'?t|must)\b",
    re.IGNORECASE,
)
_READ = "reading the file"
UNKNOWN = "?"
"""The file of a call whose transcript does not name it; it may be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that failed and has not succeeded since.

    Attributes:
        command: the command line; for another tool its name.
        error, signature: what it said, shortened, and the stable form of that.
        turn, at_ms: when it failed first.
        edited, prepared: what was done since: files edited, commands run (or steps taken).
        cause: the agent's own words for the cause, where a sentence gave one.
        times: how often it failed so.
        path: for a tool on a file, that file.
        elsewhere: it failed in an earlier session.
    """

    command: str
    error: str
    signature: str
    turn: int
    at_ms: int
    edited: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    cause: str = ""
    times: int = 1
    path: str = ""
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A failure with what made the same thing succeed: edits, commands run before, or the corrected command.

    `commit` is what git said of the commit that came next in the session, "" = none.
    """

    failure: Failure
    turn: int
    at_ms: int
    corrected: str = ""
    commit: str = ""

    @property
    def essence(self) -> str:
        """What the error is: see `error_line`."""
        return host_line(self.failure.error) if self.failure.path else error_line(self.failure.error)


def find_fixes(
    turns: Iterable[Turn], open_before: Sequence[Failure] = ()
) -> tuple[tuple[Fix, ...], tuple[Failure, ...]]:
    """Verified fixes in `turns`, and the failures that are still open after them (oldest first, at most 12)."""
    waiting = list(open_before)
    fixes: list[Fix] = []
    for turn in turns:
        for use in turn.tools:
            if not use.finished or (use.failed and stopped_from_outside(use.error)):
                continue
            if use.tool == "bash":
                waiting = _ran(use, turn, waiting, fixes)
                if use.commit:
                    fixes[:] = [fix if fix.commit else replace(fix, commit=use.commit) for fix in fixes]
            else:
                waiting = _used(use, turn, waiting, fixes)
    return tuple(fixes), tuple(waiting[-MAX_OPEN:])


def same_command(left: str, right: str) -> bool:
    """Whether two command lines run the same thing: pipes into filters, redirections and `cd` do not matter."""
    return _bare(left) == _bare(right)


def does_again(failed: str, succeeded: str) -> bool:
    """Whether `succeeded` does all that `failed` did: every simple command again, on the same things or on more.

    `lint run ./pkg/a` is done again by `lint run` and by `lint run ./pkg/a && test`, not by `lint run ./pkg/b`.
    """
    if same_command(failed, succeeded):
        return True
    asked = [part for part in _simple(failed) if part.name not in _NOT_WORTH and not part.built]
    done = _simple(succeeded)
    return bool(asked) and all(any(other.covers(part) for other in done) for part in asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A simple command: its name, its words, the paths it is done to (none = all), and whether it runs what was just built."""

    name: str
    words: frozenset[str]
    paths: frozenset[str]
    built: bool

    def covers(self, other: _Part) -> bool:
        everywhere = not self.paths or bool(self.paths & {".", "./..."})
        return (self.name, self.words) == (other.name, other.words) and (
            everywhere or other.paths <= self.paths
        )


def _simple(command: str) -> list[_Part]:
    """The simple commands of a line; options and redirections left out."""
    found: list[_Part] = []
    for part in re.split(r"&&|\|\||[;|]", _bare(command)):
        name = main_command(part)
        if name:
            words = frozenset(word for word in part.split() if not word.startswith("-"))
            paths = frozenset(word for word in words if "/" in word or "." in word)
            built = part.split()[0].startswith("./")
            found.append(_Part(name=name, words=words - paths, paths=paths, built=built))
    return found


def _bare(command: str) -> str:
    text = re.sub(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+", "", command.strip())
    text = re.sub(r"\s*(?:2>&1|2>/dev/null|>/dev/null)", "", text)
    text = re.sub(r"\s*\|\s*(?:tail|head|grep|cat|less|tee)\b[^|]*", "", text)
    text = re.sub(r"\s*(?:;|&&|\|\|)\s*(?:echo|true)\b.*$", "", text)
    return " ".join(text.split())


def _used(use: ToolUse, turn: Turn, waiting: list[Failure], fixes: list[Fix]) -> list[Failure]:
    """A tool other than the shell: an edit may fix what waits; a tool that failed on a file waits for that file."""
    path = use.paths[0] if use.paths else ""
    if use.failed:
        signature = error_signature(use.error, command=use.tool)
        if not signature or use.tool not in _EDITS:
            return waiting  # what a look-up does not find is no failure
        return _wait(waiting, Failure(command=use.tool, error=use.error[:1500], signature=signature, turn=turn.number,
                                      at_ms=turn.at_ms, path=path or UNKNOWN))  # fmt: skip
    kept: list[Failure] = []
    for failure in waiting:
        if failure.path and (failure.path == path or UNKNOWN in (failure.path, path or UNKNOWN)):
            if use.tool == "read":
                failure = replace(failure, prepared=(_READ,), path=path or UNKNOWN)  # noqa: PLW2901
            elif use.tool == failure.command:
                if failure.prepared:
                    fixes.append(Fix(failure=failure, turn=turn.number, at_ms=turn.at_ms or failure.at_ms))
                continue
        kept.append(_edited(failure, use) if use.tool in _EDITS and not failure.path else failure)
    return kept


def _edited(failure: Failure, use: ToolUse) -> Failure:
    cause = failure.cause
    if not cause and use.said:
        first = next((s for s in re.split(r"(?<=[.!:])\s+", use.said) if _CAUSE.search(s)), "")
        cause = first.strip().rstrip(".:") if 4 <= len(first.split()) <= 30 else ""
    paths = tuple(path for path in use.paths if path not in failure.edited)
    return replace(failure, edited=(*failure.edited, *paths)[-6:], cause=cause)


def _ran(use: ToolUse, turn: Turn, waiting: list[Failure], fixes: list[Fix]) -> list[Failure]:
    if use.failed:
        return _failed(use, turn, waiting)
    kept: list[Failure] = []
    for failure in waiting:
        at_ms = turn.at_ms or failure.at_ms
        corrected = _corrects(use.command, failure) and not same_command(failure.command, use.command)
        if not corrected and not failure.path and does_again(failure.command, use.command):
            if _proves(failure):
                fixes.append(Fix(failure=failure, turn=turn.number, at_ms=at_ms))
            continue
        if corrected:
            fixes.append(Fix(failure=failure, turn=turn.number, at_ms=at_ms, corrected=use.command))
            continue
        if not failure.path and _prepares(use.command):
            failure = replace(failure, prepared=(*failure.prepared, _bare(use.command))[-3:])  # noqa: PLW2901
        kept.append(failure)
    return kept


def _prepares(command: str) -> bool:
    return len(command) <= 160 and "\n" not in command and bool(_PREPARES.search(command))


def _proves(failure: Failure) -> bool:
    """Whether something was done since that may have helped; in a later session it must concern what failed."""
    if not failure.elsewhere:
        return bool(failure.edited or failure.prepared)
    named = [path for path in failure.edited if path.rsplit("/", 1)[-1] in failure.error]
    return bool(named or failure.prepared)


def _failed(use: ToolUse, turn: Turn, waiting: list[Failure]) -> list[Failure]:
    worth = main_command(use.command) not in _NOT_WORTH or (
        is_misuse(use.error) and any(name in _READERS for name in split_commands(use.command))
    )
    if not use.error.strip() or not worth or len(use.command) > MAX_COMMAND or "\n" in use.command:
        return waiting
    signature = error_signature(use.error, command=use.command)
    if is_red_test(use.error) or " | " not in signature:
        # Failing otherwise now: what failed before is gone, but nothing proves by what.
        return [
            failure for failure in waiting if failure.path or not does_again(failure.command, use.command)
        ]
    return _wait(waiting, Failure(command=use.command, error=use.error[:1500], signature=signature, turn=turn.number,
                                  at_ms=turn.at_ms))  # fmt: skip


def _wait(waiting: list[Failure], failure: Failure) -> list[Failure]:
    """`waiting` with `failure`; the same one again counts once more and keeps what was done since."""
    same = [
        one
        for one in waiting
        if one.path == failure.path
        and (one.signature == failure.signature or does_again(one.command, failure.command))
    ]
    again = next((one for one in same if one.signature == failure.signature), None)
    kept = [one for one in waiting if one not in same]
    if again is None:
        return [*kept, failure]
    # What was tried before it failed again did not help.
    tried = replace(again, times=again.times + 1, edited=(), prepared=(), elsewhere=False)
    return [
        *kept,
        tried if again.edited or again.prepared else replace(again, times=again.times + 1, elsewhere=False),
    ]


def _corrects(command: str, failure: Failure) -> bool:
    """Misused, and now the same program with other arguments works, with nothing else done in between."""
    if (
        failure.path
        or failure.edited
        or failure.prepared
        or len(command) > MAX_COMMAND
        or "\n" in command
        or not is_misuse(failure.error)
    ):
        return False
    missing = _MISSING_PROGRAM.search(failure.error)
    if missing:
        return _stands_in(command, failure.command, missing["zsh"] or missing["bash"])
    program = main_command(command)
    if program in _NOT_WORTH and program not in _READERS:
        return False
    return bool(program) and program == main_command(failure.command)


def _stands_in(command: str, failed: str, missing: str) -> bool:
    """Whether `command` is the failed one with another program of the family in the place of the missing one."""
    family = re.match(r"[A-Za-z_]+", missing)
    stem = family[0] if family else missing
    if not re.search(rf"(?<![\w.-]){re.escape(missing)}(?![\w.-])", failed):
        return False
    ours = re.findall(rf"(?<![\w./-]){re.escape(stem)}[\d.]*(?![\w-])", command)
    return bool(ours) and missing not in ours
