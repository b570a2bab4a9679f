"""Whether a tool call is the moment of a rule, or the step before it.

In: a tool call, or a prompt. Out: what it does, the keys under which the rules for it are found, and its fit with a moment.

The command that a known failure opens with, and whether a call runs exactly that command again.

In: a statement, a command line. Out: yes or no. Pure. Another subcommand, argument, option, variable or runner is another command:
often it is the fix. Only options that change what is printed, and what is done with the output, make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from tacit.frozen import frozen
from tacit.model.memory import Entity
from tacit.model.signal import ToolCall
from tacit.reading.commands import PROGRAMS, SEPARATOR, simple_commands
from tacit.reading.moment import (
    CallConditions,
    Command,
    Moment,
    act_ordered,
    acts_ahead,
    acts_done,
    acts_of_tool,
)
from tacit.reading.moment_places import key_of_pattern, keys_of_path, touches
from tacit.reading.moments import read_moments
from tacit.text.lazy_regex import lazy_regex, wording

_PROGRAMS = wording("programs")
_PHRASES = wording("moments")

Fit = Literal["now", "next", "no"]
"""Whether the call is the moment (`now`), usually comes right before it (`next`), or neither."""
KIND = "moment"
"""Entity kind of the keys by which rules for a moment are looked up."""
_EDITS_TEXT = "edit write multiedit patch apply_patch notebookedit create write_file str_replace"
_EDITS = frozenset(_EDITS_TEXT.split())
_LOOKS = frozenset({"read", "view", "read_file", "list", "grep", "glob", "ls"})
_REWORKS = frozenset({"edit", "multiedit", "str_replace"})
_NETWORK = frozenset({"webfetch", "web_fetch", "fetch", "websearch", "web_search"})
_SPEAKS = frozenset({"task", "agent"}) | _NETWORK
_SEARCHERS = frozenset({"grep", "rg", "ag", "ack", "echo", "git-grep", "ripgrep"})
_SCOPE_OPTIONS = _PROGRAMS.words("scope_options")
_REMOVERS = frozenset({"rm", "rmdir", "unlink", "trash", "shred"})
_CHANGERS = _REMOVERS | {"mv", "cp", "tee", "truncate", "chmod", "touch", "install"}
_VIEWERS = frozenset({"cat", "less", "head", "tail", "ls", "tree", "bat", "source", "sed", "find"})
_READERS = _PROGRAMS.words("readers")
_HOST = lazy_regex(r"(?<![\w.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w-])|(?<=://)[\w.-]+", re.IGNORECASE)
_SWITCHES = frozenset({"checkout", "switch"})
_BRANCHES = frozenset({"main", "master", "develop", "trunk"})
_PRECEDED = frozenset({"push"})
"""Acts whose preceding step is known, whatever command carries them out."""


@frozen
class CallFacts:
    """What a tool call does, as facts that a rule's moment is compared with.

    `changed` (contains `removed`), `seen` (listed or looked at) and `read` (the content is shown) are paths;
    `hosts` = network names in it; `ahead` = acts that usually come next; `text` = its command, or the text
    of a task or a web request, `written` = what an edit writes, both lower case.
    """

    tool: str = ""
    commands: tuple[Command, ...] = ()
    acts: frozenset[str] = frozenset()
    ahead: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    text: str = ""
    written: str = ""


@lru_cache(maxsize=64)
def read_call_facts(call: ToolCall) -> CallFacts:
    """Return what `call` does: commands, acts, paths, hosts and words."""
    commands = simple_commands(call.command)
    operands = [
        (command[0], word) for command in commands for word in command[1:] if not word.startswith("-")
    ]
    removed = tuple(word for program, word in operands if program in _REMOVERS)
    changed = tuple(word for program, word in operands if program in _CHANGERS)
    edits = call.tool in _EDITS
    return CallFacts(
        tool=call.tool,
        commands=commands,
        acts=acts_of_tool(call.tool).union(*map(acts_done, commands)),
        ahead=frozenset[str]().union(*map(acts_ahead, commands)),
        changed=(*(call.paths if edits else ()), *changed),
        removed=removed,
        seen=(
            *(call.paths if call.tool in _LOOKS else ()),
            *(word for program, word in operands if program in _VIEWERS),
        ),
        read=(
            *(call.paths if call.tool in _LOOKS and call.tool not in ("glob", "ls", "list") else ()),
            *(word for program, word in operands if program in _READERS),
        ),
        hosts=frozenset(host.lower() for host in _HOST.findall(f"{call.command}\n{call.text[:400]}"))
        if call.command or call.tool in _NETWORK
        else frozenset(),
        written=call.text[:2_000].lower() if edits else "",
        text=(call.command or (call.text[:2_000] if call.tool in _SPEAKS else "")).lower(),
    )


def keys_of_rule(statement: str) -> tuple[Entity, ...]:
    """Return the keys (entities of the kind `KIND`) under which a rule is stored, so that a call finds it; empty = its words name no moment."""
    keys: dict[str, None] = {}
    for moment in read_moments(statement):
        target = moment.target
        keys.update(dict.fromkeys(f"act:{act}" for act in target.acts))
        for command in target.commands:
            keys.setdefault(f"command:{command[0].rsplit('/', 1)[-1]}")
            keys.update(dict.fromkeys(f"act:{act}" for act in sorted(acts_done(command) & _PRECEDED)))
        keys.update(
            dict.fromkeys(f"path:{key}" for pattern in target.paths if (key := key_of_pattern(pattern)))
        )
        keys.update(dict.fromkeys(f"host:{host}" for host in target.hosts))
        keys.update(dict.fromkeys(f"option:{option}" for option in target.options))
        keys.update(dict.fromkeys(f"tool:{tool}" for tool in target.tools))
    return tuple(Entity(kind=KIND, key=key) for key in keys)


def keys_of_call(facts: CallFacts) -> tuple[Entity, ...]:
    """Return the keys to look up the rules that may apply to the call or to the step after it."""
    keys: dict[str, None] = {f"act:{act}": None for act in sorted(facts.acts | facts.ahead)}
    for command in facts.commands:
        keys.update(
            dict.fromkeys(
                f"command:{word.rsplit('/', 1)[-1]}" for word in command[:3] if not word.startswith("-")
            )
        )
        keys.update(
            dict.fromkeys(f"option:{word.split('=', 1)[0]}" for word in command[1:] if word.startswith("-"))
        )
    for path in (*facts.changed, *facts.seen, *facts.read):
        keys.update(dict.fromkeys(f"path:{path_key}" for path_key in sorted(keys_of_path(path))))
    keys.update(dict.fromkeys(f"host:{host}" for name in sorted(facts.hosts) for host in parents_of(name)))
    keys[f"tool:{facts.tool}"] = None
    if _switched(facts):
        keys["act:commit"] = None
    return tuple(Entity(kind=KIND, key=key) for key in keys)


def parents_of(host: str) -> tuple[str, ...]:
    """Return a host name and its parent domains, without the top-level domain: `a.b.org` gives `a.b.org` and `b.org`."""
    labels = host.split(".")
    return tuple(".".join(labels[start:]) for start in range(max(1, len(labels) - 1)))


def keys_of_acts(acts: frozenset[str]) -> tuple[Entity, ...]:
    """Return the lookup keys of the rules for any of `acts`."""
    return tuple(Entity(kind=KIND, key=f"act:{act}") for act in sorted(acts))


def fit_of(moment: Moment, facts: CallFacts) -> Fit:
    """Return "now" if the call is the moment, "next" if it usually comes right before it, else "no".

    `next` is only for what the moment forbids, or the file that it speaks of.
    """
    target = moment.target
    if _is_now(target, facts):
        return "now"
    return (
        "next"
        if ((moment.forbids and not moment.instead) or moment.subject) and _is_next(target, facts)
        else "no"
    )


def _is_now(target: CallConditions, facts: CallFacts) -> bool:
    if target.satisfied and any(_has_all(target.satisfied, command) for command in facts.commands):
        return False
    if target.tools:
        return (
            facts.tool in target.tools
            and _is_about(target, facts)
            and _touches(target, (*facts.seen, *facts.changed), or_none=True)
        )
    if target.commands:
        hit = any(
            begins(target_command, command) and _is_at(target, command)
            for target_command in target.commands
            for command in facts.commands
        )
        return (
            hit
            and (not target.acts or not facts.acts.isdisjoint(target.acts))
            and _names_words(target, facts)
            and _asks_hosts(target, facts)
        )
    if target.acts:
        return (
            not facts.acts.isdisjoint(target.acts)
            and _names_words(target, facts)
            and _is_about(target, facts)
            and _runs(target, facts)
            and _asks_hosts(target, facts)
            and (
                not target.paths
                or any(
                    _is_at(target, command)
                    for command in facts.commands
                    if acts_done(command) & set(target.acts)
                )
            )
            and (not target.options or any(_has_all(target.options, command) for command in facts.commands))
        )
    if target.options:
        return any(
            _has_all(target.options[:1], command)
            for command in facts.commands
            if command[0] not in _SEARCHERS
        )
    if (target.creates and facts.tool in _REWORKS) or (
        target.topics and facts.written and not _is_about(target, facts)
    ):
        return False
    paths = facts.removed if target.removes else (*facts.changed, *(facts.read if target.reads else ()))
    if _touches(target, paths):
        return True
    return not target.paths and bool(target.hosts) and _asks_hosts(target, facts)


def _touches(target: CallConditions, paths: Sequence[str], *, or_none: bool = False) -> bool:
    """Whether one of `paths` is a file of the target; `or_none` = what to answer for a target that names no files."""
    if not target.paths:
        return or_none
    return any(touches(pattern, path) for pattern in target.paths for path in paths)


def _is_at(target: CallConditions, command: Command) -> bool:
    """Whether a command names one of the target's files, or no file at all."""
    if not target.paths:
        return True
    file_words = [
        word
        for word in command[2:]
        if not word.startswith("-") and ("." in word or "/" in word) and word != "."
    ]
    return not file_words or _touches(target, file_words)


