"""The `typed` preset against its seed, item by item (`items/typed.toml`). The real engine over a real store."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import pytest

from presets.acceptance import acceptance
from presets.driving import lines_of
from samples import DAY_MS, NOW_MS
from tacit.app.reasons import reason_text, silence_text
from tacit.app.stats import stats_of
from tacit.app.values import Caller
from tacit.capture.prepare import importance_of
from tacit.capture.transcript import TranscriptSource
from tacit.config.fields import check_layer
from tacit.config.preset_files import preset_file
from tacit.config.settings import CaptureSettings, EmbedderSettings
from tacit.errors import InvalidSetting, TacitError
from tacit.mcp.tools import call
from tacit.model.changes import Draft, Rewrite
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Provenance, Sensitivity, TrustTier
from tacit.model.note import NoteCause
from tacit.model.pack import Surface
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from tacit.presets import preset_of
from tacit.presets.typed.preset import typed_start
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import CACHE_TTL_S, make_embedder
from tacit.recall.budget import adjusted_budget

LOGIN = "please fix the login bug in the session module"


@pytest.fixture
def lab(open_workplace):
    return open_workplace("typed")


def traced(lab, content, surface=None):
    """The traced candidate that says `content`."""
    found = [c for c in lab.last_trace(surface).candidates if c.content == content]
    assert found, f"{content!r} was no candidate"
    return found[0]


def drops(lab, stage="score"):
    """memory id -> why `stage` let it go, in the newest trace."""
    return {
        d.memory_id: reason_text(d.why) for s in lab.last_trace().stages if s.stage == stage for d in s.drops
    }


# --- 1, 2: what comes when, and how it is scored -----------------------------------------------------------------


@acceptance("typed", "1.2-start", "3.1-start", "9.1-a", "10.2")
def test_a_start_brings_the_projects_context(lab):
    lab.know("Always use type hints.")
    lab.know("Use PostgreSQL for orders.", "decision", days_ago=3)
    lab.know("cart.py holds the basket.", "file_context")
    lab.know("Timeout means the pool is empty.", "error_pattern", days_ago=9)
    block = lab.agent().start()
    for words in ("type hints", "PostgreSQL", "basket", "pool is empty"):
        assert words in block
    assert lab.last_trace().budget_tokens == 2000
    assert 0 < lab.last_trace().tokens <= 2000


@acceptance("typed", "1.2-prompt")
def test_a_prompt_brings_what_is_specific_to_it(lab):
    lab.know("The login bug in the session module was a missing await.", "error_pattern")
    lab.know("Ship invoices by carrier pigeon.", "decision")
    block = lab.agent().prompt(LOGIN)
    assert "missing await" in block
    assert "pigeon" not in block
    assert lab.last_trace().budget_tokens == 800


@acceptance("typed", "1.2-failure", "3.1-failure", "5.1-failure")
def test_a_failure_brings_error_patterns_and_a_success_nothing(lab):
    lab.know("pytest failed with connection refused because postgres was down.", "error_pattern")
    lab.know("pytest failed with connection refused is how preferences look.", "preference")
    agent = lab.agent()
    assert agent.edited("src/app.py") == ""
    block = agent.failed("pytest", "pytest failed with connection refused because postgres was down")
    assert "postgres was down" in block
    assert "preferences look" not in block
    assert lab.last_trace(Surface.FAILURE).budget_tokens == 300


@acceptance("typed", "1.2-end", "9.4-a")
def test_one_session_from_start_to_end(lab):
    lab.know("Always use type hints.")
    agent = lab.agent()
    assert "type hints" in agent.start()
    agent.prompt("Fix the authentication bug in auth.py please")
    assert agent.edited("auth.py") == ""
    assert agent.end() == ""


@acceptance("typed", "2.1", "10.1")
def test_relevance_is_the_weighted_sum(lab):
    # cosine: 4 shared words of 4 and 9 -> 4 / 6; recency 0.5 after 180 days; importance 0.6; 5 of 10 uses;
    # priority of a decision for a bug 0.7
    lab.know("fix login bug session", "decision", days_ago=180, importance=0.6, use_count=5)
    lab.agent().prompt(LOGIN)
    found = traced(lab, "fix login bug session")
    similar = dict(found.scores)["semantic"]
    assert similar == pytest.approx(4 / (4 * 10) ** 0.5, abs=0.05)
    assert found.relevance == pytest.approx(
        0.40 * similar + 0.20 * 0.5 + 0.15 * 0.6 + 0.10 * 0.5 + 0.15 * 0.7, abs=2e-3
    )


@acceptance("typed", "2.1-access")
def test_uses_count_up_to_ten(lab):
    for number, uses in enumerate((0, 10, 40)):
        lab.know(f"fix login bug session {number}", "decision", use_count=uses)
    lab.agent().prompt(LOGIN)
    scores = [traced(lab, f"fix login bug session {n}").relevance for n in range(3)]
    assert scores[1] - scores[0] == pytest.approx(0.10, abs=1e-3)
    assert scores[2] == pytest.approx(scores[1], abs=1e-3)


@acceptance("typed", "2.2-task")
def test_words_tell_the_task(lab):
    for number, (prompt, task) in enumerate((
        ("please fix the broken login form", "fix"), ("the checkout shows an error since noon", "fix"),
        ("implement a new export of invoices", "feature"), ("refactor the basket, it grew too long", "refactor"),
        ("raise the coverage of the basket module", "test"), ("change the address of the warehouse", "general"),
    )):  # fmt: skip
        lab.know(f"{prompt} in memory", "preference")
        lab.agent(f"s{number}").prompt(prompt)
        assert f"task {task}" in traced(lab, f"{prompt} in memory").reasons, prompt


@acceptance("typed", "2.2-types")
def test_each_task_looks_at_its_types(lab):
    kinds = ("preference", "decision", "file_context", "error_pattern")
    for number, (prompt, shut_out) in enumerate((
        ("please fix the broken login form", set()), ("implement a better sign-up page today", {"error_pattern"}),
        ("refactor the broad invoice export today", {"error_pattern"}), ("testing the basket total comes next", {"decision"}),
        ("change the warehouse address as discussed", set()),
    )):  # fmt: skip
        for kind in kinds:
            lab.know(f"{prompt} {kind}", kind)
        block = lab.agent(f"s{number}").prompt(prompt)
        assert {kind for kind in kinds if f"{prompt} {kind}" not in block} == shut_out, prompt


@acceptance("typed", "2.2-many")
def test_ten_candidates_are_asked_for_and_filtered(lab):
    for number in range(30):
        lab.know(f"fix the login bug in module {number}", "decision")
    lab.agent().prompt(LOGIN)
    stage = next(s for s in lab.last_trace().stages if s.stage == "retrieve")
    counts = {fact.detail: fact.count for fact in stage.facts if fact.cause is NoteCause.SPACE_ASKED}
    assert counts["semantic"] == 10
    assert all(count <= 10 for count in counts.values())


@acceptance("typed", "2.2-importance")
def test_unimportant_memories_stay_out(lab):
    lab.know("fix login bug session high", "decision", importance=0.2)
    low = lab.know("fix login bug session low", "decision", importance=0.1)
    block = lab.agent().prompt(LOGIN)
    assert "session high" in block
    assert "session low" not in block
    assert "importance 0.10 below 0.15" in drops(lab)[low.id]


@acceptance("typed", "2.2-context")
def test_a_short_prompt_is_read_with_the_one_before(lab):
    lab.know("the login bug of the session module was a missing await", "error_pattern")
    agent = lab.agent()
    agent.prompt("please look at pagination of the catalogue first of all")
    agent.prompt("there is a login bug of the session module to fix")
    lab.know("the login bug of the session module also hit the cart", "error_pattern")
    assert "hit the cart" in agent.prompt("fix all of it please")


@acceptance("typed", "2.3-minimum", "2.3-types", "6.1-thresholds")
@pytest.mark.parametrize(
    ("kind", "least"),
    [("preference", 0.30), ("decision", 0.40), ("file_context", 0.45), ("error_pattern", 0.50),
     ("research", 0.45), ("outcome", 0.55), ("fact", 0.35)],
)  # fmt: skip
def test_every_type_has_its_least_similarity(open_workplace, kind, least):
    lab = open_workplace("typed", recall={"kinds": [], "typed": {"by_task": False}})
    floors = lab.engine.settings.recall.typed.similarity
    assert floors.get(kind, floors["*"]) == least
    words = [f"word{n}" for n in range(25)]
    prompt = f"change {' '.join(words[:24])}"  # 25 words
    near = round(least * 25 + 0.51) + 1
    far = int(least * 25) - 1
    kept = lab.know(" ".join(words[:near] + [f"a{n}" for n in range(25 - near)]), kind)
    gone = lab.know(" ".join(words[:far] + [f"b{n}" for n in range(25 - far)]), kind)
    lab.agent().prompt(prompt)
    assert gone.id in drops(lab)
    assert f"below {least:.2f} for kind {kind}" in drops(lab)[gone.id]
    assert kept.id not in drops(lab)


@acceptance("typed", "2.3-certain")
def test_what_is_certain_is_always_included(open_workplace):
    lab = open_workplace("typed", recall={"thresholds": {"prompt": 1.0}})
    lab.know("please fix the login bug in the session module", "error_pattern", days_ago=400)
    lab.know("please fix the login page of the shop", "decision", days_ago=400)
    block = lab.agent().prompt(LOGIN)
    assert "session module" in block
    assert "page of the shop" not in block


@acceptance("typed", "2.4")
def test_recency_halves_by_type(open_workplace):
    lab = open_workplace(
        "typed", recall={"kinds": [], "typed": {"similarity": {}, "by_task": False, "least_importance": 0.0}}
    )
    for kind, days in (
        ("decision", 180), ("file_context", 90), ("error_pattern", 30), ("research", 45), ("outcome", 14), ("goal", 60),
        ("preference", None),
    ):  # fmt: skip
        subject = f"{kind[:4]}subject"
        lab.know(f"fix {subject} bug session new", kind)
        lab.know(f"fix {subject} bug session old", kind, days_ago=days or 4000)
        lab.agent(kind).prompt(f"please fix the {subject} bug in the session module")
        new, old = (traced(lab, f"fix {subject} bug session {age}") for age in ("new", "old"))
        similar = [dict(one.scores)["semantic"] for one in (new, old)]
        lost = (new.relevance - old.relevance) - 0.4 * (similar[0] - similar[1])
        assert lost == pytest.approx(0.20 * 0.5 if days else 0.0, abs=2e-3), kind


@acceptance("typed", "2.5-default", "2.5-fix")
@pytest.mark.parametrize(
    ("prompt", "ranks"),
    [
        ("change the login form as discussed before",
         {"preference": 1.0, "decision": 0.9, "error_pattern": 0.8, "file_context": 0.7, "research": 0.6, "outcome": 0.5}),
        ("fix the login form as discussed before",
         {"error_pattern": 1.0, "file_context": 0.9, "preference": 0.8, "decision": 0.7, "research": 0.5, "outcome": 0.6}),
    ],
)  # fmt: skip
def test_priority_depends_on_the_task(open_workplace, prompt, ranks):
    lab = open_workplace("typed", recall={"kinds": [], "typed": {"similarity": {}, "by_task": False}})
    for kind in ranks:
        lab.know(f"the login form as discussed {kind}", kind, importance=0.5)
    lab.agent().prompt(prompt)
    for kind, rank in ranks.items():
        found = traced(lab, f"the login form as discussed {kind}")
        expected = 0.4 * dict(found.scores)["semantic"] + 0.2 + 0.15 * 0.5 + 0.15 * rank
        assert found.relevance == pytest.approx(expected, abs=2e-3), kind


# --- 3: injection --------------------------------------------------------------------------------------------------


@acceptance("typed", "3.1-off", "6.1-switch", "8.3-off")
def test_switched_off_is_off(open_workplace):
    lab = open_workplace("typed", recall={"enabled": False})
    lab.know("fix the login bug in the session module", "error_pattern")
    agent = lab.agent()
    assert agent.start() == ""
    assert agent.prompt(LOGIN) == ""
    assert silence_text(lab.last_trace()) == "recall is off in the settings"


@acceptance("typed", "3.1-prompt-off", "6.1-points")
@pytest.mark.parametrize("off", ["start", "prompt", "failure"])
def test_every_point_has_its_switch_and_budget(open_workplace, off):
    lab = open_workplace("typed", recall={"budgets": {off: 0}})
    lab.know("pytest login bug session module refused", "error_pattern")
    agents = [lab.agent(f"s{n}") for n in range(3)]
    got = {
        "start": agents[0].start(),
        "prompt": agents[1].prompt("fix the pytest login bug session module refused"),
        "failure": agents[2].failed("pytest", "pytest login bug session module refused"),
    }
    assert {point for point, text in got.items() if not text} == {off}


@acceptance("typed", "3.1-files", "4.2-file")
def test_files_at_hand_are_remembered(lab):
    agent = lab.agent()
    agent.prompt("please fix the basket of the shop today")
    agent.edited("src/cart.py")
    [state] = lab.engine.sessions()
    assert state.recent_files == ("src/cart.py",)


@acceptance("typed", "3.1-end", "6.1-capture")
@pytest.mark.parametrize(
    ("capture", "learned"), [({"enabled": False}, 0), ({"kinds": ["error_pattern", "decision"]}, 0), ({}, 1)]
)
def test_capture_has_its_switches(open_workplace, capture, learned):
    lab = open_workplace("typed", capture=capture)
    lab.agent().prompt("remember that we always deploy on Tuesdays")
    assert len(lab.kinds_stored()) == learned


@acceptance("typed", "3.3-sections", "9.5-b")
def test_a_start_block_has_a_section_per_type(lab):
    lab.know("Timeout means the pool is empty.", "error_pattern")
    lab.know("Use PostgreSQL for orders.", "decision", importance=0.9)
    lab.know("Use Redis for sessions.", "decision", importance=0.2)
    lab.know("Always use type hints in Python code.")
    block = lab.agent().start()
    at = [block.index(words) for words in (
        "## Project Context from Previous Sessions", "### Preference", "type hints", "### Decision", "PostgreSQL",
        "Redis", "### Error Pattern", "pool is empty", "---",
    )]  # fmt: skip
    assert at == sorted(at)
    assert "{" not in block
    assert block.startswith("<tacit-memory")
    assert block.endswith("</tacit-memory>")


@acceptance("typed", "3.3-inline")
def test_a_prompt_block_is_one_list_with_prefixes(lab):
    lab.know("login bug session module await", "error_pattern")
    lab.know("login bug session module review", "preference")
    lab.know("login bug session module rewrite", "decision")
    block = lab.agent().prompt(LOGIN)
    assert "Based on your project history:" in block
    assert "###" not in block
    assert sorted(line.split("]")[0] for line in lines_of(block)) == ["- [DEC", "- [ERR", "- [PREF"]


@acceptance("typed", "3.3-fit", "9.1-c", "11-budget")
@pytest.mark.parametrize("budget", [120, 500])
def test_fifty_long_decisions_stay_within_the_budget(open_workplace, budget):
    lab = open_workplace("typed", recall={"budgets": {"start": budget}})
    for number in range(50):
        lab.know(f"Decision {number}: " + "x" * 100, "decision")
    block = lab.agent().start()
    assert lab.engine._parts.tokens.count(block) <= budget
    assert lab.last_trace().tokens <= budget
    if budget >= 500:
        assert lines_of(block)


# --- 4: capture ----------------------------------------------------------------------------------------------------


def draft(kind, content="Run lint.", **fields):
    return Draft(
        content=content, kind=kind, scope=project_scope("shop"), provenance=Provenance(tier=TrustTier.USER),
        at_ms=NOW_MS, **fields,
    )  # fmt: skip


def importance(given):
    """What the design makes of a draft."""
    capture = CaptureSettings.model_validate(preset_file("typed").values["capture"])
    kind = KindRegistry().get(given.kind)
    return importance_of(given, kind, capture)


@acceptance("typed", "4.1", "10.3")
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("decision", 1.2, 1.5), ("error_pattern", 1.0, 1.3), ("preference", 1.5, 2.0), ("file_context", 0.8, 1.1),
     ("outcome", 0.6, 0.9), ("research", 0.9, 1.2)],
)  # fmt: skip
def test_importance_ranges_by_type(kind, low, high):
    assert importance(draft(kind)) == pytest.approx(low / 2)
    assert importance(draft(kind, explicit=True)) <= high / 2 + 1e-9


@acceptance("typed", "4.2-preference", "12.4")
def test_a_stated_preference_is_learned_at_once(lab):
    agent = lab.agent()
    agent.prompt("From now on always use tabs in Makefiles.")
    [memory] = lab.engine.list_memories(MemoryFilter())
    assert memory.kind in ("preference", "guideline")
    assert "tabs in Makefiles" in memory.content
    # 0.75 for a rule, 0.15 stated outright, 0.1 for "always"
    assert memory.importance == pytest.approx(1.0)


@acceptance("typed", "4.2-decision", "9.4-b")
def test_a_stated_decision_is_learned_as_one(lab):
    lab.agent().prompt("Remember that we decided to use JWT with RS256 for the API.")
    [(kind, content)] = lab.kinds_stored()
    assert kind == "decision"
    assert "RS256" in content


@acceptance("typed", "4.2-error", "4.2-generic")
def test_an_error_and_its_fix_stand_for_a_pattern_and_a_lone_error_for_nothing(lab):
    changes = lab.engine.remember(
        "`pytest` fails with 'no such table: orders': run `make migrate` first.", kind="error_pattern",
        cwd=str(lab.place),
    )  # fmt: skip
    assert [type(change).__name__ for change in changes] == ["Add"]
    agent = lab.agent()
    agent.failed("make", "timeout")
    agent.end()
    assert {kind for kind, _ in lab.kinds_stored()} == {"error_pattern"}


@acceptance("typed", "4.3-duplicate", "4.3-merge")
def test_a_duplicate_raises_what_is_stored(lab):
    assert lab.engine.settings.capture.near_cosine == 0.85
    lab.engine.remember("Run the linter before every single commit.", kind="preference", cwd=str(lab.place))
    [before] = lab.engine.list_memories(MemoryFilter())
    lab.clock.advance(1000)
    lab.agent().prompt("Remember that: run the linter before every single commit.")
    lab.engine.flush()
    [after] = lab.engine.list_memories(MemoryFilter())
    assert after.frequency == 2
    assert after.importance == pytest.approx(min(1.0, max(before.importance, 0.9) + 0.1))


@acceptance("typed", "4.4")
def test_importance_adds_up_and_is_capped():
    plain = importance(draft("decision"))
    gains = {
        0.15: draft("decision", explicit=True),
        0.1: draft("decision", files=("a.py", "b.py")),
        0.1001: draft("decision", "This is important"),
    }
    for gain, given in gains.items():
        assert importance(given) == pytest.approx(plain + gain, abs=1e-3)
    whole = draft("preference", "Always do!", explicit=True, files=("a", "b"))
    assert importance(whole) == 1.0
    assert importance(draft("decision", importance=0.2)) == 0.2


# --- 5: budgets ----------------------------------------------------------------------------------------------------


@acceptance("typed", "5.1-start", "5.2-start-shares")
def test_the_start_is_shared_out_by_type(lab):
    recall = lab.engine.settings.recall
    assert {k: round(v * recall.budgets.start) for k, v in recall.typed.start_shares.items()} == {
        "preference": 500, "decision": 600, "file_context": 400, "error_pattern": 300, "research": 200,
    }  # fmt: skip
    for number in range(20):
        lab.know(f"Rule {number}: " + "never do this thing again " * 12, "preference")
    for number in range(8):
        lab.know(f"Choice {number}: " + "we took that way for good " * 12, "decision")
    block = lab.agent().start()
    kept = {"PREF": 0, "DEC": 0}
    for line in lines_of(block):
        kept[line[3:].split("]")[0]] += lab.engine._parts.tokens.count(line)
    assert kept["DEC"] > 350  # twenty rules with a score of 1.0 do not crowd decisions out
    assert kept["PREF"] > 500  # and what the other types leave is handed on


@acceptance("typed", "5.1-prompt", "5.2-prompt-shares")
def test_a_prompt_is_shared_out_by_relevance_and_type(lab):
    recall = lab.engine.settings.recall
    shares = {k: round(v * recall.budgets.prompt) for k, v in recall.typed.prompt_shares.items()}
    assert (shares["high"], shares["medium"]) == (500, 300)
    assert [shares[k] for k in ("preference", "decision", "file_context", "error_pattern")] == [
        160,
        200,
        240,
        200,
    ]


CROWD = {"candidates_per_space": 100, "max_items": 60}
TYPES = ("preference", "decision", "file_context", "error_pattern")
CROWDED = "fix the login bug in the session module of the shop basket"


def crowd(lab, kinds, *, high, medium):
    """Store `high` memories of a kind with a relevance of 0.7 and more for `CROWDED`, and `medium` between 0.5 and 0.7."""
    for kind in kinds:
        for number in range(high + medium):
            own = " ".join(f"{kind[:3]}{number}{letter}" for letter in "abc")
            value = {"importance": 1.0, "use_count": 10} if number < high else {"importance": 0.16}
            lab.know(f"login bug session module shop basket {own}", kind, **value)


def tokens_by_band(lab, block):
    """Tokens of a block's lines whose relevance is 0.7 and more, and of those below."""
    trace, spent = lab.last_trace(), {"high": 0, "medium": 0}
    for line in lines_of(block):
        relevance = next(c.relevance for c in trace.candidates if c.content in line)
        assert relevance >= 0.5
        spent["high" if relevance >= 0.7 else "medium"] += lab.engine._parts.tokens.count(line)
    return spent


