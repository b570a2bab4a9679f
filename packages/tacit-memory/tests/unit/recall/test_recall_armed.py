"""Relevance with what a language model named: the formulas by hand, what holds, and who decides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from samples import NOW_MS
from tacit.backends.sqlite import SqliteStore
from tacit.config.settings import JudgeSettings, RecallSettings
from tacit.model.changes import Add
from tacit.model.evidence import Candidate
from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.session import Armed, ArmedMemory, SessionKey, SessionState
from tacit.model.trace import Decider, DropCause, Trace
from tacit.model.trigger import Situation, Trigger
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.providers.tokens import EstimateCounter
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.score import ArmedWeights, add_armed_evidence, judge_threshold, shipped_weights
from tacit.recall.stage import Context, JudgeAnswer, Tools
from tacit.session.transitions import still_armed

SCOPE = project_scope("p")
WEIGHTS = ArmedWeights(bias=1.0, local=0.5, armed=1.0, caution=0.25)


def memory(name: str, content: str = "Invoices are kept for ten years.", **more: object) -> Memory:
    said = Provenance(tier=TrustTier.USER, source="cli", span=content)
    return Memory(
        id=name, kind="decision", content=content, scope=SCOPE, provenance=said, validity=Validity(valid_from_ms=0),
        created_at_ms=NOW_MS - 1000, updated_at_ms=NOW_MS - 1000, importance=0.5, **more,
    )  # fmt: skip


def candidate(**more: object) -> Candidate:
    return Candidate(memory=memory("mem_1", **more))


@pytest.mark.parametrize(
    ("local", "named", "counts_as"),
    [(0.2, 0.4, (0.2, 0.4)), (0.2, 0.0, (0.2, 0.02)), (0.0, 0.5, (0.005, 0.5))],
    ids=["both are added", "listed and not named", "nothing local"],
)
def test_before_a_prompt_the_log_odds_are_added(
    local: float, named: float, counts_as: tuple[float, float]
) -> None:
    first, second = (math.log(chance / (1 - chance)) for chance in counts_as)
    odds = 1.0 + 0.5 * first + 1.0 * second - 0.25
    found = add_armed_evidence(candidate(), local, named, surface=Surface.PROMPT, weights=WEIGHTS)
    assert found == pytest.approx(1 / (1 + math.exp(-odds)))


def test_what_a_person_said_of_the_moment_is_not_lowered() -> None:
    told = candidate(trigger=Trigger(actions=(("commit", 1.0),), maker="user"))
    assert add_armed_evidence(told, 0.9, 0.0, surface=Surface.PROMPT, weights=WEIGHTS) == 0.9
    assert add_armed_evidence(candidate(), 0.9, 0.0, surface=Surface.PROMPT, weights=WEIGHTS) < 0.9


@pytest.mark.parametrize(
    ("local", "chance", "expected"),
    [
        (0.4, 0.5, 2 * (0.4 / 0.6) / (1 + 2 * (0.4 / 0.6))),
        (0.4, 0.25, 0.4),
        (0.4, 0.0, 0.4),
        (0.4, 1.0, 3 * (0.4 / 0.6) / (1 + 3 * (0.4 / 0.6))),
        (0.0, 0.9, 0.0),
        (1.0, 0.9, 1.0),
    ],
)
@pytest.mark.parametrize("surface", [Surface.ACTION, Surface.FAILURE])
def test_at_a_call_odds_are_multiplied_and_nothing_comes_from_nothing(
    surface: Surface, local: float, chance: float, expected: float
) -> None:
    assert add_armed_evidence(candidate(), local, chance, surface=surface) == pytest.approx(expected)


def test_the_shipped_numbers_let_both_kinds_of_evidence_count() -> None:
    shipped = shipped_weights()
    assert min(shipped.local, shipped.armed, shipped.caution) > 0
    likely, unlikely = (
        add_armed_evidence(candidate(), 0.3, chance, surface=Surface.PROMPT) for chance in (0.5, 0.1)
    )
    assert likely > 0.3 > unlikely


def test_the_judge_is_silent_unless_it_is_sure_of_one() -> None:
    settings = JudgeSettings(sure=0.5)
    assert judge_threshold({"a": 0.5, "b": 0.1}, settings) == 0.3
    assert judge_threshold({"a": 0.49}, settings) == 0.5
    assert judge_threshold({}, settings) == 0.5
    assert judge_threshold({"a": 0.25}, JudgeSettings(sure=0.2)) == 0.2


@pytest.mark.parametrize(
    ("epoch", "turn", "holds"), [(0, 2, True), (0, 3, True), (0, 4, False), (0, 1, False), (1, 3, False)]
)
def test_what_is_armed_holds_until_the_next_turn_is_over(epoch: int, turn: int, holds: bool) -> None:
    armed = Armed(epoch=0, turn=2, at_ms=NOW_MS)
    state = SessionState(key=SessionKey(host="h", session_id="s"), epoch=epoch, turn=turn, armed=armed)
    assert (still_armed(state) is armed) is holds


class Bench:
    """A read path over a few memories."""

    def __init__(self, *memories: Memory) -> None:
        self.store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
        embedder = FakeEmbedder()
        self.store.apply(
            [Add(memory=one) for one in memories],
            vectors=embedder.embed([one.content for one in memories]),
            identity=embedder.identity,
        )
        self.pipeline = RecallPipeline(
            Tools(store=self.store, embedder=embedder), tokens=EstimateCounter(), kinds=BUILTIN_KINDS
        )

    def ask(
        self, text: str = "Please add the export.", *, surface: Surface = Surface.PROMPT, **context: object
    ) -> Trace:
        query = Query(
            surface=surface, text=text, raw_text=text, situation=Situation(actions=(("edit", 0.9),)),
            scope=ScopeFilter.of(SCOPE), at_ms=NOW_MS, budget_tokens=800,
        )  # fmt: skip
        return self.pipeline.run(
            query,
            preset=preset_of("focused"),
            settings=RecallSettings(),
            context=Context(**context),
            trace_id="t",
        )[1]


FAR = memory("mem_far", "Refunds go through the ledger service, never through the shop.")
OTHER = memory("mem_other", "The warehouse closes at six.")


def armed(
    *named: tuple[Memory, float], listed: tuple[Memory, ...] = (FAR, OTHER), at_ms: int = NOW_MS
) -> Armed:
    return Armed(
        epoch=0, turn=0, at_ms=at_ms, model="fake", listed=tuple(one.id for one in listed),
        memories=tuple(ArmedMemory(memory_id=one.id, content_hash=one.content_hash, probability=p) for one, p in named),
    )  # fmt: skip


def relevance(trace: Trace) -> dict[str, float]:
    return {one.memory_id: one.relevance for one in trace.candidates}


def facts(trace: Trace) -> list[Note]:
    return [
        fact
        for stage in trace.stages
        for fact in stage.facts
        if fact.cause.value.startswith(("armed", "judge"))
    ]


def test_what_is_armed_is_evidence_and_the_trace_says_so() -> None:
    bench = Bench(FAR, OTHER)
    before, after = bench.ask(), bench.ask(armed=armed((FAR, 0.7)))
    assert (before.decider, after.decider) == (Decider.LOCAL, Decider.ARMED)
    assert relevance(after)["mem_far"] > relevance(before)["mem_far"]
    assert relevance(after)["mem_other"] < relevance(before)["mem_other"]
    assert facts(before) == []
    (fact,) = facts(after)
    assert (fact.cause, fact.count, fact.of, fact.detail) == (NoteCause.ARMED, 1, 1, "fake")
    assert after.candidates[0].reasons[0] == "armed 0.70"


def test_an_armed_memory_that_no_space_finds_joins_the_short_list() -> None:
    others = [memory(f"mem_{at:02}", f"Please add the export number {at}.") for at in range(30)]
    bench = Bench(FAR, *others)
    assert "mem_far" not in relevance(bench.ask())
    assert "mem_far" in relevance(bench.ask(armed=armed((FAR, 0.6))))


@pytest.mark.parametrize("surface", [Surface.START, Surface.ON_DEMAND, Surface.SUBAGENT])
def test_other_surfaces_know_nothing_of_it(surface: Surface) -> None:
    trace = Bench(FAR, OTHER).ask(surface=surface, armed=armed((FAR, 0.7)))
    assert trace.decider is not Decider.ARMED
    assert facts(trace) == []


@pytest.mark.parametrize("surface", [Surface.ACTION, Surface.FAILURE])
def test_at_a_call_what_is_armed_is_looked_at_and_the_rules_of_exactness_decide(surface: Surface) -> None:
    bench = Bench(FAR, OTHER)
    trace = bench.ask("Traceback: the exporter broke", surface=surface, armed=armed((FAR, 0.9)))
    assert trace.decider is Decider.ARMED
    assert relevance(trace)["mem_far"] == 0.0
    assert trace.injected == ()


def test_a_memory_that_changed_since_is_judged_by_local_evidence_alone() -> None:
    bench = Bench(FAR, OTHER)
    changed = replace(FAR, content="Refunds go through the shop.")
    assert (
        relevance(bench.ask(armed=armed((changed, 0.9), listed=())))["mem_far"]
        == relevance(bench.ask())["mem_far"]
    )
    old = armed(listed=(OTHER,), at_ms=OTHER.updated_at_ms - 1)
    assert relevance(bench.ask(armed=old))["mem_other"] == relevance(bench.ask())["mem_other"]


def test_an_id_that_is_gone_or_out_of_scope_changes_nothing() -> None:
    gone = memory("mem_gone")
    hidden = replace(memory("mem_hidden", "A secret of another project."), scope=project_scope("q"))
    bench = Bench(FAR, OTHER, hidden)
    trace = bench.ask(armed=armed((gone, 0.9), (hidden, 0.9), listed=()))
    assert relevance(trace) == relevance(bench.ask())
    assert [(fact.count, fact.of) for fact in facts(trace)] == [(0, 2)]


def answering(named: dict[str, float] | None, cause: NoteCause = NoteCause.JUDGED):
    return lambda query, settings, remaining_ms: JudgeAnswer(
        named=named, note=Note(cause=cause, detail="fake")
    )


def test_a_model_at_the_prompt_decides_and_the_others_stay_away() -> None:
    trace = Bench(FAR, OTHER).ask(judge=answering({"mem_far": 0.6, "mem_other": 0.1}))
    assert trace.decider is Decider.JUDGE
    assert (trace.injected, trace.threshold) == (("mem_far",), 0.3)
    assert relevance(trace) == {"mem_far": 0.6, "mem_other": 0.1}
    assert trace.candidates[0].reasons == ("named by the model",)


def test_a_model_that_is_sure_of_nothing_gives_silence() -> None:
    trace = Bench(FAR, OTHER).ask("What of the warehouse?", judge=answering({"mem_far": 0.35}))
    assert (trace.injected, trace.threshold, trace.decider) == ((), 0.42, Decider.JUDGE)
    drops = {drop.memory_id: drop.why for stage in trace.stages for drop in stage.drops}
    assert drops["mem_far"].cause is DropCause.BELOW_THRESHOLD


def test_without_its_answer_the_gate_decides_as_ever() -> None:
    bench = Bench(FAR, OTHER)
    late = bench.ask(judge=answering(None, NoteCause.JUDGE_LATE))
    assert (late.decider, relevance(late)) == (Decider.LOCAL, relevance(bench.ask()))
    assert [fact.cause for fact in facts(late)] == [NoteCause.JUDGE_LATE]


def test_nobody_is_asked_where_no_action_is_coming_or_at_another_surface() -> None:
    def never(*_: object) -> JudgeAnswer:
        raise AssertionError

    bench = Bench(FAR)
    bench.ask(surface=Surface.FAILURE, judge=never)
    bench.ask(surface=Surface.ON_DEMAND, judge=never)
