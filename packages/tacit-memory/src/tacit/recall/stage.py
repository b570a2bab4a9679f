"""What the steps of the read path share: their one signature, the state they hand on, the log of what they kept, and what a preset brings.

A step is a function from a `RecallState` to an `Outcome` that holds the next one. Those that read a store, a model or a
file are bound to their tools by the pipeline that lists them. All others are pure. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from tacit.config.settings import RecallSettings
from tacit.frozen import frozen
from tacit.model.evidence import Candidate, CosineReference, Ranking, Shortlist
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.memory import Memory, Relation
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Block, Pack, PackItem, Pair, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.model.session import Armed, SessionState
from tacit.model.signal import PromptSubmitted
from tacit.model.trace import Decider, Drop, DropReason, Loss, SilenceReason, StageRecord
from tacit.ports.models import Embedder, Reranker, Vectors
from tacit.ports.store import SearchableStore
from tacit.safety.escape import Clean, escape_text
from tacit.safety.trust import why_hidden

if TYPE_CHECKING:
    from tacit.recall.guard import FreshnessProbe
    from tacit.recall.pipelines.start import StartPools
    from tacit.recall.score import ArmedWeights, Gate


def process_ms() -> float:
    """Return the milliseconds of a monotonic clock, by which stages are measured."""
    return perf_counter() * 1000


@dataclass(slots=True, kw_only=True)
class StageLog:
    """The log of one recall: a record for each stage with its time and what it kept and dropped.

    Attributes:
        timer: monotonic milliseconds.
        records: the stages so far.
    """

    timer: Callable[[], float] = process_ms
    records: list[StageRecord] = field(default_factory=list[StageRecord])
    _began_ms: float = field(init=False)
    _since_ms: float = field(init=False)

    def __post_init__(self) -> None:
        self._began_ms = self._since_ms = self.timer()

    def note(
        self,
        stage: str,
        *,
        kept: Sequence[str] = (),
        drops: Sequence[Drop] = (),
        facts: Sequence[Note] = (),
        losses: Sequence[Loss] = (),
    ) -> None:
        """Record that `stage` ended; its time counts from the last record. The next record of the same stage is merged into it."""
        now_ms = self.timer()
        record = StageRecord(
            stage=stage,
            took_ms=round(now_ms - self._since_ms, 3),
            kept=tuple(kept),
            drops=tuple(drops),
            facts=tuple(facts),
            losses=tuple(losses),
        )
        if self.records and self.records[-1].stage == stage:
            first = self.records.pop()
            record = replace(
                record,
                took_ms=round(first.took_ms + record.took_ms, 3),
                drops=(*first.drops, *record.drops),
                facts=(*first.facts, *record.facts),
                losses=(*first.losses, *record.losses),
            )
        self.records.append(record)
        self._since_ms = now_ms

    def end(self, stage: str, state: RecallState, steps: Sequence[Outcome[RecallState]]) -> None:
        """Record that `stage` ended: drops, facts and losses of its `steps`, and as kept the ids that `state` holds."""
        self.note(
            stage,
            kept=state.kept,
            drops=[drop for step in steps for drop in step.drops],
            facts=[fact for step in steps for fact in step.facts],
            losses=[loss for step in steps for loss in step.losses],
        )

    def begin(self, surface: str, *, facts: Sequence[Note]) -> None:
        """Record the stages `signal` and `query`, if the caller has not done so; `facts` = how the query was read."""
        surface_note = Note(cause=NoteCause.SURFACE, detail=surface)
        ended = {record.stage for record in self.records}
        for stage, facts_of_stage in (("signal", (surface_note,)), ("query", facts)):
            if stage not in ended:
                self.note(stage, facts=facts_of_stage)

    def for_next_recall(self) -> StageLog:
        """Return a new log for a further recall of the same signal, with a copy of these records; its next stage is timed from now."""
        log = StageLog(timer=self.timer, records=list(self.records))
        log._began_ms -= sum(record.took_ms for record in self.records)
        return log

    def has(self, stage: str) -> bool:
        """Whether `stage` was recorded."""
        return any(record.stage == stage for record in self.records)

    def took_ms(self) -> float:
        """Milliseconds from the arrival of the signal to the end of the last recorded stage."""
        return round(self._since_ms - self._began_ms, 3)


T = TypeVar("T")
MOMENT = "its moment"
"""Reason of a memory whose own words name this call, or the call that mostly comes next."""


LAST_SESSION = "last session"
"""Reason of the digest of the last session, which is handed over whatever the query is."""
TRACED_CANDIDATES = 24
START_SURFACES = (Surface.START, Surface.COMPACTION)
"""Surfaces that are answered from a pool, not by a search."""

Candidates = tuple[Candidate, ...]


@frozen
class Outcome(Generic[T]):
    """What a step returns: its result (`kept`), and for the trace what it dropped, noted and lost (late or failed sources)."""

    kept: T
    drops: tuple[Drop, ...] = ()
    facts: tuple[Note, ...] = ()
    losses: tuple[Loss, ...] = ()


@frozen
class UseCounts:
    """Counts over all sessions of a home: memories that were given (`shown`), and those that look used.

    `control_shown`, `control_used`: the same for memories that were not given, for comparison.
    """

    shown: int = 0
    used: int = 0
    control_shown: int = 0
    control_used: int = 0


@frozen
class ToldBefore:
    """What a session that goes on was told of the store.

    Attributes:
        change: the store's number of changes at the last time.
        says_new: tells whether a memory was added or changed since.
        shown: ids of memories that its context holds, whole or as a headline.
    """

    change: int
    says_new: Callable[[Memory], bool]
    shown: frozenset[str] = frozenset()


@frozen
class Context:
    """What one recall is given besides its query, settings and preset.

    Attributes:
        in_context: says why a memory need not come again; None = it may.
        pinned_in_context: the same of a pinned memory.
        cap_chars: the host's cap on one block; 0 = none.
        fits: whether a block with this text is within every cap of the host; some hosts count bytes.
        remaining_ms: milliseconds left until the deadline.
        turn, epoch: of the session, for the trace.
        render: from pack to text; the default block unless a preset brings its own.
        facts: how the query was read.
        log: the stages before this one, with the time since the signal arrived; None = the time starts here.
        first: ids of memories that a compaction took out of the context; they come before all others.
        changed: of a start pack for a session that goes on: whether a memory says something new to it; None = all may come.
        told: what a session that goes on was told of the store, so that it is told what changed since; None = changes are not told.
        window: ids of memories that the context holds, for similarity with what may come.
        root: the project's root, for the freshness of files; "" = not looked at.
        sessions: records of other sessions of this project, newest first, where hints of time are wanted.
        turns: what was said before in this session and lately in others, oldest first, where shifts of the work are told.
        hinted: hints of time that the session was told.
        offset_ms: from UTC to the user's own clock at a moment, where hints of time are wanted.
        traced: most candidates that the trace keeps; measuring wants the whole short list.
        armed: what a model in the pause named, where it still holds.
        usage: over all sessions of the home, how many memories were given and used.
        judge: asks a model at the prompt; None = there is none, and the gate decides.
        settles: whether the reader of the block may settle which of two memories holds that may not both hold; None = the reader never may.
    """

    in_context: Callable[[Memory], DropReason | None] = field(default=lambda _memory: None)
    pinned_in_context: Callable[[Memory], DropReason | None] = field(default=lambda _memory: None)
    cap_chars: int = 0
    fits: Callable[[str], bool] = field(default=lambda _text: True)
    remaining_ms: Callable[[], float] = field(default=lambda: 1e9)
    turn: int = 0
    epoch: int = 0
    render: Callable[[Pack], str] | None = None
    facts: tuple[Note, ...] = ()
    log: StageLog | None = None
    first: tuple[str, ...] = ()
    changed: Callable[[Memory], bool] | None = None
    told: ToldBefore | None = None
    window: tuple[str, ...] = ()
    root: str = ""
    sessions: tuple[SessionState, ...] = ()
    turns: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()
    offset_ms: Callable[[int], int] = field(default=lambda _at_ms: 0)
    traced: int = TRACED_CANDIDATES
    armed: Armed | None = None
    usage: UseCounts = UseCounts()
    judge: Judge | None = None
    settles: Callable[[Relation], bool] | None = None


@frozen
class JudgeAnswer:
    """What a model at the prompt said: `named` = probability by memory id, None = no answer, so the gate decides; `note` = why."""

    named: Mapping[str, float] | None
    note: Note


class Judge(Protocol):
    """Interface: asks a model at the prompt. Blocks, at most until its own deadline and that of the recall."""

    def __call__(
        self, query: Query, settings: RecallSettings, remaining_ms: Callable[[], float], /
    ) -> JudgeAnswer:
        """Return what the model names. Never raises."""
        ...


@frozen
class Delivered:
    """The block that is handed over, and the pack that it was rendered from, after both were cut to the host's limits."""

    pack: Pack
    block: Block


