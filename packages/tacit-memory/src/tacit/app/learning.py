"""Capture in the background: explicit statements are captured at once, transcripts are queued and learned from.

In: handled signals. Out: changes in the store. One background thread; a failure is logged and leaves the handover
pending. Capture fails closed: what cannot be redacted or read is not stored.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING

from tacit.app.maintenance.lazy_writing import LazyWriting
from tacit.app.sessions import WRITE_DELAY_S
from tacit.app.stats import HoldoutCounter
from tacit.app.values import OpenStore, SignalResult
from tacit.config.settings import CaptureSettings
from tacit.errors import Conflict
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Change, Contradict, Merge, Rewrite, Skip, Supersede
from tacit.model.memory import TrustTier
from tacit.model.scope import UNIVERSAL, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import MessageEnded, PromptSubmitted, SessionEnded, SessionStarted, Signal
from tacit.ports.host import MemoryFile
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord
from tacit.reading.situation import utterance_of
from tacit.session import ledger
from tacit.session.answer_priority import run_after_answer
from tacit.state.registry import FOLLOWED_FOLDER, TEAM_JOINED
from tacit.text.stemming import stems

if TYPE_CHECKING:  # see `LazyWriting`
    from tacit.capture.bootstrap.project_import import RulesImport
    from tacit.capture.pipeline import CapturePipeline, CaptureReport
    from tacit.capture.write_up.session_writer import PreparedRequest, WriterResult
    from tacit.capture.write_up.statement_comparer import PreparedComparison
    from tacit.hosts.transcripts.sessions import TranscriptInfo

_LOG = logging.getLogger(__name__)
MOST_TAKEN_BACK, MOST_VERSIONS = 20, 100
"""When a prompt takes something back: most memories of its session, and most versions of one, that are read."""
FIRST_RETRY_S, LAST_RETRY_S = 15.0, 3600.0
"""First and longest pause, in seconds, between attempts to learn from a waiting transcript; each is four times the one before."""
MOST_RETRIED = 100
"""How many waiting transcripts are read, oldest first, to see whether one was not tried again yet."""
COMMAND_SOURCE = "command"
"""The source of a statement that the user typed as a command to Tacit."""


class Learning:
    """Runs capture for one engine on background threads: prompts, transcripts, rule files, branches, write-ups."""

    def __init__(self, opened: OpenStore, *, writing: LazyWriting) -> None:
        self._parts = parts = opened.parts
        self._projects, self._sessions, self._changed = opened.projects, opened.sessions, opened.changed
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-learning")
        # What the user says in so many words must not wait behind a long transcript, nor be dropped with it.
        self._statements = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-statements")
        # A model takes minutes; nothing else may wait for it.
        self._write_ups = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-write-up")
        self._writing_up = Event()
        self._closing = Event()
        self._retried: set[str] = set()
        self._retry_at_s = 0.0
        self._retry_pause_s = FIRST_RETRY_S
        self._lock = Lock()
        self._running: set[Future[None]] = set()
        self._hurry = Event()
        self._writing = writing
        self.holdout = HoldoutCounter(parts.store, parts.tokens)

    @property
    def capture(self) -> CapturePipeline:
        """The write path: learns from prompts and transcripts."""
        return self._writing().capture

    def after(self, signal: Signal, handled: SignalResult) -> None:
        """Submit the capture work that follows the answer to `signal`. Its transcript is stored as a handover before this returns."""
        root = handled.project.root if handled.project else None
        settings = self._parts.settings.current(root, agent=handled.state.agent)
        hidden = settings.privacy.incognito or handled.state.incognito
        sent = isinstance(signal, MessageEnded) and signal.sent
        if not hidden and (settings.recall.holdout or sent):
            self._submit(lambda: self.holdout.note(signal, handled, settings.recall), on=self._statements)
        if isinstance(signal, PromptSubmitted) and signal.command:
            # Not capture: the user asks for exactly this, as at a terminal.
            self._submit(lambda: self._run_typed_command(signal, handled, hidden=hidden), on=self._statements)
            return
        if hidden or not settings.capture.enabled or signal.uncaptured:
            return
        project = handled.project
        self._follow_host_memory(signal, project, settings.capture)
        if isinstance(signal, PromptSubmitted) and not signal.machine and not signal.agent_id:
            # What the user typed vouches for what the agent notes.
            self._sessions.keep_typed(signal.session, signal.text)
        match signal:
            case SessionStarted():
                if project is not None:
                    # First, so that memories of merged branches hold for the project before its files are read, which may say the same.
                    self._submit(lambda: self._look_at_branches(self._projects.register(project)))
                    self._submit(lambda: self._note_project(project, settings.capture))
            case PromptSubmitted() if not signal.machine:
                if project is not None and self._projects.branches.moved(project):
                    self._submit(lambda: self._look_at_branches(self._projects.register(project)))
                before = self._sessions.typed(signal.session)[-2:-1]
                self._submit(lambda: self._take_back(signal, "".join(before)), on=self._statements)
                self._submit(lambda: self._explicit(signal, handled), on=self._statements)
            case MessageEnded(messages=said) if said:
                self._submit(lambda: self._log_capture(self.capture_said(signal, handled)))
                self._submit(lambda: self._look_again(handled))
            case MessageEnded() | SessionEnded() if not signal.agent_id:
                self._hand_over(signal, handled)
            case _:
                pass

    def _submit(
        self, job: Callable[[], None], *, on: ThreadPoolExecutor | None = None, delay_s: float = WRITE_DELAY_S
    ) -> None:
        due = monotonic() + delay_s

        def run() -> None:
            # Let the answer be sent first (on a machine with one free processor this job would delay it), and the host write its log.
            self._hurry.wait(max(0.0, due - monotonic()))
            try:
                job()
            except Exception as error:  # noqa: BLE001 - a background job's boundary: the answer is out already
                _LOG.error("capture failed: %s", type(error).__name__, extra={"detail": str(error)})

        def submit() -> None:
            with self._lock:
                future = (on or self._jobs).submit(run)
                self._running.add(future)
            future.add_done_callback(self._running.discard)

        run_after_answer(submit)

    def _note_project(self, project: ProjectRecord, settings: CaptureSettings) -> None:
        """Register a project, and import its rule files and team files if they are followed in this folder.

        Another checkout of the same remote is the same project, but its files were never agreed to: anyone can
        write the remote's name into a repository.
        """
        record = self._projects.register(project)
        self._projects.read_languages(record)
        followed = FOLLOWED_FOLDER.find(self._parts.store, record.id) == project.root
        if settings.rule_files and followed:
            self.capture.import_rules(Path(project.root), record, project_files=settings.project_files)
        joined = TEAM_JOINED.find(self._parts.store, record.id) == project.root
        if joined or (settings.rule_files and followed):
            imported = self.capture.import_team(Path(project.root), record, joined=joined)
            if imported.changes:
                self._changed()

    def _follow_host_memory(
        self, signal: Signal, project: ProjectRecord | None, settings: CaptureSettings
    ) -> None:
        """Submit the import of the host memory's files, if the host has any and `signal` starts or ends something."""
        host = self._parts.hosts.get(signal.session.host)
        told = isinstance(signal, SessionStarted | MessageEnded | SessionEnded) and not signal.agent_id
        if host is None or not (told and settings.rule_files):
            return
        for file in host.capabilities.memory_files:
            if file.at(signal.transcript_path) and (file.universal or project is not None):
                where = None if file.universal else project
                self._submit(
                    partial(
                        self._read_host_memory, file, signal.transcript_path, host=host.name, project=where
                    )
                )

    def _read_host_memory(
        self, file: MemoryFile, transcript_path: str, *, host: str, project: ProjectRecord | None
    ) -> None:
        root = project.root if project is not None else ""
        changes = self.capture.import_host_memory(
            Path(file.at(transcript_path)),
            key=file.key(transcript_path, root),
            host=host,
            scope=project_scope(self._projects.register(project).id) if project is not None else UNIVERSAL,
            form=file.form,
            root=root,
        )
        if changes:
            self._changed()

    def _look_at_branches(self, project: ProjectRecord) -> None:
        """Ask git about the branches that memories of `project` are bound to, and store what changed.

        Blocks on git: callers submit it to the background.
        """
        if not project.root:
            return
        self._projects.branches.note_state(project)
        seen = self.capture.look_at_branches(project)
        self._projects.branches.note_seen(project.root, seen)
        if seen.changes:
            self._changed()

    def _look_again(self, handled: SignalResult) -> None:
        """Check the branches again after capture, so that the tip of the session's branch is known if the branch is deleted later."""
        project = handled.project
        if project is not None and self._projects.branches.learned_on(project) is not None:
            self._look_at_branches(self._projects.register(project))

    def _explicit(self, signal: PromptSubmitted, handled: SignalResult) -> None:
        state = handled.state
        if handled.project is not None:
            self._projects.register(handled.project)
        changes = self.capture.capture_prompt(
            signal.text,
            scope=project_scope(handled.project.id) if handled.project else UNIVERSAL,
            session=state.key,
            turn=state.turn,
            previous_end=state.last_message_end,
            at_ms=signal.at_ms,
            branch=self._projects.branches.learned_on(handled.project),
        )
        self._expose(state.key, changes)
        self._note_kept(state, signal.text, changes)

    def _take_back(self, signal: PromptSubmitted, said_in: str) -> None:
        """Undo what the previous prompt taught, if this prompt explicitly takes it back. `said_in` = the previous prompt; "" = none."""
        from tacit.reading.explicit import is_taken_back_by  # noqa: PLC0415 - loads the write side

        store = self._parts.store
        told = MemoryFilter(session=signal.session, tiers=(TrustTier.USER,)) if said_in else None
        for memory in store.list_memories(told, scope=store.scopes(), limit=MOST_TAKEN_BACK) if told else ():
            span = memory.provenance.span
            said = span in said_in or stems(span) <= stems(said_in)
            if said and is_taken_back_by(span, signal.text, said_in=said_in):
                made = store.recorded(scope=store.scopes(), limit=MOST_VERSIONS, memory_id=memory.id)[-1]
                try:  # what it replaced holds again
                    self._writing().review.undo(made.change_id, memory_id=memory.id)
                except Conflict:
                    self._writing().memories.retire(memory)

    def _note_kept(self, state: SessionState, text: str, changes: Sequence[Change]) -> None:
        """Note in the record of the session whether what a prompt marks was stored: a reminder to the agent depends on it."""
        from tacit.hosts.transcripts import clean_prompt  # noqa: PLC0415

        known = any(isinstance(change, Skip) and change.memory_id for change in changes)
        kept = known or any(
            m.status == "active" for change in changes if (m := _memory_of(change)) is not None
        )
        if kept:
            self._sessions.note_turn(state.key, noted_turn=state.turn)
        elif (
            not any(
                isinstance(change, Skip) and change.reason.cause is ChangeCause.SECRET for change in changes
            )
            and utterance_of(clean_prompt(text), state.last_message_end).asks_to_keep
        ):
            self._sessions.note_turn(state.key, unkept_turn=state.turn)

    def _run_typed_command(self, signal: PromptSubmitted, handled: SignalResult, *, hidden: bool) -> None:
        """Execute the command that the user typed as a prompt (`forget` or a statement to store), as the user's word.

        Raises:
            TacitError: where it cannot be done; the agent, which runs the same command, shows why.
        """
        verb, _, argument = signal.command.partition(" ")
        memories, state = self._writing().memories, handled.state
        if verb == "forget":
            memory = self._parts.store.resolve(argument, scope=self._parts.store.scopes())
            memories.retire(memory)
            return
        changes = memories.remember(
            argument,
            cwd=handled.folder,
            tier=TrustTier.USER,
            source=COMMAND_SOURCE,
            session=state.key,
            confirmed=False,
        )
        if not hidden:
            self._expose(state.key, changes)

    def _expose(self, session: SessionKey, changes: Sequence[Change]) -> None:
        """Enter the memories of `changes` into the session's ledger: their words stand in its context already."""
        stored = [m for change in changes if (m := _memory_of(change)) is not None]
        if not stored:
            return
        # The words stand in the conversation already: the session must not be given them again.
        with self._sessions.turn(session, timeout_s=5.0) as acquired:
            newest = self._sessions.load(session) if acquired else None
            if newest is not None:
                now = self._parts.clock.now_ms()
                self._sessions.save(ledger.expose_host_rules(newest, stored, at_ms=now))

    def _hand_over(self, signal: MessageEnded | SessionEnded, handled: SignalResult) -> None:
        from tacit.hosts.transcripts.sessions import kept_transcript  # noqa: PLC0415 - see the imports

        session = signal.session
        transcript = kept_transcript(self._parts.host_folders, session.host, session.session_id)
        path = signal.transcript_path or (str(transcript) if transcript else "")
        if not path:
            return
        payload = {
            "host": signal.session.host,
            "session_id": signal.session.session_id,
            "transcript_path": path,
            "cwd": handled.folder,
            "ended": isinstance(signal, SessionEnded),
        }
        if (branch := self._projects.branches.learned_on(handled.project)) is not None:
            payload |= {"branch": branch.name, "commit": branch.commit}
        handover = Handover(
            key=f"{signal.session}:{signal.key}",
            session=signal.session,
            payload=json.dumps(payload),
            at_ms=signal.at_ms,
        )
        if self._parts.store.hand_over(handover):
            host = self._parts.hosts.get(session.host)
            delay_s = host.capabilities.log_delay_ms / 1000 if host else 0.0
            self._submit(
                lambda: self._log_capture(self.capture_pending()), delay_s=max(delay_s, WRITE_DELAY_S)
            )
            self._submit(lambda: self._look_again(handled))

    def _log_capture(self, report: CaptureReport) -> None:
        _LOG.info("captured", extra={"detail": str(report)})

    def capture_said(self, signal: MessageEnded, handled: SignalResult) -> CaptureReport:
        """Learn from a conversation that arrived whole with the signal, and start the write-up. Its raw words are never stored."""
        from tacit.capture.transcript import TranscriptSource  # noqa: PLC0415 - see the imports

        key = handled.state.key
        source = TranscriptSource(
            host=key.host,
            session_id=key.session_id,
            cwd=handled.folder,
            messages=json.loads(signal.messages),
            branch=self._projects.branches.learned_on(handled.project),
        )
        report = self.capture.capture_said(source)
        self.write_up_soon()
        return report

    def capture_pending(self) -> CaptureReport:
        """Learn from every waiting transcript now; then start the write-up of ended sessions in the background."""
        report = self.capture.capture_pending()
        self.write_up_soon()
        return report

    def retry_pending(self) -> None:
        """Try again, in the background, to learn from transcripts whose capture failed. Does nothing while other jobs run.

        The first attempt for a transcript comes at once, however long the pause of those that failed before it is.
        """
        if self._running:
            return
        waiting = {handover.key for handover in self._parts.store.pending_handovers(limit=MOST_RETRIED)}
        if waiting - self._retried:
            self._retry_at_s, self._retry_pause_s = 0.0, FIRST_RETRY_S
        self._retried = waiting
        if not waiting or monotonic() < self._retry_at_s:
            return
        self._retry_at_s = monotonic() + self._retry_pause_s
        self._retry_pause_s = min(4 * self._retry_pause_s, LAST_RETRY_S)
        self._submit(lambda: self._log_capture(self.capture_pending()))

    def write_up_soon(self) -> None:
        """Start writing up sessions in the background if a model is configured; returns at once. One run at a time."""
        if self._parts.writer is None or self._writing_up.is_set():
            return
        self._writing_up.set()
        try:
            self._write_ups.submit(self._write_up_all)
        except RuntimeError:  # the store is being closed
            self._writing_up.clear()

    def _write_up_all(self) -> None:
        # Cleared first: what comes in from here on is seen below or begins another run.
        self._writing_up.clear()
        try:
            while not self._closing.is_set() and (write_up := self.write_up_next()) is not None:
                _LOG.info("written up: %s, %d changes", write_up.error or "done", len(write_up.changes))
        except Exception as error:  # noqa: BLE001 - a background job's boundary: what waits goes on waiting
            _LOG.error("writing up failed: %s", type(error).__name__, extra={"detail": str(error)})

    def write_up_next(self, *, past: bool = False, at_once: bool = False) -> WriterResult | None:
        """Send one request to the writer and return its result; None = nothing waits, or nothing may be asked now. Blocks.

        Args:
            past: write up a session that was imported; nothing is compared. Else a session that ended, or, where none waits, compare
                new statements.
            at_once: also in the pause after a failure, and while statements still come in.
        """
        writer, comparer = self.capture.session_writer, self.capture.comparer
        if writer is None or comparer is None:
            return None
        write_up = writer.write_up_next(past=past, at_once=at_once)
        if write_up is None and not past:
            write_up = comparer.compare_next(at_once=at_once)
        if write_up is not None and write_up.changes:
            self._changed()
        return write_up

    def write_up_requests(self, *, past: bool = False) -> tuple[PreparedRequest | PreparedComparison, ...]:
        """Return the requests that would be sent now, in order; nothing is sent. With `past`, those of imported sessions alone."""
        writer, comparer = self.capture.session_writer, self.capture.comparer
        if writer is None or comparer is None:
            return ()
        sessions = tuple(writer.prepare(session) for session in writer.waiting(past=past))
        return sessions if past else (*sessions, *comparer.prepare())

    def import_rules(
        self, project: ProjectRecord, *, confirmed: bool = False, dry_run: bool = False
    ) -> RulesImport:
        """Import the rule files of `project` and return what happened to each. A dry run only plans.

        This folder is followed from then on if `confirmed`, or if no other folder of the project is followed yet.

        Args:
            project: whose.
            confirmed: the user was shown what the rule files hold, and takes it for their own.
            dry_run: only tell what the rule files would add.
        """
        if dry_run:
            return self.capture.import_rules(Path(project.root), project, dry_run=True)
        record = self._projects.register(project)
        self._projects.read_languages(record)
        settings = self._parts.settings.current(Path(project.root)).capture
        imported = self.capture.import_rules(
            Path(project.root), record, project_files=settings.project_files, confirmed=confirmed
        )
        if confirmed or not FOLLOWED_FOLDER.find(self._parts.store, record.id):
            FOLLOWED_FOLDER.write(self._parts.store, project.root, record.id)
        return imported

    def transcripts(
        self, project: ProjectRecord | None, *, paths: Sequence[Path] = (), host: str = "", since_ms: int = 0
    ) -> tuple[TranscriptInfo, ...]:
        """Find past transcripts on this machine: those at `paths`, else those that hosts keep of `project`, or of every project.

        Args:
            project: whose; with `paths`, whose sessions that do not say where they ran are.
            paths: files and folders to look into.
            host: only sessions of this host.
            since_ms: only files changed since.

        Raises:
            NotFound: if one of `paths` does not exist.
        """
        from tacit.hosts.transcripts.sessions import find_transcripts, named_transcripts  # noqa: PLC0415 - see the imports

        root = project.root if project else ""
        if paths:
            return named_transcripts(paths, cwd=root, host=host, since_ms=since_ms)
        transcripts = find_transcripts(self._parts.host_folders, Path(root) if root else None)
        return tuple(i for i in transcripts if host in ("", i.host) and i.modified_ms >= since_ms)

    def flush(self) -> None:
        """Run the jobs that were begun without further delay, and wait for them, at most 60 seconds each."""
        with self._lock:
            running = tuple(self._running)
        self._hurry.set()
        try:
            for future in running:
                future.result(timeout=60)
        finally:
            self._hurry.clear()

    def close(self) -> None:
        """Finish the running job and all statements, and cancel the other jobs; waiting transcripts stay in the store."""
        self._hurry.set()
        self._closing.set()
        writer = self._parts.writer
        if writer is not None:
            writer.cancel()  # what it was asked waits in the store and is asked again later
        self._statements.shutdown(wait=True)
        self._jobs.shutdown(wait=True, cancel_futures=True)
        self._write_ups.shutdown(wait=True, cancel_futures=True)
        if writer is not None:
            writer.close()


def _memory_of(change: Change):  # noqa: ANN202
    return change.memory if isinstance(change, Add | Merge | Supersede | Contradict | Rewrite) else None
