"""Whether injected text reaches the model through OpenCode. In: the client, the installed plugin file. Out: a result.

Runs `opencode run` once in a throw-away home against the stub model, with a copy of the plugin file that the user's
OpenCode loads. The user's files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    judge,
    not_run,
    run_client,
    scratch,
)

PROVIDER, MODEL, SMALL_MODEL = "stub", "stub-model", "stub-small"
PROMPT = "Say hello in one word."

_LIMIT = {"context": 200_000, "output": 8_000}


def configuration(stub_url: str) -> dict[str, object]:
    """OpenCode's configuration that knows only the stub model at the base URL `stub_url`."""
    return {
        "model": f"{PROVIDER}/{MODEL}",
        "small_model": f"{PROVIDER}/{SMALL_MODEL}",
        "autoupdate": False,
        "share": "disabled",
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
    """Variables that make OpenCode talk to the stub model and to nothing else."""
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


def probe(
    executable: Path,
    *,
    plugin: Path,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 120.0,
) -> ProbeResult:
    """Run OpenCode once and look for `nonce` in what it sends to the model.

    Args:
        executable: the `opencode` client.
        plugin: the plugin file that the user's OpenCode loads. Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with.
            Its `bin/` holds a launcher of its own, which the plugin starts a daemon with, and a daemon runs
            already: the plugin does not wait for one. The caller ends it (`tacit.client.daemon_facts.end_daemon`).
        nonce: letters and digits that occur nowhere else.
        launcher: the user's own launcher; its absence is reported.
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    if not plugin.is_file():
        return not_run(f"The plugin file {plugin} is missing. Run `tacit install opencode`.")
    if not launcher.exists():
        return not_run(f"The launcher {launcher} is missing. Run `tacit install opencode` again.")
    with scratch() as place:
        copy = place.home / ".config" / "opencode" / "plugins" / plugin.name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(plugin, copy)
        finished = run_client(
            [str(executable), "run", PROMPT],
            environment=environment(
                place.stub.url, home=place.home, tacit_home=tacit_home, search_path=search_path
            ),
            cwd=place.project,
            timeout_s=timeout_s,
        )
        return judge(finished, place.stub, nonce=nonce, host="OpenCode")


def prove(job: ProofJob) -> ProbeResult:
    """Run the client with the installed files, and look for the nonce in what it is asked."""
    return probe(
        job.executable,
        plugin=job.file("tacit.js"),
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