@acceptance("typed", "5.1-prompt")
def test_a_prompt_pack_keeps_room_for_medium_relevance(open_workplace):
    small = {**CROWD, "budgets": {"prompt": 300}}
    shared = open_workplace("typed", recall=small)
    crowd(shared, TYPES, high=3, medium=2)
    assert 50 < tokens_by_band(shared, shared.agent().prompt(CROWDED))["medium"] <= 130
    free = open_workplace("typed", recall={**small, "typed": {"prompt_shares": {}}})
    crowd(free, TYPES, high=3, medium=2)
    spent = tokens_by_band(free, free.agent().prompt(CROWDED))
    assert (spent["high"] > 200, spent["medium"]) == (True, 0), "without shares the best take it all"


@acceptance("typed", "5.1-prompt")
def test_one_band_alone_may_have_the_whole_budget(open_workplace):
    lab = open_workplace("typed", recall=CROWD)
    crowd(lab, TYPES, high=12, medium=0)
    assert tokens_by_band(lab, lab.agent().prompt(CROWDED))["high"] > 600


@acceptance("typed", "5.2-even")
def test_after_a_failure_no_band_has_a_share(open_workplace):
    lab = open_workplace("typed", recall=CROWD)
    crowd(lab, ["error_pattern"], high=12, medium=6)
    block = lab.agent().failed("make shop", "login bug session module shop basket")
    found = [int(number) for number in re.findall(r"\berr(\d+)a\b", block)]
    assert len(found) >= 5
    assert all(number < 12 for number in found)


