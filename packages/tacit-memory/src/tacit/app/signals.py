"""From signal to delivery: update the session, ask the memory, record what was handed over.

In: a signal and what its host can do. Out: a `SignalAnswer`. One signal of a session at a time, each one once. What can wait
(writing the record, capture) is done behind the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from tacit.app.asking import PromptJudge
from tacit.app.delivery_texts import (
    Notices,
    Nudges,
    adjust_query_budget,
    current_hashes,
    failure_of_error,
    failure_of_trace,
    other_sessions_of_project,
    prompts_before,
    use_counts,
    with_nothing_found_text,
)
from tacit.app.projects import ProjectRegistry
from tacit.app.reasons import log_text
from tacit.app.values import OpenStore, SignalAnswer, SignalResult
from tacit.config.settings import Settings
from tacit.frozen import frozen
from tacit.model.ids import new_id
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Block, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey, SessionState, StartPack
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import DropReason, SilenceCause, SilenceReason, Trace
from tacit.model.trigger import Situation
from tacit.ports.host import HostCapabilities, ReplayRequest
from tacit.ports.store import MemoryFilter, ProjectRecord, Recorded
from tacit.presets import preset_of
from tacit.presets.refresh.preset import LowInformation, RefreshBlock
from tacit.reading.errors import error_signature
from tacit.reading.situation import read_situation
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import OPT_OUT, build_query, settings_for, surface_for
from tacit.recall.render import renderer
from tacit.recall.stage import Context, Outcome, StageLog, ToldBefore
from tacit.session import ledger
from tacit.session.ledger import carried_start_pack, changed_since, ids_dropped_by_compaction, with_start_pack
from tacit.session.transitions import (
    AGENT_MARK,
    apply_signal,
    folder_of,
    open_session,
    recall_inputs_of,
    record_signal,
    still_armed,
    take_task,
    was_handled,
)
from tacit.state.registry import HOST_MEMORY, file_key

_LOG = logging.getLogger(__name__)
RULE_MEMORIES = 500
MAX_VERSIONS = 1000
LATE_S = 30.0
_SYSTEM_SURFACES = (Surface.START, Surface.PROMPT, Surface.COMPACTION, Surface.SUBAGENT)


HandOver = Callable[[SignalAnswer], bool]
"""Sends a delivery to the host. Returns whether the host took it."""


@frozen
class _Handling:
    """What a signal is handled with, besides itself and its session's record.

    Attributes:
        capabilities: what its host can do.
        settings: the settings that hold for it.
        remaining: returns the milliseconds until its host stops waiting.
        log: takes the stages of its recall.
        carries: whether the reply can hand over text; None = every reply of the host can.
        hand_over: sends the delivery; None = it counts as taken.
        project: the project of its session.
        files: paths that it names, relative to the project.
    """

    capabilities: HostCapabilities
    settings: Settings
    remaining: Callable[[], float]
    log: StageLog
    carries: bool | None = None
    hand_over: HandOver | None = None
    project: ProjectRecord | None = None
    files: tuple[str, ...] = ()

    def of_another(self, log: StageLog) -> _Handling:
        """Return the same for another signal of the session, which is handled first; its block waits for the reply to this one."""
        return replace(self, log=log, carries=False, hand_over=None)


class SignalHandler:
    """Handles signals of all sessions: updates the session, recalls, records what was given. Safe to call from several threads."""

    def __init__(
        self,
        opened: OpenStore,
        *,
        pipeline: RecallPipeline,
        nudges: Nudges,
        judge: PromptJudge,
        after: Callable[[Signal, SignalResult], None],
    ) -> None:
        """`after` is called with each signal and what came of it, once it is answered."""
        parts = opened.parts
        self._store, self._clock, self._salvaged = parts.store, parts.clock, parts.salvaged
        self._redactors, self._kinds = parts.redactor, parts.kinds
        self._sessions, self._projects = opened.sessions, opened.projects
        self._pipeline = pipeline
        self._nudges = nudges
        self._judge = judge
        self._after = after
        self._notices = Notices(opened)
        self._late = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-late")

    def handle(
        self,
        signal: Signal,
        *,
        capabilities: HostCapabilities,
        settings: Settings,
        deadline_ms: float,
        carries: bool | None = None,
        hand_over: HandOver | None = None,
    ) -> SignalAnswer:
        """Handle one signal and return its delivery. Blocks until `deadline_ms` at most while its session is busy.

        If its session is busy until the deadline, the answer is silence, and the signal is handled later without injection, so that no
        turn, failure or statement is lost. `carries` = whether the reply can hand over text; None = every reply of the host can.
        The session stays held until `hand_over` returns, so that its next signal is answered with what was given in mind.
        """
        log, ends = self._new_log(), self._clock.monotonic_ms() + deadline_ms
        signal = of_its_agent(self._at_its_real_folder(signal))
        if isinstance(signal, SubagentStarted):
            signal = self._with_task(signal, timeout_s=deadline_ms / 1000)
            recall = settings_for(
                signal, settings.recall, self._kinds, without_tools=capabilities.agents_without_tools
            )
            settings = settings.model_copy(update={"recall": recall})
        how = _Handling(
            capabilities=capabilities,
            settings=settings,
            remaining=lambda: ends - self._clock.monotonic_ms(),
            log=log,
            carries=carries,
            hand_over=hand_over,
        )
        with self._sessions.turn(signal.session, timeout_s=max(0.0, how.remaining()) / 1000) as acquired:
            if not acquired:
                self._late.submit(self._handle_late, signal, how)
                return _silent()
            if isinstance(signal, PromptSubmitted) and not signal.machine:
                self._read_last_words(signal)
            if capabilities.compaction_at_prompt and isinstance(signal, PromptSubmitted):
                how = replace(how, carries=self._dropped_by_compaction(signal, how) or None)
            elif carries and self._lacks_start(signal):
                self._start_late(signal, how)
            handled = self._handle(signal, how)
        if not handled.repeated:
            self._after(signal, handled)
        if failure := handled.delivery.failure:
            why = f" ({failure.detail})" if failure.detail else ""
            _LOG.warning("%s%s", failure.message, why)
        return handled.delivery

    def _new_log(self) -> StageLog:
        return StageLog(timer=self._clock.monotonic_ms)

    def _dropped_by_compaction(self, signal: PromptSubmitted, how: _Handling) -> bool:
        """Let the block with what a compaction dropped wait for the reply to the first prompt after it; return whether one waits.

        Only for a host that sends no signal after a compaction.
        """
        state = self._sessions.load(signal.session)
        if state is None or signal.machine or OPT_OUT in signal.text:
            return False
        if not state.compacted:
            return bool(state.waiting)
        compacted = SessionStarted(
            session=signal.session, key=f"start:compact:{signal.key}", at_ms=signal.at_ms, cwd=signal.cwd,
            agent=signal.agent, agent_id=signal.agent_id, source="compact",
        )  # fmt: skip
        return bool(self._handle(compacted, how.of_another(self._new_log())).state.waiting)

    def _read_last_words(self, signal: PromptSubmitted) -> None:
        """Read the agent's last message from the transcript before a prompt, if the event at its end named the transcript alone.

        Such a host writes the message after that event, so it cannot be read earlier.
        """
        state = self._sessions.load(signal.session)
        if state is None or not state.words_at:
            return
        from tacit.capture.transcript import last_reply  # noqa: PLC0415 - most hosts hand the words over

        words = MessageEnded(
            session=signal.session,
            key=f"words:{signal.key}",
            at_ms=signal.at_ms,
            text=last_reply(signal.session.host, Path(state.words_at)),
        )
        self._sessions.save(replace(self._advance(words, state, None, ()), words_at=""))

    def _with_task(self, signal: SubagentStarted, *, timeout_s: float) -> SubagentStarted:
        """Return the start of a subagent with the task from its parent's call, where the host does not repeat it, and remove the task from the parent's record."""
        if signal.task or signal.parent is None:
            return signal
        with self._sessions.turn(signal.parent, timeout_s=timeout_s) as acquired:
            parent = self._sessions.load(signal.parent) if acquired else None
            if parent is None:
                return signal
            task, parent_after = take_task(parent, signal.agent_type)
            if task:
                self._sessions.save(parent_after)
        return replace(signal, task=task)

    def _handle_late(self, signal: Signal, how: _Handling) -> None:
        """Update the session's record for a signal whose host no longer waits; nothing is injected."""
        try:
            with self._sessions.turn(signal.session, timeout_s=LATE_S) as acquired:
                late = replace(how, remaining=lambda: 0.0, log=self._new_log(), carries=None, hand_over=None)
                handled = self._handle(signal, late) if acquired else None
            if handled is not None and not handled.repeated:
                self._after(signal, handled)
        except Exception:  # noqa: BLE001 - a background job's boundary: the answer is out already
            _LOG.exception("a late signal could not be handled")

    def close(self) -> None:
        """Finish the late signals."""
        self._late.shutdown(wait=True)

    def _handle(self, signal: Signal, how: _Handling) -> SignalResult:
        capabilities, settings = how.capabilities, how.settings
        state = self._record_of(signal)
        folder = folder_of(signal, state)
        project = self._projects.of(folder)
        here = self._projects.of(signal.cwd) if project and signal.cwd != folder else None
        if project and here and here.id == project.id:  # maybe another work tree of it
            folder, project = signal.cwd, here
        repeated = was_handled(state, signal)
        if repeated and not _asks_again(signal, state, capabilities):
            delivery = _again(signal, state, capabilities, settings)
            return SignalResult(delivery=delivery, state=state, project=project, folder=folder, repeated=True)
        calls = isinstance(signal, ToolStarting | ToolFinished | ToolFailed)
        files = self._projects.relative(signal.call.paths, project, signal.cwd) if calls else ()
        if not repeated:
            state = self._advance(signal, record_signal(state, signal), project, files)
        how = replace(how, project=project, files=files)
        if settings.privacy.incognito:
            state = replace(state, incognito=True)
        if isinstance(signal, SessionEnded) and signal.deleted:
            self._sessions.drop(signal.session)
            return SignalResult(delivery=_silent(), state=state, project=project, folder=folder)
        if isinstance(signal, SessionStarted):
            state = self._expose_rule_files(state, how)
            state = self._expose_host_memory(signal, state, how)
        before = state
        delivery, state = self._answer_safely(signal, state, how)
        if isinstance(signal, PromptSubmitted) and not capabilities.stored:
            delivery, state = _bounded(signal, delivery, state, settings)
        if how.carries is not None:
            delivery, state = _deferred(
                signal, delivery, state, before=before, carries=how.carries, holds=capabilities.holds
            )
        if how.hand_over is not None and not delivery.block.empty and not how.hand_over(delivery):
            delivery, state = _too_late(delivery), before
        if delivery.trace is not None and _was_late(delivery.trace):
            # A later signal may bring what this one did not, and so may this one when it comes again.
            state = replace(state, late_key=signal.key)
        elif state.late_key == signal.key:
            state = replace(state, late_key="")
        self._sessions.save(state, trace=delivery.trace)
        if (trace := delivery.trace) is not None and (trace.injected or trace.surface is Surface.PROMPT):
            _LOG.info("injection: %s", log_text(trace))
        return SignalResult(delivery=delivery, state=state, project=project, folder=folder, repeated=repeated)

    def folder_of(self, signal: Signal) -> str:
        """Return the folder whose project the session of `signal` belongs to."""
        signal = of_its_agent(signal)
        state = self._sessions.load(signal.session)
        if state is None and signal.parent:
            state = self._sessions.load(signal.parent)
        return folder_of(signal, state)

    def _lacks_start(self, signal: Signal) -> bool:
        """Whether `signal` is a prompt of a session whose start was never handled, because no daemon ran then."""
        if not isinstance(signal, PromptSubmitted) or signal.agent_id:
            return False
        state = self._sessions.load(signal.session)
        return state is None or (state.start_pack is None and not state.turn)

    def _start_late(self, signal: Signal, how: _Handling) -> None:
        """Handle the start of the session of `signal` now; its start pack waits for the reply to `signal`."""
        start = SessionStarted(
            session=signal.session,
            key=f"late-start:{signal.key}",
            at_ms=signal.at_ms,
            cwd=signal.project_dir or signal.cwd,
            agent=signal.agent,
            transcript_path=signal.transcript_path,
        )
        handled = self._handle(start, how.of_another(self._new_log()))
        if not handled.repeated:
            self._after(start, handled)

    def _answer_safely(
        self, signal: Signal, state: SessionState, how: _Handling
    ) -> tuple[SignalAnswer, SessionState]:
        """Run the recall for `signal` and return (answer, session state after it). If recall fails, or the host takes no text here, the answer is silence and the state is `state` itself."""
        try:
            delivery, answered = self._deliver(signal, state, how)
        except Exception as error:  # noqa: BLE001 - the boundary of recall: its failure must not cost the record
            _LOG.exception("recall failed")
            failed = SilenceReason(cause=SilenceCause.FAILED, detail=type(error).__name__)
            return SignalAnswer(
                block=Block(surface=Surface.PROMPT),
                trace=self._silent_trace(signal, state, failed, how),
                failure=failure_of_error(error),
            ), state
        if signal.takes_no_text and not delivery.block.refuses:
            # Nothing is sent, so nothing is recorded: the same memories come with the result of the call.
            return _silent(), state
        if how.capabilities.start_stays or not isinstance(signal, SessionStarted):
            return delivery, answered
        if (
            surface_for(signal, state, how.settings.recall, preset_of(how.settings.preset))
            is not Surface.START
        ):
            return delivery, answered
        block, answered = ledger.with_lost_start(delivery.block, answered, holds=how.capabilities.holds)
        return replace(delivery, block=block), answered

    def replay(
        self, request: ReplayRequest, *, settings_of: Callable[[SessionState], Settings]
    ) -> dict[str, str]:
        """Return `{message id: text}`: the block that each of these messages got in this epoch, for a host's plugin that lost its copy.

        "" = the message got none, or its block no longer stays in the history (`recall.history_blocks`). An unknown session gives {}. Changes nothing.
        """
        state = self._sessions.load(request.session)
        if state is None:
            return {}
        stays = ledger.bounded(state, most=settings_of(state).recall.history_blocks)
        return {
            name: (ledger.kept_block(state, name) or "") if stays(name) else ""
            for name in request.message_ids
        }

    def _record_of(self, signal: Signal) -> SessionState:
        state = self._sessions.load(signal.session)
        if state is not None:
            return state
        parent = self._sessions.load(signal.parent) if signal.parent else None
        forked = isinstance(signal, SessionStarted) and signal.source == "fork"
        state = open_session(signal, parent=parent if forked else None)
        if parent is not None:
            state = replace(state, started_in=parent.folder, muted=parent.muted, incognito=parent.incognito)
        return state

    def _advance(
        self, signal: Signal, state: SessionState, project: ProjectRecord | None, files: tuple[str, ...]
    ) -> SessionState:
        situation: Situation | None = None
        signature = ""
        if isinstance(signal, MessageEnded):
            # Read now what a "yes" to this message would mean, so that the next prompt need not.
            situation = read_situation("yes", previous_end=signal.text, recent_files=state.recent_files)
        elif isinstance(signal, ToolFailed):
            signature = error_signature(signal.error, command=signal.call.command or signal.call.tool)
        state = apply_signal(state, signal, paths=files, situation=situation, signature=signature)
        if project is not None and (state.project_id, state.project_root) != (project.id, project.root):
            state = replace(state, project_id=project.id, project_root=project.root)
        return state

    def _expose_rule_files(self, state: SessionState, how: _Handling) -> SessionState:
        """Enter the memories of rule files that the host loads by itself into the ledger, so that the start pack does not repeat them."""
        capabilities, project = how.capabilities, how.project
        if project is None or not capabilities.loads_rule_files:
            return state
        folder = state.folder or project.root
        names = loaded_rule_files(project.root, folder, capabilities.loads_rule_files)
        for fallback in capabilities.rule_file_fallbacks:
            names = names or loaded_rule_files(project.root, folder, (fallback,))
        scope = self._projects.visible(project, share_preferences=how.settings.project.share_preferences)
        for name in names:
            memories = self._store.list_memories(MemoryFilter(source=name), scope=scope, limit=RULE_MEMORIES)
            state = ledger.expose_host_rules(state, memories, at_ms=self._clock.now_ms())
        return replace(state, host_rule_files=names)

    def _expose_host_memory(
        self, signal: SessionStarted, state: SessionState, how: _Handling
    ) -> SessionState:
        """Enter the notes of the host memory into the ledger, because the host loads them. `import_host_memory` read them."""
        scope = self._projects.visible(how.project, share_preferences=how.settings.project.share_preferences)
        for file in how.capabilities.memory_files:
            name = file.key(signal.transcript_path, how.project.root if how.project else "")
            known = HOST_MEMORY.find(self._store, signal.session.host, file_key(name)) if name else None
            if known is not None:
                ids = [memory_id for memory_id in known.items.values() if memory_id]
                memories = self._store.get(ids, scope=scope)
                state = ledger.expose_host_rules(state, memories, at_ms=self._clock.now_ms())
        return state

    def _deliver(
        self, signal: Signal, state: SessionState, how: _Handling
    ) -> tuple[SignalAnswer, SessionState]:
        capabilities, settings, project, log = how.capabilities, how.settings, how.project, how.log
        message_id = _kept_under(signal, capabilities)
        preset = preset_of(settings.preset)
        surface = surface_for(signal, state, settings.recall, preset)
        kept_text = ledger.kept_block(state, message_id)
        if kept_text is not None and not isinstance(surface, SilenceReason):
            return SignalAnswer(block=Block(surface=Surface.START, text=kept_text)), state
        if how.remaining() <= 0 and not isinstance(surface, SilenceReason):
            surface = SilenceReason(cause=SilenceCause.LATE)
        if isinstance(surface, SilenceReason):
            return self._silence(signal, state, surface, how), state
        may_refuse = settings.recall.blocking and capabilities.refuses
        if not _reaches_model(signal, surface, capabilities, may_refuse=may_refuse):
            return _silent(), state
        log.note("signal", facts=(Note(cause=NoteCause.SURFACE, detail=surface.value),))
        outcome = query_of(
            signal, state, surface=surface, settings=settings, project=project, files=how.files,
            projects=self._projects, at_ms=self._clock.now_ms(),
        )  # fmt: skip
        before = carried_start_pack(signal, state) if capabilities.stored else None
        if preset.every_call and before is None and _may_be_refreshed(surface, capabilities):
            log.note("query", facts=outcome.facts)
            delivery, state = self._refresh(outcome.kept, state, how)
            if isinstance(signal, SessionStarted):
                state = with_start_pack(state, None, surface=surface, at_ms=outcome.kept.at_ms, change=0)
            return delivery, state
        machine = isinstance(signal, PromptSubmitted) and signal.machine
        sentence, outcome = self._nudges.reserve_room(outcome, state, settings.recall, machine=machine)
        room = capabilities.with_room_for(sentence)
        with self._store.at_once():  # one read for both
            change = self._store.change()
            context = self._context_of(signal, state, how, outcome, surface=surface, before=before, room=room)
        delivered, trace = self._pipeline.run(
            outcome.kept, preset=preset, settings=settings.recall, context=context, trace_id=self._trace_id()
        )
        trace = replace(trace, asked=recall_inputs_of(signal, state))
        chosen = [item.candidate.memory for item in delivered.pack.items]
        carried = delivered.block
        if sentence:
            carried, state = self._nudges.with_sentence(
                sentence, delivered.block, state, holds=capabilities.holds
            )
            trace = replace(trace, block=carried.text, tokens=carried.tokens)
        due = surface is Surface.ACTION
        refused = (
            ledger.with_refusal(carried, chosen, signal, state, may_refuse=may_refuse) if due else carried
        )
        state = ledger.record(
            state, items=delivered.pack.given, block=carried, message_id=message_id, at_ms=outcome.kept.at_ms
        )  # fmt: skip
        if delivered.pack.pairs:
            self._nudges.record_shown_pairs(delivered.pack, state.key)
        if delivered.pack.offered or delivered.pack.sections.badges:
            offered = tuple(dict.fromkeys((*state.offered, *delivered.pack.offered)))
            state = replace(state, offered=offered, hinted=(*state.hinted, *delivered.pack.sections.badges))
        if isinstance(signal, SessionStarted):
            state = with_start_pack(state, before, surface=surface, at_ms=outcome.kept.at_ms, change=change)
        if surface is Surface.PROMPT and context.told and delivered.block.memory_ids and state.start_pack:
            # What changed was told with this block.
            told = replace(state.start_pack, at_ms=outcome.kept.at_ms, change=change)
            state = replace(state, start_pack=told)
        block = refused
        if preset.nothing_text is not None:
            text = preset.nothing_text(Surface.PROMPT)
            block, state = with_nothing_found_text(
                refused, trace, state, settings.recall, text, salvaged=self._salvaged
            )
        return SignalAnswer(
            block=block,
            notice=self._notices.line(signal, block, project, settings)
            if isinstance(signal, SessionStarted)
            else "",
            # Tool calls are many: a silent one without any candidate says nothing that anyone will ask about.
            trace=trace if trace.injected or trace.candidates or surface is not Surface.ACTION else None,
            pack=delivered.pack,
            failure=failure_of_trace(trace, settings.recall),
        ), state

    def _context_of(
        self,
        signal: Signal,
        state: SessionState,
        how: _Handling,
        asked: Outcome[Query],
        *,
        surface: Surface,
        before: StartPack | None,
        room: HostCapabilities,
    ) -> Context:
        """Build the context of a recall: all it may know besides its query. `room` = the capabilities less what the block says besides memories."""
        settings, capabilities, project = how.settings, how.capabilities, how.project
        preset, recall, query = preset_of(settings.preset), settings.recall, asked.kept
        may_refuse = recall.blocking and capabilities.refuses
        # A block that is rebuilt may say again what it said; where the host keeps every block, it would pile up.
        again = 0 if preset.every_call else recall.reinject_after
        dropped: tuple[str, ...] = ()
        if before is not None or surface is Surface.COMPACTION:
            dropped = ids_dropped_by_compaction(state, before, surface=surface)
        others = other_sessions_of_project(self._sessions, state) if preset.tells_time else ()
        return Context(
            in_context=lambda memory: (
                None
                if surface is Surface.ACTION and ledger.is_due(memory, signal, state, may_refuse=may_refuse)
                else ledger.why_in_context(state, memory, surface=surface, reinject_after=again)
            ),
            pinned_in_context=_pinned_held(state, surface, capabilities, settings),
            cap_chars=room.cap_chars,
            fits=room.holds,
            remaining_ms=how.remaining,
            turn=state.turn,
            epoch=state.epoch,
            root=project.root if project else "",
            render=renderer(self._kinds, self._redactors.cleaner(settings), preset.layout.at(surface)),
            facts=asked.facts,
            log=how.log,
            first=dropped,
            changed=changed_since(before, partial(self._versions_of, query.scope)) if before else None,
            told=self._told(before or state.start_pack, state, settings, query.scope),
            window=ledger.held(state, reinject_after=again),
            settles=self._nudges.settling_test(recall, state.key.host),
            sessions=others,
            turns=prompts_before(state, others, at_ms=query.at_ms) if preset.tells_time else (),
            hinted=state.hinted,
            offset_ms=self._clock.local_offset_ms,
            armed=still_armed(state) if state.armed else None,
            usage=use_counts(self._store),
            judge=self._judge.of(state, project, settings) if recall.judge.provider != "off" else None,
        )

    def _told(
        self, before: StartPack | None, state: SessionState, settings: Settings, scope: ScopeFilter
    ) -> ToldBefore | None:
        """Return what the session was told of the store and when; None = it was not told in this epoch, or the settings tell it nothing."""
        if before is None or before.epoch != state.epoch or not settings.recall.budgets.index:
            return None
        shown = frozenset((*ledger.held(state, reinject_after=0), *state.offered))
        return ToldBefore(
            change=before.change,
            says_new=changed_since(before, partial(self._versions_of, scope)),
            shown=shown,
        )

    def _versions_of(self, scope: ScopeFilter, memory: Memory) -> tuple[Recorded, ...]:
        return self._store.recorded(scope=scope, limit=MAX_VERSIONS, memory_id=memory.id)

    def _refresh(
        self, query: Query, state: SessionState, how: _Handling
    ) -> tuple[SignalAnswer, SessionState]:
        """Return the `[MEMORY]` block of the refresh cadence, for the system prompt of every call, and the new record."""
        refresh = RefreshBlock(
            pipeline=self._pipeline,
            settings=how.settings.recall,
            new_id=self._trace_id,
            kinds=self._kinds,
            clean=self._redactors.cleaner(how.settings),
            current=lambda ids: current_hashes(self._store, ids, query.scope),
            log=how.log,
        )
        low = LowInformation(nothing_coming=query.situation.nothing_coming, words=len(query.raw_text.split()))
        block, trace, state = refresh.advance(query, state=state, low=low, cap=how.capabilities.cap_chars)
        return SignalAnswer(block=block, trace=trace), state

    def _silence(
        self, signal: Signal, state: SessionState, silence: SilenceReason, how: _Handling
    ) -> SignalAnswer:
        """Return the delivery for a signal that gets nothing; if only the preset has no start pack, it still has the notice."""
        trace = self._silent_trace(signal, state, silence, how)
        failure = failure_of_trace(trace, how.settings.recall) if trace else None
        off = silence.cause is SilenceCause.OFF_IN_PRESET
        notice = self._notices.line(signal, None, how.project, how.settings) if off else ""
        return SignalAnswer(block=Block(surface=Surface.PROMPT), notice=notice, trace=trace, failure=failure)

    def _silent_trace(
        self, signal: Signal, state: SessionState, silence: SilenceReason, how: _Handling
    ) -> Trace | None:
        """Return a trace of why a prompt got nothing; None for other signals."""
        if not isinstance(signal, PromptSubmitted):
            return None
        how.log.note("query" if how.log.has("signal") else "signal")
        return Trace(
            id=self._trace_id(),
            session=str(state.key),
            turn=state.turn,
            epoch=state.epoch,
            surface=Surface.PROMPT,
            at_ms=self._clock.now_ms(),
            preset=how.settings.preset,
            text=signal.text[:240],
            situation=Situation(),
            stages=tuple(how.log.records),
            why=silence,
            took_ms=how.log.took_ms(),
        )

    def _at_its_real_folder(self, signal: Signal) -> Signal:
        """Return the signal with links in its folders resolved; the project's root is resolved the same way."""
        real, project_dir = (self._projects.real_folder(name) for name in (signal.cwd, signal.project_dir))
        unchanged = (real, project_dir) == (signal.cwd, signal.project_dir)
        return signal if unchanged else replace(signal, cwd=real, project_dir=project_dir)

    def _trace_id(self) -> str:
        return new_id("trc", now_ms=self._clock.now_ms(), entropy=self._clock.entropy(5))


