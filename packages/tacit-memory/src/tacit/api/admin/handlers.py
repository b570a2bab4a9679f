"""The pages' endpoints: a checked request in, a model of the answer out. See `tacit.api.handlers`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tacit.api import answers as shapes
from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.cursors import from_cursor, part_of, rows_before, to_cursor
from tacit.api.requests import AtFolder, LongPage, NoBody, Page, SessionName
from tacit.app.admin.purging import Purged
from tacit.app.admin.series import BUCKETS_MS, DAY_MS
from tacit.app.projects import Membership
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, TraceFilter
from tacit.safety.trust import visible_levels
from tacit.state.counted import Verdict

FIRST_DAYS = {"hour": 2, "day": 30}


def _seen(engine: Service, cwd: str, scopes: tuple[str, ...] = ()) -> ScopeFilter:
    """What may be seen from a folder, or these scopes alone, or everything."""
    within = engine.visible(cwd) if cwd else None
    return engine.admin.scopes(ask.scopes_of(scopes), within=within)


# --- memories


def replace_memory(engine: Service, at: Parameters, request: ask.Replace) -> Answer[shapes.OneMemory]:
    """Replace a memory as a whole. The history keeps the old version.

    Send every field that can be edited; a field that is left out gets its default. It needs `If-Match` with
    the `etag` that the memory had when you read it.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByRedaction: the text holds a secret.
    """
    changed = engine.edit(
        at["id"],
        content=request.content,
        kind=request.kind,
        when=request.when or None,
        scope=Scope.parse(request.scope),
        importance=request.importance,
        pinned=request.pinned,
    )
    return Answer(shapes.OneMemory(memory=changed), etag=shapes.etag_of(changed))


def supersede_memory(engine: Service, at: Parameters, request: ask.Supersede) -> Answer[shapes.Changed]:
    """Supersede a memory by another statement. The history of the old one stays.

    The new statement becomes a memory of its own, and the old one ends and names it. Without `kind`, `when`
    and `scope` it takes them from the old one.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByRedaction: the text holds a secret.
    """
    scope = Scope.parse(request.scope) if request.scope is not None else None
    changes = engine.admin.supersede(
        engine.show(at["id"]), request.content, kind=request.kind, when=request.when, scope=scope
    )
    return Answer(shapes.Changed(changes=changes))


def merge_memory(engine: Service, at: Parameters, request: ask.MergeInto) -> Answer[shapes.Changed]:
    """Merge a memory into another one that says the same.

    The memory of the path ends, and the one named by `into` counts its evidence, too. `POST /v1/undo` takes
    it back.

    Raises:
        NotFound: one of the two memories does not exist.
    """
    changes = engine.admin.merge(engine.show(at["id"]), request.into)
    return Answer(shapes.Changed(changes=changes))


def purge_memories(engine: Service, at: Parameters, request: ask.Purge) -> Answer[Purged]:  # noqa: ARG001
    """Remove memories, or all of a project, session or source, from all stored data. This cannot be undone.

    Name what to remove by exactly one of `ids`, `project`, `session`, `source` and `text`. With `dry_run` the
    answer lists what would be removed. Backups and exports that this home made are cleaned as well.

    Raises:
        NotFound: nothing fits.
    """
    purging = engine.admin.purging
    if request.ids and request.shown:
        purge_target = purging.still_there(request.ids)
    elif request.ids:
        purge_target = purging.named(request.ids)
    elif request.project:
        purge_target = purging.of_project(engine.project(request.project))
    elif request.session is not None:
        purge_target = purging.of_session(request.session.key)
    else:
        scope = engine.visible(request.cwd) if request.cwd else None
        purge_target = purging.matching(scope=scope, source=request.source, text=request.text)
    return Answer(purging.purge(purge_target, dry_run=request.dry_run))


def list_memory_relations(engine: Service, at: Parameters, request: LongPage) -> Answer[shapes.Relations]:
    """List the relations of a memory, strongest first.

    A relation says that one memory updates, contradicts, extends or resembles another one. `memories` holds
    the memories at the other ends.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    edges, neighbors = engine.admin.relations(engine.show(at["id"], speaker=at.speaker).id)
    visible = engine.visible_to(at.speaker, neighbors)
    hidden = {memory.id for memory in neighbors} - {memory.id for memory in visible}
    shown = [edge for edge in edges if hidden.isdisjoint((edge.source_id, edge.target_id))]
    rows, following = part_of(
        lambda _: shown, request, lambda edge: f"{edge.source_id} {edge.type} {edge.target_id}"
    )
    ends = {end for edge in rows for end in (edge.source_id, edge.target_id)}
    return Answer(
        shapes.Relations(
            relations=rows,
            memories=[memory for memory in visible if memory.id in ends],
            next_cursor=following,
        )
    )


