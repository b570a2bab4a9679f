"""The `multispace` design, item by item. Formulas by hand; everything else through the engine over a real store."""

from __future__ import annotations

import dataclasses
import logging
import re
from dataclasses import replace

import pytest

from presets.acceptance import acceptance
from presets.driving import Failing, workplace
from samples import DAY_MS, NOW_MS, candidate, query
from tacit.app.queries.injection import Injection, InjectionFailed, InjectionResult
from tacit.errors import StoreError
from tacit.model.memory import Entity
from tacit.model.pack import DivergenceAlert, PackItem, Surface
from tacit.model.trigger import Situation, Trigger
from tacit.presets import preset_of
from tacit.presets.multispace.preset import (
    LocalTime,
    alert_text,
    as_activity,
    current_work,
    divergences,
    diversity_bonus,
    in_window,
    multispace_relevance,
    priority,
    recency_factor,
    time_hints,
)
from tacit.presets.multispace.settings import Categories, RecencyWeights
from tacit.providers.tokens import FakeTokenCounter
from tacit.recall.budget import CategoryEntry, Filling, pack_with_carryover, shorten_long_text
from tacit.recall.spaces import SPACES, rhythm

pytestmark = pytest.mark.timeout(60)
HOUR_MS = 3_600_000
WEIGHTS = RecencyWeights()
AUTH = "How does authentication with JWT tokens work in the login flow?"
ORDER = [
    "## Relevant Context",
    "### ⚠️ Note: Activity Shift Detected",
    "### Recent Related Work",
    "### Potentially Related",
    "### Session Context",
    "### Temporal Hints",
]
DIGEST = "impl: implementing user registration endpoint with email verification\ndec: Codes live in Redis\nnext: resend the code"


@pytest.fixture
def lab(open_workplace):
    return open_workplace("multispace")


def ask(lab, words=AUTH, session="s1", **given):
    """One call of the library, a second later."""
    lab.clock.advance(1000)
    injection = given.pop("injection", None) or Injection(lab.engine)
    answer = injection.inject_context(words, session, cwd=str(lab.place), **given)
    lab.engine.flush()
    return answer


def know_auth(lab, number=3, days_ago=3.0):
    """Memories that say nearly what AUTH asks."""
    for n in range(number):
        lab.know(f"{AUTH[:-1]}: variant {n} of it", "fact", days_ago=days_ago)


def know_recent(lab, number=6):
    """Recent memories that have nothing to do with deployment."""
    words = [
        "watercolour paper",
        "garden roses",
        "violin strings",
        "sourdough bread",
        "chess openings",
        "tide tables",
    ]
    for n in range(number):
        lab.know(f"Notes about {words[n % 6]} were collected {n}", "fact", days_ago=0.01)


def know_earlier_work(lab):
    """Evidence for one hint of each space of time."""
    other = lab.agent("earlier")
    other.start()
    other.edited("src/auth.rs")
    lab.know("impl: JWT login", "digest", days_ago=1)
    for week in (1, 2):
        lab.know(f"JWT login authentication {week}", "fact", days_ago=7 * week)


def headings(text):
    return [line for line in text.splitlines() if line.startswith("#")]


# --- formulas, by hand ---------------------------------------------------------------------------------------------


