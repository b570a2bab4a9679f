"""`tune` over a real store: nothing without prompts, a bound on crossed prompts, and a setting only with consent."""

from __future__ import annotations

import json

import pytest

from agent import send


def prompt(engine, cwd, session, number):
    asked = f"please commit part {number} of the parser and run the tests"
    send(engine, cwd, "UserPromptSubmit", session, prompt=asked)


def test_without_prompts_nothing_is_proposed(engine):
    report = engine.tune(bound=0.1)
    assert report.pairs == 0
    assert report.note
    assert (report.after, report.applied) == (report.before, False)


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
    assert report.rate_after <= 0.1
    assert not report.applied
    assert not engine.home.config_file.exists()

    written = engine.tune(bound=0.1, apply=True)
    assert written.applied == (written.after != written.before)
    if written.applied:
        assert f"prompt: {written.after}" in engine.home.config_file.read_text("utf-8")


def test_what_the_owner_called_wrong_counts_as_a_prompt_that_deserves_nothing(engine, tmp_path):
    """Hand-computed: 20 prompts judged wrong at 0.5 each and 5 at 0.9, bound 0.2: floor(0.2 * 26 - 1) = 4 may pass,
    the fifth best is 0.9 itself, so the threshold is one step above it."""
    from tacit.state.registry import VERDICTS

    def said(number, *, useful, relevance):
        return {
            "trace_id": f"trc_{number}", "memory_id": "mem_1", "useful": useful, "injected": True, "surface": "prompt",
            "relevance": relevance, "threshold": 0.2, "trace_at_ms": 1, "at_ms": 2,
        }  # fmt: skip

    rows = [said(n, useful=False, relevance=0.5) for n in range(20)]
    rows += [said(n, useful=False, relevance=0.9) for n in range(20, 25)]
    rows += [said(n, useful=True, relevance=0.95) for n in range(25, 28)] + [
        said(28, useful=True, relevance=0.4)
    ]
    rows += [
        said(29, useful=False, relevance=0.99),
        said(29, useful=True, relevance=0.99),
    ]  # something was useful
    engine._parts.store.put_value(VERDICTS.name(), json.dumps(rows))
    report = engine.tune(bound=0.2)
    assert report.pairs == 25
    assert report.after == 0.9001
    assert (report.judged_useful, report.useful_kept, report.judged_wrong, report.wrong_kept) == (5, 4, 26, 1)


def test_stored_recalls_are_decided_again(engine, tmp_path):
    engine.remember("The linter of this project is ruff, with a line length of 110.", cwd=str(tmp_path))
    prompt(engine, tmp_path, "s", 1)
    traces = engine.why(limit=1)
    (nothing,) = engine.replayed(traces, threshold=1.0)
    assert nothing.after == ()
    (anything,) = engine.replayed(traces, threshold=0.0)
    assert set(anything.before) <= set(anything.after)