def list_memory_exposures(engine: Service, at: Parameters, request: Page) -> Answer[shapes.ExposurePage]:
    """List the injections of a memory, newest first, and whether it was used.

    An exposure is one injection of the memory into a session, with its turn and its surface.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    return _exposures(engine, at, request, memory_id=engine.show(at["id"], speaker=at.speaker).id)


def search_memories(engine: Service, at: Parameters, request: ask.Search) -> Answer[shapes.Hits]:
    """Find memories by words, in any order and misspelled, and by meaning, best first.

    Results are ranked by words and by meaning, and the two rankings are combined. Misspelled words are found,
    too. There are never more than 200. Recalls are not affected: nothing is injected or traced.
    """
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        sensitivities=visible_levels(by_user=at.by_user),
    )
    matches = engine.admin.search.find(
        request.text, where, scope=_seen(engine, request.cwd, request.scope), limit=request.limit
    )
    hits = [
        shapes.Hit(memory=hit.memory, score=hit.score, by_words=hit.by_words, by_meaning=hit.by_meaning)
        for hit in matches
    ]
    return Answer(shapes.Hits(hits=hits))


def get_graph(engine: Service, at: Parameters, request: ask.AskGraph) -> Answer[shapes.GraphView]:
    """Get the newest memories and the relations between them.

    Nodes are the newest memories that match, edges the relations between them. `limit` bounds the nodes.

    Raises:
        NotFound: no memory is meant by `around`.
    """
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        sensitivities=visible_levels(by_user=at.by_user),
    )
    scope = _seen(engine, request.cwd, request.scope)
    around = engine.show(request.around, speaker=at.speaker).id if request.around is not None else None
    graph = engine.admin.graph(where, scope=scope, limit=request.limit, around=around)
    return Answer(shapes.GraphView(graph=graph))


def list_projects(engine: Service, at: Parameters, request: LongPage) -> Answer[shapes.Projects]:
    """List projects by name.

    A project is a repository or a folder that sessions ran in. `active` counts its active memories.
    """
    rows = [
        shapes.ProjectRow(project=row.project, scope=str(project_scope(row.project.id)), active=row.active)
        for row in engine.admin.projects(levels=engine.visibility(at.speaker).levels)
    ]
    part, following = part_of(lambda _: rows, request, lambda row: row.project.id)
    return Answer(shapes.Projects(projects=part, next_cursor=following))


def get_folder_project(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.FolderProject]:  # noqa: ARG001
    """Get the project of a folder, and other projects that may belong to it.

    `related` lists projects whose memories may belong to this folder, such as another clone with the same git
    remote; `notice` is the question that the user has not answered.
    """
    return Answer(_folder_project(engine.admin.membership(request.cwd)))


def join_project(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.FolderProject]:  # noqa: ARG001
    """Share the memories of the projects that a folder may belong to.

    From then on the folder and the related projects see the same memories. `POST /v1/projects/separate` takes
    it back.
    """
    return Answer(_folder_project(engine.admin.join(request.cwd)))


def separate_project(engine: Service, at: Parameters, request: AtFolder) -> Answer[shapes.FolderProject]:  # noqa: ARG001
    """Keep a folder apart from the projects that it may belong to, or take it out of the one that it shares.

    Memories stay with the project that they were learned in.
    """
    return Answer(_folder_project(engine.admin.separate(request.cwd)))


def _folder_project(membership: Membership) -> shapes.FolderProject:
    return shapes.FolderProject(
        project=membership.project, related=membership.related, notice=membership.notice
    )


def list_kinds(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.Kinds]:  # noqa: ARG001
    """List the defined kinds.

    A kind sets how important a memory is at first and how fast its weight fades. The setting `kinds` adds
    more.
    """
    rows = [
        shapes.KindRow(**{name: getattr(kind, name) for name in shapes.KindRow.model_fields})
        for kind in engine.admin.kinds()
    ]
    return Answer(shapes.Kinds(kinds=rows))


def list_spaces(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.Spaces]:  # noqa: ARG001
    """List the spaces that measure closeness.

    A space is one way to measure how close a memory is to a situation; `high` and `low` are its thresholds.
    Traces name the score of each space.
    """
    rows = [
        shapes.SpaceRow(**{name: getattr(space, name) for name in shapes.SpaceRow.model_fields})
        for space in engine.admin.spaces()
    ]
    return Answer(shapes.Spaces(spaces=rows))


# --- recalls and sessions


def list_recalls(engine: Service, at: Parameters, request: ask.Timeline) -> Answer[shapes.TimelinePage]:
    """List recalls in one line each, newest first: the injected memories, or the reason for silence.

    Filters are combined. With `text` only recalls are listed whose query has these words.
    """
    where = TraceFilter(
        sessions=(request.session,) if request.session is not None else None,
        surface=request.wanted_surface,
        injected=None if request.outcome is None else request.outcome == "injected",
        text=request.text,
        memory_id=engine.show(request.memory, speaker=at.speaker).id if request.memory is not None else None,
        since_ms=request.since_ms,
        until_ms=request.until_ms,
        after=from_cursor(request.cursor) if request.cursor else None,
    )
    fetched = engine.admin.recalls.rows(
        where,
        root=_root(engine, request.cwd),
        limit=request.limit + 1,
        visibility=engine.visibility(at.speaker),
    )
    rows = fetched[: request.limit]
    more = to_cursor((rows[-1].at_ms, rows[-1].id)) if len(fetched) > len(rows) else None
    return Answer(shapes.TimelinePage(recalls=rows, next_cursor=more))


def _root(engine: Service, cwd: str) -> str:
    return engine.project(cwd).root if cwd else ""


def get_trace(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OneTrace]:  # noqa: ARG001
    """Get one recall with every stage's keeps and drops, and its verdicts.

    It explains one recall: the query, the candidates with their scores, what each stage dropped and why, the
    block, and what the user said of it.

    Raises:
        NotFound: no trace has this id, or it is no longer kept.
    """
    (recall,) = engine.visibility(at.speaker).traces([engine.admin.recalls.trace(at["id"])])
    verdicts = _verdicts(engine, at, engine.admin.verdicts.of(recall.id))
    return Answer(shapes.OneTrace(trace=recall, verdicts=verdicts))


def replay_trace(engine: Service, at: Parameters, request: ask.Threshold) -> Answer[shapes.ReplayedView]:
    """Repeat the decision of one recall at another threshold.

    Nothing is searched again: the stored scores are compared with `threshold`.

    Raises:
        NotFound: no trace has this id, or it is no longer kept.
    """
    recalls = engine.visibility(at.speaker).traces([engine.admin.recalls.trace(at["id"])])
    (replayed,) = engine.replayed(recalls, threshold=request.threshold)
    return Answer(shapes.ReplayedView(replayed=replayed))


def rate_trace(engine: Service, at: Parameters, request: ask.TraceFeedback) -> Answer[shapes.Verdicts]:
    """Report whether injected memories were useful, or whether a memory was missing; charts and `tune` read it.

    Without `memory_ids` the verdict is on all injected memories. A candidate that was not injected may be
    named as well: `useful` then says that it was missing.

    Raises:
        NotFound: no trace has this id, or it is no longer kept.
    """
    verdicts = engine.admin.say(at["id"], request.memory_ids, useful=request.useful)
    return Answer(shapes.Verdicts(verdicts=_verdicts(engine, at, verdicts)))


def list_verdicts(engine: Service, at: Parameters, request: LongPage) -> Answer[shapes.Verdicts]:
    """List verdicts on injections, newest first.

    A verdict is the user's word on one memory in one recall.
    """
    rows, following = part_of(
        lambda _: _verdicts(engine, at, engine.admin.verdicts.all()[::-1]),
        request,
        lambda verdict: f"{verdict.trace_id} {verdict.memory_id} {verdict.at_ms}",
    )
    return Answer(shapes.Verdicts(verdicts=rows, next_cursor=following))


def _verdicts(engine: Service, at: Parameters, verdicts: Sequence[Verdict]) -> list[Verdict]:
    hidden = engine.visibility(at.speaker).hidden(verdict.memory_id for verdict in verdicts)
    return [verdict for verdict in verdicts if verdict.memory_id not in hidden]


def list_sessions(engine: Service, at: Parameters, request: ask.ListSessions) -> Answer[shapes.SessionPage]:
    """List sessions, newest signal first.

    Each row has the host, the folder, the number of turns, and what was injected.
    """
    skip = rows_before(request.cursor) if request.cursor else 0
    fetched = engine.admin.recalls.sessions(
        root=_root(engine, request.cwd),
        text=request.text,
        limit=request.limit + 1,
        offset=skip,
        visibility=engine.visibility(at.speaker),
    )
    more = to_cursor((skip + request.limit, "")) if len(fetched) > request.limit else None
    return Answer(shapes.SessionPage(sessions=fetched[: request.limit], next_cursor=more))


def get_session(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OneSession]:  # noqa: ARG001
    """Get one session turn by turn: prompts, injected and dropped memories.

    Each turn has its prompt, its recalls with injected and dropped memories, and the tools that ran.

    Raises:
        NotFound: no session has this name.
    """
    key = SessionName.of(at["host"], at["session_id"])
    session_view = engine.admin.recalls.session(key, visibility=engine.visibility(at.speaker))
    return Answer(shapes.OneSession(session=session_view))


def list_exposures(
    engine: Service, at: Parameters, request: ask.ListExposures
) -> Answer[shapes.ExposurePage]:
    """List injected memories, newest first, and whether they were used.

    An exposure is one memory in one injection. Filter by a session (`host` and `session_id`) or by a memory.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    key = None
    if request.host is not None and request.session_id is not None:
        key = SessionKey(host=request.host, session_id=request.session_id)
    name = engine.show(request.memory, speaker=at.speaker).id if request.memory is not None else None
    return _exposures(engine, at, request, session_key=key, memory_id=name)


