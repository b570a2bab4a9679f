"""Claude Code, headless. In: a job. Out: the call, and the answer in its one JSON object.

`--safe-mode` switches off hooks, plugins and CLAUDE.md and keeps the login (`--bare`, `--restricted` and an empty
`--setting-sources` would lose it). Three switches keep it from reading `@path`, besides the character that replaces it.
"""

from __future__ import annotations

import json

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

TITLE = "Claude Code"
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _prepare(job: CommandRequest) -> Invocation:
    schema = job.request.schema
    return Invocation(
        arguments=(
            "-p",
            "--safe-mode",
            "--tools",
            "",
            "--strict-mcp-config",
            "--no-session-persistence",
            "--disable-slash-commands",
            "--settings",
            json.dumps({"permissions": {"deny": ["Read"]}}),
            "--system-prompt-file",
            job.file("system.md", job.request.system),
            *(("--json-schema", json.dumps(schema)) if schema is not None else ()),
            "--model",
            job.model,
            "--output-format",
            "json",
        ),
        environ={
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
            "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
            "MAX_THINKING_TOKENS": "0",  # else the request asks for 31,999 tokens of thinking
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(job.request.most_output_tokens),
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "API_TIMEOUT_MS": str(round(job.timeout_s * 1000)),
        },
    )


def _read(run: ClientRun, job: CommandRequest) -> WriterAnswer:
    result = json_object(run.out)
    if not result:
        raise unusable_output_error(TITLE, run)
    if result.get("is_error"):
        message = str(result.get("result") or result.get("subtype") or result.get("errors"))
        raise failure_error(TITLE, message, status=result.get("api_error_status"))
    structured = result.get(
        "structured_output"
    )  # absent, with exit code 0, where the model answered in prose
    usage = object_of(result.get("usage"))
    return WriterAnswer(
        text=str(result.get("result", ""))
        if structured is None
        else json.dumps(structured, ensure_ascii=False),
        model=next(iter(object_of(result.get("modelUsage"))), job.model),
        tokens_in=count_of(*(usage.get(name) for name in _TOKENS_IN)),
        tokens_out=count_of(usage.get("output_tokens")),
    )


CLAUDE = Client(
    name="claude",
    program="claude",
    title=TITLE,
    model="claude-haiku-4-5",
    takes_schema=True,
    prepare=_prepare,
    read=_read,
)
