"""One function per endpoint: checked request in, engine called, a model of the answer out.

In: the engine, the path's parameters, a checked request. Out: a model of `tacit.api.answers`, or a value of the program. Synchronous: the routes run
these on threads. Never parses, never catches an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.api import answers as shapes
from tacit.api import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.cursors import from_cursor, rows_before, to_cursor
from tacit.app.maintenance.maintenance import StoreUse
from tacit.app.maintenance.review import DECISIONS
from tacit.app.reasons import change_text
from tacit.app.tuning import TuneReport
from tacit.app.visibility import first_rows
from tacit.capture.backfill import BackfillOptions
from tacit.capture.discover import served_transcripts
from tacit.capture.report import CaptureReport
from tacit.errors import NotFound
from tacit.model.changes import Skip
from tacit.model.memory import Memory, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.safety.trust import visible_levels
from tacit.upkeep.rescan import Rescan


def remember(engine: Service, at: Parameters, request: ask.Remember) -> Answer[shapes.Changed]:
    """Store a statement: 201 with the changes, 200 when nothing was stored.

    With a personal token, from the page or a terminal it counts as the user's. Otherwise it counts as an agent's and waits, unless `user_words` prove it.
    """
    speaker = at.speaker if request.tier in (None, "user") else Speaker.AGENT
    changes = engine.remember(
        request.content,
        kind=request.kind,
        scope=request.wanted_scope,
        when=request.when,
        cwd=request.cwd,
        speaker=speaker,
        user_words=request.user_words,
        source=request.source,
        session=request.session.key if request.session is not None else None,
        pinned=request.pinned,
        files=request.files,
        sensitivity=request.wanted_sensitivity,
        replaces=request.replaces,
        all_branches=request.all_branches,
    )
    stored = any(not isinstance(change, Skip) for change in changes)
    return Answer(shapes.Changed(changes=changes), status=201 if stored else 200)


def recall(engine: Service, at: Parameters, request: ask.Recall) -> Answer[shapes.RecalledView]:
    """Recall memories: the block, its memories, the trace. Silence is an empty block."""
    trial: dict[str, Any] = {}
    if request.threshold is not None or request.preset is not None:
        trial["adjust"] = engine.admin.options.trial(
            request.cwd, preset=request.preset, surface=request.wanted_surface, threshold=request.threshold
        )
    recalled = engine.recall(
        request.text,
        cwd=request.cwd,
        surface=request.wanted_surface,
        budget_tokens=request.budget_tokens,
        as_of_ms=request.as_of_ms,
        store_trace=request.store_trace,
        given=request.given,
        session=request.session.key if request.session is not None else None,
        held=request.held,
        speaker=at.speaker,
        **trial,
    )
    return Answer(
        shapes.RecalledView(
            block=recalled.block,
            memories=recalled.pack.items,
            budget_tokens=recalled.pack.budget_tokens,
            trace=recalled.trace,
            replayed=[
                engine.replayed([recalled.trace], threshold=threshold)[0] for threshold in request.replay_at
            ],
        )
    )


def context(engine: Service, at: Parameters, request: ask.AtFolder) -> Answer[shapes.BlockView]:  # noqa: ARG001
    """Get the start pack of a session in the folder."""
    return Answer(shapes.BlockView(block=engine.context(request.cwd)))


def list_memories(engine: Service, at: Parameters, request: ask.ListMemories) -> Answer[shapes.MemoryPage]:
    """List memories, newest first unless ordered otherwise; `next_cursor` and `next_offset` are null at the end."""
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        source=request.source,
        as_of_ms=request.as_of_ms,
        tiers=request.wanted_tiers,
        sensitivities=visible_levels(request.wanted_sensitivities, by_user=at.by_user),
        pinned=request.pinned,
        order=request.order or "created",
    )
    where, skip = _from(where, request)
    scope = engine.visible(request.cwd, paths=request.path) if request.cwd else None
    if request.scope:
        scope = engine.admin.scopes([Scope.parse(text) for text in request.scope], within=scope)
    if request.text is not None and request.text.strip():
        return _found(engine, request, where, scope)
    fetched = engine.list_memories(where, scope=scope, limit=request.limit + 1, offset=skip)
    rows = fetched[: request.limit]
    more = len(fetched) > request.limit
    following: tuple[int, str] = (skip + request.limit, "")
    if more and where.order == "created":
        following = (rows[-1].created_at_ms, rows[-1].id)
    return Answer(
        shapes.MemoryPage(
            memories=rows,
            limit=request.limit,
            offset=request.offset,
            next_offset=request.offset + request.limit if more and not request.cursor else None,
            next_cursor=to_cursor(following) if more else None,
            total=engine.admin.count(where, scope=scope),
        )
    )


def _found(
    engine: Service, request: ask.ListMemories, where: MemoryFilter, scope: ScopeFilter | None
) -> Answer[shapes.MemoryPage]:
    """The part of a list that is searched for; its places are those in the whole answer."""
    skip = rows_before(request.cursor) if request.cursor else request.offset
    within = scope if scope is not None else engine.admin.scopes(())
    hits = [hit.memory for hit in engine.admin.search.find(request.text or "", where, scope=within)]
    if request.order is not None:
        hits.sort(key=ORDERS[request.order], reverse=True)
    following = skip + request.limit
    more = following < len(hits)
    return Answer(
        shapes.MemoryPage(
            memories=hits[skip:following],
            limit=request.limit,
            offset=request.offset,
            next_offset=following if more and not request.cursor else None,
            next_cursor=to_cursor((following, "")) if more else None,
            total=len(hits),
        )
    )


ORDERS: Mapping[str, Callable[[Memory], tuple[float, int]]] = {
    "created": lambda memory: (0.0, memory.created_at_ms),
    "updated": lambda memory: (memory.updated_at_ms, memory.created_at_ms),
    "importance": lambda memory: (memory.importance, memory.created_at_ms),
    "used": lambda memory: (memory.use_count, memory.created_at_ms),
}
"""What the memories found are ordered by, greatest first."""


def _from(where: MemoryFilter, request: ask.ListMemories) -> tuple[MemoryFilter, int]:
    """Where the list goes on: after a memory, or after so many rows."""
    if not request.cursor:
        return where, request.offset
    if where.order == "created":
        return replace(where, after=from_cursor(request.cursor)), 0
    return where, rows_before(request.cursor)


def show(engine: Service, at: Parameters, request: ask.AsOf) -> Answer[shapes.OneMemory]:
    """Get one memory by its id, or by a unique beginning or end of it, optionally as of a time."""
    memory = engine.show(at["id"], speaker=at.speaker)
    if request.as_of_ms is not None:
        version = engine.admin.as_of(memory.id, request.as_of_ms)
        if version is None or not engine.visible_to(at.speaker, (version,)):
            raise NotFound(f"{memory.id} was not known then.", hint="Ask for a later time.")
        memory = version
    return Answer(shapes.OneMemory(memory=memory), etag=shapes.etag_of(memory))


def edit(engine: Service, at: Parameters, request: ask.Edit) -> Answer[shapes.OneMemory]:
    """Change parts of a memory. The history keeps the old version."""
    changed = engine.edit(
        at["id"],
        content=request.content,
        kind=request.kind,
        when=request.when,
        scope=request.wanted_scope,
        importance=request.importance,
        pinned=request.pinned,
        sensitivity=request.wanted_sensitivity,
        all_branches=request.all_branches is True,
    )
    return Answer(shapes.OneMemory(memory=changed), etag=shapes.etag_of(changed))


def forget(engine: Service, at: Parameters, request: ask.Forget) -> Answer[shapes.OneMemory]:
    """Retire a memory: it is never recalled again, and its history stays."""
    forgotten = engine.forget(at["id"], reason=request.reason, speaker=at.speaker)
    return Answer(shapes.OneMemory(memory=forgotten))


def history(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[shapes.Versions]:  # noqa: ARG001
    """All versions of a memory, oldest first."""
    return Answer(shapes.Versions(versions=engine.history(at["id"], speaker=at.speaker)))


def review_queue(engine: Service, at: Parameters, request: ask.ListReview) -> Answer[shapes.ReviewQueue]:
    """List what waits for the user: pairs that may contradict each other, and unconfirmed statements."""
    visibility = engine.visibility(at.speaker)
    page = engine.review.queue.page(
        request.wanted,
        scope=engine.visible(request.cwd) if request.cwd else None,
        limit=request.limit,
        after=from_cursor(request.cursor) if request.cursor else None,
        levels=visibility.levels,
    )
    entries = [
        shapes.ReviewEntry(
            memory=entry.memory,
            other=entry.other,
            cause=entry.cause,
            reason=visibility.words(entry.reason),
            alike=entry.alike,
        )
        for entry in page.items
    ]
    groups = {
        name: [shapes.GroupCount(value=value, count=count) for value, count in counts]
        for name, counts in page.groups.items()
    }
    return Answer(
        shapes.ReviewQueue(
            review=entries,
            total=page.total,
            waiting=page.waiting,
            groups=shapes.ReviewGroups(**groups),
            next_cursor=to_cursor(page.following) if page.following else None,
        )
    )


def decide_all(engine: Service, at: Parameters, request: ask.DecideAll) -> Answer[shapes.Decided]:  # noqa: ARG001
    """Make one decision on many statements of the review queue. It is one change, which `undo` reverts."""
    where = request.where
    changes = engine.review.decide_all(
        request.action,
        ids=request.ids,
        where=where.wanted if where is not None else None,
        scope=engine.visible(where.cwd) if where is not None and where.cwd else None,
        count=request.count,
    )
    return Answer(shapes.Decided(decided=sum(change.reason.cause in DECISIONS for change in changes)))


def decide(engine: Service, at: Parameters, request: ask.Decide) -> Answer[shapes.Changed]:
    """Decide on one statement of the review queue, by its id, or the beginning or end of it."""
    changes = engine.review.decide(at["id"], request.action, content=request.content, into=request.into)
    return Answer(shapes.Changed(changes=changes))


def changes(engine: Service, at: Parameters, request: ask.ListChanges) -> Answer[shapes.ChangeLog]:
    """List the latest changes, newest first, with their reasons and the earlier versions."""
    scope = engine.visible(request.cwd) if request.cwd else None
    visibility = engine.visibility(at.speaker)
    name = engine.show(request.id, speaker=at.speaker).id if request.id else None
    fetched = first_rows(
        lambda most: engine.review.changes(scope=scope, memory_id=name, change_id=request.change, limit=most),
        visibility.changes,
        request.limit,
    )
    reasons = [visibility.reason(change.reason) for change in fetched]
    rows = [
        shapes.ChangeEntry(
            change_id=change.change_id,
            at_ms=change.at_ms,
            reason=change_text(reason),
            cause=reason.cause,
            memory=change.memory,
            before=change.before,
        )
        for change, reason in zip(fetched, reasons, strict=True)
    ]
    return Answer(shapes.ChangeLog(changes=rows))


def undo(engine: Service, at: Parameters, request: ask.Undo) -> Answer[shapes.Changed]:  # noqa: ARG001
    """Undo one change as a whole. Ended statements become active again. 409 if a later change touched its memories."""
    changes = engine.review.undo(request.id, memory_id=request.memory, keep_both=request.keep_both)
    return Answer(shapes.Changed(changes=changes))


def feedback(engine: Service, at: Parameters, request: ask.Feedback) -> Answer[None]:
    """Report whether a memory was useful."""
    name = engine.show(at["id"], speaker=at.speaker).id
    if request.trace_id is not None:
        engine.admin.say(request.trace_id, [name], useful=request.useful)
    else:
        engine.feedback(name, useful=request.useful)
    return Answer(None)


def traces(engine: Service, at: Parameters, request: ask.ListTraces) -> Answer[shapes.Traces]:
    """List the last recalls with every stage's keeps and drops, newest first."""
    surface = Surface(request.surface) if request.surface is not None else None
    recalls = engine.why(session=request.session, surface=surface, limit=request.limit, speaker=at.speaker)
    replayed = engine.replayed(recalls, threshold=request.threshold) if request.threshold is not None else ()
    return Answer(shapes.Traces(traces=recalls, replayed=replayed))


