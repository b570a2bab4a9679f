"""`tune` over a real store: nothing without prompts, a bound for each level on crossed prompts, and a file only with consent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import send
from presets.driving import workplace
from tacit.app.tuning import LEAST_COSINES, bounded_levels, bounded_threshold, level_bound, rate_at
from tacit.config.levels import Level, Levels, shipped_levels
from tacit.config.overrides import SettingsTarget, set_values
from tacit.fitted import decode_artifact
from tacit.providers.embedding import FakeEmbedder
from tacit.state.registry import VERDICTS


def prompt(engine, cwd, session, number):
    asked = f"please commit part {number} of the parser and run the tests"
    send(engine, cwd, "UserPromptSubmit", session, prompt=asked)


def test_without_prompts_nothing_is_proposed(engine):
    report = engine.tune(bound=0.1)
    assert report.pairs == 0
    assert report.note
    assert [(one.name, one.before) for one in report.levels] == [
        (name, level.threshold) for name, level in shipped_levels().items()
    ]
    assert all(one.after == one.before for one in report.levels)
    assert not report.applied
    assert not engine.tune(bound=0.1, apply=True).applied
    assert not engine.home.levels_file.exists()


@pytest.mark.slow
def test_crossed_prompts_are_held_to_the_bound_and_only_consent_writes(engine, tmp_path):
    for name in ("shop", "mill"):
        folder = tmp_path / name
        folder.mkdir()
        engine.remember(f"Commit messages of the {name} name the parser.", kind="fact", cwd=str(folder))
        for number in range(10):
            prompt(engine, folder, f"s-{name}", number)
    report = engine.tune(bound=0.1)
    assert (report.paired, report.pairs) == ("projects", 20)
    quiet, balanced, eager = report.levels
    assert (quiet.bound, balanced.bound, eager.bound) == (0.0417, 0.1, 0.2083)
    assert balanced.rate_after <= 0.1
    assert eager.rate_after <= 0.2083
    assert quiet.after >= balanced.after >= eager.after
    assert not report.applied
    assert not engine.home.levels_file.exists()


SAID = [(n, 0.5) for n in range(20)] + [(n, 0.9) for n in range(20, 25)]
"""Prompts judged wrong with the relevance of what they got: 20 at 0.5 and 5 at 0.9."""


def judge(engine, rows):
    engine._parts.store.put_value(VERDICTS.name(), json.dumps(rows))


def said(number, *, useful, relevance):
    return {
        "trace_id": f"trc_{number}", "memory_id": "mem_1", "useful": useful, "injected": True, "surface": "prompt",
        "relevance": relevance, "threshold": 0.2, "trace_at_ms": 1, "at_ms": 2,
    }  # fmt: skip


def wrong():
    return [said(n, useful=False, relevance=relevance) for n, relevance in SAID]


def test_each_level_keeps_its_bound_on_what_the_owner_called_wrong(engine):
    """Hand-computed: 25 prompts, bound 0.2. balanced: floor(0.2 * 26 - 1) = 4 may pass, the fifth best is 0.9 itself, so the threshold
    is one step above it. quiet, 5/12 of it: floor(0.0833 * 26 - 1) = 1, the second best is 0.9, too. eager, 25/12:
    floor(0.4167 * 26 - 1) = 9, the tenth best is 0.5."""
    rows = wrong()
    rows += [said(n, useful=True, relevance=0.95) for n in range(25, 28)]
    rows += [said(28, useful=True, relevance=0.4)]
    rows += [
        said(29, useful=False, relevance=0.99),
        said(29, useful=True, relevance=0.99),
    ]  # something was useful
    judge(engine, rows)
    report = engine.tune(bound=0.2)
    assert report.pairs == 25
    assert [one.after for one in report.levels] == [0.9001, 0.9001, 0.5001]
    assert [one.rate_after for one in report.levels] == [0.0, 0.0, 0.2]
    assert [one.rate_before for one in report.levels] == [1.0, 1.0, 1.0]
    assert (report.judged_useful, report.judged_wrong) == (5, 26)
    assert [(one.useful_kept, one.wrong_kept) for one in report.levels] == [(4, 1), (4, 1), (4, 6)]


def test_a_bound_that_so_few_prompts_cannot_prove_leaves_a_level_no_louder_than_the_next():
    """Hand-computed: 25 prompts at 0.5. quiet's bound of 0.02 allows floor(0.02 * 26 - 1) < 0: its 0.6 stays. balanced may let
    floor(0.05 * 26 - 1) = 0 pass and rises to 0.5001; where quiet had 0.4, it rises with it."""
    best = [0.5] * 25
    before = Levels(quiet=Level(threshold=0.6), balanced=Level(threshold=0.3), eager=Level(threshold=0.1))
    found = bounded_levels(best, before, bound=0.05)
    assert (found.quiet.threshold, found.balanced.threshold) == (0.6, 0.5001)
    found = bounded_levels(best, replace(before, quiet=Level(threshold=0.4)), bound=0.05)
    assert (found.quiet.threshold, found.balanced.threshold) == (0.5001, 0.5001)
    assert level_bound("eager", 0.5) == 1.0


def test_applied_levels_hold_at_once_and_after_a_restart(make_engine):
    engine = make_engine()
    home = engine.home
    before = engine.settings.recall.thresholds.prompt
    judge(engine, wrong())
    assert not engine.tune(bound=0.2).applied
    assert engine.settings.recall.thresholds.prompt == before
    report = engine.tune(bound=0.2, apply=True)
    assert (report.applied, report.level, report.explicit) == (True, "balanced", None)
    assert not home.config_file.exists()
    assert engine.settings.recall.thresholds.prompt == 0.9001
    again = engine.tune(bound=0.2, apply=True)
    assert (again.applied, [one.before for one in again.levels]) == (False, [0.9001, 0.9001, 0.5001])
    kept = decode_artifact(home.levels_file.read_bytes(), Levels, name="levels")
    assert kept.origin.made_by == "tacit config tune"
    assert kept.values.eager == Level(threshold=0.5001, wrongful=0.2, tokens=0.0)
    engine.close()
    set_values(home, SettingsTarget(), {"recall.level": "eager"})
    assert make_engine().settings.recall.thresholds.prompt == 0.5001


def test_a_threshold_of_the_users_own_is_named_as_the_winner(make_engine, home):
    set_values(home, SettingsTarget(), {"recall.thresholds.prompt": 0.3})
    engine = make_engine()
    judge(engine, wrong())
    report = engine.tune(bound=0.2, apply=True)
    assert (report.applied, report.explicit) == (True, 0.3)
    assert report.explicit_place.startswith(str(home.config_file))
    assert engine.settings.recall.thresholds.prompt == 0.3


def test_a_preset_that_does_not_use_levels_gets_none_proposed(make_engine):
    engine = make_engine(preset="typed")
    judge(engine, wrong())
    report = engine.tune(bound=0.2, apply=True)
    assert (report.levels, report.applied) == ((), False)
    assert report.note == "the preset typed does not use levels"


def test_stored_recalls_are_decided_again(engine, tmp_path):
    engine.remember("The linter of this project is ruff, with a line length of 110.", cwd=str(tmp_path))
    prompt(engine, tmp_path, "s", 1)
    traces = engine.why(limit=1)
    (nothing,) = engine.replayed(traces, threshold=1.0)
    assert nothing.after == ()
    (anything,) = engine.replayed(traces, threshold=0.0)
    assert set(anything.before) <= set(anything.after)


def test_by_hand() -> None:
    # n = 19, bound 0.1: floor(0.1 * 20 - 1) = 1 of them may get something; the next best is 0.5.
    best = [0.9, 0.5, *([0.1] * 17)]
    assert bounded_threshold(best, bound=0.1) == pytest.approx(0.5001)
    assert rate_at(best, 0.5001) == pytest.approx(1 / 19)


def test_too_few_prompts_promise_nothing() -> None:
    assert bounded_threshold([0.2] * 8, bound=0.1) is None
    assert bounded_threshold([], bound=0.5) is None


@given(
    st.lists(st.floats(0, 1).map(lambda x: round(x, 4)), min_size=1, max_size=60),
    st.floats(0.02, 0.5),
)
def test_the_corrected_rate_is_within_the_bound(best: list[float], bound: float) -> None:
    found = bounded_threshold(best, bound=bound)
    if found is not None and found < 1.0:
        n = len(best)
        assert n / (n + 1) * rate_at(best, found) + 1 / (n + 1) <= bound + 1e-6


WORDS = "parser ledger printer warehouse invoice calendar gateway backup shipment coupon".split()


def fill(lab, *, prompts, memories):
    for n in range(memories):
        lab.know(f"The {WORDS[n % 10]} of desk {n} belongs to {WORDS[n // 10 % 10]} {n}", "fact")
    agent = lab.agent()
    agent.start()
    for n in range(prompts):
        agent.prompt(f"Look into the {WORDS[n % 10]} and repair its {WORDS[(n * 3 + 1) % 10]} number {n}")


@pytest.mark.slow
def test_bars_come_from_the_stores_own_pairs_and_are_kept_for_this_embedder(tmp_path):
    with workplace(tmp_path, "refresh") as lab:
        fill(lab, prompts=42, memories=50)
        before = lab.engine.settings.recall.refresh.similarity_later
        report = lab.engine.tune(bound=0.1).cosines
        assert report.pairs == 42 * 50
        assert report.pairs >= LEAST_COSINES
        bars = {bar.setting: bar for bar in report.bars}
        assert set(bars) == {
            "recall.refresh.similarity_first", "recall.refresh.similarity_later", "recall.refresh.cosine",
        }  # fmt: skip
        later = bars["recall.refresh.similarity_later"]
        assert (later.before, before, later.share) == (0.55, 0.55, 0.13)
        assert 0.0 < bars["recall.refresh.similarity_first"].after <= later.after < 1.0
        assert not lab.engine.home.unrelated_cosines_file.exists()
        lab.engine.tune(bound=0.1, apply=True)
        kept = json.loads(lab.engine.home.unrelated_cosines_file.read_text())
        assert kept["origin"]["details"]["provider"] == "fake"
        assert lab.engine.settings.recall.refresh.similarity_later == later.after


def test_few_pairs_give_no_bars(tmp_path):
    with workplace(tmp_path, "refresh") as lab:
        fill(lab, prompts=3, memories=4)
        report = lab.engine.tune(bound=0.1, apply=True).cosines
        assert (report.pairs, report.bars) == (12, ())
        assert not lab.engine.home.unrelated_cosines_file.exists()


def test_an_embedder_whose_cosines_ship_is_not_measured(make_engine):
    report = make_engine(preset="refresh").tune(bound=0.1).cosines
    assert (report.pairs, report.bars) == (0, ())
    assert report.embedder == str(FakeEmbedder().identity)