def _exposures(
    engine: Service,
    at: Parameters,
    request: Page,
    *,
    session_key: SessionKey | None = None,
    memory_id: str | None = None,
) -> Answer[shapes.ExposurePage]:
    skip = rows_before(request.cursor) if request.cursor else 0
    fetched = engine.admin.recalls.handed(
        session=session_key,
        memory_id=memory_id,
        limit=request.limit + 1,
        offset=skip,
        visibility=engine.visibility(at.speaker),
    )
    more = to_cursor((skip + request.limit, "")) if len(fetched) > request.limit else None
    return Answer(shapes.ExposurePage(exposures=fetched[: request.limit], next_cursor=more))


def list_digests(engine: Service, at: Parameters, request: ask.ListDigests) -> Answer[shapes.DigestPage]:
    """List digests of sessions, newest first; `reason` says why there is none, or why the newest session has none.

    A digest tells in a few lines what a session was about. Without `session` and `cwd` those of every project
    are listed.

    Raises:
        NotFound: no session, or several, begin with this name.
    """
    reader, visibility = engine.admin.digests, engine.visibility(at.speaker)
    if request.session is not None:
        digest = reader.of_session(request.session, visibility=visibility)
        listed = (digest,) if digest.memory_id else ()
        reason = digest.reason and f"{digest.session} has none: {digest.reason}"
        return Answer(shapes.DigestPage(digests=listed, reason=reason, next_cursor=None))
    project = engine.project(request.cwd) if request.cwd else None
    reason = reader.newest(project, limit=1, visibility=visibility).reason
    rows, following = part_of(
        lambda most: reader.newest(project, limit=most, visibility=visibility).digests,
        request,
        lambda digest: digest.memory_id,
    )
    return Answer(shapes.DigestPage(digests=rows, reason=reason, next_cursor=following))


