"""The `ambient` preset against its seed, item by item (`items/ambient.toml`). The real engine over a real store."""

from __future__ import annotations

import json
import re

import pytest

import tacit
from presets.acceptance import acceptance
from presets.driving import lines_of
from tacit.app.reasons import reason_text, silence_text
from tacit.config.describe import describe_settings
from tacit.config.fields import check_layer
from tacit.config.layers import read_settings
from tacit.config.overrides import SettingsTarget, overridden, reset_values, set_values
from tacit.config.reload import SettingsWatcher
from tacit.errors import InvalidSetting, ProviderError
from tacit.hosts.transcripts import clean_prompt
from tacit.model.evidence import Hit, Ranking
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.session import RenderedBlock, SessionKey, SessionState
from tacit.model.signal import SessionStarted
from tacit.ports.store import MemoryFilter
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.retrieve import rrf_equal
from tacit.session import ledger
from tacit.session.transitions import open_session

ASK = "please explain how tokens of the auth module are refreshed"
ABOUT = "tokens of the auth module are refreshed by a timer"
PINNED = {"ambient": {"enabled": True, "pinned_kinds": ["todo", "goal"]}}


@pytest.fixture
def lab(open_workplace):
    return open_workplace("ambient")


@pytest.fixture
def pinned(open_workplace):
    return open_workplace("ambient", recall=PINNED)


def stage(lab, name):
    return next(s for s in lab.last_trace().stages if s.stage == name)


def reasons(lab, name):
    return {drop.memory_id: reason_text(drop.why) for drop in stage(lab, name).drops}


# --- retrieval -----------------------------------------------------------------------------------------------------


@acceptance("ambient", "P1", "P7", "S9-pinned-empty", "CFG-pinned")
def test_without_pinned_kinds_everything_depends_on_the_message(lab):
    lab.know("Identity: I am the shop's assistant.", "identity", importance=1.0)
    lab.know("Ship version 2 by February.", "goal", importance=1.0)
    lab.know(ABOUT, "fact")
    block = lab.agent().prompt(ASK)
    assert "timer" in block
    assert "[Pinned context]" not in block
    assert "assistant" not in block
    assert "February" not in block
    assert lab.engine.settings.recall.ambient.pinned_kinds == ()


@acceptance("ambient", "P1")
def test_no_source_is_asked_twice(pinned):
    pinned.know("Ship version 2.", "goal", importance=1.0)
    pinned.know(ABOUT, "identity", importance=1.0)
    pinned.agent().prompt(ASK)
    assert [one.stage for one in pinned.last_trace().stages].count("retrieve") == 1
    asked = [fact.detail for fact in stage(pinned, "retrieve").facts]
    assert len(asked) == len(set(asked))


@acceptance("ambient", "LAG")
def test_a_todo_made_now_is_there_at_the_next_prompt(pinned):
    agent = pinned.agent()
    assert agent.prompt("hello there") == ""
    pinned.know("Call the printer about the badges.", "todo")
    assert "badges" in agent.prompt("hello once more")


@acceptance("ambient", "P2", "CFG-search", "SEARCH-limit")
def test_the_limit_is_that_of_every_source(open_workplace):
    lab = open_workplace("ambient", recall={"candidates_per_space": 4})
    for number in range(12):
        lab.know(f"{ABOUT} number {number}", "fact")
    lab.agent().prompt(ASK)
    counts = {fact.detail: fact.count for fact in stage(lab, "retrieve").facts}
    assert counts["semantic"] == counts["lexical"] == 4
    assert open_workplace("ambient").engine.settings.recall.candidates_per_space == 20


