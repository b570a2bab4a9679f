"""The memory tools that a host may call without asking: the rule that an installation writes with the user's consent, and rules that win over it.

In: folders, settings files as they are. Out: for each tool what the host does at a call, and the rule that decides it. Measured on Claude Code
2.1.328 and Gemini CLI 0.61.0 (docs/adr/0085-two-tools-without-a-question.md). A file that cannot be read decides nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.hosts.install.switches import machine_folder
from tacit.hosts.install.target import Target
from tacit.hosts.registry import BUILT_IN

TOOLS = ("memory_get", "memory_add")
"""The tools that an agent calls by itself in an ordinary session."""
Word = Literal["allow", "ask", "deny"]
Rule = tuple[Word, str, Path | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a host does at a call of `tool`, and the rule of the file `path` that says so; "" = no rule does, so the host asks."""

    tool: str
    word: Word
    rule: str = ""
    path: Path | None = None

    def __str__(self) -> str:
        does = {"allow": "does not ask before", "ask": "asks before", "deny": "never runs"}[self.word]
        return f"{does} {self.tool}" + (f" ({self.rule} in {self.path})" if self.path else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """The consent of the user that a host calls memory tools without asking.

    Attributes:
        rules: rules that the host's own settings shall hold.
        earlier: those that an installation wrote there.
        wanted: further files with a rule.
        gone: files that shall hold no rule of ours any more.
        notes: what stands without a rule of ours, and why.
        tools: the tools that the rules allow.
    """

    rules: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    wanted: tuple[Target, ...] = ()
    gone: tuple[Target, ...] = ()
    notes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def asking_hosts() -> Mapping[str, str]:
    """Return the titles of the hosts that ask before each call of ours and take a rule for single tools."""
    return {name: host.title for name, host in BUILT_IN.items() if host.rules_command}


def rulings(
    host: str, *, user_home: Path, project_root: Path | None, machine: Path | None = None
) -> tuple[Ruling, ...]:
    """Return what `host` does at a call of each of `TOOLS`; empty for a host that takes no rule for single tools.

    Of Gemini CLI it only says whether our policy is there: which of a user's policies wins, the client tells best.

    Args:
        host: its name.
        user_home: the user's home folder.
        project_root: the project of the session, whose settings hold, too; None = none is known.
        machine: the folder of the administrator's settings; default: that of this system.
    """
    rules = BUILT_IN[host].offered("install", "rules_for_tools") if host in BUILT_IN else None
    if rules is None:
        return ()
    found: Sequence[Rule] = rules(
        user_home=user_home, project_root=project_root, machine=machine or machine_folder(host)
    )
    return tuple(
        Ruling(tool=tool, word=word, rule=rule, path=path)
        for tool, (word, rule, path) in zip(TOOLS, found, strict=True)
    )
