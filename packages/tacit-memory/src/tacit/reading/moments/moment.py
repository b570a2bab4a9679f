"""The values: a moment, and what a call or a prompt must be for it. No logic but emptiness."""

from __future__ import annotations

from dataclasses import dataclass

Command = tuple[str, ...]
"""The words of a simple command without its wrappers, the program first: `("git", "push", "origin", "main")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a call must be. Commands, acts, options, paths, hosts and tools are alternatives, the first that is given counts; the rest narrows.

    Attributes:
        commands: beginnings of commands; an option may stand anywhere in the call.
        acts: names of `acts.ACTS`.
        options: options of any command (`--no-verify`).
        paths: patterns of the files that are changed, as `places.path_pattern` makes them; beside commands, acts and tools they narrow.
        removes: only removing these files counts, not editing them.
        reads: looking at these files counts too.
        creates: only making such a file counts, not editing one that is there.
        hosts: names of servers that are asked; beside commands and acts they narrow.
        tools: tools of the host (`websearch`).
        words: branches, environments or other places of which the call names one, where it names any.
        topics: words of which the task of a subagent, or what is written into a file, holds one.
        runners: programs of which a run of tests must be one, or words of which its command holds one.
        satisfied: options with which the call is as the rule wants it.
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
        """Whether no call is meant for certain."""
        return not (self.commands or self.acts or self.options or self.paths or self.hosts or self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a rule applies, as its own words say.

    Attributes:
        target: the call.
        forbids: it speaks against the call, so that it must come before it.
        way: it says how the call is made; that is an order only where the statement is a rule.
        subject: the files are what it speaks of, so that it already comes with a look at them.
        instead: it only names another way, so that it need not come before the call.
    """

    target: Target
    forbids: bool = False
    way: bool = False
    subject: bool = False
    instead: bool = False