def get_learned(engine: Service, at: Parameters, request: ask.AskLearned) -> Answer[shapes.SessionLearned]:
    """Get what was learned from a session: statements with evidence and fate, reminders, requests to a language model, what waits.

    It explains why a statement of a session became a memory, waits, or was dropped.

    A program without the user's authority gets neither the requests nor the counts of dropped statements.

    Raises:
        NotFound: no session, or several, begin with this name.
    """
    reader, visibility = engine.admin.learned, engine.visibility(at.speaker)
    if request.session is not None:
        session_learned = reader.of_session(request.session, visibility=visibility)
    else:
        project = engine.project(request.cwd) if request.cwd else None
        session_learned = reader.newest(project, visibility=visibility)
    return Answer(shapes.SessionLearned(learned=session_learned))


def get_charts(engine: Service, at: Parameters, request: ask.ChartTime) -> Answer[shapes.SeriesView]:  # noqa: ARG001
    """Get numbers over time: injections and silences, latency, tokens by kind, verdicts, used memories.

    Numbers are summed by hour or day (UTC). Without times the last 30 days are told, or 2 days by the hour.
    """
    until = request.until_ms if request.until_ms is not None else engine.clock.now_ms() + 1
    since = request.since_ms if request.since_ms is not None else until - FIRST_DAYS[request.bucket] * DAY_MS
    series = engine.admin.charts.series(
        since_ms=max(0, since), until_ms=until, bucket_ms=BUCKETS_MS[request.bucket]
    )
    marks = engine.admin.marks.between(series.since_ms, series.until_ms)
    return Answer(shapes.SeriesView(series=dataclasses.replace(series, marks=marks)))


