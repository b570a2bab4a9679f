"""The edits for Codex: hooks in its `hooks.json`, the MCP server in its `config.toml`, and the approval of the hooks there.

In: folders and the launcher. Out: targets, and the state of the approval. The events and their forms were measured on 0.169.0.

Codex runs a hook only after the user approves it with `/hooks`; until then it skips it silently. The approval is a hash of the hook
in the user's `config.toml`. Tacit writes it only if the user asks for it in the same command (`--trust-hooks`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from tacit.errors import HostError
from tacit.frozen import frozen
from tacit.hosts.install import jsonc, toml_tables
from tacit.hosts.install.files import (
    STAMP,
    HookEvents,
    HookSettings,
    OfUser,
    Place,
    Target,
    files_of_project,
    hook_entries,
    not_plain_json,
    read_text,
    shell_line,
)
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    judge,
    not_run,
    problem_of,
    run_client,
    scratch,
)
from tacit.hosts.registry import CODEX

_NOT_OURS = "[^t]|t[^a]|ta[^c]|tac[^i]|taci[^t]|tacit[^_]"
TOOLS = f"^(Bash|apply_patch|view_image|spawn_agent|mcp__({_NOT_OURS}).+)$"
"""Matcher of the tool calls that a rule may govern, and of the one that starts a subagent. It excludes our own tools letter by letter, because Codex has no look-ahead."""
WRITES = TOOLS.replace("^(", "^(mcp__tacit__memory_(add|update|forget|get)|")
"""Matcher of the calls of `TOOLS`, and of our own memory tools: their hook tells which session calls them."""
EVENTS: HookEvents = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", WRITES, 5),
    ("PostToolUse", TOOLS, 5),
    ("SubagentStart", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 3),
)
"""The events that are hooked, with matcher and timeout in seconds."""
LABELS: Mapping[str, str] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "SubagentStart": "subagent_start",
    "Stop": "stop",
    "PreCompact": "pre_compact",
    "SessionEnd": "session_end",
}
"""The name that Codex gives each event in the keys and hashes of approved hooks."""
_MATCHED = frozenset({"SessionStart", "PreToolUse", "PostToolUse", "SubagentStart"})
"""Events whose matcher Codex reads. The matcher of another event is not part of the hash."""

SERVER: toml_tables.Keys = ("mcp_servers", "tacit")
STATE: toml_tables.Keys = ("hooks", "state")
Trust = Literal["trusted", "modified", "untrusted", "disabled"]


def codex_home(user_home: Path) -> Path:
    """Return the folder in which Codex keeps its settings and sessions."""
    return CODEX.data_folders(user_home)[0]


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files that an installation changes, for the user or for a project; with `trust`, also the approval of the hooks. Reads files, writes none."""
    user_home, project_root, launcher, trust = (
        place.user_home,
        place.project_root,
        place.launcher,
        place.trust,
    )
    home = codex_home(user_home)
    folder = home if project_root is None else project_root / ".codex"
    hooks = hooks_in(folder / "hooks.json", launcher)
    of_user = project_root is None
    approved = hooks.approvals() if trust else ()
    server = ConfigToml(
        path=folder / "config.toml",
        launcher=launcher,
        hooks=hooks if of_user else None,
        approvals=approved if of_user else (),
    )
    if of_user or not (trust or _approves(home / "config.toml", hooks)):
        return hooks, server
    return hooks, server, Approvals(path=home / "config.toml", hooks=hooks, approvals=approved)


def hooks_in(path: Path, launcher: Path) -> CodexHooks:
    """Return the target that puts our hooks into the `hooks.json` at `path`."""
    handler = {
        "type": "command",
        "command": shell_line(launcher, "codex"),
        "timeout": 0,
        "version": STAMP,  # Codex does not read it: a new one alone needs no new approval
    }
    groups = hook_entries(EVENTS, handler)
    return CodexHooks(
        path=path, groups=groups, unread=partial(not_plain_json, reader="Codex", reads_mark=False)
    )