@acceptance("typed", "5.2-even")
def test_an_answer_on_demand_keeps_no_share_for_a_type(open_workplace):
    lab = open_workplace("typed", recall={**CROWD, "budgets": {"on_demand": 300}})
    crowd(lab, ["error_pattern", "file_context"], high=10, medium=0)
    trace = lab.engine.recall(CROWDED, cwd=str(lab.place), surface=Surface.ON_DEMAND).trace
    best_of_type = {c.kind: c.memory_id for c in reversed(trace.candidates)}
    given = [c.relevance for c in trace.candidates if c.memory_id in trace.injected]
    left = [c.relevance for c in trace.candidates if c.memory_id not in trace.injected]
    assert set(best_of_type.values()) <= set(trace.injected)
    assert len(left) > 5
    assert sorted(given)[1] >= max(left), "one of each type, then the best by score"


@acceptance("typed", "5.1-bounds", "5.2-prompt", "5.2-window", "5.2-usage")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"prompt_tokens": 5000}, 800),
        ({"prompt_tokens": 9000}, 640),  # a fifth less
        ({"prompt_tokens": 90_000}, 400),  # half at most
        ({"window_tokens": 100_000}, 400),
        ({"window_tokens": 8000}, 200),  # never below the least
        ({"window_tokens": 1_000_000}, 800),  # never above the surface's own
        ({"recent_share": 1.0}, 600),
    ],
)
def test_budgets_adjust(given, expected):
    by = ("prompt", "window", "usage")
    assert adjusted_budget(800, by=by, **given) == expected
    assert adjusted_budget(800, by=(), **given) == 800


