"""Whether the MCP server in a client's file answers with the memory. In: the file, the keys of the entry. Out: a result.

Starts the server with the command of the file and asks `memory_search` for the nonce, as the client's agent would. The client itself is not run.
The user's file is read, never written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import read_text
from tacit.hosts.probe.conversation import as_list, as_mapping, flat_text
from tacit.hosts.probe.process import (
    SEARCH_PATH,
    ProbeResult,
    ProofJob,
    clean_environment,
    not_run,
    run_client,
)

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tacit doctor", "version": "1"},
}


def probe(
    file: Path,
    keys: Sequence[str],
    *,
    tacit_home: Path,
    nonce: str,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Start the server of the entry at `keys` in `file` and look for `nonce` in the answer of `memory_search`.

    Args:
        file: the client's configuration. Read only.
        keys: the keys of the entry, such as `("mcpServers", "tacit")`.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce`. The caller ends its daemon.
        nonce: letters and digits that occur nowhere else.
        search_path: PATH of the server.
        timeout_s: longest wait.
    """
    try:
        node = jsonc.find(jsonc.read(read_text(file) or "{}", path=file), keys)
    except HostError as error:
        return not_run(f"{error.message} {error.hint}")
    entry = as_mapping(node.value if node is not None else None)
    command = [str(entry.get("command", "")), *(str(word) for word in as_list(entry.get("args")))]
    if not command[0]:
        return not_run(f"{file} has no server {'.'.join(keys)}. Install it again.")
    asked = {"name": "memory_search", "arguments": {"query": nonce}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    )
    try:
        finished = run_client(
            command,
            environment=clean_environment(tacit_home, tacit_home, search_path=search_path),
            cwd=tacit_home,
            timeout_s=timeout_s,
            standard_input="".join(f"{json.dumps(message)}\n" for message in messages),
        )
    except OSError as error:
        return not_run(f"{command[0]} cannot be started ({error.strerror}). Install it again.")
    if nonce in _answer(finished.out):
        return ProbeResult(ok=True, where=("answer of memory_search",), took_ms=finished.took_ms)
    advice = "The server that the file names ran and did not answer with the memory: see `tacit logs` and `tacit status`."
    end = (finished.out + finished.err)[-2000:]
    return ProbeResult(ok=False, where=(), took_ms=finished.took_ms, advice=advice, output_end=end)


def _answer(out: str) -> str:
    """Return the text of the answer to the second message."""
    for line in out.splitlines():
        try:
            message = as_mapping(cast("object", json.loads(line)))
        except ValueError:
            continue
        if message.get("id") == 2:
            return flat_text(as_mapping(message.get("result")).get("content"))
    return ""


def prove(job: ProofJob, keys: Sequence[str]) -> ProbeResult:
    """Run the command that the client's file names at `keys`, and look for the nonce in its answer."""
    return probe(job.files[0], keys, tacit_home=job.tacit_home, nonce=job.nonce, search_path=job.search_path)
