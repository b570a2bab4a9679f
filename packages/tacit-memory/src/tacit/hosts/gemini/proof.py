"""Whether injected text reaches the model through Gemini CLI. In: the client, the installed settings. Out: a result.

Runs `gemini -p` once in a throw-away home against the stub model, with the hooks exactly as the user's settings file holds
them. The user's files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacit.errors import HostError
from tacit.hosts.install import jsonc, toml_tables
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    hooks_only,
    judge,
    not_run,
    problem_of,
    run_client,
    scratch,
)
from tacit.hosts.probe.stub_model import CallTool

MODEL = "gemini-2.5-pro"
PROMPT = "Say hello in one word."
SETTINGS: Mapping[str, object] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": {"enabled": False},
}
"""Settings with which Gemini CLI takes its key from the environment and sends nothing but requests to the model."""


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Variables that make Gemini CLI talk to the stub model and to nothing else."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "GEMINI_API_KEY": "dummy",
        "GEMINI_CLI_NO_RELAUNCH": "true",  # otherwise the client starts itself a second time, to have more memory
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GOOGLE_GEMINI_BASE_URL": stub_url,
    }


def probe(
    executable: Path,
    *,
    settings: Path,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    calls: Sequence[CallTool] = (),
    policies: Path | None = None,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 90.0,
) -> ProbeResult:
    """Run Gemini CLI once and look for `nonce` in what it sends to the model.

    Args:
        executable: the `gemini` client.
        settings: the settings file that holds our hooks (user or project scope). Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with.
            The caller ends the daemon that may have been started for it (`tacit.client.daemon_facts.end_daemon`).
        nonce: letters and digits that occur nowhere else.
        launcher: the launcher that the hooks must call, for the advice.
        calls: the calls of our tools that the model makes. Our MCP server of `settings` answers them.
        policies: the folder of the user's policies, which decide whether the client asks before these calls. Read only.
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    try:
        content = jsonc.read(settings.read_text(encoding="utf-8"), path=settings).value
    except HostError as error:
        return not_run(str(error))
    except (OSError, UnicodeDecodeError) as error:
        return not_run(f"{settings} cannot be read ({error}). Run `tacit install gemini`.")
    hooks = hooks_only(content, ("hooks", "hooksConfig"))
    problem = problem_of(json.dumps(hooks), file=settings, launcher=launcher, host="gemini")
    if problem is not None:
        return problem
    if calls:
        hooks["mcpServers"] = {"tacit": toml_tables.find(content, ("mcpServers", "tacit"))}
        elsewhere = toml_tables.find(content, ("policyPaths",))
        hooks |= {"policyPaths": elsewhere} if elsewhere else {}
    with scratch(calls) as place:
        copy = place.home / ".gemini" / "settings.json"
        copy.parent.mkdir()
        copy.write_text(json.dumps({**SETTINGS, **hooks}), encoding="utf-8")
        if policies is not None and policies.is_dir():
            shutil.copytree(policies, copy.parent / "policies")
        finished = run_client(
            [str(executable), "-m", MODEL, "-p", PROMPT],
            environment=environment(
                place.stub.url, home=place.home, tacit_home=tacit_home, search_path=search_path
            ),
            cwd=place.project,
            timeout_s=timeout_s,
        )
        return judge(finished, place.stub, nonce=nonce, host="Gemini CLI")


def prove(job: ProofJob) -> ProbeResult:
    """Run the client with the installed files, and look for the nonce in what it is asked."""
    return probe(
        job.executable,
        settings=job.files[0],
        policies=job.user_home / ".gemini" / "policies",
        calls=job.calls,
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