@frozen
class CodexHooks(HookSettings):
    """The target for our hooks in Codex' `hooks.json`; also gives the hashes by which Codex identifies them."""

    def hashes(self) -> frozenset[str]:
        """Return the hashes by which Codex identifies our hooks."""
        return frozenset(_hash(event, group) for event, group in self.groups)

    def approvals(self) -> tuple[tuple[str, str], ...]:
        """Return (key, hash) of each of our hooks, as Codex stores an approval. A key contains the hook's position in the file, which is after those of others."""
        others = self._others()
        return tuple(
            (f"{self.path}:{LABELS[event]}:{others.get(event, 0)}:0", _hash(event, group))
            for event, group in self.groups
        )

    def _others(self) -> Mapping[str, int]:
        """Return the number of hook groups of other programs for each event, as they are without ours."""
        text = read_text(self.path)
        hooks = (
            jsonc.find(jsonc.read(self.remove(text) or "{}", path=self.path), ("hooks",)) if text else None
        )
        return {member.key: len(member.node.items) for member in hooks.members} if hooks is not None else {}


def _hash(event: str, group: Mapping[str, object]) -> str:
    """Return the SHA-256 of the JSON, with sorted keys, of the fields that Codex reads of a group (`command_hook_hash` in its source)."""
    (handler,) = cast("Sequence[Mapping[str, object]]", group["hooks"])
    read = {name: handler[name] for name in ("type", "command", "timeout")}
    identity: dict[str, object] = {"event_name": LABELS[event], "hooks": [{**read, "async": False}]}
    if "matcher" in group and event in _MATCHED:
        identity["matcher"] = group["matcher"]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8')).hexdigest()}"


@frozen
class ConfigToml:
    """The target in a `config.toml`: the MCP server, and in the user's own file the approval of the hooks.

    `approvals` = (key, hash) of the hooks to approve. The removal also removes the approvals of `hooks`.
    """

    path: Path
    launcher: Path
    hooks: CodexHooks | None = None
    approvals: tuple[tuple[str, str], ...] = ()

    @property
    def why(self) -> str:
        """What the edit is for, in words for the user."""
        server = "gives Codex the memory tools (MCP server)"
        return f"{server} and approves the hooks, as you asked" if self.approvals else server

    def holds(self, text: str) -> bool:
        """Whether the file has our server as this version writes it, and all requested approvals."""
        values = toml_tables.read(text, path=self.path)
        server = toml_tables.table(values, SERVER)
        return all(server.get(name) == value for name, value in self._server().items()) and _holds_approvals(
            values, self.approvals
        )

    def present(self, text: str) -> bool:
        """Whether the file has a server with our name."""
        return toml_tables.find(toml_tables.read(text, path=self.path), SERVER) is not None

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with our server and the approvals; None = there is no file yet."""
        text = toml_tables.add(text or "", SERVER, self._server(), path=self.path)
        return _with_approvals(text, self.approvals, path=self.path)

    def remove(self, text: str) -> str | None:
        """Return the text without our server, tables of Codex below it, and the approvals of our hooks; None = nothing is left, so the file is deleted."""
        text = toml_tables.remove(text, lambda keys: keys[:2] == SERVER, path=self.path)
        return (_without_approvals(text, self.hooks, path=self.path) if self.hooks else text) or None

    def _server(self) -> dict[str, str | list[str]]:
        return {"command": str(self.launcher), "args": ["mcp", "--host", "codex"]}


@frozen
class Approvals(OfUser):
    """The target in the user's `config.toml` that approves the hooks of a project. Codex reads approvals only there."""

    path: Path
    hooks: CodexHooks
    approvals: tuple[tuple[str, str], ...]
    why: str = "approves the hooks of this project, as you asked"

    def holds(self, text: str) -> bool:
        """Whether all requested approvals are in the file."""
        return _holds_approvals(toml_tables.read(text, path=self.path), self.approvals)

    def present(self, text: str) -> bool:
        """Whether the file has an approval, or another state, of a hook in the project's `hooks.json`."""
        states = toml_tables.table(toml_tables.read(text, path=self.path), STATE)
        return any(key.startswith(f"{self.hooks.path}:") for key in states)

    def add(self, text: str | None) -> str:
        """Return the new text of the file: `text` with the approvals; None = there is no file yet."""
        return _with_approvals(text or "", self.approvals, path=self.path)

    def remove(self, text: str) -> str | None:
        """Return the text without the approvals of our hooks; None = nothing is left, so the file is deleted."""
        return _without_approvals(text, self.hooks, path=self.path) or None


