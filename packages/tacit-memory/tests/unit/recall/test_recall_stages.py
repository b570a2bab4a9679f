"""Guard, dedupe, budget, render and deliver: what they keep, what they drop, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import DAY_MS, NOW_MS, candidate, query
from tacit.app.reasons import reason_text
from tacit.config.settings import RecallSettings, Thresholds
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Sensitivity, TrustTier, Validity
from tacit.model.pack import Pack, Surface
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import (
    PromptSubmitted,
    SessionStarted,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolStarting,
)
from tacit.model.trace import DropCause, DropReason, SilenceCause
from tacit.model.trigger import Situation
from tacit.presets import preset_of
from tacit.recall.budget import Allowance, diversified, pack
from tacit.recall.guard import admit, dedupe
from tacit.recall.query import surface_for
from tacit.recall.render import cut, line_text, render_block
from tacit.recall.spaces import freshness, gram_cosine

KINDS = KindRegistry()
KEY = SessionKey(host="claude-code", session_id="s1")
CALL = ToolCall(tool="bash", command="git commit -m x")
OPEN = Thresholds(prompt=0.5).of


def kept(result):
    return [c.memory.id for c in result.kept]


def test_guard_keeps_what_passes_the_threshold():
    result = admit(
        [candidate(id="a", relevance=0.6), candidate(id="b", relevance=0.4)],
        query=query(),
        kinds=KINDS,
        threshold=OPEN("prompt"),
    )
    assert kept(result) == ["a"]
    assert "0.40 below 0.50" in reason_text(result.drops[0].why)


def test_guard_is_silent_when_no_action_is_coming():
    result = admit(
        [candidate(relevance=1.0)],
        query=query("thanks", situation=Situation(nothing_coming=True)),
        kinds=KINDS,
        threshold=OPEN("prompt"),
    )
    assert result.kept == ()
    assert reason_text(result.drops[0].why) == "no action is coming"


@pytest.mark.parametrize(
    ("fields", "surface", "reason"),
    [
        ({"status": "quarantined"}, Surface.PROMPT, "waits for you"),
        ({"tier": TrustTier.TOOL}, Surface.PROMPT, "neither said nor confirmed"),
        ({"tier": TrustTier.ASSISTANT}, Surface.START, "neither said nor confirmed"),
        ({"sensitivity": Sensitivity.RESTRICTED}, Surface.PROMPT, "must not appear"),
        ({"status": "superseded"}, Surface.ON_DEMAND, "superseded"),
    ],
)
def test_guard_holds_trust_and_sensitivity(fields, surface, reason):
    result = admit(
        [candidate(relevance=1.0, **fields)],
        query=query(surface=surface),
        kinds=KINDS,
        threshold=OPEN(surface.value),
    )
    assert result.kept == ()
    assert reason in reason_text(result.drops[0].why)


def test_guard_gives_a_session_its_own_digest_only_where_it_is_out_of_context():
    own = candidate(kind="digest", relevance=1.0, scores=(("recent", 1.0),))
    said = replace(own.memory.provenance, host=KEY.host, session_id=KEY.session_id)
    own = replace(own, memory=replace(own.memory, provenance=said))
    for surface, names in (
        (Surface.PROMPT, []),
        (Surface.ACTION, []),
        (Surface.COMPACTION, ["mem_1"]),
        (Surface.ON_DEMAND, ["mem_1"]),
    ):
        asked = query(surface=surface, session=str(KEY))
        assert kept(admit([own], query=asked, kinds=KINDS, threshold=OPEN(surface.value))) == names, surface
        asked = query(surface=surface, session="claude-code/another")
        assert kept(admit([own], query=asked, kinds=KINDS, threshold=OPEN(surface.value))) == ["mem_1"], (
            surface
        )


def test_guard_drops_what_no_longer_holds():
    old = candidate(relevance=1.0)
    gone = replace(old, memory=replace(old.memory, validity=Validity(valid_from_ms=0, valid_to_ms=NOW_MS)))
    assert admit([gone], query=query(), kinds=KINDS, threshold=OPEN("prompt")).drops[0].why == DropReason(
        cause=DropCause.NOT_VALID
    )


def test_guard_drops_stale_episodes_except_on_demand():
    stale = candidate(kind="outcome", relevance=1.0, scores=(("recent", 0.1),))
    assert admit([stale], query=query(), kinds=KINDS, threshold=OPEN("prompt")).drops[0].why == DropReason(
        cause=DropCause.TOO_OLD
    )
    assert kept(
        admit([stale], query=query(surface=Surface.ON_DEMAND), kinds=KINDS, threshold=OPEN("on_demand"))
    ) == ["mem_1"]


def test_freshness_halves_at_the_half_life():
    kind = KINDS.get("outcome")
    assert freshness(at_ms=NOW_MS, since_ms=NOW_MS - 30 * DAY_MS, kind=kind) == pytest.approx(0.5)
    assert freshness(at_ms=NOW_MS, since_ms=NOW_MS + DAY_MS, kind=kind) == 1.0
    assert freshness(at_ms=NOW_MS, since_ms=0, kind=KINDS.get("preference")) == 1.0


def test_character_closeness_by_hand():
    """ab / abc: grams of ' ab ' = {' ab', 'ab '}; of ' abc ' = {' ab', 'abc', 'bc '}; common 1."""
    assert gram_cosine("ab", "abc") == pytest.approx(1 / (2 * 3) ** 0.5)
    assert gram_cosine("same words", "same words") == pytest.approx(1.0)
    assert gram_cosine("", "x") == 0.0


def test_dedupe_drops_copies_and_what_the_context_holds():
    first = candidate("Always run the linter before a commit.", id="a")
    copy = candidate("always run the linter before a commit", id="b")
    held = candidate("Tabs, not spaces.", id="c")
    result = dedupe(
        [first, copy, held], in_context={"c": DropReason(cause=DropCause.IN_CONTEXT, detail="turn 1, start")}
    )
    assert kept(result) == ["a"]
    assert {d.memory_id: reason_text(d.why) for d in result.drops} == {
        "b": "says what a says",
        "c": "already in context (turn 1, start)",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The service listens on port 8080 in all stages", "The service listens on port 9090 in all stages"),
        ("Squash commits before the merge", "Never squash commits before the merge"),
        ("Run the database migrations before the new version of the web service is deployed", "Run the database migrations after the new version of the web service is deployed"),
        ("Admins can delete customer accounts in the support console", "Former admins can delete customer accounts in the support console"),
        ("The freezer in the second lab is kept at 20 degrees over night", "The freezer in the second lab is kept at -20 degrees over night"),
    ],
)  # fmt: skip
def test_two_that_differ_in_a_word_are_no_copies(one, other):
    assert kept(dedupe([candidate(one, id="a"), candidate(other, id="b")], in_context={})) == ["a", "b"]


def words(_candidate, text):
    return len(text.split())


def test_budget_is_never_exceeded_and_smaller_ones_still_fit():
    long = candidate("one two three four five six seven eight nine ten", id="a", relevance=0.9)
    short = candidate("only three words", id="b", relevance=0.5)
    result = pack(
        [long, short],
        surface=Surface.PROMPT,
        allowance=Allowance(tokens=6, frame_tokens=2, max_items=9),
        cost=words,
    )
    assert [i.candidate.memory.id for i in result.kept.items] == ["b"]
    assert "does not fit" in reason_text(result.drops[0].why)


def test_budget_shortens_at_a_sentence_end():
    text = "Use the factory. It also wires the clock, the store and the rest of the parts."
    result = pack(
        [candidate(text)],
        surface=Surface.PROMPT,
        allowance=Allowance(tokens=6, frame_tokens=1, max_items=9),
        cost=words,
    )
    assert [(i.text, i.shortened) for i in result.kept.items] == [("Use the factory.", True)]


def test_budget_prefers_variety_of_kinds_but_pinned_first():
    a = candidate("a", id="a", relevance=0.90)
    b = candidate("b", id="b", relevance=0.88)
    c = candidate("c", id="c", kind="decision", relevance=0.80)
    d = candidate("d", id="d", kind="fact", relevance=0.10, pinned=True)
    assert [x.memory.id for x in diversified([a, b, c, d])] == ["d", "a", "c", "b"]


def packed(*contents: str, budget: int = 10_000) -> Pack:
    candidates = [candidate(text, id=f"m{i}") for i, text in enumerate(contents)]
    allowance = Allowance(tokens=budget, frame_tokens=0, max_items=99)
    return pack(candidates, surface=Surface.PROMPT, allowance=allowance, cost=words).kept


def test_render_says_kind_and_absolute_day_where_it_can_age():
    assert line_text(candidate("Use tabs."), "Use tabs.", KINDS) == "- [Preference] Use tabs."
    fact = candidate("Tabs are 4 wide.", kind="fact")
    assert line_text(fact, "Tabs are 4 wide.", KINDS) == "- [Fact] Tabs are 4 wide. (2025-10-09)"


def test_render_marks_what_is_unconfirmed():
    assert line_text(candidate("x", tier=TrustTier.ASSISTANT), "x", KINDS).endswith(
        "(assistant, 2025-10-09, unconfirmed)"
    )


def test_deliver_cuts_whole_memories_at_the_cap_and_keeps_the_delimiter():
    block = packed("first " * 20, "second " * 20, "third " * 20)
    whole = len(render_block(block, KINDS))
    result = cut(
        block,
        render_block(block, KINDS),
        render=lambda p: render_block(p, KINDS),
        frame_tokens=9,
        cap_chars=whole - 1,
    )
    assert len(result.kept.pack.items) == 2
    assert len(result.kept.block.text) < whole
    assert result.kept.block.text.endswith("</tacit-memory>")
    assert "host's cap" in reason_text(result.drops[0].why)


@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), max_size=8), st.integers(0, 900))
def test_deliver_property(contents, cap):
    """No block is over the cap, and what is there is whole."""
    block = packed(*contents)
    done = cut(
        block,
        render_block(block, KINDS),
        render=lambda p: render_block(p, KINDS),
        frame_tokens=9,
        cap_chars=cap,
    ).kept.block
    assert not cap or len(done.text) <= cap
    assert not done.text or done.text.endswith("</tacit-memory>")
    assert bool(done.text) == bool(done.memory_ids)


@pytest.mark.parametrize("surface", ["start", "prompt", "action", "failure", "subagent", "compaction"])
def test_a_surface_without_tokens_is_off(surface):
    common = {"session": KEY, "key": "k", "at_ms": 1, "cwd": "/p"}
    signals = {
        "start": SessionStarted(**common, source="startup"),
        "compaction": SessionStarted(**common, source="compact"),
        "prompt": PromptSubmitted(**common, text="change the parser"),
        "failure": ToolFailed(**common, call=CALL, error="boom"),
        "action": ToolStarting(**common, call=CALL),
        "subagent": SubagentStarted(**common, task="look"),
    }
    state = SessionState(key=KEY)
    with_tokens = RecallSettings()
    without = RecallSettings(budgets=with_tokens.budgets.model_copy(update={surface: 0}))
    assert surface_for(signals[surface], state, with_tokens, preset_of("focused")) == surface
    silence = surface_for(signals[surface], state, without, preset_of("focused"))
    assert silence.cause is SilenceCause.OFF_IN_PRESET
    assert silence.detail == surface