def tune(engine: Service, at: Parameters, request: ask.Tune) -> Answer[TuneReport]:  # noqa: ARG001
    """Fit the levels before a prompt to this store, without labels."""
    return Answer(engine.tune(bound=request.bound, apply=request.apply))


def rescan(engine: Service, at: Parameters, request: ask.BeginRescan) -> Answer[Rescan]:  # noqa: ARG001
    """Take secrets out of tables, indexes, traces, logs, start blocks, and known backups and exports."""
    return Answer(engine.rescan(dry_run=request.dry_run))


def mute(engine: Service, at: Parameters, request: ask.Mute) -> Answer[shapes.Muted]:
    """Stop or resume injecting into one session."""
    key = ask.SessionName.of(at["host"], at["session_id"])
    state = engine.mute(key, muted=request.muted)
    return Answer(shapes.Muted(session=str(state.key), muted=state.muted))


def init_project(engine: Service, at: Parameters, request: ask.InitProject) -> Answer[shapes.Imported]:
    """Import the rule files of the folder's project.

    The statements count as the user's own, unless `confirmed` is false. For any other caller they wait in review.
    """
    speaker = at.speaker if request.confirmed else Speaker.AGENT
    imported = engine.init_project(request.cwd, speaker=speaker, dry_run=request.dry_run)
    return Answer(shapes.Imported(files=imported.files, changes=imported.changes))


