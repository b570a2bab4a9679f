"""Wrong invocations: the same work, called in another way. In: a command that failed, its error, one that ran. Out: what differs.

Six differences count: another program, a variable, a folder, a step before (`source ...`), a missing option, another word in the
place of one that the error names. What differs in more than that is another piece of work and proves nothing. Pure.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from tacit.capture.extract.error_lines import is_environment, is_misuse
from tacit.reading.commands import command_actions, main_command, names_missing, program_name
from tacit.text.lazy_regex import lazy_regex

Difference = Literal["program", "variable", "folder", "step", "option", "word"]

_MAX_SHOWN = 160
_LIKE = 0.6
"""Least likeness (`difflib` ratio) of two words of which one may be the other mistyped."""
_OTHER_FOLDER = lazy_regex(
    r"no such file|not found|cannot find|can't (?:find|open)|could not (?:find|read|open)|couldn't find|missing|no rule to make target"
    r"|no (?:makefile|configuration|package\.json|targets)|ENOENT|not a \w+ (?:project|workspace|repository)|does not (?:exist|contain)|outside",
    re.IGNORECASE,
)
_TOKEN = lazy_regex(r"&&|\|\||[;&|]|(?:\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\s;&|])+")
_REDIRECTION = lazy_regex(r"\s*(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*[^\s&|;]+|(?<!<)<(?!<)\s*[^\s&|;(]+)")
_ASSIGNMENT = lazy_regex(r"^(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$", re.DOTALL)
_ONLY_LOOKS = frozenset({"--help", "-h", "help", "--version", "-V", "version", "--dry-run", "--collect-only"})
_CHOOSES_TEXT = """
-k -x -v -vv -q -t -n -l -s -i -a --verbose --quiet --run -run --filter --grep --only --ignore --deselect --skip --exclude
--testNamePattern --testPathPattern --maxfail --lf --ff --last-failed --failed-first --tb --no-header --silent --watch
--no-verify --bail --fail-fast --failfast -short -count --tests --test
"""
_CHOOSES = frozenset(_CHOOSES_TEXT.split())
"""Options that choose a part of the work or what is shown: a success with them proves nothing of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The mistake in a call.

    Attributes:
        difference: in what the calls differ.
        wrong, right: the parts of both commands that show it.
        cause: what was wrong, without a full stop; "" = the two calls say it.
        whole: the command that ran, as it was.
    """

    difference: Difference
    wrong: str
    right: str
    cause: str
    whole: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A simple command with what the line says before it."""

    words: tuple[str, ...]
    folder: str = ""
    step: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def text(self) -> str:
        return " ".join(self.words)


def find_correction(failed: str, error: str, ran: str) -> Correction | None:
    """Return the difference of `ran`, if it does the same work as `failed` and differs only in its invocation."""
    for wrong in _calls(failed):
        for right in _calls(ran):
            correction = _compare(wrong, right, error, ran)
            if correction is not None and max(len(correction.wrong), len(correction.right)) <= _MAX_SHOWN:
                return correction
    return None


def _compare(wrong: _Call, right: _Call, error: str, ran: str) -> Correction | None:
    if not _ONLY_LOOKS.isdisjoint(right.words):
        return None
    added = {name: value for name, value in right.variables.items() if wrong.variables.get(name) != value}
    named_in_error = [name for name in added if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error)]
    alike = wrong.words == right.words
    around = bool(named_in_error or names_missing(error)) or is_environment(error) or is_misuse(error)
    if added and (alike or (around and _same_work(wrong, right))):
        chosen = {name: added[name] for name in named_in_error or added}
        settings = " ".join(f"{name}={value}" for name, value in chosen.items())
        names = " and ".join(f"`{name}`" for name in chosen)
        need = "variable" if len(chosen) == 1 else "variables"
        return Correction(
            difference="variable",
            wrong=wrong.text,
            right=f"{settings} {wrong.text}",
            cause=f"it needs the {need} {names}",
            whole=ran,
        )
    program = _other_program(wrong, right, error)
    if program is not None:
        before, after = program
        return Correction(
            difference="program", wrong=before, right=after, cause=_missing_cause(wrong, error), whole=ran
        )
    if alike:
        return _elsewhere(wrong, right, error, ran)
    return _other_words(wrong, right, error, ran)


def _elsewhere(wrong: _Call, right: _Call, error: str, ran: str) -> Correction | None:
    """The same words in another folder, or after another step."""
    if right.step and not wrong.step:
        return Correction(
            difference="step", wrong=wrong.text, right=f"{right.step} && {right.text}", cause="", whole=ran
        )
    outside = right.folder.startswith(("/", "~", "$"))
    if right.folder and right.folder != wrong.folder and not outside and _OTHER_FOLDER.search(error):
        return Correction(
            difference="folder",
            wrong=wrong.text,
            right=f"cd {right.folder} && {right.text}",
            cause=f"it has to run in `{right.folder}`",
            whole=ran,
        )
    return None