@acceptance("typed", "5.2-prompt", "5.2-usage")
def test_a_long_prompt_gets_a_smaller_budget(lab):
    agent = lab.agent()
    agent.prompt("fix the login bug " + "and so on and on " * 1800)  # about 7,600 tokens
    assert 600 < lab.last_trace().budget_tokens < 750


@acceptance("typed", "5.2-prompt")
@pytest.mark.slow
@pytest.mark.parametrize(
    "prompt",
    [
        "How is authentication done here? " + "word " * 12_000,
        "How is authentication done here?\n\n" + "2026-11-02 INFO request served in 12 ms by worker\n" * 2000,
        "The build log says nothing special. " * 1500 + "\n\nHow do users authenticate?",
        "Please add a way for users to authenticate.\n\n"
        + '{"id": 17, "name": "shelf", "rows": [1, 2, 3]}\n' * 1500,
    ],
)
def test_a_long_prompt_halves_the_budget_and_still_gets_what_it_asks_for(open_workplace, minilm, prompt):
    lab = open_workplace("typed", embedder=minilm)
    lab.know("We use JWT with RS256 for authentication", "decision")
    lab.know("Invoices are printed on Fridays", "decision")
    block = lab.agent().prompt(prompt)
    assert "RS256" in block
    assert "Fridays" not in block
    assert 400 <= lab.last_trace().budget_tokens < 800


@acceptance("typed", "2.3-types")
@pytest.mark.slow
def test_the_designs_own_thresholds_let_a_question_through(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm)
    lab.know("We use JWT with RS256 for authentication", "decision")
    assert lab.engine.settings.recall.typed.similarity["decision"] == 0.40
    assert "RS256" in lab.agent("a").prompt("How is authentication done here?")
    assert "RS256" in lab.agent("b").prompt("Please add authentication to the new endpoint")


TWINS = [
    (
        "please set up sign-in for the parents' portal",
        ("decision", "Parents identify themselves with a link sent by mail, never with a password"),
        ("preference", "Buttons are green and have round corners"),
    ),
    (
        "the sensor reports nonsense after rain, repair it",
        ("error_pattern", "Humidity readings are wrong while water condenses on the chip; heat it first"),
        ("decision", "Readings are published over MQTT"),
    ),
    (
        "fix the wrong totals on the pupils' bills",
        ("error_pattern", "Invoice sums were off by a cent because each lesson was rounded alone"),
        ("decision", "The timetable lives in PostgreSQL"),
    ),
    (
        "create the page where readers extend a loan",
        ("decision", "A loan can be renewed twice, unless somebody waits for the copy"),
        ("preference", "Tailwind classes are sorted by the formatter"),
    ),
]
"""Twins of the pairs in section 9.2, in other words and other domains: a task, what belongs to it, what does not."""


@acceptance("typed", "9.2-twins")
@pytest.mark.slow
def test_twins_of_the_designs_pairs(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm)
    for _, *pair in TWINS:
        for kind, content in pair:
            lab.know(content, kind)
    for task, wanted, other in TWINS:
        for answer in (
            lab.agent(task).prompt(task),
            use_tool(lab, "get_context_for_task", task_description=task),
            use_tool(lab, "inject_context", topic=task),
        ):
            assert wanted[1] in answer
            assert other[1] not in answer


@acceptance("typed", "9.2-twins")
@pytest.mark.slow
def test_a_twin_of_the_unrelated_decision(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm)
    lab.know("Prices are cached in memcached for an hour", "decision")
    assert lab.agent().prompt("How do I turn a text into a number in Go?") == ""