@acceptance("multispace", "TC-P5-01", "REQ-P5-01", "VC-1")
def test_priority_is_relevance_times_recency_times_diversity():
    assert priority(0.5, age_ms=HOUR_MS // 2, agreement=4.0, weights=WEIGHTS) == pytest.approx(0.78)


@acceptance("multispace", "EXAMPLE-A", "EXAMPLE-B", "AC-P5-03-01")
def test_the_newer_memory_of_the_example_stands_before_the_better_agreed_one():
    a = priority(0.45, age_ms=HOUR_MS // 2, agreement=1.8, weights=WEIGHTS)
    b = priority(0.35, age_ms=3 * DAY_MS, agreement=5.2, weights=WEIGHTS)
    assert (round(a, 3), round(b, 4)) == (0.585, 0.5775)
    assert a > b


@acceptance("multispace", "TC-P5-11", "TIERS", "AC-P5-03-02")
def test_the_bonus_has_three_tiers():
    assert [diversity_bonus(x) for x in (5.2, 3.0, 1.5)] == [1.5, 1.2, 1.0]
    assert [diversity_bonus(x) for x in (5.0, 4.99, 2.5, 2.49, 0.0)] == [1.5, 1.2, 1.2, 1.0, 1.0]


@acceptance("multispace", "TC-P5-07", "REQ-P5-08")
def test_the_recency_factor_has_six_tiers():
    hours = (0.5, 3, 3 * 24, 20 * 24, 60 * 24, 100 * 24)
    assert [recency_factor(int(h * HOUR_MS), WEIGHTS) for h in hours] == [1.3, 1.2, 1.1, 1.0, 0.9, 0.8]
    marks = (HOUR_MS, DAY_MS, 7 * DAY_MS, 30 * DAY_MS, 90 * DAY_MS)
    assert [recency_factor(m, WEIGHTS) for m in marks] == [1.2, 1.1, 1.0, 0.9, 0.8]


@acceptance("multispace", "REQ-P5-01")
def test_relevance_is_what_reaches_over_the_marks_by_topic_weight():
    topics = {name: space for name, space in SPACES.items() if space.topic_weight}
    marks = {name: 0.5 if space.high > 1 else space.high for name, space in topics.items()}
    whole = sum(space.topic_weight * (1 - marks[name]) for name, space in topics.items())
    found = candidate(scores=(("semantic", 0.75), ("lexical", 24.0), ("recent", 1.0)))
    # BM25 24 with a mark of 8 is 24 / 32 = 0.75 on the scale 0 to 1; its mark is 0.5
    expected = ((0.75 - marks["semantic"]) + (24.0 / (24.0 + SPACES["lexical"].high) - 0.5)) / whole
    value, reasons = multispace_relevance(query(), found, None)
    assert value == pytest.approx(expected)
    assert reasons[0] == "agreement 2.0"


# --- categories and their tokens -----------------------------------------------------------------------------------


def entry(number, words, category="cluster", value=1.0):
    text = " ".join(["word"] * words)
    return CategoryEntry(
        candidate=candidate(f"{number} {text}", id=f"mem_{number}"),
        text=text,
        category=category,
        value=value - number / 100,
    )


def filled(entries, *, carried=200, total=1150):
    filling = Filling(cost=lambda _entry, text: len(text.split()), total=total)
    pack_with_carryover(
        entries, order=(("cluster", 400), ("single", 300), ("session", 200)), carried=carried, filling=filling
    )
    tokens = {}
    for item in filling.items:
        tokens[item.category] = tokens.get(item.category, 0) + item.tokens
    return tokens


@acceptance("multispace", "TC-P5-02", "REQ-P5-02")
def test_a_category_keeps_to_its_tokens():
    singles = [entry(n, 100, "single") for n in range(10, 16)]
    tokens = filled([*(entry(n, 120) for n in range(5)), *singles], carried=0)
    assert tokens["cluster"] <= 400
    assert tokens["cluster"] > 350  # the fourth comes in part
    assert tokens["single"] <= 300 + 400 - tokens["cluster"]


@acceptance("multispace", "EC-P5-05")
def test_one_category_alone_has_nine_hundred_tokens():
    assert filled([entry(n, 50) for n in range(40)]) == {"cluster": 900}
    assert filled([entry(n, 50, "single") for n in range(40)]) == {"single": 900}


@acceptance("multispace", "FLOW")
def test_what_a_category_leaves_flows_to_the_next():
    entries = [
        entry(1, 100),
        *(entry(n, 50, "single") for n in range(10, 40)),
        *(entry(n, 50, "session") for n in range(50, 70)),
    ]
    assert filled(entries) == {"cluster": 100, "single": 800, "session": 200}
    assert filled(entries, carried=0) == {"cluster": 100, "single": 600, "session": 200}


@acceptance("multispace", "TC-P5-06", "REQ-P5-07", "VC-6")
def test_a_long_memory_is_cut_at_a_sentence_end():
    sentence = "The importer reads one file after the other and keeps going."  # eleven words
    text = " ".join([sentence] * 14)
    short, cut = shorten_long_text(text, above=100, to=80, count=FakeTokenCounter().count)
    assert cut
    assert short == " ".join([sentence] * 7).rstrip(".") + "..."
    assert len(short.split()) == 77
    one = " ".join(f"word{n}" for n in range(150))
    assert (
        shorten_long_text(one, above=100, to=80, count=FakeTokenCounter().count)[0].split()[-1] == "word79..."
    )


@acceptance("multispace", "EC-P5-06")
def test_a_short_memory_comes_whole(lab):
    memory = lab.know("JWT tokens: authentication login flow", "fact", days_ago=1)
    assert memory.tokens < 10
    assert "JWT tokens: authentication login flow\n" in ask(lab).formatted_context


# --- alerts --------------------------------------------------------------------------------------------------------


def window(*similarities, space="semantic"):
    return [
        candidate(
            f"Discussing authentication, part {n}", id=f"mem_{n}", at_ms=NOW_MS - n, scores=((space, value),)
        )
        for n, value in enumerate(similarities)
    ]


@acceptance("multispace", "TC-P5-03", "REQ-P5-03")
def test_an_alert_is_worded_as_the_design_says():
    alert = DivergenceAlert(
        space="semantic",
        similarity=0.15,
        memory_id="mem_1",
        summary="Discussing authentication implementation with JWT tokens",
    )
    assert alert_text(alert).splitlines() == [
        "⚠️ DIVERGENCE DETECTED",
        'Recent activity in Semantic space: "Discussing authentication implementation with JWT tokens"',
        "Current appears different - similarity: 0.15",
    ]


def test_the_largest_similarity_of_recent_work_decides_and_one_memory_or_three_turns_are_needed():
    low = SPACES["semantic"].low
    asked = query("deploy the helm chart")
    (alert,) = divergences(asked, window(0.0, 0.05, low - 0.01), spaces=["semantic"])
    assert (alert.space, alert.similarity, alert.memory_id) == ("semantic", round(low - 0.01, 2), "mem_2")
    assert divergences(asked, window(0.0, 0.05, low), spaces=["semantic"]) == ()
    assert len(divergences(asked, window(0.05), spaces=["semantic"])) == 1
    turns = [replace(p, memory=replace(p.memory, kind="turn")) for p in window(0.0, 0.05, 0.1)]
    assert len(divergences(asked, turns, spaces=["semantic"])) == 1
    assert divergences(asked, turns[:2], spaces=["semantic"]) == ()
    assert divergences(query("go on"), window(0.0, 0.05, 0.1), spaces=["semantic"]) == ()


@acceptance("multispace", "ALERT-once")
def test_words_alone_tell_of_no_shift():
    """No piece of work shares a word with the query; the semantic space sees the same work."""
    asked = query("deploy the helm chart")
    assert divergences(asked, window(0.4, 0.5, 0.6), spaces=["semantic", "lexical"]) == ()
    spaces = [a.space for a in divergences(asked, window(0.0, 0.0, 0.1), spaces=["semantic", "lexical"])]
    assert spaces == ["semantic"]  # the fact is the same, and told once


@acceptance("multispace", "ALERT-topic")
def test_an_alert_never_quotes_small_talk():
    """What tells no topic is no work, however far it is from the words."""
    asked, talk = query("deploy the helm chart"), ("Done with that.", "Thanks a lot, that looks great!")
    pieces = [candidate(text, id=f"mem_{n}", scores=(("semantic", 0.01),)) for n, text in enumerate(talk)]
    assert divergences(asked, pieces, spaces=["semantic"]) == ()
    (alert,) = divergences(asked, [*pieces, *window(0.0)], spaces=["semantic", "lexical"])
    assert alert.summary.startswith("Discussing authentication")


@acceptance("multispace", "EC-P5-03")
def test_topic_files_and_error_are_a_fact_each_and_other_spaces_add_none():
    near = {"semantic": 0, "late": 1, "intent": 2, "causal": 3, "code": 4}
    pieces = [
        candidate(
            f"Discussing authentication, part {n}", id=f"mem_{n}", trigger=Trigger(actions=(("run_tests", 0.9),)),
            scores=tuple((space, 0.1 - 0.02 * at if at == n else 0.0) for space, at in near.items() if space != "code"),
        )
        for n in range(5)
    ]  # fmt: skip
    asked = query(
        "deploy the helm chart",
        situation=Situation(actions=(("edit_code", 0.9),)),
        error_signature="Err: connection reset",
        entities=(Entity(kind="file", key="chart.yaml"),),
    )
    alerts = divergences(asked, pieces, spaces=list(near))
    assert [(a.space, a.similarity) for a in alerts] == [("code", 0.0), ("causal", 0.04), ("semantic", 0.1)]


def test_current_work_begins_where_a_turn_left_the_work_before_it():
    texts = [
        "rotate session tokens",
        "expire session tokens",
        "write a terraform module",
        "add terraform outputs",
    ]
    near = [[1, 0.6, 0.0, 0.1], [0.6, 1, 0.1, 0.0], [0.0, 0.1, 1, 0.5], [0.1, 0.0, 0.5, 1]]
    assert current_work(texts, near, turns=4) == 2
    assert current_work(texts, near, turns=1) == 0
    assert current_work([*texts[:2], "go on", texts[3]], near, turns=4) == 0


def test_what_was_imported_is_no_work():
    asked = query("deploy the helm chart")
    known = candidate("Dates are ISO 8601", at_ms=asked.at_ms).memory
    learned = replace(known, provenance=replace(known.provenance, source="session"))
    assert in_window(learned, asked)
    assert not in_window(replace(learned, provenance=replace(known.provenance, source="CLAUDE.md")), asked)


@acceptance("multispace", "EC-P5-03", "AC-P5-02-01")
@pytest.mark.parametrize("number", [1, 6])
def test_one_shift_is_one_alert_under_one_heading(lab, number):
    know_recent(lab, number)
    found = ask(lab, "Deploy kubernetes helm charts onto production clusters")
    assert len(found.divergence_alerts) == 1
    assert found.formatted_context.count("### ⚠️ Note: Activity Shift Detected") == 1
    assert found.formatted_context.count("⚠️ DIVERGENCE DETECTED") == 1


@acceptance("multispace", "AC-P5-02-01", "VC-3")
def test_a_shift_is_told_at_the_top(lab):
    know_recent(lab)
    lab.know("Deploy kubernetes helm charts onto production clusters with argo", "fact", days_ago=20)
    found = ask(lab, "Deploy kubernetes helm charts onto production clusters")
    lines = found.formatted_context.splitlines()
    assert lines[2:5] == [
        "## Relevant Context",
        "### ⚠️ Note: Activity Shift Detected",
        "⚠️ DIVERGENCE DETECTED",
    ]
    assert "semantic" in {alert.space for alert in found.divergence_alerts}
    assert "with argo" in found.formatted_context


@acceptance("multispace", "AC-P5-02-02")
def test_nothing_is_told_where_nothing_shifted(lab):
    for n in range(6):
        lab.know(f"{AUTH[:-1]}: recent note {n}", "fact", days_ago=0.02)
    found = ask(lab)
    assert found.divergence_alerts == ()
    assert "Activity Shift" not in found.formatted_context


# --- the whole -----------------------------------------------------------------------------------------------------


@acceptance("multispace", "AC-P5-01-01")
def test_a_prompt_gets_what_is_known_of_its_topic(lab):
    lab.know("Authentication issues JWT tokens after the login flow", "fact", days_ago=2)
    lab.know("Watercolour paper is stored flat", "fact", days_ago=2)
    block = lab.agent().prompt(AUTH)
    assert "Authentication issues JWT tokens" in block
    assert "Watercolour" not in block


@acceptance("multispace", "AC-P5-01-02", "VC-2")
def test_no_pack_exceeds_its_tokens(lab):
    long = " ".join([f"{AUTH[:-1]} and the refresh token is stored safely."] * 12)
    for n in range(40):
        lab.know(f"Number {n}. {long}", "fact", days_ago=n / 10)
    found = ask(lab)
    assert 600 < found.total_tokens <= 1150
    assert lab.engine._parts.tokens.count(found.formatted_context) <= 1150


def everything(lab):
    """Alerts, clusters, single finds, a last session, hints."""
    know_recent(lab)
    lab.know(DIGEST, "digest", days_ago=1)
    topic = "Deploy kubernetes helm charts onto production clusters"
    for n in range(3):
        lab.know(f"{topic}, note {n}", "fact", days_ago=7 * (n + 1))
    lab.know(
        "Production clusters are patched on Mondays by the platform team, never by hand", "fact", days_ago=30
    )
    lab.know("kubernetes helm clusters and charts are watched by the platform team", "fact", days_ago=40)
    return ask(lab, topic)


@acceptance("multispace", "TC-P5-04", "AC-P5-04-01", "REQ-P5-04", "VC-4", "EXAMPLE-OUTPUT")
def test_all_sections_stand_in_their_order(lab):
    found = everything(lab)
    assert headings(found.formatted_context) == ORDER
    dated = [line for line in found.formatted_context.splitlines() if line.startswith("- **[")]
    assert dated
    assert all(re.match(r"- \*\*\[\d{4}-\d\d-\d\d\]\*\* ", line) for line in dated)
    assert (
        "Last session focused on implementing user registration endpoint with email verification."
        in found.formatted_context
    )
    assert found.formatted_context.startswith("<tacit-memory ")
    assert found.formatted_context.endswith("</tacit-memory>")


@acceptance("multispace", "TC-P5-08", "REQ-P5-06", "VC-7")
def test_the_result_holds_all_metadata(lab):
    names = [field.name for field in dataclasses.fields(InjectionResult)]
    assert names == [
        "formatted_context", "total_tokens", "divergence_alerts", "high_relevance_count", "single_space_count",
        "session_summary_included", "temporal_badges", "memories_included", "latency_ms",
    ]  # fmt: skip
    found = everything(lab)
    assert found.total_tokens > 0
    assert found.divergence_alerts
    assert found.high_relevance_count >= 3
    assert found.single_space_count >= 1
    assert found.session_summary_included
    assert found.temporal_badges
    assert len(found.memories_included) == found.high_relevance_count + found.single_space_count + 1
    assert found.latency_ms >= 0


@acceptance("multispace", "TC-P5-09", "REQ-P5-09", "VC-8")
def test_hints_of_time_come_from_the_records_and_stand_last(lab):
    know_earlier_work(lab)
    found = ask(lab, "How does JWT login authentication work?")
    same, yesterday, recent = found.temporal_badges
    assert same.startswith("Same time of day as previous work on JWT login authentication")
    assert yesterday == "Continuation from yesterday's session on JWT login"
    assert recent == "Recent activity (within last hour): edited src/auth.rs just now"
    tail = found.formatted_context.split("### Temporal Hints\n")[1].splitlines()
    assert tail == [*(f"- {badge}" for badge in found.temporal_badges), "</tacit-memory>"]


@acceptance("multispace", "REQ-P5-09")
def test_a_hint_comes_once_a_session_and_never_alone(lab):
    know_earlier_work(lab)
    lab.clock.advance(45 * 60_000)
    first = ask(lab, "How does JWT login authentication work?")
    assert "Recent activity (within last hour): edited src/auth.rs 45 minutes ago" in first.temporal_badges
    lab.know("JWT login authentication rotates its keys", "fact", days_ago=40)
    again = ask(lab, "What rotates the keys of the JWT login authentication?")
    assert again.memories_included
    assert again.temporal_badges == ()
    assert ask(lab, "How does JWT login authentication work?", session="s2").temporal_badges


@acceptance("multispace", "REQ-P5-09")
def test_a_hint_alone_is_no_block(lab):
    other = lab.agent("earlier")
    other.start()
    other.edited("src/auth.rs")
    lab.know("Watercolour paper is stored flat", "fact", days_ago=30)
    assert "auth.rs" not in lab.agent().prompt("Implement the violin string catalogue page")
    assert "auth.rs" in lab.agent("s2").prompt("Is watercolour paper stored flat?")


@pytest.mark.parametrize(
    ("space", "hint"),
    [
        ("periodic", "Same time of day as previous work"),
        ("sequence", "Continuation from yesterday's session"),
        ("recent", "Recent activity (within last hour)"),
    ],
)
def test_without_its_space_a_hint_is_gone(tmp_path, space, hint):
    for spaces in (SPACES, [name for name in SPACES if name != space]):
        folder = tmp_path / str(len(spaces))
        folder.mkdir()
        with workplace(folder, "multispace", recall={"spaces": list(spaces)}) as lab:
            know_earlier_work(lab)
            found = ask(lab, "How does JWT login authentication work?")
        assert any(badge.startswith(hint) for badge in found.temporal_badges) == (space in spaces)
        assert len(found.temporal_badges) == len(spaces) - 10


def hints(
    ages_ms, *, offset_ms=0, spaces=("recent", "periodic", "sequence"), category="cluster", source="session"
):
    """Hints for a pack of memories of these ages."""
    items = []
    for number, age_ms in enumerate(ages_ms):
        made = candidate(f"Token rotation {number}", id=f"mem_{number}", at_ms=NOW_MS - age_ms)
        memory = replace(made.memory, provenance=replace(made.memory.provenance, source=source))
        scored = replace(made, memory=memory, scores=(("periodic", rhythm(age_ms)),))
        items.append(PackItem(candidate=scored, text="", tokens=1, category=category))
    now = LocalTime(at_ms=NOW_MS, offset_ms=lambda _at: offset_ms)
    return time_hints(items, spaces=spaces, sessions=(), last_session=None, now=now)


SAME, HABIT = (
    "Same time of day as previous work on Token rotation 0",
    "You typically work on Token rotation 0 ",
)


@acceptance("multispace", "REQ-P5-09")
@pytest.mark.parametrize(
    ("ages", "found"),
    [
        ((1, 2, 3), (SAME, HABIT + "in the morning")),
        ((1, 2), (SAME,)),
        ((1,), ()),
        ((1.4, 2.4, 3.4), ()),
        ((1, 2, 3.4, 4.4, 5.4), ()),
        ((), ()),
    ],
)
def test_a_rhythm_is_work_at_this_time_on_several_days_and_on_no_more_at_another(ages, found):
    assert hints([int(days * DAY_MS) for days in ages]) == found


def test_what_was_imported_or_few_spaces_agree_on_shows_no_rhythm():
    days = [DAY_MS, 2 * DAY_MS, 3 * DAY_MS]
    assert hints(days, source="CLAUDE.md") == ()
    assert hints(days, category="single") == ()
    assert hints(days, spaces=("recent", "sequence")) == ()


def test_parts_of_the_day_are_those_of_the_users_own_clock():
    days = [DAY_MS, 2 * DAY_MS, 3 * DAY_MS]
    assert hints(days, offset_ms=9 * HOUR_MS)[-1] == HABIT + "in the evening"


@acceptance("multispace", "TC-P5-10")
def test_hints_keep_to_fifty_tokens(lab):
    files = "/".join(["a_rather_long_folder_name"] * 6) + "/authentication_middleware_factory.rs"
    other = lab.agent("earlier")
    other.start()
    other.edited(files)
    found = everything(lab)
    count = lab.engine._parts.tokens.count
    assert found.temporal_badges
    assert files not in found.formatted_context
    assert sum(count(f"- {badge}") + 1 for badge in found.temporal_badges) <= 50


@acceptance("multispace", "REQ-P5-05")
def test_setters_change_budgets_and_recency(lab):
    know_auth(lab, 12)
    injection = Injection(lab.engine)
    full = ask(lab, injection=injection)
    injection.set_token_budget(Categories(divergence=0, cluster=150, single=0, session=0, badges=0))
    small = ask(lab, session="s2", injection=injection)
    assert small.total_tokens <= 150 < full.total_tokens
    injection.set_token_budget(Categories())
    injection.configure_recency_weights(RecencyWeights(hour=1, day=1, week=0.1, month=5, quarter=5, older=5))
    lab.know(f"{AUTH[:-1]}: variant old of it", "fact", days_ago=20, id="mem_old")
    turned = ask(lab, session="s3", injection=injection)
    assert turned.memories_included[0] == "mem_old"
    trace = lab.last_trace()
    assert trace.preset == "multispace"
    assert {name for c in trace.candidates for name, _ in c.scores} >= {
        "semantic",
        "lexical",
        "late",
        "expanded",
    }
    recall = lab.engine.settings.recall
    assert len(recall.spaces) == 13
    assert (recall.candidates_per_space, preset_of("multispace").shortlist) == (100, 100)


@acceptance("multispace", "FLOOR")
@pytest.mark.parametrize(
    ("scores", "comes"),
    [
        ({"late": 0.6}, False),
        ({"late": 0.6, "expanded": 0.4, "semantic": 0.19}, False),
        ({"late": 0.6, "semantic": 0.2}, True),
        ({"lexical": 8.0, "semantic": 0.0}, True),
        ({"late": 0.6, "expanded": 0.4, "intent": 0.5}, True),
    ],
)
def test_what_is_far_in_meaning_needs_words_or_the_agreement_of_spaces(scores, comes):
    found = candidate(scores=tuple(scores.items()))
    assert (multispace_relevance(query(surface=Surface.PROMPT), found, None)[0] > 0) == comes
    assert multispace_relevance(query(surface=Surface.ON_DEMAND), found, None)[0] > 0


@acceptance("multispace", "DEDUP")
def test_two_memories_that_differ_in_one_word_both_come(lab):
    for when in ("before", "after"):
        lab.know(
            f"Run the database migrations {when} the new version of the web service is deployed",
            "fact",
            days_ago=1,
        )
    block = lab.agent().prompt("When do the database migrations of the web service run?")
    assert "migrations before the new" in block
    assert "migrations after the new" in block


@acceptance("multispace", "START-none")
def test_a_session_starts_in_silence_and_the_trace_says_why(lab):
    know_auth(lab)
    assert lab.agent().start() == ""
    assert lab.engine.settings.recall.budgets.start == 0


# --- edge cases and errors -----------------------------------------------------------------------------------------


@acceptance("multispace", "EC-P5-01")
def test_a_new_topic_is_said_to_be_one_once(lab):
    agent = lab.agent()
    first = agent.prompt("Implement the violin string catalogue page")
    assert "No relevant memories found. This appears to be a new topic." in first
    assert agent.prompt("Implement the sourdough recipe importer now") == ""
    assert "No relevant memories found" in lab.agent("s2").prompt("Implement the chess opening book")


@acceptance("multispace", "EC-P5-01")
def test_the_second_prompt_about_a_topic_is_no_new_topic(lab):
    lab.know("Authentication issues JWT tokens after the login flow", "fact", days_ago=2)
    agent = lab.agent()
    assert "JWT tokens" in agent.prompt(AUTH)
    assert agent.prompt("Implement the green button for the login") == ""
    assert "new topic" in agent.prompt("Catalogue all violin strings of the shop")


@acceptance("multispace", "EXAMPLE-OUTPUT")
def test_the_last_session_is_told_as_an_activity():
    assert as_activity("Implement the login form") == "implementing the login form"
    assert as_activity("Set the session cookie") == "setting the session cookie"
    assert as_activity("Use pnpm in CI") == "using pnpm in CI"
    assert as_activity("JWT login") == "JWT login"
    assert as_activity("src/auth.rs") == "src/auth.rs"


@acceptance("multispace", "EC-P5-02")
def test_a_memory_over_its_budget_is_cut_and_the_log_says_so(lab, caplog):
    text = " ".join(f"{AUTH[:-1]} number {n}." for n in range(30))
    memory = lab.know(text, "fact", days_ago=1)
    with caplog.at_level(logging.INFO):
        found = ask(lab)
    assert memory.id in found.memories_included
    assert "number 29" not in found.formatted_context
    before, after = map(
        int, re.search(rf"memory {memory.id} from (\d+) to (\d+) tokens", caplog.text).groups()
    )
    assert before >= memory.tokens
    assert 60 < after <= 80  # the words alone, without date and frame


@acceptance("multispace", "EC-P5-04")
def test_without_the_embedding_there_is_an_error_and_nothing_else(tmp_path):
    embedder = Failing()
    with workplace(tmp_path, "multispace", embedder=embedder) as lab:
        know_auth(lab)
        embedder.broken = True
        failed = ask(lab)
        assert isinstance(failed, InjectionFailed)
        assert (failed.reason, failed.http_status) == ("embedding", 500)
        assert failed.message == "Failed to embed query: the model is gone."
        assert failed.result == InjectionResult(latency_ms=failed.result.latency_ms)
        assert lab.agent("s2").prompt(AUTH) == ""


@acceptance("multispace", "ERR-P5-01")
def test_a_failing_store_is_an_error_and_the_turn_goes_on(lab):
    know_auth(lab)

    class Broken:
        def __getattr__(self, name):
            raise StoreError("disk I/O error.")

    sound = lab.engine.store
    read_from(lab, Broken())
    failed = ask(lab)
    assert (failed.reason, failed.http_status) == ("store", 500)
    assert failed.message == "Failed to retrieve memories: disk I/O error."
    assert failed.result.formatted_context == ""
    assert lab.agent("s2").prompt(AUTH) == ""
    read_from(lab, sound)
    assert ask(lab).memories_included  # the session itself is sound


def read_from(lab, store):
    """Let the pipeline read another store from now on."""
    object.__setattr__(lab.engine._pipeline.tools, "store", store)


@acceptance("multispace", "ERR-P5-02")
@pytest.mark.parametrize("broken", [ValueError("no vocabulary"), -1])
def test_uncountable_tokens_are_estimated(tmp_path, caplog, broken):
    from tacit.recall.pipeline import safe_token_counter

    class Counter:
        def count(self, _text):
            if isinstance(broken, Exception):
                raise broken
            return broken

    assert safe_token_counter(Counter())("x" * 41) == 11
    assert "Token counting failed" in caplog.text


@acceptance("multispace", "ERR-P5-03")
def test_after_two_seconds_what_was_found_is_handed_over(tmp_path, caplog):
    with workplace(tmp_path, "multispace") as lab:
        know_auth(lab)
        assert lab.engine.settings.recall.deadline_ms == 2000

        class LateLexical:
            """A store whose first search takes more than two seconds."""

            def __init__(self, search):
                self._search = search

            def __getattr__(self, name):
                lab.clock.advance(2100)
                return getattr(self._search, name)

        class LateStore:
            def __init__(self, store):
                self._store = store

            @property
            def search(self):
                return LateLexical(self._store.search)

            def __getattr__(self, name):
                return getattr(self._store, name)

        read_from(lab, LateStore(lab.engine.store))
        failed = ask(lab)
        assert isinstance(failed, InjectionFailed)
        assert (failed.reason, failed.http_status) == ("timeout", 408)
        assert failed.message == "Context injection timed out after 2000ms"
        text = failed.result.formatted_context
        assert failed.result.memories_included
        assert text.endswith("</tacit-memory>")
        assert re.search(r"timed out after 2000ms \(.*missed the deadline", caplog.text)
        lab.clock.advance(10_000)
        sooner = ask(lab, "Implement the JWT tokens of the mobile app", session="s2", deadline_ms=700)
        assert sooner.message == "Context injection timed out after 700ms"
