"""Proven fixes: something failed, something changed, the same thing succeeded. In: turns. Out: fixes and what is open.

Three ways that a success proves a fix: files were edited in between; another command was run in between that prepares (install,
start, build); or the command was called in another way (`invocations`), for which tests that run and do not pass yet are success
enough. What fails in one session may be fixed in a later one. Ordinary red tests that turn green while a feature is built are no
fixes, nor is an error that itself says which line of the edited file is wrong. Never judges by the agent's words alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tacit.capture.extract.error_lines import (
    error_line,
    is_environment,
    is_misuse,
    is_red_test,
    stopped_from_outside,
)
from tacit.capture.extract.invocations import Correction, find_correction, names_missing
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.reading.commands import main_command, split_commands
from tacit.reading.digest_lines import stems
from tacit.reading.errors import error_signature
from tacit.state.captured import Failure
from tacit.text.lazy_regex import lazy_regex

MAX_OPEN = 12
MAX_COMMAND = 300
MOST_EDITED = 3
"""If more files than this were edited, the fix is kept only where a cause was stated."""
_LOOKING = (
    "ls|cat|grep|rg|find|head|tail|diff|git diff|git status|git log|git show|which|test|pgrep|kill|wc|sed|awk|sleep|stat"
    "|file|ps|curl|"
)
_NOT_WORTH = frozenset(_LOOKING.split("|"))
_READERS = frozenset({"sed", "awk", "cat", "git show", "git diff", "git log"})
"""Programs that only look, whose misuse is worth knowing all the same."""
_STEP = lazy_regex(
    r"(?<![\w-])(?:(?P<prepares>install|add|up|start|init|migrate|generate|mkdir|touch|chmod|login|sync|restore|pull|codegen|reset"
    r"|download|fetch|export|source|setup|tidy|update|prune|clean)|(?P<builds>build|compile)|(?P<tells>test|lint|check|help))(?=[\s:]|$)"
    r"|(?P<asks>--help|--version)(?=\s|$)"
)
"""What a simple command does, by its first word that says so."""
_EDITS = frozenset({"edit", "write"})
_CAUSE = lazy_regex(
    r"\b(?:because|the (?:issue|problem|cause|reason|error) (?:is|was)|caused by|due to|needs? to|requires?|missing"
    r"|expects?|should be|isn'?t|wasn'?t|doesn'?t|must)\b",
    re.IGNORECASE,
)
_INTENTION = lazy_regex(
    r"^(?:(?:ok(?:ay)?|so|now|then|first|right)\b[,.]?\s+)*(?:i(?:'ll| will| need| should| must| have to|'m going)|let(?:'s| me)|we need to|this should)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what the agent does next, and no cause."""