@acceptance("ambient", "P3", "CFG-total", "S9-budget", "BUDGET-pinned", "BUDGET-fill")
def test_one_cap_holds_over_all_sources(open_workplace):
    lab = open_workplace("ambient", recall={**PINNED, "max_items": 4})
    for number in range(3):
        lab.know(f"Goal {'abc'[number]} stands.", "goal")
    names = "alpha beta gamma delta epsilon zeta".split()
    for name in names:
        lab.know(f"{ABOUT} {name} {name}{name} {name}s {name}x", "fact")
    lines = lines_of(lab.agent().prompt(ASK))
    memories = [line for line in lines if "importance" in line]
    assert len(memories) == 4
    assert [line.split("]")[0] for line in memories] == ["[Goal", "[Goal", "[Goal", "[Fact"]
    assert any("more than 4 memories" in why for why in reasons(lab, "budget").values())
    assert open_workplace("ambient").engine.settings.recall.max_items == 25


@acceptance("ambient", "P4", "NO-LLM")
def test_only_the_embedding_is_asked(lab):
    lab.know(ABOUT, "fact")
    before = lab.embedder.calls
    lab.agent().prompt(ASK)
    assert 1 <= lab.embedder.calls - before <= 2  # the prompt, and what may come once more for comparison


@acceptance("ambient", "P5", "FORMAT-sections", "FORMAT-empty")
def test_a_block_has_two_sections_and_no_empty_one(pinned):
    pinned.know("Fix the token refresh.", "todo")
    pinned.know(ABOUT, "fact", importance=0.6)
    both = pinned.agent("a").prompt(ASK)
    assert both.splitlines()[1] == "[Context from memory]"
    at = [
        both.index(t)
        for t in ("[Pinned context]", "[Todo] Fix", "[Relevant to this message]", "[Fact] tokens")
    ]
    assert at == sorted(at)
    assert "(importance: 0.6;" in both
    alone = pinned.agent("b").prompt("please draw a giraffe with crayons")
    assert "[Pinned context]" in alone
    assert "[Relevant to this message]" not in alone


@acceptance("ambient", "P8", "SEARCH-seed")
def test_importance_alone_relates_nothing(lab):
    lab.know("The warehouse opens at six.", "decision", importance=1.0)
    lab.know(ABOUT, "fact", importance=0.1)
    block = lab.agent().prompt(ASK)
    assert "warehouse" not in block
    assert "timer" in block


@acceptance("ambient", "NOISE")
def test_common_words_admit_nothing_that_the_meaning_does_not(open_workplace):
    lab = open_workplace("ambient", recall={"candidates_per_space": 2})
    for name in ("a timer", "a worker", "a thread", "a signal"):
        lab.know(f"tokens of the auth module are refreshed by {name}", "fact")
    far = lab.know("please explain why plants grow better near big windows", "fact")
    block = lab.agent().prompt(ASK)
    assert "tokens of the auth module" in block
    assert "plants" not in block
    assert far.id not in lab.last_trace().injected
    assert far.id in stage(lab, "fuse").kept, "the words found it"


@acceptance("ambient", "ADR-compacted")
def test_after_a_compaction_the_context_is_back(lab):
    lab.know(ABOUT, "fact")
    agent = lab.agent()
    assert "timer" in agent.prompt(ASK)
    assert "timer" in agent.start("compact")


@acceptance("ambient", "P9", "TRACE-memory", "TRACE-summary")
def test_the_trace_tells_source_score_kind_and_time(pinned):
    goal = pinned.know("Ship version 2.", "goal")
    fact = pinned.know(ABOUT, "fact")
    pinned.agent().prompt(ASK)
    trace = pinned.last_trace()
    assert set(trace.injected) == {goal.id, fact.id}
    [found] = [c for c in trace.candidates if c.memory_id == fact.id]
    assert found.kind == "fact"
    assert found.relevance > 0
    assert "semantic" in dict(found.scores)
    assert goal.id in stage(pinned, "dedupe").kept
    assert trace.took_ms >= 0


@acceptance("ambient", "P10")
def test_tokens_are_bounded(open_workplace):
    lab = open_workplace("ambient", recall={"budgets": {"prompt": 150}})
    for number in range(10):
        lab.know(f"{ABOUT} {number}: " + f"long{number} tail{number} word{number} " * 10, "fact")
    block = lab.agent().prompt(ASK)
    assert lab.engine._parts.tokens.count(block) <= 150


