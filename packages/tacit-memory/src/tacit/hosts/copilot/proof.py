"""Whether injected text reaches the model through GitHub Copilot CLI. In: the client, the installed hooks. Out: a result.

Runs `copilot -p` once in a throw-away home against the stub model, offline and without a login, with a copy of the file of hooks. The user's
files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

from pathlib import Path

from tacit.hosts.copilot.install import HOOKS_FILE
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
    problem = problem_of(text, file=hooks, launcher=launcher, host="copilot")
    if problem is not None:
        return problem
    with scratch() as place:
        copy = place.home / ".copilot" / "hooks" / HOOKS_FILE
        copy.parent.mkdir(parents=True)
        copy.write_text(text, encoding="utf-8")
        finished = run_client(
            [str(executable), "-p", PROMPT],
            environment=environment(
                place.stub.url, home=place.home, tacit_home=tacit_home, search_path=search_path
            ),
            cwd=place.project,
            timeout_s=timeout_s,
        )
        return judge(finished, place.stub, nonce=nonce, host="Copilot")


def prove(job: ProofJob) -> ProbeResult:
    """Run the client with the installed files, and look for the nonce in what it is asked."""
    return probe(
        job.executable,
        hooks=job.file(HOOKS_FILE),
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