def _asks_hosts(target: CallConditions, facts: CallFacts) -> bool:
    return not target.hosts or any(host in target.hosts for name in facts.hosts for host in parents_of(name))


def _is_about(target: CallConditions, facts: CallFacts) -> bool:
    return not target.topics or any(
        topic in text for topic in target.topics for text in (facts.text, facts.written)
    )


_STEPS: dict[str, frozenset[str]] = {
    "plan": frozenset({"apply", "destroy"}),
    "preview": frozenset({"up", "destroy"}),
    "diff": frozenset({"apply", "upgrade", "deploy", "sync"}),
    "synth": frozenset({"deploy"}),
    "build": frozenset({"push", "publish", "upload", "deploy"}),
    "pack": frozenset({"publish", "push"}),
    "package": frozenset({"publish", "deploy"}),
}
"""Subcommands, with those of the same program that usually follow."""


def _leads_to_command(target_command: Command, commands: Sequence[Command]) -> bool:
    """Whether one of `commands` usually precedes `target_command`: `terraform plan` before `apply`."""
    return any(
        command[0] == target_command[0] and not _STEPS.get(word, frozenset()).isdisjoint(target_command[1:])
        for command in commands
        for word in command[1:3]
    )


def _is_next(target: CallConditions, facts: CallFacts) -> bool:
    if target.words and _switched(facts) and "commit" in target.acts:
        return any(word in facts.text for word in target.words)
    if target.commands:
        done = frozenset[str]().union(*map(acts_done, target.commands))
        return any(
            _leads_to_command(target_command, facts.commands) for target_command in target.commands
        ) or (not facts.ahead.isdisjoint(done & _PRECEDED))
    if target.acts:
        return not facts.ahead.isdisjoint(target.acts) and "database" not in target.acts
    if target.options or target.hosts:
        return False
    return _touches(target, facts.seen)


