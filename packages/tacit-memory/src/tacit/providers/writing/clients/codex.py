"""Codex, headless. In: a job. Out: the call, and the answer from the file that it writes.

It runs with the user's own `CODEX_HOME`, because a copied login could be lost when it is renewed; so the user's AGENTS.md is
sent along. `--ignore-user-config` alone does not stop hooks.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from tacit.ports.writer import HEADLESS, WriterAnswer
from tacit.providers.writing.answers import count_of, json_object, object_of
from tacit.providers.writing.command_line import (
    Client,
    ClientRun,
    CommandRequest,
    Invocation,
    failure_error,
    unusable_output_error,
)
from tacit.system.processes import group_options

TITLE = "Codex"
LOOK_S = 20.0
_FEATURES = (
    "hooks", "plugins", "remote_plugin", "apps", "multi_agent", "shell_tool", "unified_exec", "tool_suggest", "skill_search", "goals",
    "memories", "image_generation", "browser_use", "computer_use", "in_app_browser", "shell_snapshot", "workspace_dependencies",
    "sleep_tool", "daemon_auto_start", "skill_mcp_dependency_install", "view_image",
)  # fmt: skip
_OPTIONS = (
    "project_doc_max_bytes=0", "web_search=disabled", "check_for_update_on_startup=false", "analytics.enabled=false",
    "history.persistence=none", "skills.include_instructions=false", "skills.bundled.enabled=false", "include_environment_context=false",
    "include_permissions_instructions=false", "include_apps_instructions=false",
)  # fmt: skip


def _prepare(job: CommandRequest) -> Invocation:
    environ = {**job.environ, HEADLESS: "1"}
    options = [
        *_OPTIONS,
        f"model_instructions_file={job.file('system.md', job.request.system)}",
        f"sqlite_home={job.private / 'sq'}",
        f"log_dir={job.private / 'lg'}",
    ]
    features = _known_features(job.executable, tuple(sorted(environ.items())))
    schema = job.request.schema
    return Invocation(
        arguments=(
            "exec",
            "--ignore-user-config",
            "--ignore-rules",
            "--ephemeral",
            "--skip-git-repo-check",
            "-s",
            "read-only",
            "--json",
            "-m",
            job.model,
            "-o",
            str(job.private / "last.txt"),
            *(("--output-schema", job.file("schema.json", json.dumps(schema))) if schema is not None else ()),
            *(argument for name in features for argument in ("--disable", name)),
            *(argument for option in options for argument in ("-c", option)),
            "-",
        )
    )


@lru_cache(maxsize=4)
def _known_features(executable: str, environ: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the names of the features to switch off that this version of Codex has, because it refuses unknown ones. All of them if it does not list them."""
    try:
        done = subprocess.run(
            [executable, "features", "list"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LOOK_S,
            check=False,
            **group_options(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return _FEATURES
    features = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    to_disable = [name for name in features if name in _FEATURES or "hook" in name]
    return tuple(to_disable) if done.returncode == 0 and to_disable else _FEATURES


def _read(run: ClientRun, job: CommandRequest) -> WriterAnswer:
    usage: Mapping[str, object] = {}
    error = ""
    for line in run.out.splitlines():
        event = json_object(line)
        match event.get("type"):
            case "turn.completed":
                usage = object_of(event.get("usage"))
            case "turn.failed":
                error = str(object_of(event.get("error")).get("message") or "the turn failed")
            case _:
                pass
    if error:
        raise failure_error(TITLE, error, status=401 if "401" in error else None)
    try:
        text = (job.private / "last.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    if run.code != 0 or not text.strip():
        if "401" in run.err or "not logged in" in run.err.lower():
            raise failure_error(TITLE, run.err.strip(), status=401)
        raise unusable_output_error(TITLE, run)
    return WriterAnswer(
        text=text,
        model=job.model,
        tokens_in=count_of(usage.get("input_tokens")),  # cached ones are among them
        tokens_out=count_of(usage.get("output_tokens")),
    )


CODEX = Client(
    name="codex",
    program="codex",
    title=TITLE,
    model="gpt-5.4-mini",
    takes_schema=True,
    prepare=_prepare,
    read=_read,
)
