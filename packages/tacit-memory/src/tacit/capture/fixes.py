"""The error message in a tool's output. In: the output. Out: one line, or the class of the failure. Pure.

A tool's output is anybody's text: what is kept of it names the error, never the sentences around it, never an order.

Wrong invocations: the same work, called in another way. In: a command that failed, its error, one that ran. Out: what differs.

Six differences count: another program, a variable, a folder, a step before (`source ...`), a missing option, another word in the
place of one that the error names. What differs in more than that is another piece of work and proves nothing. Pure.

Proven fixes: something failed, something changed, the same thing succeeded. In: turns. Out: fixes and what is open.

Three ways that a success proves a fix: files were edited in between; another command was run in between that prepares (install,
start, build); or the command was called in another way (`invocations`), for which tests that run and do not pass yet are success
enough. What fails in one session may be fixed in a later one. Ordinary red tests that turn green while a feature is built are no
fixes, nor is an error that itself says which line of the edited file is wrong. Never judges by the agent's words alone.

Failures that wait for their fix, over all sessions of a place. In: the stored list, a session. Out: what to go on with. Pure.

What one session leaves failing, a later one may fix. The list belongs to a scope and moves in the transaction that stores what was
learned.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from difflib import SequenceMatcher
from typing import Literal

from tacit.frozen import frozen
from tacit.hosts.transcripts import ToolUse, Turn
from tacit.reading.commands import command_actions, main_command, names_missing, program_name, split_commands
from tacit.reading.digest_lines import stems
from tacit.reading.errors import error_signature
from tacit.reading.sentences import shorten_at_word, split_sentences
from tacit.state.captured import Failure, UnfixedFailure
from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.terminal_codes import strip_terminal_codes

_ERRORS = wording("errors")

_NOISE = lazy_regex(
    r"^(?:Exit code \d+|\s*|\s*\^+\s*|\s*~+\s*|npm (?:ERR|error).*log.*|.*complete log of this run.*)$"
)
_SHELL = lazy_regex(
    r"^(?:/\S*/)?(?:ba|z|da|k)?sh: (?:(?:line )?\d+: )?|^\(eval\):\d+: |^/\S*/(?=python[\d.]*: )"
)
"""The prefix that shells and interpreters write before an error: the place in a temporary script."""
MAX_ESSENCE = 160


def stopped_from_outside(error: str) -> bool:
    """Whether the call was stopped, by the user or with another call, and did not fail by itself."""
    return bool(_ERRORS.stopped.search(error))


def is_red_test(error: str) -> bool:
    """Whether the error is only a failing test, not a fault of the environment."""
    return bool(_ERRORS.red_test.search(error)) and not _ERRORS.environment.search(key_error_line(error))


def is_misuse(error: str) -> bool:
    """Whether the error says that the command itself was written wrongly."""
    return bool(_ERRORS.usage.search(error))


def is_environment(error: str) -> bool:
    """Whether the error says that something the command needs is missing or out of reach."""
    return bool(_ERRORS.environment.search(error))


def key_error_line(error: str) -> str:
    """Return the most telling line of an error, else its first line, cut to 160 characters."""
    lines = [line.strip() for line in error.splitlines() if not _NOISE.match(line)]
    telling = [line for line in lines if _ERRORS.telling.search(line)]
    chosen = (telling or lines or [""])[0]
    return shorten_at_word(chosen, MAX_ESSENCE)


def error_line(error: str) -> str:
    """Return the error's message: its first sentence, at most 160 characters; "" = no line looks like an error.

    A tool's output is anybody's text. What is kept will be handed to an agent later, so only what names the error
    may stay: never the sentences around it, never an order, whatever form it comes in.
    """
    for raw in strip_terminal_codes(error).splitlines():
        line = _SHELL.sub("", " ".join(raw.split()))
        shape = _ERRORS.shape.search(line)
        if shape is None and not (
            _ERRORS.environment.search(line) or _ERRORS.usage.search(line) or _ERRORS.misses.search(line)
        ):
            continue
        head = (shape["name"] or shape["place"] or shape["mark"]) if shape else ""
        message = (shape["said"] or shape["at"] or shape["told"] or "") if shape else line
        message = re.split(r"(?<=[\w'\"`)\]])[.!?;]+(?:\s|$)", message, maxsplit=1)[0].strip()
        if _ERRORS.order.search(message) or _ERRORS.order.search(head):
            if shape and shape["name"]:
                return shape["name"]
            continue
        colon = ":" if shape and shape["name"] and message else ""
        essence = f"{head}{colon} {message}".strip()
        return shorten_at_word(essence, MAX_ESSENCE)
    return ""


Difference = Literal["program", "variable", "folder", "step", "option", "word"]

_MAX_SHOWN = 160
_LIKE = 0.6
"""Least similarity (`difflib` ratio) of two words from which one may be a typo of the other."""
_TOKEN = lazy_regex(r"&&|\|\||[;&|]|(?:\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\s;&|])+")
_REDIRECTION = lazy_regex(r"(?<!\s)\s*(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*[^\s&|;]+|(?<!<)<(?!<)\s*[^\s&|;(]+)")
_ASSIGNMENT = lazy_regex(r"^(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$", re.DOTALL)
_ONLY_LOOKS = frozenset({"--help", "-h", "help", "--version", "-V", "version", "--dry-run", "--collect-only"})
_CHOOSES_TEXT = """
-k -x -v -vv -q -t -n -l -s -i -a --verbose --quiet --run -run --filter --grep --only --ignore --deselect --skip --exclude
--testNamePattern --testPathPattern --maxfail --lf --ff --last-failed --failed-first --tb --no-header --silent --watch
--no-verify --bail --fail-fast --failfast -short -count --tests --test
"""
_CHOOSES = frozenset(_CHOOSES_TEXT.split())
"""Options that select a part of the work or of the output: a success with them proves nothing about the whole."""


@frozen
class Correction:
    """What was wrong with the invocation of a command, as a later call that worked shows.

    Attributes:
        difference: in what the calls differ.
        wrong, right: the parts of both commands that show it.
        cause: what was wrong, without a full stop; "" = the two calls show it.
        whole: the command that ran, as it was.
    """

    difference: Difference
    wrong: str
    right: str
    cause: str
    whole: str


@frozen
class _Call:
    """A simple command, with the folder, the earlier step and the variables that its line sets for it."""

    words: tuple[str, ...]
    folder: str = ""
    step: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def text(self) -> str:
        return " ".join(self.words)


def find_correction(failed: str, error: str, ran: str) -> Correction | None:
    """Return what was wrong in the command line `failed`, as the one that worked (`ran`) shows; None = other work, or nothing short enough to show."""
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
    program = _program_correction(wrong, right, error)
    if program is not None:
        before, after = program
        return Correction(
            difference="program", wrong=before, right=after, cause=_missing_cause(wrong, error), whole=ran
        )
    if alike:
        return _elsewhere(wrong, right, error, ran)
    return _other_words(wrong, right, error, ran)


def _elsewhere(wrong: _Call, right: _Call, error: str, ran: str) -> Correction | None:
    """Return the correction if the same words ran in another folder or after another step; else None."""
    if right.step and not wrong.step:
        return Correction(
            difference="step", wrong=wrong.text, right=f"{right.step} && {right.text}", cause="", whole=ran
        )
    outside = right.folder.startswith(("/", "~", "$"))
    if right.folder and right.folder != wrong.folder and not outside and _ERRORS.other_folder.search(error):
        return Correction(
            difference="folder",
            wrong=wrong.text,
            right=f"cd {right.folder} && {right.text}",
            cause=f"it has to run in `{right.folder}`",
            whole=ran,
        )
    return None


def _program_correction(wrong: _Call, right: _Call, error: str) -> tuple[str, str] | None:
    """Return (wrong, right) if the same task worked through another program: the words up to the name that was missing (`pytest`, `uv run pytest`), or the whole calls; else None."""
    missing = names_missing(error)
    for name in missing:
        at, right_at = _name_end(wrong.words, name), _name_end(right.words, name)
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
    """Return the correction if the same program ran with a further option, or with a similar word for one that the error names; None = something else differs, or the error does not explain it. `ran` = the whole line that worked."""
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
    around = is_misuse(error) or is_environment(error) or _ERRORS.other_folder.search(error)
    if not around and not _names(error, options[0]):
        return None
    first = added.index(options[0])
    value = added[first + 1 : first + 2] if "=" not in options[0] else []
    shown = " ".join([options[0], *(word for word in value if not word.startswith("-"))])
    return Correction(
        difference="option", wrong=wrong.text, right=right.text, cause=f"it needs `{shown}`", whole=ran
    )


def _same_work(wrong: _Call, right: _Call) -> bool:
    """Whether both run the same program on the same thing: the plain words of one contain the other's, in order."""
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