def query_of(
    signal: Signal,
    state: SessionState,
    *,
    surface: Surface,
    settings: Settings,
    project: ProjectRecord | None,
    files: tuple[str, ...],
    projects: ProjectRegistry,
    at_ms: int,
) -> Outcome[Query]:
    """Build the query of a signal, with its budget, and notes on how it was read."""
    scope = projects.visible(
        project,
        paths=(*state.recent_files, *files),
        agent=state.agent,
        session=str(state.key) if state.key.session_id else "",
        share_preferences=settings.project.share_preferences,
        links=settings.project.link,
        lent=settings.project.lent,
    )
    outcome = build_query(
        signal,
        surface=surface,
        state=state,
        scope=scope,
        budgets=settings.recall.budgets,
        at_ms=at_ms,
        files=files,
        follow_ups=preset_of(settings.preset).follow_ups,
    )
    query = replace(outcome.kept, branches=projects.branches.view(project, bound=settings.capture.branches))
    return replace(
        outcome, kept=adjust_query_budget(query, signal, state, settings.recall, preset_of(settings.preset))
    )


def _reaches_model(
    signal: Signal, surface: Surface, capabilities: HostCapabilities, *, may_refuse: bool
) -> bool:
    """Whether an answer to `signal` can reach the model, as text or as the reason of a refusal."""
    if signal.takes_no_text:
        return may_refuse and isinstance(signal, ToolStarting)
    return surface not in (Surface.ACTION, Surface.PROMPT) or capabilities.arrives(surface) != "never"


