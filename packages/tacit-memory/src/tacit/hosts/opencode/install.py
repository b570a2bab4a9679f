"""The edits for OpenCode: the plugin file and the MCP server, and nothing that slows its start.

In: folders and the launcher. Out: targets. OpenCode waits at its start for an `npm install` in every folder of its
configuration that has plugins but no `node_modules` (measured on 1.18.33: 76 s without a network). Our plugin needs no
package, so a folder without packages of its own gets an empty `node_modules` and a lock file that says so.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.config.home import Home
from tacit.errors import HostError
from tacit.hosts.install.files import STAMP, JsonMember, OwnFile, Place, Target, is_there, plugin_text
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    not_run,
    prove_client,
)

PLUGIN_MARK = 'export default { id: "tacit"'
_BLANK = 'const INSTALLED = { home: "", launcher: "" }'
_CONFIGS = ("opencode.jsonc", "opencode.json")
_PACKAGE_FILES = ("package.json", "package-lock.json", "bun.lock", "bun.lockb", "node_modules")
_LOCK_MARK = '"tacit": "no packages are needed here"'
_KEEP_MARK = "Kept by Tacit"


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files that an installation changes: those of the user, or of the project."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    folder = user_home / ".config" / "opencode" if project_root is None else project_root / ".opencode"
    config_folder = folder if project_root is None else project_root
    config = next((config_folder / name for name in _CONFIGS if is_there(config_folder / name)), None)
    server = {"type": "local", "command": [str(launcher), "mcp", "--host", "opencode"], "enabled": True}
    targets_made: list[Target] = [
        OwnFile(
            path=folder / "plugins" / "tacit.js",
            why="carries memory into OpenCode (plugin)",
            content=plugin(home=place.home, launcher=launcher),
            mark=PLUGIN_MARK,
        ),
        JsonMember(
            path=config or config_folder / "opencode.json",
            why="gives OpenCode the memory tools (MCP server)",
            keys=("mcp", "tacit"),
            value=server,
            opening='{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
        ),
    ]
    return (*targets_made, *_no_packages(folder))


def plugin(*, home: Home, launcher: Path) -> str:
    """Return the text of our plugin with the home and the launcher filled in."""
    text = plugin_text("opencode", "tacit.js")
    if text.count(_BLANK) != 1:
        raise HostError("plugins/opencode/tacit.js has no line to fill in.", hint="Install Tacit again.")
    declaration = f"const INSTALLED = {{ home: {json.dumps(str(home.root))}, launcher: {json.dumps(str(launcher))} }} // {STAMP}"
    return text.replace(_BLANK, declaration)


def _no_packages(folder: Path) -> tuple[Target, ...]:
    """Return the files that keep OpenCode from running npm in this folder; () = the folder has packages of its own."""
    lock = folder / "package-lock.json"
    keep = folder / "node_modules" / ".tacit"
    ours = is_there(keep) or (
        is_there(lock) and _LOCK_MARK in lock.read_text(encoding="utf-8", errors="replace")
    )
    if not ours and any(is_there(folder / name) for name in _PACKAGE_FILES):
        return ()
    content = {
        "name": "opencode",
        "lockfileVersion": 3,
        "requires": True,
        "packages": {
            "": {"tacit": "no packages are needed here", "dependencies": {"@opencode-ai/plugin": "*"}}
        },
    }
    why = "keeps OpenCode's start fast: no package has to be fetched for the plugin"
    return (
        OwnFile(path=lock, why=why, content=json.dumps(content, indent=2) + "\n", mark=_LOCK_MARK),
        OwnFile(path=keep, why=why, content=f"{_KEEP_MARK}: an empty node_modules.\n", mark=_KEEP_MARK),
    )


PROVIDER, MODEL, SMALL_MODEL = "stub", "stub-model", "stub-small"
PROMPT = "Say hello in one word."

_LIMIT = {"context": 200_000, "output": 8_000}


def configuration(stub_url: str) -> dict[str, object]:
    """Return an OpenCode configuration with the stub model at the base URL `stub_url` as the only provider."""
    return {
        "model": f"{PROVIDER}/{MODEL}",
        "small_model": f"{PROVIDER}/{SMALL_MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # git would run four times a turn
        "enabled_providers": [PROVIDER],
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",  # bundled with OpenCode: nothing is downloaded for it
                "options": {"baseURL": f"{stub_url}/v1", "apiKey": "dummy"},
                "models": {
                    MODEL: {"tool_call": True, "limit": _LIMIT},
                    SMALL_MODEL: {"limit": _LIMIT},
                },
            }
        },
    }


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Return environment variables with which OpenCode sends requests only to the stub model."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "OPENCODE_CONFIG_CONTENT": json.dumps(configuration(stub_url)),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
    }


def prove(job: ProofJob) -> ProbeResult:
    """Run `opencode run` once against the stub model, with a copy of our plugin file, and return whether the nonce is in a model request.

    The `bin/` of the throw-away Tacit home holds a launcher of its own, which the plugin starts a daemon with, and a daemon runs already: the plugin
    does not wait for one.
    """
    plugin_file = job.file("tacit.js")
    if not plugin_file.is_file():
        return not_run(f"The plugin file {plugin_file} is missing. Run `tacit install opencode`.")
    if not job.launcher.exists():
        return not_run(f"The launcher {job.launcher} is missing. Run `tacit install opencode` again.")
    return prove_client(
        job,
        "OpenCode",
        files={f".config/opencode/plugins/{plugin_file.name}": plugin_file},
        command=("run", PROMPT),
        environment=environment,
        timeout_s=120.0,
    )
