"""Verified fixes: a command failed, something changed, the same command succeeded. In: turns. Out: fixes and what is open.

Three ways that a success proves a fix: files were edited in between; another command was run in between that prepares
(install, start, create); or the command itself was corrected right after a usage error. Ordinary red tests that turn
green while a feature is built are no fixes. Never judges by the agent's words alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tacit.capture.turn import ToolUse, Turn
from tacit.reading.commands import main_command
from tacit.reading.errors import error_signature

MAX_OPEN = 12
_LOOKING = (
    "ls|cat|grep|rg|find|head|tail|diff|git diff|git status|git log|git show|which|test|pgrep|kill|wc|sed|awk|sleep|stat"
    "|file|ps|curl|"
)
_NOT_WORTH = frozenset(_LOOKING.split("|"))
_RED_TEST = re.compile(
    r"AssertionError|assert(?:ion)? failed|\bexpected\b.{0,80}\b(?:got|received|but|to (?:equal|be))\b|^--- FAIL|^FAILED "
    r"|^E\s+assert|\d+ (?:tests? )?failed|Expected:|✗|✕",
    re.MULTILINE | re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"ModuleNotFoundError|ImportError|Cannot find module|command not found|No such file|EADDRINUSE|address already in use"
    r"|ECONNREFUSED|connection refused|permission denied|EACCES|not installed|could not (?:find|connect|resolve|open)"
    r"|cannot connect|missing|no required module|unable to|does not exist|not a git repository|environment variable"
    r"|unsupported|incompatible|version|deadlock|locked|timed? ?out",
    re.IGNORECASE,
)
_USAGE = re.compile(
    r"unknown (?:option|flag|command|argument|shorthand)|unrecogni[sz]ed|usage:|invalid (?:option|argument|flag)"
    r"|missing required|no such (?:option|command|file)|command not found|did you mean|not a (?:valid|git) "
    r"|unexpected argument|bad flag|is not defined|requires? (?:an? )?(?:argument|value)",
    re.IGNORECASE,
)
_PREPARES = re.compile(
    r"\b(?:install|add|up|start|init|migrate|generate|mkdir|touch|chmod|login|sync|restore|pull|build|codegen|reset"
    r"|download|fetch|export|source|setup|tidy|update|prune|clean)\b"
)
_NOISE = re.compile(
    r"^(?:Exit code \d+|\s*|\s*\^+\s*|\s*~+\s*|npm (?:ERR|error).*log.*|.*complete log of this run.*)$"
)
_TELLING = re.compile(
    r"error|fail|cannot|can't|could not|not found|no such|denied|refused|missing|unknown|invalid|undefined|unable|panic",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_NAMED = r"(?:[a-z_]\w*[.:]+)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Panic|NotFound|Timeout)"
_SHAPE = re.compile(
    rf"\b(?P<name>{_NAMED})\b(?::\s*(?P<said>.*))?$"
    r"|^(?P<place>(?:[A-Z]:)?[\w@.+/\\-]+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):)\s*(?P<at>.+)$"
    r"|(?:^|\s)(?P<mark>(?:fatal|error|panic|npm ERR!)(?:\s?\[[\w-]+\]|\s[A-Z]{1,5}\d{2,5})?:?)\s+(?P<told>.+)$",
)
_ORDER = re.compile(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\b(?:curl|wget)\b|\b[a-z]+://(?!localhost|127\.)|\b(?:agents?|assistants?|AI|LLM|SYSTEM"
    r"|instructions?|prompts?|ignore (?:all|any|the|previous)|you (?:must|should|need|have|are|may)|must (?:now )?(?:run|execute"
    r"|call|use)|please|always|never|remember|important)\b|^\W*(?:run|execute|download|install|ignore|delete|remove|add|use"
    r"|send|call|follow|disable|try|to (?:fix|add|solve|resolve|continue))\b",
    re.IGNORECASE,
)
MAX_ESSENCE = 160
_CAUSE = re.compile(
    r"\b(?:because|the (?:issue|problem|cause|reason|error) (?:is|was)|caused by|due to|needs? to|requires?|missing"
    r"|expects?|should be|isn'?t|wasn'?t|doesn'?t|must)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A command that failed and has not succeeded since."""

    command: str
    error: str
    signature: str
    turn: int
    at_ms: int
    edited: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A failure with what made the same command succeed: edits, commands run before, or the corrected command."""

    failure: Failure
    turn: int
    at_ms: int
    corrected: str = ""

    @property
    def essence(self) -> str:
        """What the error is: see `error_line`."""
        return error_line(self.failure.error)


def find_fixes(
    turns: Iterable[Turn], open_before: Sequence[Failure] = ()
) -> tuple[tuple[Fix, ...], tuple[Failure, ...]]:
    """Verified fixes in `turns`, and the failures that are still open after them (oldest first, at most 12)."""
    waiting = list(open_before)
    fixes: list[Fix] = []
    for turn in turns:
        for use in turn.tools:
            if not use.finished:
                continue
            if use.tool in ("edit", "write"):
                waiting = [_edited(failure, use) for failure in waiting] if not use.failed else waiting
            elif use.tool == "bash":
                waiting = _ran(use, turn, waiting, fixes)
    return tuple(fixes), tuple(waiting[-MAX_OPEN:])


def essence_of(error: str) -> str:
    """The most telling line of an error, at most 160 characters."""
    lines = [line.strip() for line in error.splitlines() if not _NOISE.match(line)]
    telling = [line for line in lines if _TELLING.search(line)]
    chosen = (telling or lines or [""])[0]
    return chosen if len(chosen) <= 160 else chosen[:157].rsplit(" ", 1)[0] + "..."


def error_line(error: str) -> str:
    """The first line that has an error's form, up to its first sentence end and at most 160 characters; "" = none.

    A tool's output is anybody's text. What is kept will be handed to an agent later, so only what names the error
    may stay: never the sentences around it, never an order, whatever form it comes in.
    """
    for raw in error.splitlines():
        line = " ".join(_ANSI.sub(" ", raw).split())
        shape = _SHAPE.search(line)
        if shape is None and not (_ENVIRONMENT.search(line) or _USAGE.search(line)):
            continue
        head = (shape["name"] or shape["place"] or shape["mark"]) if shape else ""
        said = (shape["said"] or shape["at"] or shape["told"] or "") if shape else line
        said = re.split(r"(?<=[\w'\"`)\]])[.!?;]+(?:\s|$)", said, maxsplit=1)[0].strip()
        if _ORDER.search(said) or _ORDER.search(head):
            if shape and shape["name"]:
                return shape["name"]
            continue
        colon = ":" if shape and shape["name"] and said else ""
        found = f"{head}{colon} {said}".strip()
        return found if len(found) <= MAX_ESSENCE else found[: MAX_ESSENCE - 3].rsplit(" ", 1)[0] + "..."
    return ""


def same_command(left: str, right: str) -> bool:
    """Whether two command lines run the same thing: pipes into filters, redirections and `cd` do not matter."""
    return _bare(left) == _bare(right)


def _bare(command: str) -> str:
    text = re.sub(r"^(?:cd\s+\S+\s*(?:&&|;)\s*)+", "", command.strip())
    text = re.sub(r"\s*(?:2>&1|2>/dev/null|>/dev/null)", "", text)
    text = re.sub(r"\s*\|\s*(?:tail|head|grep|cat|less|tee)\b[^|]*", "", text)
    text = re.sub(r"\s*(?:;|&&|\|\|)\s*(?:echo|true)\b.*$", "", text)
    return " ".join(text.split())


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
        if same_command(failure.command, use.command):
            if failure.edited or failure.prepared:
                fixes.append(Fix(failure=failure, turn=turn.number, at_ms=turn.at_ms or failure.at_ms))
            continue
        if _corrects(use.command, failure):
            fixes.append(
                Fix(
                    failure=failure,
                    turn=turn.number,
                    at_ms=turn.at_ms or failure.at_ms,
                    corrected=use.command,
                )
            )
            continue
        if _PREPARES.search(use.command) and len(use.command) <= 160 and "\n" not in use.command:
            failure = replace(failure, prepared=(*failure.prepared, _bare(use.command))[-3:])  # noqa: PLW2901
        kept.append(failure)
    return kept


def _failed(use: ToolUse, turn: Turn, waiting: list[Failure]) -> list[Failure]:
    if (
        not use.error.strip()
        or main_command(use.command) in _NOT_WORTH
        or len(use.command) > 300
        or "\n" in use.command
    ):
        return waiting
    before = [failure for failure in waiting if same_command(failure.command, use.command)]
    # Failing again with another error: the first one is gone, but nothing proves by what.
    kept = [failure for failure in waiting if failure not in before]
    signature = error_signature(use.error, command=use.command)
    if _RED_TEST.search(use.error) and not _ENVIRONMENT.search(essence_of(use.error)):
        return kept
    same = next((failure for failure in before if failure.signature == signature), None)
    if same is not None:
        return [*kept, same]
    failure = Failure(
        command=use.command, error=use.error[:1500], signature=signature, turn=turn.number, at_ms=turn.at_ms
    )
    return [*kept, failure]


def _corrects(command: str, failure: Failure) -> bool:
    """A usage error, and now the same program with other arguments works, with nothing else done in between."""
    if (
        failure.edited
        or failure.prepared
        or not _USAGE.search(failure.error)
        or len(command) > 200
        or "\n" in command
    ):
        return False
    program = main_command(command)
    return bool(program) and program not in _NOT_WORTH and program == main_command(failure.command)
