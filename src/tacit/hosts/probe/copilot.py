"""Whether injected text reaches the model through GitHub Copilot CLI. In: the client, the installed hooks. Out: a result.

Runs `copilot -p` once in a throw-away home against the stub model, offline and without a login, with a copy of the file of hooks. The user's
files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tacit.hosts.install.copilot import HOOKS_FILE
from tacit.hosts.probe.process import SEARCH_PATH, ProbeResult, clean_environment, judge, not_run, run_client
from tacit.hosts.probe.stub_model import StubModel

MODEL = "stub-model"
PROMPT = "Say hello in one word."


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Variables that make Copilot talk to the stub model and to nothing else."""
    return {
        **clean_environment(home, tacit_home, search_path=search_path),
        "COPILOT_ALLOW_ALL": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_PROVIDER_BASE_URL": f"{stub_url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
    }


def probe(
    executable: Path,
    *,
    hooks: Path,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Run Copilot once and look for `nonce` in what it sends to the model.

    Args:
        executable: the `copilot` client.
        hooks: the file of hooks that the user's Copilot loads. Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with.
            The caller ends the daemon that may have been started for it (`tacit.client.daemon_facts.end_daemon`).
        nonce: letters and digits that occur nowhere else.
        launcher: the launcher that the hooks must call, for the advice.
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    try:
        text = hooks.read_text(encoding="utf-8")
    except OSError as error:
        return not_run(f"{hooks} cannot be read ({error}). Run `tacit install copilot`.")
    if str(launcher) not in text:
        return not_run(f"{hooks} has no hook that calls {launcher}. Run `tacit install copilot`.")
    if not launcher.exists():
        return not_run(f"The launcher {launcher} is missing. Run `tacit install copilot` again.")
    folder = Path(tempfile.mkdtemp(prefix="tacit-probe-"))
    try:
        with StubModel() as stub:
            home, project = folder / "home", folder / "project"
            copied = home / ".copilot" / "hooks"
            copied.mkdir(parents=True)
            project.mkdir()
            (copied / HOOKS_FILE).write_text(text, encoding="utf-8")
            finished = run_client(
                [str(executable), "-p", PROMPT],
                environment=environment(stub.url, home=home, tacit_home=tacit_home, search_path=search_path),
                cwd=project,
                timeout_s=timeout_s,
            )
            return judge(finished, stub, nonce=nonce, host="Copilot")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
