"""Operations that only the HTTP API has: the text before a prompt for a program that keeps a conversation itself, and the exchange of the store.

In: checked requests. Out: models of the answers. Error states of an injection have a result that may be used, and the status that the
`multispace` seed names: 500, or 408 after a timeout.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from tacit.api.answering import Answer, Parameters, Service
from tacit.app.queries.injection import Injection, InjectionFailed
from tacit.app.wiring import examine_backup, restore_store
from tacit.presets.multispace.settings import Categories, RecencyWeights
from tacit.verbs import answers as shapes
from tacit.verbs.requests import MAX_CONTENT_CHARS, Folder, Place, Request


class Inject(Request):
    """A request for the text to put before a prompt of a conversation that a program keeps."""

    text: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the user's words")
    session_id: str = Field(
        min_length=1,
        max_length=500,
        description="names the conversation; it gets no memory twice",
    )
    cwd: Place = Field(default="", description="working folder, or `user:NAME`: decides what may be seen")
    deadline_ms: float | None = Field(
        default=None, gt=0, le=60_000, description="longest time; default: the setting"
    )
    categories: Categories | None = Field(default=None, description="tokens per section, for this prompt")
    recency: RecencyWeights | None = Field(default=None, description="factors by age, for this prompt")


def inject(engine: Service, at: Parameters, request: Inject) -> Answer[shapes.Injected]:
    """Get the text to put before a prompt, with counts and alerts.

    It is for a program that keeps the conversation itself: put the text before the user's words. Often it is
    empty. Alerts and counts are there where the preset has them. A failure has a result that can be used all
    the same: status 408 after a timeout, 500 otherwise.
    """
    asking = Injection(engine)
    if request.categories is not None:
        asking.set_token_budget(request.categories)
    if request.recency is not None:
        asking.configure_recency_weights(request.recency)
    outcome = asking.inject_context(
        request.text,
        request.session_id,
        cwd=request.cwd,
        deadline_ms=request.deadline_ms,
        hand_over=lambda _: at.waits(),
    )
    if not isinstance(outcome, InjectionFailed):
        return Answer(shapes.Injected(result=outcome, failure=None))
    failure = shapes.InjectionFailure(reason=outcome.reason, message=outcome.message)
    return Answer(shapes.Injected(result=outcome.result, failure=failure), status=outcome.http_status)


class Restore(Request):
    """A request to replace the present store with the memories of a backup file."""

    source: Folder = Field(
        min_length=1, description="a backup, or a damaged database, on the daemon's machine"
    )
    dry_run: bool = Field(default=False, description="only examine it")


def restore_backup(engine: Service, at: Parameters, request: Restore) -> Answer[shapes.StoreRestored]:
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
        shapes.StoreRestored(
            source=request.source,
            former=str(aside) if aside else None,
            recovered=recovered,
            dry_run=request.dry_run,
        )
    )
