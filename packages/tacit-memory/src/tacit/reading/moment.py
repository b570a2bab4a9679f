"""A moment, what a call or a prompt must be for it, and the acts that people name by a word (`before every commit`) with their commands.

The acts are data: `acts.toml`.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path

from tacit.frozen import frozen
from tacit.text.lazy_regex import bounded, filled, lazy_regex

Command = tuple[str, ...]
"""A simple command as words, without wrappers, program first: `("git", "push", "origin", "main")`."""


@frozen
class CallConditions:
    """The conditions that a tool call must meet to be the moment of a rule.

    Of commands, acts, options, paths, hosts and tools the first given counts; the rest narrows it.

    Attributes:
        commands: beginnings of commands; an option may stand anywhere in the call.
        acts: names of `ACTS`.
        options: options of any command (`--no-verify`).
        paths: patterns (`path_pattern`) of the changed files; with commands, acts or tools they only narrow.
        removes: only removing these files counts, not editing them.
        reads: looking at these files counts too.
        creates: only making such a file counts, not editing one that is there.
        hosts: names of servers that are contacted; with commands or acts they only narrow.
        tools: tools of the host (`websearch`).
        words: branches, environments or other places; a call that names any must name one of these.
        topics: words; the task of a subagent, or the text written into a file, must contain one.
        runners: patterns; the command of a test run must begin with or contain one.
        satisfied: options with which a call already follows the rule, so that it does not count.
    """

    commands: tuple[Command, ...] = ()
    acts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    removes: bool = False
    reads: bool = False
    creates: bool = False
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    satisfied: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether no call can meet the conditions, because none of commands, acts, options, paths, hosts and tools is given."""
        return not (self.commands or self.acts or self.options or self.paths or self.hosts or self.tools)


@frozen
class Moment:
    """When a rule applies, as its own words say.

    Attributes:
        target: the call at which the rule applies.
        forbids: the rule speaks against the call, so it must be shown before it.
        way: the rule says how the call is made; that is an order only if the statement is a rule.
        subject: the rule is about the files, so it is already shown when they are read.
        instead: the rule only names a better way, so it need not be shown before the call.
    """

    target: CallConditions
    forbids: bool = False
    way: bool = False
    subject: bool = False
    instead: bool = False


RUNNERS: dict[str, str] = {
    "go": r"go test|gotestsum", "rust": r"cargo (?:test|nextest)", "python": r"pytest|tox|nox|unittest|python manage\.py test", "ruby": r"rspec|rails test|rake",
    "php": r"phpunit|pest|php artisan test", "javascript": r"jest|vitest|mocha|ava|(?:npm|pnpm|yarn|bun)", "typescript": r"jest|vitest|mocha|(?:npm|pnpm|yarn|bun)",
    "elixir": "mix test", "swift": r"swift test|xcodebuild", "kotlin": r"gradlew?|\./gradlew", "java": r"mvn|gradlew?|\./gradlew", "flutter": "flutter test", "dart": r"(?:dart|flutter) test",
    "dotnet": "dotnet test", "c#": "dotnet test",
}  # fmt: skip
"""Test programs by programming language, as patterns."""


@frozen
class Act:
    """An act that people name by a word (`commit`), with the commands and tools that do it.

    Attributes:
        name: its key.
        said: pattern of the words that people use for it.
        asked: pattern of the words that order it in a prompt; "" = the same words.
        command: pattern of the commands that do it.
        tool: pattern of the tools of MCP servers that do it; "" = none.
        leads: pattern of the commands that mostly come right before it.
    """

    name: str
    said: str
    command: str
    asked: str = ""
    tool: str = ""
    leads: str = ""


def _read_acts() -> tuple[Act, ...]:
    """Return the acts of `acts.toml` in order, with the parts that their patterns name filled in."""
    table = tomllib.loads(Path(__file__).with_name("acts.toml").read_text("utf-8"))
    parts = table.pop("parts")
    return tuple(
        Act(name=name, **{key: bounded(filled(text, parts.get)) for key, text in fields.items()})
        for name, fields in table.items()
    )


ACTS = _read_acts()
"""All acts; of two that match at one place the first counts: `force-push` before `push`."""
_SAID = tuple(
    (lazy_regex(rf"(?<![\w/.\ue001-])(?:{act.said})(?![\w/])", re.IGNORECASE), act.name) for act in ACTS
)
_ASKED = tuple(
    (lazy_regex(rf"(?:{act.asked or act.said})(?![\w/-])", re.IGNORECASE), act.name) for act in ACTS
)
_DONE = tuple((lazy_regex(rf"(?:{act.command})(?:\b|(?<=\W)|$)", re.IGNORECASE), act.name) for act in ACTS)
_TOOLS = tuple((lazy_regex(rf"(?:^|_)(?:{act.tool})$", re.IGNORECASE), act.name) for act in ACTS if act.tool)
_LEADS = tuple((lazy_regex(rf"(?:{act.leads})\b", re.IGNORECASE), act.name) for act in ACTS if act.leads)
_CASED = frozenset({"PR", "PRs", "MR", "MRs"})


def acts_said(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return (start, end, act) for each act that `text` names, by position, without overlaps."""
    acts: list[tuple[int, int, str]] = []
    for pattern, name in _SAID:
        for match in pattern.finditer(text):
            start, end = match.span()
            if match[0].upper() in ("PR", "PRS", "MR", "MRS") and match[0] not in _CASED:
                continue
            if not any(start < other_end and other_start < end for other_start, other_end, _ in acts):
                acts.append((start, end, name))
    return tuple(sorted(acts))


def act_ordered(text: str) -> str:
    """Return the act (a name in `ACTS`, such as `commit`) that a part of a prompt orders with its first words; "" = none."""
    return next((name for pattern, name in _ASKED if pattern.match(text)), "")


@lru_cache(maxsize=256)
def acts_done(command: Command) -> frozenset[str]:
    """Return the acts that a simple command does; SQL comes as a command of its own: `("sql:", ...)`."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _DONE if pattern.match(line))


@lru_cache(maxsize=256)
def acts_ahead(command: Command) -> frozenset[str]:
    """Return the acts that usually follow a simple command."""
    line = " ".join(command)
    return frozenset(name for pattern, name in _LEADS if pattern.match(line))


def acts_of_tool(tool: str) -> frozenset[str]:
    """Return the acts that an MCP tool does, by its name (`mcp__github__create_pull_request`)."""
    return frozenset(name for pattern, name in _TOOLS if pattern.search(tool))
