"""Triggers: made from words, written by people, matched by a formula computed by hand."""

from __future__ import annotations

import math

import pytest

from tacit.errors import InvalidInput
from tacit.model.trigger import Situation, Trigger
from tacit.reading.match import Matcher, MatchModel, relative_strengths
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger
from tacit.reading.when import format_when, parse_when

LINT = "Run the linter `golangci-lint run` after every code change and fix formatting errors yourself with `gofmt -w .`."


def test_a_rule_names_its_actions_objects_and_commands() -> None:
    trigger = make_trigger(LINT, kind="preference")
    names = [name for name, _ in trigger.actions]
    assert "run_lint_build" in names
    assert "edit_code" in names
    assert 1 <= len(trigger.actions) <= 5
    assert trigger.commands == ("golangci-lint", "gofmt")
    assert "linter" in trigger.objects
    assert trigger.languages == ("go",)
    assert trigger.maker == "local"
    assert trigger.breadth > 2.0


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Always answer in German.", "preference"),
        ("The user is called Kim.", "identity"),
        ("Keep answers short.", "preference"),
    ],
)
def test_rules_about_answers_always_apply(content: str, kind: str) -> None:
    assert make_trigger(content, kind=kind).always


def test_a_rule_about_code_does_not_always_apply() -> None:
    assert not make_trigger("Always use tabs in Go code.", kind="preference").always


def test_specific_facts_are_narrow_and_general_rules_broad() -> None:
    fact = make_trigger("`parse_date()` in src/dates.py returns None for year 0.", kind="fact")
    rule = make_trigger("Always run all tests before every commit.", kind="preference")
    assert fact.breadth < 1.4
    assert rule.breadth > 2.4


def test_files_become_paths() -> None:
    trigger = make_trigger(
        "The billing adapter retries twice.", kind="file_context", files=["./src/billing.py", "pkg/"]
    )
    assert trigger.paths == ("src/billing.py", "pkg/**")


@pytest.mark.parametrize(
    ("content", "kind", "action"),
    [
        ("Commit messages follow Conventional Commits.", "preference", "commit"),
        ("Every PR needs a linked issue.", "preference", "open_or_update_pr"),
        ("`npm test` fails with ECONNREFUSED unless redis runs.", "error_pattern", "debug_investigate"),
        ("Bump the version in four places for a release.", "preference", "release"),
        ("Secrets are read from the vault, never from the config.", "decision", "security_privacy"),
        ("Unit tests live beside the code as *_test.go.", "file_context", "write_test"),
    ],
)
def test_words_give_classes(content: str, kind: str, action: str) -> None:
    assert dict(make_trigger(content, kind=kind).actions).get(action, 0.0) >= 0.33


def test_the_situation_it_was_said_in_counts_weakly() -> None:
    plain = dict(make_trigger("Mind the gap.", kind="event").actions)
    placed = dict(
        make_trigger("Mind the gap.", kind="event", situation=Situation(actions=(("push", 1.0),))).actions
    )
    assert "push" not in plain
    assert 0.0 < placed["push"] <= 0.67


def test_the_words_of_when() -> None:
    trigger = parse_when(
        "commit, edit_code=0.67, path:src/**/*.py\nlang:Python, cmd:git commit, tool:edit, topic:billing, about:invoice, breadth:2"
    )
    assert trigger == Trigger(
        actions=(("commit", 1.0), ("edit_code", 0.67)), paths=("src/**/*.py",), languages=("python",), commands=("git commit",),
        tools=("edit",), topics=("billing",), objects=("invoice",), breadth=2.0, maker="user",
    )  # fmt: skip


def test_always_is_broad() -> None:
    assert parse_when("cmd:git push, blocking").blocking
    assert format_when(parse_when("cmd:git push, blocking")) == "cmd:git push, blocking"
    assert parse_when("always") == Trigger(always=True, breadth=3.0, maker="user")


def test_free_words_are_read_and_kept_as_topics() -> None:
    trigger = parse_when("when writing tests for billing", maker="agent")
    assert dict(trigger.actions)["write_test"] > 0
    assert "billing" in trigger.topics
    assert trigger.maker == "agent"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("comit", "commit"),
        ("run_test", "run_tests"),
        ("pth:src", "path"),
        ("", "empty"),
        (" , ,", "empty"),
        ("commit=2", "at most 1"),
        ("breadth:much", "number"),
        ("lang:", "names nothing"),
        ("action:flying", "Unknown action class"),
    ],
)
def test_mistakes_are_named_with_the_nearest(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=r".") as caught:
        parse_when(text)
    assert says in str(caught.value)


def test_an_unknown_maker_is_refused() -> None:
    with pytest.raises(InvalidInput, match="maker"):
        parse_when("commit", maker="robot")


def test_format_reads_back() -> None:
    trigger = make_trigger(LINT, kind="preference", files=["a,b.go"])
    assert parse_when(format_when(trigger), maker="local") == trigger


SITUATION = Situation(
    actions=(("edit_code", 0.8), ("run_tests", 0.3)), objects=("watcher", "pkg/watch/watcher.go"),
    paths=("pkg/watch/watcher.go",), languages=("go",), commands=("go test",),
)  # fmt: skip