@acceptance("typed", "5.1-bounds")
def test_no_budget_is_absurd():
    with pytest.raises(InvalidSetting):
        raise_for("budgets", {"start": 50_000})


def raise_for(section, values):
    for _, problem in check_layer({"recall": {section: values}}, place=str).problems:
        raise problem


@acceptance("typed", "5.3-each", "5.3-fill")
def test_one_of_each_type_comes_first(open_workplace):
    lab = open_workplace("typed", recall={"budgets": {"start": 260}, "typed": {"start_shares": {}}})
    for number in range(12):
        lab.know(f"Rule number {number} is to be kept by all of us.")
    lab.know("Orders live in PostgreSQL.", "decision")
    lab.know("cart.py holds the basket.", "file_context")
    lines = lines_of(lab.agent().start())
    prefixes = [line[3:].split("]")[0] for line in lines]
    assert {"PREF", "DEC", "FILE"} <= set(prefixes)
    assert prefixes.count("PREF") > 1


@acceptance("typed", "5.3-sentence")
def test_a_long_memory_keeps_its_first_sentences(open_workplace):
    lab = open_workplace("typed", recall={"budgets": {"start": 170}})
    lab.know(
        "Use PostgreSQL for orders. " + "It was chosen after a long comparison of many stores. " * 12,
        "decision",
    )
    [line] = lines_of(lab.agent().start())
    assert "Use PostgreSQL for orders." in line
    assert re.search(r"[.] \.\.\. \(user", line)


# --- 6, 7: settings, safety ----------------------------------------------------------------------------------------


@acceptance("typed", "6.1-weights")
def test_the_weights_are_settings(open_workplace):
    lab = open_workplace(
        "typed",
        recall={"typed": {"semantic": 0.0, "recency": 1.0, "importance": 0.0, "access": 0.0, "kind": 0.0}},
    )
    lab.know("fix login bug session module", "decision", days_ago=180)
    lab.agent().prompt(LOGIN)
    assert traced(lab, "fix login bug session module").relevance == pytest.approx(0.5, abs=1e-3)


@acceptance("typed", "2.4")
@pytest.mark.parametrize(("kinds", "lost"), [({}, 0.0076), ({"decision": {"half_life_days": 10}}, 0.1)])
def test_a_half_life_of_the_users_changes_the_score(open_workplace, kinds, lost):
    lab = open_workplace("typed", kinds=kinds)
    lab.know("fix login bug session", "decision", days_ago=10, importance=0.5)
    lab.agent().prompt(LOGIN)
    found = traced(lab, "fix login bug session")
    whole = 0.40 * dict(found.scores)["semantic"] + 0.20 + 0.15 * 0.5 + 0.15 * 0.7
    assert whole - found.relevance == pytest.approx(lost, abs=2e-3)  # 0.2 * (1 - 2 ** (-10 / half-life))


@acceptance("typed", "6.1-types")
def test_research_is_off(lab):
    lab.know("add login session module research", "research")
    assert lab.agent().prompt("add a login form to the session module") == ""
    [retrieve] = [stage for stage in lab.last_trace().stages if stage.stage == "retrieve"]
    asked = [fact.detail for fact in retrieve.facts if fact.cause is NoteCause.KINDS_ASKED]
    assert "decision" in asked
    assert "research" not in asked


@acceptance("typed", "6.1-types")
def test_research_can_be_added(open_workplace):
    more = open_workplace("typed", recall={"kinds": ["research"]})
    more.know("add login session module research", "research")
    assert "module research" in more.agent().prompt("add a login form to the session module")


@acceptance("typed", "6.1-isolation", "7.1-project", "12.2")
@pytest.mark.parametrize("link", [[], ["other-1"]])
def test_projects_do_not_see_one_another_without_a_link(open_workplace, link):
    lab = open_workplace("typed", project={"link": link})
    lab.know("fix login bug session module elsewhere", "decision", scope=project_scope("other-1"))
    assert ("elsewhere" in lab.agent().prompt(LOGIN)) is bool(link)


@acceptance("typed", "6.2", "C", "10.4", "10.5")
def test_the_defaults_of_the_runtime_configuration(lab):
    settings = lab.engine.settings
    recall = settings.recall
    assert (recall.enabled, settings.capture.enabled) == (True, True)
    assert (recall.budgets.start, recall.budgets.prompt, recall.budgets.failure) == (2000, 800, 300)
    assert (recall.thresholds.prompt, recall.typed.certain) == (0.40, 0.70)
    weights = recall.typed
    assert (weights.semantic, weights.recency, weights.importance, weights.access, weights.kind) == (
        0.40, 0.20, 0.15, 0.10, 0.15,
    )  # fmt: skip
    assert {"preference", "decision", "file_context", "error_pattern"} <= set(recall.kinds)
    assert settings.capture.near_cosine == 0.85


@acceptance("typed", "7.1-restricted", "7.1-public", "7.1-session")
def test_sensitivity_limits_where_a_memory_appears(lab):
    lab.know("fix login bug session module restricted", "decision", sensitivity=Sensitivity.RESTRICTED)
    lab.know("fix login bug session module public", "decision", sensitivity=Sensitivity.PUBLIC)
    lab.know("fix login bug session module of-s1", "decision", scope=Scope.parse("session:claude-code/s1"))
    s1 = {"host": "claude-code", "session_id": "s1"}
    lab.know("fix login bug session module said-in-s1", "decision", sensitivity=Sensitivity.SESSION, said=s1)
    mine, other = lab.agent("s1").prompt(LOGIN), lab.agent("s2").prompt(LOGIN)
    assert "module public" in mine
    assert "restricted" not in mine + other
    assert "of-s1" in mine
    assert "said-in-s1" in mine
    assert "said-in-s1" not in other
    assert "of-s1" not in other
    assert "restricted" in lab.engine.recall("login bug session module", cwd=str(lab.place)).block.text


@acceptance("typed", "7.2-patterns", "7.2-private-key")
def test_what_looks_like_a_secret_is_not_injected(lab):
    for number, secret in enumerate((
        "api_key = 'a9f8e7d6c5b4a3f2e1d0'",
        "password: hunter2-and-more",
        "sk-ant-api03-" + "a1B2" * 12,
        "-----BEGIN RSA PRIVATE KEY----- MIIEowIBAAKCAQEAx7Vq2f9 -----END RSA PRIVATE KEY-----",
    )):  # fmt: skip
        lab.know(f"fix login bug session module with {secret}", "error_pattern")
        block = lab.agent(f"s{number}").prompt(LOGIN)
        assert "session module with" in block
        assert secret not in block


@acceptance("typed", "7.3-project")
def test_the_project_stands_on_every_memory(lab):
    lab.agent().prompt("Remember that we always deploy on Tuesdays.")
    lab.engine.flush()
    [memory] = lab.engine.list_memories(MemoryFilter())
    assert memory.scope == project_scope(lab.project.id)


@acceptance("typed", "7.3-share")
@pytest.mark.parametrize("share", [True, False])
def test_shared_rules_are_a_choice(open_workplace, share):
    lab = open_workplace("typed", project={"share_preferences": share})
    lab.know("Always use type hints.", scope=Scope.parse("universal"))
    assert ("type hints" in lab.agent().start()) is share