def begins(target_command: Command, command: Command) -> bool:
    """Whether `command` begins with `target_command`; the latter's options may be anywhere in it."""
    plain = [word for word in command if not word.startswith("-")]
    target_words = [word for word in target_command if not word.startswith("-")]
    if len(target_words) == 1 and "/" in target_words[0]:
        script = target_words[0].removeprefix("./")
        if not any(word.removeprefix("./").endswith(script) for word in plain[:3]):
            return False
    elif plain[: len(target_words)] != target_words and not _follows(target_words, command):
        return False
    return _has_all(tuple(word for word in target_command if word.startswith("-")), command)


def _follows(target_words: list[str], command: Command) -> bool:
    """Whether the subcommand follows an option with its value (`fly -a web deploy`)."""
    if (
        len(target_words) != 2
        or command[0] != target_words[0]
        or not command[1:2]
        or not command[1].startswith("-")
    ):
        return False
    return target_words[1] in command[2:4]


def _has_all(options: Sequence[str], command: Command) -> bool:
    return all(any(_is_option(word, option) for word in command[1:]) for option in options)


def _is_option(word: str, option: str) -> bool:
    if word == option or word.startswith(f"{option}="):
        return True
    short = len(option) == 2 and option[1].isalpha() and re.fullmatch(r"-[A-Za-z]{2,4}", word) is not None
    return short and option[1] in word


def _names_words(target: CallConditions, facts: CallFacts) -> bool:
    """Whether the call names the target's branch, environment or place, or none at all."""
    if not target.words:
        return True
    if any(_names(word, facts.text) for word in target.words):
        return True
    if "commit" in target.acts or "database" in target.acts or "remote_shell" in target.acts:
        return False  # a commit never names its branch; a database that is not named is the local one
    if target.commands:
        done = [
            command
            for command in facts.commands
            if any(begins(target_command, command) for target_command in target.commands)
        ]
        longest = max(map(len, target.commands))
        return any(
            not _SCOPE_OPTIONS.intersection(word.split("=", 1)[0] for word in command)
            and len([word for word in command if not word.startswith("-")]) <= longest + 1
            and not any("@" in word or "://" in word for word in command)
            and (command[0] not in ("psql", "ssh", "scp"))
            for command in done
        )
    plain = [[word for word in command if not word.startswith("-")] for command in facts.commands]
    return all(len(words) <= 2 for words in plain if acts_done(tuple(words)) & frozenset(target.acts))


