"""OpenCode 1.x, headless. In: a job. Out: the call, and the answer from its lines of JSON.

The run ends at the first `step_finish`: after a broken answer the client would ask again without end. It keeps its session in
memory and prints its log, so that it leaves no file. Its MCP servers start unless each is switched off by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from tacit.ports.writer import WriterAnswer
from tacit.providers.writing.answers import count_of, json_object, object_of
from tacit.providers.writing.command_line import (
    Client,
    ClientRun,
    CommandRequest,
    Invocation,
    failure_error,
    unusable_output_error,
)

TITLE = "OpenCode"
AGENT = "tacit-writer"
_SWITCHES = dict.fromkeys(
    (
        "OPENCODE_PURE",
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "OPENCODE_DISABLE_CLAUDE_CODE",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_SHARE",
    ),
    "1",
)
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(r",(\s*[}\]])")
_FINISHED = re.compile(rb'^\{"type":"(?:step_finish|error)".*\n', re.MULTILINE)


def _prepare(job: CommandRequest) -> Invocation:
    agents = job.file("config/AGENTS.md", "Answer the request.\n")  # else the user's own is sent
    inherited = _jsonc(job.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    servers = {name: {"enabled": False} for name in _mcp_servers(job, inherited)}
    agent = {
        "mode": "primary",
        "prompt": job.request.system,
        "permission": {"*": "deny"},
        "tools": {"*": False},
    }
    content: dict[str, object] = {
        **inherited,
        "agent": {AGENT: agent},
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "compaction": {"auto": False},
        "plugin": [],
        "mcp": servers,
    }
    return Invocation(
        arguments=(
            "run",
            "--pure",
            "--print-logs",
            "--log-level",
            "WARN",
            "--agent",
            AGENT,
            "--title",
            AGENT,
            "--format",
            "json",
            "-m",
            job.model,
        ),
        environ={
            **_SWITCHES,
            "OPENCODE_DB": ":memory:",
            "OPENCODE_CONFIG_DIR": str(Path(agents).parent),
            "OPENCODE_CONFIG_CONTENT": json.dumps(content),
            "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX": str(job.request.most_output_tokens),
            "npm_config_registry": "http://127.0.0.1:9/",  # else a new configuration folder starts an npm install
            "npm_config_fetch_retries": "0",
        },
    )


def _mcp_servers(job: CommandRequest, inherited: Mapping[str, object]) -> set[str]:
    """Return the names of the MCP servers in the user's configuration of OpenCode."""
    config_home = job.environ.get("XDG_CONFIG_HOME")
    folder = (Path(config_home) if config_home else job.home / ".config") / "opencode"
    files = [folder / name for name in ("config.json", "opencode.json", "opencode.jsonc")]
    if own := job.environ.get("OPENCODE_CONFIG"):
        files.append(Path(own))
    documents = [inherited]
    for file in files:
        try:
            documents.append(_jsonc(file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError):
            continue
    return {name for config in documents for name in object_of(config.get("mcp"))}


def _jsonc(text: str) -> Mapping[str, object]:
    """Return the object in a JSON text with comments; empty if there is none."""
    bare = _LAST_COMMA.sub(r"\1", _COMMENT.sub(lambda m: m[1] or "", text))
    return json_object(bare)


def _events(out: str) -> Iterator[Mapping[str, object]]:
    yield from (json_object(line) for line in out.splitlines())


def _is_over(out: bytes) -> bool:
    return _FINISHED.search(out) is not None


def _read(run: ClientRun, job: CommandRequest) -> WriterAnswer:
    events = list(_events(run.out))
    if AGENT in run.err and "not found" in run.err:
        raise unusable_output_error(TITLE, run)  # it would have gone on with its default agent and all tools
    for event in events:
        if event.get("type") == "error":
            raise _refused(object_of(event.get("error")))
    finish = next((object_of(e.get("part")) for e in events if e.get("type") == "step_finish"), None)
    if finish is None or finish.get("reason") != "stop":
        raise unusable_output_error(TITLE, run)
    parts = [object_of(event.get("part")) for event in events if event.get("type") == "text"]
    tokens = object_of(finish.get("tokens"))
    cache = object_of(tokens.get("cache"))
    return WriterAnswer(
        text="".join(str(part.get("text", "")) for part in parts),
        model=job.model,
        tokens_in=count_of(tokens.get("input"), cache.get("read"), cache.get("write")),
        tokens_out=count_of(tokens.get("output"), tokens.get("reasoning")),
    )


def _refused(error: Mapping[str, object]) -> Exception:
    data = object_of(error.get("data"))
    status, message = data.get("statusCode"), str(data.get("message") or error.get("name"))
    if status is None:  # it gives no reason where the login or the model is missing
        return failure_error(TITLE, f"{message} (no login for the provider, or an unknown model)", status=401)
    return failure_error(TITLE, f"{message} ({cast('int', status)})", status=status)


OPENCODE = Client(
    name="opencode",
    program="opencode",
    title=TITLE,
    model="",
    takes_schema=False,
    prepare=_prepare,
    read=_read,
    is_over=_is_over,
)
