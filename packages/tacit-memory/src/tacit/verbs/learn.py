"""Learn from past sessions, with or without a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.capture.backfill import BackfillOptions, CaptureReport
from tacit.errors import NotFound
from tacit.verbs.answers import Transcripts, WriteUpRequest, WrittenUp
from tacit.verbs.requests import MOST_MS, Folder, LongPage, Request, part_of


class FindTranscripts(LongPage):
    """A request for past transcripts: where to look, and which ones."""

    cwd: Folder = Field(default="", description="working folder of the project; left out = every project")
    path: tuple[Folder, ...] = Field(
        default=(), max_length=1000, description="files and folders to search instead"
    )
    host: str = Field(default="", max_length=100, description="only sessions of this host")
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="only files changed since")


class WriteUps(Request):
    """A request to have the language model write up one waiting session."""

    past: bool = Field(default=False, description="for imported sessions instead of current ones")
    dry_run: bool = Field(default=False, description="only show the requests; nothing is sent")


class Backfill(Request):
    """A request to learn from past transcripts."""

    cwd: Folder = Field(
        default="", description="working folder of the project; with `named`, of sessions that name none"
    )
    paths: tuple[str, ...] | None = Field(
        default=None, max_length=10_000, description="only these of `GET /v1/transcripts`; default: all"
    )
    named: bool = Field(
        default=False, description="`paths` are files of the user's choice, wherever they are"
    )
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="leave out sessions that ended before")
    subagents: bool = Field(default=False, description="also learn from subagents")
    dry_run: bool = Field(default=False, description="preview; nothing is stored")
    write_up: bool = Field(
        default=False, description="let the sessions wait for the language model; POST /v1/write-ups asks it"
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.named and not self.paths:
            raise ValueError("paths, where named is true")
        if not self.named and not self.cwd:
            raise ValueError("cwd, or named files")
        return self


def list_transcripts(
    engine: Engine,
    caller: Caller,
    request: FindTranscripts,
) -> Transcripts:
    """List past transcripts: at the given paths, else of the folder's project, else of every project.

    It looks for logs of sessions that the hosts on this machine keep. `POST /v1/transcripts` learns from them.

    Raises:
        NotFound: there is nothing at one of the paths.
    """
    paths = [Path(path) for path in request.path]
    infos = engine.transcripts(request.cwd, paths=paths, host=request.host, since_ms=request.since_ms)
    rows, following = part_of(lambda _: infos, request, lambda info: str(info.path))
    return Transcripts(transcripts=rows, next_cursor=following)


def import_transcripts(engine: Engine, caller: Caller, request: Backfill) -> CaptureReport:
    """Learn from past transcripts: files that `transcripts` lists, or, with `named`, files that the user named.

    Each session is read once: a second import adds nothing. Send a few files per request to show progress and
    to lose little when you stop.

    Raises:
        NotFound: one of `paths` is not a transcript of the project, or does not exist.
    """
    options = BackfillOptions(
        since_ms=request.since_ms,
        subagents=request.subagents,
        dry_run=request.dry_run,
        write_up=request.write_up,
    )
    if request.named:
        named_paths = [Path(path) for path in request.paths or ()]
        return engine.capture.backfill(engine.transcripts(request.cwd, paths=named_paths), options)
    available = {str(info.path): info for info in engine.transcripts(request.cwd)}
    paths = tuple(available) if request.paths is None else request.paths
    for path in paths:
        if path not in available:
            raise NotFound(
                f"{path} is no transcript of the project at {request.cwd}.",
                hint="GET /v1/transcripts lists them.",
            )
    return engine.capture.backfill([available[path] for path in paths], options)


def write_up_session(engine: Engine, caller: Caller, request: WriteUps) -> WrittenUp:
    """Ask the language model in the settings to write up one waiting session; if none waits, to compare new statements.

    One request handles one session, so that a caller can stop between two. `waiting` says how many remain.
    With `dry_run` the prepared requests are shown and nothing is sent.
    """
    write_up = None if request.dry_run else engine.learning.write_up_next(past=request.past, at_once=True)
    prepared = engine.learning.write_up_requests(past=request.past)
    extractor = engine.status().extractor
    requests = [
        WriteUpRequest(
            session=waiting.subject,
            root=waiting.root,
            tokens=waiting.tokens,
            system=waiting.request.system,
            user=waiting.request.user,
        )
        for waiting in prepared
        if request.dry_run
    ]
    return WrittenUp(
        provider=extractor.name if extractor else "",
        session=write_up.subject if write_up else "",
        error=write_up.error if write_up else "",
        changes=write_up.changes if write_up else (),
        waiting=len(prepared),
        tokens=sum(waiting.tokens for waiting in prepared),
        requests=requests,
    )
