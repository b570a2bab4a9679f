"""One function per endpoint: checked request in, engine called, a model of the answer out.

In: the engine, the path's parameters, a checked request. Out: a model of `tacit.api.answers`, or a value of the program. Synchronous: the routes run
these on threads. Never parses, never catches an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.api import answers as shapes
from tacit.api import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.answers import etag_of
from tacit.api.cursors import from_cursor, part_of, rows_before, to_cursor
from tacit.app.maintenance.maintenance import StoreUse
from tacit.app.maintenance.review import DECISIONS
from tacit.app.queries.agent_tools import Caller
from tacit.app.reasons import change_text
from tacit.app.tuning import TuneReport
from tacit.app.values import EngineStatus
from tacit.app.visibility import first_rows
from tacit.capture.backfill import BackfillOptions
from tacit.capture.discover import served_transcripts
from tacit.capture.report import CaptureReport
from tacit.errors import NotFound
from tacit.model.changes import Skip
from tacit.model.memory import Memory, Speaker
from tacit.model.pack import Surface
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.store import MemoryFilter, Recorded
from tacit.safety.trust import visible_levels
from tacit.upkeep.rescan import Rescan
from tacit.verbs.get import get


def remember(engine: Service, at: Parameters, request: ask.Remember) -> Answer[shapes.Changed]:
    """Store a statement: 201 with the changes, 200 when nothing was stored.

    The scope is the project of `cwd` unless `scope` names another one. A statement that is known already is
    merged with the memory that holds it, and one that replaces another supersedes it. `change_id` of the
    answer takes the change back with `POST /v1/undo`.

    A statement counts as the user's if it comes with a personal token, from the page, or from a terminal. Any
    other statement counts as an agent's. It waits for review, unless `user_words` quotes the user saying it.

    Raises:
        RefusedByRedaction: the statement holds a secret; nothing was stored.
        RefusedByTrust: an agent asks where `privacy.incognito` is on.
        NotFound: a memory of `replaces` does not exist.
    """
    changes = engine.remember(
        request.content,
        kind=request.kind,
        scope=None if request.scope is None else engine.scope_called(request.scope, request.cwd),
        when=request.when,
        cwd=request.cwd,
        speaker=at.speaker,
        user_words=request.user_words,
        source=request.source,
        session=request.session.key if request.session is not None else None,
        pinned=request.pinned,
        files=request.files,
        sensitivity=request.wanted_sensitivity,
        replaces=request.replaces,
        all_branches=request.all_branches,
        headline=request.headline,
    )
    stored = any(not isinstance(change, Skip) for change in changes)
    return Answer(shapes.Changed(changes=changes), status=201 if stored else 200)


def recall(engine: Service, at: Parameters, request: ask.Recall) -> Answer[shapes.RecalledView]:
    """Recall memories: the block, its memories, the trace. Silence is an empty block.

    It answers as the given surface would, for the situation that the request describes, or that the named
    session is in. It injects nothing into a session, so that it serves a playground and a replay as well.
    `trace` says what each stage kept and dropped.

    Raises:
        NotFound: no session or preset has this name.
    """
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
        agent=request.agent,
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


def get_start_pack(engine: Service, at: Parameters, request: ask.AtFolder) -> Answer[shapes.BlockView]:  # noqa: ARG001
    """Get the start pack of a session in the folder.

    It is the text that a host inserts at the start of a session: rules, pinned memories and what was last
    worked on, within the budget of the settings.
    """
    return Answer(shapes.BlockView(block=engine.context(request.cwd)))


def get_memories(engine: Service, at: Parameters, request: ask.Get) -> Answer[shapes.GotView]:  # noqa: ARG001
    """Fetch memories whole by their ids, as an agent does with `memory_get`.

    Each comes with since when it holds, who said it, what it replaced, and what is near. It counts as given to the session at work
    in the folder, and as used.
    """
    got = get(engine, Caller(cwd=request.cwd), request.ids)
    ids = tuple(fetched.memory.id for fetched in got.memories)
    return Answer(shapes.GotView(text=got.text, ids=ids, unknown=got.unknown))


def list_memories(engine: Service, at: Parameters, request: ask.ListMemories) -> Answer[shapes.MemoryPage]:
    """List memories, newest first unless ordered otherwise; `next_cursor` and `next_offset` are null at the end.

    Filters are combined: each narrows the list. With `text` the list holds the memories found, best first
    unless `order` is set. `total` counts all memories that match, not only those of this page. A search ends
    after the best 200, and its `total` is never greater.
    """
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        source=request.source,
        as_of_ms=request.as_of_ms,
        tiers=request.wanted_tiers,
        sensitivities=visible_levels(request.wanted_sensitivities, by_user=at.by_user),
        pinned=request.pinned,
        order=request.order or "created",
        ascending=request.ascending,
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
    if more and _is_newest_first(where):
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


def _in_order(memories: Iterable[Memory], where: MemoryFilter) -> list[Memory]:
    """`memories` as `where` orders them."""

    def first(memory: Memory) -> float:
        match where.order:
            case "created":
                return memory.created_at_ms
            case "updated":
                return memory.updated_at_ms
            case "importance":
                return memory.importance
            case "used":
                return memory.use_count

    sign = 1 if where.ascending else -1
    return sorted(memories, key=lambda memory: (sign * first(memory), -memory.created_at_ms, memory.id))


def _found(
    engine: Service, request: ask.ListMemories, where: MemoryFilter, scope: ScopeFilter | None
) -> Answer[shapes.MemoryPage]:
    """The part of a list that is searched for; its places are those in the whole answer."""
    skip = rows_before(request.cursor) if request.cursor else request.offset
    within = scope if scope is not None else engine.admin.scopes(())
    hits = [hit.memory for hit in engine.admin.search.find(request.text or "", where, scope=within)]
    if request.order is not None:
        hits = _in_order(hits, where)
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


def _is_newest_first(where: MemoryFilter) -> bool:
    """Whether a list can go on after a memory instead of after so many rows."""
    return where.order == "created" and not where.ascending


def _from(where: MemoryFilter, request: ask.ListMemories) -> tuple[MemoryFilter, int]:
    """Where the list goes on: after a memory, or after so many rows."""
    if not request.cursor:
        return where, request.offset
    if _is_newest_first(where):
        return replace(where, after=from_cursor(request.cursor)), 0
    return where, rows_before(request.cursor)


def get_memory(engine: Service, at: Parameters, request: ask.AsOf) -> Answer[shapes.OneMemory]:
    """Get one memory by its id, or by a unique beginning or end of it, optionally as of a time.

    The answer has an `etag` for `If-Match`. With `as_of_ms` it is the version that was known at that time.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    memory = engine.show(at["id"], speaker=at.speaker)
    if request.as_of_ms is not None:
        version = engine.admin.as_of(memory.id, request.as_of_ms)
        if version is None or not engine.visible_to(at.speaker, (version,)):
            raise NotFound(f"{memory.id} was not known then.", hint="Ask for a later time.")
        memory = version
    return Answer(shapes.OneMemory(memory=memory), etag=shapes.etag_of(memory))