OTHER = project_scope("other-1")
BY_AGENT_HERE = {"source": "mcp", "host": "claude-code", "session_id": "s9"}


@acceptance("typed", "6.1-share", "7.1-public", "7.3-share")
@pytest.mark.parametrize(
    ("others", "seen"), [("nothing", ""), ("public", "public"), ("preferences", "public ruff named")]
)
def test_the_users_preferences_and_what_is_public_come_from_other_projects(open_workplace, others, seen):
    lab = open_workplace("typed", project={"others": others})
    lab.know("fix login bug session module public", "decision", scope=OTHER, sensitivity=Sensitivity.PUBLIC)
    lab.know("fix login bug session module with ruff", "preference", scope=OTHER)
    lab.know("never fix login bug session module unnamed", "anti_pattern", scope=OTHER)
    words = {"public": "module public", "ruff": "with ruff", "named": "unnamed"}
    for block in (
        lab.agent("start").start(),
        lab.agent("prompt").prompt(LOGIN),
        use_tool(lab, "inject_context", topic="fix the login bug session module"),
    ):
        assert {name for name, text in words.items() if text in block} == set(seen.split())


@acceptance("typed", "6.1-share")
def test_nothing_else_comes_from_another_project(open_workplace):
    lab = open_workplace("typed", project={"others": "preferences"})

    def elsewhere(what, kind="preference", scope=OTHER, **fields):
        lab.know(f"fix login bug session module {what}", kind, scope=scope, **fields)

    elsewhere("restricted", sensitivity=Sensitivity.RESTRICTED)
    elsewhere("session", sensitivity=Sensitivity.SESSION, said={"host": "claude-code", "session_id": "s1"})
    elsewhere("decided", "decision")
    elsewhere("noted", tier=TrustTier.ASSISTANT, said=BY_AGENT_HERE)
    elsewhere("noted-public", tier=TrustTier.ASSISTANT, said=BY_AGENT_HERE, sensitivity=Sensitivity.PUBLIC)
    elsewhere("vouched", said=BY_AGENT_HERE)
    elsewhere("mate", tier=TrustTier.TEAMMATE)
    elsewhere("rulefile", said={"source": "docs/CLAUDE.md"}, sensitivity=Sensitivity.PUBLIC)
    elsewhere("folder", scope=Scope.parse("path:other-1/api"))
    elsewhere("task", scope=Scope.parse("project:other-1:task:debugging"))
    elsewhere("user", scope=project_scope("user~ana-0"), sensitivity=Sensitivity.PUBLIC)
    agent = lab.agent()
    given = (
        agent.start() + agent.prompt(LOGIN) + use_tool(lab, "memory_search", query="login bug session module")
    )
    assert "session module" not in given.replace(LOGIN, "")


@acceptance("typed", "6.1-share")
def test_a_preference_that_becomes_private_leaves_the_other_projects(open_workplace):
    lab = open_workplace("typed", project={"others": "preferences"})
    memory = lab.know("fix login bug session module with ruff", scope=OTHER)
    assert "ruff" in lab.agent("before").prompt(LOGIN)
    lab.engine.store.apply([Rewrite(memory=replace(memory, sensitivity=Sensitivity.RESTRICTED))])
    assert lab.agent("after").prompt(LOGIN) == ""
    assert lab.agent("start").start() == ""
    lab.engine.store.apply([Rewrite(memory=memory)])
    assert "ruff" in lab.agent("again").prompt(LOGIN)
    assert lab.agent("own").start()
    assert lab.engine.list_memories(MemoryFilter(), scope=ScopeFilter.of(OTHER)) == (memory,)


# --- 8: implementation ---------------------------------------------------------------------------------------------


@acceptance("typed", "8.1-stats")
def test_stats_tell_considered_from_injected(lab):
    lab.know("fix login bug session module await", "error_pattern")
    lab.know("fix login bug session by rotating tokens", "decision")
    lab.know("login pigeons", "decision", importance=0.01)
    lab.agent().prompt(LOGIN)
    stats = stats_of(lab.engine.why(session="claude-code/s1", limit=1)[0])
    assert (stats.memories_considered, stats.memories_injected) == (3, 2)
    assert stats.by_type == (("decision", 1), ("error_pattern", 1))
    assert 0 < stats.tokens_used <= stats.tokens_budget == 800
    assert 0.4 <= stats.avg_relevance <= 1.0


@acceptance("typed", "8.1-lists", "8.1-preferences")
def test_the_start_reads_fixed_lists(lab):
    for number in range(25):
        lab.know(f"Rule {number}.")
    for number in range(12):
        lab.know(f"Choice {number}.", "decision", days_ago=number)
    lab.know("Choice of last summer.", "decision", days_ago=31)
    for number in range(12):
        lab.know(f"File {number}.", "file_context", use_count=number)
    for number in range(7):
        lab.know(f"Error {number}.", "error_pattern", days_ago=59)
    lab.know("Error of spring.", "error_pattern", days_ago=61)
    lab.know("Heard of it.", "outcome")
    found, _ = typed_start(
        lab.engine.store,
        lab.engine.visible(str(lab.place)),
        at_ms=NOW_MS,
        kinds=KindRegistry(),
        settings=lab.engine.settings.recall,
    )
    counts = {}
    for candidate in found:
        counts[candidate.memory.kind] = counts.get(candidate.memory.kind, 0) + 1
    assert counts == {"preference": 20, "decision": 10, "file_context": 10, "error_pattern": 5}
    assert all(c.relevance == 1.0 for c in found if c.memory.kind == "preference")
    said = {c.memory.content for c in found}
    assert "Choice of last summer." not in said
    assert "Error of spring." not in said
    assert "File 11." in said
    assert "File 0." not in said


@acceptance("typed", "8.1-newest")
@pytest.mark.parametrize("kind", ["preference", "decision", "file_context", "error_pattern"])
def test_of_equals_the_newest_come(open_workplace, kind):
    """What is told last comes, though 25 of the kind are there that count the same."""
    lab = open_workplace("typed", recall={"budgets": {"start": 600, "prompt": 300}})
    same = "fix the login bug in the session module, case"
    for number in range(26):
        lab.know(f"{same} {number}", kind, days_ago=(25 - number) / 1440)  # of one day, a minute apart
    for block in (lab.agent("start").start(), lab.agent("prompt").prompt(LOGIN)):
        lines = lines_of(block)
        assert len(lines) < 26
        assert f"case {25} " in lines[0]
        assert f"{same} 0 " not in block


@acceptance("typed", "8.1-error")
def test_after_an_error_only_near_patterns(lab):
    error = "pytest refused connection to postgres at noon"
    lab.know("pytest refused connection to postgres", "error_pattern")
    lab.know("postgres needs a nightly dump to the other disk", "error_pattern")
    block = lab.agent().failed("pytest", error)
    assert "refused connection" in block
    assert "nightly dump" not in block