def transcripts(engine: Service, at: Parameters, request: ask.FindTranscripts) -> Answer[shapes.Transcripts]:  # noqa: ARG001
    """List past transcripts: at the given paths, else of the folder's project, else of every project. Nothing is learned."""
    paths = [Path(path) for path in request.path]
    infos = engine.transcripts(request.cwd, paths=paths, host=request.host, since_ms=request.since_ms)
    return Answer(shapes.Transcripts(transcripts=tuple(infos)))


def backfill(engine: Service, at: Parameters, request: ask.Backfill) -> Answer[CaptureReport]:  # noqa: ARG001
    """Learn from past transcripts: files that `transcripts` lists, or, with `named`, files that the user named."""
    options = BackfillOptions(
        since_ms=request.since_ms,
        subagents=request.subagents,
        dry_run=request.dry_run,
        write_up=request.write_up,
    )
    if request.server:
        infos = served_transcripts(request.server, since_ms=request.since_ms)
        return Answer(engine.backfill(infos, wanted=options))
    if request.named:
        named_paths = [Path(path) for path in request.paths or ()]
        return Answer(engine.backfill(engine.transcripts(request.cwd, paths=named_paths), wanted=options))
    available = {str(info.path): info for info in engine.transcripts(request.cwd)}
    paths = tuple(available) if request.paths is None else request.paths
    for path in paths:
        if path not in available:
            raise NotFound(
                f"{path} is no transcript of the project at {request.cwd}.",
                hint="GET /v1/transcripts lists them.",
            )
    return Answer(engine.backfill([available[path] for path in paths], wanted=options))