def _names(word: str, text: str) -> bool:
    """Whether `text` names the branch or environment `word`, as a whole word."""
    end = r"(?![\w/-])" if word in _BRANCHES else ""
    return re.search(rf"(?<![\w/-]){re.escape(word)}{end}|(?<=-){re.escape(word)}(?![\w-])", text) is not None


def _runs(target: CallConditions, facts: CallFacts) -> bool:
    """Whether the call runs tests with one of the target's programs, or the target names none."""
    if not target.runners:
        return True
    lines = [" ".join(command) for command in facts.commands if "test" in acts_done(command)]
    return any(re.search(rf"(?<![\w-])(?:{runner})", line) for runner in target.runners for line in lines)


def _switched(facts: CallFacts) -> bool:
    return any(command[0] == "git" and command[1:2] and command[1] in _SWITCHES for command in facts.commands)


@lru_cache(maxsize=64)
def acts_asked(prompt: str) -> frozenset[str]:
    """Return the acts that a prompt orders at the beginning of a clause (`looks good, commit it`)."""
    acts: set[str] = set()
    for match in _PHRASES.order_break.finditer(prompt[:1_000]):
        if not _PHRASES.refusal.search(prompt[: match.end()]) and (act := act_ordered(prompt[match.end() :])):
            acts.add(act)
    return frozenset(acts)


def acts_proposed(message: str) -> frozenset[str]:
    """Return the acts that the end of an agent's message offers (`Shall I commit and push?`)."""
    return acts_asked(_PHRASES.proposal.sub("\n", message[-600:]))


_CUT = 4_000
_QUOTED = lazy_regex(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PROGRAM = lazy_regex(r"[A-Z_]+=\S*|[a-z./~][\w./~+-]*")
_MARK = re.compile("\ue002(\\d+)\ue003")
_REDIRECTION = lazy_regex(r"(?:\d|&)?>>?\s*(?:&\d|[^\s&|;]+)|(?<!<)<(?!<)\s*[^\s&|;]+")
_SUBCOMMAND = lazy_regex(r"[a-z][a-z-]+")
_RUNS_ALIKE = frozenset({"time", "nohup", "nice", "timeout", "stdbuf", "command"})
_SHOWS = frozenset({"-q", "--quiet", "--silent", "--verbose", "--progress", "--no-progress", "--color", "--no-color"})  # fmt: skip
_MESSAGE = "--message"
_MESSAGES = frozenset({"-m", "-am", _MESSAGE})
_FOLDER = "-C"


@lru_cache(maxsize=4096)
def failing_commands(statement: str) -> tuple[Command, ...]:
    """Return the commands that `statement`, a known failure, begins with; empty = it begins otherwise."""
    if (span := _PHRASES.span.match(statement)) is not None:
        return exact_commands(span[1]) if _is_command(span[1]) else ()
    plain = _PHRASES.plain.match(statement)
    return exact_commands(plain[1]) if plain and plain[1].split()[0] in PROGRAMS else ()


def _is_command(span: str) -> bool:
    """Whether a code span is a command line, and not an identifier, a file or an assignment."""
    first, *arguments = span.split() or [""]
    return (
        bool(_PROGRAM.fullmatch(first))
        and " = " not in span
        and (bool(arguments) or first in PROGRAMS or "/" in first)
    )


def runs_again(commands: tuple[Command, ...], line: str) -> bool:
    """Whether a command line runs all of `commands`, each unchanged."""
    return bool(commands) and set(commands) <= set(exact_commands(line))


def warned_of(statement: str, command: Command) -> str:
    """Return `program subcommand` if `statement` warns against that command ("don't", "never"); "" = no.

    It must name the program as code.
    """
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
    """Return a line's simple commands in a comparable form: words in order, then options, sorted."""
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(match[0][1:-1])
        return f"\ue002{len(quoted) - 1}\ue003"

    plain = _REDIRECTION.sub(" ", _QUOTED.sub(keep, line[:_CUT]))
    commands = (_exact(segment.split(), quoted) for segment in SEPARATOR.split(plain))
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
    """Return a Git call's words without folder and commit message, which differ each time."""
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
