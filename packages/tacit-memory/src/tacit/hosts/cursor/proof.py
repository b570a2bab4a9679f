"""Whether Cursor's hook command answers a starting session with the memory. In: the installed `hooks.json`. Out: a result.

Runs the command of the file with a payload from Cursor's documentation. Cursor cannot run without its
window, so the probe does not show what Cursor does with the answer. The user's file is read, never written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import read_text
from tacit.hosts.probe import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    not_run,
    run_client,
)
from tacit.hosts.probe.wire import as_mapping


def probe(
    hooks: Path,
    *,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Run the command of `sessionStart` once and look for `nonce` in its answer.

    Args:
        hooks: the `hooks.json` of the user's or a project's scope. Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with. The caller ends its daemon.
        nonce: letters and digits that occur nowhere else.
        launcher: the launcher that the hooks must call, for the advice.
        search_path: PATH of the command.
        timeout_s: longest wait.
    """
    try:
        node = jsonc.find(jsonc.read(read_text(hooks) or "{}", path=hooks), ("hooks", "sessionStart"))
    except HostError as error:
        return not_run(f"{error.message} {error.hint}")
    commands = [str(as_mapping(item.value).get("command", "")) for item in (node.items if node else ())]
    command = next((text for text in commands if str(launcher) in text), "")
    if not command:
        return not_run(f"{hooks} has no hook that calls {launcher}. Run `tacit install cursor`.")
    payload = {
        "hook_event_name": "sessionStart", "conversation_id": f"doctor-{nonce}", "session_id": f"doctor-{nonce}",
        "workspace_roots": [str(tacit_home)], "cursor_version": "doctor", "is_background_agent": False,
        "composer_mode": "agent", "transcript_path": None,
    }  # fmt: skip
    finished = run_client(
        ["/bin/sh", "-c", command],
        environment=clean_environment(tacit_home, tacit_home, search_path=search_path),
        cwd=hooks.parent,
        timeout_s=timeout_s,
        standard_input=json.dumps(payload),
    )
    try:
        answer = as_mapping(cast("object", json.loads(finished.out or "{}")))
    except ValueError:
        answer = as_mapping(None)
    if nonce in str(answer.get("additional_context", "")):
        return ProbeResult(ok=True, where=("additional_context",), took_ms=finished.took_ms)
    advice = "The hook's command ran and found nothing: see `tacit logs` and `tacit status`."
    end = (finished.out + finished.err)[-2000:]
    return ProbeResult(ok=False, where=(), took_ms=finished.took_ms, advice=advice, output_end=end)


def prove(job: ProofJob) -> ProbeResult:
    """Run the commands that the installed file names, and look for the nonce in their answers."""
    return probe(
        job.file("hooks.json"),
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