def _was_late(trace: Trace) -> bool:
    """Whether nothing was given because time ran out, for the whole search or a part of it."""
    losses = (loss.cause for stage in trace.stages for loss in stage.losses)
    return trace.cause is SilenceCause.LATE or (trace.silent and "late" in losses)


def _too_late(delivery: SignalAnswer) -> SignalAnswer:
    """Return the delivery as the host did not wait for it: without a block, and the trace says late."""
    trace = delivery.trace
    if trace is not None:
        why = SilenceReason(cause=SilenceCause.LATE, detail="not_taken")
        trace = replace(trace, injected=(), block="", tokens=0, why=why)
    return SignalAnswer(block=Block(surface=delivery.block.surface), trace=trace, failure=delivery.failure)


def _may_be_refreshed(surface: Surface, capabilities: HostCapabilities) -> bool:
    """Whether a block of `surface` may stand in the system prompt and be renewed.

    Where a host keeps what it is given, only the sections come this way: a refreshed part would pile up in history.
    """
    return surface in _SYSTEM_SURFACES and (capabilities.system_prompt or surface is not Surface.PROMPT)


def _silent() -> SignalAnswer:
    return SignalAnswer(block=Block(surface=Surface.PROMPT))


def _deferred(
    signal: Signal,
    delivery: SignalAnswer,
    state: SessionState,
    *,
    before: SessionState,
    carries: bool,
    holds: Callable[[str], bool],
) -> tuple[SignalAnswer, SessionState]:
    """Keep a block for an event that takes text, or send those that waited; return delivery and record. A refusal never waits.

    `carries` = whether the reply can hand over text. If so, the waiting blocks go before the block of the delivery; else that block waits.
    If all together are too long for the host (`holds`), the block of the delivery is dropped, and the record stays as `before`: the same
    memories come with a later signal.
    """
    block = delivery.block
    handed_over = isinstance(signal, SessionStarted) and signal.answered
    if block.refuses or (carries and state.muted):
        return delivery, state
    texts = state.waiting if block.empty or handed_over else (*state.waiting, block.text)
    if state.waiting and len(texts) > len(state.waiting) and not holds("\n".join(texts)):
        delivery, state, texts = _silent(), before, state.waiting
    if carries:
        text = "\n".join(texts)
        return replace(delivery, block=replace(delivery.block, text=text)), replace(state, waiting=())
    return replace(delivery, block=Block(surface=block.surface)), replace(state, waiting=texts)