def trust_of_hooks(*, user_home: Path, project_root: Path | None, launcher: Path) -> Mapping[str, Trust]:
    """Return whether Codex trusts each of our hooks, by event: `trusted`, `modified`, `untrusted` or `disabled`. If a file cannot be read, all are `untrusted`."""
    folder = codex_home(user_home) if project_root is None else project_root / ".codex"
    hooks = hooks_in(folder / "hooks.json", launcher)
    config = codex_home(user_home) / "config.toml"
    try:
        values, approvals = toml_tables.read(read_text(config) or "", path=config), hooks.approvals()
    except HostError:  # `installed` names the file
        return {event: "untrusted" for event, _, _ in EVENTS}
    return {
        event: _trust(toml_tables.table(values, (*STATE, key)), expected)
        for (event, _, _), (key, expected) in zip(EVENTS, approvals, strict=True)
    }


def what_to_trust(trusted: Mapping[str, Trust]) -> str:
    """Return a sentence that says what the user must do so that Codex runs all of our hooks; "" = nothing."""
    waiting = [event for event, state in trusted.items() if state in ("untrusted", "modified")]
    disabled = [event for event, state in trusted.items() if state == "disabled"]
    if waiting:
        which = "the hooks of Tacit"
        if len(waiting) < len(trusted):
            which = f"these hooks of Tacit ({', '.join(waiting)})"
        return (
            f"Codex skips {which} until you trust them: start `codex`, enter `/hooks` and approve them, or run "
            "`tacit install codex --trust-hooks`."
        )
    if disabled:
        return f"These hooks of Tacit are switched off in Codex: {', '.join(disabled)}. `/hooks` in `codex` switches them on."
    return ""


def _trust(state: Mapping[str, object], expected: str) -> Trust:
    if state.get("enabled") is False:
        return "disabled"
    approved = state.get("trusted_hash")
    if approved is None:
        return "untrusted"
    return "trusted" if approved == expected else "modified"


def _approves(config: Path, hooks: CodexHooks) -> bool:
    text = read_text(config)
    return text is not None and Approvals(path=config, hooks=hooks, approvals=()).present(text)


def _holds_approvals(values: Mapping[str, object], approvals: Sequence[tuple[str, str]]) -> bool:
    return all(
        _trust(toml_tables.table(values, (*STATE, key)), expected) == "trusted" for key, expected in approvals
    )


def _with_approvals(text: str, approvals: Sequence[tuple[str, str]], *, path: Path) -> str:
    keys = {key for key, _ in approvals}
    text = toml_tables.remove(
        text, lambda names: names[:2] == STATE and names[2:3] != () and names[2] in keys, path=path
    )
    for key, approved in approvals:
        text = toml_tables.add(text, (*STATE, key), {"trusted_hash": approved}, path=path)
    return text


def _without_approvals(text: str, hooks: CodexHooks, *, path: Path) -> str:
    values, hashes = toml_tables.read(text, path=path), hooks.hashes()

    def ours(keys: toml_tables.Keys) -> bool:
        if len(keys) != len(STATE) + 1 or keys[:2] != STATE or not keys[2].startswith(f"{hooks.path}:"):
            return False
        return toml_tables.find(values, (*keys, "trusted_hash")) in hashes

    return toml_tables.remove(text, ours, path=path)


def switched_off(
    *, user_home: Path, project_root: Path | None, machine: Path, connected: bool
) -> Iterator[str]:
    """Yield a sentence for each setting that keeps Codex from running our hooks; see `install.switched_off`."""
    del machine
    if not connected:
        return
    for path in (
        *files_of_project(project_root, ".codex/config.toml"),
        codex_home(user_home) / "config.toml",
    ):
        try:
            on = toml_tables.find(toml_tables.read(read_text(path) or "", path=path), ("features", "hooks"))
        except HostError:
            continue
        if on is False:
            yield f"Codex runs no hooks: features.hooks is false in {path}. Set it to true."
        if isinstance(on, bool):
            return


