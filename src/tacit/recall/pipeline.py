"""The read path in one sentence: signal -> query -> retrieve -> fuse -> score -> guard -> dedupe -> budget -> render -> deliver.

In: a query (or the start surface), what the session holds, the store's search. Out: a block and its trace. The pipeline
does the I/O (search, embedding, loading memories) and reads the time; the stages from fuse to render are pure.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from tacit.config.settings import RecallSettings
from tacit.errors import ProviderError
from tacit.model.evidence import Candidate, Ranking
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Block, Pack, Surface
from tacit.model.query import Query
from tacit.model.session import SessionState
from tacit.model.trace import Drop, DropCause, DropReason, SilenceCause, SilenceReason, Trace
from tacit.ports.models import Embedder, Reranker, TokenCounter, Vectors
from tacit.ports.store import Store
from tacit.reading.classifier.matching import shipped_match
from tacit.reading.classifier.reader import SituationReader
from tacit.reading.words.stems import by_library
from tacit.recall.budget import Allowance, pack
from tacit.recall.dedupe import dedupe
from tacit.recall.deliver import READ_CHARS, TRACED_CANDIDATES, Delivered, deliver, traced
from tacit.recall.freshness import FreshnessProbe
from tacit.recall.fuse import FUSE_WEIGHTS, FUSIONS, truncate_fused
from tacit.recall.guard import guard, threshold_for
from tacit.recall.measure import measure_spaces, read_shortlist
from tacit.recall.need import NeedModel
from tacit.recall.on_demand import CANDIDATES_PER_SPACE, answer, has_heading, in_order
from tacit.recall.outcome import PINNED, Outcome
from tacit.recall.pools.pinned import pinned_candidates
from tacit.recall.pools.similar import dissimilar
from tacit.recall.pools.start import StartPools
from tacit.recall.probes.second_stage import expand, rerank
from tacit.recall.render import LAYOUTS, Layout, rendering
from tacit.recall.retrieve import QUERY_CHARS, embed_query, retrieve, spaces_at
from tacit.recall.score import at_surface, score_for
from tacit.recall.score.floors import reach_floors
from tacit.recall.score.gate import Gate, MeanQueryVector, load_mean_query, shipped_gate
from tacit.recall.sections.counting import surely
from tacit.recall.sections.packing import (
    SECTIONED,
    PackContext,
    divergence_alerts,
    pack_sections,
    sections_costs,
)
from tacit.recall.sections.probe import LAST_SESSION, SectionInputs, cosines, probe
from tacit.recall.spaces import graph, semantic
from tacit.recall.stage_log import StageLog
from tacit.recall.unconfirmed_ranking import rank_unconfirmed
from tacit.safety.escape import escape_text
from tacit.safety.trust import why_hidden

_LOG = logging.getLogger(__name__)
_NO_SHARES: Mapping[str, float] = {}
KEPT_LINES = 8192
"""Lines whose size is remembered; every session of a project costs the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What one recall may know besides its query.

    Attributes:
        in_context: says why a memory need not come again; None = it may.
        cap_chars: the host's cap on one block; 0 = none.
        remaining_ms: milliseconds left until the deadline.
        turn, epoch: of the session, for the trace.
        preset: name of the preset, for the trace.
        render: from pack to text; the default block unless a preset brings its own.
        notes: how the query was read.
        log: the stages before this one, with the time since the signal arrived; None = the time starts here.
        first: ids of memories that a compaction took out of the context; they come before all others.
        changed: of a start pack for a session that goes on: whether a memory says something new to it; None = all may come.
        window: ids of memories that the context holds, for similarity with what may come.
        root: the project's root, for the freshness of files; "" = not looked at.
        sessions: records of other sessions of this project, newest first, where hints of time are wanted.
        traced: most candidates that the trace keeps; measuring wants the whole short list.
    """

    in_context: Callable[[Memory], DropReason | None] = field(default=lambda _memory: None)
    cap_chars: int = 0
    remaining_ms: Callable[[], float] = field(default=lambda: 1e9)
    turn: int = 0
    epoch: int = 0
    preset: str = "focused"
    render: Callable[[Pack], str] | None = None
    notes: tuple[str, ...] = ()
    log: StageLog | None = None
    first: tuple[str, ...] = ()
    changed: Callable[[Memory], bool] | None = None
    window: tuple[str, ...] = ()
    root: str = ""
    sessions: tuple[SessionState, ...] = ()
    traced: int = TRACED_CANDIDATES


class RecallPipeline:
    """Runs the ten stages over one store. What it remembers only saves time; safe to use from several threads."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        tokens: TokenCounter,
        kinds: KindRegistry,
        executor: Executor | None,
        need: NeedModel | None = None,
        gate: Gate | None = None,
        usual: MeanQueryVector | None = None,
        reranker: Reranker | None = None,
        sparse: Reranker | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self.read = SituationReader(embedder=embedder)
        self._tokens = tokens
        self._line_tokens = lru_cache(maxsize=KEPT_LINES)(surely(tokens))
        self._start_pools = StartPools(store=store, kinds=kinds, need=need)
        self._kinds = kinds
        self._executor = executor
        self._reranker, self._sparse = reranker, sparse
        self._freshness = FreshnessProbe()
        self._gate: Gate = gate or shipped_gate()
        self._usual = usual or load_mean_query()
        self._fitted_thresholds: Mapping[str, float] = gate.thresholds() if gate else {}

    def warm(self) -> None:
        """Load what the first prompt would load."""
        self.read.warm()
        shipped_match()
        by_library("warm")

    def run(
        self, query: Query, *, settings: RecallSettings, context: Context, trace_id: str
    ) -> tuple[Delivered, Trace]:
        """Answer `query`: the block (empty = silence), what it holds, and the trace."""
        stages = context.log or StageLog()
        settings = self._with_fitted_thresholds(settings)
        settings = at_surface(settings, query.surface)
        if not stages.has("signal"):
            stages.note("signal", notes=(query.surface.value,))
        if not stages.has("query"):
            stages.note("query", notes=context.notes)
        from_start = query.surface in (Surface.START, Surface.COMPACTION)
        if from_start:
            candidates = self._start_pool(query, context, settings, stages)
        elif query.surface is Surface.PROMPT and query.situation.nothing_coming:
            stages.note("retrieve", notes=("nothing is asked: no action is coming",))
            candidates = ()
        else:
            candidates = self._search(query, settings, context, stages)
        scored = self._scored(query, candidates, settings, from_start=from_start, stages=stages)
        least = threshold_for(settings.thresholds, query.surface)
        scored = self._freshness.probe(scored, root=context.root, least=least)
        guarded = self._let_through(query, scored, settings, context, stages)
        guarded, seen = self._of_delta(query, guarded, settings, context)
        held = {
            c.memory.id: why
            for c in guarded.kept
            if PINNED not in c.reasons and (why := context.in_context(c.memory))
        }
        fresh = dedupe(guarded.kept, in_context=held)
        if settings.semantic_threshold:
            window, threshold = context.window, settings.semantic_threshold
            fresh = dissimilar(
                fresh, query, store=self._store, embedder=self._embedder, window=window, threshold=threshold
            )
        stages.note("dedupe", kept=_ids(fresh.kept), drops=(*seen, *fresh.drops))
        if settings.render in SECTIONED:
            alerts = divergence_alerts(query, scored, settings=settings, answered=stages.answered)
            packed = self._sectioned(
                query, fresh.kept, settings, PackContext(alerts=alerts, sessions=context.sessions)
            )
        else:
            packed = self._packed(query, fresh.kept, settings)
        stages.note("budget", kept=_pack_ids(packed.kept), drops=packed.drops, notes=packed.notes)
        render = context.render or rendering(self._kinds, str, settings.render)
        frame = self._frame_tokens(query.surface, settings.render)
        done = deliver(packed.kept, render=render, frame_tokens=frame, cap_chars=context.cap_chars)
        if settings.render in SECTIONED:  # their frame names every heading; most blocks hold a few
            block = done.kept.block
            block = replace(block, tokens=min(block.tokens, self._line_tokens(block.text)))
            done = replace(done, kept=replace(done.kept, block=block))
        stages.note("render", kept=_pack_ids(done.kept.pack))
        delivered, silence = self._silence(done, guarded, fresh, scored, settings)
        stages.note("deliver", kept=delivered.block.memory_ids, drops=done.drops)
        trace = Trace(
            id=trace_id,
            session=query.session,
            turn=context.turn,
            epoch=context.epoch,
            surface=query.surface,
            at_ms=query.at_ms,
            preset=context.preset,
            text=query.raw_text[:READ_CHARS],  # cut to its stored length once secrets are out
            situation=query.situation,
            stages=tuple(stages.records),
            candidates=traced(_with_pinned(scored, guarded.kept), delivered.block, most=context.traced),
            injected=delivered.block.memory_ids,
            cause=silence.cause if silence else None,
            why=silence,
            threshold=threshold_for(settings.thresholds, query.surface),
            block=delivered.block.text,
            tokens=delivered.block.tokens,
            budget_tokens=query.budget_tokens,
            took_ms=stages.took_ms(),
        )
        return delivered, trace

    def _let_through(
        self,
        query: Query,
        scored: Sequence[Candidate],
        settings: RecallSettings,
        context: Context,
        stages: StageLog,
    ) -> Outcome[tuple[Candidate, ...]]:
        """What floors, the second-stage model and the guard let through, pinned memories first."""
        floored = reach_floors(scored, query=query, settings=settings)
        searched = query.surface not in (Surface.START, Surface.COMPACTION)
        read = rerank(
            query,
            floored.kept,
            model=self._reranker if searched else None,
            settings=settings.reranker,
            threshold=threshold_for(settings.thresholds, query.surface),
            remaining_ms=context.remaining_ms,
        )
        stages.note("score", kept=_ids(read.kept), drops=(*floored.drops, *read.drops), losses=read.losses)
        guarded = guard(read.kept, query=query, kinds=self._kinds, thresholds=settings.thresholds)
        pinned = pinned_candidates(query, store=self._store, settings=settings)
        if pinned:
            known = {c.memory.id for c in pinned}
            guarded = replace(guarded, kept=(*pinned, *(c for c in guarded.kept if c.memory.id not in known)))
        stages.note("guard", kept=_ids(guarded.kept), drops=(*stages.withheld, *guarded.drops))
        return guarded

    def _of_delta(
        self,
        query: Query,
        guarded: Outcome[tuple[Candidate, ...]],
        settings: RecallSettings,
        context: Context,
    ) -> tuple[Outcome[tuple[Candidate, ...]], tuple[Drop, ...]]:
        """For a session that goes on: of what a whole start pack would hold, what is new to it; and the rest."""
        changed = context.changed
        if changed is None:
            return guarded, ()
        rest = tuple(c for c in guarded.kept if c.memory.id not in context.first)
        whole = set(_pack_ids(self._packed(query, dedupe(rest, in_context={}).kept, settings).kept))
        new = {
            c.memory.id
            for c in rest
            if c.memory.id in whole and not context.in_context(c.memory) and changed(c.memory)
        }.union(context.first)
        seen = tuple(
            Drop(memory_id=c.memory.id, why=DropReason(cause=DropCause.UNCHANGED))
            for c in guarded.kept
            if c.memory.id not in new
        )
        return replace(guarded, kept=tuple(c for c in guarded.kept if c.memory.id in new)), seen

    def _silence(
        self,
        done: Outcome[Delivered],
        guarded: Outcome[tuple[Candidate, ...]],
        fresh: Outcome[tuple[Candidate, ...]],
        scored: Sequence[Candidate],
        settings: RecallSettings,
    ) -> tuple[Delivered, SilenceReason | None]:
        """The delivery to use, and why it is silent (None when it is not)."""
        delivered = done.kept
        if delivered.block.empty:
            if any(not drop.memory_id for drop in guarded.drops):
                return delivered, SilenceReason(cause=SilenceCause.NOTHING_COMING)
            if not scored:
                return delivered, SilenceReason(cause=SilenceCause.NOTHING_FOUND)
            if not guarded.kept:
                return delivered, SilenceReason(cause=SilenceCause.NOT_RELEVANT)
            if not fresh.kept:
                return delivered, SilenceReason(cause=SilenceCause.IN_CONTEXT)
            return delivered, SilenceReason(cause=SilenceCause.NO_ROOM)
        if settings.shadow:
            silence = SilenceReason(cause=SilenceCause.SHADOW)
            empty = Block(surface=delivered.block.surface)
            return replace(delivered, pack=replace(delivered.pack, items=()), block=empty), silence
        return delivered, None

    def _search(
        self, query: Query, settings: RecallSettings, context: Context, stages: StageLog
    ) -> tuple[Candidate, ...]:
        spaces = spaces_at(settings, query.surface)
        vector: Outcome[Vectors | None] = Outcome(kept=None)
        if "semantic" in spaces:
            vector = embed_query(
                query.text,
                embedder=self._embedder,
                executor=self._executor,
                remaining_ms=context.remaining_ms,
            )
            if vector.kept is not None and (usual := self._mean_query_for(query, settings)):
                vector = replace(vector, kept=usual.without(vector.kept))
        waiting: tuple[Ranking, ...] = ()
        if query.surface is Surface.ON_DEMAND:
            waiting = (rank_unconfirmed(query, store=self._store, embedder=self._embedder),)
        # Where more is embedded on the way, no transaction may wait for it.
        more = bool(waiting) and (self._sparse is not None or has_heading(query.text))
        with nullcontext() if more or settings.sections else self._store.at_once():
            return self._found(
                query, settings, context, stages, spaces=spaces, vector=vector, waiting=waiting
            )

    def _found(
        self,
        query: Query,
        settings: RecallSettings,
        context: Context,
        stages: StageLog,
        *,
        spaces: Sequence[str],
        vector: Outcome[Vectors | None],
        waiting: Sequence[Ranking],
    ) -> tuple[Candidate, ...]:
        asked = query.surface is Surface.ON_DEMAND and bool(settings.spaces_on_demand)
        found = retrieve(
            query,
            search=self._store.search,
            vector=vector.kept,
            identity=self._embedder.identity,
            spaces=spaces,
            limit=settings.candidates_per_space,
            wide=CANDIDATES_PER_SPACE if asked else 0,
            remaining_ms=context.remaining_ms,
        )
        rankings = (*found.kept, *waiting)
        counts = tuple(f"{r.space}: {len(r.hits)} in {r.took_ms:.1f} ms" for r in rankings)
        losses = (*vector.losses, *found.losses)
        stages.note("retrieve", notes=(*counts, *vector.notes, *found.notes), losses=losses)
        failed = next((loss for loss in vector.losses if loss.cause == "failed"), None)
        if failed and settings.embedding_required and query.surface is Surface.PROMPT:
            raise ProviderError(f"Failed to embed query: {failed.detail}")
        if asked:
            answered = answer(
                query, rankings, spaces=spaces, store=self._store, embedder=self._embedder,
                remaining_ms=context.remaining_ms,
            )  # fmt: skip
            whole, late = answered.kept, answered.losses
        else:
            whole, late = FUSIONS[settings.fuse](rankings, FUSE_WEIGHTS), ()
        fused = truncate_fused(whole, rankings, settings.shortlist, held=() if asked else context.window)
        z, stages.domain_similarity = semantic.standardize(rankings, self._mean_query_for(query, settings))
        stages.among = max((r.background.total for r in rankings if r.background), default=0)
        by_space: dict[str, dict[str, float]] = {}
        for ranking in rankings:
            by_space.setdefault(ranking.space, {}).update({h.memory_id: h.score for h in ranking.hits})
        stages.answered = tuple(by_space)
        probed = self._probed(query, settings, by_space)
        known = [memory_id for memory_id, _ in fused]
        edges = self._store.relations(known, scope=query.scope) if "graph" in spaces else ()
        further = dict.fromkeys((*probed.ids, *graph.beyond(known, edges)))
        fused = (*fused, *((memory_id, 0.0) for memory_id in further if memory_id not in known))
        memories = {m.id: m for m in self._store.get([i for i, _ in fused], scope=query.scope)}
        # Taken out here, so that no later stage, model or trace reads what may not be seen.
        for memory in tuple(memories.values()):
            if hidden := _hidden_from(query, memory):
                stages.withheld.append(Drop(memory_id=memory.id, why=hidden))
                del memories[memory.id]
        listed = [memories[memory_id] for memory_id, _ in fused if memory_id in memories]
        model = self._sparse if "expanded" in spaces else None
        expanded = expand(query, listed, model=model, remaining_ms=context.remaining_ms)
        shortlist = read_shortlist(
            query,
            listed,
            by_space,
            spaces=spaces,
            store=self._store,
            embedder=self._embedder,
            sparse=expanded.kept,
        )
        measured = measure_spaces(query, shortlist, spaces=spaces, kinds=self._kinds)
        candidates = tuple(
            Candidate(
                memory=memories[memory_id],
                scores=measured[memory_id],
                fused=score,
                similarity_z=z(memory_id),
                reasons=(LAST_SESSION,) if memory_id == probed.last_id else (),
            )
            for memory_id, score in fused
            if memory_id in memories
        )
        stages.note("fuse", kept=_ids(candidates), losses=(*late, *expanded.losses))
        return candidates

    def _probed(
        self, query: Query, settings: RecallSettings, found: Mapping[str, dict[str, float]]
    ) -> SectionInputs:
        """What the sections need; recent memories that the semantic ranking left out get their cosine into `found`."""
        if not settings.sections or query.surface is not Surface.PROMPT:
            return SectionInputs()
        probed = probe(query, store=self._store, sections=settings.sections)
        ranked = found.get("semantic")
        if ranked is not None:
            missing = [memory for name, memory in probed.recent.items() if name not in ranked]
            ranked.update(cosines(query, missing, embedder=self._embedder, chars=QUERY_CHARS))
        return probed

    def _start_pool(
        self, query: Query, context: Context, settings: RecallSettings, stages: StageLog
    ) -> tuple[Candidate, ...]:
        """Memories that may stand in a start pack, ordered by expected need; after a compaction what it dropped first."""
        pool = self._start_pools.of(query.scope, at_ms=query.at_ms, settings=settings)
        stages.note("retrieve", notes=pool.notes)
        stages.note("fuse", kept=_ids(pool.candidates), notes=("ordered by expected need",))
        found = self._start_pools.with_first(pool, first=context.first, scope=query.scope, at_ms=query.at_ms)
        hidden = {c.memory.id: why for c in found if (why := _hidden_from(query, c.memory))}
        stages.withheld += [Drop(memory_id=memory_id, why=why) for memory_id, why in hidden.items()]
        return tuple(candidate for candidate in found if candidate.memory.id not in hidden)

    def _scored(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        settings: RecallSettings,
        *,
        from_start: bool,
        stages: StageLog,
    ) -> tuple[Candidate, ...]:
        if from_start and settings.start_pool != "score":
            return tuple(candidates)
        scored: list[Candidate] = []
        for candidate, (value, reasons) in zip(
            candidates, self._judged(query, candidates, settings, stages), strict=True
        ):
            last = LAST_SESSION in candidate.reasons
            relevance = 1.0 if last else round(value, 4)
            scored.append(candidate.judged(relevance, candidate.reasons if last else reasons))
        if query.surface is Surface.ON_DEMAND and settings.spaces_on_demand:
            return in_order(scored)
        scored.sort(key=lambda c: (-c.relevance, -c.fused, c.memory.id))
        return tuple(scored)

    def _judged(
        self, query: Query, candidates: Sequence[Candidate], settings: RecallSettings, stages: StageLog
    ) -> Sequence[tuple[float, tuple[str, ...]]]:
        """Relevance and reasons of each candidate: by the fitted gate where it covers the surface, else by the formula."""
        if settings.score == "situation" and candidates and self._gate.covers(query.surface):
            return self._gate.judge(
                query,
                candidates,
                kinds=self._kinds,
                among=stages.among,
                domain_similarity=stages.domain_similarity,
            )
        score = score_for(settings)
        return [score(query, one, self._kinds.of_stored(one.memory.kind)) for one in candidates]

    def _mean_query_for(self, query: Query, settings: RecallSettings) -> MeanQueryVector | None:
        """What goes off the prompt's vector where the gate judges, if it speaks of this embedder."""
        judged = query.surface is Surface.PROMPT and settings.score == "situation"
        return self._usual if judged and self._usual.speaks_of(self._embedder.identity) else None

    def _with_fitted_thresholds(self, settings: RecallSettings) -> RecallSettings:
        """A gate that was given brings its thresholds; those of the one that ships stand in the settings."""
        if not self._fitted_thresholds:
            return settings
        thresholds = settings.thresholds.model_copy(update=self._fitted_thresholds)
        return settings.model_copy(update={"thresholds": thresholds})

    def _packed(
        self, query: Query, candidates: Sequence[Candidate], settings: RecallSettings
    ) -> Outcome[Pack]:
        unlimited = query.surface in (Surface.START, Surface.COMPACTION)
        allowance = Allowance(
            tokens=query.budget_tokens,
            frame_tokens=self._frame_tokens(query.surface, settings.render),
            max_items=len(candidates) if unlimited else settings.max_items,
            pinned_kinds=settings.pinned_kinds,
            order="value" if unlimited and settings.start_pool == "need" else settings.order,
            shares=getattr(settings.allot, query.surface.value, _NO_SHARES),
            hand_on=settings.allot.hand_on,
        )
        return pack(
            candidates,
            surface=query.surface,
            allowance=allowance,
            cost=partial(self._line_cost, layout=LAYOUTS[settings.render], suffix=query.suffix_tokens),
        )

    def _sectioned(
        self, query: Query, candidates: Sequence[Candidate], settings: RecallSettings, around: PackContext
    ) -> Outcome[Pack]:
        line = partial(self._line_cost, layout=LAYOUTS[settings.render], suffix=query.suffix_tokens)
        costs = sections_costs(line=line, count=self._line_tokens)
        around = replace(around, frame_tokens=self._frame_tokens(query.surface, settings.render))
        packed = pack_sections(query, candidates, settings=settings, costs=costs, around=around)
        for note in packed.notes:
            _LOG.info("%s", note)
        return packed

    def _frame_tokens(self, surface: Surface, layout: str) -> int:
        return self._line_tokens(LAYOUTS[layout].frame(surface)) + 1

    def _line_cost(self, candidate: Candidate, text: str, *, layout: Layout, suffix: int) -> int:
        """Tokens of one line with its line break: the content as counted when it was stored, the rest as counted here."""
        memory = candidate.memory
        if text == memory.content and memory.tokens and escape_text(text) == text:
            return self._line_tokens(layout.line(candidate, "", self._kinds)) + memory.tokens + 1 + suffix
        return self._line_tokens(layout.line(candidate, text, self._kinds)) + 1 + suffix


def _hidden_from(query: Query, memory: Memory) -> DropReason | None:
    """Why whoever asks may not see `memory`, by its sensitivity; None = they may."""
    by_user = query.by_user and query.surface is Surface.ON_DEMAND
    return why_hidden(memory, session=query.session, by_user=by_user)


def _ids(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(candidate.memory.id for candidate in candidates)


def _with_pinned(scored: Sequence[Candidate], passed: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """`scored`, and what came from elsewhere: memories that are pinned need not be found."""
    known = {candidate.memory.id for candidate in scored}
    return (*scored, *(candidate for candidate in passed if candidate.memory.id not in known))


def _pack_ids(pack: Pack) -> tuple[str, ...]:
    return tuple(item.candidate.memory.id for item in pack.items)