# --- the whole


def get_health(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.Health]:  # noqa: ARG001
    """Get the results of health checks, advice, and numbers of the process.

    `ok` is false if one check failed; each check has a `hint` that says what to do.
    """
    status = engine.status(speaker=at.speaker)
    checks = [
        _check(
            "store", not engine.damaged, "Damage was met in the store.", "`tacit doctor` says what to do."
        ),
        _check("warnings", not status.warnings, " ".join(status.warnings), ""),
        _check(
            "recall",
            status.recall_enabled,
            "recall.enabled is off.",
            "`tacit config set recall.enabled true`",
        ),
        _check(
            "shadow",
            not status.shadow,
            "Shadow mode: nothing is handed over.",
            "`tacit config set recall.shadow false`",
        ),
        _check(
            "capture",
            not status.store.handovers_pending,
            f"Transcripts that wait to be read: {status.store.handovers_pending}.",
            "They are read in the background.",
        ),
    ]
    return Answer(
        shapes.Health(
            ok=all(check.ok for check in checks),
            version=status.version,
            checks=checks,
            store=status.store,
            counters=at.counters(),
        )
    )


def _check(name: str, ok: bool, detail: str, hint: str) -> shapes.Check:
    return shapes.Check(name=name, ok=ok, detail="" if ok else detail, hint="" if ok else hint)


def begin_job(engine: Service, at: Parameters, request: ask.BeginJob) -> Answer[shapes.OneJob]:  # noqa: ARG001
    """Begin long work, or join what goes on under that name already; `GET /v1/jobs` tells how far it is.

    The job runs in the background. A job that is already running is joined, not begun again.
    """
    return Answer(shapes.OneJob(job=engine.maintenance.jobs.begin(request.name)))


def list_jobs(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.Jobs]:  # noqa: ARG001
    """Long work that was begun since the store was opened, the last of every name: how far it is, or how it ended.

    It has the last job of each name since the daemon started, with its progress and its result.
    """
    return Answer(shapes.Jobs(jobs=engine.maintenance.jobs.all()))