def edit_memory(engine: Service, at: Parameters, request: ask.Edit) -> Answer[shapes.OneMemory]:
    """Change parts of a memory. The history keeps the old version.

    Fields that you leave out do not change. Send `If-Match` so that you do not overwrite a change that somebody
    else made meanwhile. `POST /v1/undo` takes the change back.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByRedaction: the text holds a secret.
    """
    changed = engine.edit(
        at["id"],
        content=request.content,
        kind=request.kind,
        when=request.when,
        scope=None if request.scope is None else engine.scope_called(request.scope, request.cwd),
        importance=request.importance,
        pinned=request.pinned,
        sensitivity=request.wanted_sensitivity,
        all_branches=request.all_branches is True,
        headline=request.headline,
    )
    return Answer(shapes.OneMemory(memory=changed), etag=shapes.etag_of(changed))


def forget_memory(engine: Service, at: Parameters, request: ask.Forget) -> Answer[shapes.OneMemory]:
    """Retire a memory: it is never recalled again, and its history stays.

    It is no longer recalled or listed as active. `POST /v1/undo` makes it active again; `POST /v1/purge`
    removes it from all stored data instead.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByTrust: an agent may not forget this memory.
    """
    forgotten = engine.forget(at["id"], reason=request.reason, speaker=at.speaker)
    return Answer(shapes.OneMemory(memory=forgotten))


