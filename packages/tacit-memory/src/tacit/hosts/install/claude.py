"""The edits for Claude Code: hooks in its settings, the MCP server, one slash command.

In: folders and the launcher. Out: targets. The events and their forms were measured on 2.1.328 (docs/adr/0007-hosts.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tacit.hosts.install import jsonc
from tacit.hosts.install.hook_settings import HookSettings, group_of, not_plain_json
from tacit.hosts.install.target import STAMP, JsonMember, OwnFile, Target, plugin_text

TOOLS = r"^(Read|Edit|Write|MultiEdit|NotebookEdit|Bash|WebFetch|WebSearch|Task|Agent|mcp__(?!(plugin_)?tacit_).+)$"
"""Calls that a rule may govern, and those that start a subagent: only they tell its task. Calls of our own tools are left out."""
CALLS = TOOLS.replace(".+)$", ".+|mcp__(plugin_tacit_)?tacit__memory_(add|update|forget|get))$")
"""The same, and those of our own tools that count for a session: their hook tells for which."""
EVENTS: tuple[tuple[str, str, int], ...] = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", CALLS, 5),
    ("PostToolUse", TOOLS, 5),
    ("PostToolUseFailure", "", 5),
    ("SubagentStart", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 10),
)
"""(event, matcher, timeout in seconds). The hook client has its own, much shorter deadline; this one only bounds a
mistake. Without its own timeout SessionEnd would be ended after 1.5 seconds."""

COMMAND_MARK = "# installed by tacit install claude-code"
_ALLOW = ("permissions", "allow")


def rules_file(user_home: Path, project_root: Path | None) -> Path:
    """Return the file for the rules that the user consents to. In a project it is the one that is not shared: nobody consents for a team."""
    if project_root is None:
        return user_home / ".claude" / "settings.json"
    return project_root / ".claude" / "settings.local.json"


def allowed(text: str, path: Path) -> list[object]:
    """Return the rules that the settings file at `path` allows.

    Raises:
        HostError: if it is malformed.
    """
    node = jsonc.find(jsonc.read(text, path=path), _ALLOW)
    return [item.value for item in node.items] if node is not None else []


def targets(
    *,
    user_home: Path,
    project_root: Path | None,
    launcher: Path,
    rules: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's; for `rules` and `earlier`, which only the user's scope takes, see `ClaudeSettings`."""
    server = {"type": "stdio", "command": str(launcher), "args": ["mcp"]}
    if project_root is None:
        folder, servers = user_home / ".claude", user_home / ".claude.json"
    else:
        folder, servers = project_root / ".claude", project_root / ".mcp.json"
    settings = ClaudeSettings(
        path=folder / "settings.json",
        groups=tuple((event, _group(matcher, timeout, launcher)) for event, matcher, timeout in EVENTS),
        unread=partial(not_plain_json, reader="Claude Code"),
        rules=tuple(rules),
        earlier=tuple(earlier),
    )
    return (
        replace(settings, why=f"{settings.why}; {settings.told}") if rules else settings,
        JsonMember(
            path=servers,
            why="gives Claude the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value=server,
        ),
        OwnFile(
            path=folder / "commands" / "tacit.md",
            why="adds the slash command /tacit",
            content=plugin_text("claude-code", "user-commands", "tacit.md").replace(
                COMMAND_MARK, f"{COMMAND_MARK}, {STAMP}", 1
            ),
            mark=COMMAND_MARK,
        ),
    )


def local_rules(path: Path, *, rules: Sequence[str], earlier: Sequence[str]) -> ClaudeSettings:
    """The rules alone, in the settings of a project that are not shared."""
    settings = ClaudeSettings(path=path, groups=(), rules=tuple(rules), earlier=tuple(earlier))
    return replace(settings, why=settings.told, unread=partial(not_plain_json, reader="Claude Code"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeSettings(HookSettings):
    """Our hooks in a settings file, and rules with which Claude Code calls tools without asking.

    Attributes:
        rules: the rules that the file shall hold beside those of others.
        earlier: the rules that an installation wrote into it. Others' equal ones are not among them, so a removal leaves those.
    """

    rules: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What the rules are for."""
        names = " and ".join(rule.rpartition("__")[2] for rule in self.rules)
        return f"Claude Code does not ask before {names} (permissions.allow)"

    def holds(self, text: str) -> bool:
        """Whether hooks and rules are in it, complete and up to date."""
        ours = [rule for rule in (*self.rules, *self.earlier) if rule in allowed(text, self.path)]
        return HookSettings.holds(self, text) and set(ours) == set(self.rules)

    def present(self, text: str) -> bool:
        """Whether a hook or a rule of ours is in it."""
        return HookSettings.present(self, text) or any(
            rule in allowed(text, self.path) for rule in self.earlier
        )

    def add(self, text: str | None) -> str:
        """The text with hooks and rules."""
        text = HookSettings.add(self, text)
        for rule in self.rules:
            if rule not in allowed(text, self.path):
                text = jsonc.append(text, _ALLOW, rule, path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """The text without our hooks and rules, and without the lists that are empty then."""
        remaining = text
        for rule in self.earlier:
            if rule in (listed := allowed(remaining, self.path)):
                remaining = jsonc.cut(remaining, _ALLOW, path=self.path, index=listed.index(rule))
        if remaining != text:
            remaining = jsonc.prune(remaining, _ALLOW, _ALLOW[:1], path=self.path)
        gone = remaining == self.opening != text
        return None if gone else HookSettings.remove(self, remaining)


def _group(matcher: str, timeout: int, launcher: Path) -> Mapping[str, object]:
    handler = {
        "type": "command",
        "command": str(launcher),
        "args": ["claude-code", STAMP],  # the hook client reads no more than the host
        "timeout": timeout,
    }
    return group_of(handler, matcher)