@acceptance("typed", "8.2")
def test_query_embeddings_are_kept_for_an_hour(lab):
    settings = lab.engine.settings.embedder.model_copy(update={"provider": "fake"})
    assert CACHE_TTL_S == 3600
    embedder = make_embedder(settings, api_key="", redact=str, clock=lab.clock)
    first = embedder.embed(["fix the login bug"])[0]
    assert (embedder.embed(["fix the login bug"])[0] == first).all()
    assert type(embedder).__name__ == "CachedEmbedder"


@acceptance("typed", "8.3-ahead")
def test_a_start_made_ahead_serves_five_minutes(lab):
    lab.know("Always use type hints.")
    pools = lab.engine._pipeline.start_pools
    seen, recall = lab.engine.visible(str(lab.place)), lab.engine.settings.recall
    first = pools.of(seen, at_ms=NOW_MS, preset=preset_of("typed"), settings=recall)
    assert pools.of(seen, at_ms=NOW_MS + 299_000, preset=preset_of("typed"), settings=recall) is first
    assert pools.of(seen, at_ms=NOW_MS + 301_000, preset=preset_of("typed"), settings=recall) is not first
    again = pools.of(seen, at_ms=NOW_MS + 301_000, preset=preset_of("typed"), settings=recall)
    lab.know("Never use eval.")
    assert pools.of(seen, at_ms=NOW_MS + 302_000, preset=preset_of("typed"), settings=recall) is not again


@acceptance("typed", "8.3-short")
def test_short_prompts_are_skipped(lab):
    lab.know("fix login bug", "decision")
    assert lab.agent().prompt("fix the login bug") == ""
    assert silence_text(lab.last_trace()) == "the prompt is shorter than 20 characters"
    assert "login" in lab.agent("s2").prompt("fix the login bug now")


@acceptance("typed", "8.3-held")
def test_a_session_that_holds_enough_is_left_alone(lab):
    for number in range(21):
        lab.know(f"Rule {number}.", "decision" if number > 19 else "preference")
    agent = lab.agent()
    assert len(lines_of(agent.start())) == 21
    given = 0
    for topic in (
        "basket checkout total",
        "invoice printing queue",
        "warehouse stock ledger",
        "pager duty rota",
        "search facet order",
    ):
        for number in range(7):
            lab.know(f"{topic} {number}", "error_pattern", days_ago=70)
        given += len(lines_of(agent.prompt(f"{topic} error")))
    assert given > 20
    lab.know("login bug session of its own", "error_pattern", days_ago=70)
    assert agent.prompt(LOGIN) == ""
    assert silence_text(lab.last_trace()) == "prompts were given more than 20 memories already"


# --- 9, 12: the seed's own tests, and its open questions -----------------------------------------------------------


@acceptance("typed", "9.1-b")
def test_an_unrelated_decision_is_not_injected(lab):
    lab.know("Use Redis for caching", "decision")
    assert "redis" not in lab.agent().prompt("How do I parse JSON in this project?").lower()


@pytest.fixture(scope="module")
def minilm():
    """The shipped model, loaded once."""
    return make_embedder(EmbedderSettings(), api_key="", redact=str, clock=SystemClock())


@acceptance("typed", "9.2-a", "9.2-b", "9.2-c", "9.2-d")
@pytest.mark.slow
def test_the_shipped_model_prefers_what_belongs(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm, recall={"typed": {"min_prompt_chars": 0}})
    for query, found, left in (
        ("fix the login bug", "Login timeout caused by missing await", "Use PostgreSQL for the database"),
        ("add authentication", "JWT vs session tokens decision", "CSS styling preferences"),
    ):
        lab.know(left, "decision")
        lab.know(found, "decision")
        block = lab.agent(query).prompt(query)
        assert left not in block
        similar = {
            content: dict(traced(lab, content).scores).get("semantic", 0.0) for content in (found, left)
        }
        assert similar[found] > similar[left]


@acceptance("typed", "9.5-a")
def test_the_same_memory_is_not_injected_twice(lab):
    lab.know("fix login bug session module await", "error_pattern")
    agent = lab.agent()
    assert "await" in agent.prompt(LOGIN)
    assert agent.prompt(f"{LOGIN} again") == ""


@acceptance("typed", "9.5-c")
def test_no_memories_no_words(lab):
    agent = lab.agent()
    assert agent.start() == ""
    assert agent.prompt(LOGIN) == ""


@acceptance("typed", "12.1")
def test_a_resumed_session_gets_what_is_new(lab):
    lab.know("Always use type hints.")
    agent = lab.agent()
    assert "type hints" in agent.start()
    lab.know("Never use eval.")
    resumed = agent.start("resume")
    assert "type hints" not in resumed
    assert "Never use eval." in resumed


@acceptance("typed", "12.3")
def test_the_newer_of_two_that_contradict_holds(lab):
    lab.engine.remember("We use MySQL for orders.", kind="decision", cwd=str(lab.place))
    lab.clock.advance(DAY_MS)
    lab.engine.remember("We use PostgreSQL for orders now, not MySQL.", kind="correction", cwd=str(lab.place))
    lab.engine.flush()
    block = lab.agent().start()
    assert "PostgreSQL" in block
    assert "We use MySQL" not in block


@acceptance("typed", "12.5")
def test_one_prompt_can_opt_out(lab):
    lab.know("fix login bug session module await", "error_pattern")
    agent = lab.agent()
    assert agent.prompt(f"{LOGIN} #notacit") == ""
    assert "await" in agent.prompt(LOGIN)
    lab.engine.live.mute(SessionKey(host="claude-code", session_id="s1"), muted=True)
    assert agent.prompt("fix the other login bug session module") == ""


def use_tool(lab, name, **given):
    return call(lab.engine, Caller(cwd=str(lab.place), client="t"), name, given).text


@acceptance("typed", "3.2-inject")
def test_a_tool_brings_a_topic_into_the_conversation(lab):
    lab.know("The gateway signs requests with Ed25519", "decision")
    lab.know("gateway.py signs requests of the gateway", "file_context")
    whole = use_tool(lab, "inject_context", topic="how the gateway signs requests", max_tokens=600)
    assert "Ed25519" in whole
    assert "gateway.py" in whole
    some = use_tool(
        lab, "inject_context", topic="how the gateway signs requests", memory_types="file_context"
    )
    assert "Ed25519" not in some
    assert "gateway.py" in some


@acceptance("typed", "3.2-task")
def test_a_tool_gathers_what_a_task_needs(lab):
    lab.know("gateway.py signs requests of the gateway", "file_context")
    lab.know("The gateway answers 401 when the clock of the host is late", "error_pattern")
    given = {"task_description": "fix the requests that gateway.py signs, the gateway answers 401"}
    assert "401" in use_tool(lab, "get_context_for_task", **given)
    less = use_tool(lab, "get_context_for_task", include_error_patterns=False, **given)
    assert "gateway.py" in less
    assert "401 when" not in less


@acceptance("typed", "3.2-recent")
def test_without_a_topic_a_tool_gives_recent_context(lab):
    lab.know("The gateway signs requests with Ed25519", "decision")
    assert "Ed25519" in use_tool(lab, "inject_context")


@acceptance("typed", "3.2-unknown")
def test_an_unknown_type_is_refused(lab):
    with pytest.raises(TacitError, match="nonsense") as refused:
        use_tool(lab, "inject_context", topic="the gateway", memory_types="nonsense")
    assert "file_context" in refused.value.hint