# --- settings ------------------------------------------------------------------------------------------------------


@acceptance("ambient", "CFG-enabled", "TRACE-skip")
def test_off_is_off_and_says_so(open_workplace):
    lab = open_workplace("ambient", recall={"enabled": False, **PINNED})
    lab.know("Ship version 2.", "goal")
    assert lab.agent().prompt(ASK) == ""
    assert silence_text(lab.last_trace()) == "recall is off in the settings"


@acceptance("ambient", "TRACE-skip", "TRACE-summary")
def test_the_log_tells_counts_and_why_nothing_came(open_workplace, caplog):
    caplog.set_level("INFO")
    lab = open_workplace("ambient", recall=PINNED)
    lab.know("Ship version 2.", "goal")
    lab.know(ABOUT, "fact")
    agent = lab.agent()
    agent.prompt(ASK)
    agent.prompt(f"{ASK} once more")
    off = open_workplace("ambient", recall={"enabled": False})
    off.agent("s2").prompt(ASK)
    first, second, third = [line for line in caplog.messages if line.startswith("injection: ")]
    assert first.startswith("injection: 1 pinned + 1 contextual = 2 memories, ")
    assert second.startswith(
        "injection: nothing, the session already holds what is relevant, 2 left out as known"
    )
    assert third.startswith("injection: nothing, recall is off in the settings")
    assert "claude-code/s1" in first
    assert not [line for line in caplog.messages if "timer" in line or "explain" in line]


@acceptance("ambient", "TRACE-skip")
def test_silence_has_a_reason(lab):
    agent = lab.agent()
    agent.prompt(ASK)
    assert silence_text(lab.last_trace()) == "no memory was found for it"
    lab.know(ABOUT, "fact")
    agent.prompt(f"{ASK} please")
    agent.prompt(f"{ASK} once more")
    assert silence_text(lab.last_trace()) == "the session already holds what is relevant"


@acceptance("ambient", "CFG-score")
def test_contextual_min_score_is_a_ratio_with_a_floor(lab):
    floors = lab.engine.settings.recall.ambient
    assert (floors.ratio, floors.cosine) == (0.70, 0.30)
    near = lab.know("explain how tokens of the auth module are refreshed", "fact")
    half = lab.know("tokens of auth live in a jar beside other things now", "fact")
    lab.agent().prompt(ASK)
    assert near.id in lab.last_trace().injected
    assert "below" in reasons(lab, "score")[half.id]
    far = lab.know("giraffe necks", "fact")
    assert lab.agent("b").prompt("please count the giraffe population of all the zoos in one table") == ""
    assert "below 0.30" in reasons(lab, "score")[far.id]


@acceptance("ambient", "CFG-semantic", "DEDUP-cosine", "P6", "S9-turns")
def test_two_that_differ_in_a_word_both_come_however_near_they_are(open_workplace):
    lab = open_workplace("ambient", recall={"reinject_after": 3})
    words = " ".join(f"w{n}" for n in range(12))
    first = lab.know(words, "fact", id="mem_a")
    twin = lab.know(f"{words} 7", "fact", id="mem_b")
    lab.agent().prompt(f"explain {words}")
    assert set(lab.last_trace().injected) == {first.id, twin.id}


@acceptance("ambient", "CFG-depth", "DEDUP-window", "ADR-6")
def test_a_memory_comes_again_after_ten_turns(lab):
    lab.know(ABOUT, "fact")
    agent = lab.agent()
    got = [bool(agent.prompt(f"{ASK} {turn}")) for turn in range(1, 13)]
    assert [turn for turn, came in enumerate(got, start=1) if came] == [1, 11]