def list_memory_versions(engine: Service, at: Parameters, request: ask.LongPage) -> Answer[shapes.Versions]:
    """List all versions of a memory, oldest first.

    Each change of a memory writes a new version, which is kept until the memory is purged.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    versions = engine.history(at["id"], speaker=at.speaker)
    rows, following = part_of(lambda _: versions, request, etag_of)
    return Answer(shapes.Versions(versions=rows, next_cursor=following))


def list_review(engine: Service, at: Parameters, request: ask.ListReview) -> Answer[shapes.ReviewQueue]:
    """List what waits for the user: pairs that may contradict each other, and unconfirmed statements.

    Each entry has a `reason` in words. `total` counts the entries that match, `waiting` all entries, and
    `groups` says how many there are by kind, source, tier, cause and scope.
    """
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


def decide_reviews(engine: Service, at: Parameters, request: ask.DecideAll) -> Answer[shapes.Decided]:  # noqa: ARG001
    """Make one decision on many statements of the review queue. It is one change, which `undo` reverts.

    Name the statements by `ids`, or by `where` together with the `count` that you expect. If another number
    matches, nothing is decided.

    Raises:
        NotFound: one of the memories does not exist.
        Conflict: another number of statements matches than `count`.
    """
    where = request.where
    changes = engine.review.decide_all(
        request.action,
        ids=request.ids,
        where=where.wanted if where is not None else None,
        scope=engine.visible(where.cwd) if where is not None and where.cwd else None,
        count=request.count,
    )
    return Answer(shapes.Decided(decided=sum(change.reason.cause in DECISIONS for change in changes)))


def decide_review(engine: Service, at: Parameters, request: ask.Decide) -> Answer[shapes.Changed]:
    """Decide on one statement of the review queue, by its id, or the beginning or end of it.

    Accepting a statement makes it active and ends what it contradicts; rejecting it retires it, and it is not
    learned again. `POST /v1/undo` takes the decision back.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByRedaction: `content` holds a secret.
    """
    changes = engine.review.decide(at["id"], request.action, content=request.content, into=request.into)
    return Answer(shapes.Changed(changes=changes))


def list_changes(engine: Service, at: Parameters, request: ask.ListChanges) -> Answer[shapes.ChangeLog]:
    """List the latest changes, newest first, with their reasons and the earlier versions.

    Each entry is one version as it was written, with the version before it. Entries with the same `change_id`
    were written together and are undone together.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    scope = engine.visible(request.cwd) if request.cwd else None
    if request.scope:
        scope = engine.admin.scopes([Scope.parse(text) for text in request.scope], within=scope)
    visibility = engine.visibility(at.speaker)
    name = engine.show(request.id, speaker=at.speaker).id if request.id else None

    def first(count: int) -> Sequence[Recorded]:
        return first_rows(
            lambda most: engine.review.changes(
                scope=scope, memory_id=name, change_id=request.change, limit=most
            ),
            lambda rows: visibility.changes(list(filter(request.wants, rows))),
            count,
        )

    fetched, following = part_of(first, request, lambda row: f"{row.change_id} {etag_of(row.memory)}")
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
    return Answer(shapes.ChangeLog(changes=rows, next_cursor=following))


def undo_change(engine: Service, at: Parameters, request: ask.Undo) -> Answer[shapes.Changed]:  # noqa: ARG001
    """Undo one change as a whole, or all that a session taught. Ended statements become active again.

    `id` is the `change_id` of the answer to a write, or of an entry of `GET /v1/changes`. With `memory` only
    the effect on that memory is taken back.

    Raises:
        NotFound: there is no such change, or it did nothing to `memory`; or nothing that holds was learned in the session.
        Conflict: a later change touched one of its memories.
    """
    review = engine.review
    changes = (
        review.undo_session(request.session.key)
        if request.session is not None
        else review.undo(request.id or "", memory_id=request.memory, keep_both=request.keep_both)
    )
    return Answer(shapes.Changed(changes=changes))


