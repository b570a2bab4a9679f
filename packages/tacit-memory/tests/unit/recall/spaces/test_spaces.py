"""Every space that measures, against values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from samples import DAY_MS, NOW_MS, memory, query
from tacit.config.settings import SpaceName
from tacit.model.evidence import Shortlist
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, Relation, TrustTier
from tacit.model.pack import Surface
from tacit.presets.multispace.preset import weighted_agreement
from tacit.recall import spaces
from tacit.recall.retrieve import measure_spaces
from tacit.recall.spaces import SPACES, token_matches_of
from tacit.text.stemming import stem_list, stems

HOUR_MS = 3_600_000


def said(name: str, session: str, turn: int, content: str = "", *, at_ms: int = NOW_MS) -> Memory:
    place = Provenance(tier=TrustTier.USER, host="plain", session_id=session, turn=turn)
    return replace(memory(content or f"statement {name}", id=name, at_ms=at_ms), provenance=place)


def test_there_are_thirteen_with_the_topic_weights_of_the_spec():
    assert len(SPACES) == 13
    assert set(SPACES) == set(SpaceName.__args__)
    assert sum(space.topic_weight for space in SPACES.values()) == 8.5
    assert all(space.low < space.high for space in SPACES.values())


class TestPeriodic:
    def test_by_hand(self):
        """A week apart: both kernels at their peak. A day apart: half of 1 and half of exp(4 (cos(2 pi / 7) - 1))."""
        assert spaces.rhythm(7 * DAY_MS) == pytest.approx(1.0)
        assert spaces.rhythm(DAY_MS) == pytest.approx(
            0.5 + 0.5 * math.exp(4 * (math.cos(2 * math.pi / 7) - 1))
        )
        assert spaces.rhythm(int(3.5 * DAY_MS)) == pytest.approx(math.exp(-8))

    def test_what_was_just_made_shows_no_rhythm(self):
        assert spaces.rhythm(2 * HOUR_MS) == 0.0

    def test_the_same_hour_of_another_day_reaches_the_mark_and_the_opposite_hour_does_not(self):
        assert spaces.rhythm_of(query(at_ms=NOW_MS + DAY_MS), memory()) >= spaces.PERIODIC.high
        assert spaces.rhythm_of(query(at_ms=NOW_MS + DAY_MS + 12 * HOUR_MS), memory()) < spaces.PERIODIC.high


class TestSequence:
    def test_turns_and_sessions_apart_by_hand(self):
        """Two turns halve; one session is eight turns: 2 ** -4."""
        order = {"plain/a": 0, "plain/b": 1}
        assert spaces.session_closeness(("plain/a", 3), ("plain/a", 5), sessions=order) == 0.5
        assert spaces.session_closeness(("plain/a", 3), ("plain/b", 1), sessions=order) == 2**-4
        assert spaces.session_closeness(("plain/a", 3), ("plain/z", 1), sessions=order) == 0.0

    def test_a_prompt_is_near_to_what_was_said_a_moment_ago(self):
        short = Shortlist(
            memories=(said("m1", "s2", 4), said("m2", "s1", 9, at_ms=NOW_MS - DAY_MS), memory(id="m3"))
        )
        near = spaces.nearness_in_session(query(session="plain/s2", turn=6), short)
        assert near == {"m1": 0.5, "m2": 2**-4}

    def test_on_demand_a_hit_lights_up_what_was_said_around_it(self):
        """m1 has the best score of both seeds (weight 1); m2 one turn on gets 2 ** -0.5, and gives nothing back."""
        short = Shortlist(
            memories=(said("m1", "s", 4), said("m2", "s", 5), said("m3", "other", 5)),
            found={"lexical": {"m1": 6.0}, "semantic": {"m1": 0.5}},
        )
        assert spaces.nearness_in_session(query(surface=Surface.ON_DEMAND), short) == pytest.approx(
            {"m2": 2**-0.5}
        )


class TestCausal:
    @pytest.mark.parametrize(
        ("content", "symptom"),
        [
            ("The build fails because the lock file is stale", "the build fails"),
            ("Login timeouts are caused by a cold cache", "login timeouts"),
            ("Restarting the worker fixes the stuck upload queue", "stuck upload queue"),
            ("Upload queue stuck: restart the worker", "upload queue stuck"),
        ],
    )
    def test_finds_the_symptom_side(self, content, symptom):
        assert spaces.symptom_of(content, explains=True) == stems(symptom)

    def test_a_symptom_asks_for_its_fix_and_the_fix_does_not_ask_for_the_symptom(self):
        """Three of the symptom's four stems are in the query; a query like the fix shows none."""
        known = memory("The upload queue hangs forever because the worker lost its lease", kind="fact")
        asked = query("why is the upload queue stuck? it hangs")
        assert spaces.causal_overlap(asked, known) == pytest.approx(3 / 4)
        assert spaces.causal_overlap(query("why did the worker lose its lease"), known) == 0.0

    def test_a_query_without_direction_is_not_measured(self):
        known = memory("The upload queue hangs forever because the worker lost its lease", kind="fact")
        assert spaces.causal_overlap(query("show the upload queue"), known) == 0.0

    def test_a_query_without_direction_has_to_hold_three_stems_of_the_symptom(self):
        known = memory("The upload queue hangs forever because the worker lost its lease", kind="fact")
        assert spaces.causal_overlap(query("the upload queue sits there forever"), known) == 0.75

    @pytest.mark.parametrize("verb", ["cause", "causes"])
    def test_a_symptom_ends_at_the_sentence_not_at_a_dot_inside_a_name(self, verb):
        known = memory(
            f"Stale mocks {verb} 'log.cli is not a function'. Import the logger first.", kind="fact"
        )
        assert spaces.causal_overlap(query("the tests fail with 'log.cli is not a function'"), known) == 1.0

    def test_the_same_signature_is_certain(self):
        known = memory("x", error_signature="go | boom")
        assert spaces.causal_overlap(query(error_signature="go | boom"), known) == 1.0


