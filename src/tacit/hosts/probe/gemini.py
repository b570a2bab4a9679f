"""Whether injected text reaches the model through Gemini CLI. In: the client, the installed settings. Out: a result.

Runs `gemini -p` once in a throw-away home against the stub model, with the hooks exactly as the user's settings file holds
them. The user's files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.hosts.install import jsonc
from tacit.hosts.probe.process import SEARCH_PATH, ProbeResult, clean_environment, judge, not_run, run_client
from tacit.hosts.probe.stub_model import StubModel

MODEL = "gemini-2.5-pro"
PROMPT = "Say hello in one word."
SETTINGS: Mapping[str, object] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": {"enabled": False},
}
"""What makes Gemini CLI take a key from its environment and send nothing but requests to the model."""


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Variables that make Gemini CLI talk to the stub model and to nothing else."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "GEMINI_API_KEY": "dummy",
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
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    try:
        content = jsonc.read(settings.read_text(encoding="utf-8"), path=settings).value
    except HostError as error:
        return not_run(str(error))
    except (OSError, UnicodeDecodeError) as error:
        return not_run(f"{settings} cannot be read ({error}). Run `tacit install gemini`.")
    chosen = hooks_only(cast(dict[str, object], content))
    if str(launcher) not in json.dumps(chosen, ensure_ascii=False):
        return not_run(f"{settings} has no hook that calls {launcher}. Run `tacit install gemini`.")
    if not launcher.exists():
        return not_run(f"The launcher {launcher} is missing. Run `tacit install gemini` again.")
    folder = Path(tempfile.mkdtemp(prefix="tacit-probe-"))
    try:
        with StubModel() as stub:
            home, project = folder / "home", folder / "project"
            (home / ".gemini").mkdir(parents=True)
            project.mkdir()
            text = json.dumps({**SETTINGS, **chosen})
            (home / ".gemini" / "settings.json").write_text(text, encoding="utf-8")
            finished = run_client(
                [str(executable), "-m", MODEL, "-p", PROMPT],
                environment=environment(stub.url, home=home, tacit_home=tacit_home, search_path=search_path),
                cwd=project,
                timeout_s=timeout_s,
            )
            return judge(finished, stub, nonce=nonce, host="Gemini CLI")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hooks_only(settings: Mapping[str, object]) -> dict[str, object]:
    """The part of a settings file that a probe reuses: its hooks, and whether they are switched off."""
    return {name: settings[name] for name in ("hooks", "hooksConfig") if isinstance(settings.get(name), dict)}
