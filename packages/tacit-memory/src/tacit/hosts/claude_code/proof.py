"""Whether injected text reaches the model through Claude Code. In: the client, the installed settings. Out: a result.

Runs `claude -p` once in a throw-away home against the stub model, with the hooks exactly as the user's settings file
holds them. The user's files are read, never written; nothing leaves the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacit.errors import HostError
from tacit.hosts.install import jsonc
from tacit.hosts.install.files import read_text
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

MODEL = "claude-sonnet-4-5"
PROMPT = "Say hello in one word."
OUR_SERVER = ("mcpServers", "tacit")


def environment(
    stub_url: str, *, home: Path, tacit_home: Path, search_path: str = SEARCH_PATH
) -> dict[str, str]:
    """Variables that make Claude Code talk to the stub model and to nothing else."""
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


def probe(
    executable: Path,
    *,
    settings: Path,
    tacit_home: Path,
    nonce: str,
    launcher: Path,
    calls: Sequence[CallTool] = (),
    servers: Path | None = None,
    permissions: Mapping[str, Sequence[str]] | None = None,
    search_path: str = SEARCH_PATH,
    timeout_s: float = 60.0,
) -> ProbeResult:
    """Run Claude Code once and look for `nonce` in what it sends to the model.

    Args:
        executable: the `claude` client.
        settings: the settings file that holds our hooks (user or project scope). Read only.
        tacit_home: a throw-away Tacit home whose store holds a memory with `nonce` that every session starts with.
            The caller ends the daemon that may have been started for it (`tacit.client.daemon_facts.end_daemon`).
        nonce: letters and digits that occur nowhere else.
        launcher: the launcher that the hooks must call, for the advice.
        calls: the calls of our tools that the model makes.
        servers: the file with our MCP server, which answers them. Read only.
        permissions: the rules of the user that decide whether the client asks before these calls.
        search_path: PATH of the client.
        timeout_s: longest wait for the client.
    """
    try:
        server = (
            jsonc.find(jsonc.read(read_text(servers) or "{}", path=servers), OUR_SERVER) if servers else None
        )
        content: object = json.loads(settings.read_text(encoding="utf-8-sig"))
    except ValueError:
        return not_run(
            f"{settings} is not plain JSON, so Claude Code ignores all of it. Take comments and trailing commas out."
        )
    except HostError as error:
        return not_run(str(error))
    except OSError as error:
        return not_run(f"{settings} cannot be read ({error}). Run `tacit install claude-code`.")
    hooks = json.dumps({**hooks_only(content), "permissions": dict(permissions or {})})
    problem = problem_of(hooks, file=settings, launcher=launcher, host="claude-code")
    if problem is not None:
        return problem
    with scratch(calls) as place:
        copy = place.home / ".claude" / "settings.json"
        copy.parent.mkdir()
        copy.write_text(hooks, encoding="utf-8")
        if server is not None:
            entry = json.dumps({"mcpServers": {"tacit": server.value}})
            (place.home / ".claude.json").write_text(entry, encoding="utf-8")
        variables = environment(
            place.stub.url, home=place.home, tacit_home=tacit_home, search_path=search_path
        )
        finished = run_client(
            [str(executable), "-p", PROMPT, "--model", MODEL],
            # The first request waits until the server has connected.
            environment={**variables, "MCP_CONNECT_TIMEOUT_MS": "30000"},
            cwd=place.project,
            timeout_s=timeout_s,
        )
        return judge(finished, place.stub, nonce=nonce, host="Claude Code")


def prove(job: ProofJob) -> ProbeResult:
    """Run the client with the installed files, and look for the nonce in what it is asked."""
    return probe(
        job.executable,
        settings=job.file("settings.json"),
        servers=job.file(".claude.json", ".mcp.json"),
        permissions={"allow": job.rules} if job.calls else {},
        calls=job.calls,
        tacit_home=job.tacit_home,
        nonce=job.nonce,
        launcher=job.launcher,
        search_path=job.search_path,
    )