def _pinned_held(
    state: SessionState, surface: Surface, capabilities: HostCapabilities, settings: Settings
) -> Callable[[Memory], DropReason | None]:
    """Return a function that says why a pinned memory need not come again, or None: where every block stays, it is in context until it changes."""
    if not capabilities.stored and settings.recall.history_blocks is not None:
        return lambda _memory: None
    return lambda memory: ledger.why_in_context(state, memory, surface=surface, reinject_after=0)


def _bounded(
    signal: PromptSubmitted, delivery: SignalAnswer, state: SessionState, settings: Settings
) -> tuple[SignalAnswer, SessionState]:
    """Return the delivery with the blocks that stay in the history, and the record; a prompt that got nothing counts as a turn, too."""
    if ledger.kept_block(state, signal.message_id) is None:
        state = ledger.keep_block(state, message_id=signal.message_id, text="")
    stays = ledger.staying_blocks(state, most=settings.recall.history_blocks)
    return replace(delivery, block=replace(delivery.block, history=stays)), state


def of_its_agent(signal: Signal) -> Signal:
    """Return the signal of a subagent in the same host session with a session key of its own, because it has a context of its own."""
    own = signal.session.session_id
    if not signal.agent_id or signal.agent_id == own:
        return signal
    key = SessionKey(host=signal.session.host, session_id=f"{own}{AGENT_MARK}{signal.agent_id}")
    return replace(signal, session=key, parent=signal.session)


