"""Take memories out and in, and copy and check the store."""

from __future__ import annotations

import base64
import binascii
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.maintenance.maintenance import ProgressCallback
from tacit.app.transfer.report import ImportOptions
from tacit.app.transfer.transfer import Progress
from tacit.app.values import Caller
from tacit.config.home import Home
from tacit.errors import InvalidInput
from tacit.session.answer_priority import wait_for_pending_answers
from tacit.verbs.answers import BackupPath, Copies, Exported, ImportedFile, ImportedFormat
from tacit.verbs.requests import MAX_IMPORT_BYTES, Folder, NoBody, Place, Request


class Backup(Request):
    """A request to write a backup."""

    target: Folder = Field(min_length=1, description="a file that does not exist yet")


_UPLOADS = "import-"
_uploading = Lock()


class Export(Request):
    """A request for an export of memories, as text or to a file."""

    format: Literal["jsonl", "markdown"] = Field(
        default="jsonl", description="`jsonl` = everything, without loss; `markdown` = to read and edit"
    )
    cwd: Place = Field(
        default="", description="only memories visible from this folder, or to `user:NAME`; default: all"
    )
    target: Folder = Field(
        default="", description="a file that does not exist yet; left out = the answer holds the text"
    )


class ImportMemories(Request):
    """A request to import memories from a file, or from text that it holds."""

    path: Folder = Field(default="", description="a file or folder on the daemon's machine")
    content: str = Field(
        default="",
        max_length=MAX_IMPORT_BYTES,
        description="instead of `path`: the file itself, as `encoding` says",
    )
    encoding: Literal["text", "base64"] = Field(
        default="text", description="of `content`; `base64` for a database, whose bytes are no text"
    )
    name: str = Field(
        default="memories.jsonl",
        pattern=r"^[^/\\\x00]{1,200}$",
        description="with `content`: the name of the file, which the report uses",
    )
    cwd: Folder = Field(default="", description="folder whose project the statements are for")
    tool: str = Field(
        default="auto", max_length=60, description="the tool that wrote it; `auto` = detected by content"
    )
    mine: bool = Field(
        default=False,
        description="the statements count as the user's own words, so that none waits in review",
    )
    universal: bool = Field(default=False, description="make them visible in every project")
    any_project: bool = Field(default=False, description="also import memories of other projects")
    project: Folder = Field(
        default="", description="assign the project memories of an export to this folder's project"
    )
    again: bool = Field(default=False, description="also import what was imported before")
    forget_removed: bool = Field(
        default=False, description="forget the memories that were deleted from an edited file"
    )
    dry_run: bool = Field(default=False, description="only report what would change")

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if bool(self.path) == bool(self.content):
            raise ValueError("either path or content")
        if self.name in (".", ".."):
            raise ValueError("the name of a file")
        return self

    @property
    def file_bytes(self) -> bytes:
        """Return the bytes of the file that was sent.

        Raises:
            InvalidInput: if they are not base64, as `encoding` says.
        """
        if self.encoding == "text":
            return self.content.encode("utf-8", "replace")
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error as error:
            raise InvalidInput("`content` is no base64.", hint="Send text with `encoding` `text`.") from error

    @property
    def options(self) -> ImportOptions:
        """Return the options of the import."""
        return ImportOptions(
            tool=self.tool,
            vouched=self.mine,
            universal=self.universal,
            any_project=self.any_project,
            again=self.again,
            forget_removed=self.forget_removed,
            dry_run=self.dry_run,
            project=self.project,
        )


def export_memories(engine: Engine, caller: Caller, request: Export) -> Exported:
    """Export memories: as text, or to a new file, which only the user can read.

    A lossless export (`jsonl`) has all versions, relations and the signature of this home; Markdown has what
    is remembered now. Purges and rescans for secrets clean the file, too. A caller without the user's authority
    gets no restricted memories.
    """
    scope = engine.visible(request.cwd) if request.cwd else None
    transfer, speaker, text = engine.transfer, caller.speaker, ""
    if request.target:
        size = transfer.export_to(Path(request.target), form=request.format, scope=scope, speaker=speaker)
    else:
        text = (
            transfer.export_markdown(scope=scope, speaker=speaker)
            if request.format == "markdown"
            else b"".join(transfer.export(scope=scope, speaker=speaker)).decode("utf-8")
        )
        size = len(text.encode("utf-8"))
    return Exported(target=request.target, format=request.format, bytes=size, text=text)


def import_memories(engine: Engine, caller: Caller, request: ImportMemories) -> ImportedFile:
    """Import an export of Tacit, edited Markdown, a rule file, or the memories of another tool. The format is detected by content.

    Lines that this home signed become the same memories again. Everything else waits in review, unless `mine`
    says that it is the user's own. Send the path of a file on this machine as `path`, or the text of a file as
    `content`. If you import the same file again, nothing is added. While the import runs, `GET /v1/jobs` says
    how far it is. To take the import back, undo each of `change_ids`, the last one first. Memories from signed
    lines have no change id: delete those that `lines` lists as added.

    Raises:
        NotFound: there is nothing at `path`.
    """
    with (
        _file(engine.home, request) as path,
        engine.maintenance.jobs.listed("import") as tell,
        engine.store.noting_changes() as written,
    ):
        report = engine.transfer.take(
            path,
            cwd=request.cwd,
            wanted=request.options,
            progress=_giving_way(tell),
        )
        speaks_for_user = engine.transfer.speaks_for_user(path)
    return ImportedFile(
        formats=[
            ImportedFormat(path=name if request.path else request.name, tool=tool)
            for name, tool in report.formats
        ],
        counts=dict(report.counts),
        lines=report.lines,
        unconfirmed=report.unconfirmed,
        speaks_for_user=speaks_for_user,
        change_ids=tuple(written),
        dry_run=report.dry_run,
    )


def _giving_way(tell: ProgressCallback) -> Progress:
    """Return a progress function for an import: it reports the progress with `tell`, and then waits while hooks need answers."""

    def progress(what: str, done: int, whole: int) -> None:
        tell(done, whole)
        wait_for_pending_answers()

    return progress


@contextmanager
def _file(home: Home, request: ImportMemories) -> Generator[Path]:
    """Yield the path of the file to import. Sent text is written to a private temporary folder, which is removed afterwards."""
    if request.path:
        yield Path(request.path)
        return
    with _uploading:  # so that what is left of a killed process can be told from what is in use
        for left in home.run_dir.glob(f"{_UPLOADS}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_UPLOADS, dir=home.run_dir) as folder:
            path = Path(folder, request.name)
            path.write_bytes(request.file_bytes)
            yield path


def create_backup(engine: Engine, caller: Caller, request: Backup) -> BackupPath:
    """Write a consistent copy of the store to a new file.

    It can be made while Tacit is in use. `GET /v1/backups` lists it afterwards, and purges clean it.

    Raises:
        StoreFull: there is no room for the copy.
    """
    engine.maintenance.backup(Path(request.target))
    return BackupPath(target=request.target)


def list_backups(engine: Engine, caller: Caller, request: NoBody) -> Copies:
    """List backups and replaced databases that `POST /v1/restore` takes, newest first.

    They are automatic backups, backups that were asked for, and stores that a restore or a repair moved
    aside.
    """
    return Copies(copies=engine.maintenance.copies())