def rate_memory(engine: Service, at: Parameters, request: ask.Feedback) -> Answer[None]:
    """Report whether a memory was useful.

    A useful memory counts as used; one that was not useful becomes less important. With `trace_id` the
    verdict also counts in charts and for `POST /v1/tune`.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    name = engine.show(at["id"], speaker=at.speaker).id
    if request.trace_id is not None:
        engine.admin.say(request.trace_id, [name], useful=request.useful)
    else:
        engine.feedback(name, useful=request.useful)
    return Answer(None)


def list_traces(engine: Service, at: Parameters, request: ask.ListTraces) -> Answer[shapes.Traces]:
    """List the last recalls with every stage's keeps and drops, newest first.

    Each trace holds the query, the candidates with their scores, what each stage dropped and why, and the
    result. `GET /v1/timeline` lists recalls in one line each.
    """
    surface = Surface(request.surface) if request.surface is not None else None
    recalls, following = part_of(
        lambda most: engine.why(session=request.session, surface=surface, limit=most, speaker=at.speaker),
        request,
        lambda trace: trace.id,
    )
    replayed = engine.replayed(recalls, threshold=request.threshold) if request.threshold is not None else ()
    return Answer(shapes.Traces(traces=recalls, replayed=replayed, next_cursor=following))


def tune(engine: Service, at: Parameters, request: ask.Tune) -> Answer[TuneReport]:  # noqa: ARG001
    """Fit the levels before a prompt to this store, without labels.

    It measures how often prompts meet memories that do not belong to them, and fits the levels `quiet`,
    `balanced` and `eager` to bounded rates of such injections. Without `apply` it only reports.

    Raises:
        EmbedderMismatch: the stored vectors belong to another embedder.
    """
    return Answer(engine.tune(bound=request.bound, apply=request.apply))


def rescan(engine: Service, at: Parameters, request: ask.BeginRescan) -> Answer[Rescan]:  # noqa: ARG001
    """Take secrets out of tables, indexes, traces, logs, start blocks, and known backups and exports.

    It applies the redaction rules that hold now to everything that is stored. With `dry_run` it only counts
    what would change.
    """
    return Answer(engine.rescan(dry_run=request.dry_run))


def mute_session(engine: Service, at: Parameters, request: ask.Mute) -> Answer[shapes.Muted]:
    """Stop or resume injecting into one session.

    A muted session gets no text, but Tacit still learns from it.

    Raises:
        NotFound: no session has this name.
    """
    key = ask.SessionName.of(at["host"], at["session_id"])
    state = engine.mute(key, muted=request.muted)
    return Answer(shapes.Muted(session=str(state.key), muted=state.muted))


def import_project_rules(
    engine: Service, at: Parameters, request: ask.InitProject
) -> Answer[shapes.Imported]:
    """Import the rule files of the folder's project.

    It reads CLAUDE.md, AGENTS.md and the other rule files of the project, and stores each rule as a memory. A
    second import stores only what has changed.

    The statements count as the user's own, unless `confirmed` is false. For any other caller they wait in
    review.

    Raises:
        RefusedByTrust: an agent asks where `privacy.incognito` is on.
    """
    speaker = at.speaker if request.confirmed else Speaker.AGENT
    imported = engine.init_project(request.cwd, speaker=speaker, dry_run=request.dry_run)
    return Answer(shapes.Imported(files=imported.files, changes=imported.changes))


def list_transcripts(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: ask.FindTranscripts,
) -> Answer[shapes.Transcripts]:
    """List past transcripts: at the given paths, else of the folder's project, else of every project.

    It looks for logs of sessions that the hosts on this machine keep. `POST /v1/backfill` learns from them.

    Raises:
        NotFound: there is nothing at one of the paths.
    """
    paths = [Path(path) for path in request.path]
    infos = engine.transcripts(request.cwd, paths=paths, host=request.host, since_ms=request.since_ms)
    rows, following = part_of(lambda _: infos, request, lambda info: str(info.path))
    return Answer(shapes.Transcripts(transcripts=rows, next_cursor=following))


def import_transcripts(engine: Service, at: Parameters, request: ask.Backfill) -> Answer[CaptureReport]:  # noqa: ARG001
    """Learn from past transcripts: files that `transcripts` lists, or, with `named`, files that the user named.

    Each session is read once: a second import adds nothing. Send a few files per request to show progress and
    to lose little when you stop.

    Raises:
        NotFound: one of `paths` is not a transcript of the project, or does not exist.
        ProviderError: the OpenCode server cannot be reached.
    """
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


def write_up_session(engine: Service, at: Parameters, request: ask.WriteUps) -> Answer[shapes.WrittenUp]:  # noqa: ARG001
    """Ask the language model in the settings to write up one waiting session, else to compare new statements, or only show the requests.

    One request handles one session, so that a caller can stop between two. `waiting` says how many remain.
    With `dry_run` the prepared requests are shown and nothing is sent.
    """
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


def get_status(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[EngineStatus]:  # noqa: ARG001
    """Get the state and counts.

    It has the version, the settings that matter, the number of memories, the state of the embedder and the
    language model, counts of silences, and warnings with advice.
    """
    return Answer(engine.status(speaker=at.speaker))


def get_stats(engine: Service, at: Parameters, request: ask.NoBody) -> Answer[StoreUse]:  # noqa: ARG001
    """Get counts of what is stored and of the injected memories that were used.

    `rate` is the share of injected memories that sessions used, and `baseline` the same share of memories
    that were not injected.
    """
    return Answer(engine.maintenance.statistics(levels=engine.visibility(at.speaker).levels))
