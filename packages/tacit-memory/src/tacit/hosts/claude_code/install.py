"""The edits for Claude Code: hooks in its settings, the MCP server, one slash command.

In: folders and the launcher. Out: targets. The events and their forms were measured on 2.1.328 (docs/adr/0007-hosts.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc, toml_tables
from tacit.hosts.install.files import (
    STAMP,
    HookEvents,
    HookSettings,
    JsonMember,
    OwnFile,
    Permission,
    Place,
    Rule,
    Ruling,
    Settings,
    Target,
    Word,
    files_of_project,
    hook_entries,
    not_plain_json,
    plugin_text,
    read_settings,
    read_text,
)
from tacit.hosts.install.files import TOOLS as ASKED_TOOLS
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    hooks_only,
    not_run,
    problem_of,
    prove_client,
)

TOOLS = r"^(Read|Edit|Write|MultiEdit|NotebookEdit|Bash|WebFetch|WebSearch|Task|Agent|mcp__(?!(plugin_)?tacit_).+)$"
"""Matcher of the tool calls that a rule may govern, and of those that start a subagent, because only they tell its task. Our own tools are excluded."""
CALLS = TOOLS.replace(".+)$", ".+|mcp__(plugin_tacit_)?tacit__memory_(add|update|forget|get))$")
"""Matcher of the calls of `TOOLS`, and of our own memory tools: their hook tells which session calls them."""
EVENTS: HookEvents = (
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
"""The events that are hooked, with matcher and timeout in seconds. Without a timeout of its own, SessionEnd would be ended after 1.5 seconds."""

COMMAND_MARK = "# installed by tacit install claude-code"
_ALLOW = ("permissions", "allow")
_ONLY_MANAGED = "allowManagedPermissionRulesOnly"
"""With this setting of an administrator, no rule of the user counts."""


RULES = tuple(f"mcp__tacit__{tool}" for tool in ASKED_TOOLS)
"""The `permissions.allow` rule for each tool that the host asks before."""
PLUGIN = "tacit@"
"""The start of our plugin's name; the name of its marketplace follows."""


def rules_file(user_home: Path, project_root: Path | None) -> Path:
    """Return the settings file for rules that the user consents to. In a project it is the local one, which is not shared: nobody consents for a team."""
    if project_root is None:
        return user_home / ".claude" / "settings.json"
    return project_root / ".claude" / "settings.local.json"