@acceptance("typed", "2.2-entities")
def test_a_name_in_the_prompt_finds_what_names_it(lab):
    told = "sign_request() in gateway.py needs a clock in UTC"
    lab.engine.remember(told, kind="file_context", cwd=str(lab.place))
    lab.engine.flush()
    lab.agent().prompt("please have a look at gateway.py for me")
    assert dict(traced(lab, told).scores)["entity"] > 0


@acceptance("typed", "2.2-files")
@pytest.mark.parametrize(
    ("prompt", "joins"),
    [("please explain this file to me in one line", True), ("which harbors do we sail to in winter?", False)],
)
def test_the_file_at_hand_joins_a_query_that_points_at_one(lab, prompt, joins):
    lab.know("cart.py keeps the basket in the session", "file_context")
    agent = lab.agent()
    agent.edited("cart.py")
    agent.prompt(prompt)
    found = [c for c in lab.last_trace().candidates if dict(c.scores).get("lexical", 0) > 0]
    assert bool(found) is joins


@acceptance("typed", "4.2-outcome")
@pytest.mark.parametrize("kinds", [(), ("decision", "preference")])
def test_what_was_done_is_an_outcome(open_workplace, kinds):
    """`capture_outcomes: false` leaves `outcome` and `digest` out of `capture.kinds` (section 6.1)."""
    lab = open_workplace("typed", capture={"kinds": list(kinds)}, recall={"kinds": ["decision", "outcome"]})
    edit = {
        "type": "tool_use",
        "id": "t1",
        "name": "Edit",
        "input": {"file_path": str(lab.place / "cart.py")},
    }
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    messages = [
        {"role": "user", "content": "Please add the basket to the page"},
        {"role": "assistant", "content": [edit]},
        {"role": "user", "content": [done]},
        {"role": "assistant", "content": "The basket is on the page."},
    ]
    source = TranscriptSource(
        host="claude-code", session_id="s0", cwd=str(lab.place), messages=messages, ended=True
    )
    lab.engine.capture.capture_said(source)
    outcomes = [content for kind, content in lab.kinds_stored() if kind == "digest"]
    assert bool(outcomes) is (not kinds)
    assert all("cart.py" in content for content in outcomes)


@acceptance("typed", "7.3-remote")
def test_two_clones_of_a_remote_are_one_project(lab, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for words in (("init", "-q"), ("remote", "add", "origin", "git@code.test:ferry/booking.git")):
            subprocess.run(["git", *words], cwd=tmp_path / name, check=True)
    one, two = (lab.engine.project(str(tmp_path / name)) for name in ("one", "two"))
    assert one.id == two.id != lab.project.id


NOISE_MEMORIES = [
    ("decision", "Session tokens are signed with Ed25519 and live for ten minutes"),
    ("decision", "Text messages go through Vonage; Twilio was dropped because of its price"),
    ("decision", "Seats are locked with PostgreSQL advisory locks during checkout"),
    ("preference", "Money is stored in cents, never as a float"),
    ("preference", "Test names say what the visitor experiences"),
    ("preference", "Every public endpoint returns times in UTC"),
    ("file_context", "mailer/templates.py renders the confirmation mails"),
    ("file_context", "web/map.ts draws the plan of the hall"),
    ("error_pattern", "The PDF export failed because fonts were missing in the container"),
    ("error_pattern", "Logins fail when a server's clock runs late"),
]
NEEDS = [
    ("Which provider sends our text messages to visitors?", "Vonage"),
    ("How do we prevent two visitors from getting the same seat?", "advisory locks"),
    ("Please fix the PDF export, it fails in the container", "fonts"),
    ("Add a field for the price to the order, in which unit?", "cents"),
    ("Where are the confirmation mails rendered?", "mailer/templates.py"),
    ("In which time zone do endpoints return times?", "UTC"),
]
IDLE = [
    "What is the difference between a mutex and a semaphore?",
    "Please fix the typo in the heading of the page",
    "Thank you very much, that looks good to me",
    "Can you explain how a binary search works?",
    "Please rename the variable to something shorter",
    "Write a haiku about autumn leaves, please",
    "Which version of Python is installed here?",
    "Undo your last edit and start over, please",
    "How many lines of code does the project have?",
    "Go on with the next step of your plan, please",
]


@acceptance("typed", "11-noise")
@pytest.mark.slow
def test_what_comes_unasked_belongs_to_the_prompt(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm)
    for kind, content in NOISE_MEMORIES:
        lab.know(content, kind)
    given, wanted = [], 0
    for number, (prompt, word) in enumerate([*NEEDS, *((prompt, "") for prompt in IDLE)]):
        lines = lines_of(lab.agent(f"s{number}").prompt(prompt))
        given += lines
        wanted += sum(bool(word) and word in line for line in lines)
    assert wanted >= 4, "most needs are met"
    assert wanted / len(given) > 0.8


@acceptance("typed", "12.3")
@pytest.mark.slow
def test_two_that_contradict_without_saying_so_stand_together_the_newer_first(open_workplace, minilm):
    lab = open_workplace("typed", embedder=minilm)
    lab.know("Access tokens are signed with RS256", "decision", days_ago=9)
    lab.know("Invoices are printed on Fridays", "decision", days_ago=5)
    lab.know("Access tokens are signed with HS256", "decision", days_ago=2)
    for block in (
        lab.agent("a").start(),
        lab.agent("b").prompt("How are our access tokens signed at present?"),
    ):
        lines = [line for line in lines_of(block) if "Access" in line or "Invoices" in line]
        assert ["HS256" in lines[0], "RS256" in lines[1]] == [True, True]
        assert lines[0].rpartition("(")[2] != lines[1].rpartition("(")[2], "each has its day"


def test_an_agents_own_notes_stand_behind_what_people_said(lab):
    lab.know("Always use type hints.", days_ago=3)
    lab.know("The style is two spaces.", tier=TrustTier.ASSISTANT, said=BY_AGENT_HERE)
    first, second = lines_of(lab.agent().start())
    assert "type hints" in first
    assert "agent's note" in second


@pytest.mark.parametrize("by_user", [True, False])
def test_an_agents_own_notes_stay_off_tool_calls_failures_and_subagents(open_workplace, by_user):
    """The table of trust (`safety/trust.py`) holds in a preset that gives these surfaces tokens."""
    lab = open_workplace("typed", recall={"budgets": {"action": 300}, "thresholds": {"action": 0.0}})
    whose = {} if by_user else {"tier": TrustTier.ASSISTANT, "said": BY_AGENT_HERE}
    lab.know("make migrate locks the orders table", "error_pattern", **whose)
    agent = lab.agent()
    before = agent.tool("PreToolUse", "Bash", command="make migrate locks the orders table")
    failed = agent.failed("make migrate", "make migrate locks the orders table")
    agent = lab.agent("s2")
    task = "fix what make migrate locks, the orders table"
    agent.tool("PreToolUse", "Agent", "t9", description="work", prompt=task)
    helper = agent.send("SubagentStart", agent_id="a1", agent_type="general-purpose")
    assert ["locks the orders" in block for block in (before + failed, helper)] == [by_user, by_user]