@acceptance("ambient", "DEDUP-batch", "DEDUP-pinned")
def test_pinned_comes_every_turn_but_once_a_pack_where_blocks_leave_the_history(pinned):
    pinned.know("tokens of the auth module are refreshed too late", "todo")
    for turn in range(3):
        asked = {"event": "prompt", "sessionID": "s", "directory": str(pinned.place), "messageID": f"m{turn}"}
        reply = pinned.engine.hook("opencode", {**asked, "text": f"{ASK} {turn}"}, deadline_ms=5000)
        block = json.loads(reply)["text"]
        assert block.count("refreshed too late") == 1
        assert "[Relevant to this message]" not in block


@acceptance("ambient", "DEDUP-pinned")
def test_pinned_comes_once_where_the_host_keeps_every_block(pinned):
    pinned.know("tokens of the auth module are refreshed too late", "todo")
    agent = pinned.agent()
    assert [("too late" in agent.prompt(f"{ASK} {turn}")) for turn in range(12)] == [True] + [False] * 11
    assert "too late" in agent.start("compact")
    assert agent.prompt(ASK) == ""


@acceptance("ambient", "FORMAT-sections", "CFG-ambient")
@pytest.mark.parametrize(
    ("recall", "listed"),
    [
        (PINNED, ["Fact", "Goal", "Todo"]),
        ({**PINNED, "pinned_sort": "importance"}, ["Goal", "Fact", "Todo"]),
        ({"ambient_enabled": True}, ["Fact", "Goal"]),
        ({"ambient": {"enabled": False, "pinned_kinds": ["todo", "goal"]}}, []),
    ],
)
def test_what_was_pinned_by_hand_comes_before_the_pinned_kinds_once(open_workplace, recall, listed):
    lab = open_workplace("ambient", recall=recall)
    lab.know("Ship version 2.", "goal", days_ago=2, pinned=True, importance=0.9)
    lab.know("The demo is on Friday.", "fact", days_ago=1, pinned=True, importance=0.2)
    lab.know("Fix the refresh.", "todo")
    lab.know("The canteen is closed on Mondays.", "fact")
    given = lab.agent().prompt("please draw a giraffe")
    assert re.findall(r"^\[(\w+)\] .* \(importance", given, re.MULTILINE) == listed
    assert lab.engine.settings.recall.ambient.pinned_kinds == tuple(
        recall.get("ambient", {}).get("pinned_kinds", ())
    ), "off keeps the list"


@acceptance("ambient", "P3", "CFG-pinned")
def test_under_a_cap_the_rest_comes_by_relevance_and_not_by_its_kind(open_workplace):
    lab = open_workplace("ambient", recall={**PINNED, "pinned_limit": 1, "max_items": 2})
    lab.know("tokens of the auth module want a test", "todo", days_ago=1)
    lab.know("Water the plants on Friday.", "todo")
    lab.know(ABOUT, "decision")
    given = lab.agent().prompt(ASK)
    assert re.findall(r"^\[(\w+)\] .* \(importance", given, re.MULTILINE) == ["Todo", "Decision"]
    assert "plants" in given


@acceptance("ambient", "DEDUP-cap")
def test_what_the_cap_cut_was_not_injected(open_workplace):
    lab = open_workplace("ambient", recall={"max_items": 1})
    lab.know(f"{ABOUT} alpha beta gamma", "fact", importance=0.9)
    lab.know(f"{ABOUT} delta epsilon zeta", "fact", importance=0.1)
    agent = lab.agent()
    first, second = agent.prompt(ASK), agent.prompt(f"{ASK} again")
    assert ("alpha" in first) != ("delta" in first)
    assert ("alpha" in second) == ("delta" in first)


@acceptance("ambient", "CFG-pinned", "CFG-sort")
@pytest.mark.parametrize(("sort", "chosen"), [("recent", "567"), ("importance", "123")])
def test_three_of_a_kind_newest_or_most_important(open_workplace, sort, chosen):
    lab = open_workplace("ambient", recall={**PINNED, "pinned_sort": sort})
    for number in range(1, 8):
        lab.know(f"Task{number} stands.", "todo", days_ago=60 - number, importance=1 - number / 10)
    block = lab.agent().prompt(ASK)
    assert "".join(str(n) for n in range(1, 8) if f"Task{n} " in block) == chosen