def _message_id(signal: Signal) -> str:
    """Return the name under which the text for `signal` is kept for replay; "" = it is not kept."""
    match signal:
        case SessionStarted() | SubagentStarted():
            return ledger.START_MESSAGE
        case PromptSubmitted():
            return signal.message_id
        case ToolFinished() | ToolFailed():
            return f"call:{signal.call.call_id}" if signal.call.call_id else ""
        case _:
            return ""


def _kept_under(signal: Signal, capabilities: HostCapabilities) -> str:
    """Return the name under which the answer's text is kept on this host; "" = the host never asks for it again."""
    if not capabilities.stored:
        return _message_id(signal)
    # With the session: a fork begins with its parent's blocks.
    return f"{ledger.KEY_PREFIX}{signal.session}:{signal.key}" if capabilities.answers_again else ""


def _asks_again(signal: Signal, state: SessionState, capabilities: HostCapabilities) -> bool:
    """Whether a repeated signal must be answered anew, because its first answer came too late or cannot be replayed."""
    if signal.key == state.late_key:
        return True
    starts = isinstance(signal, SessionStarted | SubagentStarted) and not capabilities.stored
    asks = starts or capabilities.answers_again
    return asks and ledger.kept_block(state, _kept_under(signal, capabilities)) is None


def _again(
    signal: Signal, state: SessionState, capabilities: HostCapabilities, settings: Settings
) -> SignalAnswer:
    """Return the answer to a repeated signal: the same text if it was kept, else an empty block."""
    name = _kept_under(signal, capabilities)
    text = ledger.kept_block(state, name) if name else None
    surface = surface_for(signal, state, settings.recall, preset_of(settings.preset))
    shown_at = Surface.PROMPT if isinstance(surface, SilenceReason) else surface
    return SignalAnswer(block=Block(surface=shown_at, text=text or ""))


def loaded_rule_files(root: str, cwd: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rule files that a host working in `cwd` loads: `names` in every folder from `cwd` up to `root`, relative to `root`."""
    top = Path(root)
    folder = Path(cwd)
    rule_files: list[str] = []
    while True:
        rule_files += [
            (folder / name).relative_to(top).as_posix()
            for name in names
            if folder.is_relative_to(top) and (folder / name).is_file()
        ]
        if folder in (top, folder.parent):
            break
        folder = folder.parent
    return tuple(sorted(rule_files))
