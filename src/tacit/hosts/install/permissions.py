"""The memory tools that a host may call without asking: the rule that an installation writes with the user's consent, and rules that win over it.

In: folders, settings files as they are. Out: for each tool what the host does at a call, and the rule that decides it. Measured on Claude Code
2.1.328 and Gemini CLI 0.61.0 (docs/adr/0085-two-tools-without-a-question.md). A file that cannot be read decides nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from tacit.hosts.install import gemini, toml_tables
from tacit.hosts.install.files import read_text
from tacit.hosts.install.switches import claude_settings, machine_folder, read_settings

TOOLS = ("memory_get", "memory_add")
"""The tools that an agent calls by itself in an ordinary session."""
ASKING = {"claude-code": "Claude Code", "gemini": "Gemini CLI"}
"""Hosts that ask before each of these calls and take a rule for single tools, with their titles."""
CLAUDE_RULES = {f"mcp__tacit__{tool}": tool for tool in TOOLS}
"""Each rule of Claude Code with its tool."""

Word = Literal["allow", "ask", "deny"]


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


def rulings(
    host: str, *, user_home: Path, project_root: Path | None, machine: Path | None = None
) -> tuple[Ruling, ...]:
    """Return what `host` does at a call of each of `TOOLS`; empty for a host that is not in `ASKING`.

    Of Gemini CLI it only says whether our policy is there: which of a user's policies wins, the client tells best.

    Args:
        host: its name.
        user_home: the user's home folder.
        project_root: the project of the session, whose settings hold, too; None = none is known.
        machine: the folder of the administrator's settings; default: that of this system.
    """
    if host == "claude-code":
        rules = tuple(_claude_rules(user_home, project_root, machine or machine_folder(host)))
        return tuple(_first(name, tool, rules) for name, tool in CLAUDE_RULES.items())
    if host == "gemini":
        policy = gemini.policy(user_home)
        if policy.present(read_text(policy.path) or ""):
            return tuple(Ruling(tool=tool, word="allow", rule="policy", path=policy.path) for tool in TOOLS)
        return tuple(Ruling(tool=tool, word="ask") for tool in TOOLS)
    return ()


def _first(name: str, tool: str, rules: Sequence[tuple[Word, str, Path]]) -> Ruling:
    for word, rule, path in rules:
        if _matches(word, rule, name):
            return Ruling(tool=tool, word=word, rule=rule, path=path)
    return Ruling(tool=tool, word="ask")


def _claude_rules(
    user_home: Path, project_root: Path | None, machine: Path
) -> Iterator[tuple[Word, str, Path]]:
    """Every rule that holds, in the order in which the first that matches decides: what denies, what asks, what allows, in whichever file."""
    managed, own = claude_settings(user_home, project_root, machine)
    only = any(values.get("allowManagedPermissionRulesOnly") is True for _, values in managed)
    shared = project_root / ".claude" / "settings.json" if project_root else None
    words: tuple[Word, ...] = ("deny", "ask", "allow")
    for word in words:
        for path, values in managed if only else (*managed, *own):
            listed = toml_tables.find(values, ("permissions", word))
            if word != "allow" or path != shared or _trusted(user_home, path.parent.parent):
                for rule in cast("list[object]", listed) if isinstance(listed, list) else ():
                    yield word, str(rule), path


def _matches(word: Word, rule: str, name: str) -> bool:
    server = name.rpartition("__")[0]
    if word == "allow" and rule != server and not rule.startswith(f"{server}__"):
        return False  # what allows has to name the server; what denies or asks may begin with a wildcard
    return rule == server or re.fullmatch(re.escape(rule).replace(r"\*", ".*"), name) is not None


def _trusted(user_home: Path, project_root: Path) -> bool:
    """Whether the user trusts the folder in Claude Code. Only then do the settings that a project shares allow anything."""
    return any(
        toml_tables.find(values, ("projects", str(folder), "hasTrustDialogAccepted")) is True
        for _, values in read_settings(user_home / ".claude.json")
        for folder in (project_root, *project_root.parents)
    )