@acceptance("ambient", "CFG-sort")
def test_another_order_is_refused():
    [(key, problem)] = check_layer({"recall": {"pinned_sort": "oldest"}}, place=str).problems
    assert key == "recall.ambient.pinned_sort"
    assert "'recent' or 'importance'" in str(problem)


@acceptance("ambient", "CFG-blocks", "CFG-ranges")
def test_numbers_have_ranges(lab):
    recall = lab.engine.settings.recall
    assert (recall.history_blocks, recall.reinject_after, recall.ambient.pinned_limit) == (3, 10, 3)
    ranges = {
        "candidates_per_space": (1, 100),
        "max_items": (1, 100),
        "reinject_after": (0, 200),
        "ambient.pinned_limit": (1, 20),
        "history_blocks": (0, 10),
    }
    described = describe_settings()
    assert {
        name: (described[f"recall.{name}"].minimum, described[f"recall.{name}"].maximum) for name in ranges
    } == ranges
    for wrong in (
        {name: least - 1 for name, (least, _) in ranges.items()},
        {name: most + 1 for name, (_, most) in ranges.items()},
    ):
        limit = wrong.pop("ambient.pinned_limit")
        problems = dict(check_layer({"recall": {**wrong, "pinned_limit": limit}}, place=str).problems)
        assert set(problems) == {f"recall.{name}" for name in ranges}


@acceptance("ambient", "CFG-unknown")
def test_every_unknown_pinned_kind_is_warned_of_by_name(home):
    home.config_file.write_text("recall:\n  pinned_types: [todo, gaol, goal, tdoo]\n")
    report = read_settings(home, environ={})
    assert report.settings.recall.ambient.pinned_kinds == ("todo", "goal")
    told = [str(warning) for warning in report.warnings]
    assert len(told) == 2
    assert "'gaol'" in told[0]
    assert "'tdoo'" in told[1]


@acceptance("ambient", "CFG-toml")
def test_the_designs_section_as_toml_is_answered_with_the_same_as_yaml(home):
    home.config_file.write_text(
        'preset: ambient\n\n[memory_injection]\nambient_enabled = true\npinned_types = ["todo"]\nmax_total = 5\n'
    )
    [warning] = read_settings(home, environ={}).warnings
    assert f"{home.config_file}:3 is TOML; settings are YAML." in str(warning)
    yaml = warning.error.hint.partition("\n")[2]
    home.config_file.write_text(f"preset: ambient\n{yaml}")
    report = read_settings(home, environ={})
    assert report.sound
    recall = report.settings.recall
    assert (recall.ambient.enabled, recall.ambient.pinned_kinds, recall.max_items) == (True, ("todo",), 5)


@acceptance("ambient", "NAMES-graph", "P8")
@pytest.mark.parametrize("name", ["graph_seed_threshold", "graph_seed_limit"])
def test_the_designs_names_for_seeds_are_answered_with_what_does_it_here(name):
    [(key, problem)] = check_layer({"memory_injection": {name: 0.8}}, place=str).problems
    assert key == f"recall.{name}"
    assert "`recall.spaces`" in problem.hint
    assert "relations start from memories that share words or a name with the prompt" in problem.hint


@acceptance("ambient", "CFG-v1")
@pytest.mark.parametrize("old", ["identity_limit", "vector_search_limit", "recent_threshold_hours"])
def test_settings_of_the_first_version_are_unknown(old):
    [(key, problem)] = check_layer({"recall": {old: 10}}, place=str).problems
    assert key == f"recall.{old}"
    assert "there is no setting" in str(problem)


# --- search, kinds, failures ---------------------------------------------------------------------------------------