def allow_rules(text: str, path: Path) -> list[object]:
    """Return the entries of `permissions.allow` in the text of a Claude Code settings file, unchecked; [] = there are none.

    `path` is only for errors.

    Raises:
        HostError: if the text is malformed.
    """
    node = jsonc.find(jsonc.read(text, path=path), _ALLOW)
    return [item.value for item in node.items] if node is not None else []


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files that an installation changes: those of the user, or of the project."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    server = {"type": "stdio", "command": str(launcher), "args": ["mcp"]}
    if project_root is None:
        folder, servers = user_home / ".claude", user_home / ".claude.json"
    else:
        folder, servers = project_root / ".claude", project_root / ".mcp.json"
    settings = ClaudeSettings(
        path=folder / "settings.json",
        groups=hook_entries(
            EVENTS, {"type": "command", "command": str(launcher), "args": ["claude-code", STAMP]}
        ),
        unread=partial(not_plain_json, reader="Claude Code"),
        rules=place.rules,
        earlier=place.earlier,
    )
    return (
        replace(settings, why=f"{settings.why}; {settings.told}") if place.rules else settings,
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
    """Return the target for the rules alone, without hooks, in the local settings of a project."""
    settings = ClaudeSettings(path=path, groups=(), rules=tuple(rules), earlier=tuple(earlier))
    return replace(settings, why=settings.told, unread=partial(not_plain_json, reader="Claude Code"))


@frozen
class ClaudeSettings(HookSettings):
    """The target for our hooks in Claude Code's settings, and for rules by which it calls our tools without asking.

    Attributes:
        earlier: the rules that an installation wrote into it. Others' equal ones are not among them, so a removal leaves those.
    """

    earlier: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """A sentence for the user that says what the rules do."""
        names = " and ".join(rule.rpartition("__")[2] for rule in self.rules)
        return f"Claude Code does not ask before {names} (permissions.allow)"

    def holds(self, text: str) -> bool:
        """Whether the text has our hooks and exactly our rules, complete and up to date."""
        ours = [rule for rule in (*self.rules, *self.earlier) if rule in allow_rules(text, self.path)]
        return HookSettings.holds(self, text) and set(ours) == set(self.rules)

    def present(self, text: str) -> bool:
        """Whether the text has a hook of ours, or a rule that we wrote."""
        return HookSettings.present(self, text) or any(
            rule in allow_rules(text, self.path) for rule in self.earlier
        )

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with our hooks and rules; None = there is no file yet."""
        text = HookSettings.add(self, text)
        for rule in self.rules:
            if rule not in allow_rules(text, self.path):
                text = jsonc.append(text, _ALLOW, rule, path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """Return the text without our hooks, the rules that we wrote, and the lists that become empty; None = the file is to be deleted."""
        remaining = text
        for rule in self.earlier:
            if rule in (listed := allow_rules(remaining, self.path)):
                remaining = jsonc.cut(remaining, _ALLOW, path=self.path, index=listed.index(rule))
        if remaining != text:
            remaining = jsonc.prune(remaining, _ALLOW, _ALLOW[:1], path=self.path)
        gone = remaining == self.opening != text
        return None if gone else HookSettings.remove(self, remaining)


def _settings(
    user_home: Path, project_root: Path | None, machine: Path
) -> tuple[tuple[Settings, ...], tuple[Settings, ...]]:
    """Return (the administrator's settings, the project's and user's) that hold in `project_root`, each in the order in which they win."""
    managed = read_settings(
        machine / "managed-settings.json",
        *sorted((machine / "managed-settings.d").glob("*.json"), reverse=True),
    )
    own = read_settings(
        *files_of_project(project_root, ".claude/settings.local.json", ".claude/settings.json"),
        user_home / ".claude" / "settings.json",
    )
    return tuple(managed), tuple(own)


def switched_off(
    *, user_home: Path, project_root: Path | None, machine: Path, connected: bool
) -> Iterator[str]:
    """Yield a sentence for each setting that keeps Claude Code from running our hooks; see `install.switched_off`."""
    managed, own = _settings(user_home, project_root, machine)
    plugins = [(path, name, on) for path, values in (*managed, *own) for name, on in _plugins(values)]
    decided: dict[str, tuple[Path, bool]] = {}
    for path, name, on in plugins:
        decided.setdefault(name, (path, on))
    by_plugin = any(on for _, on in decided.values())
    if not connected and not by_plugin:
        for name, (path, _) in decided.items():
            yield f"The plugin {name} is switched off in Claude Code: enabledPlugins in {path}. Set it to true, or run `tacit install claude-code`."
        return
    for path, values in managed:
        only = values.get("strictPluginOnlyCustomization")
        if values.get("allowManagedHooksOnly") is True:
            yield f"Claude Code runs only hooks of the administrator: allowManagedHooksOnly is true in {path}. Only the administrator can change that."
        elif (only is True or (isinstance(only, list) and "hooks" in only)) and not by_plugin:
            yield f"Claude Code runs only hooks of plugins: strictPluginOnlyCustomization in {path}. Install Tacit as a plugin, or ask the administrator."
    for path, values in (*managed, *own):
        off = values.get("disableAllHooks")
        if off is True:
            yield f"Claude Code runs no hooks: disableAllHooks is true in {path}. Take it out{' (only the administrator can)' if (path, values) in managed else ''}."
        if isinstance(off, bool):
            return  # it overrides the files behind it


def _plugins(values: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    enabled = values.get("enabledPlugins")
    if isinstance(enabled, Mapping):
        for name, on in cast("Mapping[str, object]", enabled).items():
            if name.startswith(PLUGIN):
                yield name, on is not False


def rules_for_tools(*, user_home: Path, project_root: Path | None, machine: Path) -> tuple[Rule, ...]:
    """Return the rule that decides a call of each of `ASKED_TOOLS`, as (word, rule, file)."""
    managed, own = _settings(user_home, project_root, machine)
    only = next((path for path, values in managed if values.get(_ONLY_MANAGED) is True), None)
    rules = tuple(_rules(managed if only else (*managed, *own), user_home, project_root))
    unless: Rule = ("ask", _ONLY_MANAGED if only else "", only)
    return tuple(next((each for each in rules if _matches(each, name)), unless) for name in RULES)


def _rules(settings: Sequence[Settings], user_home: Path, project_root: Path | None) -> Iterator[Rule]:
    """Yield every rule as (word, rule, file), in the order in which the first match decides: all that deny, then ask, then allow, from whichever file."""
    shared = project_root / ".claude" / "settings.json" if project_root else None
    words: tuple[Word, ...] = ("deny", "ask", "allow")
    for word in words:
        for path, values in settings:
            listed = toml_tables.find(values, ("permissions", word))
            if word != "allow" or path != shared or _trusted(user_home, path.parent.parent):
                for rule in cast("list[object]", listed) if isinstance(listed, list) else ():
                    yield word, str(rule), path


def _matches(each: Rule, name: str) -> bool:
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


def permission(
    allow: bool | None,
    found: Sequence[Ruling],
    *,
    user_home: Path,
    project_root: Path | None,
    earlier_in: Callable[[Path], tuple[str, ...]],
    hint: str,
) -> Permission:
    """Decide which of our rules the settings shall hold: `allow` True = all, False = none, None = as they are; see `install.plan`."""
    path = rules_file(user_home, project_root)
    earlier = earlier_in(path)
    text = read_text(path) if earlier else None
    ours = [rule for rule in earlier if text and rule in allow_rules(text, path)]
    if allow is None:
        rules = ours
        asks = any(each == Ruling(tool=each.tool, word="ask") for each in found)
        notes = (hint,) if asks else ()
    else:
        by_rule = dict(zip(RULES, found if allow else (), strict=allow))
        rules = [rule for rule, each in by_rule.items() if rule in ours or not each.rule]
        notes = tuple(
            f"Claude Code {each}; that stays" for rule, each in by_rule.items() if rule not in rules
        )
    tools = tuple(tool for rule, tool in zip(RULES, ASKED_TOOLS, strict=True) if rule in rules)
    if project_root is None:
        return Permission(rules=tuple(rules), earlier=earlier, notes=notes, tools=tools)
    local = (local_rules(path, rules=rules, earlier=earlier),)
    if rules:
        return Permission(wanted=local, notes=notes, tools=tools)
    return Permission(gone=local if earlier else (), notes=notes)


MODEL = "claude-sonnet-4-5"
PROMPT = "Say hello in one word."


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Return environment variables with which Claude Code sends requests only to the stub model."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "ANTHROPIC_BASE_URL": stub_url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_BUG_COMMAND": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def prove(job: ProofJob) -> ProbeResult:
    """Run `claude -p` once against the stub model, with the hooks exactly as the settings have them, and return whether the nonce is in a model request.

    The MCP server of the user answers the calls of our tools that the stub model makes, as the user's rules allow.
    """
    settings, servers = job.file("settings.json"), job.file(".claude.json", ".mcp.json")
    try:
        server = jsonc.find(jsonc.read(read_text(servers) or "{}", path=servers), ("mcpServers", "tacit"))
        content: object = json.loads(settings.read_text(encoding="utf-8-sig"))
    except ValueError:
        return not_run(
            f"{settings} is not plain JSON, so Claude Code ignores all of it. Take comments and trailing commas out."
        )
    except HostError as error:
        return not_run(str(error))
    except OSError as error:
        return not_run(f"{settings} cannot be read ({error}). Run `tacit install claude-code`.")
    permissions = {"allow": job.rules} if job.calls else {}
    hooks = json.dumps({**hooks_only(content), "permissions": permissions})
    problem = problem_of(hooks, file=settings, launcher=job.launcher, host="claude-code")
    if problem is not None:
        return problem
    files = {".claude/settings.json": hooks}
    if server is not None:
        files[".claude.json"] = json.dumps({"mcpServers": {"tacit": server.value}})
    return prove_client(
        job,
        "Claude Code",
        files=files,
        command=("-p", PROMPT, "--model", MODEL),
        environment=environment,
        variables={
            "MCP_CONNECT_TIMEOUT_MS": "30000"
        },  # the first request waits until the server has connected
    )
