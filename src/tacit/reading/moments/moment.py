"""The values: a moment, and what a call or a prompt must be for it. No logic but emptiness."""

from __future__ import annotations

from dataclasses import dataclass

Command = tuple[str, ...]
"""The words of a simple command without its wrappers, the program first: `("git", "push", "origin", "main")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a call must be. The sorts are alternatives; `words` narrow commands and acts.

    Attributes:
        commands: beginnings of commands; an option may stand anywhere in the call.
        acts: names of `acts.ACTS`.
        paths: patterns of the files that are changed, as `places.path_pattern` makes them.
        removes: only removing these files counts, not editing them.
        hosts: names of servers that are asked.
        words: branches or environments of which the call names one, where it names any.
        languages: languages of which a run of tests must be one.
    """

    commands: tuple[Command, ...] = ()
    acts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    removes: bool = False
    hosts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether no call is meant for certain."""
        return not (self.commands or self.acts or self.paths or self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a rule applies, as its own words say.

    Attributes:
        target: the call.
        forbids: it speaks against the call, so that it must come before it.
        way: it says how the call is made; that is an order only where the statement is a rule.
        subject: the files are what it speaks of, so that it already comes with a look at them.
    """

    target: Target
    forbids: bool = False
    way: bool = False
    subject: bool = False