_MISSING = lazy_regex(
    r"not found|no such|(?:cannot|can't|could not) find (?:the )?(?:module|package|file|library)|missing|does not exist|not built|cannot open",
    re.IGNORECASE,
)
_ONCE = lazy_regex(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b")
"""A name that no later call has: a commit, a digest."""
_LOOKS_UP = lazy_regex(
    r"\b(?:brew|apt|apt-get|npm|pnpm|yarn|pip|uv|cargo|gem|dnf|pacman)\s+(?:pip\s+)?(?:info|search|show|list|ls|view|index)\b"
)
_CHANGES_FOLDER = lazy_regex(r"^cd\s+[^\s;&|]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A failure with what made the same thing succeed: edits, commands run before, or another invocation.

    `commit` is what git said of the commit that came next in the session, "" = none.
    """

    failure: Failure
    turn: int
    at_ms: int
    correction: Correction | None = None
    commit: str = ""

    @property
    def essence(self) -> str:
        """The line that says what the error is: see `error_line`."""
        return error_line(self.failure.error)


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
                waiting = _used(use, waiting)
    return tuple(fixes), tuple(waiting[-MAX_OPEN:])


def same_command(left: str, right: str) -> bool:
    """Whether two command lines run the same thing: pipes into filters, redirections and `cd` do not matter."""
    return _bare(left) == _bare(right)


def repeats_command(failed: str, succeeded: str) -> bool:
    """Whether `succeeded` does all that `failed` did: every simple command again, on the same things or on more.

    `lint run ./pkg/a` is done again by `lint run` and by `lint run ./pkg/a && test`, not by `lint run ./pkg/b`.
    """
    if same_command(failed, succeeded):
        return True
    commands = [
        command for command in _simple(failed) if command.name not in _NOT_WORTH and not command.built
    ]
    done = _simple(succeeded)
    return bool(commands) and all(any(later.covers(command) for later in done) for command in commands)


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
    commands: list[_Part] = []
    for text in _parts(_bare(command)):
        name = main_command(text)
        if name:
            words = frozenset(word for word in text.split() if not word.startswith("-"))
            paths = frozenset(word for word in words if "/" in word or "." in word)
            built = text.split()[0].startswith("./")
            commands.append(_Part(name=name, words=words - paths, paths=paths, built=built))
    return commands


def _parts(command: str) -> list[str]:
    return re.split(r"&&|\|\||[;|]", command)


def _bare(command: str) -> str:
    text = re.sub(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+", "", command.strip())
    text = re.sub(r"\s*(?:2>&1|2>/dev/null|>/dev/null)", "", text)
    text = re.sub(r"\s*\|\s*(?:tail|head|grep|cat|less|tee)\b[^|]*", "", text)
    text = re.sub(r"\s*(?:;|&&|\|\|)\s*(?:echo|true)\b.*$", "", text)
    return " ".join(text.split())


def _used(use: ToolUse, waiting: list[Failure]) -> list[Failure]:
    """A tool other than the shell: an edit may fix what waits."""
    if use.failed or use.tool not in _EDITS:
        return waiting
    return [_edited(failure, use) for failure in waiting]


def _edited(failure: Failure, use: ToolUse) -> Failure:
    cause = failure.cause
    if not cause and use.said:
        sentences = (sentence.strip() for sentence in re.split(r"(?<=[.!:])\s+", use.said))
        cause = next(
            (sentence.rstrip(".:") for sentence in sentences if _says_why(sentence, failure, use.paths)), ""
        )
    paths = tuple(path for path in use.paths if path not in failure.edited)
    return replace(failure, edited=(*failure.edited, *paths)[-6:], cause=cause)


def _says_why(sentence: str, failure: Failure, paths: Sequence[str]) -> bool:
    """Whether the sentence gives a cause, and of this failure: it shares a word with the command, the error or a file that is edited.

    In a later session, which may be about anything, it takes two words, and the file does not count.
    """
    if not (_CAUSE.search(sentence) and not _INTENTION.search(sentence) and 4 <= len(sentence.split()) <= 30):
        return False
    concerned = f"{failure.command} {error_line(failure.error) or failure.error}"
    if not failure.elsewhere:
        concerned += " ".join(("", *(re.sub(r"[/\\.]", " ", path) for path in paths)))
    return len(stems(sentence) & stems(concerned)) > failure.elsewhere


def _ran(use: ToolUse, turn: Turn, waiting: list[Failure], fixes: list[Fix]) -> list[Failure]:
    red = use.failed and is_red_test(use.error)
    if use.failed and not red:
        return _failed(use, turn, waiting)
    failing: list[Failure] = []
    for failure in waiting:
        at_ms = turn.at_ms or failure.at_ms
        correction = _corrects(use.command, failure)
        if correction and not (red and correction.difference in ("option", "word")):
            if _looks_up(use.command):
                failing.append(failure)
                continue
            if _ONCE.search(failure.command):
                continue  # nobody calls it so again
            fixes.append(Fix(failure=failure, turn=turn.number, at_ms=at_ms, correction=correction))
            continue
        if repeats_command(failure.command, use.command):
            # Failing otherwise now: what failed before is gone, but nothing proves by what.
            if not red and _proves(failure) and _teaches(failure):
                fixes.append(Fix(failure=failure, turn=turn.number, at_ms=at_ms))
            continue
        if not red and _prepares(use.command, failure):
            failure = replace(failure, prepared=(*failure.prepared, _step(use.command))[-3:])  # noqa: PLW2901
        failing.append(failure)
    return failing


def _looks_up(command: str) -> bool:
    return bool(_LOOKS_UP.search(command)) or main_command(command) in ("which", "type", "whereis")


def _step(command: str) -> str:
    return command.strip() if _CHANGES_FOLDER.match(command.strip()) else _bare(command)


def _prepares(command: str, failure: Failure) -> bool:
    """Whether the command may have helped. Building does where something is missing; testing and formatting never do."""
    if _CHANGES_FOLDER.match(command.strip()):
        return is_environment(failure.error) or is_misuse(failure.error)
    if len(command) > 160 or "\n" in command:
        return False
    does = {match.lastgroup for step in _parts(command) if (match := _STEP.search(step))}
    return "prepares" in does or ("builds" in does and bool(_MISSING.search(failure.error)))


def _proves(failure: Failure) -> bool:
    """Whether something was done since that may have helped; in a later session it must concern what failed."""
    if not failure.elsewhere:
        return bool(failure.prepared) or bool(failure.edited and not _says_where(failure))
    named_paths = [path for path in failure.edited if path.rsplit("/", 1)[-1] in failure.error]
    return bool((named_paths and not _says_where(failure)) or failure.prepared)


def _teaches(failure: Failure) -> bool:
    """Whether the fix is worth telling: not where nothing says what failed, nor where much was edited and nobody said why."""
    if not error_line(failure.error) or _ONCE.search(failure.command):
        return False
    return bool(failure.cause or failure.prepared) or len(failure.edited) <= MOST_EDITED


def _says_where(failure: Failure) -> bool:
    """Whether the error names the line of a file that was edited since, and nobody gave a cause: there is nothing to remember."""
    if failure.cause:
        return False
    names = {path.replace("\\", "/").rsplit("/", 1)[-1] for path in failure.edited}
    return any(
        re.search(rf"(?<![\w.-]){re.escape(name)}[\"']?(?::\d|\(\d|, line \d)", failure.error)
        for name in names
    )


def _failed(use: ToolUse, turn: Turn, waiting: list[Failure]) -> list[Failure]:
    worth = main_command(use.command) not in _NOT_WORTH or (
        is_misuse(use.error) and any(name in _READERS for name in split_commands(use.command))
    )
    if not use.error.strip() or not worth or len(use.command) > MAX_COMMAND or "\n" in use.command:
        return waiting
    signature = error_signature(use.error, command=use.command)
    if " | " not in signature:
        return [failure for failure in waiting if not repeats_command(failure.command, use.command)]
    return _wait(
        waiting,
        Failure(
            command=use.command,
            error=use.error[:1500],
            signature=signature,
            turn=turn.number,
            at_ms=turn.at_ms,
        ),
    )


def _wait(waiting: list[Failure], failure: Failure) -> list[Failure]:
    """`waiting` with `failure`; the same one again counts once more and keeps what was done since."""
    same = [
        failing
        for failing in waiting
        if failing.signature == failure.signature or repeats_command(failing.command, failure.command)
    ]
    again = next((failing for failing in same if failing.signature == failure.signature), None)
    remaining = [failing for failing in waiting if failing not in same]
    if again is None:
        return [*remaining, failure]
    # What was tried before it failed again did not help.
    tried = replace(again, times=again.times + 1, edited=(), prepared=(), elsewhere=False)
    return [
        *remaining,
        tried if again.edited or again.prepared else replace(again, times=again.times + 1, elsewhere=False),
    ]


def _corrects(command: str, failure: Failure) -> Correction | None:
    """Return the mistake in the call of the failed command, if this command does the same work with another call."""
    if len(command) > MAX_COMMAND or "\n" in command or same_words(command, failure.command):
        return None
    missing = bool(names_missing(failure.error))
    if failure.edited and not missing:
        return None  # an edit may have been it
    correction = find_correction(failure.command, failure.error, command)
    if correction is not None:
        return (
            correction
            if not failure.prepared or correction.difference in ("program", "variable", "folder")
            else None
        )
    return None if failure.prepared or failure.elsewhere else _otherwise(command, failure)


def same_words(left: str, right: str) -> bool:
    """Whether two command lines are the same but for spaces."""
    return left.split() == right.split()


def _otherwise(command: str, failure: Failure) -> Correction | None:
    """Misused, and now the same program with other arguments works, with nothing else done in between."""
    program = main_command(command)
    if not is_misuse(failure.error) or names_missing(failure.error) or same_command(failure.command, command):
        return None
    if (
        (program in _NOT_WORTH and program not in _READERS)
        or not program
        or program != main_command(failure.command)
    ):
        return None
    if any(word in ("--help", "-h", "--version") for word in command.split()):
        return None
    return Correction(difference="word", wrong=failure.command, right=command, cause="", whole=command)
