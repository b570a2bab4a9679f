"""Memories taken out and in, and backups of the store. In: checked requests. Out: models of the answers. See `tacit.api.handlers`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from tacit.api.answering import Answer, Parameters, Service
from tacit.app.wiring import examine_backup, restore_store
from tacit.verbs import answers as shapes
from tacit.verbs.requests import Folder, Request


class Restore(Request):
    """A request to replace the store by a backup."""

    source: Folder = Field(
        min_length=1, description="a backup, or a damaged database, on the daemon's machine"
    )
    dry_run: bool = Field(default=False, description="only examine it")


def restore_backup(engine: Service, at: Parameters, request: Restore) -> Answer[shapes.Restored]:
    """Replace the store by a backup, or by what can be read of a damaged database. The present store is moved aside, not deleted.

    The daemon goes on with the restored store. Requests at work are finished before it is exchanged; those that
    come meanwhile wait, or get 503 and may be sent again. With `dry_run` the file is only examined. Purged
    memories stay gone.

    Raises:
        NotFound: there is no such file.
        StoreNewer: a newer Tacit wrote the backup.
        NotABackup: the file holds no Tacit store.
    """
    home, source = engine.home, Path(request.source)
    recovered = examine_backup(home, source)
    aside = None if request.dry_run else at.reopened(lambda: restore_store(home, source))
    return Answer(
        shapes.Restored(
            source=request.source,
            former=str(aside) if aside else None,
            recovered=recovered,
            dry_run=request.dry_run,
        )
    )
