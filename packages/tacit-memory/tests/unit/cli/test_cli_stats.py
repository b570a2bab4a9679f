"""`tacit status --stats`: tables and plots, one HTML file, JSON."""

from __future__ import annotations

import re
import time

from tacit.app.queries.injection import Injection
from tacit.cli.statistics import bar
from tacit.library.engine_access import LocalEngine
from tacit.library.tacit import Tacit
from tacit.session.cache_meter import counted_requests
from tacit.state.registry import CACHE_DAYS_OF_HOSTS

RULE = "Run make lint before every commit."


def worked(tacit, *, sessions=3):
    """A few conversations with the engine that the command line asks."""
    tacit("remember", RULE, "--when", "commit")
    engine = tacit.daemon.engine
    way = LocalEngine(engine, injection=Injection(engine), on_failure=print)
    memory = Tacit(way, cwd=tacit.project)
    for number in range(sessions):
        session = memory.session(f"s{number}", deadline_ms=10_000)
        session.prepare([{"role": "user", "content": "Thanks a lot!"}])
        session.prepare([{"role": "user", "content": "Please commit."}])
    sent = {"placement": "default", "requests": 2, "before": 1000, "kept": 990, "before_bare": 800, "kept_bare": 800,
            "input_tokens": 500, "cached_tokens": 400}  # fmt: skip
    session.heard([], "done", sent=lambda: [sent])
    memory.flush()
    now = time.time_ns() // 1_000_000
    told = counted_requests({}, "claude-code", [(now, 1000, 900)], now_ms=now)
    CACHE_DAYS_OF_HOSTS.write(engine.store, told)


def told_in_tables(out):
    assert re.search(r"\d{4}-\d\d-\d\d +0 +6 █+", out)  # the store fits: the start pack gave it whole
    assert "the prompt asks for no work" in out
    assert re.search(r"start +3 ", out)
    assert re.search(r"fact +\d+ █+ +100%", out)
    assert re.search(r"newest message +2 +99\.0% +100\.0% +80%", out)
    assert re.search(r"Claude Code +1 +- +- +90%", out)
    assert "Precision: nobody has said yet" in out


def test_what_happened_is_told_in_tables_and_as_json(tacit):
    fresh = tacit("status", "--stats")
    assert fresh.code == 0
    assert "; 0 that you stated" not in fresh.out
    for words in (
        "Nothing is stored.",
        "No session asked the memory in this period.",
        "recall.holdout",
        "No memory has been injected yet",
    ):
        assert words in fresh.out
    worked(tacit)
    told_in_tables(tacit("status", "--stats", "--days", "7").out)
    found = tacit("status", "--stats", "--json").json
    assert set(found) == {"use", "series", "holdout"}
    assert set(found["use"]) == {"store", "impact", "rate", "baseline"}
    assert found["series"]["cache"][0]["share"] == 0.99


def test_a_bar_is_as_long_as_its_share():
    assert bar(10, 10, width=4) == "████"
    assert bar(5, 10, width=4) == "██"
    assert bar(1, 32, width=4) == "▏"  # an eighth of a character
    assert bar(1, 10_000, width=4) == "▏"  # something is never nothing
    assert bar(0, 10) == bar(0, 0) == ""