def waiting(place: Place) -> str:
    """Return a sentence that says what the user must do in Codex so that it calls Tacit; "" = nothing."""
    trusted = trust_of_hooks(
        user_home=place.user_home, project_root=place.project_root, launcher=place.launcher
    )
    return what_to_trust(trusted)


PROVIDER, MODEL = "stub", "gpt-5.4"
PROMPT = "Say hello in one word."
KEY_VARIABLE = "STUB_KEY"
OPTIONS = ("exec", "--json", "--skip-git-repo-check")
BYPASS = "--dangerously-bypass-hook-trust"


def configuration(stub_url: str) -> str:
    """Return a `config.toml` with the stub model at the base URL `stub_url` as the only model."""
    return f"""\
model = "{MODEL}"
model_provider = "{PROVIDER}"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.{PROVIDER}]
name = "{PROVIDER}"
base_url = "{stub_url}/v1"
env_key = "{KEY_VARIABLE}"
wire_api = "responses"
"""


def environment(home: Path, tacit_home: Path, *, search_path: str = SEARCH_PATH) -> dict[str, str]:
    """Return the environment variables to start Codex with, including a dummy key for the stub model."""
    return {**clean_environment(home, tacit_home, search_path=search_path), KEY_VARIABLE: "dummy"}


def approvals_of(config: Path, hooks: Path) -> Mapping[str, str]:
    """Return the user's approvals of the file `hooks`: the end of each key (`:session_start:0:0`) with its hash.

    Raises:
        HostError: if `config` is malformed.
    """
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    approved: dict[str, str] = {}
    for key, state in toml_tables.table(toml_tables.read(text, path=config), STATE).items():
        value = toml_tables.find(state, ("trusted_hash",))
        if key.startswith(f"{hooks}:") and isinstance(value, str):
            approved[key.removeprefix(str(hooks))] = value
    return approved


def prove(job: ProofJob) -> ProbeResult:
    """Run `codex exec` against the stub model with an exact copy of the hooks, and return whether the nonce is in a model request. Blocks until Codex ends.

    Codex itself decides whether the hooks are trusted: the user's approvals are copied, too, with the path of the copy.
    """
    hooks, config = job.file("hooks.json"), codex_home(job.user_home) / "config.toml"
    try:
        copied = json.dumps(json.loads(hooks.read_text(encoding="utf-8")))
        approved = approvals_of(config, hooks)
    except ValueError:
        return not_run(
            f"{hooks} is not plain JSON, so Codex ignores all of it. Take out comments, trailing commas and a byte order mark."
        )
    except (OSError, HostError) as error:
        return not_run(f"{error} Run `tacit install codex`.")
    problem = problem_of(copied, file=hooks, launcher=job.launcher, host="codex")
    if problem is not None:
        return problem
    with scratch() as place:
        copy = place.home / ".codex" / "hooks.json"
        copy.parent.mkdir()
        copy.write_text(copied, encoding="utf-8")
        settings = configuration(place.stub.url)
        for end, trusted_hash in approved.items():
            keys = (*STATE, f"{copy}{end}")
            settings = toml_tables.add(settings, keys, {"trusted_hash": trusted_hash}, path=config)
        (copy.parent / "config.toml").write_text(settings, encoding="utf-8")
        variables = environment(place.home, job.tacit_home, search_path=job.search_path)

        def run(*options: str) -> ProbeResult:
            command = [str(job.executable), *OPTIONS, *options, PROMPT]
            limit_s = job.timeout_s or 60.0
            finished = run_client(command, environment=variables, cwd=place.project, timeout_s=limit_s)
            return judge(finished, place.stub, nonce=job.nonce, host="Codex")

        result = run()
        if result.ok or not result.requests:
            return result
        place.stub.clear()
        if not run(BYPASS).ok:
            return result
        advice = (
            "The path is sound, but Codex skips the hooks until you trust them: start `codex`, enter `/hooks` and "
            "approve them, or run `tacit install codex --trust-hooks`."
        )
        return replace(result, advice=advice, output_end="")