class TestGraph:
    def test_flow_by_hand(self):
        """Two nodes, one edge, all seed on the first: r0 = 1/2 + r1/2, r1 = r0/2, so r0 = 2/3 and r1 = 1/3."""
        inflow = spaces.personalized_pagerank(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
        assert inflow == pytest.approx([1 / 6, 1 / 3], abs=1e-5)

    def test_a_neighbour_of_a_hit_scores_and_a_stranger_does_not(self):
        short = Shortlist(
            memories=(memory(id="m1"), memory(id="m2"), memory(id="m3")),
            found={"lexical": {"m1": 3.0}},
            relations=(Relation(source_id="m1", target_id="m2", type="caused_by"),),
        )
        scores = spaces.nearness_in_graph(query(), short)
        assert scores["m2"] == 1.0
        assert scores["m1"] == pytest.approx(0.5, abs=1e-4)
        assert "m3" not in scores

    def test_a_memory_with_many_relations_is_not_the_answer_to_every_question(self):
        """All found somehow, `hit` best: its own neighbor stands before the hub that everything is related to."""
        names = ["hub", "hit", "near", *(f"m{n}" for n in range(8))]
        short = Shortlist(
            memories=tuple(memory(id=name) for name in names),
            found={"lexical": {"hit": 9.0, **{f"m{n}": 3.0 for n in range(8)}}},
            relations=(
                Relation(source_id="hit", target_id="near", type="caused_by"),
                *(
                    Relation(source_id="hub", target_id=name, type="caused_by")
                    for name in names
                    if name not in ("hub", "near")
                ),
            ),
        )
        scores = spaces.nearness_in_graph(query(), short)
        assert max(scores, key=scores.__getitem__) == "near"

    @pytest.mark.parametrize(
        ("found", "relation"),
        [({"semantic": {"m1": 0.6}}, "caused_by"), ({"lexical": {"m1": 3.0}}, "contradicts")],
        ids=["no seed without a hit of words or entities", "a contradiction is no path"],
    )
    def test_what_leads_nowhere(self, found, relation):
        relations = (Relation(source_id="m1", target_id="m2", type=relation),)
        short = Shortlist(memories=(memory(id="m1"), memory(id="m2")), found=found, relations=relations)
        assert spaces.nearness_in_graph(query(), short) == {}

    def test_related_memories_that_nothing_else_found_join_the_strongest_first(self):
        """Weights: d 1.0 x 1.0, c 1.0 x 0.5, e 0.4 x 0.5; b is known, f is reached over a contradiction alone."""
        relations = [
            Relation(source_id="a", target_id="c", type="related_to"),
            Relation(source_id="d", target_id="a", type="caused_by"),
            Relation(source_id="a", target_id="e", type="related_to", weight=0.4),
            Relation(source_id="a", target_id="b", type="related_to"),
            Relation(source_id="a", target_id="f", type="contradicts"),
            Relation(source_id="x", target_id="y", type="related_to"),
        ]
        assert spaces.beyond(["a", "b"], relations) == ("d", "c", "e")
        many = [Relation(source_id="a", target_id=f"m{n:02}", type="related_to") for n in range(40)]
        assert len(spaces.beyond(["a"], many)) == spaces.MOST_BEYOND


class TestLate:
    def test_by_hand(self):
        """Both hold token 1 (idf ln 1.2), one holds token 2 (idf ln 2)."""
        best = np.array([[1, 1], [1, 0.5]], np.float32)
        short = Shortlist(memories=(memory(id="m1"), memory(id="m2")), token_matches=lambda *_: best)
        common, rare = math.log(1.2), math.log(2)
        scores = spaces.token_agreement(query("ask"), short)
        assert scores == pytest.approx({"m1": 1.0, "m2": (common + 0.5 * rare) / (common + rare)})

    def test_without_token_matches_it_says_nothing(self):
        assert spaces.token_agreement(query("ask"), Shortlist(memories=(memory(),))) == {}


class TestNeighbours:
    def test_parts_spread_one_by_one(self):
        """Turn 2 gets 0.7 of turn 1's first part and keeps its own second; turn 3 gets 0.49 and 0.7; others nothing."""
        places = [("s", 1), ("s", 2), ("s", 3), ("t", 2), None]
        parts = np.array([[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], np.float32)
        spread = spaces.add_neighbor_scores(parts, spaces.find_turn_neighbors(places))
        assert spread == pytest.approx(np.array([[1, 0.7], [0.7, 1], [0.49, 0.7], [0, 0], [0, 0]]), abs=1e-6)

    def test_without_places_nothing_moves(self):
        parts = np.array([[1.0]], np.float32)
        assert spaces.add_neighbor_scores(parts, spaces.find_turn_neighbors([None])) == parts


class TestExpanded:
    def test_the_relevance_model_by_hand(self):
        """Shares 3/4 and 1/4: a = 3/4 * 1/2 + 1/4, b = 3/4 * 1/2."""
        model = spaces.expansion_words({"m1": ["a", "b"], "m2": ["a"]}, {"m1": 0.75, "m2": 0.25})
        assert model == pytest.approx({"a": 0.625, "b": 0.375})
        assert spaces.expand_query(["a", "c"], model) == pytest.approx({"a": 0.5625, "b": 0.1875, "c": 0.25})

    def test_a_memory_that_shares_no_word_is_found_through_the_feedback(self):
        short = Shortlist(
            memories=(
                memory("linter golangci settings", id="m1"),
                memory("golangci version pinned", id="m2"),
                memory("unrelated words here", id="m3"),
            ),
            found={"lexical": {"m1": 5.0}},
        )
        scores = spaces.expanded_overlap(query("linter"), short)
        assert scores["m1"] > scores["m2"] > 0
        assert "m3" not in scores

    def test_scores_by_hand(self):
        """One memory of one word, asked for by it: idf ln(1 + 0.5 / 1.5), tf part 1, of the most 2.2."""
        short = Shortlist(memories=(memory("linter", id="m1"),))
        assert spaces.expanded_overlap(query("linter"), short) == pytest.approx({"m1": 1 / 2.2})


class TestAgreement:
    def test_sums_the_topic_weights_of_spaces_that_reach_high(self):
        """semantic 1 + entity 0.5; lexical is below its mark, recent weighs nothing, an unknown name too."""
        scores = {
            "semantic": SPACES["semantic"].high,
            "entity": 1.0,
            "lexical": SPACES["lexical"].high - 0.1,
            "recent": 1.0,
            "smell": 1.0,
        }
        assert weighted_agreement(scores) == 1.5
        assert weighted_agreement(tuple(scores.items())) == 1.5

    def test_reaches_eight_and_a_half(self):
        assert weighted_agreement({name: space.high for name, space in SPACES.items()}) == 8.5


class TestMeasure:
    def test_every_space_that_has_something_to_say_is_listed_in_order_and_can_be_left_out(self):
        short = Shortlist(memories=(memory("run the linter", id="m1"),), found={"semantic": {"m1": 0.4}})
        whole = measure_spaces(query("linter"), short, spaces=tuple(SPACES), kinds=KindRegistry())["m1"]
        names = [name for name, _ in whole]
        assert names == [name for name in SPACES if name in names]
        for left_out in names:
            rest = tuple(name for name in SPACES if name != left_out)
            again = measure_spaces(query("linter"), short, spaces=rest, kinds=KindRegistry())["m1"]
            assert again == tuple(entry for entry in whole if entry[0] != left_out)

    def test_an_embedder_without_tokens_has_none(self):
        class Plain:
            pass

        assert token_matches_of(Plain()) is None  # type: ignore[arg-type]


def test_stems_leave_out_words_of_function():
    assert stem_list("The linters are running") == ("linter", "run")
