"""Gemini CLI, headless. In: a job. Out: the call, and the answer in its one JSON object.

It is switched off by a settings file in its working folder, and keeps the whole prompt in the user's home: that is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from tacit.ports.writer import SCRATCH_PREFIX, WriterAnswer
from tacit.providers.writing.answers import count_of, json_object, object_of
from tacit.providers.writing.command_line import (
    Client,
    ClientRun,
    CommandRequest,
    Invocation,
    failure_error,
    unusable_output_error,
)

TITLE = "Gemini CLI"
NO_LOGIN_CODES = (41, 145)
"""Exit codes of Gemini CLI without a login: no way to log in is set up, or the HTTP status 401 cut to a byte."""
_SETTINGS = {
    "hooksConfig": {"enabled": False},
    "tools": {"core": ["none"]},
    "skills": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
    "model": {"maxSessionTurns": 1},
}


def _prepare(job: CommandRequest) -> Invocation:
    job.file("work/.gemini/settings.json", json.dumps(_SETTINGS))
    errors = job.private / "tmp"  # where it writes the prompt when it fails
    errors.mkdir()
    return Invocation(
        arguments=(
            "-m",
            job.model,
            "--output-format",
            "json",
            "-e",
            "none",
            "--allowed-mcp-server-names",
            "none",
        ),
        environ={
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else a launcher ignores SIGTERM
            "GEMINI_SYSTEM_MD": job.file("system.md", job.request.system),
            "TMPDIR": str(errors),
        },
    )


def _read(run: ClientRun, job: CommandRequest) -> WriterAnswer:
    if run.code in NO_LOGIN_CODES:
        raise failure_error(TITLE, run.err.strip() or "no login", status=401)
    result = json_object(run.out)
    error = object_of(result.get("error"))
    if error:
        raise failure_error(TITLE, str(error.get("message")), status=error.get("code"))
    response = result.get("response")
    if run.code != 0 or not isinstance(response, str):
        raise unusable_output_error(TITLE, run)
    models = object_of(object_of(result.get("stats")).get("models"))
    tokens = [object_of(object_of(model).get("tokens")) for model in models.values()]
    return WriterAnswer(
        text=response,
        model=next(iter(models), job.model),
        tokens_in=sum(count_of(counts.get("prompt")) for counts in tokens),
        tokens_out=sum(count_of(counts.get("candidates"), counts.get("thoughts")) for counts in tokens),
    )


def _clean(job: CommandRequest) -> None:
    """Delete what Gemini CLI stored about this run in the user's home, and about earlier runs that were killed."""
    for folder in _kept(job):
        shutil.rmtree(folder, ignore_errors=True)
    _forget_folders(job.home / ".gemini" / "projects.json")


def _forget_folders(registry: Path) -> None:
    """Remove the folders of headless runs from Gemini CLI's list of projects, and write the list back."""
    try:
        content = dict(json_object(registry.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return
    projects = object_of(content.get("projects"))
    remaining = {path: name for path, name in projects.items() if SCRATCH_PREFIX not in path}
    if len(remaining) < len(projects):
        new = registry.with_name(f"{registry.name}.tacit")
        with contextlib.suppress(OSError):
            new.write_text(json.dumps({**content, "projects": remaining}, indent=2), encoding="utf-8")
            new.replace(registry)


def _kept(job: CommandRequest) -> Iterator[Path]:
    hashed = hashlib.sha256(str(job.work).encode()).hexdigest()
    for above in ("tmp", "history"):
        folder = job.home / ".gemini" / above
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.name == hashed or SCRATCH_PREFIX in _root_of(entry):
                yield entry


def _root_of(folder: Path) -> str:
    try:
        return (folder / ".project_root").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


GEMINI = Client(
    name="gemini",
    program="gemini",
    title=TITLE,
    model="gemini-2.5-flash",
    takes_schema=False,
    prepare=_prepare,
    read=_read,
    clean=_clean,
)
