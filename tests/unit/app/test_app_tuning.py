"""`tune` over a real store: nothing without prompts, a bound on crossed prompts, and a setting only with consent."""

from __future__ import annotations

import pytest

from samples import NOW_MS
from tacit.app.wiring import open_engine
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder


@pytest.fixture
def engine(tmp_path):
    engine = open_engine(tmp_path / "home", clock=FakeClock(now_ms=NOW_MS), embedder=FakeEmbedder())
    yield engine
    engine.close()


def prompt(engine, cwd, session, number):
    payload = {
        "session_id": session,
        "cwd": str(cwd),
        "hook_event_name": "UserPromptSubmit",
        "prompt": f"please commit part {number} of the parser and run the tests",
    }
    engine.hook("claude-code", payload, deadline_ms=5000.0)


def test_without_prompts_nothing_is_proposed(engine):
    report = engine.tune(bound=0.1)
    assert report.pairs == 0
    assert report.note
    assert (report.after, report.applied) == (report.before, False)


@pytest.mark.slow
@pytest.mark.timeout(60)
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


def test_stored_recalls_are_decided_again(engine, tmp_path):
    engine.remember("Run `make lint` before every commit.", cwd=str(tmp_path))
    prompt(engine, tmp_path, "s", 1)
    traces = engine.why(limit=1)
    (nothing,) = engine.replayed(traces, threshold=1.0)
    assert nothing.after == ()
    (anything,) = engine.replayed(traces, threshold=0.0)
    assert set(anything.before) <= set(anything.after)
