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
from tacit.hosts.install.switches import Settings, claude_settings, machine_folder, read_settings

TOOLS = ("memory_get", "memory_add")
"""The tools that an agent calls by itself in an ordinary session."""
ASKING = {"claude-code": "Claude Code", "gemini": "Gemini CLI"}
"""Hosts that ask before each of these calls and take a rule for single tools, with their titles."""
CLAUDE_RULES = tuple(f"mcp__tacit__{tool}" for tool in TOOLS)
"""The rule of Claude Code for each of them."""

Word = Literal["allow", "ask", "deny"]
_Rule = tuple[Word, str, Path | None]
_ONLY_MANAGED = "allowManagedPermissionRulesOnly"
"""With this setting of an administrator no rule of the user counts."""


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
    found: Sequence[_Rule]
    if host == "claude-code":
        managed, own = claude_settings(user_home, project_root, machine or machine_folder(host))
        only = next((path for path, values in managed if values.get(_ONLY_MANAGED) is True), None)
        rules: tuple[_Rule, ...] = tuple(
            _claude_rules(managed if only else (*managed, *own), user_home, project_root)
        )
        unless: _Rule = ("ask", _ONLY_MANAGED if only else "", only)
        found = [next((each for each in rules if _matches(each, name)), unless) for name in CLAUDE_RULES]
    elif host == "gemini":
        policy = gemini.policy(user_home)
        there = policy.present(read_text(policy.path) or "")
        one: _Rule = ("allow", "policy", policy.path) if there else ("ask", "", None)
        found = len(TOOLS) * [one]
    else:
        return ()
    return tuple(
        Ruling(tool=tool, word=word, rule=rule, path=path)
        for tool, (word, rule, path) in zip(TOOLS, found, strict=True)
    )


def _claude_rules(
    settings: Sequence[Settings], user_home: Path, project_root: Path | None
) -> Iterator[_Rule]:
    """Every rule, in the order in which the first that matches decides: what denies, what asks, what allows, in whichever file."""
    shared = project_root / ".claude" / "settings.json" if project_root else None
    words: tuple[Word, ...] = ("deny", "ask", "allow")
    for word in words:
        for path, values in settings:
            listed = toml_tables.find(values, ("permissions", word))
            if word != "allow" or path != shared or _trusted(user_home, path.parent.parent):
                for rule in cast("list[object]", listed) if isinstance(listed, list) else ():
                    yield word, str(rule), path


def _matches(each: _Rule, name: str) -> bool:
    word, rule, _ = each
    server = name.rpartition("__")[0]
    if word == "allow" and rule != server and not rule.startswith(f"{server}__"):
        return False  # what allows has to name the server; what denies or asks may begin with a wildcard
    return rule == server or re.fullmatch(re.escape(rule).replace(r"\*", ".*"), name) is not None


def _trusted(user_home: Path, project_root: Path) -> bool:
    """Whether the user trusts the folder in Claude Code. Only then do the settings that a project shares allow anything."""
    fact = ("projects", str(project_root), "hasTrustDialogAccepted")
    return any(
        toml_tables.find(values, fact) is True for _, values in read_settings(user_home / ".claude.json")
    )