def write_ups(engine: Service, at: Parameters, request: ask.WriteUps) -> Answer[shapes.WrittenUp]:  # noqa: ARG001
    """Ask the language model in the settings to write up one waiting session, else to compare new statements, or only show the requests."""
    write_up = None if request.dry_run else engine.write_up_next(past=request.past, at_once=True)
    prepared = engine.write_up_requests(past=request.past)
    extractor = engine.status().extractor
    requests = [
        shapes.WriteUpRequest(
            session=waiting.subject,
            root=waiting.root,
            tokens=waiting.tokens,
            system=waiting.request.system,
            user=waiting.request.user,
        )
        for waiting in prepared
        if request.dry_run
    ]
    return Answer(
        shapes.WrittenUp(
            provider=extractor.name if extractor else "",
            session=write_up.subject if write_up else "",
            error=write_up.error if write_up else "",
            changes=write_up.changes if write_up else (),
            waiting=len(prepared),
            tokens=sum(waiting.tokens for waiting in prepared),
            requests=requests,
        )
    )


def status(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[shapes.StatusAnswer]:  # noqa: ARG001
    """Get the state and counts."""
    return Answer(engine.status(speaker=at.speaker))


def stats(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[StoreUse]:  # noqa: ARG001
    """Counts of what is stored, and which injected memories were used."""
    return Answer(engine.maintenance.statistics(levels=engine.visibility(at.speaker).levels))


def backup(engine: Service, at: Parameters, request: ask.Backup) -> Answer[shapes.Target]:  # noqa: ARG001
    """Write a consistent copy of the store to a new file."""
    engine.backup(Path(request.target))
    return Answer(shapes.Target(target=request.target))


def check(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[shapes.Problems]:  # noqa: ARG001
    """Problems of the store, as sentences; an empty list = sound."""
    return Answer(shapes.Problems(problems=engine.check()))