def _name_end(words: Sequence[str], name: str) -> int | None:
    """Return the index of the last word of a program's or module's name in a call; None = absent.

    A related name counts (`python3` for `python`), and one in two words (`docker compose` for `docker-compose`).
    """
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
    """Return the simple commands of a line in order, without those that only filter another's output."""
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


MAX_OPEN = 12
MAX_COMMAND = 300
MOST_EDITED = 3
"""If more files than this were edited, a fix is kept only where its cause was stated."""
_LOOKING = (
    "ls|cat|grep|rg|find|head|tail|diff|git diff|git status|git log|git show|which|test|pgrep|kill|wc|sed|awk|sleep|stat"
    "|file|ps|curl|"
)
_NOT_WORTH = frozenset(_LOOKING.split("|"))
_READERS = frozenset({"sed", "awk", "cat", "git show", "git diff", "git log"})
"""Programs that only read; their wrong invocations are learned nevertheless."""
_EDITS = frozenset({"edit", "write"})
_ONCE = lazy_regex(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b")
"""Matches a name that no later call repeats, such as a commit or a digest."""
_CHANGES_FOLDER = lazy_regex(r"^cd\s+[^\s;&|]+$")


@frozen
class Fix:
    """A failure, and what made the same command succeed: edits, preparing commands, or another invocation.

    `commit` = id and subject of the commit that came next in the session, as git printed them; "" = none.
    """

    failure: Failure
    turn: int
    at_ms: int
    correction: Correction | None = None
    commit: str = ""

    @property
    def essence(self) -> str:
        """Return the line that states the error; see `error_line`."""
        return error_line(self.failure.error)


def find_fixes(
    turns: Iterable[Turn], open_before: Sequence[Failure] = ()
) -> tuple[tuple[Fix, ...], tuple[Failure, ...]]:
    """Return the proven fixes in `turns`, and the failures still open (oldest first, at most `MAX_OPEN`)."""
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
            elif use.tool in _EDITS and not use.failed:
                waiting = [_edited(failure, use) for failure in waiting]
    return tuple(fixes), tuple(waiting[-MAX_OPEN:])


def same_command(left: str, right: str) -> bool:
    """Whether two command lines run the same thing; `cd`, redirections and pipes into filters are ignored."""
    return _bare(left) == _bare(right)


def repeats_command(failed: str, succeeded: str) -> bool:
    """Whether `succeeded` does all that `failed` did: every simple command again, on the same things or on more.

    `lint run ./pkg/a` is done again by `lint run` and by `lint run ./pkg/a && test`, not by `lint run ./pkg/b`.
    """
    if same_command(failed, succeeded):
        return True
    commands = [
        command for command in _simple_parts(failed) if command.name not in _NOT_WORTH and not command.built
    ]
    done = _simple_parts(succeeded)
    return bool(commands) and all(any(later.covers(command) for later in done) for command in commands)


@frozen
class _Part:
    """A simple command, taken apart to see whether a later one covers it.

    No paths = it runs on everything; `built` = it starts with `./`.
    """

    name: str
    words: frozenset[str]
    paths: frozenset[str]
    built: bool

    def covers(self, other: _Part) -> bool:
        everywhere = not self.paths or bool(self.paths & {".", "./..."})
        return (self.name, self.words) == (other.name, other.words) and (
            everywhere or other.paths <= self.paths
        )


def _simple_parts(command: str) -> list[_Part]:
    """Take a command line apart into its simple commands, for comparison (`_Part`).

    Options, a leading `cd`, pipes into filters and what `_bare` removes besides are left out.
    """
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


def _edited(failure: Failure, use: ToolUse) -> Failure:
    """Return the failure with the edit `use` noted, and with the cause that the agent states beside it, if it has none yet."""
    cause = failure.cause
    if not cause and use.said:
        sentences = (sentence.strip() for sentence in re.split(r"(?<=[.!:])\s+", use.said))
        cause = next(
            (sentence.rstrip(".:") for sentence in sentences if _says_why(sentence, failure, use.paths)), ""
        )
    paths = tuple(path for path in use.paths if path not in failure.edited)
    return replace(failure, edited=(*failure.edited, *paths)[-6:], cause=cause)


def _explained(failure: Failure, turn: Turn) -> Failure:
    """Return the failure with the cause that the agent states in the turn that fixed it; unchanged if it has a cause already, or comes from another session."""
    if failure.cause or failure.elsewhere:
        return failure
    sentences = (sentence.rstrip(".:") for sentence in split_sentences(turn.text))
    cause = next((sentence for sentence in sentences if _says_why(sentence, failure, failure.edited)), "")
    return replace(failure, cause=cause)


def _says_why(sentence: str, failure: Failure, paths: Sequence[str]) -> bool:
    """Whether the sentence states a cause of this failure: it shares a word with command, error or edited files.

    In a later session, which may be about anything, it takes two words, and the file does not count.
    """
    if not (
        _ERRORS.cause.search(sentence)
        and not _ERRORS.intention.search(sentence)
        and 4 <= len(sentence.split()) <= 30
    ):
        return False
    concerned = f"{failure.command} {error_line(failure.error) or failure.error}"
    if not failure.elsewhere:
        concerned += " ".join(("", *(re.sub(r"[/\\.]", " ", path) for path in paths)))
    return len(stems(sentence) & stems(concerned)) > failure.elsewhere


def _ran(use: ToolUse, turn: Turn, waiting: list[Failure], fixes: list[Fix]) -> list[Failure]:
    """Return the failures that are still open after a command; what it proves to be fixed is appended to `fixes`."""
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
                fixes.append(Fix(failure=_explained(failure, turn), turn=turn.number, at_ms=at_ms))
            continue
        if not red and _prepares(use.command, failure):
            failure = replace(failure, prepared=(*failure.prepared, _step(use.command))[-3:])  # noqa: PLW2901
        failing.append(failure)
    return failing


def _looks_up(command: str) -> bool:
    return bool(_ERRORS.looks_up.search(command)) or main_command(command) in ("which", "type", "whereis")


def _step(command: str) -> str:
    return command.strip() if _CHANGES_FOLDER.match(command.strip()) else _bare(command)


def _prepares(command: str, failure: Failure) -> bool:
    """Whether the command may have helped: it sets something up, or builds while something is missing."""
    if _CHANGES_FOLDER.match(command.strip()):
        return is_environment(failure.error) or is_misuse(failure.error)
    if len(command) > 160 or "\n" in command:
        return False
    does = {match.lastgroup for step in _parts(command) if (match := _ERRORS.step.search(step))}
    return "prepares" in does or ("builds" in does and bool(_ERRORS.missing.search(failure.error)))


def _proves(failure: Failure) -> bool:
    """Whether something done since the failure may have fixed it; in a later session it must concern the failure."""
    if not failure.elsewhere:
        return bool(failure.prepared) or bool(failure.edited and not _says_where(failure))
    named_paths = [path for path in failure.edited if path.rsplit("/", 1)[-1] in failure.error]
    return bool((named_paths and not _says_where(failure)) or failure.prepared)


def _teaches(failure: Failure) -> bool:
    """Whether the fix is worth a memory: the error is named, and the fix is explained or small."""
    if not error_line(failure.error) or _ONCE.search(failure.command):
        return False
    return bool(failure.cause or failure.prepared) or len(failure.edited) <= MOST_EDITED


def _says_where(failure: Failure) -> bool:
    """Whether the error names a line of a file that was then edited, and no cause is stated; such a fix is not worth remembering."""
    if failure.cause:
        return False
    names = {path.replace("\\", "/").rsplit("/", 1)[-1] for path in failure.edited}
    return any(
        re.search(rf"(?<![\w.-]){re.escape(name)}[\"']?(?::\d|\(\d|, line \d)", failure.error)
        for name in names
    )


def _failed(use: ToolUse, turn: Turn, waiting: list[Failure]) -> list[Failure]:
    """Return the open failures after a command that failed: it joins them if its error can be recognized when it comes again."""
    worth = main_command(use.command) not in _NOT_WORTH or (
        is_misuse(use.error) and any(name in _READERS for name in split_commands(use.command))
    )
    if not use.error.strip() or not worth or len(use.command) > MAX_COMMAND or "\n" in use.command:
        return waiting
    signature = error_signature(use.error, command=use.command)
    if " | " not in signature:
        return [failure for failure in waiting if not repeats_command(failure.command, use.command)]
    return _add_waiting(
        waiting,
        Failure(
            command=use.command,
            error=use.error[:1500],
            signature=signature,
            turn=turn.number,
            at_ms=turn.at_ms,
        ),
    )


def _add_waiting(waiting: list[Failure], failure: Failure) -> list[Failure]:
    """Return `waiting` with `failure` added; if it waits already, it counts once more and what was tried is dropped."""
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
    """Return what was wrong with the failed call, if `command` does the same work another way; else None."""
    if len(command) > MAX_COMMAND or "\n" in command or command.split() == failure.command.split():
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


def _otherwise(command: str, failure: Failure) -> Correction | None:
    """Return the correction if a misused program now works with other arguments, and nothing else was done."""
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


def open_before(
    pending: Sequence[UnfixedFailure], own: Sequence[Failure], session: str
) -> tuple[Failure, ...]:
    """Return the failures with which a reading of `session` begins: those of other sessions, with `elsewhere` set, then its own."""
    earlier = [replace(item.failure, elsewhere=True) for item in pending if item.session != session]
    return (*earlier, *(replace(failure, elsewhere=False) for failure in own))


def open_after(
    pending: Sequence[UnfixedFailure], open_failures: Sequence[Failure], session: str
) -> tuple[tuple[UnfixedFailure, ...], tuple[Failure, ...]]:
    """Return (failures pending over all sessions, those of this session) after a reading of `session` that left `open_failures`."""
    own = tuple(failure for failure in open_failures if not failure.elsewhere)
    # What was done here about a failure of elsewhere, without success, counts for nothing in the next session.
    still = {(failure.command, failure.signature) for failure in open_failures if failure.elsewhere}
    remaining = [
        item
        for item in pending
        if item.session != session and (item.failure.command, item.failure.signature) in still
    ]
    items = (*remaining, *(UnfixedFailure(session=session, failure=failure) for failure in own))
    oldest_first = sorted(items, key=lambda item: (item.failure.at_ms, item.session, item.failure.command))
    return tuple(oldest_first), own


def without_old(pending: Sequence[UnfixedFailure], *, before_ms: int) -> tuple[UnfixedFailure, ...]:
    """Return `pending` without the failures last seen before `before_ms`; those without a time stay."""
    return tuple(item for item in pending if not item.failure.at_ms or item.failure.at_ms >= before_ms)