def _other_program(wrong: _Call, right: _Call, error: str) -> tuple[str, str] | None:
    """The words up to the program that does the work, where the calls differ in these: `pytest`, `uv run pytest`."""
    missing = names_missing(error)
    for name in missing:
        at, right_at = _place(wrong.words, name), _place(right.words, name)
        if at is not None and right_at is not None and wrong.words[: at + 1] != right.words[: right_at + 1]:
            mine, theirs = wrong.words[: at + 1], right.words[: right_at + 1]
            same_tool = all(not word.startswith("-") or word == "-m" for word in theirs)
            return (" ".join(mine), " ".join(theirs)) if same_tool else None
    shared = 0
    while shared < min(len(wrong.words), len(right.words)) - 1 and (
        wrong.words[-1 - shared] == right.words[-1 - shared]
    ):
        shared += 1
    shared_words = wrong.words[len(wrong.words) - shared :]
    if not any(not word.startswith("-") for word in shared_words) or wrong.words[0] == right.words[0]:
        return None
    if not (missing or is_environment(error) or is_misuse(error)):
        return None
    family = _program_family(wrong.words[0]) == _program_family(right.words[0]) or main_command(
        wrong.text
    ) == main_command(right.text)
    wrapped = right.text.endswith(wrong.text)
    same_purpose = _purpose(wrong) == _purpose(right) and any(
        "/" not in w and "." not in w and w[0] != "-" for w in shared_words
    )
    if family or wrapped or (missing and program_name(wrong.words[0]) in missing and same_purpose):
        return wrong.text, right.text
    return None


def _other_words(wrong: _Call, right: _Call, error: str, ran: str) -> Correction | None:
    """The same program with an option more, or with another word in the place of one that the error names."""
    if wrong.words[0] != right.words[0]:
        return None
    if len(wrong.words) == len(right.words):
        pairs = [pair for pair in zip(wrong.words, right.words, strict=True) if pair[0] != pair[1]]
        if len(pairs) == 1 and _names(error, pairs[0][0]) and _like(*pairs[0]):
            there_is = f"there is no `{pairs[0][0]}` but `{pairs[0][1]}`"
            return Correction(
                difference="word", wrong=wrong.text, right=right.text, cause=there_is, whole=ran
            )
    added = _added(wrong.words, right.words)
    options = [word for word in added if word.startswith("-") and word.split("=")[0] not in _CHOOSES]
    if not options or not _same_work(wrong, right):
        return None
    around = is_misuse(error) or is_environment(error) or _OTHER_FOLDER.search(error)
    if not around and not _names(error, options[0]):
        return None
    first = added.index(options[0])
    value = added[first + 1 : first + 2] if "=" not in options[0] else []
    shown = " ".join([options[0], *(word for word in value if not word.startswith("-"))])
    return Correction(
        difference="option", wrong=wrong.text, right=right.text, cause=f"it needs `{shown}`", whole=ran
    )


def _same_work(wrong: _Call, right: _Call) -> bool:
    """Whether both run the same program on the same thing: all plain words of one stand in the other, in order."""
    mine, theirs = (tuple(w for w in call.words if not w.startswith("-")) for call in (wrong, right))
    return mine[:1] == theirs[:1] and (_is_part(mine, theirs) or _is_part(theirs, mine))


def _is_part(part: Sequence[str], whole: Sequence[str]) -> bool:
    remaining = iter(whole)
    return all(word in remaining for word in part)


def _added(wrong: Sequence[str], right: Sequence[str]) -> list[str]:
    changes = SequenceMatcher(a=wrong, b=right, autojunk=False).get_opcodes()
    return [
        word
        for name, _, _, start, end in changes
        if name in ("insert", "replace")
        for word in right[start:end]
    ]


def _missing_cause(wrong: _Call, error: str) -> str:
    missing = names_missing(error)
    if program_name(wrong.words[0]) in missing:
        return f"`{program_name(wrong.words[0])}` is not on the PATH"
    module = next((name for name in missing if name in wrong.words), "")
    return f"this `{wrong.words[0]}` has no module `{module}`" if module else ""


def _place(words: Sequence[str], name: str) -> int | None:
    """Return the place of a program or module in a call, also as a file of the same family: `python3` for `python`."""
    whole = [
        index for index, word in enumerate(words) if program_name(word) == name or word.split(".")[0] == name
    ]
    near = [
        index
        for index, word in enumerate(words)
        if not word.startswith("-") and _program_family(word) == _program_family(name)
    ]
    joined = [at + 1 for at, pair in enumerate(itertools.pairwise(words)) if "-".join(pair) == name]
    place = whole or near or joined
    return place[0] if place else None


def _program_family(word: str) -> str:
    return re.sub(r"[\d.]+$", "", program_name(word))


def _like(left: str, right: str) -> bool:
    return program_name(left) == program_name(right) or SequenceMatcher(a=left, b=right).ratio() >= _LIKE


def _names(error: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w])", error) is not None


def _purpose(call: _Call) -> str:
    return command_actions(main_command(call.text))[0][0]


def _calls(command: str) -> list[_Call]:
    """The simple commands of a line, in order; what only filters another's output is left out."""
    calls: list[_Call] = []
    folder, step = "", ""
    variables: dict[str, str] = {}
    for operator, words in _segments(command):
        if operator == "|" or not words:
            continue
        own: dict[str, str] = {}
        command_words = list(words[1:]) if words[0] == "env" else list(words)
        while command_words and (assignment := _ASSIGNMENT.match(command_words[0])):
            own[assignment["name"]] = assignment["value"]
            command_words.pop(0)
        if not command_words:
            variables |= own
        elif command_words[0] == "export":
            variables |= {
                m["name"]: m["value"] for word in command_words[1:] if (m := _ASSIGNMENT.match(word))
            }
        elif command_words[0] == "cd" and len(command_words) == 2:
            folder = command_words[1].rstrip("/")
        elif command_words[0] in ("source", "."):
            step = " ".join(command_words)
        else:
            calls.append(
                _Call(words=tuple(command_words), folder=folder, step=step, variables=variables | own)
            )
    return calls


def _segments(command: str) -> list[tuple[str, list[str]]]:
    """Split a line at its operators; return each part with the operator before it."""
    segments: list[tuple[str, list[str]]] = [("", [])]
    for token in _TOKEN.findall(_REDIRECTION.sub(" ", command)):
        if token[0] in ";&|":
            segments.append((token, []))
        else:
            segments[-1][1].append(token)
    return segments
