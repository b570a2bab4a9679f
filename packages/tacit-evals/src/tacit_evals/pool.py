"""The fitted parts of one run, as one value that can be put into the engine. None = what ships."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import Budgets, RecallSettings
from tacit.hosts.claude_code import ClaudeCode
from tacit.model.changes import Add
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.session import Armed, ArmedMemory, SessionKey, SessionState
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionStarted,
    Signal,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import DropCause, DropReason, SilenceReason, Trace
from tacit.ports.models import Embedder
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import ExactCounter
from tacit.reading.errors import error_signature
from tacit.reading.match import MatchModel
from tacit.reading.memory_vectors import memory_vectors
from tacit.reading.situation import read_situation
from tacit.reading.terms import find_entities
from tacit.reading.trigger import make_trigger
from tacit.reading.trigger_model import LocalTriggers, TriggerModel
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import build_query, surface_for
from tacit.recall.render import ID_TOKENS
from tacit.recall.score import ArmedWeights, Gate, NeedModel, PromptTransform
from tacit.recall.stage import Context, Delivered, Preset, Tools
from tacit.session.transitions import apply_signal
from tacit_evals.data import PoolRow, Project, RealPrompt, RecordedCall
from tacit_evals.figures import ItemResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The fitted parts of one run.

    Attributes:
        trigger: says when a memory applies.
        triggers: other makers for the memories of some projects, by name; used while fitting.
        match: how much classes, breadth and objects count when a trigger meets a situation.
        need: orders the start pack.
        transform: transforms the vectors of prompts.
        transforms: others by the projects (of the store, of the prompt) whose rows they were fitted without; used while fitting.
        gate: relevance with its thresholds.
        armed: how much counts what a language model named in the pause.
        left_out: projects of which no row was used.
        rows: how many rows each part was fitted on.
    """

    trigger: TriggerModel | None = None
    triggers: tuple[tuple[str, TriggerModel], ...] = ()
    match: MatchModel | None = None
    need: NeedModel | None = None
    transform: PromptTransform | None = None
    transforms: tuple[tuple[frozenset[str], PromptTransform], ...] = ()
    gate: Gate | None = None
    armed: ArmedWeights | None = None
    left_out: tuple[str, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()

    def transform_for(self, *projects: str) -> PromptTransform | None:
        """The transformation that was fitted without `projects`, else the one for all."""
        return dict(self.transforms).get(frozenset(projects), self.transform)


SHIPPED = Fitted()
"""Nothing of our own: the engine as it ships."""


DAY_MS = 86_400_000
ALL_BREADTH = 3.0
_KEY = SessionKey(host="plain", session_id="evaluation")
_CHUNK = 256
ASKED_CHARS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start pack: the same for every prompt of a session."""

    ids: frozenset[str] = frozenset()
    tokens: int = 0


def stored_memory(row: PoolRow, *, project: str, given: bool, maker: LocalTriggers | None = None) -> Memory:
    """The memory as the write path would have stored it.

    Args:
        row: as the data has it.
        project: whose it is.
        given: with the annotator's trigger, where there is one.
        maker: makes the other triggers; None = by words alone.
    """
    make = maker or make_trigger
    trigger = (row.given if given else None) or make(row.content, kind=row.kind, files=row.files)
    return Memory(
        id=row.id,
        kind=row.kind,
        content=row.content,
        scope=UNIVERSAL if row.everywhere else project_scope(project),
        provenance=Provenance(
            tier=TrustTier.USER,
            source=row.source.split("#", 1)[0],
            host=_KEY.host if row.session else "",
            session_id=row.session,
            turn=row.turn,
        ),
        validity=Validity(valid_from_ms=0),
        created_at_ms=row.created_ms,
        updated_at_ms=row.created_ms,
        importance=KindRegistry().get(row.kind).importance,
        trigger=trigger,
        entities=find_entities(" ".join((row.content, *row.files))),
        files=row.files,
        tokens=_EXACT.count(row.content),
    )


_EXACT = ExactCounter()


FOCUSED = preset_of("focused")


class Pool:
    """One project's memories in a store, with the read path over it. Close it when done.

    `asked_by` names the project whose prompts are asked, if it is another one.
    """

    def __init__(
        self,
        project: Project,
        *,
        embedder: Embedder,
        settings: RecallSettings,
        preset: Preset = FOCUSED,
        given: bool = False,
        fitted: Fitted = SHIPPED,
        asked_by: str = "",
    ) -> None:
        self.project = project
        self.preset = preset
        thresholds = settings.thresholds.model_copy(
            update=dict(fitted.gate.thresholds()) if fitted.gate else {}
        )
        self.settings = settings.model_copy(update={"deadline_ms": 60_000, "thresholds": thresholds})
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-eval-")
        home = Home(Path(self._folder.name))
        home.ensure()
        newest = max((row.created_ms for row in project.memories), default=0)
        self.store = open_sqlite_store(home, clock=FakeClock(now_ms=newest + DAY_MS))
        made_by = dict(fitted.triggers).get(project.name, fitted.trigger)
        maker = LocalTriggers(embedder=embedder, model=made_by)
        self._matching = fitted.match
        self.memories = {
            row.id: stored_memory(row, project=project.name, given=given, maker=maker)
            for row in project.memories
        }
        try:
            self._fill(embedder)
        except BaseException:
            self.close()
            raise
        self.scope = ScopeFilter.of(*{memory.scope for memory in self.memories.values()})
        self.kinds = KindRegistry()
        self.tokens = _EXACT
        self._pipeline = RecallPipeline(
            Tools(store=self.store, embedder=embedder),
            tokens=self.tokens,
            kinds=self.kinds,
            need=fitted.need,
            gate=fitted.gate,
            prompt_transform=fitted.transform_for(project.name, asked_by or project.name),
            armed=fitted.armed,
        )
        self._starts: dict[tuple[int, int], Start] = {}

    def _fill(self, embedder: Embedder) -> None:
        rows = list(self.memories.values())
        for at in range(0, len(rows), _CHUNK):
            chunk = rows[at : at + _CHUNK]
            vectors = memory_vectors(chunk, embedder=embedder)
            self.store.apply(
                [Add(memory=memory) for memory in chunk], vectors=vectors, identity=embedder.identity
            )

    def close(self) -> None:
        """Release the store and its folder."""
        self.store.close()
        self._folder.cleanup()

    def generic(self) -> frozenset[str]:
        """Memories that apply everywhere: always, or of the greatest breadth, by label where there is one."""
        return frozenset(
            row.id
            for row in self.project.memories
            if self.memories[row.id].trigger.always
            or (row.given or self.memories[row.id].trigger).breadth >= ALL_BREADTH
        )

    def start(self, *, tokens: int, at_ms: int) -> Start:
        """The start pack of a session that begins at `at_ms`, within `tokens`; 0 = none."""
        if tokens == 0:
            return Start()
        start = self._starts.get((tokens, at_ms))
        if start is None:
            signal = SessionStarted(session=_KEY, key="start", at_ms=at_ms)
            budgets = self.settings.budgets.model_copy(update={"start": tokens})
            trace = self._run(
                signal, Surface.START, SessionState(key=_KEY), Start(), at_ms=at_ms, budgets=budgets
            )
            start = Start(ids=frozenset(trace.injected), tokens=trace.tokens)
            self._starts[tokens, at_ms] = start
        return start

    def shipped_start(self, *, at_ms: int) -> Start:
        """What a session that begins at `at_ms` is given as it ships: a small store whole, of a larger one a part. Headlines do not count, unless they say all."""
        block = self.start_block(budgets=self.settings.budgets, at_ms=at_ms)
        return Start(ids=frozenset(block.pack.held), tokens=block.block.tokens)

    def start_block(self, *, budgets: Budgets, at_ms: int, cap_chars: int = 0) -> Delivered:
        """The start block of a session that begins at `at_ms`, with its index, for a host with a cap (0 = none)."""
        signal = SessionStarted(session=_KEY, key="start", at_ms=at_ms)
        state = SessionState(key=_KEY)
        built = build_query(
            signal,
            surface=Surface.START,
            state=state,
            scope=self.scope,
            budgets=budgets,
            at_ms=at_ms,
            files=(),
        )
        settings = self.settings.model_copy(update={"budgets": budgets})
        context = Context(cap_chars=cap_chars)
        return self._pipeline.run(
            built.kept, preset=self.preset, settings=settings, context=context, trace_id="t"
        )[0]

    def prompt(
        self, prompt: RealPrompt, start: Start, *, pool_of: str = "", named: Mapping[str, float] | None = None
    ) -> ItemResult:
        """What the prompt surface hands over into a context that holds `start`; `named` joins the short list, and counts for nothing."""
        state = self._state(prompt.previous, prompt.files)
        signal = PromptSubmitted(session=_KEY, key=prompt.id, at_ms=prompt.at_ms, text=prompt.text)
        state = apply_signal(state, signal)
        traces = self._asked([(signal, state, ())], start, at_ms=prompt.at_ms, named=named)
        return self._handed(prompt, traces, start, prefix=pool_of or self.project.name)

    def call(self, call: RecordedCall, start: Start, *, at_ms: int) -> ItemResult:
        """What is handed over at a tool call: before it, and after it where the host reports a failure."""
        state = self._state(call.previous, ())
        submitted = PromptSubmitted(session=_KEY, key="prompt", at_ms=at_ms, text=call.prompt)
        state = apply_signal(state, submitted)
        steps: list[tuple[Signal, SessionState, tuple[str, ...]]] = []
        for signal in call_signals(call, at_ms=at_ms):
            files = tuple(inside_project(path, self.project.name) for path in signal.call.paths)
            signature = (
                error_signature(signal.error, command=signal.call.command)
                if isinstance(signal, ToolFailed)
                else ""
            )
            state = apply_signal(state, signal, paths=files, signature=signature)
            steps.append((signal, state, files))
        traces = self._asked(steps, start, at_ms=at_ms)
        return self._handed(call, traces, start, prefix=self.project.name)

    def search(self, text: str) -> list[str]:
        """Ids in the order in which an answer on demand ranks its short list, best first; asked as `tacit recall` does."""
        trace = self._question(text)
        return list(next(stage.kept for stage in trace.stages if stage.stage == "score"))

    def answered(self, text: str) -> tuple[str, ...]:
        """Ids of what `memory_search` answers to these words."""
        return self._question(text, suffix_tokens=ID_TOKENS).injected

    def _question(self, text: str, *, suffix_tokens: int = 0) -> Trace:
        situation = self._pipeline.read_question(text, self.settings, self.preset)
        query = Query(
            surface=Surface.ON_DEMAND,
            text=text[:ASKED_CHARS],
            raw_text=text[:ASKED_CHARS],
            situation=situation,
            scope=self.scope,
            at_ms=max(memory.created_at_ms for memory in self.memories.values()) + DAY_MS,
            budget_tokens=self.settings.budgets.on_demand,
            suffix_tokens=suffix_tokens,
            entities=find_entities(text[:ASKED_CHARS]),
            matching=self._matching,
        )
        _, trace = self._pipeline.run(
            query, preset=self.preset, settings=self.settings, context=Context(), trace_id="t"
        )
        return trace

    def _state(self, previous: str, files: tuple[str, ...]) -> SessionState:
        state = SessionState(key=_KEY, turn=1, recent_files=files)
        if not previous:
            return state
        signal = MessageEnded(session=_KEY, key="message", at_ms=0, text=previous)
        situation = read_situation("yes", previous_end=previous, recent_files=files)
        return apply_signal(state, signal, situation=situation)

    def _asked(
        self,
        steps: list[tuple[Signal, SessionState, tuple[str, ...]]],
        start: Start,
        *,
        at_ms: int,
        named: Mapping[str, float] | None = None,
    ) -> list[Trace]:
        traces: list[Trace] = []
        in_context = start
        for signal, state, files in steps:
            surface = surface_for(signal, state, self.settings, self.preset)
            if isinstance(surface, SilenceReason):
                continue
            trace = self._run(signal, surface, state, in_context, at_ms=at_ms, files=files, named=named)
            in_context = replace(in_context, ids=in_context.ids | set(trace.injected))
            traces.append(trace)
        return traces

    def _run(
        self,
        signal: Signal,
        surface: Surface,
        state: SessionState,
        in_context: Start,
        *,
        at_ms: int,
        budgets: Budgets | None = None,
        files: tuple[str, ...] = (),
        named: Mapping[str, float] | None = None,
    ) -> Trace:
        built = build_query(
            signal,
            surface=surface,
            state=state,
            scope=self.scope,
            budgets=budgets or self.settings.budgets,
            at_ms=at_ms,
            files=files,
        )
        context = Context(
            in_context=_holding(in_context.ids),
            turn=state.turn,
            facts=built.facts,
            window=tuple(sorted(in_context.ids)),
            traced=len(self.memories),
            armed=self._armed(named) if named is not None else None,
        )
        query = replace(built.kept, matching=self._matching, own_budget=False)
        _, trace = self._pipeline.run(
            query, preset=self.preset, settings=self.settings, context=context, trace_id="t"
        )
        return trace

    def _armed(self, named: Mapping[str, float]) -> Armed:
        """What has these memories looked at, while local evidence judges them: their words are unknown to the record."""
        at_ms = max(memory.updated_at_ms for memory in self.memories.values())
        memories = tuple(
            ArmedMemory(memory_id=name, content_hash="", probability=chance)
            for name, chance in named.items()
            if name in self.memories
        )
        return Armed(epoch=0, turn=1, at_ms=at_ms, model="recorded", memories=memories, listed=())

    def _handed(
        self, item: RealPrompt | RecordedCall, traces: list[Trace], start: Start, *, prefix: str
    ) -> ItemResult:
        predicted: dict[str, float] = {}
        for trace in traces:
            for candidate in trace.candidates:
                best = max(candidate.relevance, predicted.get(candidate.memory_id, 0.0))
                predicted[candidate.memory_id] = best
        return ItemResult(
            item=f"{prefix}/{item.id}",
            session=f"{prefix}/{item.session}",
            judgment=item.judgment,
            start=start.ids,
            start_tokens=start.tokens,
            pack=tuple(dict.fromkeys(memory_id for trace in traces for memory_id in trace.injected)),
            tokens=sum(trace.tokens for trace in traces if trace.injected),
            predicted=predicted,
            read=traces[0].situation if traces else None,
            surfaces={trace.surface.value: trace.injected for trace in traces},
        )


def _holding(ids: frozenset[str]) -> Callable[[Memory], DropReason | None]:
    reason = DropReason(cause=DropCause.IN_CONTEXT, detail="the start pack")
    return lambda memory: reason if memory.id in ids else None


def call_signals(call: RecordedCall, *, at_ms: int) -> tuple[ToolStarting | ToolFinished | ToolFailed, ...]:
    """The call as Claude Code reports it: before it runs, and again when it failed."""
    payload: dict[str, object] = {
        "hook_event_name": "PreToolUse",
        "session_id": call.session,
        "tool_name": call.tool,
        "tool_input": call.input,
        "tool_use_id": call.id,
    }
    host = ClaudeCode()
    events = [payload]
    if call.error:
        events.append({**payload, "hook_event_name": "PostToolUseFailure", "error": call.error})
    signals = (host.parse(event, at_ms=at_ms) for event in events)
    return tuple(
        replace(signal, session=_KEY)
        for signal in signals
        if isinstance(signal, ToolStarting | ToolFinished | ToolFailed)
    )


def inside_project(path: str, project: str) -> str:
    """`path` relative to the project's root, as far as its name tells where that is."""
    head, mark, tail = path.replace("\\", "/").rpartition(f"/{project}/")
    del head
    return tail if mark else path.removeprefix("./")


def shipped_settings(preset: str = FOCUSED.name) -> RecallSettings:
    """The read path's settings of a fresh home with a preset, nothing of the user's."""
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        return SettingsWatcher(home, environ={}, overrides={"preset": preset}).current().recall
