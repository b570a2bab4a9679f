"""The command that a known failure opens with, and whether a call runs exactly that command again.

In: a statement, a command line. Out: yes or no. Pure. Another subcommand, argument, option, variable or runner is another command:
often it is the fix. Only options that change what is printed, and what is done with the output, make no difference.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.reading.commands import PROGRAMS
from tacit.reading.moments.moment import Command
from tacit.text.lazy_regex import lazy_regex

_CUT = 4_000
_FAILS = (
    r"(?:fail\w*|reject\w*|refus\w*|breaks?|broke|crash\w*|hangs?|hung|abort\w*|errors|errored|exits|exited|stops|stopped|dies|died"
    r"|time[sd]? out|cannot|can't|does(?: not|n't)|did(?: not|n't)|not found|denied|throws|threw|raises|raised)\b"
)
_REMEDY = r"\b(?:fix|repair|solv|resolv|clear|avoid|prevent|help|work|remov)\w*|[.!?]\s|\n"
_SPAN = lazy_regex(
    rf"\W{{0,3}}(?:(?:Running|Calling) )?`([^`\n]{{2,200}})`(?:(?!{_REMEDY}).){{0,120}}?\b{_FAILS}",
    re.IGNORECASE,
)
"""What opens with a remedy (`make clean` repairs a failed build) names no command that fails."""
_PLAIN = lazy_regex(rf"\W{{0,3}}([a-z][\w.-]*(?: [^\s`'\",;:]+){{1,8}}?) {_FAILS}")
_QUOTED = lazy_regex(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PROGRAM = lazy_regex(r"[A-Z_]+=\S*|[a-z./~][\w./~+-]*")
_MARK = re.compile("\ue002(\\d+)\ue003")
_REDIRECTION = lazy_regex(r"(?:\d|&)?>>?\s*(?:&\d|[^\s&|;]+)|(?<!<)<(?!<)\s*[^\s&|;]+")
_SEPARATOR = lazy_regex(r"&&|\|\||[;\n|&]")
_SUBCOMMAND = lazy_regex(r"[a-z][a-z-]+")
_RUNS_ALIKE = frozenset({"time", "nohup", "nice", "timeout", "stdbuf", "command"})
_SHOWS = frozenset({"-q", "--quiet", "--silent", "--verbose", "--progress", "--no-progress", "--color", "--no-color"})  # fmt: skip
_MESSAGE = "--message"
_MESSAGES = frozenset({"-m", "-am", _MESSAGE})
_FOLDER = "-C"


@lru_cache(maxsize=4096)
def failing_commands(statement: str) -> tuple[Command, ...]:
    """The commands that `statement`, a known failure, opens with and says to fail; none where it opens otherwise."""
    if (span := _SPAN.match(statement)) is not None:
        return exact_commands(span[1]) if _is_command(span[1]) else ()
    plain = _PLAIN.match(statement)
    return exact_commands(plain[1]) if plain and plain[1].split()[0] in PROGRAMS else ()


def _is_command(span: str) -> bool:
    """Whether code in a statement is a command line, and not an identifier, a file or an assignment."""
    first, *arguments = span.split() or [""]
    return (
        bool(_PROGRAM.fullmatch(first))
        and " = " not in span
        and (bool(arguments) or first in PROGRAMS or "/" in first)
    )


def runs_again(commands: tuple[Command, ...], line: str) -> bool:
    """Whether a command line runs all of `commands`; each exactly as it is."""
    return bool(commands) and set(commands) <= set(exact_commands(line))


def warned_of(statement: str, command: Command) -> str:
    """The command if `statement` speaks against it: it names the program as code, and says "don't", "never" or the like of the subcommand; else ""."""
    if len(command) < 2 or not _SUBCOMMAND.fullmatch(command[1]):
        return ""
    program, subcommand = command[0], re.escape(command[1])
    if program not in statement or command[1] not in statement:
        return ""
    as_code = re.search(rf"`{re.escape(program)}[ `]", statement)
    against = re.search(
        rf"\b(?:don'?t|do not|never|not|no|avoid|without|instead of|nicht|nie|kein\w*|ne|jamais|no|nunca|non|mai|não)\s+(?:\w+\s+)?`?(?:{re.escape(program)} )?{subcommand}\b",
        statement,
        re.IGNORECASE,
    )
    return f"{program} {command[1]}" if as_code and against else ""


@lru_cache(maxsize=256)
def exact_commands(line: str) -> tuple[Command, ...]:
    """The simple commands of a command line with all that gives them their meaning: words in order, then the options, sorted."""
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[0][1:-1])
        return f"\ue002{len(quoted) - 1}\ue003"

    plain = _REDIRECTION.sub(" ", _QUOTED.sub(keep, line[:_CUT]))
    commands = (_exact(segment.split(), quoted) for segment in _SEPARATOR.split(plain))
    return tuple(dict.fromkeys(command for command in commands if command))


def _exact(words: list[str], quoted: list[str]) -> Command:
    while words and words[0] in _RUNS_ALIKE:
        words = words[1:]
        while words and (words[0].startswith("-") or words[0][:1].isdigit()):
            words = words[1:]
    if words[:1] == ["git"]:
        words = _without_values(words)
    words = [_MARK.sub(lambda match: quoted[int(match[1])], word) for word in words]
    if not words:
        return ()
    options = sorted(word for word in words[1:] if word.startswith("-"))
    operands = [word for word in words[1:] if not word.startswith("-")]
    shown = [option for option in options if option.split("=", 1)[0] not in _SHOWS]
    return (words[0].removeprefix("./"), *operands, *shown)


def _without_values(words: list[str]) -> list[str]:
    """The words of a call of Git without its folder and its message, which are others each time."""
    if words[1:2] == [_FOLDER]:
        words = [words[0], *words[3:]]
    kept_words: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if before in _MESSAGES:
            continue
        if word == "-am":
            kept_words.append("-a")
        kept_words.append(_MESSAGE if word in _MESSAGES or word.startswith(f"{_MESSAGE}=") else word)
    return kept_words
