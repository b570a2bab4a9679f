"""The write path in order: transcript -> extract -> redact -> reconcile -> store.

In: drafts, prompts, handed-over transcripts, past transcripts, rule files. Out: the changes made. Every unit of work is
one transaction that also moves its checkpoint, so a crash loses nothing and doubles nothing. What `write_up` is to send to a
language model waits in the store; nothing here calls one, and nothing injects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from tacit.capture.backfill import ALL_TRANSCRIPTS, BackfillOptions, CaptureReport, capture_file, report_of
from tacit.capture.bootstrap.host_memory import import_host_memory
from tacit.capture.bootstrap.project_import import RulesImport, import_rule_files
from tacit.capture.bootstrap.team_files import import_team_files
from tacit.capture.branches import BranchesSeen, BranchLook
from tacit.capture.heard import patterns_of
from tacit.capture.prepare import Preparer
from tacit.capture.reconcile import repeated_in, replace_named
from tacit.capture.session import (
    SessionContext,
    SessionLearnings,
    TurnStatement,
    extract_learnings,
    provenance,
    statement_draft,
)
from tacit.capture.shared_memories import SharedMemories
from tacit.capture.store import Item, Reconciler, WriteBatch
from tacit.capture.transcript import TranscriptSource, read_transcript, source_of
from tacit.capture.usage import GivenMemory, update_usage
from tacit.capture.write_up.session_writer import SessionWriter, WriterAccess
from tacit.capture.write_up.statement_comparer import StatementComparer
from tacit.config.settings import CaptureSettings
from tacit.errors import HostError, InvalidPayload
from tacit.frozen import frozen
from tacit.hosts.transcripts import Transcript, Turn, clean_prompt, first_key
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.hosts.transcripts.sessions import FileSession
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Draft, Retire, Rewrite, Skip
from tacit.model.ids import content_hash
from tacit.model.kinds import DIGEST, TODO, KindRegistry
from tacit.model.memory import LearnedOn, Memory, Sensitivity, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.ports.clock import Clock
from tacit.ports.host import MemoryForm
from tacit.ports.models import Embedder, TokenCounter
from tacit.ports.store import (
    Handover,
    MemoryFilter,
    ProjectRecord,
    Step,
    Store,
    ValueChanges,
    ValueName,
    no_step,
)
from tacit.ports.writer import is_headless_folder
from tacit.reading.prompts import names_a_session
from tacit.reading.situation import utterance_of
from tacit.reading.trigger_model import LocalTriggers
from tacit.safety.redact import TextRedactor
from tacit.safety.trust import why_hidden
from tacit.session import cache_meter
from tacit.session.projects import identify_project
from tacit.session.transitions import PROMPT_CHARS
from tacit.state.captured import Checkpoint, PendingSession, Position
from tacit.state.registry import (
    CACHE_DAYS_OF_HOSTS,
    CAPTURED_AT_ONCE,
    CHECKPOINT,
    PENDING,
    REJECTED,
    REQUESTS_COUNTED,
    SPENDING,
    TOTALS,
    USAGE,
    UTTERANCES_SEEN,
    PaidModel,
)
from tacit.statements.same import same_statement

SettingsOf = Callable[[Scope, SessionKey | None], CaptureSettings]
"""Returns the capture settings for a scope's project and a session's agent."""
MAX_CONTROLS = 20
"""Per reading of a session, most memories that it was not given, judged for use as a control group."""
MOST_HANDOVERS = 100
"""Most pending handovers that one run captures."""
MAX_ATTEMPTS = 5
"""Failed readings of a transcript after which its handover is closed and counted as failed."""


@frozen
class _SessionReading:
    """The new turns of a session, with the checkpoint that they follow."""

    before: Checkpoint
    turns: tuple[Turn, ...]
    end: Position
    root: str
    seen: tuple[str, ...]


class CapturePipeline:
    """The write path of one store: captures prompts, transcripts, rule files and notes. Thread-safe."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        tokens: TokenCounter,
        clock: Clock,
        redactor: TextRedactor,
        kinds: KindRegistry,
        settings: CaptureSettings,
        settings_of: SettingsOf | None = None,
        identify: Callable[[str], ProjectRecord] = identify_project,
        step: Step = no_step,
        session_of: Callable[[SessionKey], SessionState | None] | None = None,
        model: WriterAccess | None = None,
    ) -> None:
        self._pending = Lock()  # two runs would read the same words
        self._store = store
        self._step = step
        # The live record: the store has it a moment later, and what was handed over last would be missing.
        self._session_of = session_of or store.load_session
        self._clock = clock
        self._settings = settings
        self._settings_of: SettingsOf = settings_of or (lambda _scope, _session: self._settings)
        self._identify = identify
        self.maker = LocalTriggers(embedder=embedder)
        self._preparer = Preparer(
            redactor=redactor, kinds=kinds, tokens=tokens, clock=clock, maker=self.maker, settings=settings
        )
        self._reconciler = Reconciler(
            store=store,
            embedder=embedder,
            near_cosine=settings.near_cosine,
            clock=clock,
            kinds=kinds,
            step=step,
        )
        self._branches = BranchLook(self._reconciler)
        self.paid: PaidModel | None = None
        self.session_writer: SessionWriter | None = None
        self.comparer: StatementComparer | None = None
        if model is None:
            return
        self.paid = PaidModel(
            writer=model.writer,
            account=SPENDING,
            tokens_per_day=model.settings.tokens_per_day,
            store=store,
            clock=clock,
            step=step,
        )
        self.session_writer = SessionWriter(
            model=model,
            paid=self.paid,
            reconciler=self._reconciler,
            prepared=self._prepared_wanted,
            injected_texts=self._given,
            captured_hashes=self._captured_at_once,
        )
        self.comparer = StatementComparer(model=model, paid=self.paid, reconciler=self._reconciler)

    def follow(self, settings: CaptureSettings) -> None:
        """Use `settings` from now on."""
        if settings is not self._settings:
            self._settings = settings
            self._preparer = replace(self._preparer, settings=settings)
            self._reconciler.follow(near_cosine=settings.near_cosine)

    def store_drafts(
        self, drafts: Sequence[Draft], *, values: ValueChanges | None = None
    ) -> tuple[Change, ...]:
        """Redact, reconcile and store `drafts` in one transaction; return one change per draft.

        `values` are named values that are set in the same transaction.

        A draft is compared with what its own scope and universal scope hold.

        Raises:
            UnknownKind: if a draft's kind is not registered; nothing is stored.
            StoreError: see its subclasses; nothing is stored.
        """
        return self._reconciler.keep(
            self._prepared(drafts), values=values, session=_one_session_of(drafts),
            near_cosine=self._nearness(drafts),
        )  # fmt: skip

    def store_in_place(
        self, draft: Draft, old_memories: Sequence[Memory], *, spoken_of: Collection[str]
    ) -> tuple[Change, ...]:
        """Store a statement in the place of `old_memories` and return the changes; `replace_named` decides which of them end.

        `spoken_of` = ids of those that the user's own words end. Raises as `store_drafts`.
        """
        (item,) = self._prepared([draft])
        items: Sequence[Memory | Change] = (item,)
        if isinstance(item, Memory):
            holder = self._holder(item, {memory.id for memory in old_memories})
            items = replace_named(
                item, old_memories, spoken_of=spoken_of, holder=holder, at_ms=self._clock.now_ms()
            )
        return self._reconciler.keep(
            items, session=_one_session_of([draft]), near_cosine=self._nearness([draft])
        )  # fmt: skip

    def _holder(self, memory: Memory, but: Collection[str]) -> Memory | None:
        """Return an active memory, other than those with the ids `but`, that already says the same as `memory`; None = there is none."""
        same = MemoryFilter(begins=memory.content.rstrip(".! "))
        scope = ScopeFilter.of(memory.scope)
        return next(
            (
                stored
                for stored in self._store.list_memories(same, scope=scope, limit=_MOST_ALIKE)
                if stored.id not in but
                and stored.branch_name in ("", memory.branch_name)
                and not why_hidden(stored, session=memory.session)
                and same_statement(stored.content, memory.content)
            ),
            None,
        )

    def judge_drafts(self, drafts: Sequence[Draft]) -> tuple[Change, ...]:
        """Return the changes that `store_drafts` would make now; stores nothing. Raises as it does."""
        return self._reconciler.keep(
            self._prepared(drafts), write=lambda _: None, near_cosine=self._nearness(drafts)
        )

    def capture_prompt(
        self,
        text: str,
        *,
        scope: Scope,
        session: SessionKey,
        turn: int,
        previous_end: str = "",
        at_ms: int = 0,
        branch: LearnedOn | None = None,
    ) -> tuple[Change, ...]:
        """Store the standing statements that the user makes in a prompt, in real time; return the changes.

        Args:
            text: the prompt as the host sent it.
            scope: where its statements belong, usually the project; "in all my projects" makes them universal.
            session: the session it was said in.
            turn: number of the prompt in that session, from 1.
            previous_end: end of the agent's last message; what was going on shapes the trigger.
            at_ms: when; 0 = now.
            branch: the unmerged branch that it was said on.
        """
        settings = self._settings_of(scope, session)
        if not settings.enabled:
            return ()
        words = clean_prompt(text)
        said = utterance_of(words, previous_end)
        statements = said.statements if words else ()
        if not statements:
            return ()
        spoken = Turn(index=0, number=turn, role="user", text=words, at_ms=at_ms or self._clock.now_ms())
        place = SessionContext(session=session, scope=scope, branch=branch)
        situation = said.situation()
        drafts = [
            statement_draft(TurnStatement(statement=statement, turn=spoken), place, situation)
            for statement in statements
        ]
        hashes = [content_hash(statement.content) for statement in statements]
        before = CAPTURED_AT_ONCE.read(self._store, session)
        values = CAPTURED_AT_ONCE.change(_with_keys(before, hashes), session)
        return self.store_drafts(_said_on(branch, self._wanted(drafts)), values=values)

    def capture_handover(self, handover: Handover) -> tuple[Change, ...]:
        """Capture a handed-over transcript and close the handover, in one transaction.

        A transcript that cannot be read counts an attempt and is tried again later, at most `MAX_ATTEMPTS` times; a
        payload that makes no sense is closed at once. Both answer with a `Skip` that says why.

        Raises:
            StoreError: see its subclasses; nothing is stored and the handover stays.
        """
        try:
            source = source_of(handover)
        except InvalidPayload as error:
            self._store.finish_handover(handover.key)
            return (Skip(content="", reason=ChangeReason(cause=ChangeCause.BAD_HANDOVER, detail=str(error))),)
        if is_headless_folder(source.cwd):
            self._store.finish_handover(handover.key)
            return (Skip(content="", reason=ChangeReason(cause=ChangeCause.HEADLESS_RUN)),)

        def finish(write: WriteBatch) -> None:
            self._store.finish_handover(
                handover.key,
                changes=write.changes,
                vectors=write.vectors,
                identity=write.identity,
                values=write.values,
                relations=write.relations,
            )

        if not self._settings_of(UNIVERSAL, handover.session).enabled:
            self._store.finish_handover(handover.key)
            return (Skip(content="", reason=ChangeReason(cause=ChangeCause.CAPTURE_OFF)),)
        try:
            return self._capture_source(source, finish)
        except (OSError, HostError, InvalidPayload) as error:
            if handover.attempts + 1 >= MAX_ATTEMPTS:
                self._store.finish_handover(handover.key)
            else:
                self._store.finish_handover(handover.key, error=str(error))
            return (
                Skip(
                    content="",
                    reason=ChangeReason(cause=ChangeCause.UNREADABLE_TRANSCRIPT, detail=str(error)),
                ),
            )

    def capture_pending(self) -> CaptureReport:
        """Capture the pending handovers, oldest first, each in its own transaction. Waits for another run to end."""
        report = CaptureReport()
        with self._pending:
            for handover in self._store.pending_handovers(limit=MOST_HANDOVERS):
                changes = self.capture_handover(handover)
                failed = any(isinstance(c, Skip) and c.reason.cause in _FAILED for c in changes)
                report += CaptureReport(handovers=1, failed=1) if failed else report_of(changes)
        return report

    def capture_said(self, source: TranscriptSource) -> CaptureReport:
        """Capture what is new in a conversation given as messages; what was captured before adds nothing.

        Raises:
            InvalidPayload: if they are no list of messages.
        """
        return report_of(self._capture_source(source))

    def backfill(
        self, infos: Iterable[TranscriptInfo], options: BackfillOptions = ALL_TRANSCRIPTS
    ) -> CaptureReport:
        """Capture past transcripts, each session in its own transaction; what was captured before adds nothing.

        Raises:
            StoreError: as the store; sessions stored before it stay stored.
        """

        def capture(source: TranscriptSource, session: FileSession) -> tuple[Change, ...]:
            return self._capture_past(source, session, write_up=options.write_up)

        since = self._since_unwritten if options.write_up else self._since
        reports = (
            capture_file(info, options, since=since, unread=self._unread, capture=capture) for info in infos
        )
        return sum(reports, CaptureReport())

    def _since(self, source: TranscriptSource) -> Position:
        before = self._checkpoint(source)
        return before.position if before.path == source.path and source.path else Position()

    def _since_unwritten(self, source: TranscriptSource) -> Position:
        """Return where to read on; the beginning if the session was never given to the writer."""
        return self._since(source) if self._is_written(source) else Position()

    def _is_written(self, source: TranscriptSource) -> bool:
        """Whether the session was written up or waits for it; True if there is no writer."""
        key = SessionKey(host=source.host, session_id=source.session_id)
        return self.session_writer is None or self.session_writer.knows(key)

    def _unread(self, source: TranscriptSource, session: FileSession) -> int:
        reading = self._reading(session.transcript, self._checkpoint(source))
        return sum(turn.role == "user" for turn in reading.turns)

    def _capture_past(
        self, source: TranscriptSource, session: FileSession, *, write_up: bool
    ) -> tuple[Change, ...]:
        before = self._checkpoint(source)
        read = before.path == source.path and before.position == session.transcript.end
        if read and not (write_up and not self._is_written(source)):
            return ()  # as it was when it was read last
        ended = replace(source, ended=True)  # a session of the past
        return self._capture_read(ended, session.transcript, before, past=True, write_up=write_up)

    def import_rules(
        self,
        root: Path,
        project: ProjectRecord,
        *,
        project_files: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
    ) -> RulesImport:
        """Import the rule files under `root` that changed since the last import, and return what was done; see `import_rule_files`."""
        return import_rule_files(
            root,
            project,
            preparer=self._preparer,
            reconciler=self._reconciler,
            project_files=project_files,
            confirmed=confirmed,
            dry_run=dry_run,
        )

    def import_host_memory(
        self, file: Path, *, key: str, host: str, scope: Scope, form: MemoryForm, root: str
    ) -> tuple[Change, ...]:
        """Update the memories made from a file of a host's own memory, and return the changes; see `import_host_memory`."""
        return import_host_memory(
            file,
            key=key,
            host=host,
            scope=scope,
            form=form,
            root=root,
            preparer=self._preparer,
            reconciler=self._reconciler,
        )

    def import_team(
        self, root: Path, project: ProjectRecord, *, joined: bool, left: bool = False
    ) -> RulesImport:
        """Update the memories made from the team's files under `root`, and return what was done with each; see `import_team_files`."""
        return import_team_files(
            root, project, preparer=self._preparer, reconciler=self._reconciler, joined=joined, left=left
        )

    def shared_memories(self) -> SharedMemories:
        """Return a `SharedMemories` on this store, which takes over what teams share through a server."""
        return SharedMemories(preparer=self._preparer, reconciler=self._reconciler)

    def look_at_branches(self, project: ProjectRecord) -> BranchesSeen:
        """Check the branches that memories of `project` are bound to, and change these memories; see `BranchLook.look`.

        Blocks on git. Does nothing where the setting `branches` is off.

        Raises:
            StoreError: as the store; nothing is changed.
        """
        settings = self._settings_of(project_scope(project.id), None)
        if not settings.branches:
            return BranchesSeen()
        return self._branches.look(project.root, project.id)

    def _capture_source(
        self, source: TranscriptSource, write: Callable[[WriteBatch], None] | None = None
    ) -> tuple[Change, ...]:
        transcript = read_transcript(source, self._since(source))
        if not source.ended:
            transcript = transcript.finished()
        # The rows from here on may be of a folder that the agent changed to.
        transcript = replace(transcript, cwd=source.cwd or transcript.cwd)
        return self._capture_read(source, transcript, self._checkpoint(source), write=write)

    def _capture_read(
        self,
        source: TranscriptSource,
        transcript: Transcript,
        before: Checkpoint,
        *,
        write: Callable[[WriteBatch], None] | None = None,
        past: bool = False,
        write_up: bool = True,
    ) -> tuple[Change, ...]:
        """Store what is learned from the transcript since `before`, with the new checkpoint; return the changes.

        `write` carries out the one transaction, None = as usual. `past` = the transcript came in by an import; `write_up` = it waits for the writer, where
        there is one.
        """
        reading = self._reading(transcript, before)
        self._step("transcript read")
        place = self._context_of(source, transcript.cwd or source.cwd)
        key, scope = place.session, place.scope
        captured_hashes = self._captured_at_once(key)

        def redact(text: str) -> str:
            return self._preparer.redact(text, scope)

        pending = PENDING.read(self._store, scope)
        injected = self._given(key, scope, stated=captured_hashes)
        settings = self._settings_of(scope, key)
        noting = settings.notes
        state = self._session_of(key)
        quiet = state is not None and (state.muted or state.incognito)
        patterned = settings.patterns != "none" and noting != "off" and not quiet
        learned = extract_learnings(
            reading.turns,
            reading.before,
            place=place,
            captured_hashes=captured_hashes,
            redact=redact,
            pending=pending,
            injected=injected,
            patterns=patterns_of(settings.patterns) if patterned else None,
        )
        waits = None
        if self.session_writer is not None and write_up:
            session = PendingSession(
                key=key, scope=scope, root=place.root, ended=source.ended, past=past, branch=place.branch
            )
            # What was learned from without the writer waits for it as a whole.
            turns = reading.turns if not past or self.session_writer.knows(key) else transcript.turns
            waits = self.session_writer.collect(turns, session, redact=redact)
        self._step("session learned")
        drafts = learned.drafts
        if noting == "review":
            drafts = tuple(
                replace(draft, doubtful=True) if draft.provenance.by_agent else draft for draft in drafts
            )
        items = self._prepared(_said_on(place.branch, self._wanted(drafts)))
        notes = reading.before
        digest, digest_id = self._note(
            DIGEST, learned.digest, notes.digest_id, tier=TrustTier.USER, place=place, learned=learned
        )
        tasks, todo_id = self._note(
            TODO, learned.tasks, notes.todo_id, tier=TrustTier.ASSISTANT, place=place, learned=learned
        )
        after = replace(
            learned.checkpoint,
            path=source.path,
            position=reading.end,
            root=reading.root,
            digest_id=digest_id,
            todo_id=todo_id,
            title=notes.title or redact(_first_prompt(transcript))[:PROMPT_CHARS],
            folder=place.root,
            began_ms=notes.began_ms or next((turn.at_ms for turn in transcript.turns if turn.at_ms), 0),
            heard_ms=max((notes.heard_ms, *(turn.at_ms for turn in transcript.turns))),
        )
        values = dict(CHECKPOINT.change(after, key))
        if learned.pending != pending:
            values |= PENDING.change(learned.pending, scope)
        if reading.root:
            seen_keys = _with_keys(reading.seen, [turn.key for turn in reading.turns])
            values |= UTTERANCES_SEEN.change(seen_keys, reading.root)
        values |= self._requests(key, reading)
        shown, used = self._usage(key, scope, reading.turns, values)
        changes = self._reconciler.keep(
            [*items, *digest, *tasks], write=write, values=values, finish=waits, session=key,
            near_cosine=settings.near_cosine,
        )  # fmt: skip
        self._store.count_usage(shown=shown, used=used)
        return changes

    def _context_of(self, source: TranscriptSource, cwd: str) -> SessionContext:
        """Return the context of the session: its project (found from `cwd`), scope, and unmerged branch."""
        key = SessionKey(host=source.host, session_id=source.session_id)
        project = self._identify(cwd) if cwd else None
        if project is None:
            return SessionContext(session=key, scope=Scope.parse(f"session:{key}"), cwd=cwd)
        scope = project_scope(project.id)
        branch = source.branch if self._settings_of(scope, key).branches else None
        return SessionContext(session=key, scope=scope, root=project.root, cwd=cwd, branch=branch)

    def _prepared_wanted(self, drafts: Sequence[Draft]) -> list[Item]:
        """Return an item for each draft; a `Skip` for kinds that the settings do not learn unasked."""
        items = self._prepared(drafts)
        unwanted = ChangeReason(cause=ChangeCause.UNWANTED_KIND)
        return [
            item if self._wanted((draft,)) else Skip(content=draft.content, reason=unwanted)
            for item, draft in zip(items, drafts, strict=True)
        ]

    def _captured_at_once(self, key: SessionKey) -> frozenset[str]:
        """Return the content hashes of what was captured of the session in real time."""
        return frozenset(CAPTURED_AT_ONCE.read(self._store, key))

    def _given(self, key: SessionKey, scope: Scope, *, stated: Collection[str] = ()) -> tuple[str, ...]:
        """Return the statements of memories that the session was given or has in a rule file, then the whole text of each kept block.

        `stated` = content hashes of what the user stated in this session. The session record counts these memories as
        given, but they are the user's own words, so their statements are left out; in a block they stay.
        """
        state = self._session_of(key)
        if state is None:
            return ()
        ids = tuple(dict.fromkeys(exposure.memory_id for exposure in state.ledger))
        shown = self._store.get(ids, scope=ScopeFilter.compared_with(scope))
        given = [memory.content for memory in shown if memory.content_hash not in stated]
        return (*given, *(block.text for block in state.blocks))

    def _usage(
        self, key: SessionKey, scope: Scope, turns: Sequence[Turn], values: dict[ValueName, str | None]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return the ids of the memories newly given to the session, and of those that it newly used.

        Adds the named values that record this to `values`.
        """
        state = self._session_of(key)
        exposures = {
            exposure.memory_id: exposure
            for exposure in reversed(state.ledger if state else ())
            if exposure.surface is not Surface.HOST
        }
        if state is None or not exposures or not turns:
            return (), ()
        visible = ScopeFilter.compared_with(scope)
        shown = [
            GivenMemory(
                memory=memory,
                at_ms=exposure.at_ms,
                turn=exposure.turn,
                surface=exposure.surface.value,
                tokens=exposure.tokens,
            )
            for memory in self._store.get(list(exposures), scope=visible)
            for exposure in (exposures[memory.id],)
        ]
        known = {*exposures, *state.offered}
        memories = self._store.list_memories(MemoryFilter(), scope=visible, limit=MAX_CONTROLS + len(known))
        controls = [memory for memory in memories if memory.id not in known and not memory.is_session_note]
        first = min(exposure.at_ms for exposure in exposures.values())
        shown += [GivenMemory(memory=memory, at_ms=first, control=True) for memory in controls[:MAX_CONTROLS]]
        before, totals = USAGE.read(self._store, key), TOTALS.read(self._store)
        verdicts, after, totals = update_usage(turns, shown, before, totals, fetched=state.fetched)
        # A headline that was offered to an agent that fetches, and not taken, speaks against its memory.
        passed_over = state.offered if state.fetched else ()
        left = [name for name in passed_over if name not in exposures and name not in after.counted]
        after = replace(after, counted=tuple(sorted({*after.counted, *left})))
        values |= {**USAGE.change(after, key), **TOTALS.change(totals)}
        given = {*exposures, *left}
        new = [name for name in after.counted if name in given and name not in before.counted]
        return new, [verdict.memory_id for verdict in verdicts if verdict.memory_id in exposures]

    def _requests(self, key: SessionKey, reading: _SessionReading) -> ValueChanges:
        """Return the named values with the newly counted API requests added; empty where the host reports none."""
        conversation = reading.root or str(key)
        before = REQUESTS_COUNTED.read(self._store, conversation)
        counted = set(before)
        new = [request for turn in reading.turns for request in turn.requests if request.mark not in counted]
        if not new:
            return {}
        counts = [(request.at_ms, request.input_tokens, request.cached_tokens) for request in new]
        days = CACHE_DAYS_OF_HOSTS.read(self._store)
        days = cache_meter.counted_requests(days, key.host, counts, now_ms=self._clock.now_ms())
        marks = _with_keys(before, [request.mark for request in new])
        return {**CACHE_DAYS_OF_HOSTS.change(days), **REQUESTS_COUNTED.change(marks, conversation)}

    def _wanted(self, drafts: Sequence[Draft]) -> tuple[Draft, ...]:
        """Return the drafts whose kinds the settings learn unasked."""
        kinds = {place: self._settings_of(*place).kinds for place in {_place_of(draft) for draft in drafts}}
        return tuple(
            draft for draft in drafts if not kinds[_place_of(draft)] or draft.kind in kinds[_place_of(draft)]
        )

    def _nearness(self, drafts: Sequence[Draft]) -> float | None:
        """Return the setting `near_cosine` for `drafts`, which come from one place; None = there are no drafts."""
        return self._settings_of(*_place_of(drafts[0])).near_cosine if drafts else None

    def _checkpoint(self, source: TranscriptSource) -> Checkpoint:
        return CHECKPOINT.read(self._store, SessionKey(host=source.host, session_id=source.session_id))

    def _reading(self, transcript: Transcript, before: Checkpoint) -> _SessionReading:
        root = before.root or first_key(transcript.turns)
        utterance_keys = UTTERANCES_SEEN.read(self._store, root) if root else ()
        seen_keys = set(utterance_keys)
        return _SessionReading(
            before=before,
            turns=tuple(turn for turn in transcript.turns if turn.key not in seen_keys),
            end=transcript.end,
            root=root,
            seen=utterance_keys,
        )

    def _prepared(self, drafts: Sequence[Draft]) -> list[Item]:
        # Looked up once for all drafts of a place.
        preparers = {place: self._preparer_at(*place) for place in {_place_of(draft) for draft in drafts}}
        rejected = {
            scope: REJECTED.read(self._store, scope)
            for scope in {draft.scope for draft in drafts if not draft.explicit or draft.provenance.extractor}
        }
        return [
            self._unless_rejected(
                preparers[_place_of(draft)].prepare(draft),
                draft,
                rejected.get(draft.scope, ()),
            )
            for draft in drafts
        ]

    def _preparer_at(self, scope: Scope, session: SessionKey | None) -> Preparer:
        redactor = self._preparer.redactor.at(scope)
        return replace(self._preparer, redactor=redactor, settings=self._settings_of(scope, session))

    def _unless_rejected(self, item: Memory | Skip, draft: Draft, rejected: Sequence[str]) -> Memory | Skip:
        """Return `item`, or a `Skip` if the user rejected such a statement and does not state it explicitly now."""
        if isinstance(item, Skip) or (draft.explicit and not draft.provenance.extractor):
            return item
        before = repeated_in(rejected, item.content)
        if not before or (draft.provenance.by_agent and self._hides(before, draft.scope)):
            return item
        return Skip(
            content=item.content, reason=ChangeReason(cause=ChangeCause.REJECTED_BEFORE, detail=before)
        )

    def _hides(self, content: str, scope: Scope) -> bool:
        """Whether a memory hidden from agents says or said `content`; an answer to an agent must not reveal it."""
        hidden = tuple(level for level in Sensitivity if level > Sensitivity.PROJECT)
        where = MemoryFilter(statuses=None, sensitivities=hidden, begins=content)
        return bool(self._store.list_memories(where, scope=ScopeFilter.of(scope), limit=1))

    def _note(
        self,
        kind: str,
        text: str | None,
        note_id: str,
        *,
        tier: TrustTier,
        place: SessionContext,
        learned: SessionLearnings,
    ) -> tuple[list[Item], str]:
        """Return the changes that update the session's own note (digest or tasks), and the note's id.

        A note that was forgotten is not made again. `text`: None = unchanged, "" = it ends.
        """
        wanted = self._settings_of(place.scope, place.session).kinds
        if text is None or (wanted and kind not in wanted):
            return [], note_id
        stored = self._store.get([note_id], scope=ScopeFilter.of(place.scope)) if note_id else ()
        old = stored[0] if stored else None
        if note_id and (old is None or old.status != "active"):
            return [], note_id
        if not text:
            if old is None:
                return [], ""
            return [
                Retire(
                    memory_id=old.id,
                    at_ms=learned.at_ms or self._clock.now_ms(),
                    reason=ChangeReason(cause=ChangeCause.NOTHING_LEFT),
                )
            ], ""
        prepared = self._preparer.prepare(
            Draft(
                content=text,
                kind=kind,
                scope=place.scope,
                provenance=provenance(place.session, tier, turn=learned.turn, span=""),
                at_ms=learned.at_ms,
            )
        )
        if not isinstance(prepared, Memory):
            return [prepared], note_id
        if old is None:
            return [Add(memory=prepared, reason=ChangeReason(cause=ChangeCause.SESSION_NOTE))], prepared.id
        if old.content == prepared.content and old.branch is None:
            return [], note_id
        again = replace(
            prepared, id=old.id, created_at_ms=old.created_at_ms, validity=old.validity, pinned=old.pinned
        )
        return [Rewrite(memory=again, reason=ChangeReason(cause=ChangeCause.SESSION_WENT_ON))], note_id


_MOST_ALIKE = 20
_FAILED = (ChangeCause.UNREADABLE_TRANSCRIPT, ChangeCause.BAD_HANDOVER)


def _with_keys(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of `old`, then those of `new` that are not among them."""
    return tuple(dict.fromkeys((*old, *new)))


def _said_on(branch: LearnedOn | None, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return `drafts` with the unmerged branch that they were said on; unchanged if `branch` is None."""
    return drafts if branch is None else [replace(draft, branch=branch) for draft in drafts]


def _first_prompt(transcript: Transcript) -> str:
    """Return the user's first prompt, as far as a title needs it; "" = none was read. A bare slash command is none."""
    prompts = (turn.text for turn in transcript.turns if turn.role == "user")
    first = next(filter(names_a_session, prompts), "")
    return first[: 4 * PROMPT_CHARS]


def _place_of(draft: Draft) -> tuple[Scope, SessionKey | None]:
    """Return the scope and the session by which the settings for `draft` are chosen."""
    return draft.scope, _one_session_of([draft])


def _one_session_of(drafts: Sequence[Draft]) -> SessionKey | None:
    """Return the one session that all drafts come from; None = none, or several."""
    sessions = {
        SessionKey(host=draft.provenance.host, session_id=draft.provenance.session_id) for draft in drafts
    }
    session = next(iter(sessions), None)
    return session if len(sessions) == 1 and session is not None and session.session_id else None