@acceptance("ambient", "SEARCH-rrf")
def test_ranks_are_fused_with_sixty_and_equal_weights():
    rankings = [Ranking(space=s, hits=tuple(Hit(memory_id=i, score=1.0) for i in ids)) for s, ids in
                (("semantic", "ab"), ("lexical", "ba"), ("entity", "b"))]  # fmt: skip
    fused = dict(rrf_equal(rankings))
    assert fused["a"] == pytest.approx(1 / 61 + 1 / 62)
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61 + 1 / 61)


@acceptance("ambient", "SEARCH-enrich")
def test_importance_and_age_break_near_ties(open_workplace):
    lab = open_workplace("ambient", recall={})
    lab.know(f"{ABOUT} alpha beta", "fact", importance=0.1, days_ago=100)
    lab.know(f"{ABOUT} gamma delta", "fact", importance=0.9)
    lines = lines_of(lab.agent().prompt(ASK))
    assert "gamma" in lines[-2]
    assert "alpha" in lines[-1]


@acceptance("ambient", "KINDS")
def test_eight_kinds_have_their_importances(lab):
    importance = lab.engine.settings.capture.importance
    assert importance == {
        "identity": 1.0, "goal": 0.9, "decision": 0.8, "todo": 0.8, "preference": 0.7, "fact": 0.6, "event": 0.4,
        "observation": 0.3,
    }  # fmt: skip
    assert set(importance) <= {kind.name for kind in KindRegistry()}
    lab.agent().prompt("From now on always use tabs in Makefiles.")
    lab.engine.flush()
    [memory] = lab.engine.list_memories(MemoryFilter())
    assert memory.importance == importance.get(memory.kind, 0.75)


class Broken(FakeEmbedder):
    """An embedder whose server went away."""

    down = False

    def embed(self, texts):
        if self.down:
            raise ProviderError("the server is gone", hint="")
        return super().embed(texts)


@acceptance("ambient", "FAIL-embed")
def test_without_an_embedding_the_words_still_answer(open_workplace):
    embedder = Broken()
    lab = open_workplace("ambient", embedder=embedder)
    lab.know(ABOUT, "fact")
    embedder.down = True
    assert "timer" in lab.agent().prompt(ASK)
    assert [(loss.source, loss.cause) for loss in stage(lab, "retrieve").losses] == [("semantic", "failed")]


# --- overrides and reload ------------------------------------------------------------------------------------------


@acceptance("ambient", "B-agent", "C-overridden", "C-reset")
def test_an_agent_inherits_overrides_and_returns(home):
    home.config_file.write_text("# mine\npreset: ambient\nrecall:\n  pinned_limit: 5  # five\n")
    plain = read_settings(home, agent="plan", environ={})
    assert plain.settings.recall.ambient.pinned_limit == 5
    assert overridden(plain, "agents") == ()
    set_values(
        home,
        SettingsTarget(holder="agents", name="plan"),
        {"recall": {"pinned_limit": 2, "pinned_types": ("todo",)}},
    )
    mine = read_settings(home, agent="plan", environ={})
    assert mine.settings.recall.ambient.pinned_limit == 2
    assert overridden(mine, "agents") == ("recall.ambient.pinned_kinds", "recall.ambient.pinned_limit")
    assert read_settings(home, agent="build", environ={}).settings.recall.ambient.pinned_limit == 5
    assert reset_values(home, SettingsTarget(holder="agents", name="plan"), key="recall.pinned_limit")
    assert overridden(read_settings(home, agent="plan", environ={}), "agents") == (
        "recall.ambient.pinned_kinds",
    )
    assert reset_values(home, SettingsTarget(holder="agents", name="plan"))
    assert not reset_values(home, SettingsTarget(holder="agents", name="plan"))
    assert home.config_file.read_text() == "# mine\npreset: ambient\nrecall:\n  pinned_limit: 5  # five\n"