@dataclass(frozen=True, kw_only=True)  # no slots: `changed` copies the dictionary
class RecallState:
    """One recall while it runs. Every stage adds what it made; None = that stage has not run.

    Attributes:
        query, settings, context, kinds, preset: given.
        count: gives the tokens of a text.
        layout: how the block is written and packed; `render` gives the text of a pack.
        reference: what the cosines of a prompt usually are; None where no fitted gate asks for it.
        spaces: names of the spaces that are asked.
        vector: of the query's words, shape (dimensions,); None where nothing was embedded.
        embedding_error: what the embedder said where it failed, or that it came too late.
        pool: what a start pack is chosen from.
        pool_whole: whether the pool holds every memory in scope but older digests.
        rivals: how many memories the pool stands for, see `StartPool`; 0 = unknown.
        rankings: one per space that answered.
        order: (memory id, fused score), best first.
        read: memories that the order was made from, by id, where they were read for it.
        matches: of an answer, match of each with the question, 0-1, by memory id.
        space_scores: score by space and memory id, as retrieved; `answered` are its names.
        domain_similarity: see `spaces.domain_similarity_z`.
        unread: the language of the query if the embedder does not read it, else "".
        unread_ids: ids of the loaded memories whose language the embedder does not read.
        recent, turns: recent work, oldest first: memories by id, and what was said as candidates.
        last_session: id of the digest of the last session, or "".
        withheld: drops of memories that the asker may not see; recorded at the guard.
        judged: probability of each memory that a model at the prompt named, by id; None = the gate decides.
        armed: probability by memory id of all that a model in the pause chose from, 0 where it did not name one.
        shortlist: the memories to measure, with what the spaces read for them.
        found: candidates with their evidence.
        scored: the same with relevance, best first.
        named: of these, those that share a rare name with the prompt, by id, and the name.
        reached: of `scored`, those that reach the floors of the preset and that a second-stage model kept; None = all.
        passed: of these, those that the guard let through.
        fresh: of these, those that the context does not hold.
        pairs: of these, pairs that may not both hold.
        pack: the memories that fit the budget.
        text: the rendered pack.
        delivered: the block within all limits.
        silence: why there is no block; None = there is one.
    """

    query: Query
    settings: RecallSettings
    context: Context
    kinds: KindRegistry
    preset: Preset
    count: Callable[[str], int]
    layout: Layout
    render: Callable[[Pack], str]
    spaces: tuple[str, ...] = ()
    vector: Vectors | None = None
    reference: CosineReference | None = None
    embedding_error: str = ""
    pool: Candidates = ()
    pool_whole: bool = False
    rivals: float = 0.0
    rankings: tuple[Ranking, ...] = ()
    order: tuple[tuple[str, float], ...] = ()
    read: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    matches: Mapping[str, float] = field(default_factory=dict[str, float])
    space_scores: Mapping[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    domain_similarity: float | None = None
    unread: str = ""
    unread_ids: frozenset[str] = frozenset()
    recent: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    turns: Candidates = ()
    last_session: str = ""
    withheld: tuple[Drop, ...] = ()
    judged: Mapping[str, float] | None = None
    armed: Mapping[str, float] | None = None
    shortlist: Shortlist | None = None
    found: Candidates | None = None
    scored: Candidates | None = None
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    reached: Candidates | None = None
    passed: Candidates | None = None
    fresh: Candidates | None = None
    pairs: tuple[Pair, ...] = ()
    pack: Pack | None = None
    text: str = ""
    delivered: Delivered | None = None
    silence: SilenceReason | None = None

    def changed(self, **changes: object) -> RecallState:
        """Return a copy with these fields changed; eight times as fast as `dataclasses.replace`.

        Raises:
            TypeError: for a name that is no field.
        """
        if unknown := changes.keys() - self.__dict__.keys():
            raise TypeError(f"RecallState has no {', '.join(sorted(unknown))}")
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **changes)
        return copy

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the memories that the last stage so far kept, best first."""
        if self.delivered is not None:
            return self.delivered.block.memory_ids
        if self.pack is not None:
            return tuple(item.candidate.memory.id for item in self.pack.items)
        stages = (self.fresh, self.passed, self.reached, self.scored, self.found, ())
        newest = next(candidates for candidates in stages if candidates is not None)
        return tuple(candidate.memory.id for candidate in newest)

    @property
    def answered(self) -> tuple[str, ...]:
        """Spaces whose ranking came in time."""
        return tuple(self.space_scores)

    @property
    def memories_asked(self) -> int:
        """How many memories were in scope of the search; 0 = unknown."""
        return max((ranking.background.total for ranking in self.rankings if ranking.background), default=0)

    @property
    def from_pool(self) -> bool:
        """Whether the candidates come from the start pool, not from a search."""
        return self.query.surface in START_SURFACES

    @property
    def searched(self) -> bool:
        """Whether the candidates come from a search for a prompt, a call or a task."""
        return not (self.from_pool or self.nothing_coming or self.query.surface is Surface.ON_DEMAND)

    @property
    def nothing_coming(self) -> bool:
        """Whether this is a prompt after which the agent will do nothing, so that nothing is searched."""
        return self.query.surface is Surface.PROMPT and self.query.situation.nothing_coming

    @property
    def decider(self) -> Decider | None:
        """Who judged relevance: the model at the prompt, gate and armed memories, or local evidence; None = nothing was judged."""
        if self.from_pool or self.scored is None:
            return None
        if self.judged is not None:
            return Decider.JUDGE
        return Decider.ARMED if self.armed is not None else Decider.LOCAL

    @property
    def threshold(self) -> float:
        """Least relevance that the surface hands over."""
        return self.settings.thresholds.of(self.query.surface.value)

    def why_withheld(self, memory: Memory) -> DropReason | None:
        """Return why `memory` must not appear (its sensitivity, or another branch); None = it may."""
        by_user = self.query.by_user and self.query.surface is Surface.ON_DEMAND
        return why_hidden(memory, session=self.query.session, by_user=by_user) or self.query.why_elsewhere(
            memory
        )

    def line_tokens(self, candidate: Candidate, text: str) -> int:
        """Return the tokens of one line with its line break; a whole content counts as it was counted when it was stored."""
        memory, suffix = candidate.memory, 1 + self.query.suffix_tokens
        if text == memory.content and memory.tokens and escape_text(text) == text:
            return self.count(self.layout.line(candidate, "", self.kinds)) + memory.tokens + suffix
        return self.count(self.layout.line(candidate, text, self.kinds)) + suffix

    @property
    def frame_tokens(self) -> int:
        """Tokens of everything in the block but the lines of memories: delimiters, headings, line breaks."""
        return self.count(self.layout.frame(self.query.surface)) + 1


def newest_digests(memories: Iterable[Memory], *, by_branch: bool = True) -> tuple[Memory, ...]:
    """Return the newest session digest of each branch among `memories`, or with `by_branch` False the newest of all alone; () = there is none."""
    newest: dict[str, Memory] = {}
    for memory in memories:
        if memory.kind != DIGEST:
            continue
        branch = memory.branch_name if by_branch else ""
        newest[branch] = max(
            (memory, newest.get(branch, memory)), key=lambda digest: (digest.updated_at_ms, digest.id)
        )
    return tuple(newest.values())


Step: TypeAlias = "Callable[[RecallState], Outcome[RecallState]]"
Steps: TypeAlias = tuple[tuple[str, Step], ...]
"""Steps in their order, each with the name of its stage."""


@frozen
class Tools:
    """The store and the models that steps read from.

    Attributes:
        store: memories and their search.
        embedder: makes vectors.
        executor: where a remote embedder is waited for; None = it is local.
        reranker: the user's own second-stage model, where there is one.
    """

    store: SearchableStore
    embedder: Embedder
    executor: Executor | None = None
    reranker: Reranker | None = None


@frozen
class Kit:
    """What a pipeline binds its steps to: everything that lives longer than one recall.

    Attributes:
        tools: the store and the models.
        gate: judges before a prompt.
        armed: weights of what a model in the pause named; None = those that ship.
        pools: the cache of start pools.
        files: checks the files that memories name.
        reference: what the cosines of prompts usually are; None where it was fitted with another embedder.
    """

    tools: Tools
    gate: Gate
    armed: ArmedWeights | None
    pools: StartPools
    files: FreshnessProbe
    reference: CosineReference | None


@frozen
class Pipeline:
    """The steps for one recall, in order: `ask`, `find`, `choose`.

    Attributes:
        ask: steps that may wait for a model or a server.
        find: steps that read the store.
        choose: steps from candidates to a block.
        at_once: whether all steps from `find` on see the store as it was at one moment (one transaction).
    """

    ask: Steps = ()
    find: Steps
    choose: Steps
    at_once: bool = True


Judgment = tuple[float, tuple[str, ...]]
"""Relevance, and short reasons for the trace."""


class StartPoolSource(Protocol):
    """Interface: reads the candidates of a start pack from the store."""

    def __call__(
        self,
        store: SearchableStore,
        scope: ScopeFilter,
        *,
        at_ms: int,
        kinds: KindRegistry,
        settings: RecallSettings,
    ) -> tuple[Candidates, tuple[Note, ...]]:
        """Return the candidates, best first, and notes for the trace."""
        ...


PipelineMaker: TypeAlias = Callable[[Kit, RecallState], Pipeline]
"""Function that makes the pipeline of one recall; the state is the one before the first step."""


@frozen
class StartPoolDesign:
    """How the start pool of a preset is made, how long it is used again, and on which settings it depends.

    Attributes:
        make: reads the candidates; None = by expected need, which `pipelines.start` does itself.
        keep_ms: how long a pool that was read is used again.
        one_digest: whether only the newest digest that may appear on the branch at hand is kept.
        keyed_by: the settings that it depends on.
    """

    make: StartPoolSource | None
    keep_ms: int
    one_digest: bool = False
    keyed_by: Callable[[RecallSettings], Hashable] = lambda _settings: ()


class _CandidateLine(Protocol):
    def __call__(self, candidate: Candidate, text: str, kinds: KindRegistry, clean: Clean = ...) -> str: ...


class _Block(Protocol):
    def __call__(self, pack: Pack, kinds: KindRegistry, clean: Clean = ...) -> str: ...


class _ItemLine(Protocol):
    def __call__(self, item: PackItem, kinds: KindRegistry, clean: Clean = ...) -> str: ...


def compared_text(candidate: Candidate) -> str:
    """Return the text by which a memory is compared with others to find near statements: its content; a digest gets its id, so that it is near to none."""
    return candidate.memory.id if candidate.memory.kind == DIGEST else candidate.memory.content


def pair_line(names: tuple[str, str]) -> str:
    """Return the line that goes below two memories that may not both hold; `names` = their short ids."""
    first, second = names
    return (
        f"  These two ({first}, {second}) may not both hold; if this session shows which, call memory_add with"
        " content=the id of what holds, replaces=[the other's id]; if the user says it, with user_words."
    )


@frozen
class Layout:
    """The look of a block: functions from memories to text.

    Attributes:
        frame: gives everything but the lines of memories that a block of that surface can hold; its tokens are reserved.
        line: gives one memory as one line.
        block: gives the whole text of a pack; "" for the empty pack.
        item_line: gives an item of a pack as one line; None = as `line` does.
        pack: chooses the memories of the block; None = `budget.pack_start`.
        text: gives the words of a memory that a block of that surface shows.
        frame_is_most: whether the frame reserves headings that most blocks do not have; then the finished block is counted anew.
        others: layouts of the surfaces that look different.
    """

    frame: Callable[[Surface], str]
    line: _CandidateLine
    block: _Block
    item_line: _ItemLine | None = None
    pack: Callable[[RecallState], Outcome[Pack]] | None = None
    text: Callable[[Memory, Surface], str] = lambda memory, _surface: memory.content
    frame_is_most: bool = False
    others: Mapping[Surface, Layout] = field(default_factory=dict[Surface, "Layout"])

    def at(self, surface: Surface) -> Layout:
        """Return the layout for blocks of `surface`."""
        return self.others.get(surface, self)

    def line_of(self, item: PackItem, kinds: KindRegistry, clean: Clean) -> str:
        """Return an item of a pack as one line: by `item_line`, else by `line`."""
        if self.item_line is not None:
            return self.item_line(item, kinds, clean)
        return self.line(item.candidate, item.text, kinds, clean)


@frozen
class Preset:
    """One complete configuration of the pipeline. What a user may change is in the settings, everything else here.

    Attributes:
        name: the name in the settings.
        pipelines: by surface, the function that makes its pipeline.
        layout: how a block looks.
        start_pool: the design of start packs.
        fuse: makes one order of the rankings of the spaces.
        spaces_prompt: which of the spaces search before a prompt; () = all.
        spaces_on_demand: the spaces that search for an answer.
        shortlist: most candidates that are measured and scored; `shortlists` for single surfaces.
        order: name in `budget.ORDERS` of the order in which a pack is filled; `orders` for single surfaces.
        shares: by surface, slot (kind, kind of scope, band of relevance) -> share of the budget that is kept for it.
        adapt: gives the settings that apply to a surface.
        ask: gives the query as this preset asks it.
        enabled: says whether a kind is among those that `recall.kinds` names.
        ages_out: whether an episodic memory that is too old for its kind is left out; else age only lowers its place.
        gated: whether the fitted gate judges before a prompt, so that a language model may be asked, too.
        every_call: whether the block stands in the system prompt of every call and is rebuilt there, if the host has such a place.
        follow_ups: whether a prompt of few words is read together with the one before it.
        shrinks: what makes a budget smaller: a long `prompt`, a small context `window`, the `usage` so far.
        window_tokens: size of the context window.
        tells_time: whether a pack tells of shifts of the work and of earlier sessions, so that records of sessions are read for it.
        nothing_text: gives the block that says, once per session, that nothing is on record; None = silence.
        why_silent: says why a prompt gets nothing, besides the reasons that hold for all presets; None = there are no others.
        task_kinds: gives the kinds that a described task needs; None = the preset does not tell tasks apart.
        tools: MCP tools that `mcp.tools` shows under the preset's name besides the lean ones.
        tool_words: what agents read of a tool there, by its name, in place of its own words.
        facts: gives the statements that a request to remember is stored as.
        answer_limits: most answers of a session, and most tokens of its start pack and answers together; 0 = no limit.
    """

    name: str
    pipelines: Mapping[Surface, PipelineMaker]
    layout: Layout
    start_pool: StartPoolDesign
    fuse: Callable[[Sequence[Ranking]], tuple[tuple[str, float], ...]]
    spaces_prompt: tuple[str, ...] = ()
    spaces_on_demand: tuple[str, ...] = (
        "semantic", "lexical", "entity", "character", "recent", "intent", "late", "sequence",
    )  # fmt: skip
    shortlist: int = 12
    shortlists: Mapping[Surface, int] = field(default_factory=dict[Surface, int])
    order: str = "diverse"
    orders: Mapping[Surface, str] = field(default_factory=dict[Surface, str])
    shares: Callable[[RecallSettings, Surface], Mapping[str, float]] = lambda _settings, _surface: {}
    adapt: Callable[[RecallSettings, Surface], RecallSettings] = lambda settings, _surface: settings
    ask: Callable[[Query, RecallSettings, KindRegistry], Query] = lambda query, _settings, _kinds: query
    enabled: Callable[[str, Collection[str]], bool] = lambda kind, kinds: kind in kinds
    ages_out: bool = True
    gated: bool = False
    every_call: bool = False
    follow_ups: bool = True
    shrinks: frozenset[str] = frozenset({"prompt"})
    window_tokens: Callable[[RecallSettings], int] = lambda _settings: 200_000
    tells_time: bool = False
    nothing_text: Callable[[Surface], str] | None = None
    why_silent: Callable[[PromptSubmitted, SessionState, RecallSettings], SilenceReason | None] | None = None
    task_kinds: Callable[[str, RecallSettings, KindRegistry], tuple[str, ...]] | None = None
    tools: tuple[str, ...] = ()
    tool_words: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Callable[[str], tuple[str, ...]] = lambda statement: (statement,)
    answer_limits: Callable[[RecallSettings], tuple[int, int]] = lambda _settings: (0, 0)

    def shortlist_at(self, surface: Surface) -> int:
        """Return the most candidates that are measured and scored on `surface`."""
        return self.shortlists.get(surface, self.shortlist)

    def order_at(self, surface: Surface) -> str:
        """Return the name in `budget.ORDERS` of the order in which a pack of `surface` is filled."""
        return self.orders.get(surface, self.order)

    def spaces_at(self, surface: Surface, spaces: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the spaces that search on `surface`; `spaces` = those of the settings.

        Before a prompt only those of `spaces_prompt`; for an answer `spaces_on_demand`, whatever the settings say.
        """
        if surface is Surface.PROMPT and self.spaces_prompt:
            return tuple(name for name in spaces if name in self.spaces_prompt)
        return self.spaces_on_demand if surface is Surface.ON_DEMAND else spaces