# With a rate of 0.997 a class is divided by 1 (the floor of 0.003 comes on top), so that the formula can be done by hand.
EVEN = MatchModel(
    situations={"edit_code": 0.997, "run_tests": 0.497}, triggers={"edit_code": 0.997, "run_tests": 0.997},
    given=(-1.0, 1.0, 0.5, 2.0), local=(-2.0, 0.5, 0.5, 1.0),
)  # fmt: skip


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@pytest.mark.parametrize(
    ("trigger", "score"),
    [
        # local maker: lift = 0.8 x 1.0; no objects
        (Trigger(actions=(("edit_code", 1.0),), breadth=2.0), sigmoid(-2 + 0.5 * math.log(1.8) + 0.5 * 2)),
        # given by a person: its own weights
        (
            Trigger(actions=(("edit_code", 1.0),), breadth=2.0, maker="user"),
            sigmoid(-1 + math.log(1.8) + 0.5 * 2),
        ),
        # both classes add up, the rarer one (0.5 ** 0.9) counts more: 0.67 x 0.8 + 1.0 x 0.3 / 0.5 ** 0.9
        (
            Trigger(actions=(("run_tests", 1.0), ("edit_code", 0.67)), breadth=3.0),
            sigmoid(-2 + 0.5 * math.log(0.536 + 0.3 / 0.5**0.9 + 1) + 0.5 * 3),
        ),
        # one of two objects is met: 1 / root of 2.64
        (
            Trigger(actions=(("edit_code", 1.0),), objects=("watcher", "billing"), breadth=1.0),
            sigmoid(-2 + 0.5 * math.log(1.8) + 0.5 + 1 / math.sqrt(2.64)),
        ),
        # the path fits; only a path is given: lift = 3
        (Trigger(paths=("pkg/**/*.go",), breadth=1.0), sigmoid(-2 + 0.5 * math.log(4) + 0.5)),
        # another path: 0.7 where the trigger is our own guess, 0.1 where it was given
        (
            Trigger(actions=(("edit_code", 1.0),), paths=("web/**",), breadth=1.0),
            0.7 * sigmoid(-2 + 0.5 * math.log(1.8) + 0.5),
        ),
        (
            Trigger(actions=(("edit_code", 1.0),), paths=("web/**",), breadth=1.0, maker="user"),
            0.1 * sigmoid(-1 + math.log(1.8) + 0.5),
        ),
        # another language: 0.6, or 0.3 where it was given
        (
            Trigger(actions=(("edit_code", 1.0),), languages=("python",), breadth=1.0),
            0.6 * sigmoid(-2 + 0.5 * math.log(1.8) + 0.5),
        ),
        (
            Trigger(actions=(("edit_code", 1.0),), languages=("python",), breadth=1.0, maker="user"),
            0.3 * sigmoid(-1 + math.log(1.8) + 0.5),
        ),
        # the command is about to run: like a class that comes in one situation of twenty
        (Trigger(commands=("go test",), breadth=1.0), sigmoid(-2 + 0.5 * math.log(0.05**-0.9 + 1) + 0.5)),
        (Trigger(always=True), 1.0),
        (Trigger(actions=(("push", 1.0),)), 0.0),
        (Trigger(), 0.0),
    ],
)
def test_the_formula_by_hand(trigger: Trigger, score: float) -> None:
    assert Matcher(SITUATION, model=EVEN).match(trigger).score == pytest.approx(score, abs=1e-6)


def test_a_match_says_why() -> None:
    match = Matcher(SITUATION).match(
        Trigger(actions=(("edit_code", 1.0),), objects=("watcher",), paths=("*.go",), languages=("go",))
    )
    assert match.reasons == ("intent: edit_code", "path: pkg/watch/watcher.go", "about: watcher")
    assert match.when == 0.8


def test_nothing_coming_fits_nothing() -> None:
    assert Matcher(Situation(nothing_coming=True)).score(Trigger(always=True)) == 0.0


def test_a_tool_trigger_fits_its_tool() -> None:
    trigger = Trigger(tools=("edit",), breadth=3.0)
    assert Matcher(Situation(paths=("a.py",)), tool="edit").match(trigger).score > 0.0
    assert Matcher(Situation(paths=("a.py",)), tool="read").match(trigger).score == 0.0


def test_a_rare_class_says_more_than_a_common_one() -> None:
    situation = Situation(actions=(("edit_code", 0.6), ("release", 0.6)))
    release = Matcher(situation).score(Trigger(actions=(("release", 1.0),), maker="user"))
    assert release > Matcher(situation).score(Trigger(actions=(("edit_code", 1.0),), maker="user"))


def test_a_search_is_asked_by_what_a_class_tells_not_by_its_chance() -> None:
    # strengths by EVEN: 0.8 / 1 = 0.8 and 0.3 / 0.5 ** 0.9 = 0.5598; over the greatest 1 and 0.6998.
    asked = dict(relative_strengths((("edit_code", 0.8), ("run_tests", 0.3)), EVEN))
    assert asked == pytest.approx({"edit_code": 1.0, "run_tests": 0.69977}, abs=1e-4)
    assert relative_strengths((), EVEN) == ()
    rare = dict(relative_strengths((("edit_code", 0.9), ("release", 0.3))))
    assert rare["release"] == 1.0
    assert rare["edit_code"] < 0.5


def test_a_common_order_reaches_the_high_mark() -> None:
    situation = read_situation("commit and push this")
    trigger = Trigger(actions=(("commit", 1.0),), breadth=3.0, maker="user")
    assert Matcher(situation).score(trigger) > 0.5


def test_yup_to_a_proposal_brings_the_lint_rule_before_an_unrelated_one() -> None:
    situation = read_situation("yup", previous_end="Want me to implement it in pkg/watch/watcher.go?")
    lint = Matcher(situation).score(make_trigger(LINT, kind="preference"))
    release = Matcher(situation).score(make_trigger("Releases are tagged from main only.", kind="preference"))
    assert lint > 2 * release