@acceptance("ambient", "B-agent", "C-reset")
def test_a_project_has_its_own_preset_and_returns(home, tmp_path):
    shop, other = tmp_path / "shop", tmp_path / "other"
    set_values(
        home,
        SettingsTarget(holder="projects", name=str(shop)),
        {"preset": "ambient", "recall": {"max_items": 7}},
    )
    report = read_settings(home, shop, environ={})
    assert (report.settings.preset, report.settings.recall.max_items) == ("ambient", 7)
    assert report.settings.recall.reinject_after == 10
    assert "recall.max_items" in overridden(report, "projects")
    assert read_settings(home, other, environ={}).settings.preset == "focused"
    reset_values(home, SettingsTarget(holder="projects", name=str(shop)))
    assert read_settings(home, shop, environ={}).settings.preset == "focused"


@acceptance("ambient", "C-reset", "B-invalid")
def test_a_wrong_override_is_not_written(home):
    with pytest.raises(InvalidSetting):
        set_values(home, SettingsTarget(holder="agents", name="plan"), {"recall": {"pinned_limit": 99}})
    assert not home.config_file.exists()


@acceptance("ambient", "B-reload", "B-invalid")
def test_changed_settings_hold_at_once_and_invalid_ones_never(home, caplog):
    now = [0.0]
    watcher = SettingsWatcher(home, environ={}, monotonic_s=lambda: now[0])

    def after(text):
        home.config_file.write_text(text)
        now[0] += 2
        return watcher.current(agent="plan").recall.ambient

    assert after("agents:\n  plan:\n    recall: {pinned_limit: 2}\n").pinned_limit == 2
    assert after("agents:\n  plan:\n    recall: {pinned_limit: 12}\n").pinned_limit == 12
    assert after("agents: {plan: {recall: {pinned_limit: 999, pinned_types: [goal]}}}\n").pinned_limit == 12
    assert watcher.current(agent="plan").recall.ambient.pinned_kinds == ("goal",), (
        "one wrong value keeps no other"
    )
    assert any("999" in line for line in caplog.messages), "and the log says so"
    assert after("agents: [\n").pinned_limit == 12
    assert any("config.yaml" in str(warning) for warning in watcher.report(agent="plan").warnings)
    changed = after("recall: {pinned_types: [todo, gaol], pinned_limit: 4}\n")
    assert (changed.pinned_kinds, changed.pinned_limit) == (("todo",), 4)
    assert any("'gaol'" in line for line in caplog.messages)


# --- persistence ---------------------------------------------------------------------------------------------------


BLOCK = '<tacit-memory surface="prompt">\n[Context from memory]\n[Fact] @\n</tacit-memory>'


