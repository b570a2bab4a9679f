"""The public facade: everything that the daemon, the command line, the API and MCP ask of Tacit.

In: signals, statements, questions. Out: deliveries, changes, memories. Settings are read through a watcher, so that most
changes of a file take effect without a restart. Synchronous; safe to use from several threads.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.app.asking import Anticipation, NamingAccess, PromptJudge, prompt_ms
from tacit.app.delivery_texts import Nudges, use_counts
from tacit.app.learning import Learning
from tacit.app.maintenance.lazy_writing import LazyWriting
from tacit.app.prerender import HookDeadline, StartBlocks
from tacit.app.projects import ProjectRegistry
from tacit.app.queries.agent_tools import AgentTools
from tacit.app.queries.items import Items
from tacit.app.queries.session_answers import ContextAnswer, memories_of
from tacit.app.sessions import LiveSessions
from tacit.app.signals import SignalHandler, of_its_agent, query_of
from tacit.app.stats import status_of
from tacit.app.values import (
    Caller,
    EngineStatus,
    OpenStore,
    Parts,
    RecallAsked,
    Recalled,
    SignalAnswer,
    SignalResult,
)
from tacit.app.visibility import Visibility
from tacit.config.home import Home
from tacit.config.settings import Notes, Settings
from tacit.errors import EmbedderMismatch, InvalidInput, NotFound, RefusedByTrust
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Change
from tacit.model.ids import new_id
from tacit.model.memory import AGENT_SOURCES, BY_AGENT, BY_TOOL, Memory, Sensitivity, Speaker, TrustTier
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Block, Surface
from tacit.model.query import NO_BRANCH, Query
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import PromptSubmitted, SessionStarted, Signal, ToolStarting
from tacit.model.trace import AskedWith, DropCause, DropReason, Trace
from tacit.model.trigger import Trigger
from tacit.model.why_not import WhyNot
from tacit.ports.host import (
    DeferringHost,
    Host,
    HostCapabilities,
    OutcomeHost,
    ReplayingHost,
    TranscriptHost,
)
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.presets import preset_of
from tacit.reading.terms import find_entities
from tacit.reading.when import parse_when
from tacit.recall.finished import Replayed, replay
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import budget_for
from tacit.recall.render import renderer
from tacit.recall.spaces import token_matches_of
from tacit.recall.stage import Context, Outcome, StageLog, Tools
from tacit.session.transcripts import Compactions, outcome_of
from tacit.session.transitions import SURFACES, signal_and_state
from tacit.text.lazy_regex import compile_all

if TYPE_CHECKING:  # see `LazyWriting`
    from tacit.app.admin.admin import Admin
    from tacit.app.maintenance.maintenance import Maintenance
    from tacit.app.maintenance.review import Review
    from tacit.app.memories import Memories
    from tacit.app.sharing.shared_teams import SharedTeams
    from tacit.app.sharing.syncing import Syncing
    from tacit.app.sharing.team import Team
    from tacit.app.transfer.transfer import Transfer
    from tacit.app.tuning import TuneReport
    from tacit.capture.bootstrap.project_import import RulesImport
    from tacit.capture.pipeline import CapturePipeline
    from tacit.hosts.transcripts.sessions import TranscriptInfo

_LOG = logging.getLogger(__name__)
RECALL_THREADS = 4
REPLAY_MS = 2_000.0
"""Milliseconds that an event which a hook kept may take; nobody waits for its answer."""


@frozen
class _OptionalPorts:
    """The optional ports that a host satisfies; None = it does not."""

    replaying: ReplayingHost | None
    deferring: DeferringHost | None
    transcript: TranscriptHost | None
    outcome: OutcomeHost | None


def _optional_ports(host: Host) -> _OptionalPorts:
    """Check which optional ports `host` satisfies. The check takes longer than the rest of most hooks, so it is done once for each host."""
    return _OptionalPorts(
        replaying=host if isinstance(host, ReplayingHost) else None,
        deferring=host if isinstance(host, DeferringHost) else None,
        transcript=host if isinstance(host, TranscriptHost) else None,
        outcome=host if isinstance(host, OutcomeHost) else None,
    )


class Engine:
    """One open Tacit. Build it with `tacit.app.wiring.open_engine`; close it when done."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self.store, self.clock = parts, parts.store, parts.clock
        self._executor = ThreadPoolExecutor(max_workers=RECALL_THREADS, thread_name_prefix="tacit-recall")
        projects = self._projects = ProjectRegistry(store=parts.store, clock=parts.clock)
        self.live = LiveSessions(store=parts.store, clean=parts.redactor.of_session, on_error=_log_failure)
        tools = Tools(
            store=parts.store,
            embedder=parts.embedder,
            executor=self._executor if parts.remote_embedder else None,
            reranker=parts.reranker,
        )
        self._pipeline = RecallPipeline(tools, tokens=parts.tokens, kinds=parts.kinds)
        self._starts = StartBlocks(home=parts.home, hosts=parts.hosts, clock=parts.clock)
        opened = self._opened = OpenStore(
            parts=parts, projects=projects, sessions=self.live, settle=self.flush, changed=self._starts.drop
        )
        self._writing = LazyWriting(opened)
        self.working = self._writing.working
        self.nudges = Nudges(parts)
        self.agents = AgentTools(
            opened, pipeline=self._pipeline, nudges=self.nudges, settings_at=self.settings_at
        )
        self.learning = Learning(opened, writing=self._writing)
        self.holdout = self.learning.holdout
        naming = NamingAccess(parts, projects)
        self.anticipation = Anticipation(parts, access=naming, sessions=self.live)
        self._judge = PromptJudge(parts, access=naming)
        self._signals = SignalHandler(
            opened, pipeline=self._pipeline, nudges=self.nudges, judge=self._judge, after=self._after
        )
        self.items = Items(self, parts, refuse_incognito=lambda: self._refuse_incognito(""))
        self._optional_ports: dict[str, _OptionalPorts] = {}
        self._compactions = Compactions()
        self._hook_deadline = HookDeadline(parts.home)

    @property
    def maintenance(self) -> Maintenance:
        """Upkeep of the store: rescans, backups, vectors, jobs."""
        return self._writing().maintenance

    @property
    def memories(self) -> Memories:
        """Stores, changes and retires memories; does not check who asks."""
        return self._writing().memories

    @property
    def capture(self) -> CapturePipeline:
        """The write path: learns from prompts and transcripts."""
        return self._writing().capture

    @property
    def review(self) -> Review:
        """The review queue and undo."""
        return self._writing().review

    @property
    def transfer(self) -> Transfer:
        """Export and import."""
        return self._writing().transfer

    @property
    def sync(self) -> Syncing:
        """The sync with the person's other devices."""
        return self._writing().syncing

    def start_sync(self) -> None:
        """Start the background sync if this home is logged in (`sync.db` exists), else do nothing."""
        if self._syncs:
            self.sync.start()

    @property
    def _syncs(self) -> bool:
        return (self._parts.home.root / "sync.db").exists()

    @property
    def team(self) -> Team:
        """Team files: memories shared through the git repository."""
        return self._writing().team

    @property
    def shared_teams(self) -> SharedTeams:
        """Share requests and teams on a server."""
        return self._writing().shared_teams

    @property
    def admin(self) -> Admin:
        """The owner's lists, charts, edits and settings; sees everything in the store."""
        return self._writing().admin

    @property
    def home(self) -> Home:
        """The home: the folder of the data."""
        return self._parts.home

    @property
    def settings(self) -> Settings:
        """The user's settings that hold now (no project layer)."""
        return self._parts.settings.current()

    # --- the host path -------------------------------------------------------------------------------------------

    def hook(
        self,
        host: str,
        payload: Mapping[str, object],
        *,
        deadline_ms: float,
        hand_over: Callable[[str], bool] | None = None,
        at_ms: int | None = None,
        start_given: bool = False,
        project_dir: str = "",
    ) -> str:
        """Handle one host event and return the exact reply text for that host; "" = silence.

        Args:
            host: name of the host.
            payload: the event's fields, as the host sent them.
            deadline_ms: milliseconds until the host stops waiting.
            hand_over: sends a reply that holds a block and returns whether it reached the host; False = the block does not count as
                given. It is not called for a reply without a block. None = the caller delivers the reply, and its block counts as given.
            at_ms: when the event happened; None = now.
            start_given: whether the session that starts with this event has its start block already.
            project_dir: the folder in which the host was started, where the hook was told; "" = it was not.

        Raises:
            NotFound: if there is no adapter called `host`.
            InvalidPayload: naming the field that is missing or wrong.
        """
        adapter = self._host(host)
        ports = self._optional_ports.get(host) or self._optional_ports.setdefault(
            host, _optional_ports(adapter)
        )
        if ports.replaying and (request := ports.replaying.parse_replay(payload)) is not None:
            return ports.replaying.encode_replay(self._signals.replay(request, settings_of=self._settings_of))
        signal = adapter.parse(payload, at_ms=self._parts.clock.now_ms() if at_ms is None else at_ms)
        if signal is None:
            return ""
        if isinstance(signal, ToolStarting) and signal.call.writes:
            # No rule governs such a call, and nothing is learned from it: it only tells the session that it comes from.
            caller = of_its_agent(signal) if signal.call.fetches else signal
            self.live.announce(caller.session, signal.call.writes, at_ms=signal.at_ms)
            return ""
        signal = outcome_of(signal, ports.outcome) if ports.outcome else signal
        signal = replace(signal, project_dir=project_dir) if project_dir else signal
        if isinstance(signal, SessionStarted):
            signal = replace(signal, answered=start_given)
            self._hook_deadline.tell(prompt_ms(self.settings_at(signal.cwd, signal.agent).recall))
        capabilities = adapter.capabilities
        ends = self._parts.clock.monotonic_ms() + deadline_ms
        compaction = self._compactions.before(signal, ports.transcript) if ports.transcript else None
        if compaction is not None:
            self.handle(compaction, capabilities=capabilities, deadline_ms=deadline_ms / 2, carries=False)

        def encoded(delivery: SignalAnswer) -> str:
            return adapter.encode(payload, delivery.block, notice=delivery.notice)

        return encoded(
            self.handle(
                signal,
                capabilities=capabilities,
                deadline_ms=ends - self._parts.clock.monotonic_ms(),
                carries=ports.deferring.reply_takes_text(payload) if ports.deferring else None,
                hand_over=(lambda delivery: hand_over(encoded(delivery))) if hand_over else None,
            )
        )

    def take_kept(
        self, host: str, payload: Mapping[str, object], *, at_ms: int | None, given: bool, project_dir: str
    ) -> None:
        """Handle an event that a hook kept while no daemon answered; its reply goes to nobody. Raises as `hook`.

        `given` = the hook gave the host a block by itself, so what this event recalls counts as given, and so does a start block.
        """
        self.hook(
            host,
            payload,
            deadline_ms=REPLAY_MS,
            hand_over=lambda _: given,
            at_ms=at_ms,
            start_given=given,
            project_dir=project_dir,
        )

    def handle(
        self,
        signal: Signal,
        *,
        capabilities: HostCapabilities,
        deadline_ms: float,
        adjust: Callable[[Settings], Settings] | None = None,
        carries: bool | None = None,
        hand_over: Callable[[SignalAnswer], bool] | None = None,
    ) -> SignalAnswer:
        """Handle one signal: update its session, recall, hand the block over and record it as given. `adjust` changes settings for it alone.

        `carries` = whether the reply can hand text to the model; None = the host takes text with every event. `hand_over` sends
        a delivery with a block and returns whether it was taken, or else the answer comes without the block and the session stays as it
        was; None = it counts as taken. `deadline_ms` = milliseconds from now, unless the settings allow less.
        """
        settings = self.settings_at(self._signals.folder_of(signal), signal.agent)
        settings = adjust(settings) if adjust else settings
        waits = isinstance(signal, PromptSubmitted)
        own_ms = prompt_ms(settings.recall) if waits else settings.recall.deadline_ms
        budget_ms = min(deadline_ms, own_ms)
        if deadline_ms < settings.recall.deadline_ms:
            # What a recall says of its deadline is the one that it had.
            recall = settings.recall.model_copy(update={"deadline_ms": max(0, round(deadline_ms))})
            settings = settings.model_copy(update={"recall": recall})
        return self._signals.handle(
            signal,
            capabilities=capabilities,
            settings=settings,
            deadline_ms=budget_ms,
            carries=carries,
            hand_over=hand_over,
        )

    def _after(self, signal: Signal, handled: SignalResult) -> None:
        """Start the background work that follows the answer to `signal`: learning and anticipation."""
        self.learning.after(signal, handled)
        self.anticipation.after(signal, handled)

    def _host(self, name: str) -> Host:
        host = self._parts.hosts.get(name)
        if host is None:
            host_names = ", ".join(sorted(self._parts.hosts))
            hint = f"Known hosts: {host_names}. An agent of your own is `plain`."
            raise NotFound(f"No host is called {name!r}.", hint=hint)
        return host

    def _settings_of(self, state: SessionState) -> Settings:
        return self.settings_at(state.folder, state.agent)

    def facts_in(self, statement: str, cwd: str) -> tuple[str, ...]:
        """Split `statement` into the statements that are stored for it: one each fact under a preset that splits, else itself alone.

        A text with a secret is never split, so that it is refused as a whole.
        """
        settings = self.settings_at(cwd)
        holds_secret = self._parts.redactor.cleaner(settings)(statement) != statement
        return (statement,) if holds_secret else preset_of(settings.preset).facts(statement)

    def settings_at(self, cwd: str, agent: str = "") -> Settings:
        """Return the settings that hold now in a folder's project ("" = in none), for an agent of this name ("" = any)."""
        project = self._projects.of(cwd)
        return self._parts.settings.current(project.root if project else None, agent=agent)

    # --- asking --------------------------------------------------------------------------------------------------

    def recall(
        self,
        text: str,
        *,
        cwd: str = "",
        surface: Surface = Surface.ON_DEMAND,
        budget_tokens: int | None = None,
        kinds: Sequence[str] = (),
        most: int | None = None,
        as_of_ms: int | None = None,
        store_trace: bool = True,
        adjust: Callable[[Settings], Settings] | None = None,
        given: AskedWith | None = None,
        session: SessionKey | None = None,
        agent: str = "",
        held: Sequence[str] = (),
        speaker: Speaker = Speaker.USER,
        ahead: HostCapabilities | None = None,
        settles_for: str | None = "",
    ) -> Recalled:
        """Recall memories for a question as `surface` would; return the pack, its block and the trace.

        Args:
            text: the words.
            cwd: folder whose project is asked; "" = the universal scope only.
            surface: which gate and budget apply.
            budget_tokens: most tokens of the answer; None = the surface's own.
            kinds: only memories of these kinds; () = of any.
            most: most memories; None = as many as fit.
            as_of_ms: answer with what was known and held at that moment.
            store_trace: keep the trace for `why`.
            adjust: changes the settings for this question alone.
            given: the situation that a prompt, call, failure or task is asked in.
            session: the session that it is asked for; where nothing is given, its situation is taken. Its own memories are seen, and
                what is restricted is not: it would stand in a conversation.
            agent: name of the agent that it is asked for; its own memories are seen, and its settings hold.
            held: ids of memories that the context holds already.
            speaker: who asks; only the user is shown what is restricted, or what was stated for a session alone.
            ahead: the answer is for a later moment on a host with these capabilities, when another branch may be checked out; it is within the
                caps of the host and holds nothing that is bound to a branch.
            settles_for: the host whose agent reads the block and may settle which of two memories holds; None = an agent that called a
                tool of ours, "" = nobody.

        Raises:
            UnknownKind: naming what is wrong in `kinds`.
        """
        log = StageLog()
        settings = self.settings_at(cwd, agent)
        settings = adjust(settings) if adjust else settings
        log.note("signal", facts=(Note(cause=NoteCause.SURFACE, detail=surface.value),))
        at_ms = as_of_ms if as_of_ms is not None else self._parts.clock.now_ms()
        project = self._projects.of(cwd) if cwd else None
        if surface in SURFACES:
            given = given or self.situation_of(session) or AskedWith()
            outcome = self.signal_query(
                text, given, surface=surface, session=session, cwd=cwd, at_ms=at_ms, settings=settings, agent=agent
            )  # fmt: skip
            query, facts = outcome.kept, outcome.facts
            if budget_tokens is not None:
                query = replace(query, budget_tokens=budget_tokens, own_budget=False)
        else:
            query = self.question_query(
                text, surface=surface, cwd=cwd, at_ms=at_ms, settings=settings, budget_tokens=budget_tokens, agent=agent, session=session, ahead=ahead is not None,
            )  # fmt: skip
            query = replace(query, by_user=speaker is Speaker.USER and session is None)
            facts = query.situation.notes
        only = tuple(self._parts.kinds.get(kind).name for kind in kinds)
        query = replace(query, kinds=only or query.kinds, most=most)
        preset = preset_of(settings.preset)
        clean, held_ids = self._parts.redactor.cleaner(settings), set(held)
        context = Context(
            root=project.root if project else "",
            render=renderer(self._parts.kinds, clean, preset.layout.at(surface)),
            facts=facts,
            in_context=lambda memory: (
                DropReason(cause=DropCause.IN_CONTEXT) if memory.id in held_ids else None
            ),
            log=log,
            usage=use_counts(self.store),
            cap_chars=ahead.cap_chars if ahead else 0,
            fits=ahead.holds if ahead else lambda _text: True,
            settles=None if settles_for == "" else self.nudges.settling_test(settings.recall, settles_for),
        )
        trace_id = new_id("trc", now_ms=self._parts.clock.now_ms(), entropy=self._parts.clock.entropy(5))
        pipeline = self._pipeline if as_of_ms is None else self._writing().as_of(query, as_of_ms)
        delivered, trace = pipeline.run(
            query, preset=preset, settings=settings.recall, context=context, trace_id=trace_id
        )
        if surface in SURFACES and given is not None:
            trace = replace(trace, asked=replace(given, text=text[:4000]))
        if store_trace and not settings.privacy.incognito:
            self.live.keep_trace(trace, self.store, clean=clean, project_id=project.id if project else "")
        (visible_trace,) = self.visibility(speaker).traces([trace])
        return Recalled(pack=delivered.pack, block=delivered.block, trace=visible_trace)

    def situation_of(self, session: SessionKey | None) -> AskedWith | None:
        """Return what a session's next prompt would be asked with; None if the session is None or unknown."""
        state = self.live.load(session) if session else None
        if state is None:
            return None
        return AskedWith(
            previous=state.last_message_end,
            prompts=state.recent_prompts,
            tools=state.recent_tools,
            files=state.recent_files,
            turn=state.turn + 1,
        )

    def signal_query(
        self,
        text: str,
        inputs: AskedWith,
        *,
        surface: Surface,
        session: SessionKey | None,
        cwd: str,
        at_ms: int,
        settings: Settings,
        agent: str = "",
    ) -> Outcome[Query]:
        """Build the query that a signal on `surface` (one of `SURFACES`) would ask in the situation `inputs`; `text` "" = its own."""
        inputs = replace(inputs, text=text or inputs.text)
        signal, state = signal_and_state(surface, inputs, session=session, cwd=cwd, at_ms=at_ms)
        state = replace(state, agent=agent)
        project = self._projects.of(cwd) if cwd else None
        files = self._projects.relative(inputs.paths, project, cwd)
        return query_of(
            signal,
            state,
            surface=surface,
            settings=settings,
            project=project,
            files=files,
            projects=self._projects,
            at_ms=at_ms,
        )

    def question_query(
        self,
        text: str,
        *,
        surface: Surface,
        cwd: str,
        at_ms: int,
        settings: Settings,
        budget_tokens: int | None,
        agent: str = "",
        session: SessionKey | None = None,
        ahead: bool = False,
    ) -> Query:
        """Build the query of a question by hand or of a start pack, as the user asks it; `ahead` = for a later moment, so without memories bound to a branch."""
        branches = self._projects.branches.view(self._projects.of(cwd), bound=settings.capture.branches)
        situation = self._pipeline.read_question(text, settings.recall, preset_of(settings.preset))
        budget = budget_for(settings.recall.budgets, surface) if budget_tokens is None else budget_tokens
        return Query(
            surface=surface,
            text=text[:4000],
            raw_text=text[:4000],
            situation=situation,
            scope=self.visible(cwd, agent=agent, session=session),
            session=str(session) if session else "",
            at_ms=at_ms,
            budget_tokens=budget,
            own_budget=budget_tokens is None,
            entities=find_entities(text[:4000]),
            by_user=True,
            branches=NO_BRANCH if ahead and branches is not None else branches,
        )

    def context(self, cwd: str) -> Block:
        """Return the block of the start pack that a session in `cwd` would get now."""
        return self.recall("", cwd=cwd, surface=Surface.START, store_trace=False).block

    def context_answer(self, cwd: str) -> ContextAnswer:
        """Return the start pack of `cwd` for an agent that calls a tool: the block, each line ending with its memory's id, and the memories.

        Where one session is at work in `cwd`, records that it was shown the pairs in the pack that may not both hold.
        """
        recalled = self.recall("", cwd=cwd, surface=Surface.START, store_trace=False, settles_for=None)
        if (session := self.agents.queries.only_session(cwd)) is not None:
            self.nudges.record_shown_pairs(recalled.pack, session)
        settings = self.settings_at(cwd)
        clean = self._parts.redactor.cleaner(settings)
        layout = preset_of(settings.preset).layout.at(Surface.START)
        render = renderer(self._parts.kinds, clean, layout, with_ids=True)
        block = replace(recalled.block, text=render(recalled.pack))
        return ContextAnswer(block=block, memories=memories_of(recalled.pack, clean))

    def visible(
        self,
        cwd: str,
        *,
        paths: Sequence[str] = (),
        agent: str = "",
        session: SessionKey | None = None,
    ) -> ScopeFilter:
        """Return the scopes visible from `cwd` ("" = the universal ones) while working on `paths`, for an agent of this name, in this session."""
        project = self._projects.of(cwd)
        settings = self.settings_at(cwd)
        return self._projects.visible(
            project,
            paths=self._projects.relative(tuple(paths), project, cwd),
            agent=agent,
            session=str(session) if session else "",
            share_preferences=settings.project.share_preferences,
            links=settings.project.link,
            lent=settings.project.lent,
        )

    def why(
        self,
        *,
        session: str | None = None,
        surface: Surface | None = None,
        limit: int = 10,
        speaker: Speaker = Speaker.USER,
    ) -> tuple[Trace, ...]:
        """Return the newest traces of all sessions or of one (`host/id`): what was injected, what was not, and why; without what `speaker` may not see."""
        from tacit.app.admin.recalls import with_memory_contents  # noqa: PLC0415 - the owner asks for traces, no hook does

        self.live.flush()
        traces = with_memory_contents(
            self.store, self.store.list_traces(session=session, surface=surface, limit=limit)
        )
        return self.visibility(speaker).traces(traces)

    def why_not(self, id_or_prefix: str, asked: RecallAsked, *, speaker: Speaker = Speaker.USER) -> WhyNot:
        """Explain why a recall does not give a memory: the stage that leaves it out, numbers, and what would let it through.

        Raises:
            NotFound: if the memory, or the recorded recall, is not known, or `speaker` may not see the memory.
        """
        from tacit.app.queries.why_not import WhyNotExplorer  # noqa: PLC0415 - no hook asks this

        self.live.flush()
        explorer = WhyNotExplorer(self, self._opened, pipeline=self._pipeline)
        memory = self.show(id_or_prefix, speaker=speaker)
        return self.visibility(speaker).why_not(
            explorer.explain(memory, asked, by_user=speaker is Speaker.USER)
        )

    def visibility(self, speaker: Speaker) -> Visibility:
        """Return the view of the store's records that `speaker` may read."""
        return Visibility(self.store, speaker=speaker)

    def replayed(self, traces: Sequence[Trace], *, threshold: float) -> tuple[Replayed, ...]:
        """Decide each of the recorded `traces` again at the gate, with `threshold`; nothing is stored.

        Each result holds what was handed over then, and what would be now.
        """
        return tuple(
            replay(trace, threshold=threshold, most=self.settings.recall.max_items) for trace in traces
        )

    def tune(self, *, bound: float, apply: bool = False) -> TuneReport:
        """Fit the levels for prompts to this store, without labels, and return the report; `apply` writes them to the home."""
        from tacit.app.tuning import tune  # noqa: PLC0415 - no hook asks this

        self.live.flush()
        return tune(self._parts, self._pipeline, bound=bound, apply=apply)

    # --- memories ------------------------------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        kind: str | None = None,
        scope: Scope | None = None,
        when: str | Sequence[str] | Trigger | None = None,
        cwd: str = "",
        speaker: Speaker = Speaker.USER,
        source: str = "library",
        session: SessionKey | None = None,
        pinned: bool = False,
        files: Sequence[str] = (),
        user_words: str = "",
        sensitivity: Sensitivity | None = None,
        replaces: Sequence[str] = (),
        all_branches: bool = False,
        headline: str = "",
    ) -> tuple[Change, ...]:
        """Store one statement and return the changes made.

        Args:
            content: the statement; secrets are taken out first.
            kind: name of a kind; None = guessed from the words.
            scope: who may see it; None = the project around `cwd`, else universal.
            when: when it applies (`always`, `commit, path:src/**`, free words), or a list of such words and of phrases, any of which
                is enough; None = read from the statement.
            cwd: folder whose project it belongs to.
            speaker: who states it, as the entry point knows it: the user's word is of the tier `user`, an agent's waits as `import`.
            source: where it came from, in one word.
            session: the session it was said in.
            pinned: packed first where a preset pins.
            files: paths it speaks of.
            user_words: what the user said, verbatim, when an agent states it: where a prompt of its session holds them as the user's own
                statement, it is stored as the user's, for this project only; see `user_words.note_of`.
            sensitivity: where it may appear; None = `project`. `session` without `session` = the one at work in `cwd`.
            replaces: ids of memories that it replaces: those of equal or lower trust end, of the others the user is asked.
            all_branches: whether it holds on all branches even if an unmerged one is checked out.
            headline: what an index shows of it, at most 60 characters; "" = made from the words. An agent's is kept only where it claims no
                more than the statement; see `user_words.fair_headline`.

        Raises:
            UnknownKind, InvalidInput: naming what is wrong.
            NotFound: if an id of `replaces` is none of a memory that the speaker may see.
            RefusedByRedaction: if only a secret was left.
            RefusedByTrust: if an agent states something where nothing is noted; see `refuse_note`.
        """
        tier = TrustTier.USER
        if speaker is Speaker.AGENT:
            self.refuse_note(cwd, session)
            tier, pinned = TrustTier.IMPORT, False
            source = source if source in AGENT_SOURCES else BY_AGENT
        if sensitivity is Sensitivity.SESSION and session is None:
            session = self.agents.queries.only_session(cwd)
        replaced = self._replaced_memories(replaces, cwd, speaker)
        ends: tuple[str, ...] = ()
        reason: ChangeReason | None = None
        settled: tuple[Change, ...] = ()
        if speaker is Speaker.AGENT:
            from tacit.app.user_words import fair_headline, note_of  # noqa: PLC0415 - loads the write side

            at_work = session or self.agents.queries.only_session(cwd)
            session = at_work if source == BY_TOOL else session
            prompts = self.live.typed(at_work) if at_work else ()
            # Only an agent in a session of a project has notes of its own; what any other program states waits.
            own = source == BY_TOOL and self._projects.of(cwd) is not None
            caller = Caller(cwd=cwd, session=at_work)
            holds = self.agents.find_on_record(caller, content, replaced)
            if holds is not None:
                content = holds.content
                replaced = [old for old in replaced if old.id != holds.id]
            known = (*(old.content for old in replaced), *((content,) if holds else ()))
            noted = note_of(content, user_words, prompts, replaced=replaced, known=known, own_notes=own)
            review = self._noting_at(cwd) == "review"
            if replaced and own and not review and noted.waits_for_names:
                holds = self.agents.find_repeated(caller, content, replaced)
                if holds is not None:
                    # The note waits, but which of two statements on record holds is settled: nothing new is believed.
                    settled = self.remember(
                        holds.id, cwd=cwd, speaker=speaker, source=source, session=session, user_words=user_words,
                        replaces=[old.id for old in replaced],
                    )  # fmt: skip
                    replaced = []
            headline = fair_headline(headline or content, noted.content, prompts)
            content, tier, reason, ends = noted.content, noted.tier, noted.reason, noted.ends
            if review:
                tier, ends = TrustTier.IMPORT, ()
                reason = ChangeReason(cause=ChangeCause.QUOTED, terms=("review",))
            if self._projects.of(cwd) is not None and not (noted.everywhere and scope == UNIVERSAL):
                # A quotation and a note speak for the project of their session.
                scope = project_scope(self.project(cwd).id)
            when = parse_when(when, maker="agent") if when and not isinstance(when, Trigger) else when
        changes = self.memories.remember(
            content,
            kind=kind,
            scope=scope,
            when=when,
            cwd=cwd,
            tier=tier,
            source=source,
            session=session,
            pinned=pinned,
            files=files,
            sensitivity=sensitivity,
            replaces=replaced,
            spoken_of=ends,
            all_branches=all_branches,
            told=reason,
            headline=headline,
        )
        state = self.live.load(session) if session is not None and source == BY_TOOL else None
        if state is not None:
            self.live.note_turn(state.key, noted_turn=state.turn)
        return (*changes, *settled)

    def _replaced_memories(self, names: Sequence[str], cwd: str, speaker: Speaker) -> list[Memory]:
        """Return the memories that a statement replaces, if the speaker may see them."""
        caller = Caller(cwd=cwd)
        return [
            self.agents.named(caller, name) if speaker is Speaker.AGENT else self.show(name) for name in names
        ]

    def refuse_note(self, cwd: str, session: SessionKey | None = None) -> None:
        """Raise if an agent may not store notes here now. Without `session`, any session at work in `cwd` may forbid it.

        Raises:
            RefusedByTrust: if `capture.notes` is off, incognito is on, or the session is muted or began incognito.
        """
        self._refuse_incognito(cwd)
        for state in self.agents.queries.possible_callers(cwd, session):
            if state.incognito or state.muted:
                hint = (
                    "Only the user's own commands can store now."
                    if state.incognito
                    else "`tacit sessions --unmute` ends that."
                )
                what = "this session is incognito" if state.incognito else "the user muted this session"
                raise RefusedByTrust(f"Nothing is noted: {what}.", hint=hint)
        if self._noting_at(cwd) == "off":
            raise RefusedByTrust(
                "Nothing is noted here: capture.notes is off.",
                hint="The user can turn it on with `tacit config set capture.notes on`.",
            )

    def _noting_at(self, cwd: str) -> Notes:
        return self.settings_at(cwd).capture.notes

    def _refuse_incognito(self, cwd: str) -> None:
        """Raise if an agent may store nothing in `cwd`, because incognito is on or the settings cannot be read.

        Raises:
            RefusedByTrust: if incognito is on.
        """
        project = self._projects.of(cwd)
        report = self._parts.settings.report(project.root if project else None)
        if not report.settings.privacy.incognito:
            return
        if report.explain("privacy.incognito")[-1].layer == "safety":
            error = next(warning.error for warning in report.warnings if not warning.note)
            raise RefusedByTrust(
                "Nothing is stored while the settings cannot be read: they may forbid it.",
                hint=f"{error.message} {error.hint}".strip(),
            )
        raise RefusedByTrust(
            "Nothing is stored here: privacy.incognito is on.",
            hint="Only the user's own commands can store now.",
        )

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[Memory, ...]:
        """List memories, newest first; `scope` None = everything in the store (the owner's tools).

        Raises:
            UnknownKind: if nothing is found because a kind asked for does not exist.
        """
        scope = scope or self.store.scopes()
        memories = self.store.list_memories(where, scope=scope, limit=limit, offset=offset)
        if not memories:  # a memory may outlive the kind that someone took out of the configuration
            for kind in where.kinds or ():
                self._parts.kinds.get(kind)
        return memories

    def show(self, id_or_prefix: str, *, speaker: Speaker = Speaker.USER) -> Memory:
        """Return the one memory whose id is or begins with `id_or_prefix`.

        Raises:
            NotFound: if none or several match, or `speaker` may not see it.
        """
        levels = self.visibility(speaker).levels
        return self.store.resolve(id_or_prefix, scope=self.store.scopes(), sensitivities=levels)

    # --- projects and learning -----------------------------------------------------------------------------------

    def project(self, cwd: str) -> ProjectRecord:
        """Return the project around `cwd`; raise `InvalidInput` if no folder is given."""
        project = self._projects.of(cwd)
        if project is None:
            raise InvalidInput("No folder was given.", hint="Name the project's folder.")
        return project

    def scope_called(self, name: str, cwd: str) -> Scope:
        """Return the scope called `name`; `project` = that of the project around `cwd`.

        Raises:
            InvalidScope: if no scope has this name.
            InvalidInput: for `project` without a folder.
        """
        return project_scope(self.project(cwd).id) if name == ScopeKind.PROJECT else Scope.parse(name)

    def init_project(
        self, cwd: str, *, speaker: Speaker = Speaker.USER, dry_run: bool = False
    ) -> RulesImport:
        """Register the project around `cwd` and import its rule files; a second time, only what changed.

        Args:
            cwd: a folder of the project.
            speaker: the user confirms what the rule files hold; for anybody else it waits for the user.
            dry_run: only tell what the rule files would add.
        """
        confirmed = speaker is Speaker.USER
        return self.learning.import_rules(self.project(cwd), confirmed=confirmed, dry_run=dry_run)

    def transcripts(
        self, cwd: str = "", *, paths: Sequence[Path] = (), host: str = "", since_ms: int = 0
    ) -> tuple[TranscriptInfo, ...]:
        """Find past transcripts at `paths`, else of the project around `cwd`, else of all; see `Learning.transcripts`."""
        project = self.project(cwd) if cwd else None
        return self.learning.transcripts(project, paths=paths, host=host, since_ms=since_ms)

    # --- sessions ------------------------------------------------------------------------------------------------

    def sessions(self, *, limit: int = 20) -> tuple[SessionState, ...]:
        """Return the newest sessions, after the pending writes are in the store."""
        self.live.flush()
        return self.store.list_sessions(limit=limit)

    def prerender(self) -> int:
        """Write the start blocks of all folders seen lately, for sessions that start without a daemon; return how many."""
        return self._starts.write(
            self._projects.recent_folders(), self._start_block_ahead, wanted=self._starts_at
        )

    def _start_block_ahead(self, cwd: str, host: str) -> Block:
        """Return the start block to write ahead for `host` in `cwd`, for a session that starts while no daemon runs.

        It ends, as the block of a live session does, with the sentence that offers `memory_add`, where there is one.
        """
        settings = self.settings_at(cwd).recall
        line = self.nudges.start_line(host, settings)
        left = max(0, settings.budgets.start - self.nudges.cost(line))
        recalled = self.recall(
            "",
            cwd=cwd,
            surface=Surface.START,
            store_trace=False,
            adjust=lambda settings: _with_start_budget(settings, left),
            ahead=self._host(host).capabilities.with_room_for(line),
            settles_for=host,
        )
        return self.nudges.with_line(recalled.block, line)

    @property
    def starts_stale(self) -> bool:
        """Whether the prepared start blocks were removed, because memories, settings or projects changed: `prerender` has to be called again."""
        return self._starts.stale

    def _starts_at(self, cwd: str) -> bool:
        settings = self.settings_at(cwd)
        return settings.recall.enabled and not settings.recall.shadow and not settings.privacy.incognito

    # --- the store -----------------------------------------------------------------------------------------------

    def status(self, *, speaker: Speaker = Speaker.USER) -> EngineStatus:
        """Return the facts of `tacit status`, without records that `speaker` may not see."""
        self.live.flush()  # the counts include the session that just asked
        status = status_of(self._parts, settings=self.settings, sessions_cached=self.live.cached_count)
        sync = self.sync.status() if self._syncs else None
        return replace(status, store=self.visibility(speaker).stats(status.store), sync=sync)

    @property
    def damaged(self) -> bool:
        """Whether damage was found in the store since it was opened; opening it again moves the damaged file aside."""
        return self._parts.suspect()

    def warm(self, *, give_way: Callable[[], object] = bool) -> None:
        """Load the model, the vectors of the last session's project, the fitted values, the patterns and the write side, so that no prompt waits for them.

        Calls `give_way` between the parts and after each pattern: it may block while a prompt needs the processor.
        """
        (vector,) = self._parts.embedder.embed(["warm"])
        for state in self.store.list_sessions(limit=1):
            with suppress(EmbedderMismatch):
                scope, identity = self.visible(state.folder), self._parts.embedder.identity
                self.store.search.semantic(vector, identity=identity, scope=scope, limit=1)
        matches = token_matches_of(self._parts.embedder)
        if matches is not None:
            matches("warm", ["warm"])
        give_way()
        self._pipeline.warm()
        for _ in compile_all():
            give_way()
        self._writing()
        give_way()

    def flush(self) -> None:
        """Wait until the writes and captures that run in the background are in the store."""
        self.learning.flush()
        self.live.flush()

    def close(self) -> None:
        """Finish running work and release the store."""
        self._writing.close()
        self._signals.close()
        self.anticipation.close()
        self._judge.close()
        self.learning.close()
        self.live.close()
        self._executor.shutdown(wait=True)
        self.store.close()


def _log_failure(error: BaseException) -> None:
    _LOG.error("background write failed: %s", type(error).__name__, extra={"detail": json.dumps(str(error))})


def _with_start_budget(settings: Settings, tokens: int) -> Settings:
    budgets = settings.recall.budgets.model_copy(update={"start": tokens})
    return settings.model_copy(update={"recall": settings.recall.model_copy(update={"budgets": budgets})})