def history(blocks):
    """Messages with `blocks` blocks, each followed by a prompt and an answer."""
    messages = []
    for number in range(blocks):
        messages += [
            {"role": "user", "content": BLOCK.replace("@", f"x{number}")},
            {"role": "user", "content": f"prompt {number}"},
            {"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}]},
        ]
    return messages


def blocks_in(messages):
    return [m["content"] for m in messages if tacit.is_block(m)]


@acceptance("ambient", "P1-mark", "P5-predicate")
@pytest.mark.parametrize(
    ("message", "block"),
    [
        ({"role": "user", "content": BLOCK}, True),
        ({"role": "user", "content": "[Context from memory]:\n[Fact] x"}, True),
        ({"role": "user", "content": [{"type": "text", "text": BLOCK}]}, True),
        ({"role": "user", "content": f"what does {BLOCK} mean?"}, False),
        ({"role": "assistant", "content": BLOCK}, False),
        ({"role": "tool", "content": BLOCK}, False),
        ({"role": "user", "content": None}, False),
        ({}, False),
    ],
)
def test_a_block_is_told_by_its_mark(message, block):
    assert tacit.is_block(message) is block


@acceptance("ambient", "P2-cap", "P5-cap", "ADR-1")
@pytest.mark.parametrize(("incoming", "left"), [(False, 3), (True, 2)])
def test_the_oldest_blocks_beyond_the_cap_go(incoming, left):
    messages = history(4)
    kept = tacit.prune_blocks(messages, most=3, incoming=incoming)
    assert blocks_in(kept) == [BLOCK.replace("@", f"x{n}") for n in range(4 - left, 4)]
    assert [m for m in kept if not tacit.is_block(m)] == [m for m in messages if not tacit.is_block(m)]
    assert len(messages) == 12


@acceptance("ambient", "P4-zero", "P5-ephemeral", "ADR-2")
def test_zero_keeps_none():
    messages = history(3)
    kept = tacit.prune_blocks(messages, most=0)
    assert blocks_in(kept) == []
    assert len(kept) == 6


@acceptance("ambient", "P5-under", "P2-every")
def test_under_the_cap_all_stay_on_every_turn():
    messages = history(2)
    assert tacit.prune_blocks(messages, most=3) == messages
    once = tacit.prune_blocks(history(5), most=3)
    assert tacit.prune_blocks(once, most=3) == once


@acceptance("ambient", "P3-compaction", "P5-transcript", "ADR-3", "ADR-7")
def test_a_transcript_for_a_summary_holds_no_block():
    kept = tacit.without_blocks(history(3))
    assert "[Context from memory]" not in str(kept)
    assert "prompt 2" in str(kept)
    assert clean_prompt(f"{BLOCK}\nfix it") == "fix it"


@acceptance("ambient", "ADR-9")
def test_cutting_messages_off_harms_nothing():
    messages = history(4)
    for cut in range(len(messages) + 1):
        assert len(blocks_in(tacit.prune_blocks(messages[cut:], most=2))) <= 2


def with_blocks(*ids):
    blocks = tuple(
        RenderedBlock(message_id=i, epoch=0, text="" if i.startswith("-") else f"block {i}") for i in ids
    )
    return SessionState(key=SessionKey(host="opencode", session_id="s"), blocks=blocks)


@acceptance("ambient", "ADR-1", "ADR-2", "ADR-5", "P2-every")
@pytest.mark.parametrize(
    ("most", "ids", "left"),
    [
        (None, ("start", "m1", "m2", "m3", "m4"), {"start", "m1", "m2", "m3", "m4"}),
        (3, ("start", "m1", "m2", "m3", "m4"), {"start", "m2", "m3", "m4"}),
        (3, ("start", "m1", "m2", "-m3"), {"start", "m1", "m2"}),
        (0, ("start", "m1", "m2"), {"start", "m2"}),
        (0, ("start", "m1", "-m2"), {"start"}),  # nothing new matched: the old block goes all the same
    ],
)
def test_a_host_that_asks_for_the_bytes_gets_the_newest(most, ids, left):
    state = with_blocks(*ids)
    stays = ledger.bounded(state, most=most)
    assert {i for i in ids if stays(i) and ledger.kept_block(state, i)} == left


@acceptance("ambient", "ADR-4")
def test_a_follow_up_finds_its_topic_in_the_context(lab):
    lab.know(ABOUT, "fact")
    agent = lab.agent()
    assert "timer" in agent.prompt(ASK)
    assert agent.prompt("please explain why that and not another way of tokens of the auth module") == ""
    [state] = lab.engine.sessions()
    assert len(ledger.held(state, reinject_after=10)) == 1


@acceptance("ambient", "ADR-8")
def test_a_fork_sees_what_was_injected(lab):
    fact = lab.know(ABOUT, "fact")
    lab.agent("parent").prompt(ASK)
    [parent] = lab.engine.sessions()
    child = SessionKey(host="claude-code", session_id="child")
    signal = SessionStarted(
        session=child, key="k", at_ms=lab.clock.now_ms(), source="fork", parent=parent.key
    )
    fork = open_session(signal, parent=parent)
    assert ledger.why_in_context(fork, fact, surface=Surface.PROMPT, reinject_after=10)
    assert ledger.held(fork, reinject_after=10) == (fact.id,)
